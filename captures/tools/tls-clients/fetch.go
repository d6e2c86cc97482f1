// Fetches a page with Go's net/http: fetch URL. It uses HTTP/2 with TLS 1.3, then HTTP/1.1 with at most TLS 1.2, then a
// new HTTP/2 connection that resumes the first session.
package main

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	sessions := tls.NewLRUClientSessionCache(4)
	get(&http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: config(sessions, 0)})
	get(&http.Transport{TLSClientConfig: config(nil, tls.VersionTLS12)})
	get(&http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: config(sessions, 0)})
}

func config(sessions tls.ClientSessionCache, highest uint16) *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, ClientSessionCache: sessions, MaxVersion: highest}
}

func get(transport *http.Transport) {
	response, err := (&http.Client{Transport: transport}).Get(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if _, err = io.Copy(io.Discard, response.Body); err != nil {
		log.Fatal(err)
	}
	transport.CloseIdleConnections()
}
