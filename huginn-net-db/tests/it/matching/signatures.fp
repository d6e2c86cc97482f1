; Signatures that distinguish the matching rules; the label names the rule.

classes = win,unix

[mtu]
label = first
sig   = 1500
sig   = 576
label = second
sig   = 1500

[tcp:request]

; Specific, generic and fuzzy, for option layout "mss" and MSS 1000 to 1009.
label = g:unix:Generic:early
sig   = *:64:0:1000:*,0:mss:df:0
label = s:unix:Specific:late
sig   = *:64:0:1000:8192,0:mss:df:0
label = g:unix:Generic:late
sig   = *:64:0:1000:*,*:mss:df:0
label = g:unix:Generic:fuzzy first
sig   = *:64:0:1001:*,0:mss:df,id+:0
label = s:win:Specific:fuzzy later
sig   = *:64:0:1001:*,*:mss:df,id+:0

; Signatures of user-space tools never match fuzzily, and prevent fuzzy matches of later signatures.
label = s:!:Tool:exact
sys   = @unix
sig   = *:64:0:1002:*,0:mss:df:0
label = s:unix:System:behind tool
sig   = *:64:0:1002:*,0:mss:id-:0

; TTL.
label = s:unix:Random:
sig   = *:200-:0:1003:*,0:mss:df:0
label = s:unix:Sixty:
sig   = *:60:0:1004:*,0:mss:df:0

; IP version and the quirks of one version.
label = s:unix:Both:
sig   = *:64:0:1005:*,0:mss:df,id+,flow:0
label = s:unix:Four:
sig   = 4:64:0:1006:*,0:mss:df,id+:0
label = s:unix:Six:
sig   = 6:64:0:1007:*,0:mss:flow:0
label = s:unix:Rigid:
sig   = *:64:0:1008:*,0:mss:df,seq-,pushf+:0

; Payload and IP options.
label = s:unix:Data:
sig   = *:64:0:1009:*,0:mss:df:+
label = s:unix:Any data:
sig   = *:64:0:1010:*,0:mss:df:*
label = s:unix:Options:
sig   = *:64:12:1011:*,0:mss:df:0

; Windows and scale, for option layout "mss,ws,nop".
label = s:unix:Window:mss*4
sig   = *:64:0:*:mss*4,7:mss,ws,nop:df:0
label = s:unix:Window:mtu*4
sig   = *:64:0:*:mtu*4,7:mss,ws,nop:df:0
label = s:unix:Window:8192
sig   = *:64:0:*:8192,7:mss,ws,nop:df:0
label = s:unix:Window:%1024
sig   = *:64:0:*:%1024,7:mss,ws,nop:df:0
label = s:unix:Scale:any
sig   = *:64:0:*:*,*:mss,ws,nop:df:0

; Padding.
label = s:unix:Padding:
sig   = *:64:0:*:*,0:mss,sok,eol+1:df:0

[tcp:response]
label = s:unix:Server:mss*10
sig   = *:64:0:*:mss*10,0:mss:df:0
