// Encrypted Client Hello (RFC 9849) by Go's crypto/tls, server and clients.
//
//	ech config FILE ID                          makes a key and its configuration: FILE.key, FILE.config
//	ech serve CERTIFICATE KEY ADDRESS FILE      accepts hellos that are encrypted with the configuration of the file
//	ech serve-p384 CERTIFICATE KEY ADDRESS FILE the same, only with P-384, so that it sends a HelloRetryRequest
//	ech connect ADDRESS FILE                    asks for secret.example.test; prints whether the server accepted ECH
package main

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
)

const (
	publicName = "public.example.test"
	secretName = "secret.example.test"
)

func main() {
	switch arguments := os.Args[2:]; os.Args[1] {
	case "config":
		makeConfig(arguments[0], arguments[1])
	case "serve":
		serve(arguments, nil)
	case "serve-p384":
		serve(arguments, []tls.CurveID{tls.CurveP384})
	case "connect":
		connect(arguments[0], arguments[1])
	}
}

// makeConfig writes a key and an ECHConfig (RFC 9849, section 4).
func makeConfig(file, id string) {
	const version, dhkemX25519, hkdfSHA256, aes128GCM, longestName = 0xfe0d, 0x0020, 1, 1, 32
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	check(err)
	number, err := strconv.ParseUint(id, 10, 8)
	check(err)
	contents := numbers([]byte{byte(number)}, dhkemX25519)
	contents = prefixed(contents, key.PublicKey().Bytes())
	contents = numbers(contents, 4, hkdfSHA256, aes128GCM)
	contents = append(contents, longestName, byte(len(publicName)))
	contents = append(contents, publicName...)
	contents = prefixed(contents, nil)
	check(os.WriteFile(file+".key", key.Bytes(), 0o600))
	check(os.WriteFile(file+".config", prefixed(numbers(nil, version), contents), 0o600))
}

func serve(arguments []string, groups []tls.CurveID) {
	certificate, err := tls.LoadX509KeyPair(arguments[0], arguments[1])
	check(err)
	keys := []tls.EncryptedClientHelloKey{{
		Config: read(arguments[3] + ".config"), PrivateKey: read(arguments[3] + ".key"), SendAsRetry: true,
	}}
	listener, err := tls.Listen("tcp", arguments[2], &tls.Config{
		Certificates: []tls.Certificate{certificate}, CurvePreferences: groups, EncryptedClientHelloKeys: keys,
	})
	check(err)
	for {
		connection, err := listener.Accept()
		check(err)
		go func() {
			defer connection.Close()
			_, _ = io.Copy(connection, connection)
		}()
	}
}

func connect(address, file string) {
	connection, err := tls.Dial("tcp", address, &tls.Config{
		ServerName: secretName, InsecureSkipVerify: true,
		EncryptedClientHelloRejectionVerify: func(tls.ConnectionState) error { return nil },
		EncryptedClientHelloConfigList:      prefixed(nil, read(file+".config")),
	})
	if err != nil {
		fmt.Println("not accepted:", err)
		return
	}
	fmt.Println("accepted:", connection.ConnectionState().ECHAccepted)
	connection.Close()
}

func read(file string) []byte {
	bytes, err := os.ReadFile(file)
	check(err)
	return bytes
}

func numbers(bytes []byte, values ...uint16) []byte {
	for _, value := range values {
		bytes = binary.BigEndian.AppendUint16(bytes, value)
	}
	return bytes
}

// prefixed appends a value after its length in two bytes.
func prefixed(bytes, value []byte) []byte {
	return append(numbers(bytes, uint16(len(value))), value...)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
