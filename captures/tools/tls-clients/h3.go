// HTTP/3 with quic-go: h3 serve CERTIFICATE KEY ADDRESS [retry] [2], or h3 get URL [2] [0rtt].
//
// `2` uses only QUIC version 2; `retry` validates the address of every client; `0rtt` opens a second connection with its
// request as 0-RTT data. The client logs its keys to the file that SSLKEYLOGFILE names.
package main

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"slices"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

func main() {
	config := &quic.Config{Allow0RTT: true}
	if slices.Contains(os.Args, "2") {
		config.Versions = []quic.Version{quic.Version2}
	}
	if os.Args[1] == "serve" {
		serve(config)
		return
	}
	cache := tls.NewLRUClientSessionCache(4)
	get(config, cache, http.MethodGet)
	if slices.Contains(os.Args, "0rtt") {
		get(config, cache, http3.MethodGet0RTT)
	}
}

func serve(config *quic.Config) {
	certificate, err := tls.LoadX509KeyPair(os.Args[2], os.Args[3])
	check(err)
	address, err := net.ResolveUDPAddr("udp", os.Args[4])
	check(err)
	socket, err := net.ListenUDP("udp", address)
	check(err)
	transport := &quic.Transport{Conn: socket}
	if slices.Contains(os.Args, "retry") {
		transport.VerifySourceAddress = func(net.Addr) bool { return true }
	}
	tlsConfig := http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{certificate}})
	listener, err := transport.ListenEarly(tlsConfig, config)
	check(err)
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "A page.\n") })
	check((&http3.Server{Handler: page}).ServeListener(listener))
}

func get(config *quic.Config, cache tls.ClientSessionCache, method string) {
	tlsConfig := &tls.Config{InsecureSkipVerify: true, ClientSessionCache: cache, KeyLogWriter: keyLog()}
	transport := &http3.Transport{TLSClientConfig: tlsConfig, QUICConfig: config}
	request, err := http.NewRequestWithContext(context.Background(), method, os.Args[2], nil)
	check(err)
	response, err := transport.RoundTrip(request)
	check(err)
	_, err = io.Copy(io.Discard, response.Body)
	check(err)
	check(transport.Close())
}

func keyLog() io.Writer {
	name := os.Getenv("SSLKEYLOGFILE")
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	return file
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
