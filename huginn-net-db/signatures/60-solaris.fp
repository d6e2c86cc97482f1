; Solaris and illumos. Solaris up to 9 puts the MSS last and starts from TTL 64 or 255;
; 10 puts the timestamp first in its answers.

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
