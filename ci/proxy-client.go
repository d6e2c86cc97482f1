// Asks a URL once with net/http, without checking its certificate.
package main

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, ServerName: "www.example.test"},
		ForceAttemptHTTP2: true,
	}
	answer, err := (&http.Client{Transport: transport}).Get(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		log.Fatal(err)
	}
}
