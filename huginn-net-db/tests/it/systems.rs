//! Matches of the built-in database for packets of known systems.
//!
//! Each row has an observed signature, the expected name and flavor, and the source: a public capture in which the
//! sender identifies itself (by User-Agent, banner, SMB dialogue or address), a recording of the named software, the
//! software's source code, or a response in Nmap's OS detection database ("Nmap: NAME").

use huginn_net_db::{Database, TcpMatch};
use huginn_net_tcp::{ParseError, TcpSignature};

/// Observed signature; name and flavor of the label; source.
type Row = (&'static str, &'static str, &'static str);

/// The label that p0f prints without a match.
const UNKNOWN: &str = "???";

const VISTA_TO_10: &str = "Windows Vista, 7, 8, 8.1 or 10, or Server 2008-2016";
const FROM_10: &str = "Windows 10 or 11, or Server 2016-2025";
const MAC_NEW: &str = "macOS or iOS (macOS 10.13 or newer, iOS 11 or newer)";
const MAC_10_10: &str = "macOS or iOS (macOS 10.10-10.12, iOS 8-10)";

/// Programs with a TCP stack of their own, whose SYN and SYN+ACK have one signature.
const SYN_AND_SYN_ACK: &[Row] = &[
    ("4:64+0:0:1460:29184,7:mss,sok,ts,nop,ws:df:0", "gVisor", "gVisor 2026-09-05"),
    ("4:62+2:0:1240:24704,7:mss,sok,ts,nop,ws:df:0", "gVisor", "gVisor 2026-09-05, MTU 1280"),
    ("6:64+0:0:1440:28672,8:mss,sok,ts,nop,ws::0", "gVisor", "gVisor 2026-09-05, 8 MiB of buffer"),
    ("6:64+0:0:1440:mss*20,7:mss,sok,ts,nop,ws::0", "Linux 3.10-4.19 or gVisor", "gVisor 2026-09-05"),
    (
        "4:255+0:0:61440:65535,8:mss,nop,ws:df:0",
        "passt (container or guest network)",
        "passt 0.0~git20250503",
    ),
    (
        "6:255+0:0:61440:65535,8:mss,nop,ws:flow:0",
        "passt (container or guest network)",
        "passt 0.0~git20250503",
    ),
    ("4:64+0:0:1460:65535,0:mss,ws,sok,eol+2:df:0", "smoltcp", "smoltcp 0.14.0"),
    ("6:62+2:0:1360:4096,0:mss,ws,sok,eol+2::0", "smoltcp", "smoltcp 0.14.0, MTU 1420"),
    ("4:64+0:0:1460:65535,5:mss,ws,sok,eol+2:df:0", "smoltcp", "smoltcp 0.14.0, 1 MiB of buffer"),
    ("6:64+0:0:1440:65535,0:mss,ws,sok,ts,eol+0::0", "smoltcp", "smoltcp 0.14.0, timestamps"),
    ("4:255+0:0:536:mss*4,0:mss::0", "lwIP", "lwIP 2.2.1"),
    ("6:255+0:0:1440:mss*4,0:mss::0", "lwIP", "lwIP 2.2.1, TCP_MSS 1460"),
    ("4:64+0:0:1440:mss*4,0:mss::0", "lwIP", "lwIP 2.2.1, settings of ESP-IDF"),
    ("6:64+0:0:1440:mss*4,0:mss::0", "Linux 2.4-2.6 or lwIP", "lwIP 2.2.1, settings of ESP-IDF"),
    ("4:64+0:0:1440:5744,0:mss::0", "lwIP (ESP-IDF)", "lwIP 2.1.3, older settings of ESP-IDF"),
    ("6:64+0:0:1440:5744,0:mss::0", "lwIP (ESP-IDF)", "lwIP 2.1.3, older settings of ESP-IDF"),
];

const SYN: &[Row] = &[
    // Stacks in user space
    ("4:64+0:0:1440:5744,0:mss:id-:0", "lwIP (ESP-IDF)", "lwIP 2.1.3, older settings of ESP-IDF"),
    ("4:64+0:0:1460:mtu*43,9:nop,nop,ts,nop,nop,sok,nop,ws,mss::0", "iPXE (network boot)", "iPXE 1.21.1"),
    ("6:255+0:0:1440:mtu*43,9:nop,nop,ts,nop,nop,sok,nop,ws,mss::0", "iPXE (network boot)", "iPXE 1.21.1"),
    ("4:255+0:0:0:8192,0:::0", "GRUB (network boot)", "GRUB 2.12"),
    ("6:255+0:0:0:8192,0:::0", "GRUB (network boot)", "GRUB 2.12"),
    // Linux
    ("4:64+0:0:1460:mss*44,10:mss,sok,ts,nop,ws:df,id+:0", "Linux 4.20 or newer", "Linux 6.18"),
    ("6:64+0:0:1440:mss*45,10:mss,sok,ts,nop,ws:flow:0", "Linux 4.20 or newer", "Linux 6.18"),
    ("4:64+0:0:1380:mss*47,10:mss,sok,ts,nop,ws:df,id+:0", "Linux 4.20 or newer", "Linux 6.18, MTU 1420"),
    ("4:64+0:0:536:mss*122,10:mss,sok,ts,nop,ws:df,id+:0", "Linux 4.20 or newer", "Linux 6.18, MTU 576"),
    ("6:64+0:0:8940:mss*7,10:mss,sok,ts,nop,ws:flow:0", "Linux 4.20 or newer", "Linux 6.18, MTU 9000"),
    ("4:64+0:0:1460:mss*44,14:mss,sok,ts,nop,ws:df,id+:0", "Linux 4.20 or newer", "Linux 6.18, 512 MiB"),
    ("4:64+0:0:1460:mss*44,10:mss,sok,ts,nop,ws:df,id+,ecn:0", "Linux 4.20 or newer", "Linux 6.18, tcp_ecn"),
    (
        "4:64+0:0:65495:mss*1,7:mss,sok,ts,nop,ws:df,id+:0",
        "Linux 4.20 or newer, or 2.6.32 of Red Hat 6",
        "Zeek putty-upload.pcap: User-Agent of Linux",
    ),
    (
        "4:64+0:0:1460:mss*44,10:mss,nop,nop,sok,nop,ws:df,id+:0",
        "Linux 4.20 or newer (no timestamps)",
        "Linux 6.18, tcp_timestamps=0",
    ),
    (
        "4:64+0:0:1460:mss*44,10:mss,nop,nop,ts,nop,ws:df,id+:0",
        "Linux 4.20 or newer (no SACK or scaling)",
        "Linux 6.18, tcp_sack=0",
    ),
    (
        "4:64+0:0:1460:mss*44,10:mss,sok,ts,nop,ws,?34,nop,nop:df,id+:0",
        "Linux 4.20 or newer (fast open)",
        "Linux 6.18, MSG_FASTOPEN",
    ),
    (
        "4:64+0:0:1380:mss*47,10:mss,sok,ts,nop,ws,?34,nop,nop:df,id+:+",
        "Linux 4.20 or newer (fast open)",
        "Linux 6.18, MSG_FASTOPEN, MTU 1420",
    ),
    (
        "4:64+0:0:1460:mss*44,10:mss,sok,ts,nop,ws:df,id+:+",
        "Linux 4.20 or newer (fast open)",
        "Linux 6.18, fast open without a cookie",
    ),
    (
        "4:64+0:0:256:65535,7:mss,sok,ts,nop,ws,?34,nop,nop:df,id+:+",
        "Linux (fast open)",
        "Suricata tcp_fastopen_segmentation-s1.pcap",
    ),
    (
        "4:64+0:0:1460:mss*44,10:mss,sok,ts,nop,ws,?30:df,id+:0",
        "Linux 5.6 or newer (multipath TCP)",
        "Linux 6.18, IPPROTO_MPTCP",
    ),
    (
        "4:64+0:0:1460:mss*22,7:mss,sok,ts,nop,ws:df,id+:0",
        "Linux 6.6-6.9, or 4.20 or newer with small buffers",
        "Zeek cooper-grill-dvwa.pcapng: User-Agent of Linux",
    ),
    ("4:64+0:0:1460:mss*29,7:mss,sok,ts,nop,ws:df,id+:0", "Linux (tuned)", "Linux 6.18, tcp_rmem 87380"),
    ("4:64+0:0:1460:mss*11,0:mss,sok,ts,nop,ws:df,id+:0", "Linux", "Linux 6.18, SO_RCVBUF 16384"),
    (
        "4:64+0:0:1460:mss*22,0:mss,sok,ts,nop,ws:df,id+:0",
        "Linux",
        "a television of 2021 that sets its buffer",
    ),
    ("4:64+0:0:1460:mss*44,1:mss,sok,ts,nop,ws:df,id+:0", "Linux", "the same television"),
    ("4:64+0:0:1460:mss*20,7:mss,sok,ts,nop,ws:df,id+:0", "Linux 3.10-4.19", "nDPI weibo.pcap: Chrome 50"),
    ("6:64+0:0:1420:mss*20,7:mss,sok,ts,nop,ws::0", "Linux 3.10-4.19", "Suricata input.pcap: Wget 1.16"),
    ("4:64+0:0:65495:43690,7:mss,sok,ts,nop,ws:df,id+:0", "Linux 3.6-4.19", "Zeek x-gzip.pcap"),
    (
        "4:64+0:0:1460:mss*20,7:mss,nop,nop,sok,nop,ws:df,id+:0",
        "Linux 3.10-4.19 (no timestamps)",
        "FoxIO https-connect.pcap",
    ),
    (
        "4:64+0:0:1460:mss*10,7:mss,sok,ts,nop,ws:df,id+:0",
        "Linux 2.6.32-3.10, or Android 4",
        "Zeek content-range-gap.pcap: curl of Red Hat 6",
    ),
    (
        "4:63+1:0:1400:mss*10,7:mss,sok,ts,nop,ws:df,id+:0",
        "Linux 2.6.32-3.10, or Android 4",
        "nDPI KakaoTalk_chat.pcap: Dalvik of Android 4.4.4",
    ),
    ("4:64+0:0:1460:mss*4,7:mss,sok,ts,nop,ws:df,id+:0", "Linux 2.6, or Android 2", "Zeek wikipedia.pcap"),
    ("4:64+0:0:1460:mss*4,2:mss,sok,ts,nop,ws:df,id+:0", "Linux 2.4-2.6", "Zeek mixed-vlan-mpls.pcap"),
    ("4:64+0:0:16396:32767,0:mss,sok,ts,nop,ws:df,id+:0", "Linux 2.4-3.5", "nDPI pgsql.pcap"),
    (
        "4:64+0:0:1460:mss*10,8:mss,sok,nop,nop,nop,nop,nop,nop,nop,nop,nop,nop,nop,ws:df,id+:0",
        "Linux 2.6.32-3.10, or Android 4",
        "mitmengine, a phone behind a middlebox that clears timestamps",
    ),
    // Android
    (
        "4:64+0:0:1460:65535,8:mss,sok,ts,nop,ws:df,id+:0",
        "Android 5 or newer",
        "nDPI android.pcap: Android 9",
    ),
    ("4:64+0:0:1460:65535,10:mss,sok,ts,nop,ws:df,id+:0", "Android 5 or newer", "nDPI mpeg-dash.pcap: 11"),
    ("4:63+1:0:1460:65535,9:mss,sok,ts,nop,ws::0", "Android 5 or newer", "nDPI alicloud.pcap, DF cleared"),
    (
        "4:64+0:0:1220:65535,9:mss,sok,ts,nop,ws,?34,nop,nop:df,id+:0",
        "Android 5 or newer (fast open)",
        "DnsTlsSocket.cpp of Android",
    ),
    (
        "4:64+0:0:1000:mss*60,9:mss,sok,ts,nop,ws:df,id+:0",
        "Android 5 or newer (small segments)",
        "net.tcp.default_init_rwnd, a lowered MSS",
    ),
    (
        "4:64+0:0:1460:65535,8:mss,nop,nop,sok,nop,ws:df,id+:0",
        "Android 5 or newer (no timestamps)",
        "tcp_syn_build_options() with tcp_timestamps=0",
    ),
    (
        "4:64+0:0:1460:65535,5:mss,nop,nop,sok,nop,ws:df,id+:0",
        "Linux (no timestamps)",
        "a scale of no Android",
    ),
    // Windows
    ("4:128+0:0:1460:mss*44,8:mss,nop,ws,nop,nop,sok:df,id+:0", FROM_10, "FoxIO latest.pcapng: NT 10.0"),
    ("4:128+0:0:1460:65535,8:mss,nop,ws,nop,nop,sok:df,id+:0", FROM_10, "nDPI trickbot.pcap: NT 10.0"),
    ("6:128+0:0:65475:mtu*1,8:mss,nop,ws,nop,nop,sok:flow:0", FROM_10, "nDPI openwire.pcapng"),
    ("4:128+0:0:1460:8192,8:mss,nop,ws,nop,nop,sok:df,id+:0", VISTA_TO_10, "Zeek smb2.pcap: build 6001"),
    (
        "4:128+0:0:1460:8192,8:mss,nop,ws,nop,nop,sok:df,id+,ecn:0",
        VISTA_TO_10,
        "Suricata tcphdr_http.pcap: NT 10.0",
    ),
    ("4:128+0:0:1460:8192,2:mss,nop,ws,nop,nop,sok:df,id+:0", VISTA_TO_10, "Arkime http-no-length.pcap"),
    ("4:64+0:0:1460:8192,2:mss,nop,ws,nop,nop,sok:df,id+:0", "Windows", "Arkime websocket.pcap: NT 6.1"),
    ("4:64+0:0:1460:16384,0:mss,nop,nop,sok:df,id+:0", UNKNOWN, "a Unix as often as Windows 2000"),
    (
        "4:128+0:0:1400:65535,8:mss,nop,ws,nop,nop,nop,nop:df,id+:0",
        FROM_10,
        "\"tcp-options selective-ack clear\" of Cisco ASA",
    ),
    ("4:128+0:0:1460:8192,0:mss,nop,nop,sok:df,id+:0", VISTA_TO_10, "Suricata TLPW1: NT 6.1"),
    (
        "4:103+25:0:1460:65535,1:mss,nop,ws,nop,nop,sok:df,id+:0",
        "Windows",
        "Zeek 206_example_a.pcap: NT 5.2; 10 with a set receive buffer",
    ),
    ("4:128+0:0:1460:64512,0:mss,nop,nop,sok:df,id+:0", "Windows XP or Server 2003", "Zeek ncp.pcap: NT 5.1"),
    ("4:128+0:0:1460:65535,0:mss,nop,nop,sok:df,id+:0", "Windows 2000, XP or newer", "nDPI drda_db2.pcap"),
    (
        "4:125+3:0:1460:16384,0:mss,nop,nop,sok:df,id+:0",
        "Windows 2000, XP or Server 2003",
        "Zeek missing-zlib-header.pcap: NT 5.1",
    ),
    (
        "4:128+0:0:1460:mss*6,0:mss,nop,nop,sok:df,id+:0",
        "Windows 2000, XP or Server 2003",
        "Wireshark http.cap: NT 5.1",
    ),
    ("4:128+0:0:1440:32767,0:mss,nop,ws,nop,nop,sok:df,id+:0", "Windows", "Zeek connect-with-smtp.pcap"),
    // Apple
    ("4:64+0:0:16344:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1:df:0", MAC_NEW, "Zeek gap-recovery.pcap"),
    ("4:64+0:0:1460:65535,7:mss,nop,ws,nop,nop,ts,sok,eol+1:df,ecn:0", MAC_NEW, "nDPI iphone.pcap"),
    ("4:64+0:0:1460:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:df:0", MAC_NEW, "nDPI anyconnect-vpn.pcap"),
    ("4:64+0:0:1460:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0", MAC_10_10, "nDPI ookla.pcap: 10.12"),
    (
        "4:64+0:0:1460:65535,4:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0",
        "macOS or iOS (Mac OS X 10.8-10.12, iOS 5-10)",
        "nDPI jsonrpc.pcap: 10.9.2",
    ),
    (
        "4:64+0:0:1460:65535,3:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0",
        "macOS or iOS (Mac OS X 10.5-10.12, iOS 3-10)",
        "Zeek www-odd-url.pcap: darwin10.8",
    ),
    ("4:64+0:0:1460:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:df,ecn:0", MAC_NEW, "IoTLS appletv: tvOS 14.3"),
    ("4:64+0:0:1460:65535,4:mss,nop,ws,nop,nop,ts,sok,eol+1:df:0", MAC_NEW, "tcp_init() with little memory"),
    (
        "4:64+0:0:1460:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0",
        "macOS or iOS",
        "Suricata, on loopback",
    ),
    // The BSDs and the rest
    ("6:64+0:0:1440:65535,6:mss,nop,ws,sok,ts:flow:0", "FreeBSD 8 or newer", "Zeek ipv6-retr-samba.pcap"),
    (
        "4:64+0:0:1460:16384,0:mss,nop,nop,sok,nop,ws,nop,nop,ts:df,id+:0",
        "OpenBSD",
        "Zeek qi_internet_*.pcap: curl",
    ),
    ("4:54+10:0:1460:32768,6:mss,nop,ws,sok,nop,nop,nop,nop,ts:df:0", "NetBSD 4 or newer", "Zeek ipv4.pcap"),
    (
        "4:64+0:0:1460:57344,5:mss,nop,ws,nop,nop,sok,nop,nop,ts:df:0",
        "DragonFly BSD 4 or newer",
        "tcp_output() of DragonFly",
    ),
    ("4:64+0:0:1360:32768,6:mss,nop,ws,sok,ts:df,id+:0", "Nintendo Switch", "nDPI nintendo.pcap"),
    (
        "4:55+9:0:1400:65535,12:mss,nop,ws,sok,ts:df:0",
        "TCP proxy (of a carrier or VPN)",
        "phones and computers of all systems",
    ),
    ("4:64+0:0:1460:65535,9:mss,nop,ws,sok,ts:df:0", "FreeBSD", "a maxsockbuf of 16 MiB"),
    // Settings of lwIP and uIP
    ("4:255+0:0:1436:mss*4,0:mss::0", "lwIP", "lwipopts.h with TCP_MSS 1436"),
    ("4:255+0:0:1436:mss*8,0:mss:id-:0", "lwIP", "lwipopts.h of the Raspberry Pi Pico"),
    ("4:255+0:0:1460:24576,1:mss,nop,ws::0", "lwIP", "lwIP 2.1.3, LWIP_WND_SCALE"),
    ("4:240+15:0:1436:mss*4,0:mss,nop,nop,ts::0", "lwIP", "lwIP 2.1.3, LWIP_TCP_TIMESTAMPS"),
    ("4:255+0:0:1436:mss*4,0:mss,nop,nop,sok:id-:0", "lwIP", "lwIP 2.1.3, LWIP_TCP_SACK_OUT"),
    ("4:255+0:0:1460:65535,3:mss,nop,nop,ts,nop,ws,nop,nop,sok::0", "lwIP", "lwIP 2.1.3, all options"),
    ("4:255+0:0:1460:5000,0:mss::0", UNKNOWN, "an MSS alone, not lwIP's whole segments"),
    ("4:64+0:0:1436:mss*4,0:mss::0", "lwIP (ESP-IDF)", "CONFIG_TCP_MSS of Arduino's ESP-IDF"),
    ("6:255+0:0:1440:65535,2:mss,nop,ws,nop,nop,sok::0", "lwIP", "lwIP 2.1.3, scale and SACK"),
    ("6:64+0:0:1440:8192,2:mss,nop,ws,nop,nop,sok::0", UNKNOWN, "Zeek smtp-starttls.pcap: lwIP or Windows"),
    ("4:64+0:0:366:mss*1,0:mss::0", "uIP", "uip-conf.h of uIP's Unix port"),
    ("4:64+0:0:1452:mss*1,0:mss::0", UNKNOWN, "IoTLS tplink-bulb, which has other windows, too"),
    // Tools
    ("4:42+22:0:1460:1024,0:mss::0", "Nmap SYN scan", "Nmap 7.93"),
    ("4:44+20:0:1460:3,10:ws,nop,mss,sok,nop,nop:ecn,uptr+:0", "Nmap OS detection", "Nmap 7.93 -O"),
    ("4:41+23:0:1460:1,10:ws,nop,mss,ts,sok:ack+:0", "Nmap OS detection", "Nmap 7.93 -O"),
    ("4:255+0:0:0:1024,0:::0", "masscan SYN scan", "masscan 1.3.2"),
    ("4:255+0:0:0:65535,0:::0", "ZMap SYN scan", "ZMap 2.1.1"),
    ("4:64+0:0:0:512,0::ack+:0", "hping", "hping3"),
    ("4:64+0:0:0:8192,0::seq-:0", "Scapy", "Scapy 2.5.0"),
    ("4:64+0:0:0:8192,0:::0", UNKNOWN, "Scapy with a sequence number: any hand-made packet"),
    ("4:128+0:0:0:32768,0::id-:0", UNKNOWN, "Suricata test captures, made by hand"),
    ("4:64+0:0:65535:mss*1,7:mss,nop,ws:df:0", UNKNOWN, "Suricata test captures, made by hand"),
    ("4:255+0:0:536:4128,0:mss:id-:0", "Cisco IOS", "Zeek mixed-vlan-mpls.pcap: a router's telnet"),
];

const SYN_ACK: &[Row] = &[
    // Stacks in user space
    // Linux
    ("4:64+0:0:1460:mss*45,10:mss,sok,ts,nop,ws:df:0", "Linux 4.20 or newer", "Linux 6.18"),
    ("4:64+0:0:1460:mss*44,10:mss,nop,nop,sok,nop,ws:df:0", "Linux 4.20 or newer", "Linux 6.18"),
    ("4:64+0:0:1460:mss*44,0:mss:df:0", "Linux 4.20 or newer", "Linux 6.18, syncookie without timestamps"),
    ("6:64+0:0:1440:mss*45,10:mss,sok,ts,nop,ws:ecn,flow:0", "Linux 4.20 or newer", "Linux 6.18, tcp_ecn"),
    (
        "4:50+14:0:1460:62643,7:mss,sok,ts,nop,ws:df:0",
        "Linux 4.20 or newer (9001 byte link)",
        "nDPI sites.pcapng",
    ),
    ("4:64+0:0:1460:mss*20,7:mss,sok,ts,nop,ws:df:0", "Linux 3.10-4.19", "Zeek ssh-dups.pcap: Ubuntu 18.04"),
    ("4:57+7:0:1452:mss*20,7:mss,sok,ts,nop,ws:df:0", "Linux 3.10-4.19", "nDPI alicloud.pcap"),
    (
        "4:236+19:0:1452:26847,7:mss,sok,ts,nop,ws:df:0",
        "Linux 3.10-4.19 (9001 byte link)",
        "nDPI mpeg-dash.pcap: Apache in AWS",
    ),
    (
        "4:47+17:0:1460:mss*10,7:mss,sok,ts,nop,ws:df:0",
        "Linux 2.6.32-3.10",
        "Zeek get-without-fins.pcap: Fedora",
    ),
    (
        "4:64+0:0:1460:mss*4,6:mss,sok,ts,nop,ws:df:0",
        "Linux 2.4-2.6",
        "Zeek cooper-grill-dvwa.pcapng: Ubuntu 8.04",
    ),
    ("4:57+7:0:1356:65535,9:mss,sok,ts,nop,ws:df:0", "Linux", "nDPI sites.pcapng: Fastly"),
    // Windows
    (
        "4:128+0:0:1460:65535,8:mss,nop,ws,nop,nop,sok:df,id+:0",
        FROM_10,
        "Suricata smb1_eicar_*.pcap: Server 2019",
    ),
    ("4:128+0:0:1460:65535,8:mss,nop,ws,sok,ts:df,id+:0", FROM_10, "Zeek aduser1-ntlm.pcap: build 20348"),
    ("4:128+0:0:1460:8192,8:mss,nop,ws,nop,nop,sok:df,id+:0", VISTA_TO_10, "Zeek smb2.pcap: build 6001"),
    ("4:109+19:0:1440:8192,8:mss,nop,ws,sok,ts:df,id+:0", VISTA_TO_10, "nDPI teams.pcap"),
    (
        "4:128+0:0:1460:16384,0:mss,nop,ws,nop,nop,ts,nop,nop,sok:ts1-:0",
        "Windows 2000, XP or Server 2003",
        "Zeek missing-intermediate.pcap",
    ),
    (
        "4:128+0:0:1460:16384,0:mss,nop,ws,nop,nop,sok::0",
        "Windows 2000, XP or Server 2003",
        "answers without DF, as in Arkime's tds7.pcap",
    ),
    // Apple, the BSDs, Solaris
    ("4:64+0:0:16344:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1:df:0", MAC_NEW, "Zeek zip64.pcap"),
    ("4:64+0:0:1460:65535,5:mss,nop,ws,sok,eol+1:df:0", MAC_NEW, "nDPI anydesk.pcapng"),
    ("4:64+0:0:1460:57344,0:mss,nop,ws,nop,nop,ts:df,id+:0", "FreeBSD 4", "Zeek mixed-vlan-mpls.pcap"),
    ("4:53+11:0:1452:65535,9:mss,nop,ws,sok,ts::0", "FreeBSD", "nDPI whatsapp_login_chat.pcap"),
    ("4:54+10:0:1460:32768,6:mss,nop,ws,nop,nop,ts,sok,nop,nop:df:0", "NetBSD 4 or newer", "Zeek ipv4.pcap"),
    ("4:64+0:0:1460:32768,3:mss,nop,ws,sok,nop,nop:df:0", "NetBSD 4 or newer", "Nmap: NetBSD 7.0"),
    (
        "4:64+0:0:1460:32768,0:mss,nop,ws,nop,nop,ts,sok,nop,nop:df,id+,ts1-:0",
        "NetBSD 3-4, or QNX 6.5",
        "Nmap: NetBSD 4.0",
    ),
    (
        "4:64+0:0:1460:65535,1:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+:0",
        "FreeBSD 5-6",
        "Nmap: FreeBSD 5.3 - 5.5",
    ),
    (
        "4:64+0:0:1460:57344,5:mss,nop,ws,nop,nop,ts,nop,nop,sok:df:0",
        "DragonFly BSD 4 or newer",
        "Nmap: DragonFly BSD 4.6",
    ),
    (
        "4:64+0:0:1460:57344,5:mss,nop,ws,nop,nop,ts,nop,nop,sok::0",
        "DragonFly BSD 2 or newer",
        "Nmap: DragonFly BSD 2.11",
    ),
    ("4:64+0:0:1460:57344,0:mss,nop,ws,nop,nop,sok::0", "DragonFly BSD", "Nmap: DragonFly BSD 1.10.1"),
    ("4:64+0:0:1460:32768,3:mss,nop,ws,nop,nop,ts,sok,nop,nop:df,id+:0", "QNX 7", "Nmap: QNX RTOS 7.0.0"),
    (
        "4:64+0:0:1460:65535,6:mss,nop,ws,nop,nop,ts,sok,nop,nop:df,id+:0",
        "QNX (BlackBerry 10)",
        "Nmap: BlackBerry 10",
    ),
    ("4:60+4:0:1460:64436,1:sok,ts,mss,nop,ws:df,id+:0", "Solaris 11, or illumos", "Nmap: Oracle Solaris 11"),
    (
        "4:60+4:0:1460:32804,5:mss,nop,nop,sok,nop,ws:df,id+:0",
        "Solaris 11, or illumos",
        "Nmap: Joyent SmartOS",
    ),
    ("4:64+0:0:1460:mss*4,1:sok,ts,mss,nop,ws:df:0", UNKNOWN, "Nmap: Linux 2.6.26 - 2.6.27"),
    ("4:64+0:0:1460:32768,0:mss,nop,nop,sok,ws,nop,nop,nop,ts:df,id+:0", "HP-UX 11", "Nmap: HP-UX B.11.31"),
    ("4:60+4:0:1460:65535,2:mss,nop,ws,nop,nop,ts:df,id+:0", "AIX 5.2-7.1", "Nmap: IBM AIX 7.1"),
    ("4:60+4:0:1460:mss*42,0:mss,nop,ws,nop,nop,ts,nop,nop,sok:df,id+:0", "IRIX 6.5", "Nmap: SGI IRIX 6.5"),
    (
        "4:55+9:0:1460:mss*34,0:nop,nop,ts,mss,nop,ws,nop,nop,sok::0",
        "Solaris 10 or newer",
        "Zeek www-odd-url.pcap",
    ),
    (
        "4:246+9:0:1460:mss*7,0:nop,nop,ts,nop,ws,nop,nop,sok,mss:df,id+:0",
        "Solaris 2.6-9",
        "Arkime smtp-subject-windows.pcap",
    ),
    // Consoles and embedded systems
    ("4:64+0:0:1360:65535,0:mss,nop,nop,sok:df,id+:0", "Nintendo 3DS", "Nmap: Nintendo 3DS, version 10.7.0"),
    (
        "4:64+0:0:1460:65535,0:mss,nop,ws,nop,nop,ts,sok,nop,nop:df,id+,ts1-:0",
        "PlayStation 3",
        "Nmap: PlayStation 3, version 3.55",
    ),
    ("4:64+0:0:1304:64512,0:mss::0", "Xbox (the first)", "Nmap: Xbox with XBMC"),
    ("4:128+0:0:1460:8192,8:mss,nop,ws,sok,ts:df,id+:0", VISTA_TO_10, "Nmap: Windows 10 or Xbox One"),
    ("4:64+0:0:1460:mtu*40,0:mss,nop,ws:df,id+:0", "VxWorks 6 or 7", "Nmap: VxWorks 7"),
    ("4:64+0:0:1426:10000,0:nop,nop,mss,sok,nop,ws:df,id+:0", "VxWorks 6 or 7", "Nmap: VxWorks 6.6"),
    ("4:255+0:0:1460:32768,0:mss,nop,nop,sok,ws,nop:df,id+:0", "2Wire (home gateway)", "Nmap: 2Wire 2701HG"),
    // Gateways and front ends
    ("4:128+0:0:1460:mss*44,0:mss::0", "VMware NAT", "Zeek content-range-gap.pcap: gateway 00:50:56"),
    (
        "4:64+0:0:1460:65535,0:mss:id-:0",
        "libslirp (QEMU or VirtualBox user network)",
        "slirp4netns of Debian 12",
    ),
    ("4:245+10:0:1440:8190,4:mss,nop,ws,nop,nop,sok::0", "NetScaler", "nDPI whatsapp_login_call.pcap"),
    (
        "4:117+11:0:1412:65535,8:mss,nop,nop,sok,nop,ws:df:0",
        "Google (front end)",
        "FoxIO http2-with-cookies.pcapng",
    ),
    ("4:53+11:0:1430:mss*30,6:mss,sok,ts,nop,ws::0", "Google (front end)", "Zeek ecdhe.pcap"),
    ("4:64+0:0:9960:1024,9:mss,ws,eol+0:df:0", "PCAPdroid (Android VPN service)", "nDPI hls.pcapng"),
    ("4:16+16:0:0:65535,0::df,id+:0", "Android VPN service", "nDPI waze.pcap"),
    ("4:64+0:0:0:65535,0::df,id+:0", UNKNOWN, "Arkime adb.pcap: made from text, without options"),
    ("4:64+0:0:0:8192,0:::0", UNKNOWN, "made by hand"),
    ("6:61+3:0:1400:mss*16,3:mss,nop,ws,sok,ts::0", UNKNOWN, "nDPI pinterest.pcap: a proxy of the operator"),
];

#[test]
fn syn_of_known_systems() -> Result<(), ParseError> {
    check(SYN_AND_SYN_ACK, Database::match_syn)?;
    check(SYN, Database::match_syn)
}

#[test]
fn syn_ack_of_known_systems() -> Result<(), ParseError> {
    check(SYN_AND_SYN_ACK, Database::match_syn_ack)?;
    check(SYN_ACK, Database::match_syn_ack)
}

#[test]
fn every_label_has_evidence() {
    let mut previous = "";
    for line in Database::builtin_text().lines() {
        if line.starts_with("label") {
            assert!(previous.starts_with(';'), "no comment above: {line}");
        }
        previous = line;
    }
}

fn check(
    rows: &[Row],
    find: impl Fn(&Database, &TcpSignature) -> Option<TcpMatch>,
) -> Result<(), ParseError> {
    let database = Database::builtin();
    for (text, expected, source) in rows {
        let signature: TcpSignature = text.parse()?;
        let found = find(database, &signature);
        let label = found.map_or_else(|| UNKNOWN.to_owned(), |found| found.label.to_string());
        assert_eq!(label, *expected, "{text} ({source})");
    }
    Ok(())
}
