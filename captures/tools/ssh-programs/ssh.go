// An SSH client and server with golang.org/x/crypto/ssh.
//
//	ssh get ADDRESS    connects, and disconnects after the key exchange
//	ssh serve ADDRESS  serves, and rejects every login
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"log"
	"net"
	"os"

	"golang.org/x/crypto/ssh"
)

func main() {
	if os.Args[1] == "serve" {
		serve(os.Args[2])
		return
	}
	config := &ssh.ClientConfig{User: "nobody", HostKeyCallback: ssh.InsecureIgnoreHostKey()}
	if _, err := ssh.Dial("tcp", os.Args[2], config); err != nil {
		log.Print(err)
	}
}

func serve(address string) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		log.Fatal(err)
	}
	config := &ssh.ServerConfig{PasswordCallback: func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) {
		return nil, os.ErrPermission
	}}
	config.AddHostKey(signer)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go func() { _, _, _, _ = ssh.NewServerConn(connection, config) }()
	}
}
