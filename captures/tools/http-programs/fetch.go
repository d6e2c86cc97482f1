// fetch gets a page with Go's net/http, with and without compression, and posts to it.
package main

import (
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	url := os.Args[1]
	for _, transport := range []*http.Transport{{}, {DisableCompression: true}, {DisableKeepAlives: true}} {
		client := http.Client{Transport: transport}
		if response, err := client.Get(url); err == nil {
			io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	}
	if response, err := http.Post(url, "text/plain", strings.NewReader("x")); err == nil {
		response.Body.Close()
	}
}
