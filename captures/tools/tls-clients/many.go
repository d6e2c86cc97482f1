// Sends a ClientHello that spans two TLS records: many ADDRESS offers 17 KB of application protocols.
package main

import (
	"crypto/tls"
	"fmt"
	"log"
	"os"
)

func main() {
	config := &tls.Config{InsecureSkipVerify: true, ServerName: "www.example.test", NextProtos: []string{"h2"}}
	for i := range 70 {
		config.NextProtos = append(config.NextProtos, fmt.Sprintf("%0250d", i))
	}
	connection, err := tls.Dial("tcp", os.Args[1], config)
	if err != nil {
		log.Fatal(err)
	}
	connection.Close()
}
