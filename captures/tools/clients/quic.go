// quic-go's HTTP/3 client without certificate checks: client URL
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
	transport := &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	limit, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(limit, "GET", os.Args[1], nil)
	if err != nil {
		panic(err)
	}
	transport.RoundTrip(request)
}
