// uTLS with the hello of a browser, and Go's HTTP: client BROWSER VERSION ADDRESS. The User-Agent is that of the variable
// USER_AGENT.
package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"os"

	utls "github.com/refraction-networking/utls"
	"golang.org/x/net/http2"
)

func main() {
	hello, address := utls.ClientHelloID{Client: os.Args[1], Version: os.Args[2]}, os.Args[3]
	connection, err := net.Dial("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	name, _, _ := net.SplitHostPort(address)
	client := utls.UClient(connection, &utls.Config{ServerName: name, InsecureSkipVerify: true}, hello)
	if err := client.Handshake(); err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest("GET", "https://"+address+"/", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("User-Agent", os.Getenv("USER_AGENT"))
	if client.ConnectionState().NegotiatedProtocol == "h2" {
		stream, err := new(http2.Transport).NewClientConn(client)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := stream.RoundTrip(request); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := request.Write(client); err != nil {
		log.Fatal(err)
	}
	io.Copy(io.Discard, client)
}
