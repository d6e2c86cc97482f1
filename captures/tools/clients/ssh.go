// The SSH client of golang.org/x/crypto, whose login fails: client ADDRESS
package main

import (
	"fmt"
	"os"

	"golang.org/x/crypto/ssh"
)

func main() {
	config := &ssh.ClientConfig{User: "user", Auth: []ssh.AuthMethod{ssh.Password("word")}, HostKeyCallback: ssh.InsecureIgnoreHostKey()}
	_, err := ssh.Dial("tcp", os.Args[1], config)
	fmt.Println(err)
}
