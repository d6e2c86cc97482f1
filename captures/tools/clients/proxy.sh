#!/bin/bash
# Lets a proxy connect to a TLS server: proxy.sh haproxy|nginx|stunnel HOST PORT
folder=$(mktemp -d)
trap 'kill %1; rm -rf "$folder"' EXIT
listen=18080
case $1 in
    haproxy)
        cat >"$folder/conf" <<CONFIG
defaults
  mode http
  timeout connect 3s
  timeout client 3s
  timeout server 3s
listen page
  bind 127.0.0.1:$listen
  server origin 127.0.0.1:$3 ssl verify none sni str($2)
CONFIG
        haproxy -f "$folder/conf" &
        ;;
    nginx)
        cat >"$folder/conf" <<CONFIG
daemon off;
pid $folder/pid;
error_log stderr;
events {}
http {
  access_log off;
  server {
    listen 127.0.0.1:$listen;
    location / { proxy_pass https://127.0.0.1:$3; proxy_ssl_server_name on; proxy_ssl_name $2; }
  }
}
CONFIG
        nginx -c "$folder/conf" &
        ;;
    stunnel)
        printf 'foreground = yes\npid =\n[page]\nclient = yes\naccept = 127.0.0.1:%s\nconnect = 127.0.0.1:%s\nsni = %s\n' \
            "$listen" "$3" "$2" >"$folder/conf"
        stunnel "$folder/conf" &
        ;;
esac
sleep 1
curl -s -m 3 -o /dev/null "http://127.0.0.1:$listen/"
