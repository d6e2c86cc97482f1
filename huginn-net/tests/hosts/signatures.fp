; Fictitious systems and software for craft.py, with every kind of difference between two labels or signatures.

classes = win,unix,other

[mtu]
label = Ethernet
sig   = 1500

[tcp:request]
label = s:unix:Alpha:one
sig   = *:64:0:*:mss*20,10:mss,sok,ts,nop,ws:df,id+:0
sig   = *:64:0:*:mss*20,7:mss,sok,ts,nop,ws:df,id+:0
label = s:unix:Alpha:two
sig   = *:64:0:*:mss*10,7:mss,sok,ts,nop,ws:df,id+:0
; The same name and flavor, another class.
label = s:other:Alpha:one
sig   = *:64:0:*:mss*10,5:mss,sok,ts,nop,ws:df,id+:0
; No flavor.
label = s:unix:Alpha:
sig   = *:64:0:*:mss*9,5:mss,sok,ts,nop,ws:df,id+:0
; The first label again.
label = s:unix:Alpha:one
sig   = *:64:0:*:mss*8,5:mss,sok,ts,nop,ws:df,id+:0
label = g:unix:Alpha:one
sig   = *:64:0:*:mss*7,*:mss,sok,ts,nop,ws:df,id+:0
label = g:unix:Alpha:generic
sig   = *:64:0:*:*,*:mss,sok,ts,nop,ws:df,id+:0
label = s:win:Beta:old
sig   = *:128:0:*:16384,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:65535,0:mss,nop,nop,sok:df,id+:0
label = s:win:Beta:new
sig   = *:128-:0:*:8192,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:8192,2:mss,nop,ws,sok,ts:df,id+:0
label = g:win:Beta:generic
sig   = *:128:0:*:*,*:mss,nop,nop,sok:df,id+:0
label = s:other:Gamma:
sig   = *:255:0:*:*,*:mss,nop,ws,nop,nop,ts:df,id+:0
label = s:other:Delta:random TTL
sig   = *:64-:0:*:5000,*:mss,nop,ws,nop,nop,ts::0
label = s:!:Tool:one
sys   = @unix,@win
sig   = *:64-:0:1460:1024,0:mss::0
label = s:!:Tool:two
sys   = Beta
sig   = *:64-:0:*:2048,0:mss::0
label = s:!:Alpha:tool
sys   = Alpha,@other
sig   = *:64-:0:*:3072,0:mss::0

[tcp:response]
label = s:unix:Alpha:one
sig   = *:64:0:*:mss*10,0:mss:df:0
sig   = *:64:0:*:mss*10,*:mss,sok,ts,nop,ws:df:0
sig   = *:64:0:*:mss*20,7:mss,sok,ts,nop,ws:df,id+:0
label = s:unix:Alpha:two
sig   = *:64:0:*:mss*4,0:mss:df:0
sig   = *:64:0:*:mss*4,*:mss,sok,ts,nop,ws:df:0
label = g:unix:Alpha:generic
sig   = *:64:0:*:*,*:mss,sok,ts,nop,ws:df:0
label = s:win:Beta:old
sig   = *:128:0:*:65535,0:mss:df,id+:0
sig   = *:128:0:*:65535,0:mss,nop,ws,nop,nop,ts:df,id+,ts1-:0
label = s:other:Gamma:
sig   = *:255-:0:*:*,*:mss,nop,ws,nop,nop,ts:df,id+:0
label = s:!:Trap:
sys   = @unix
sig   = *:64-:0:*:777,0:mss:df:0

[http:request]
ua_os = Alpha,Beta,Gamma=[GAM],Delta
label = s:!:Fox:1
sys   = Beta,@unix
sig   = 1:Host,User-Agent,Accept=[fox1]::Fox/
label = s:!:Fox:2
sys   = Beta
sig   = 1:Host,User-Agent,Accept=[fox2]::Fox/
label = s:!:Links:
sys   = @other
sig   = *:User-Agent,Host,?X-Forwarded-For::Links/
label = g:!:Generic:
sys   = Alpha,@win
sig   = *:Host,Accept=[any],?Via::
; Systems identified by HTTP.
label = s:unix:Alpha:http
sig   = 1:Host,X-Alpha,User-Agent::A
label = s:unix:Alpha:one
sig   = 1:Host,X-Alpha-One::
label = s:win:Beta:http
sig   = 1:Host,X-Beta,?User-Agent::B
label = g:other:Gamma:http
sig   = *:Host,X-Gamma::

[http:response]
label = s:!:Server:2
sys   = @unix,Beta
sig   = *:Server,X-S=[2a]::Server
sig   = *:Server,X-S=[2b]::Server
label = s:!:Server:1
sys   = @unix,Beta
sig   = *:Server,X-S=[1]::Server
label = s:!:Other:
sys   = Beta
sig   = *:Server,X-O::Other
label = g:!:Other:generic
sys   = @other
sig   = *:Server,X-G::
label = s:unix:Alpha:http
sig   = *:Server,X-Alpha::
label = s:win:Beta:http
sig   = *:Server,X-Beta::
