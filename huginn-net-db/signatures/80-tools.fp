; Scanners and packet makers. They build their packets themselves, so that these tell the
; tool and not the system under it. The acknowledgement number is random in some: the
; quirk ack+ then comes and goes with the bits looked at, hence both.

[tcp:request]

; Recorded with Nmap 7.93 (-sS, -sn -PS, --data-length): a window of 1024 to 4096 by the
; source of older versions, TTL 37 to 59 at random, and 255 over IPv6.
label = s:!:Nmap:SYN scan
sys   = @unix,@win
sig   = 4:64-:0:1460:1024,0:mss::*
sig   = 4:64-:0:1460:2048,0:mss::*
sig   = 4:64-:0:1460:3072,0:mss::*
sig   = 4:64-:0:1460:4096,0:mss::*
sig   = 6:255:0:1460:1024,0:mss::*

; Recorded with Nmap 7.93 (-O): the six probes of the sequence test, the ECN probe and T7's
; options on a SYN.
label = s:!:Nmap:OS detection
sys   = @unix,@win
sig   = 4:64-:0:1460:1,10:ws,nop,mss,ts,sok::0
sig   = 4:64-:0:1460:1,10:ws,nop,mss,ts,sok:ack+:0
sig   = 4:64-:0:*:63,0:mss,ws,sok,ts,eol+0::0
sig   = 4:64-:0:*:63,0:mss,ws,sok,ts,eol+0:ack+:0
sig   = 4:64-:0:640:4,5:ts,nop,nop,ws,nop,mss::0
sig   = 4:64-:0:640:4,5:ts,nop,nop,ws,nop,mss:ack+:0
sig   = 4:64-:0:0:4,10:sok,ts,ws,eol+0::0
sig   = 4:64-:0:0:4,10:sok,ts,ws,eol+0:ack+:0
sig   = 4:64-:0:536:16,10:mss,sok,ts,ws,eol+0::0
sig   = 4:64-:0:536:16,10:mss,sok,ts,ws,eol+0:ack+:0
sig   = 4:64-:0:265:512,0:mss,sok,ts::0
sig   = 4:64-:0:265:512,0:mss,sok,ts:ack+:0
sig   = 4:64-:0:265:31337,10:ws,nop,mss,ts,sok::0
sig   = 4:64-:0:265:31337,10:ws,nop,mss,ts,sok:ack+:0
sig   = 4:64-:0:1460:3,10:ws,nop,mss,sok,nop,nop:ecn,uptr+:0
sig   = 4:64-:0:1460:3,10:ws,nop,mss,sok,nop,nop:ecn,ack+,uptr+:0
sig   = 6:64-:0:265:31337,10:ws,nop,mss,ts,sok:ack+,flow:0
sig   = 6:64-:0:265:31337,10:ws,nop,mss,ts,sok:flow:0

; Recorded with Nping 0.7.93 (--tcp).
label = s:!:Nping:
sys   = @unix,@win
sig   = 4:64:0:0:1480,0:::0

; Recorded with masscan 1.3.2: no options, window 1024, TTL 255 or what --ttl says.
label = s:!:masscan:SYN scan
sys   = @unix,@win
sig   = 4:255:0:0:1024,0:::0
sig   = 4:64:0:0:1024,0:::0

; Recorded with ZMap 2.1.1: no options, window 65535, TTL 255. ZMap 4 adds the options of a
; system of choice (module tcp_synscan, --probe-args: Windows by default); it still sends
; TTL 255 without DF.
label = s:!:ZMap:SYN scan
sys   = @unix
sig   = 4:255:0:0:65535,0:::0
sig   = 4:255:0:1460:65535,8:mss,nop,ws,nop,nop,sok::0
sig   = 4:255:0:1460:65535,0:mss::0
sig   = 4:255:0:1460:65535,7:mss,sok,ts,nop,ws::0
sig   = 4:255:0:1460:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1::0

; Recorded with hping3 3.0.0-alpha-2 (-S): window 512, and --tcp-timestamp. Other programs that
; build packets send the same.
label = g:!:hping:
sys   = @unix
sig   = 4:64:0:0:512,0:::0
sig   = 4:64:0:0:512,0::ack+:0
sig   = 4:64:0:0:512,0:nop,nop,ts::0
sig   = 4:64:0:0:512,0:nop,nop,ts:ack+:0

; Recorded with GRUB 2.06 and 2.12, HTTP over PXE (captures/tools/stacks/netboot.sh): window 8192
; without options, TTL 255. Programs that build packets can send the same.
label = g:!:GRUB:(network boot)
sys   = @unix,@win,@other
sig   = *:255:0:0:8192,0:::0

; Recorded with Scapy 2.5.0: TCP() as it comes, with sequence number 0, window 8192 and no
; options. With a sequence number set it is any hand-made packet and is left alone.
label = s:!:Scapy:
sys   = @unix,@win
sig   = *:64:0:0:8192,0::seq-:0
