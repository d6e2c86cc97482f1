; Linux, all distributions. What decides is tcp_select_initial_window() and what
; it is handed: the receive space, rounded down to whole segments, and the
; "initial receive window" in segments.
;
;   2.4-2.6      4 segments                  (5840 on Ethernet)
;   2.6.32-3.10  10 segments                 (14600; the 2.6.32 is Red Hat's)
;   3.10-4.19    20 segments                 (29200; the 3.10 is Red Hat's)
;   4.20-        64 KiB in whole segments    (64240): tcp_rmem starts at 128 KiB
;                                            (commit a337531b942b)
;   6.6-6.9      as 4.20 with a quarter of the buffer counted as window (32120)
;
; A SYN counts segments of the announced MSS; a SYN+ACK takes the 12 bytes of a
; timestamp off first. The scale follows tcp_rmem[2] and net.core.rmem_max and
; says nothing of the version. The order of options is that of
; tcp_options_write(): MSS, SACK beside the timestamp, timestamp, scale.
;
; IPv4 packets have DF; a SYN has an ID, a SYN+ACK has ID 0. Flow labels on IPv6
; are the default since 4.3 (auto_flowlabels).

[tcp:request]

; Recorded on Linux 6.18 over veth with MTU 1500, 1492, 1420, 1400, 1280 and 576 and over
; IPv6, and with tcp_rmem[2] from 1 to 512 MiB (scale 7 to 14). 44 is 1460, 45 is IPv6 or
; PPPoE, the rest are tunnels and mobile links.
label = s:unix:Linux:4.20 or newer
sig   = *:64:0:*:mss*44,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*45,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*46,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*47,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*48,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*49,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*50,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*51,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*52,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*53,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*54,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*55,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*56,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:536:mss*122,*:mss,sok,ts,nop,ws:df,id+,flow:0
; The same with jumbo frames: 7 segments of 8960 or 8940. Recorded on Linux 6.18 with MTU
; 9000; 8961 is EC2's link of 9001 bytes.
sig   = *:64:0:8960:mss*7,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:8961:mss*7,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = 6:64:0:8940:mss*7,*:mss,sok,ts,nop,ws:flow:0
sig   = 6:64:0:8941:mss*7,*:mss,sok,ts,nop,ws:flow:0
; The same with auto_flowlabels off.
sig   = 6:64:0:*:mss*44,*:mss,sok,ts,nop,ws::0
sig   = 6:64:0:*:mss*45,*:mss,sok,ts,nop,ws::0
sig   = 6:64:0:*:mss*46,*:mss,sok,ts,nop,ws::0
sig   = 6:64:0:*:mss*47,*:mss,sok,ts,nop,ws::0
sig   = 6:64:0:*:mss*48,*:mss,sok,ts,nop,ws::0
sig   = 6:64:0:65476:mss*1,*:mss,sok,ts,nop,ws::0
; The same with tcp_ecn=1, recorded on Linux 6.18.
sig   = *:64:0:*:mss*44,*:mss,sok,ts,nop,ws:df,id+,ecn,flow:0
sig   = *:64:0:*:mss*45,*:mss,sok,ts,nop,ws:df,id+,ecn,flow:0
sig   = *:64:0:*:mss*46,*:mss,sok,ts,nop,ws:df,id+,ecn,flow:0
sig   = *:64:0:*:mss*47,*:mss,sok,ts,nop,ws:df,id+,ecn,flow:0
sig   = *:64:0:*:mss*48,*:mss,sok,ts,nop,ws:df,id+,ecn,flow:0

; Loopback, where one segment is all of the window; recorded on Linux 6.18. Red Hat 6 has
; the MTU of newer kernels and counts three quarters of 87380, 65535, as window (Arkime test
; capture smtp-nospaces.pcap, Sendmail 8.14).
label = s:unix:Linux:4.20 or newer, or 2.6.32 of Red Hat 6
sig   = 4:64:0:65495:mss*1,*:mss,sok,ts,nop,ws:df,id+:0
sig   = 6:64:0:65476:mss*1,*:mss,sok,ts,nop,ws:flow:0

; tcp_timestamps=0, and with SACK or scaling off as well; recorded on Linux 6.18.
label = s:unix:Linux:4.20 or newer (no timestamps)
sig   = *:64:0:*:mss*44,*:mss,nop,nop,sok,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*45,*:mss,nop,nop,sok,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*46,*:mss,nop,nop,sok,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*47,*:mss,nop,nop,sok,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*48,*:mss,nop,nop,sok,nop,ws:df,id+,flow:0
sig   = 4:64:0:65495:mss*1,*:mss,nop,nop,sok,nop,ws:df,id+:0
sig   = 6:64:0:65476:mss*1,*:mss,nop,nop,sok,nop,ws:flow:0
sig   = *:64:0:*:mss*44,*:mss,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*45,*:mss,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*44,0:mss,nop,nop,sok:df,id+,flow:0
sig   = *:64:0:*:mss*45,0:mss,nop,nop,sok:df,id+,flow:0
sig   = *:64:0:*:mss*44,0:mss:df,id+,flow:0
sig   = *:64:0:*:mss*45,0:mss:df,id+,flow:0

; tcp_sack=0 or tcp_window_scaling=0 with timestamps; recorded on Linux 6.18.
label = s:unix:Linux:4.20 or newer (no SACK or scaling)
sig   = *:64:0:*:mss*44,*:mss,nop,nop,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*45,*:mss,nop,nop,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*44,0:mss,nop,nop,ts:df,id+,flow:0
sig   = *:64:0:*:mss*45,0:mss,nop,nop,ts:df,id+,flow:0
sig   = *:64:0:*:mss*44,0:mss,sok,ts:df,id+,flow:0
sig   = *:64:0:*:mss*45,0:mss,sok,ts:df,id+,flow:0

; TCP fast open (RFC 7413): option 34 with or without a cookie, data allowed; recorded on
; Linux 6.18.
label = s:unix:Linux:4.20 or newer (fast open)
sig   = *:64:0:*:mss*44,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*45,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*46,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*47,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*48,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*49,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*50,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*51,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*52,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*53,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*54,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*55,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:mss*56,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = 4:64:0:65495:mss*1,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+:*
sig   = 6:64:0:65476:mss*1,*:mss,sok,ts,nop,ws,?34,nop,nop:flow:*
; Without a cookie (tcp_fastopen bits 0x4 and 0x200), data alone; recorded on Linux 6.18.
sig   = *:64:0:*:mss*44,*:mss,sok,ts,nop,ws:df,id+,flow:+
sig   = *:64:0:*:mss*45,*:mss,sok,ts,nop,ws:df,id+,flow:+

; Option 30 of RFC 8684, recorded on Linux 6.18.
label = s:unix:Linux:5.6 or newer (multipath TCP)
sig   = *:64:0:*:mss*44,*:mss,sok,ts,nop,ws,?30:df,id+,flow:0
sig   = *:64:0:*:mss*45,*:mss,sok,ts,nop,ws,?30:df,id+,flow:0
sig   = *:64:0:*:mss*46,*:mss,sok,ts,nop,ws,?30:df,id+,flow:0
sig   = *:64:0:*:mss*47,*:mss,sok,ts,nop,ws,?30:df,id+,flow:0

; 32120, 22 segments without scaling: the table in Spitzner's "Know Your Enemy: Passive
; Fingerprinting" (2000).
label = s:unix:Linux:2.2
sig   = *:64:0:*:mss*22,0:mss,sok,ts,nop,ws:df,id+:0

; TCP_DEFAULT_SCALING_RATIO of 6.6 to 6.9 is 1200 bytes of a 4 KiB page, 65/256: 33280 of
; the 128 KiB. Zeek test capture cooper-grill-dvwa.pcapng; nDPI test capture jsonrpc.pcap
; over lo. tcp_rmem[1]=65536 on Linux 6.18 gives the same 22.
label = s:unix:Linux:6.6-6.9, or 4.20 or newer with small buffers
sig   = *:64:0:*:mss*22,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*23,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*24,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*25,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*26,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = 4:64:0:65495:33280,*:mss,sok,ts,nop,ws:df,id+:0
sig   = 6:64:0:65476:33280,*:mss,sok,ts,nop,ws:flow:0

; tcp_rmem[1]=87380, as in many tuning guides, gives 29 segments, recorded on Linux 6.18;
; the initrwnd of a route does the same on any kernel.
label = s:unix:Linux:(tuned)
sig   = *:64:0:*:mss*29,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*30,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*31,*:mss,sok,ts,nop,ws:df,id+,flow:0

; Over IPv6 without flow labels, which Linux has since 4.3, gVisor's netstack sends the same.
label = s:unix:Linux:3.10-4.19 or gVisor
sig   = 6:64:0:1440:mss*20,7:mss,sok,ts,nop,ws::0

; tcp_default_init_rwnd(): twice the initial congestion window of 10. Suricata test capture
; with OpenSSH 6.7 of Raspbian, nDPI test capture weibo.pcap (Chrome 50 on Linux), Arkime
; test capture ospf.pcap over IPv6.
label = s:unix:Linux:3.10-4.19
sig   = *:64:0:*:mss*20,*:mss,sok,ts,nop,ws:df,id+:0
sig   = 6:64:0:*:mss*20,*:mss,sok,ts,nop,ws:flow:0

; Jumbo frames: the 20 segments are of 1460 bytes, which makes 3 of 8960, and so does a
; quarter of the buffer. Zeek and Suricata test captures from AWS.
label = s:unix:Linux:3.10-4.19 or 6.6-6.9
sig   = *:64:0:8960:mss*3,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:8961:mss*3,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = 6:64:0:8940:mss*3,*:mss,sok,ts,nop,ws:flow:0
sig   = 6:64:0:8941:mss*3,*:mss,sok,ts,nop,ws:flow:0

; Loopback: MTU 65536 since 3.6, and 43690 is half of the 87380 of tcp_rmem before 4.20.
; Zeek test captures x-gzip.pcap and fake-content-length.pcap.
label = s:unix:Linux:3.6-4.19
sig   = 4:64:0:65495:43690,*:mss,sok,ts,nop,ws:df,id+:0
sig   = 6:64:0:65476:43690,*:mss,sok,ts,nop,ws::0
sig   = 6:64:0:65476:43690,*:mss,sok,ts,nop,ws:flow:0

; FoxIO test capture https-connect.pcap; Zeek test capture timestamp.pcap (no SACK).
label = s:unix:Linux:3.10-4.19 (no timestamps)
sig   = *:64:0:*:mss*20,*:mss,nop,nop,sok,nop,ws:df,id+:0
sig   = 6:64:0:*:mss*20,*:mss,nop,nop,sok,nop,ws:flow:0
sig   = *:64:0:*:mss*20,*:mss,nop,ws:df,id+:0
sig   = *:64:0:*:mss*20,0:mss,nop,nop,sok:df,id+:0
sig   = *:64:0:*:mss*20,0:mss:df,id+:0
sig   = *:64:0:*:mss*20,*:mss,nop,nop,ts,nop,ws:df,id+:0
sig   = *:64:0:*:mss*20,0:mss,sok,ts:df,id+:0

; Option 254 is the experimental fast open of RFC 6994, 34 the assigned one. Suricata test
; capture tfo.pcap.
label = s:unix:Linux:3.7-4.19 (fast open)
sig   = *:64:0:*:mss*20,*:mss,sok,ts,nop,ws,?254:df,id+:*
sig   = *:64:0:*:43690,*:mss,sok,ts,nop,ws,?254:df,id+:*
sig   = *:64:0:*:mss*20,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+:*
sig   = *:64:0:*:mss*20,*:mss,sok,ts,nop,ws,?34:df,id+:*

; Initial window of 10 segments: 2.6.39, and Red Hat's 2.6.32. Zeek test capture
; content-range-gap.pcap (curl of Red Hat 6), nDPI test captures webex.pcap and
; KakaoTalk_chat.pcap (Dalvik on Android 4.4). Phones have scales of 4 to 8.
label = s:unix:Linux:2.6.32-3.10, or Android 4
sig   = *:64:0:*:mss*10,*:mss,sok,ts,nop,ws:df,id+:0
sig   = 6:64:0:*:mss*10,*:mss,sok,ts,nop,ws:flow:0

; FoxIO test capture ssh2-moloch-crash.pcap (OpenSSH 5.3).
label = s:unix:Linux:2.6.32-3.10 (no timestamps)
sig   = *:64:0:*:mss*10,*:mss,nop,nop,sok,nop,ws:df,id+:0
sig   = *:64:0:*:mss*10,*:mss,nop,ws:df,id+:0
sig   = *:64:0:*:mss*10,0:mss,nop,nop,sok:df,id+:0
sig   = *:64:0:*:mss*10,0:mss:df,id+:0
sig   = *:64:0:*:mss*10,*:mss,nop,nop,ts,nop,ws:df,id+:0
sig   = *:64:0:*:mss*10,0:mss,sok,ts:df,id+:0

; 4 segments; scale 0 to 2 until tcp_rmem[2] grew with the memory in 2.6.17. Zeek test
; captures mixed-vlan-mpls.pcap (Wget 1.10) and nDPI's rtp.pcapng.
label = s:unix:Linux:2.4-2.6
sig   = *:64:0:*:mss*4,0:mss,sok,ts,nop,ws:df,id+:0
sig   = *:64:0:*:mss*4,1:mss,sok,ts,nop,ws:df,id+:0
sig   = *:64:0:*:mss*4,2:mss,sok,ts,nop,ws:df,id+:0

; Zeek test capture wikipedia.pcap (Ubuntu 10.04), suricata test capture with Firefox 3.0 on
; Linux, nDPI test capture pop3.pcap.
label = s:unix:Linux:2.6, or Android 2
sig   = *:64:0:*:mss*4,*:mss,sok,ts,nop,ws:df,id+:0

; Loopback of 16436 bytes: two segments fit, or 32767 without scaling. Arkime test capture
; smb-smbclient.pcap.
label = s:unix:Linux:2.4-3.5
sig   = 4:64:0:16396:mss*2,*:mss,sok,ts,nop,ws:df,id+:0
sig   = 4:64:0:16396:32767,*:mss,sok,ts,nop,ws:df,id+:0
sig   = 4:64:0:16396:mss*1,*:mss,sok,ts,nop,ws:df,id+:0
sig   = 6:64:0:16376:mss*2,*:mss,sok,ts,nop,ws::0

; Over IPv6, lwIP 2.1.3 and 2.2.1 with TTL 64 and 4 segments send the same (ESP-IDF; see
; 70-devices.fp). A signature of version 6 would also take lwIP's packets over IPv4, without DF.
label = s:other:Linux 2.4-2.6 or lwIP:
sig   = *:64:0:1440:mss*4,0:mss:df:0

; The same kernels with tcp_timestamps=0, in the order of tcp_syn_build_options().
label = s:unix:Linux:2.4-2.6 (no timestamps)
sig   = *:64:0:*:mss*4,*:mss,nop,nop,sok,nop,ws:df,id+:0
sig   = *:64:0:*:mss*4,*:mss,nop,ws:df,id+:0
sig   = *:64:0:*:mss*4,0:mss,nop,nop,sok:df,id+:0
sig   = *:64:0:*:mss*4,0:mss:df,id+:0
sig   = *:64:0:*:mss*4,*:mss,nop,nop,ts,nop,ws:df,id+:0
sig   = *:64:0:*:mss*4,0:mss,sok,ts:df,id+:0

[tcp:response]

; Answer to all options, recorded on Linux 6.18 for the same links as above: 45 is 65160, 64
; KiB in segments of 1448. Syncookies (tcp_syncookies=2) look the same.
label = s:unix:Linux:4.20 or newer
sig   = *:64:0:*:mss*44,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*45,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*46,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*47,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*48,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*49,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*50,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*51,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*52,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*53,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*54,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*55,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*56,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*57,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:536:mss*125,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:8960:mss*7,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:8961:mss*7,*:mss,sok,ts,nop,ws:df,flow:0
sig   = 6:64:0:8940:mss*7,*:mss,sok,ts,nop,ws:flow:0
; The same with auto_flowlabels off, or with ECN agreed on (tcp_ecn=1 at the client),
; recorded on Linux 6.18.
sig   = 6:64:0:*:mss*44,*:mss,sok,ts,nop,ws::0
sig   = 6:64:0:*:mss*45,*:mss,sok,ts,nop,ws::0
sig   = 6:64:0:*:mss*46,*:mss,sok,ts,nop,ws::0
sig   = 6:64:0:*:mss*47,*:mss,sok,ts,nop,ws::0
sig   = 6:64:0:*:mss*48,*:mss,sok,ts,nop,ws::0
sig   = *:64:0:*:mss*44,*:mss,sok,ts,nop,ws:df,ecn,flow:0
sig   = *:64:0:*:mss*45,*:mss,sok,ts,nop,ws:df,ecn,flow:0
sig   = *:64:0:*:mss*46,*:mss,sok,ts,nop,ws:df,ecn,flow:0
sig   = *:64:0:*:mss*47,*:mss,sok,ts,nop,ws:df,ecn,flow:0
sig   = *:64:0:*:mss*48,*:mss,sok,ts,nop,ws:df,ecn,flow:0
; Answers to a client without timestamps, SACK or scaling, recorded on Linux 6.18. With
; syncookies and no timestamps only the MSS comes back.
sig   = *:64:0:*:mss*44,*:mss,nop,nop,sok,nop,ws:df,flow:0
sig   = *:64:0:*:mss*45,*:mss,nop,nop,sok,nop,ws:df,flow:0
sig   = *:64:0:*:mss*46,*:mss,nop,nop,sok,nop,ws:df,flow:0
sig   = *:64:0:*:mss*47,*:mss,nop,nop,sok,nop,ws:df,flow:0
sig   = *:64:0:*:mss*48,*:mss,nop,nop,sok,nop,ws:df,flow:0
sig   = *:64:0:*:mss*44,*:mss,nop,nop,sok,nop,ws:df,ecn,flow:0
sig   = *:64:0:*:mss*45,*:mss,nop,nop,sok,nop,ws:df,ecn,flow:0
sig   = 4:64:0:65495:mss*1,*:mss,nop,nop,sok,nop,ws:df:0
sig   = 6:64:0:65476:mss*1,*:mss,nop,nop,sok,nop,ws:flow:0
sig   = *:64:0:*:mss*44,*:mss,nop,ws:df,flow:0
sig   = *:64:0:*:mss*45,*:mss,nop,ws:df,flow:0
sig   = *:64:0:*:mss*44,0:mss,nop,nop,sok:df,flow:0
sig   = *:64:0:*:mss*45,0:mss,nop,nop,sok:df,flow:0
sig   = *:64:0:*:mss*44,0:mss:df,flow:0
sig   = *:64:0:*:mss*45,0:mss:df,flow:0
sig   = *:64:0:*:mss*46,0:mss:df,flow:0
sig   = *:64:0:*:mss*44,*:mss,nop,nop,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*45,*:mss,nop,nop,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*44,0:mss,nop,nop,ts:df,flow:0
sig   = *:64:0:*:mss*45,0:mss,nop,nop,ts:df,flow:0
sig   = *:64:0:*:mss*44,0:mss,sok,ts:df,flow:0
sig   = *:64:0:*:mss*45,0:mss,sok,ts:df,flow:0

; Loopback, as for the SYN.
label = s:unix:Linux:4.20 or newer, or 2.6.32 of Red Hat 6
sig   = 4:64:0:65495:mss*1,*:mss,sok,ts,nop,ws:df:0
sig   = 6:64:0:65476:mss*1,*:mss,sok,ts,nop,ws:flow:0

; Recorded on Linux 6.18.
label = s:unix:Linux:4.20 or newer (fast open)
sig   = *:64:0:*:mss*44,*:mss,sok,ts,nop,ws,?34,nop,nop:df,flow:0
sig   = *:64:0:*:mss*45,*:mss,sok,ts,nop,ws,?34,nop,nop:df,flow:0

; Recorded on Linux 6.18.
label = s:unix:Linux:5.6 or newer (multipath TCP)
sig   = *:64:0:*:mss*44,*:mss,sok,ts,nop,ws,?30:df,flow:0
sig   = *:64:0:*:mss*45,*:mss,sok,ts,nop,ws,?30:df,flow:0
sig   = *:64:0:*:mss*46,*:mss,sok,ts,nop,ws,?30:df,flow:0
sig   = *:64:0:*:mss*47,*:mss,sok,ts,nop,ws,?30:df,flow:0

; As the SYN.
label = s:unix:Linux:2.2
sig   = *:64:0:*:mss*22,0:mss,sok,ts,nop,ws:df:0

; As for the SYN: 31856, 22 segments of 1448. Zeek test capture
; http-non-printable-characters.pcap (Python 3.12).
label = s:unix:Linux:6.6-6.9, or 4.20 or newer with small buffers
sig   = *:64:0:*:mss*22,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*23,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*24,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*25,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*26,*:mss,sok,ts,nop,ws:df,flow:0
sig   = 4:64:0:65495:33280,*:mss,sok,ts,nop,ws:df:0
sig   = 6:64:0:65476:33280,*:mss,sok,ts,nop,ws:flow:0

; 7 segments of 8949 or 8948: an AWS or jumbo link behind a router that lowers the MSS. nDPI
; test capture ookla.pcap.
label = s:unix:Linux:4.20 or newer (9001 byte link)
sig   = 4:64:0:*:62643,*:mss,sok,ts,nop,ws:df:0
sig   = 4:64:0:*:62636,*:mss,sok,ts,nop,ws:df:0
sig   = 4:64:0:*:62727,*:mss,nop,nop,sok,nop,ws:df:0
sig   = 4:64:0:*:62720,*:mss,nop,nop,sok,nop,ws:df:0

; tcp_rmem[1]=87380, recorded on Linux 6.18: 30 segments of 1448, 29 without timestamps.
; Servers with initrwnd on their routes look the same.
label = s:unix:Linux:(tuned)
sig   = *:64:0:*:mss*29,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*30,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*31,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:*:mss*29,*:mss,nop,nop,sok,nop,ws:df,flow:0
sig   = *:64:0:*:mss*29,*:mss,nop,ws:df,flow:0

; Over IPv6 without flow labels, which Linux has since 4.3, gVisor's netstack sends the same.
label = s:unix:Linux:3.10-4.19 or gVisor
sig   = 6:64:0:1440:mss*20,7:mss,sok,ts,nop,ws::0

; 28960, 20 segments of 1448. Zeek test capture ssh-dups.pcap (OpenSSH_7.6p1 Ubuntu), FoxIO
; test capture ssh-scp-1050.pcap (OpenSSH_7.4 of Red Hat 7) without timestamps.
label = s:unix:Linux:3.10-4.19
sig   = *:64:0:*:mss*20,*:mss,sok,ts,nop,ws:df:0
sig   = 6:64:0:*:mss*20,*:mss,sok,ts,nop,ws:flow:0
sig   = *:64:0:*:mss*20,*:mss,sok,ts,nop,ws:df,ecn:0
sig   = *:64:0:*:mss*20,*:mss,nop,nop,sok,nop,ws:df:0
sig   = 6:64:0:*:mss*20,*:mss,nop,nop,sok,nop,ws:flow:0
sig   = *:64:0:*:mss*20,*:mss,nop,ws:df:0
sig   = *:64:0:*:mss*20,0:mss,nop,nop,sok:df:0
sig   = *:64:0:*:mss*20,0:mss:df:0
sig   = *:64:0:*:mss*20,*:mss,nop,nop,ts,nop,ws:df:0
sig   = *:64:0:*:mss*20,0:mss,sok,ts:df:0
sig   = *:64:0:*:mss*20,0:mss,nop,nop,ts:df:0
sig   = *:64:0:*:mss*20,*:mss,sok,ts,nop,ws,?254:df:0

; Jumbo frames, as for the SYN.
label = s:unix:Linux:3.10-4.19 or 6.6-6.9
sig   = *:64:0:8960:mss*3,*:mss,sok,ts,nop,ws:df,flow:0
sig   = *:64:0:8961:mss*3,*:mss,sok,ts,nop,ws:df,flow:0

; 3 segments of 8949, or 8961 without timestamps: EC2, whose links carry 9001 bytes, behind
; a router that lowers the MSS. Hosts in AWS start from TTL 255 as often as from 64. nDPI
; test captures sites.pcapng and mpeg-dash.pcap (Apache on 54.161.101.85).
label = s:unix:Linux:3.10-4.19 (9001 byte link)
sig   = 4:255:0:*:26847,*:mss,sok,ts,nop,ws:df:0
sig   = 4:64:0:*:26847,*:mss,sok,ts,nop,ws:df:0
sig   = 4:255:0:*:26883,*:mss,nop,nop,sok,nop,ws:df:0
sig   = 4:64:0:*:26883,*:mss,nop,nop,sok,nop,ws:df:0
sig   = 4:64:0:*:17898,*:mss,sok,ts,nop,ws:df:0

; Loopback, as for the SYN.
label = s:unix:Linux:3.6-4.19
sig   = 4:64:0:65495:43690,*:mss,sok,ts,nop,ws:df:0
sig   = 6:64:0:65476:43690,*:mss,sok,ts,nop,ws::0
sig   = 6:64:0:65476:43690,*:mss,sok,ts,nop,ws:flow:0
sig   = 4:64:0:65495:43690,0:mss:df:0

; 14480, 10 segments of 1448. Suricata and Zeek test captures with vsFTPd 2.3.5 and
; Apache/2.4.3 (Fedora); another with Apache/2.2.22 (Debian) over IPv6.
label = s:unix:Linux:2.6.32-3.10
sig   = *:64:0:*:mss*10,*:mss,sok,ts,nop,ws:df:0
sig   = 6:64:0:*:mss*10,*:mss,sok,ts,nop,ws:flow:0
sig   = *:64:0:*:mss*10,*:mss,nop,nop,sok,nop,ws:df:0
sig   = *:64:0:*:mss*10,*:mss,nop,ws:df:0
sig   = *:64:0:*:mss*10,0:mss,nop,nop,sok:df:0
sig   = *:64:0:*:mss*10,0:mss:df:0
sig   = *:64:0:*:mss*10,*:mss,nop,nop,ts,nop,ws:df:0
sig   = *:64:0:*:mss*10,0:mss,sok,ts:df:0
sig   = *:64:0:*:mss*10,0:mss,nop,nop,ts:df:0

; Over IPv6, lwIP 2.1.3 and 2.2.1 with TTL 64 and 4 segments answer the same. Over IPv4 Linux
; answers with ID 0, which id+ excludes here.
label = s:other:Linux 2.4-2.6 or lwIP:
sig   = *:64:0:1440:mss*4,0:mss:df,id+:0

; 5792, 4 segments of 1448, or 5840 without timestamps. Zeek test captures
; cooper-grill-dvwa.pcapng (Apache/2.2.8 (Ubuntu)) and ssh.pcap (OpenSSH 3.4).
label = s:unix:Linux:2.4-2.6
sig   = *:64:0:*:mss*4,*:mss,sok,ts,nop,ws:df:0
sig   = *:64:0:*:mss*4,*:mss,nop,nop,sok,nop,ws:df:0
sig   = *:64:0:*:mss*4,*:mss,nop,ws:df:0
sig   = *:64:0:*:mss*4,0:mss,nop,nop,sok:df:0
sig   = *:64:0:*:mss*4,0:mss:df:0
sig   = *:64:0:*:mss*4,*:mss,nop,nop,ts,nop,ws:df:0
sig   = *:64:0:*:mss*4,0:mss,sok,ts:df:0
sig   = *:64:0:*:mss*4,0:mss,nop,nop,ts:df:0

; Loopback, as for the SYN.
label = s:unix:Linux:2.4-3.5
sig   = 4:64:0:16396:mss*2,*:mss,sok,ts,nop,ws:df:0
sig   = 4:64:0:16396:32767,*:mss,sok,ts,nop,ws:df:0
