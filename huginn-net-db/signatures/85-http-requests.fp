; HTTP clients, by the order of their headers. Class "!" throughout: they
; run on many systems, which "sys" lists. "Recorded" is captures/http/ unless told
; otherwise; other captures are public test captures by project and name, whose User-Agent
; names the program.

[http:request]

; How User-Agent strings name systems, the most telling first: "Android" stands beside
; "Linux", "iPhone" beside "Mac OS X". Windows Phone names all of them (Microsoft, "User agent
; string changes for Windows Phone 8.1").
ua_os = Windows=[Windows Phone],Android,Windows,macOS or iOS=[iPhone],macOS or iOS=[iPad],macOS or iOS=[Mac OS X],macOS or iOS=[Darwin],Linux,Linux=[CrOS],FreeBSD,OpenBSD,NetBSD,DragonFly BSD=[DragonFly],Solaris=[SunOS],Nintendo Switch,Xbox,PlayStation 3=[PLAYSTATION 3]

; ---- Browsers

; nDPI weibo.pcap (Chrome 50, pages and what they load), Arkime http-post-upload.pcap (33).
; "sdch" was dropped in 59; without it, the order is that of the next label.
label = s:!:Chromium:Chrome 26-58
sys   = @win,@unix
sig   = 1:Host,Connection=[keep-alive],Accept=[*/*],?Upgrade-Insecure-Requests,User-Agent,?Referer,Accept-Encoding=[sdch],Accept-Language:Accept-Charset,Keep-Alive:Chrome/
sig   = 1:Host,Connection=[keep-alive],User-Agent,?Origin,Accept=[*/*],?Referer,Accept-Encoding=[sdch],Accept-Language:Accept-Charset,Keep-Alive:Chrome/

; Recorded: Chromium 156, pages and what they load. The same order: Suricata 57c81cda (Chrome
; 86), nDPI emotet.pcap (Edge 99), Zeek putty-upload.pcap (Chrome 108). Versions before 59 send
; it, too, where they do not offer "sdch"; the blank after the comma is that of 39 (Arkime
; jsonrpc.pcap). On a trustworthy origin sec-ch-* and Sec-Fetch-* stand between.
label = s:!:Chromium:Chrome 39 or newer, or a browser based on it (Edge, Opera, Brave)
sys   = @win,@unix
sig   = 1:Host,Connection=[keep-alive],?Cache-Control,?Upgrade-Insecure-Requests,User-Agent,Accept=[*/*],?Origin,?Referer,Accept-Encoding=[gzip, deflate],Accept-Language,?Cookie,?If-None-Match,?If-Modified-Since:Accept-Charset,Keep-Alive,Priority,Sec-Fetch-Site:Chrome/
sig   = 1:Host,Connection=[keep-alive],User-Agent,Accept=[*/*],Accept-Encoding=[gzip, deflate],Accept-Language:Accept-Charset,Keep-Alive,Priority:Chrome/

; Requests of its own, such as those for a captive portal: nDPI android.pcap (Chrome 79),
; anyconnect-vpn.pcap (Chrome 77), FoxIO latest.pcapng (Electron 24).
label = s:!:Chromium:itself, not a page
sys   = @win,@unix
sig   = 1:Host,Connection=[keep-alive],User-Agent,Accept-Encoding=[gzip, deflate],?Accept-Language:Accept,Accept-Charset,Keep-Alive:Chrome/

; Suricata 48fde6ee and Zeek 206_example_a.pcap (Chrome 8), nDPI 1kxun.pcap (25).
label = s:!:Chromium:Chrome 8-25
sys   = @win,@unix
sig   = 1:Host,Connection=[keep-alive],Accept=[*/*],User-Agent,Accept-Encoding=[gzip,deflate],Accept-Language,Accept-Charset:Keep-Alive:Chrome/

; Recorded: Firefox 153 ESR, pages and what they load; Firefox 115 (next) has no Priority.
label = s:!:Firefox:116 or newer
sys   = @win,@unix
sig   = 1:Host,User-Agent,Accept=[*/*],Accept-Language,Accept-Encoding=[gzip, deflate],Connection=[keep-alive],Priority=[u=]:Accept-Charset,Keep-Alive:Firefox/

; Zeek cooper-grill-dvwa.pcapng (Firefox 115), gap-recovery.pcap, content-range-less-than-len
; .pcap (52), x-gzip.pcap (38), Suricata 27a4e050 (60). For some of what a page loads,
; Firefox 153 sends no Priority either (recorded: http-pages).
label = s:!:Firefox:11 or newer
sys   = @win,@unix
sig   = *:Host,User-Agent,Accept=[*/*],Accept-Language,Accept-Encoding=[gzip, deflate],Connection=[keep-alive]:Accept-Charset,Keep-Alive,Priority,X-Flash-Version:Firefox/

; Zeek miss_end_data.pcap (Firefox 7).
label = s:!:Firefox:5-10
sys   = @win,@unix
sig   = *:Host,User-Agent,Accept=[*/*],Accept-Language,Accept-Encoding=[gzip, deflate],Accept-Charset=[*;q=],Connection=[keep-alive]:Keep-Alive:Firefox/

; Zeek wikipedia.pcap (3.6.15), zero-length-bodies-with-drops.pcap, Arkime http-no-length.pcap;
; Suricata 4bdd95bd (3.0.6), 25a72bdf (Mozilla 1.6).
label = s:!:Mozilla or Firefox:4 or older
sys   = @win,@unix
sig   = *:Host,User-Agent,Accept,Accept-Language,Accept-Encoding=[gzip,deflate],Accept-Charset=[utf-8;q=0.7,*;q=0.7],Keep-Alive,Connection=[keep-alive]::Gecko/

; Dumps of Safari 13.0, 14.0 and 17.6 that owners published, the last by tcpdump. Version 11
; sends Connection second.
label = s:!:Safari:
sys   = macOS or iOS
sig   = 1:Host,Upgrade-Insecure-Requests=[1],?Cookie,Accept=[*/*;q=0.8],User-Agent,?Referer,Accept-Language,Accept-Encoding=[gzip, deflate],Connection=[keep-alive]:Accept-Charset,Keep-Alive:Safari/
sig   = 1:Host,Connection=[keep-alive],Upgrade-Insecure-Requests=[1],Accept=[*/*;q=0.8],User-Agent,Accept-Language,Accept-Encoding=[gzip, deflate]:Accept-Charset,Keep-Alive:Safari/
; nDPI ookla.pcap (Safari 10): what a page loads.
sig   = 1:Host,Connection=[keep-alive],Accept=[*/*],User-Agent,Accept-Language,?Referer,Accept-Encoding=[gzip, deflate]:Accept-Charset,Keep-Alive,Upgrade-Insecure-Requests:Safari/

; nDPI 1kxun.pcap: a program of macOS with CFNetwork 720.
label = s:!:CFNetwork:
sys   = macOS or iOS
sig   = 1:Host,Accept=[*/*],Accept-Language,Connection=[keep-alive],Accept-Encoding=[gzip, deflate],User-Agent:Accept-Charset,Keep-Alive,Upgrade-Insecure-Requests: CFNetwork/

; nDPI iphone.pcap: asks whether the network is open.
label = s:!:Apple captive portal check:
sys   = macOS or iOS
sig   = 0:Host,Connection=[close],User-Agent:Accept,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:CaptiveNetworkSupport

; nDPI emotet.pcap, Suricata 3a753abe (both Internet Explorer 11); Zeek missing-zlib-header.pcap
; (7). Other programs with WinINet send the same, Edge up to 18 among them. A head of any
; signature may have the text of each: "MSIE" is that of versions up to 10.
label = s:!:Internet Explorer or WinINet:
sys   = @win
sig   = 1:Accept,?Referer,Accept-Language,?UA-CPU,User-Agent,Accept-Encoding=[gzip, deflate],Host,?DNT,Connection:Accept-Charset,Keep-Alive:compatible; MSIE
sig   = 1:Accept=[*/*],?Referer,?Accept-Language,UA-CPU,Accept-Encoding=[gzip, deflate],User-Agent,Host,Connection=[Keep-Alive]:Accept-Charset,Keep-Alive:Trident/

; Recorded: Lynx 2.9.0dev.12.
label = s:!:Lynx:
sys   = @win,@unix
sig   = 0:Host,Accept=[text/html, text/plain, text/sgml],?Accept-Encoding,Accept-Language,User-Agent:Accept-Charset,Keep-Alive,Connection:Lynx/
; Recorded: w3m 0.5.3.
label = s:!:w3m:
sys   = @win,@unix
sig   = 0:User-Agent,Accept=[text/html, text/*;q=0.5, image/*],Accept-Encoding=[gzip, compress, bzip],Accept-Language,Host:Accept-Charset,Keep-Alive,Connection:w3m/
; Recorded: Links 2.28.
label = s:!:Links:
sys   = @win,@unix
sig   = 1:Host,User-Agent,Accept=[*/*],Accept-Language=[q=0.1],Accept-Encoding,Accept-Charset=[us-ascii],Connection:Keep-Alive:Links

; ---- Downloaders and tools of the command line

; Recorded: curl 7.88.1, PycURL with libcurl 8.23; captures of 7.43 to 8.13 are alike.
label = s:!:curl:7.43 or newer
sys   = @win,@unix
sig   = 1:Host,?Range,User-Agent,Accept=[*/*]:Connection,Accept-Charset,Keep-Alive,Pragma,Accept-Encoding:curl/
sig   = 1:Host,User-Agent,Accept=[*/*],Accept-Encoding=[deflate, gzip]:Connection,Accept-Language,Accept-Charset,Keep-Alive,Pragma,Git-Protocol:curl/
; Recorded: asks for HTTP/2 (--http2).
sig   = 1:Host,User-Agent,Accept=[*/*],?Accept-Encoding,Connection=[Upgrade, HTTP2-Settings],Upgrade=[h2c],HTTP2-Settings:Accept-Language,Accept-Charset,Keep-Alive:curl/

; Captures of curl 7.19 to 7.40, Suricata and Zeek.
label = s:!:curl:7.42 or older
sys   = @win,@unix
sig   = *:User-Agent,Host,Accept=[*/*]:Connection,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:curl/

; Recorded: Git 2.39.5, which uses libcurl.
label = s:!:Git:
sys   = @win,@unix
sig   = 1:Host,User-Agent,Accept=[*/*],Accept-Encoding=[gzip],?Accept-Language,Pragma=[no-cache],?Git-Protocol:Connection,Accept-Charset,Keep-Alive:git/

; Recorded: Wget 1.21.3.
label = s:!:Wget:1.19 or newer
sys   = @win,@unix
sig   = 1:Host,User-Agent,Accept=[*/*],Accept-Encoding=[identity],Connection=[Keep-Alive]:Accept-Language,Accept-Charset,Keep-Alive:Wget/
; Zeek www-odd-url.pcap (1.12), get.pcap (1.14), Suricata 4145c32e (1.16).
label = s:!:Wget:1.16 or older
sys   = @win,@unix
sig   = *:User-Agent,Accept=[*/*],Host,Connection=[Keep-Alive]:Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:Wget/
; Recorded: wget2 1.99.1.
label = s:!:Wget2:
sys   = @win,@unix
sig   = 1:Host,Accept-Encoding=[gzip, deflate],Accept=[text/html],User-Agent,Connection=[keep-alive]:Accept-Language,Accept-Charset,Keep-Alive:get2/
; Recorded: aria2 1.36.0.
label = s:!:aria2:
sys   = @win,@unix
sig   = 1:User-Agent,Accept=[*/*,application/metalink],Host,?Range,?Want-Digest:Accept-Language,Accept-Charset,Keep-Alive:aria2/
; Recorded: Axel 2.17.11.
label = s:!:Axel:
sys   = @unix
sig   = 0:Host,Accept=[*/*],Accept-Encoding=[identity],?Range,User-Agent:Connection,Accept-Language,Accept-Charset,Keep-Alive:Axel/

; Recorded: ApacheBench 2.3.
label = s:!:ApacheBench:
sys   = @win,@unix
sig   = 0:Host,User-Agent,Accept=[*/*]:Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive,Pragma:ApacheBench/
; Recorded: Siege 4.0.7.
label = s:!:Siege:
sys   = @unix
sig   = 1:Host,Accept=[*/*],Accept-Encoding=[gzip, deflate],User-Agent,Connection=[close]:Accept-Language,Accept-Charset,Keep-Alive:Siege/
; Recorded: h2load of nghttp2 1.52, with HTTP/1.1.
label = s:!:h2load:
sys   = @unix
sig   = 1:Host,user-agent=[h2load]:User-Agent,Accept,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive,Connection:
; Recorded: nghttp of nghttp2 1.52, which upgrades to HTTP/2 (-u).
label = s:!:nghttp:
sys   = @unix
sig   = 1:host,connection=[Upgrade, HTTP2-Settings],upgrade=[h2c],http2-settings,accept=[*/*],user-agent=[nghttp2/]:Host,User-Agent,Accept,Accept-Charset,Keep-Alive:

; Zeek content-range-gap-skip.pcap, vnd.ms-cab-compressed-multi-conn.pcap.
label = s:!:Microsoft BITS:
sys   = @win
sig   = 1:Accept=[*/*],Accept-Encoding=[identity],?Range,?If-Unmodified-Since,User-Agent,Host,Connection=[Keep-Alive]:Accept-Language,Accept-Charset,Keep-Alive:Microsoft BITS/

; nDPI mpeg-dash.pcap, hls.pcapng (VLC 3.0.18).
label = s:!:VLC:
sys   = @win,@unix
sig   = 1:Host,Accept=[*/*],Accept-Language,User-Agent,?Range:Connection,Accept-Encoding,Accept-Charset,Keep-Alive:VLC/

; ---- Languages and their libraries

; Recorded: requests 2.34.2; Suricata 4d698e28 (2.31).
label = s:!:Python requests:
sys   = @win,@unix
sig   = 1:Host,User-Agent,Accept-Encoding=[gzip, deflate],Accept=[*/*],Connection=[keep-alive]:Accept-Language,Accept-Charset,Keep-Alive:python-requests/
; Recorded: httpx 0.28.1.
label = s:!:Python httpx:
sys   = @win,@unix
sig   = 1:Host,Accept=[*/*],Accept-Encoding=[gzip, deflate],Connection=[keep-alive],User-Agent:Accept-Language,Accept-Charset,Keep-Alive:python-httpx/
; Recorded: aiohttp 3.14.5.
label = s:!:Python aiohttp:
sys   = @win,@unix
sig   = 1:Host,Accept=[*/*],Accept-Encoding=[gzip, deflate],User-Agent:Connection,Accept-Language,Accept-Charset,Keep-Alive,Pragma:aiohttp/
; Recorded: Python 3.11.7; Zeek http-non-printable-characters.pcap (3.12).
label = s:!:Python urllib:
sys   = @win,@unix
sig   = 1:Accept-Encoding=[identity],Host,User-Agent,Connection=[close]:Accept,Accept-Language,Accept-Charset,Keep-Alive:Python-urllib/
; Recorded: urllib3 2.8.0, and http.client of Python 3.11.7 alone.
label = s:!:Python urllib3 or http.client:
sys   = @win,@unix
sig   = 1:Host,Accept-Encoding=[identity],?User-Agent:Connection,Accept,Accept-Language,Accept-Charset,Keep-Alive:python-urllib3/
; Recorded: Scrapy 2.19.0.
label = s:!:Scrapy:
sys   = @win,@unix
sig   = 1:Accept=[text/html],Accept-Language,User-Agent,Accept-Encoding=[gzip, deflate],Host:Connection,Accept-Charset,Keep-Alive:Scrapy/

; Recorded: Go 1.26.8, GET and POST. Without compression it sends Host and User-Agent alone,
; as many do.
label = s:!:Go:net/http
sys   = @win,@unix
sig   = 1:Host,User-Agent,?Content-Length,?Content-Type,Accept-Encoding=[gzip],?Connection:Accept,Accept-Language,Accept-Charset,Keep-Alive:Go-http-client/
; Suricata 2f7b67d4.
sig   = 1:Host,User-Agent,Range:Connection,Accept,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:Go-http-client/

; Recorded: OpenJDK 17.0.15; nDPI log4j-webapp-exploit.pcap (Java 8).
label = s:!:Java:HttpURLConnection
sys   = @win,@unix
sig   = 1:User-Agent,Host,Accept=[text/html, image/gif, image/jpeg, *],Connection=[keep-alive]:Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:Java/
; Recorded: OpenJDK 17.0.15, as it comes and for HTTP/1.1 alone.
label = s:!:Java:java.net.http
sys   = @win,@unix
sig   = 1:Connection=[Upgrade, HTTP2-Settings],Content-Length,Host,HTTP2-Settings,Upgrade=[h2c],User-Agent:Accept,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:Java-http-client/
sig   = 1:Content-Length=[0],Host,User-Agent:Connection,Accept,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:Java-http-client/
; Recorded: OkHttp 4.12.0.
label = s:!:OkHttp:
sys   = @win,@unix
sig   = 1:Host,Connection=[Keep-Alive],Accept-Encoding=[gzip],User-Agent:Accept,Accept-Language,Accept-Charset,Keep-Alive:okhttp/
; nDPI KakaoTalk_chat.pcap (Android 4.4.4): HttpURLConnection of Android, OkHttp inside.
label = s:!:Android:HttpURLConnection
sys   = Linux,Android
sig   = 1:User-Agent,Host,Connection=[Keep-Alive],Accept-Encoding=[gzip]:Accept,Accept-Language,Accept-Charset,Keep-Alive:Android
; Recorded: Apache HttpClient 4.5.14.
label = s:!:Apache HttpClient:4
sys   = @win,@unix
sig   = 1:Host,Connection=[Keep-Alive],User-Agent,Accept-Encoding=[gzip,deflate]:Accept,Accept-Language,Accept-Charset,Keep-Alive:Apache-HttpClient/
; Recorded: Apache HttpClient 5.3.1.
label = s:!:Apache HttpClient:5
sys   = @win,@unix
sig   = 1:Accept-Encoding=[gzip, x-gzip, deflate],Host,Connection=[keep-alive],User-Agent:Accept,Accept-Language,Accept-Charset,Keep-Alive:Apache-HttpClient/

; Recorded: Node 20.20.2.
label = s:!:Node:fetch (undici)
sys   = @win,@unix
sig   = 1:host,connection=[keep-alive],accept=[*/*],accept-language=[*],sec-fetch-mode=[cors],user-agent,accept-encoding:Host,Accept-Charset,Keep-Alive:
; Recorded: request() of undici 7.30.2.
label = s:!:Node:undici
sys   = @win,@unix
sig   = 1:host,connection=[keep-alive]:Host,User-Agent,Accept,Accept-Charset,Keep-Alive,accept:
; Recorded: axios 1.21.1.
label = s:!:Node:axios
sys   = @win,@unix
sig   = 1:Accept=[application/json, text/plain, */*],?Content-Type,User-Agent,?Content-Length,Accept-Encoding=[compress],Host,Connection:Accept-Language,Accept-Charset,Keep-Alive:axios/
; Recorded: got 14.6.6.
label = s:!:Node:got
sys   = @win,@unix
sig   = 1:user-agent=[got],accept-encoding,Host,Connection:Accept,Accept-Language,Accept-Charset,Keep-Alive:
; Recorded: node-fetch 3.3.2.
label = s:!:Node:node-fetch
sys   = @win,@unix
sig   = 1:accept=[*/*],accept-encoding,user-agent=[node-fetch],Host,Connection:Accept,Accept-Language,Accept-Charset,Keep-Alive:
; Recorded: superagent 10.4.2.
label = s:!:Node:superagent
sys   = @win,@unix
sig   = 1:Host,Accept-Encoding=[gzip, deflate],Connection=[close]:User-Agent,Accept,Accept-Language,Accept-Charset,Keep-Alive:
; Recorded: http.get() of Node 20.20.2. Anything simple may send these two.
label = g:!:Node:http
sys   = @win,@unix
sig   = 1:Host,Connection=[keep-alive]:User-Agent,Accept,Accept-Encoding,Accept-Language,Accept-Charset,Keep-Alive:

; Left out, as they send what many do: BusyBox wget, Perl's HTTP::Tiny, PHP's streams.

; Recorded: libwww-perl 6.68.
label = s:!:Perl:libwww-perl
sys   = @win,@unix
sig   = 1:TE=[deflate,gzip;q=0.3],Connection=[TE, close],Host,User-Agent:Accept-Language,Accept-Charset,Keep-Alive:libwww-perl/
; Recorded: Ruby 3.1, Net::HTTP and open-uri.
label = s:!:Ruby:
sys   = @win,@unix
sig   = 1:Accept-Encoding=[gzip;q=1.0,deflate;q=0.6,identity;q=0.3],Accept=[*/*],User-Agent,?Host:Accept-Language,Accept-Charset,Keep-Alive:Ruby

; ---- Crawlers

; Google's own account of its crawler (Search Central blog, 6 March 2008); a log that a site
; owner published in 2020 has From second.
label = s:!:Googlebot:
sys   = Linux,Google
sig   = 1:Host,Connection=[eep-],Accept=[*/*],From=[googlebot(at)googlebot.com],User-Agent,Accept-Encoding=[gzip,deflate]:Accept-Charset,Keep-Alive:Googlebot
sig   = 1:Host,From=[googlebot(at)googlebot.com],Accept=[*/*],Connection=[keep-alive],User-Agent,Accept-Encoding=[gzip,deflate]:Accept-Charset,Keep-Alive:Googlebot
; As a firewall logged it in 2019, and a test of an HTTP parser of 2011.
label = s:!:Bingbot:
sys   = @win,@unix
sig   = 1:?Cache-Control,Connection=[Keep-Alive],Pragma=[no-cache],Accept=[*/*],Accept-Encoding,From=[bingbot(at)microsoft.com],Host,User-Agent:Accept-Charset,Keep-Alive:bingbot
