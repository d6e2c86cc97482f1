; Apple: XNU, the kernel of macOS, iOS, iPadOS, watchOS and tvOS. One stack, so that a
; packet shows the generation but seldom the device; hence one name. The ID is 0 on packets with
; DF since net.inet.ip.rfc6864 (RFC 6864) came with macOS 10.13 and iOS 11. ECN was asked for by
; half the connections of iOS 9 and macOS 10.11, later by all where it worked before.
;
; The scale is computed in tcp_set_max_rwinscale() from the largest receive buffer: 512 KiB is
; 4, 1 MiB is 5, 2 MiB is 6, 4 MiB is 7. tcp_init() takes a larger one where memory allows
; (nmbclusters over 30720; phones, CONFIG_EMBEDDED, twice that of Macs), so that a new device
; with little memory has an old scale: a scale shows the first version that has it, never the
; last. Loopback (MSS 16344) shows the same windows.

[tcp:request]

; Zeek test captures ssh-dups.pcap (OpenSSH 7.9 of 2019) and gap-recovery.pcap (Firefox 99 on
; Mac OS X 10.15), nDPI test captures anyconnect-vpn.pcap (Safari on Mac OS X 10_13_6) and
; iphone.pcap (scales 6 and 7 of one phone), Suricata test captures with curl 7.54.0, 7.64.1 and
; Python 3.12 on loopback. Scale 5 in the IoTLS data set: an Apple TV with tvOS 14.3 (AppleTV5,3).
label = s:unix:macOS or iOS:(macOS 10.13 or newer, iOS 11 or newer)
sig   = 4:64:0:*:65535,*:mss,nop,ws,nop,nop,ts,sok,eol+1:df:0
sig   = 4:64:0:*:65535,*:mss,nop,ws,nop,nop,ts,sok,eol+1:df,ecn:0
sig   = 6:64:0:*:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1:flow:0
sig   = 6:64:0:*:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1:ecn,flow:0
sig   = 6:64:0:*:65535,7:mss,nop,ws,nop,nop,ts,sok,eol+1:flow:0
sig   = 6:64:0:*:65535,7:mss,nop,ws,nop,nop,ts,sok,eol+1:ecn,flow:0

; The ID says an older system, but a SYN+ACK on loopback beside curl 7.64.1 (macOS 10.14 or
; newer) has it, too.
label = s:unix:macOS or iOS:
sig   = 4:64:0:*:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0

; nDPI test captures ookla.pcap (Safari on Mac OS X 10_12_3) and 1kxun.pcap (Darwin 14.5,
; which is 10.10), Suricata test capture smb1_osx.pcap (SMB: Mac OS X 10.10).
label = s:unix:macOS or iOS:(macOS 10.10-10.12, iOS 8-10)
sig   = 4:64:0:*:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0
sig   = 4:64:0:*:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+,ecn:0

; Over IPv6, where there is no ID to tell them apart.
label = s:unix:macOS or iOS:(macOS 10.10 or newer, iOS 8 or newer)
sig   = 6:64:0:*:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:flow:0
sig   = 6:64:0:*:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:ecn,flow:0

; Arkime test captures with curl of darwin12 (10.8), nDPI test capture jsonrpc.pcap (Chrome
; on Mac OS X 10_9_2), whatsapp_login_call.pcap (iTunes services, a phone of 2014).
label = s:unix:macOS or iOS:(Mac OS X 10.8-10.12, iOS 5-10)
sig   = 4:64:0:*:65535,4:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0

; As above, over IPv6.
label = s:unix:macOS or iOS:(Mac OS X 10.8 or newer, iOS 5 or newer)
sig   = 6:64:0:*:65535,4:mss,nop,ws,nop,nop,ts,sok,eol+1:flow:0
sig   = 6:64:0:*:65535,4:mss,nop,ws,nop,nop,ts,sok,eol+1::0

; Zeek test capture www-odd-url.pcap (Wget of darwin10.8, which is 10.6).
; net.inet.tcp.win_scale_factor is 3, the least without a set buffer.
label = s:unix:macOS or iOS:(Mac OS X 10.5-10.12, iOS 3-10)
sig   = 4:64:0:*:65535,3:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0

; As above, over IPv6.
label = s:unix:macOS or iOS:(Mac OS X 10.5 or newer, iOS 3 or newer)
sig   = 6:64:0:*:65535,3:mss,nop,ws,nop,nop,ts,sok,eol+1:flow:0
sig   = 6:64:0:*:65535,3:mss,nop,ws,nop,nop,ts,sok,eol+1::0

; Zeek test captures flash-version.pcap (AIR on Mac OS X) and ipv6.pcap (the ftp program,
; which sets its buffers). FreeBSD 5 and 6, from which the code came, look the same.
label = s:unix:macOS or iOS:(Mac OS X 10.4-10.5, or a fixed buffer)
sig   = *:64:0:*:65535,0:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0
sig   = *:64:0:*:65535,1:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0
sig   = *:64:0:*:65535,2:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0
sig   = 6:64:0:*:65535,0:mss,nop,ws,nop,nop,ts,sok,eol+1:flow:0
sig   = 6:64:0:*:65535,1:mss,nop,ws,nop,nop,ts,sok,eol+1:flow:0
sig   = 6:64:0:*:65535,2:mss,nop,ws,nop,nop,ts,sok,eol+1:flow:0

; TCP fast open: option 34 takes the place of the padding. Suricata test capture, SNI
; icloud.com.
label = s:unix:macOS or iOS:(macOS 10.11 or newer, iOS 9 or newer; fast open)
sig   = *:64:0:*:65535,*:mss,nop,ws,nop,nop,ts,sok,?34:df,flow:*
sig   = *:64:0:*:65535,*:mss,nop,ws,nop,nop,ts,sok,?34:df,ecn,flow:*
sig   = *:64:0:*:65535,*:mss,nop,ws,nop,nop,ts,sok,?34,eol+0:df,flow:*

[tcp:response]

; As the SYN. Suricata and Zeek test captures of Python's web server on loopback. Without
; timestamps: nDPI test capture anydesk.pcapng (192.168.1.178, the Mac of safari.pcap).
label = s:unix:macOS or iOS:(macOS 10.13 or newer, iOS 11 or newer)
sig   = 4:64:0:*:65535,3:mss,nop,ws,nop,nop,ts,sok,eol+1:df:0
sig   = 4:64:0:*:65535,3:mss,nop,ws,nop,nop,ts,sok,eol+1:df,ecn:0
sig   = 4:64:0:*:65535,4:mss,nop,ws,nop,nop,ts,sok,eol+1:df:0
sig   = 4:64:0:*:65535,4:mss,nop,ws,nop,nop,ts,sok,eol+1:df,ecn:0
sig   = 4:64:0:*:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:df:0
sig   = 4:64:0:*:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:df,ecn:0
sig   = 4:64:0:*:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1:df:0
sig   = 4:64:0:*:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1:df,ecn:0
sig   = 4:64:0:*:65535,7:mss,nop,ws,nop,nop,ts,sok,eol+1:df:0
sig   = 4:64:0:*:65535,7:mss,nop,ws,nop,nop,ts,sok,eol+1:df,ecn:0
sig   = 6:64:0:*:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1:flow:0
sig   = 6:64:0:*:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1:ecn,flow:0
sig   = 6:64:0:*:65535,7:mss,nop,ws,nop,nop,ts,sok,eol+1:flow:0
sig   = 6:64:0:*:65535,7:mss,nop,ws,nop,nop,ts,sok,eol+1:ecn,flow:0
sig   = 4:64:0:*:65535,5:mss,nop,ws,sok,eol+1:df:0
sig   = 4:64:0:*:65535,5:mss,nop,ws,sok,eol+1:df,ecn:0

; As the SYN.
label = s:unix:macOS or iOS:
sig   = 4:64:0:*:65535,6:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0

; Zeek test captures vncmac.pcap and contentline-irc-5k-line.pcap.
label = s:unix:macOS or iOS:(macOS 10.10-10.12, iOS 8-10)
sig   = 4:64:0:*:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0
sig   = 4:64:0:*:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+,ecn:0
sig   = 4:64:0:*:65535,5:mss,nop,ws,sok,eol+1:df,id+:0

; As the SYN. Suricata test capture tls-client-auth.pcap (loopback over IPv6, 2018).
label = s:unix:macOS or iOS:(macOS 10.10 or newer, iOS 8 or newer)
sig   = 6:64:0:*:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:flow:0
sig   = 6:64:0:*:65535,5:mss,nop,ws,nop,nop,ts,sok,eol+1:ecn,flow:0

; Zeek test capture pop3-starttls.pcap.
label = s:unix:macOS or iOS:(Mac OS X 10.8-10.12, iOS 5-10)
sig   = 4:64:0:*:65535,4:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0
sig   = 4:64:0:*:65535,4:mss,nop,ws,sok,eol+1:df,id+:0

; As the SYN.
label = s:unix:macOS or iOS:(Mac OS X 10.5-10.12, iOS 3-10)
sig   = 4:64:0:*:65535,3:mss,nop,ws,nop,nop,ts,sok,eol+1:df,id+:0
