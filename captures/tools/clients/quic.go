// quic-go's HTTP/3 client without certificate checks: client URL [cache]. With cache it can resume sessions.
package main

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"time"

	"github.com/quic-go/quic-go/http3"
)

func main() {
	config := &tls.Config{InsecureSkipVerify: true}
	if len(os.Args) > 2 {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	transport := &http3.Transport{TLSClientConfig: config}
	limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(limit, "GET", os.Args[1], nil)
	if err != nil {
		panic(err)
	}
	transport.RoundTrip(request)
}
