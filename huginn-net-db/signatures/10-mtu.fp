; Link types by the largest packet that they carry. The packet says its MSS; the
; MTU is that and 40 bytes, or 60 over IPv6. A value with several common causes names
; all of them, joined with commas and "or".

[mtu]

; Ethernet, and all that imitates it: RFC 894.
label = Ethernet
sig   = 1500

; IEEE 802.3 with LLC/SNAP is 1492 too (RFC 1042), but today this is PPP over
; Ethernet: RFC 2516 takes 8 bytes of the 1500.
label = PPPoE
sig   = 1492

; NTT documents 1454 for its FLET'S PPPoE access lines.
label = PPPoE (NTT FLET'S)
sig   = 1454

; 20 bytes of IPv4 header around the packet: RFC 2003, RFC 4213. Over IPv4 it is also
; the MSS of 1440 that fits IPv6 on Ethernet: CloudFront and ESP-IDF (70-devices.fp)
; announce it over both.
label = IPIP tunnel, 6in4 tunnel or the MSS of IPv6
sig   = 1480
; The same tunnels over PPPoE.
label = IPIP or 6in4 tunnel over PPPoE
sig   = 1472

; IPv4 header and 4 bytes of GRE: RFC 2784. 1468 is the same over PPPoE, 1462
; carries an Ethernet header as well (Linux gretap).
label = GRE tunnel
sig   = 1476
sig   = 1468
sig   = 1462

; Google documents 1460 as the default of a VPC network; RFC 6333 (IPv4 inside
; IPv6, 40 bytes) and L2TP (RFC 2661: IPv4, UDP, L2TP and PPP, 40 bytes) come to the same.
label = Google Cloud, DS-Lite or L2TP
sig   = 1460

; RFC 6333 over PPPoE. Google's front ends announce the same.
label = DS-Lite over PPPoE or Google
sig   = 1452

; Outer IPv4, UDP, VXLAN and inner Ethernet headers, 50 bytes: RFC 7348. The
; default of Docker overlay networks and of flannel.
label = VXLAN
sig   = 1450

; AWS documents 1446 for Site-to-Site VPN: IPsec with AES-128 and SHA-1, as other
; gateways have it.
label = AWS VPN or another IPsec tunnel
sig   = 1446

; Geneve with the 8 bytes of options that OVN uses: 58 bytes of RFC 8926.
label = Geneve (OVN)
sig   = 1442

; WireGuard takes 80 bytes over IPv6 and its tools assume that, 60 over IPv4 (1440). Its
; first release is of 2016: earlier captures have both values, too. Cisco documents 1380 as
; the MSS to which the ASA clamps (sysopt connection tcpmss); 1400 is the usual round
; figure. Mobile operators set either to leave room for GTP.
label = WireGuard, mobile network or clamped MSS
sig   = 1420
sig   = 1440
; The same over PPPoE.
label = WireGuard over PPPoE or clamped MSS
sig   = 1412

; Google's front ends announce an MSS of 1430.
label = Google
sig   = 1470

; The default of Cisco AnyConnect and of OpenConnect.
label = AnyConnect VPN
sig   = 1406

; Many tunnels are set to a round 1400 by hand: the Windows VPN adapters, IPsec
; gateways, mobile operators.
label = tunnel, mobile network or clamped MSS
sig   = 1400

; 3GPP TS 23.060 recommends 1358 to mobile devices, so that the operator's
; tunnels fit in 1500.
label = mobile network (3GPP)
sig   = 1358

; The least that IPv6 must carry (RFC 8200), and so what Teredo (RFC 4380) and
; VPNs that must work everywhere use (Tailscale, Cloudflare WARP).
label = tunnel at the IPv6 minimum
sig   = 1280

; RFC 791: what every host must accept. Old dial-up adapters.
label = dial-up or minimal IPv4
sig   = 576

; RFC 1055.
label = SLIP
sig   = 1006

; Jumbo frames as sold.
label = Ethernet with jumbo frames
sig   = 9000

; AWS documents 9001 for EC2 and 8500 for transit gateways.
label = AWS, jumbo frames
sig   = 9001
sig   = 8500

; Google documents 8896 as the most that a VPC network takes.
label = Google Cloud, jumbo frames
sig   = 8896

; Linux since 3.6, recorded on 6.18: the MTU is 65536, of which IPv4 can use 65535.
; Windows announces the same.
label = loopback
sig   = 65535

; LOMTU of FreeBSD and of XNU.
label = loopback (macOS, iOS or FreeBSD)
sig   = 16384

; 16 KiB and the headers: Linux before 3.6.
label = loopback (Linux before 3.6)
sig   = 16436

; LOMTU of OpenBSD.
label = loopback (OpenBSD)
sig   = 32768

; lo0 of Solaris and illumos.
label = loopback (Solaris)
sig   = 8232

; RFC 4391 (datagram mode) and Linux in connected mode.
label = IP over InfiniBand
sig   = 2044
sig   = 65520

; RFC 1390.
label = FDDI
sig   = 4352

; RFC 2225.
label = IP over ATM
sig   = 9180

; RFC 1191, table 7-1.
label = Token Ring
sig   = 4464
sig   = 17914

; PCAPdroid, whose VPN service ends TCP on the phone (VPN_MTU); nDPI test captures
; dingtalk.pcap and hls.pcapng.
label = Android VPN service
sig   = 10000
