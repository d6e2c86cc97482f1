// Go's TLS client: client http|tls|cache ADDRESS. It compiles with every Go since 1.9.
//
// http requests a page with the default transport, which offers HTTP/2 and rejects the certificate after the hello, and
// then with a transport that accepts it. tls connects without ALPN, with every version of TLS and then with TLS 1.2; cache
// does the same with a cache of sessions. Requests have the User-Agent of the variable USER_AGENT, if it is set.
package main

import (
	"crypto/tls"
	"log"
	"net/http"
	"os"
)

func main() {
	if os.Args[1] != "http" {
		var sessions tls.ClientSessionCache
		if os.Args[1] == "cache" {
			sessions = tls.NewLRUClientSessionCache(0)
		}
		for _, highest := range []uint16{0, tls.VersionTLS12} {
			connection, err := tls.Dial("tcp", os.Args[2], &tls.Config{InsecureSkipVerify: true, MaxVersion: highest, ClientSessionCache: sessions})
			if err != nil {
				log.Fatal(err)
			}
			connection.Close()
		}
		return
	}
	accepting := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	for _, client := range []*http.Client{http.DefaultClient, {Transport: accepting}} {
		request, err := http.NewRequest("GET", "https://"+os.Args[2]+"/", nil)
		if err != nil {
			log.Fatal(err)
		}
		if agent := os.Getenv("USER_AGENT"); agent != "" {
			request.Header.Set("User-Agent", agent)
		}
		if response, err := client.Do(request); err == nil {
			response.Body.Close()
		}
	}
}
