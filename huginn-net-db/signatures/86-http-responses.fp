; HTTP servers, by the order of their headers. Class "!" throughout, as in
; 85-http-requests.fp. "Recorded" is captures/http/http-servers* and captures/http/http-proxies: a
; page, the answer that it has not changed, and that there is none.
;
; The application or its language may add headers wherever it likes, mostly before those of
; the server's own end; what a signature asks for is what the server itself puts in order.
;
; Where many servers put few common headers in the same order, Server=[...] asks for the name.

[http:response]

; Recorded: nginx 1.22.1; zeek concurrent-range-requests-complete.pcap (1.23), Suricata
; 15202b79 (1.10). OpenResty and Tengine are nginx by another name, so that Server is not
; looked at. A Server header of the application's own stands before Date too.
label = s:!:nginx:or based on nginx (OpenResty, Tengine)
sys   = @unix,@win
sig   = 1:Server,Date,Content-Type,?Transfer-Encoding,?Content-Length,?Last-Modified,?Location,Connection=[keep-alive]:Via,X-Varnish:
sig   = 1:Server,Date,?Last-Modified,Connection,ETag:Content-Type,Via,X-Varnish:nginx
sig   = 1:Server,Date,Content-Type,?Content-Length,Last-Modified,Connection=[close],ETag:Via,X-Varnish:
; Recorded: nginx 1.22.1, a 204 in http-pages, a 404 that closes in http-decrypted-clients.
sig   = 1:Server=[nginx],Date,Connection:Content-Type,Via,X-Varnish:nginx
sig   = 1:Server=[nginx],Date,Content-Type,?Content-Length,Connection=[close]:Keep-Alive,Accept-Ranges,Via,ETag,Last-Modified,X-Varnish:nginx

; Recorded: Varnish 7.1.1 before nginx.
label = s:!:Varnish:
sys   = @unix
sig   = 1:X-Varnish,Age,Via=[varnish],?Accept-Ranges,Connection::

; Recorded: Apache 2.4.71. Captures of Apache 1.3.33 (Zeek mixed-vlan-mpls.pcap) to 2.4.25
; (Suricata 38a0aec6) are alike, with Keep-Alive before Connection where the client asks.
label = s:!:Apache:
sys   = @unix,@win
sig   = 1:Date,Server=[Apache],?Last-Modified,?ETag,?Accept-Ranges,?Content-Length,?Keep-Alive,?Connection,?Transfer-Encoding,Content-Type:Via:Apache
sig   = 1:Date,Server=[Apache],?Last-Modified,?Connection,?Keep-Alive,ETag:Content-Type,Via:Apache

; Recorded: lighttpd 1.4.69.
label = s:!:lighttpd:
sys   = @unix,@win
sig   = 1:Content-Type,ETag,Last-Modified,?Content-Length,?Accept-Ranges,Date,Server:Connection,Keep-Alive,Via:lighttpd/
; Recorded: a 404 of lighttpd 1.4.69.
sig   = 1:Content-Type,Content-Length,Date,Server=[lighttpd]:Connection,Keep-Alive,Accept-Ranges,ETag,Last-Modified,Via:lighttpd/
; Recorded: any page of aiohttp 3.14.5.
label = s:!:aiohttp:
sys   = @unix,@win
sig   = 1:Content-Type,Content-Length,Date,Server=[aiohttp/]:Connection,Keep-Alive,Accept-Ranges,ETag,Last-Modified,Via:aiohttp/

; Recorded: Caddy 2.6.2, file server; Suricata 12f856c3, 50f9ee5f.
label = s:!:Caddy:
sys   = @unix,@win
sig   = 1:Accept-Ranges,?Content-Length,?Content-Type,?Etag,?Last-Modified,Server=[Caddy],?Vary,Date:Connection,Keep-Alive,ETag,Via,X-Powered-By:Caddy
sig   = 1:Etag,?Last-Modified,Server,?Vary,Date:Connection,Keep-Alive,ETag,Via,X-Powered-By,Content-Type:Caddy

; Recorded: h2o 2.2.5: its own headers are in mixed case, those of the content in lower case.
label = s:!:H2O:
sys   = @unix
sig   = 1:Date,Connection,?Content-Length,Server,etag:Content-Type,Via:h2o/
sig   = 1:Date,Connection,?Content-Length,Server,content-type:Content-Type,Via:h2o/

; Recorded: BusyBox 1.35.
label = s:!:BusyBox httpd:
sys   = @unix
sig   = 1:Date,Connection=[close],Content-type,?Content-Range,?Accept-Ranges,?Last-Modified,?ETag,?Content-Length:Server,Keep-Alive,Content-Type,Via:
; Recorded: PHP 8.2 (php -S), which sends Host back.
label = s:!:PHP:built-in server
sys   = @unix,@win
sig   = 1:Host,Date,Connection=[close],?X-Powered-By,Content-Type:Server,Keep-Alive,Via:

; Recorded: HAProxy 2.6.12, which writes all names in lower case: its own answers.
label = s:!:HAProxy:
sys   = @unix
sig   = 1:content-length,?location,cache-control=[no-cache],?content-type:Date,date,Server,server,Connection:
; Recorded: what it passes on from nginx.
label = s:!:HAProxy:before nginx
sys   = @unix
sig   = 1:server=[nginx],date,content-type,?content-length,last-modified,etag,accept-ranges:Server,Date,Via,x-envoy-upstream-service-time:

; Answers of Envoy that its users published from 2017 to 2024: names in lower case, its own
; and what it passes on.
label = s:!:Envoy:
sys   = @unix
sig   = 1:server=[envoy]:Server,Date:

; Suricata 48fde6ee (IIS 7.5), Zeek content-range-gap-skip.pcap and
; vnd.ms-cab-compressed-multi-conn.pcap (IIS 6): http.sys adds Server, then Date at the end.
label = s:!:Microsoft IIS:
sys   = @win
sig   = 1:?Accept-Ranges,?ETag,Server,X-Powered-By=[ASP.NET],Date:Keep-Alive,Via:Microsoft-IIS/
sig   = 1:Content-Type,Last-Modified,Accept-Ranges,ETag,Server,Date,?Content-Length:Keep-Alive,Via,X-Powered-By:Microsoft-IIS/

; Windows, whatever program listens: Suricata 0bbf91d8 (UPnP events of Windows 7).
label = s:!:HTTP.sys:
sys   = @win
sig   = 1:Server=[Microsoft-HTTPAPI/],Date,?Connection,?Content-Length:Keep-Alive,Via,X-Powered-By:Microsoft-HTTPAPI/

; Recorded: Tomcat 10.1.60, which names itself nowhere.
label = s:!:Tomcat:7 or newer
sys   = @unix,@win
sig   = 1:Accept-Ranges,ETag,Last-Modified,Content-Type,?Content-Length,Date:Server,Connection,Via:
sig   = 1:Content-Type,Content-Language,?Transfer-Encoding,?Content-Length,Date:Server,Accept-Ranges,Via:
; Arkime http-post-upload.pcap.
label = s:!:Tomcat:8 or older
sys   = @unix,@win
sig   = 1:Server=[Apache-Coyote/],?Accept-Ranges,?ETag,?Last-Modified,Content-Type,?Content-Length,Date:Connection,Keep-Alive,Via:Apache-Coyote/
; Recorded: Jetty 9.4.57: Server at the end, no Date of itself.
label = s:!:Jetty:
sys   = @unix,@win
sig   = 1:?Date,Last-Modified,Content-Type,Accept-Ranges,?Content-Length,Server=[Jetty(]:Keep-Alive,Via,ETag,Etag:Jetty(
sig   = 1:?Date,Cache-Control=[must-revalidate,no-cache,no-store],Content-Type,?Content-Length,Server:Keep-Alive,Via:Jetty(
; Recorded: OpenJDK 17.0.15, com.sun.net.httpserver.
label = s:!:Java:com.sun.net.httpserver
sys   = @unix,@win
sig   = 1:Date,Content-type,?Content-length:Server,Connection,Keep-Alive,Content-Type,Content-Length,Via:

; Recorded: Python 3.11.7; captures of 3.4 to 3.13 are alike. It answers with HTTP/1.0.
label = s:!:Python:http.server
sys   = @unix,@win
sig   = 0:Server,Date,Content-type,?Content-Length,?Last-Modified:Connection,Keep-Alive,Via,Content-Type:Python/
sig   = 0:Server=[Python/],Date,Connection=[close],Content-Type,Content-Length:Keep-Alive,Accept-Ranges,Via:Python/
; Recorded: wsgiref of Python 3.11.7.
label = s:!:Python:wsgiref
sys   = @unix,@win
sig   = 0:Date,Server=[WSGIServer/],Content-Type:Connection,Keep-Alive,Via,Accept-Ranges,ETag,Last-Modified:WSGIServer/
; Recorded: gunicorn 27.0.1.
label = s:!:gunicorn:
sys   = @unix
sig   = 1:Server=[gunicorn],Date,Connection,?Transfer-Encoding,?Content-Type,?Content-Length:Keep-Alive,Accept-Ranges,Via,ETag,Last-Modified:gunicorn
; Recorded: waitress 3.0.2.
label = s:!:waitress:
sys   = @unix,@win
sig   = 1:Content-Length,Content-Type,Date,Server=[waitress]:Connection,Keep-Alive,Accept-Ranges,Via,ETag,Last-Modified:waitress
; Recorded: Tornado 6.6.1.
label = s:!:Tornado:
sys   = @unix,@win
sig   = 1:Server=[TornadoServer/],Content-Type,Date,?Etag,?Content-Length:Connection,Keep-Alive,Accept-Ranges,Via,ETag:TornadoServer/
; Recorded: uvicorn 0.54.0.
label = s:!:uvicorn:
sys   = @unix,@win
sig   = 1:date,server=[uvicorn]:Date,Server,Via:
; Recorded: Hypercorn 0.18.0.
label = s:!:Hypercorn:
sys   = @unix,@win
sig   = 1:date,server=[hypercorn]:Date,Server,Via:
; Suricata 4d698e28 (Werkzeug 3.0.1).
label = s:!:Werkzeug:
sys   = @unix,@win
sig   = 1:Server=[Werkzeug/],Date,Content-Type,?Content-Length,Connection=[close]:Keep-Alive,Accept-Ranges,Via,ETag,Last-Modified,X-Varnish:Werkzeug/

; Recorded: Go 1.26.8, net/http: a page, a file, a 404.
label = s:!:Go:net/http
sys   = @unix,@win
sig   = 1:Date,Content-Length,Content-Type:Server,Connection,Keep-Alive,Accept-Ranges,ETag,Last-Modified,Via:
sig   = 1:Accept-Ranges,Content-Length,Content-Type,?Last-Modified,Date:Server,Connection,Keep-Alive,Via:
sig   = 1:Content-Type,X-Content-Type-Options=[nosniff],Date,Content-Length:Server,Connection,Keep-Alive,Via:

; Recorded: Node 20.20.2, http.
label = s:!:Node:http
sys   = @unix,@win
sig   = 1:Date,Connection=[keep-alive],Keep-Alive=[timeout=],?Transfer-Encoding:Server,Via,Accept-Ranges:

; nDPI waze.pcap.
label = s:!:Amazon CloudFront:
sys   = @unix,Amazon CloudFront
sig   = 1:X-Cache=[cloudfront],Via=[cloudfront],X-Amz-Cf-Id::
; nDPI EAQ.pcap.
label = s:!:Google front end:
sys   = Google
sig   = 1:?Cache-Control,?Content-Type,?Location,?Content-Length,Date,Server,Alternate-Protocol:Accept-Ranges,Via:GFE/
