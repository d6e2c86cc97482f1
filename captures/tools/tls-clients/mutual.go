// A TLS 1.2 server with Go's crypto/tls that asks for the certificate of the client: mutual CHAIN KEY AUTHORITY ADDRESS.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"log"
	"net/http"
	"os"
)

func main() {
	authority, err := os.ReadFile(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(authority)
	config := &tls.Config{ClientAuth: tls.RequestClientCert, ClientCAs: clients, MaxVersion: tls.VersionTLS12}
	server := &http.Server{Addr: os.Args[4], TLSConfig: config}
	log.Fatal(server.ListenAndServeTLS(os.Args[1], os.Args[2]))
}
