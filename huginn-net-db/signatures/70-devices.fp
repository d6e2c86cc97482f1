; Consoles, appliances, gateways and embedded stacks.
;
; Xbox One and its successors run the kernel of Windows and send what it sends (Nmap has one
; fingerprint for Windows 10 and Xbox One), so that they are Windows here. What "Nmap
; observed" means is described in 50-bsd.fp.

[tcp:request]

; The console's stack comes from FreeBSD, with a window of 32768. nDPI test capture
; nintendo.pcap (baas.nintendo.com).
label = s:unix:Nintendo Switch:
sig   = *:64:0:*:32768,6:mss,nop,ws,sok,ts:df,id+:0

; FreeBSD's order with the scale of a maxsockbuf of 128 MiB or more, which no release of FreeBSD
; has; User-Agents of all systems come with it: the proxy of a carrier or a VPN ends each
; connection itself.
label = s:other:TCP proxy:(of a carrier or VPN)
sig   = *:64:0:*:65535,12:mss,nop,ws,sok,ts:df,flow:0
sig   = 4:64:0:*:65535,12:mss,nop,ws,sok,ts:df,id+:0
sig   = *:64:0:*:65535,12:mss,nop,ws,sok,ts::0

; Cisco documents 4128 bytes as the default of "ip tcp window-size"; only the MSS is sent,
; TTL 255. Zeek test capture mixed-vlan-mpls.pcap: the first ID may be 0.
label = s:other:Cisco IOS:
sig   = *:255:0:*:4128,0:mss::0
sig   = 4:255:0:*:4128,0:mss:id-:0

; Recorded with lwIP 2.1.3 and 2.2.1 (captures/tools/stacks/lwip.c): the defaults of opt.h
; (TCP_MSS 536, TCP_WND 4 segments, TTL 255, no scaling, SACK or timestamps), TCP_MSS 1460, and
; the defaults of ESP-IDF (MSS 1440, window 5760, TTL 64). The first packet's ID is 0. Over
; IPv6 the last is in 20-linux.fp.
label = s:other:lwIP:
sig   = 4:255:0:536:mss*4,0:mss::0
sig   = 4:255:0:536:mss*4,0:mss:id-:0
sig   = 4:64:0:1440:mss*4,0:mss::0
sig   = 4:64:0:1440:mss*4,0:mss:id-:0
sig   = 4:255:0:1460:mss*4,0:mss::0
sig   = 4:255:0:1460:mss*4,0:mss:id-:0
sig   = 6:255:0:1440:mss*4,0:mss::0

; Recorded with lwIP 2.1.3 and 2.2.1 and the older defaults of ESP-IDF: MSS 1440 with a window
; of 5744, which is not a multiple of it. MSS 1436 with this window is what Arduino's builds of
; ESP-IDF have (CONFIG_TCP_MSS).
label = s:other:lwIP:(ESP-IDF)
sig   = 4:64:0:1440:5744,0:mss::0
sig   = 4:64:0:1440:5744,0:mss:id-:0
sig   = 4:64:0:1436:5744,0:mss::0
sig   = 4:64:0:1436:5744,0:mss:id-:0

; Recorded with gVisor's netstack of 2026-09-05, which runsc, Cloud Run and Tailscale's user
; mode have (captures/tools/stacks/gvisor.go): Linux's order, 20 segments rounded down to the
; scale, ID 0 in a SYN; MTU 1500, and 1280 as in tunnels. Over IPv6 with MTU 1500 and scale 7
; nothing is rounded: see 20-linux.fp.
label = s:other:gVisor:
sig   = 4:64:0:1460:29184,7:mss,sok,ts,nop,ws:df:0
sig   = 4:64:0:1460:29184,8:mss,sok,ts,nop,ws:df:0
sig   = 6:64:0:1440:28672,8:mss,sok,ts,nop,ws::0
sig   = 4:64:0:1240:24704,7:mss,sok,ts,nop,ws:df:0
sig   = 4:64:0:1240:24576,8:mss,sok,ts,nop,ws:df:0
sig   = 6:64:0:1220:24320,7:mss,sok,ts,nop,ws::0
sig   = 6:64:0:1220:24320,8:mss,sok,ts,nop,ws::0

; Recorded with pasta of passt 0.0~git20250503 (Debian 13), option --pcap: what a container or
; guest of passt receives. It ends each connection itself, with the MSS of its tap device.
label = s:other:passt:(container or guest network)
sig   = 4:255:0:*:65535,8:mss,nop,ws:df:0
sig   = 6:255:0:*:65535,8:mss,nop,ws:flow:0

; Recorded with smoltcp 0.14.0 (captures/tools/stacks/smoltcp.rs): no NOP before or between the
; options, ID 0. The window is the program's receive buffer, the scale what the buffer needs;
; timestamps are there when the program sets a generator.
label = s:other:smoltcp:
sig   = *:64:0:*:*,*:mss,ws,sok,eol+2:df:0
sig   = *:64:0:*:*,*:mss,ws,sok,ts,eol+0:df:0

; Recorded with the boot ROMs of iPXE 1.0.0+git-20190125 and 1.21.1+git20250501 in QEMU
; (captures/tools/stacks/netboot.sh). The MSS comes last; TTL 255 over IPv6. With an MTU of 1500
; the window of 65532 happens to be 43 times the MSS and all headers.
label = s:other:iPXE:(network boot)
sig   = 4:64:0:1460:mtu*43,9:nop,nop,ts,nop,nop,sok,nop,ws,mss::0
sig   = 6:255:0:1440:mtu*43,9:nop,nop,ts,nop,nop,sok,nop,ws,mss::0
sig   = 4:64:0:*:65532,9:nop,nop,ts,nop,nop,sok,nop,ws,mss::0
sig   = 6:255:0:*:65532,9:nop,nop,ts,nop,nop,sok,nop,ws,mss::0

[tcp:response]

; As its SYNs.
label = s:other:gVisor:
sig   = 4:64:0:1460:29184,7:mss,sok,ts,nop,ws:df:0
sig   = 4:64:0:1460:29184,8:mss,sok,ts,nop,ws:df:0
sig   = 6:64:0:1440:28672,8:mss,sok,ts,nop,ws::0
sig   = 4:64:0:1240:24704,7:mss,sok,ts,nop,ws:df:0
sig   = 4:64:0:1240:24576,8:mss,sok,ts,nop,ws:df:0
sig   = 6:64:0:1220:24320,7:mss,sok,ts,nop,ws::0
sig   = 6:64:0:1220:24320,8:mss,sok,ts,nop,ws::0

; As its SYNs.
label = s:other:passt:(container or guest network)
sig   = 4:255:0:*:65535,8:mss,nop,ws:df:0
sig   = 6:255:0:*:65535,8:mss,nop,ws:flow:0

; The stack offers an MSS of 1360 and SACK, never scaling or timestamps. Nmap observed system
; version 10.7.0.
label = s:other:Nintendo 3DS:
sig   = 4:64:0:1360:65535,0:mss,nop,nop,sok:df,id+:0

; The stack is NetBSD's, with timestamps from 0 and an ID, and a window of 64 KiB. Nmap
; observed version 3.55. Version 4.80 has scale 1, but so have an Apple base station and the
; BlackBerry tablet.
label = s:unix:PlayStation 3:
sig   = 4:64:0:*:65535,0:mss,nop,ws,nop,nop,ts,sok,nop,nop:df,id+,ts1-:0
sig   = 4:64:0:*:65535,0:mss,nop,ws,sok,nop,nop:df,id+:0

; MSS 1304, 63 KiB, no other option. Nmap observed three, modified to run XBMC.
label = s:other:Xbox:(the first)
sig   = 4:64:0:1304:64512,0:mss::0

; No timestamps, even to a client that offers them. 60000 is 40 packets of Ethernet's MTU.
; Nmap observed 6.6 and 6.5 (10000 bytes), 7 (60000) and devices built on them.
label = s:other:VxWorks:6 or 7
sig   = 4:64:0:*:10000,0:nop,nop,mss,sok,nop,ws:df,id+:0
sig   = 4:64:0:*:10000,0:nop,nop,mss,sok,nop,ws::0
sig   = 4:64:0:*:mtu*40,0:mss,nop,ws:df,id+:0

; The order of HP-UX with TTL 255. Nmap has nine fingerprints, none of another maker.
label = s:other:2Wire:(home gateway)
sig   = 4:255:0:*:32768,0:mss,nop,nop,sok,ws,nop,nop,nop,ts:df,id+:0
sig   = 4:255:0:*:32768,0:mss,nop,nop,sok,ws,nop:df,id+:0

; The NAT gateway of VMware Workstation ends each connection itself and answers with 64240
; and the MSS alone, no DF. Gateways with addresses 00:50:56 before guests with 00:0c:29 in
; Zeek test capture content-range-gap.pcap, Suricata's krb5-frag.pcap and nDPI's
; anydesk.pcapng.
label = s:other:VMware NAT:
sig   = 4:128:0:1460:mss*44,0:mss::0

; Recorded with slirp4netns 1.2 and libslirp 4.7. The first packet's ID is 0.
label = s:other:libslirp:(QEMU or VirtualBox user network)
sig   = 4:64:0:1460:65535,0:mss::0
sig   = 4:64:0:1460:65535,0:mss:id-:0

; Citrix documents 8190 as the default of bufferSize in a TCP profile, and scale 4 where it
; is on; TTL 255. Zeek test captures smtp.pcap and zero-length-bodies-with-drops.pcap.
label = s:other:NetScaler:
sig   = *:255:0:*:8190,0:mss:df,id+:0
sig   = 4:255:0:*:8190,0:mss::0
sig   = *:255:0:*:8190,0:mss,nop,nop,sok:df,id+:0
sig   = 4:255:0:*:8190,0:mss,nop,nop,sok::0
sig   = *:255:0:*:8190,*:mss,nop,ws,nop,nop,sok:df,id+:0
sig   = 4:255:0:*:8190,*:mss,nop,ws,nop,nop,sok::0

; Addresses 142.250/15, 172.217/16 and 173.194/16 in nDPI test captures sites.pcapng,
; android.pcap and google_meet.pcapng: Linux's order with TTL 128 and a scale of 8.
label = s:other:Google:(front end)
sig   = 4:128:0:*:65535,8:mss,sok,ts,nop,ws::0
sig   = 4:128:0:*:65535,8:mss,sok,ts,nop,ws:df:0
sig   = 4:128:0:*:mss*44,8:mss,sok,ts,nop,ws::0
sig   = 4:128:0:*:65535,8:mss,nop,nop,sok,nop,ws:df:0
sig   = 4:128:0:*:65535,8:mss,nop,nop,sok,nop,ws::0
sig   = 4:128:0:*:mss*44,8:mss,nop,nop,sok,nop,ws::0
sig   = 6:128:0:*:65535,8:mss,sok,ts,nop,ws:flow:0
; Earlier front ends: TTL 64, no DF, 30 or 31 segments. Addresses 74.125/16 and 173.194/16
; of 2013 and 2014 (mx.google.com in nDPI's and Zeek's smtp-starttls.pcap), 172.217/16 of
; 2017 (nDPI test captures wechat.pcap and youtubeupload.pcap); 65535 in Zeek test capture
; google-cert-repeat.pcap.
sig   = 4:64:0:1430:mss*30,6:mss,sok,ts,nop,ws::0
sig   = 4:64:0:1430:mss*30,7:mss,sok,ts,nop,ws::0
sig   = 4:64:0:1380:mss*31,7:mss,sok,ts,nop,ws::0
sig   = 4:64:0:1380:mss*31,8:mss,sok,ts,nop,ws::0
sig   = 4:64:0:1380:mss*31,8:mss,nop,nop,sok,nop,ws::0
sig   = 4:64:0:1430:65535,8:mss,sok,ts,nop,ws::0

; Addresses 13.226.244.x, 52.84.223.x, 108.138.x.x in nDPI test captures dazn.pcapng and
; sites.pcapng: Linux's order with TTL 255, no DF.
label = s:other:Amazon CloudFront:
sig   = 4:255:0:1440:65535,8:mss,sok,ts,nop,ws::0
sig   = 4:255:0:1440:65535,9:mss,sok,ts,nop,ws::0

; The app ends each connection on the phone, with a link of 10000 bytes and a window of
; 1024. nDPI test captures hls.pcapng and dingtalk.pcap: clients 10.215.173.1, which is
; VPN_IP_ADDRESS in PCAPdroid's CaptureService, as 10000 is its VPN_MTU.
label = s:other:PCAPdroid:(Android VPN service)
sig   = 4:64:0:9960:1024,9:mss,ws,eol+0:df:0

; All servers answer alike, with TTL 16 and no options, to a phone that is 10.8.0.1: nDPI
; test captures EAQ.pcap, waze.pcap, webex.pcap and cloudflare-warp.pcap.
label = s:other:Android VPN service:
sig   = 4:16:0:0:65535,0::df,id+:0

; As the SYN.
label = s:other:Cisco IOS:
sig   = *:255:0:*:4128,0:mss::0

; As the SYN: lwIP answers with what it would offer.
label = s:other:lwIP:
sig   = 4:255:0:536:mss*4,0:mss::0
sig   = 4:255:0:536:mss*4,0:mss:id-:0
sig   = 4:64:0:1440:mss*4,0:mss::0
sig   = 4:64:0:1440:mss*4,0:mss:id-:0
sig   = 4:255:0:1460:mss*4,0:mss::0
sig   = 4:255:0:1460:mss*4,0:mss:id-:0
sig   = 6:255:0:1440:mss*4,0:mss::0

; As its SYNs.
label = s:other:lwIP:(ESP-IDF)
sig   = 4:64:0:1440:5744,0:mss::0
sig   = 4:64:0:1440:5744,0:mss:id-:0

; As its SYNs.
label = s:other:smoltcp:
sig   = *:64:0:*:*,*:mss,ws,sok,eol+2:df:0
sig   = *:64:0:*:*,*:mss,ws,sok,ts,eol+0:df:0
