; Solaris and illumos, and below them the other makers' Unix systems. Solaris up to 9 puts
; the MSS last and starts from TTL 64 or 255; 10 puts the timestamp first in its answers.
; What "Nmap observed" means is described in 50-bsd.fp.

[tcp:request]

; tcp_recv_hiwat is 49152, rounded up to 34 segments.
label = s:unix:Solaris:10 or newer
sig   = *:64:0:*:mss*34,0:mss,nop,ws,nop,nop,sok:df,id+:0

; MSS last; 24 KiB in whole segments (17), 8 KiB (7) before 8.
label = s:unix:Solaris:7-9
sig   = *:64:0:*:mss*17,0:nop,nop,sok,mss:df,id+:0

[tcp:response]

; 49232, 34 segments of 1448. Zeek test capture www-odd-url.pcap (Apache/2.2.15 (Unix)).
label = s:unix:Solaris:10 or newer
sig   = *:64:0:*:mss*34,0:nop,nop,ts,mss,nop,ws,nop,nop,sok:df,id+:0
sig   = 4:64:0:*:mss*34,0:nop,nop,ts,mss,nop,ws,nop,nop,sok::0
sig   = *:64:0:*:mss*34,0:mss,nop,ws,nop,nop,sok:df,id+:0

; Arkime test capture smtp-subject-windows.pcap (TTL 255, Sendmail), Zeek test capture
; ssl.v3.pcap (TTL 64).
label = s:unix:Solaris:2.6-9
sig   = *:255:0:*:*,*:nop,nop,ts,nop,ws,nop,nop,sok,mss:df,id+:0
sig   = *:64:0:*:*,*:nop,nop,ts,nop,ws,nop,nop,sok,mss:df,id+:0
sig   = *:255:0:*:*,*:nop,nop,ts,nop,ws,mss:df,id+:0
sig   = *:64:0:*:*,*:nop,nop,ts,nop,ws,mss:df,id+:0

; tcp_xmit_mp_aux_iss() of illumos writes SACK into the padding before the timestamp, then the
; MSS, then the scale. The window is 128000 bytes in whole segments, halved; later 1 MiB
; with scale 5. Nmap observed Solaris 11, OpenIndiana and SmartOS. Linux 2.6.26 and 2.6.27
; have this order too, but with an ID of 0 and small windows.
label = s:unix:Solaris:11, or illumos
sig   = 4:64:0:*:64436,1:sok,ts,mss,nop,ws:df,id+:0
sig   = 4:64:0:1380:mss*47,1:sok,ts,mss,nop,ws:df,id+:0
sig   = 4:64:0:*:32806,5:sok,ts,mss,nop,ws:df,id+:0
sig   = 4:64:0:*:mss*44,1:mss,nop,nop,sok,nop,ws:df,id+:0
sig   = 4:64:0:*:32804,5:mss,nop,nop,sok,nop,ws:df,id+:0

; SACK before the scale, and the NOP behind the scale. Nmap observed 11.00 to 11.31: 32768,
; 65535 with a scale where 11.31 has larger buffers, and one with TTL 255 and no DF.
label = s:unix:HP-UX:11
sig   = 4:64:0:*:32768,0:mss,nop,nop,sok,ws,nop,nop,nop,ts:df,id+:0
sig   = 4:64:0:*:65535,*:mss,nop,nop,sok,ws,nop,nop,nop,ts:df,id+:0
sig   = 4:64:0:*:32768,0:mss,nop,nop,sok,ws,nop:df,id+:0
sig   = 4:64:0:*:65535,*:mss,nop,nop,sok,ws,nop:df,id+:0
sig   = 4:255:0:*:32768,0:mss,nop,nop,sok,ws,nop,nop,nop,ts::0
sig   = 4:255:0:*:32768,0:mss,nop,nop,sok,ws,nop::0

; TTL 60 and no SACK. Nmap observed 5.2 to 7.1. With the option rfc1323 off the answer has an
; MSS alone, as that of many systems; scales of 3 and 4 are FreeBSD's and z/OS's too.
label = s:unix:AIX:5.2-7.1
sig   = 4:60:0:*:65535,2:mss,nop,ws,nop,nop,ts:df,id+:0
sig   = 4:60:0:*:mss*45,0:mss,nop,ws,nop,nop,ts:df,id+:0

; TTL 60. The window is 48 KiB, or 60 KiB in whole segments. Nmap observed 6.5 to 6.5.30.
label = s:unix:IRIX:6.5
sig   = 4:60:0:*:49152,*:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+:0
sig   = 4:60:0:*:mss*42,0:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+:0
sig   = 4:60:0:*:49152,*:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = 4:60:0:*:mss*42,0:mss,nop,ws,nop,nop,sok:df,id+:0
