// Go's own client: fetch URL gets it over HTTP/2 with TLS 1.3, over HTTP/1.1 with TLS 1.2 at most, and a second time on
// a new connection that resumes the first one's session.
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
