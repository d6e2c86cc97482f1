; Last resorts: the order of options is that of one system, the window of none that the
; other files know. They stand after all systems because an inexact (fuzzy) match takes the
; first that fits.

[tcp:request]

; The order MSS, SACK, timestamp, scale is Linux's own, whatever the window.
label = g:unix:Linux:
sig   = *:64:0:*:*,*:mss,sok,ts,nop,ws:df,id+:0
sig   = 6:64:0:*:*,*:mss,sok,ts,nop,ws:flow:0

; The same with fast open (RFC 7413), assigned and experimental option.
label = g:unix:Linux:(fast open)
sig   = *:64:0:*:*,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:*,*:mss,sok,ts,nop,ws,?254:df,id+,flow:*

; The order of Linux without timestamps.
label = g:unix:Linux:(no timestamps)
sig   = *:64:0:*:*,*:mss,nop,nop,sok,nop,ws:df,id+:0
sig   = 6:64:0:*:*,*:mss,nop,nop,sok,nop,ws:flow:0

; TTL 128 with these options, whatever the window.
label = g:win:Windows:
sig   = *:128:0:*:*,*:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = 6:128:0:*:*,*:mss,nop,ws,nop,nop,sok:flow:0

; XNU's order and window, whatever the scale.
label = g:unix:macOS or iOS:
sig   = *:64:0:*:65535,*:mss,nop,ws,nop,nop,ts,sok,eol+1:df,flow:0
sig   = 4:64:0:*:65535,*:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0
sig   = 6:64:0:*:65535,*:mss,nop,ws,nop,nop,ts,sok,eol+1::0

; The option order without the usual window.
label = g:unix:FreeBSD:
sig   = *:64:0:*:65535,*:mss,nop,ws,sok,ts:df,flow:0
sig   = 4:64:0:*:65535,*:mss,nop,ws,sok,ts:df,id+:0

; 4.4BSD with RFC 1323 and 16 KiB: FreeBSD before 4.5 and routers built on it. Suricata test
; capture with the UPnP server of a Broadcom cable modem.
label = g:unix:BSD:(old or embedded, no SACK)
sig   = *:64:0:*:16384,0:mss,nop,ws,nop,nop,ts:df,id+:0

; Recorded with lwIP 2.1.3 (captures/tools/stacks/lwip.c): MSS, timestamps, scale and SACK, in this
; order, each if lwipopts.h has it (LWIP_TCP_TIMESTAMPS, LWIP_WND_SCALE, LWIP_TCP_SACK_OUT) and
; padded by NOPs before; TCP_TTL 255, no DF, the first ID is 0. With an MSS alone, the window is
; that of opt.h, 4 segments, or the 2 or 8 of public lwipopts.h (STM32Cube, Raspberry Pi Pico).
label = g:other:lwIP:
sig   = *:255:0:*:*,0:mss,nop,nop,ts::0
sig   = 4:255:0:*:*,0:mss,nop,nop,ts:id-:0
sig   = *:255:0:*:*,*:mss,nop,ws::0
sig   = 4:255:0:*:*,*:mss,nop,ws:id-:0
sig   = *:255:0:*:*,0:mss,nop,nop,sok::0
sig   = 4:255:0:*:*,0:mss,nop,nop,sok:id-:0
sig   = *:255:0:*:*,*:mss,nop,nop,ts,nop,ws::0
sig   = 4:255:0:*:*,*:mss,nop,nop,ts,nop,ws:id-:0
sig   = *:255:0:*:*,0:mss,nop,nop,ts,nop,nop,sok::0
sig   = 4:255:0:*:*,0:mss,nop,nop,ts,nop,nop,sok:id-:0
sig   = *:255:0:*:*,*:mss,nop,ws,nop,nop,sok::0
sig   = 4:255:0:*:*,*:mss,nop,ws,nop,nop,sok:id-:0
sig   = *:255:0:*:*,*:mss,nop,nop,ts,nop,ws,nop,nop,sok::0
sig   = 4:255:0:*:*,*:mss,nop,nop,ts,nop,ws,nop,nop,sok:id-:0
sig   = 4:255:0:*:mss*2,0:mss::0
sig   = 4:255:0:*:mss*2,0:mss:id-:0
sig   = 4:255:0:*:mss*4,0:mss::0
sig   = 4:255:0:*:mss*4,0:mss:id-:0
sig   = 4:255:0:*:mss*8,0:mss::0
sig   = 4:255:0:*:mss*8,0:mss:id-:0

; uipopt.h: UIP_RECEIVE_WINDOW is UIP_TCP_MSS, UIP_TTL 64, MSS the only option. The MSS is
; UIP_BUFSIZE without headers (54 bytes): 400 in uipopt.h, 420 in uIP's port to Unix, 1500 in
; ports to microcontrollers; UIPEthernet (Arduino) sets 512.
label = g:other:uIP:
sig   = 4:64:0:346:mss*1,0:mss::0
sig   = 4:64:0:346:mss*1,0:mss:id-:0
sig   = 4:64:0:366:mss*1,0:mss::0
sig   = 4:64:0:366:mss*1,0:mss:id-:0
sig   = 4:64:0:512:mss*1,0:mss::0
sig   = 4:64:0:512:mss*1,0:mss:id-:0
sig   = 4:64:0:1446:mss*1,0:mss::0
sig   = 4:64:0:1446:mss*1,0:mss:id-:0

[tcp:response]

; Any other window: tuned servers and front ends.
label = g:unix:Linux:
sig   = *:64:0:*:*,*:mss,sok,ts,nop,ws:df:0
sig   = 6:64:0:*:*,*:mss,sok,ts,nop,ws:flow:0

; Linux's answer to a client without timestamps.
label = g:unix:Linux:(no timestamps)
sig   = *:64:0:*:*,*:mss,nop,nop,sok,nop,ws:df:0
sig   = 6:64:0:*:*,*:mss,nop,nop,sok,nop,ws:flow:0

; As the SYN.
label = g:win:Windows:
sig   = *:128:0:*:*,*:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = 6:128:0:*:*,*:mss,nop,ws,nop,nop,sok:flow:0

; As the SYN.
label = g:unix:macOS or iOS:
sig   = *:64:0:*:65535,*:mss,nop,ws,nop,nop,ts,sok,eol+1:df,flow:0
sig   = 4:64:0:*:65535,*:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0

; FreeBSD 5 and 6 and the XNU that came from them; and both of any age where the client
; offered nothing but an MSS, or no timestamps.
label = g:unix:FreeBSD or macOS:
sig   = *:64:0:*:65535,0:mss,nop,ws,nop,nop,ts,sok,eol+1:ecn,flow:0
sig   = *:64:0:*:65535,1:mss,nop,ws,nop,nop,ts,sok,eol+1:ecn,flow:0
sig   = 4:64:0:*:65535,0:mss:df:0
sig   = 4:64:0:*:65535,0:mss:df,id+:0
sig   = 4:64:0:*:65535,*:mss,nop,ws,nop,nop,ts:df,id+:0

; As the SYN.
label = g:unix:FreeBSD:
sig   = *:64:0:*:65535,*:mss,nop,ws,sok,ts:df,flow:0
sig   = 4:64:0:*:65535,*:mss,nop,ws,sok,ts:df,id+:0

; Both answer clients without timestamps in this way.
label = g:unix:FreeBSD or macOS:11 or newer, or 10.15 or newer
sig   = *:64:0:*:65535,6:mss,nop,ws,sok,eol+1:df,flow:0

; As the SYN.
label = g:other:uIP:
sig   = 4:64:0:346:mss*1,0:mss::0
sig   = 4:64:0:346:mss*1,0:mss:id-:0
sig   = 4:64:0:366:mss*1,0:mss::0
sig   = 4:64:0:366:mss*1,0:mss:id-:0
sig   = 4:64:0:512:mss*1,0:mss::0
sig   = 4:64:0:512:mss*1,0:mss:id-:0
sig   = 4:64:0:1446:mss*1,0:mss::0
sig   = 4:64:0:1446:mss*1,0:mss:id-:0
