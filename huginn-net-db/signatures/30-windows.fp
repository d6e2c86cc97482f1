; Windows. TTL 128, DF and a counting ID. Options come as MSS, scale, SACK, or with
; timestamps as MSS, scale, SACK, timestamp since Vista and with the timestamp before
; SACK up to 2003. The scale is the autotuning level (netsh interface tcp: normal 8,
; restricted 4, highlyrestricted 2, experimental 14, disabled none).
;
;   Vista-8.1, early 10    8192, its own start window
;   later 10, 11           64 KiB in whole segments (64240 on Ethernet) or 65535
;   XP, 2003               64 KiB too, but without scaling unless set by hand

[tcp:request]

; FoxIO test capture latest.pcapng, nDPI test captures emotet.pcap and
; http_asymmetric.pcapng: browsers that name Windows NT 10.0. Suricata test capture with
; NTLM build 19041. 45 and up are IPv6, PPPoE and tunnels.
label = s:win:Windows:10 or 11, or Server 2016-2025
sig   = *:128:0:*:mss*44,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*45,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*46,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*47,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*48,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*49,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*50,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*51,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*52,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*53,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*54,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = 6:128:0:*:mss*44,8:mss,nop,ws,nop,nop,sok::0
sig   = 6:128:0:*:mss*45,8:mss,nop,ws,nop,nop,sok::0
sig   = 6:128:0:*:mss*46,8:mss,nop,ws,nop,nop,sok::0
sig   = 6:128:0:*:mss*47,8:mss,nop,ws,nop,nop,sok::0
; nDPI test captures trickbot.pcap and emotet.pcap: browsers that name Windows NT 10.0. The
; last two are loopback (nDPI test captures pgsql2.pcapng and openwire.pcapng).
sig   = *:128:0:*:65535,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = 6:128:0:*:65535,8:mss,nop,ws,nop,nop,sok::0
sig   = 4:128:0:65495:mtu*1,8:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = 6:128:0:65475:mtu*1,8:mss,nop,ws,nop,nop,sok:flow:0
; The same with ECN, which servers have on by default. Zeek test capture
; ssl-to-http-server.pcap.
sig   = *:128:0:*:mss*44,8:mss,nop,ws,nop,nop,sok:df,id+,ecn,flow:0
sig   = *:128:0:*:mss*45,8:mss,nop,ws,nop,nop,sok:df,id+,ecn,flow:0
sig   = *:128:0:*:mss*46,8:mss,nop,ws,nop,nop,sok:df,id+,ecn,flow:0
sig   = *:128:0:*:mss*47,8:mss,nop,ws,nop,nop,sok:df,id+,ecn,flow:0
sig   = *:128:0:*:65535,8:mss,nop,ws,nop,nop,sok:df,id+,ecn,flow:0
; Other autotuning levels, or a receive buffer that the program set (FoxIO test capture
; ssh-scp-1050.pcap: WinSCP 5.17, scale 7).
sig   = *:128:0:*:mss*44,4:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*45,4:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*44,14:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*45,14:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:65535,4:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:65535,5:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:65535,6:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:65535,7:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:65535,9:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:65535,10:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:65535,14:mss,nop,ws,nop,nop,sok:df,id+,flow:0
; With timestamps, which netsh turns on.
sig   = *:128:0:*:mss*44,8:mss,nop,ws,sok,ts:df,id+,flow:0
sig   = *:128:0:*:mss*45,8:mss,nop,ws,sok,ts:df,id+,flow:0
sig   = *:128:0:*:mss*46,8:mss,nop,ws,sok,ts:df,id+,flow:0
sig   = *:128:0:*:mss*47,8:mss,nop,ws,sok,ts:df,id+,flow:0
sig   = *:128:0:*:65535,8:mss,nop,ws,sok,ts:df,id+,flow:0

; Zeek and Suricata test captures: Firefox on Windows NT 6.0 (Vista), Internet Explorer and
; Chrome on NT 6.1 (7), NTLM builds 6001 (Server 2008), 7601 (7), 9600 (8.1) and 14393
; (Server 2016), Firefox 70 on NT 10.0. ECN is seen with NT 10.0 (Suricata test capture
; tcphdr_http.pcap).
label = s:win:Windows:Vista, 7, 8, 8.1 or 10, or Server 2008-2016
sig   = *:128:0:*:8192,8:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:8192,8:mss,nop,ws,nop,nop,sok:df,id+,ecn:0
sig   = 6:128:0:*:8192,8:mss,nop,ws,nop,nop,sok:flow:0
sig   = *:128:0:*:8192,8:mss,nop,ws,sok,ts:df,id+:0
sig   = *:128:0:*:8192,8:mss,nop,ws,sok,ts:df,id+,ecn:0
; Scale 2: Firefox 3.6, Chrome 8 and Firefox 7 on Windows NT 6.1 (Arkime test capture
; http-no-length.pcap, Suricata test capture http-sticky-server-s8.pcap, Zeek test capture
; miss_end_data.pcap). Other levels as above.
sig   = *:128:0:*:8192,2:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:8192,4:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:8192,14:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:8192,2:mss,nop,ws,nop,nop,sok:df,id+,ecn:0
sig   = *:128:0:*:8192,2:mss,nop,ws,sok,ts:df,id+:0
sig   = *:128:0:*:8192,4:mss,nop,ws,sok,ts:df,id+:0
sig   = *:128:0:*:8192,14:mss,nop,ws,sok,ts:df,id+:0
; Scaling off, or the third SYN of a connection without an answer, which drops it.
; Suricata test capture TLPW1-tcp-110.37.219.134 and Zeek test capture
; zero-length-bodies-with-drops.pcap: browsers on Windows NT 6.1.
sig   = *:128:0:*:8192,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:8192,0:mss,nop,ws,nop,nop,sok:df,id+:0

; Tcp1323Opts set, and always in the 64 bit XP: Zeek test capture 206_example_a.pcap and
; Arkime test capture http-post-upload.pcap name Windows NT 5.2.
label = s:win:Windows:XP or Server 2003
sig   = *:128:0:*:65535,0:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:65535,1:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:65535,2:mss,nop,ws,nop,nop,sok:df,id+:0
; 64512 is 63 KiB: Zeek test capture ncp.pcap (Firefox on Windows NT 5.1). 48 is 65280, 64
; KiB over a VPN (MSS 1360), Suricata test capture.
sig   = *:128:0:*:64512,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*48,0:mss,nop,nop,sok:df,id+:0
; Timestamps with Tcp1323Opts=3, in the order of the stack before Vista.
sig   = *:128:0:*:65535,*:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*44,*:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+:0
sig   = *:128:0:*:16384,*:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*12,*:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+:0

; The first is XP's default on a fast Ethernet, but also what 10 falls back to without
; scaling. The last are XP tuned with a larger TcpWindowSize (256960 is 64240 with scale 2)
; or a later one with a set buffer.
label = s:win:Windows:2000, XP or newer
sig   = *:128:0:*:65535,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*44,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*45,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*46,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*47,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*44,0:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*44,1:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*44,2:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*44,3:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:65535,3:mss,nop,ws,nop,nop,sok:df,id+:0

; TcpWindowSize as documented for these: 16 KiB, or 17520 (12 segments) on Ethernet up to
; 100 Mbit/s, 8760 (6) on slower links. Zeek test capture missing-zlib-header.pcap (Internet
; Explorer on NT 5.1), Wireshark's http.cap (Mozilla on NT 5.1).
label = s:win:Windows:2000, XP or Server 2003
sig   = *:128:0:*:16384,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*12,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*6,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:16384,0:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*12,0:mss,nop,ws,nop,nop,sok:df,id+:0

; 8760, 6 segments, is the documented TcpWindowSize on Ethernet; no SACK.
label = s:win:Windows:NT 4
sig   = *:128:0:*:mss*6,0:mss:df,id+:0

[tcp:response]

; Servers with NTLM builds 17763 (2019) and 20348 (2022) in Suricata and Zeek test captures;
; Azure hosts (MSS 1440) in nDPI's sites.pcapng. The lines with a timestamp answer clients
; that offer one.
label = s:win:Windows:10 or 11, or Server 2016-2025
sig   = *:128:0:*:65535,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:65535,8:mss,nop,ws,nop,nop,sok:df,id+,ecn,flow:0
sig   = 6:128:0:*:65535,8:mss,nop,ws,nop,nop,sok::0
sig   = *:128:0:*:65535,8:mss,nop,ws,sok,ts:df,id+,flow:0
sig   = *:128:0:*:65535,8:mss,nop,ws,sok,ts:df,id+,ecn,flow:0
sig   = 6:128:0:*:65535,8:mss,nop,ws,sok,ts::0
sig   = 4:128:0:65495:mtu*1,8:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = 6:128:0:65475:mtu*1,8:mss,nop,ws,nop,nop,sok:flow:0
sig   = *:128:0:*:mss*44,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0
sig   = *:128:0:*:mss*45,8:mss,nop,ws,nop,nop,sok:df,id+,flow:0

; NTLM builds 6001 (Server 2008), 7601 (2008 R2), 9600 (2012 R2) and 14393 (2016) in Zeek
; and Suricata test captures. The second order answers clients with timestamps (nDPI's
; teams.pcap, Microsoft's servers).
label = s:win:Windows:Vista, 7, 8, 8.1 or 10, or Server 2008-2016
sig   = *:128:0:*:8192,8:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:8192,8:mss,nop,ws,nop,nop,sok:df,id+,ecn:0
sig   = *:128:0:*:8192,8:mss,nop,ws,sok,ts:df,id+:0
sig   = *:128:0:*:8192,8:mss,nop,ws,sok,ts:df,id+,ecn:0
sig   = *:128:0:*:8192,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:8192,0:mss:df,id+:0
sig   = *:128:0:*:8192,8:mss,nop,ws,nop,nop,ts:df,id+:0
sig   = *:128:0:*:8192,0:mss,sok,ts:df,id+:0
sig   = *:128:0:*:8192,8:mss,nop,ws:df,id+:0
sig   = *:128:0:*:8192,2:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:8192,4:mss,nop,ws,nop,nop,sok:df,id+:0

; Answers to clients without scaling: nDPI test capture iec60780-5-104.pcap.
label = s:win:Windows:2000, XP or newer
sig   = *:128:0:*:65535,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*44,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:65535,0:mss:df,id+:0
sig   = *:128:0:*:mss*44,0:mss:df,id+:0

; No DF, and a timestamp of 0, in the answers of the stack before Vista: Zeek test capture
; missing-intermediate.pcap, Arkime test capture http-post-upload.pcap. Arkime's bt-tcp.pcap
; for 65535.
label = s:win:Windows:2000, XP or Server 2003
sig   = *:128:0:*:16384,0:mss:df,id+:0
sig   = *:128:0:*:16384,0:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:16384,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:65535,0:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+,ts1-:0
sig   = *:128:0:*:16384,0:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+,ts1-:0
sig   = *:128:0:*:mss*44,0:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+,ts1-:0
sig   = *:128:0:*:mss*12,0:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+,ts1-:0
sig   = *:128:0:*:65535,0:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*44,0:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*12,0:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*12,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*6,0:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*6,0:mss,nop,nop,sok:df,id+:0
sig   = *:128:0:*:mss*6,0:mss:df,id+:0
sig   = *:128:0:*:mss*12,0:mss:df,id+:0
sig   = 4:128:0:*:16384,0:mss,nop,ws,nop,nop,ts,nop,nop,sok:ts1-:0
sig   = 4:128:0:*:65535,0:mss,nop,ws,nop,nop,ts,nop,nop,sok:ts1-:0
sig   = 4:128:0:*:16384,0:mss,nop,ws,nop,nop,sok::0
sig   = 4:128:0:*:16384,0:mss,nop,nop,sok::0
; 64 KiB without DF, as above. Arkime test capture tds7.pcap (an SQL server in 2006), Zeek
; test capture rdp-x509.pcap.
sig   = 4:128:0:*:mss*44,0:mss,nop,ws,nop,nop,sok::0
sig   = 4:128:0:*:mss*44,0:mss,nop,nop,sok::0
sig   = 4:128:0:*:65535,0:mss,nop,ws,nop,nop,sok::0
sig   = 4:128:0:*:65535,0:mss,nop,nop,sok::0
