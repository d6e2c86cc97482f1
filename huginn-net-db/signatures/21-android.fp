; Android is Linux, and a phone can send what 20-linux.fp lists. What sets it apart
; is the initial receive window of 60 segments (net.tcp.default_init_rwnd, set in
; Android's init.rc since 5) and buffers beyond 64 KiB: the window is all of 65535. The
; scale follows the tcp_rmem of the phone's maker: 2 MiB is 6, 16 MiB is 9.

[tcp:request]

; nDPI test captures android.pcap (Android 9, scale 8), mpeg-dash.pcap (Android 11, scale
; 10), sites.pcapng (TikTok, scale 9); Arkime test capture fbzero-android.pcap (6).
label = s:unix:Android:5 or newer
sig   = *:64:0:*:65535,6:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:65535,8:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:65535,9:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:65535,10:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:65535,11:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:65535,12:mss,sok,ts,nop,ws:df,id+,flow:0

; Scale 7 is Linux's own default: tcp_rmem[1]=262144 on Linux 6.18 gives the same.
label = s:unix:Android:5 or newer, or Linux with large buffers
sig   = *:64:0:*:65535,7:mss,sok,ts,nop,ws:df,id+,flow:0

; The private DNS of Android (DnsTlsSocket.cpp) asks for fast open (RFC 7413) in all of its
; connections.
label = s:unix:Android:5 or newer (fast open)
sig   = *:64:0:*:65535,6:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:65535,8:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:65535,9:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:65535,10:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:65535,11:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*
sig   = *:64:0:*:65535,12:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*

; 60 segments are less than 65535 bytes where the MSS is below 1093, as a program or a link sets
; it.
label = s:unix:Android:5 or newer (small segments)
sig   = *:64:0:*:mss*60,*:mss,sok,ts,nop,ws:df,id+,flow:0
sig   = *:64:0:*:mss*60,*:mss,sok,ts,nop,ws,?34,nop,nop:df,id+,flow:*

; tcp_timestamps=0, in the order of tcp_syn_build_options().
label = s:unix:Android:5 or newer (no timestamps)
sig   = *:64:0:*:65535,6:mss,nop,nop,sok,nop,ws:df,id+,flow:0
sig   = *:64:0:*:65535,8:mss,nop,nop,sok,nop,ws:df,id+,flow:0
sig   = *:64:0:*:65535,9:mss,nop,nop,sok,nop,ws:df,id+,flow:0
sig   = *:64:0:*:65535,10:mss,nop,nop,sok,nop,ws:df,id+,flow:0
sig   = *:64:0:*:65535,11:mss,nop,nop,sok,nop,ws:df,id+,flow:0
sig   = *:64:0:*:65535,12:mss,nop,nop,sok,nop,ws:df,id+,flow:0
