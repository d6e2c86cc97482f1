// Exchanges of net/http over TLS: secure URL. HTTP/1.1 and HTTP/2, TLS 1.2 and 1.3, sessions that are new and resumed. The keys go
// to the file that SSLKEYLOGFILE names.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	keys, err := os.OpenFile(os.Getenv("SSLKEYLOGFILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, http2 := range []bool{false, true} {
			config := &tls.Config{InsecureSkipVerify: true, ClientSessionCache: tls.NewLRUClientSessionCache(4), KeyLogWriter: keys}
			config.MinVersion, config.MaxVersion = version, version
			for _, session := range []string{"new", "resumed"} {
				transport := &http.Transport{ForceAttemptHTTP2: http2, TLSClientConfig: config.Clone()}
				exchange(transport, fmt.Sprintf("%s/go?%x,%t,%s", os.Args[1], version, http2, session))
			}
		}
	}
}

func exchange(transport *http.Transport, url string) {
	client := &http.Client{Transport: transport}
	response, err := client.Get(url)
	check(err)
	_, err = io.Copy(io.Discard, response.Body)
	check(err)
	request, err := http.NewRequest("PUT", url, strings.NewReader("text"))
	check(err)
	request.Header.Set("X-Name", "value")
	request.Header.Set("Accept", "*/*")
	response, err = client.Do(request)
	check(err)
	_, err = io.Copy(io.Discard, response.Body)
	check(err)
	transport.CloseIdleConnections()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
