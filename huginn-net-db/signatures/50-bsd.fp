; The BSDs. Each packs its options in its own order (tcp_addoptions() and tcp_output()),
; which tells them apart better than windows do.

[tcp:request]

; 65535 with scale 6, from kern.ipc.maxsockbuf of 2 MiB; the ID is 0 with DF since
; net.inet.ip.rfc6864 is on (11.0).
label = s:unix:FreeBSD:11 or newer
sig   = 4:64:0:*:65535,6:mss,nop,ws,sok,ts:df:0
sig   = 4:64:0:*:65535,6:mss,nop,ws,sok,ts:df,ecn:0

; The same with a counting ID, as before 11.0.
label = s:unix:FreeBSD:8-10
sig   = 4:64:0:*:65535,6:mss,nop,ws,sok,ts:df,id+:0

; Over IPv6 there is no ID. Zeek test captures ipv6-violation.pcap and ipv6-retr-samba.pcap.
label = s:unix:FreeBSD:8 or newer
sig   = 6:64:0:*:65535,6:mss,nop,ws,sok,ts:flow:0
sig   = 6:64:0:*:65535,6:mss,nop,ws,sok,ts:ecn,flow:0
sig   = 6:64:0:*:65535,6:mss,nop,ws,sok,ts::0

; Scale 3: maxsockbuf was 256 KiB.
label = s:unix:FreeBSD:7-8
sig   = *:64:0:*:65535,3:mss,nop,ws,sok,ts:df,id+:0
sig   = 6:64:0:*:65535,3:mss,nop,ws,sok,ts:flow:0

; net.inet.tcp.recvspace of 57344 and no SACK: releases 4.5 to 4.11.
label = s:unix:FreeBSD:4
sig   = *:64:0:*:57344,0:mss,nop,ws,nop,nop,ts:df,id+:0

; tcp_recvspace is 16384; the scale was 0, then 3, then 6 as sb_max grew to 2 MiB.
label = s:unix:OpenBSD:5-7
sig   = *:64:0:*:16384,6:mss,nop,nop,sok,nop,ws,nop,nop,ts:df,id+,flow:0
sig   = 6:64:0:*:16384,6:mss,nop,nop,sok,nop,ws,nop,nop,ts::0

; sb_max of 256 KiB.
label = s:unix:OpenBSD:4-6
sig   = *:64:0:*:16384,3:mss,nop,nop,sok,nop,ws,nop,nop,ts:df,id+,flow:0
sig   = 6:64:0:*:16384,3:mss,nop,nop,sok,nop,ws,nop,nop,ts::0

; Zeek test capture qi_internet_SYNACK_curl_jsonip.pcap (curl of openbsd5.5).
label = s:unix:OpenBSD:3-5
sig   = *:64:0:*:16384,0:mss,nop,nop,sok,nop,ws,nop,nop,ts:df,id+,flow:0
sig   = 6:64:0:*:16384,0:mss,nop,nop,sok,nop,ws,nop,nop,ts::0

; SACK (since 4.0) is padded to four bytes before the timestamp; window 32768. Zeek test
; captures ipv4.pcap and ipv6.pcap: data connections of ftp.netbsd.org, whose greeting names
; NetBSD.
label = s:unix:NetBSD:4 or newer
sig   = *:64:0:*:32768,*:mss,nop,ws,sok,nop,nop,nop,nop,ts:df,flow:0
sig   = 4:64:0:*:32768,*:mss,nop,ws,sok,nop,nop,nop,nop,ts:df,id+:0
sig   = *:64:0:*:*,*:mss,nop,ws,sok,nop,nop,nop,nop,ts:df,flow:0

[tcp:response]

; As the SYN. Padding differs without timestamps.
label = s:unix:FreeBSD:11 or newer
sig   = 4:64:0:*:65535,6:mss,nop,ws,sok,ts:df:0
sig   = 4:64:0:*:65535,6:mss,nop,ws,sok,ts:df,ecn:0

; As the SYN.
label = s:unix:FreeBSD:8-10
sig   = 4:64:0:*:65535,6:mss,nop,ws,sok,ts:df,id+:0
sig   = 4:64:0:*:65535,6:mss,nop,ws,sok,eol+1:df,id+:0

; As the SYN.
label = s:unix:FreeBSD:8 or newer
sig   = 6:64:0:*:65535,6:mss,nop,ws,sok,ts:flow:0
sig   = 6:64:0:*:65535,6:mss,nop,ws,sok,ts::0

; As the SYN.
label = s:unix:FreeBSD:7-8
sig   = *:64:0:*:65535,3:mss,nop,ws,sok,ts:df,id+:0
sig   = *:64:0:*:65535,3:mss,nop,ws,sok,eol+1:df,id+:0

; Zeek test capture mixed-vlan-mpls.pcap (Apache/1.3.33).
label = s:unix:FreeBSD:4
sig   = *:64:0:*:57344,0:mss,nop,ws,nop,nop,ts:df,id+:0

; syn_cache_respond() keeps the order of the SYN. The second line answers clients without
; timestamps.
label = s:unix:OpenBSD:5-7
sig   = *:64:0:*:16384,6:mss,nop,nop,sok,nop,ws,nop,nop,ts:df,id+,flow:0
sig   = *:64:0:*:16384,6:mss,nop,nop,sok,nop,ws:df,id+,flow:0

; As the SYN.
label = s:unix:OpenBSD:4-6
sig   = *:64:0:*:16384,3:mss,nop,nop,sok,nop,ws,nop,nop,ts:df,id+,flow:0
sig   = *:64:0:*:16384,3:mss,nop,nop,sok,nop,ws:df,id+,flow:0

; As the SYN.
label = s:unix:OpenBSD:3-5
sig   = *:64:0:*:16384,0:mss,nop,nop,sok,nop,ws,nop,nop,ts:df,id+,flow:0
sig   = *:64:0:*:16384,0:mss,nop,nop,sok,nop,ws:df,id+,flow:0

; syn_cache_respond() has another order than the SYN. Zeek test captures ipv4.pcap and
; ipv6.pcap: ftp.netbsd.org, whose greeting names NetBSD.
label = s:unix:NetBSD:4 or newer
sig   = *:64:0:*:32768,*:mss,nop,ws,nop,nop,ts,sok,nop,nop:df:0
sig   = *:64:0:*:*,*:mss,nop,ws,nop,nop,ts,sok,nop,nop:df:0
