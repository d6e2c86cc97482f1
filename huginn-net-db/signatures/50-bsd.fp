; The BSDs. Each packs its options in its own order (tcp_addoptions() and tcp_output()),
; which tells them apart better than windows do.
;
; "Nmap observed" is an answer that submitters to Nmap's OS detection recorded of the version
; named: its first probe offers all options, as Linux does, its ECN probe all but timestamps,
; as Windows does.

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

; tcp_output() of DragonFly: the aligned SACK option stands before the timestamp, the scale
; is TCP_MIN_WINSHIFT, tcp_recvspace is 57344. DF follows path_mtu_discovery, which was off
; in tcp_output.c and, as the answers show, is on in 4.6.
label = s:unix:DragonFly BSD:2 or newer
sig   = *:64:0:*:57344,5:mss,nop,ws,nop,nop,sok,nop,nop,ts::0

; As above, with DF.
label = s:unix:DragonFly BSD:4 or newer
sig   = 4:64:0:*:57344,5:mss,nop,ws,nop,nop,sok,nop,nop,ts:df:0

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

; The first releases with SACK put it last. Nmap observed 5.3, 5.4, 5.5 and a 6.2.
label = s:unix:FreeBSD:5-6
sig   = 4:64:0:*:65535,0:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+:0
sig   = 4:64:0:*:65535,1:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+:0

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
; To a client without timestamps. Nmap observed 5.0 to 7.0.
sig   = *:64:0:*:32768,*:mss,nop,ws,sok,nop,nop:df:0

; The timestamps of a connection began with 0; later ones begin with 1, because Linux takes
; a 0 for an error (comment in tcp_newtcpcb()). The ID was not yet 0. Nmap observed 3.1, 4.0,
; QNX 6.5, whose stack is NetBSD's, and Apple's base stations, which run NetBSD 4.
label = s:unix:NetBSD:3-4, or QNX 6.5
sig   = 4:64:0:*:32768,0:mss,nop,ws,nop,nop,ts,sok,nop,nop:df,id+,ts1-:0
sig   = 4:64:0:*:32768,0:mss,nop,ws,sok,nop,nop:df,id+:0

; The same stack with the timestamps of newer ones, but an ID. Nmap observed 7.0.0.
label = s:unix:QNX:7
sig   = 4:64:0:*:32768,3:mss,nop,ws,nop,nop,ts,sok,nop,nop:df,id+:0
sig   = 4:64:0:*:32768,3:mss,nop,ws,sok,nop,nop:df,id+:0

; QNX too, with larger buffers: Nmap observed eight devices, scales 1 to 6.
label = s:unix:QNX:(BlackBerry 10)
sig   = 4:64:0:*:65535,*:mss,nop,ws,nop,nop,ts,sok,nop,nop:df,id+:0
sig   = 4:64:0:*:65535,6:mss,nop,ws,sok,nop,nop:df,id+:0

; syncache_respond() puts SACK last. Nmap observed 2.3 to 3.1; over IPv6 there is no DF.
label = s:unix:DragonFly BSD:2 or newer
sig   = *:64:0:*:57344,5:mss,nop,ws,nop,nop,ts,nop,nop,sok::0
sig   = *:64:0:*:57344,5:mss,nop,ws,nop,nop,sok::0

; path_mtu_discovery is on: DF, and the ID is 0. Nmap observed 4.6 and 4.9.
label = s:unix:DragonFly BSD:4 or newer
sig   = 4:64:0:*:57344,5:mss,nop,ws,nop,nop,ts,nop,nop,sok:df:0
sig   = 4:64:0:*:57344,5:mss,nop,ws,nop,nop,sok:df:0

; Before TCP_MIN_WINSHIFT. Nmap observed 1.8 and 1.10.
label = s:unix:DragonFly BSD:1
sig   = *:64:0:*:57344,0:mss,nop,ws,nop,nop,ts,nop,nop,sok::0
sig   = *:64:0:*:57344,0:mss,nop,ws,nop,nop,sok::0
