// Connects two stacks of gVisor with each other over IPv4 and IPv6, and writes their packets as a pcap file of raw IP:
//
//	gvisor FILE [sack] [moderate] [8M] [1280]
//
// sack and moderate are what runsc turns on, 8M is a receive buffer that needs a scale of 8, 1280 the MTU of a tunnel. To build it,
// in a folder of its own: go mod init gvisor && go mod tidy && go build. The signatures of gVisor are from v0.0.0-20260905035102.
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

var (
	file *os.File
	lock sync.Mutex
)

func newStack(settings []string, addresses ...string) (*stack.Stack, *channel.Endpoint) {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	if slices.Contains(settings, "sack") {
		option := tcpip.TCPSACKEnabled(true)
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &option)
	}
	if slices.Contains(settings, "moderate") {
		option := tcpip.TCPModerateReceiveBufferOption(true)
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &option)
	}
	if slices.Contains(settings, "8M") {
		option := tcpip.TCPReceiveBufferSizeRangeOption{Min: 4096, Default: 8 << 20, Max: 8 << 20}
		s.SetTransportProtocolOption(tcp.ProtocolNumber, &option)
	}
	mtu := uint32(1500)
	if slices.Contains(settings, "1280") {
		mtu = 1280
	}
	link := channel.New(256, mtu, "")
	s.CreateNIC(1, link)
	for _, text := range addresses {
		address := netip.MustParseAddr(text)
		protocol := ipv4.ProtocolNumber
		if address.Is6() {
			protocol = ipv6.ProtocolNumber
		}
		s.AddProtocolAddress(1, tcpip.ProtocolAddress{Protocol: protocol, AddressWithPrefix: tcpip.AddrFromSlice(address.AsSlice()).WithPrefix()}, stack.AddressProperties{})
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}, {Destination: header.IPv6EmptySubnet, NIC: 1}})
	return s, link
}

func forward(from, to *channel.Endpoint) {
	for {
		packet := from.ReadContext(context.Background())
		view := packet.ToView()
		data := view.AsSlice()
		now := time.Now()
		head := make([]byte, 16)
		for i, word := range []int64{now.Unix(), int64(now.Nanosecond() / 1000), int64(len(data)), int64(len(data))} {
			binary.LittleEndian.PutUint32(head[4*i:], uint32(word))
		}
		lock.Lock()
		file.Write(append(head, data...))
		lock.Unlock()
		protocol := header.IPv4ProtocolNumber
		if data[0]>>4 == 6 {
			protocol = header.IPv6ProtocolNumber
		}
		to.InjectInbound(protocol, stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(data)}))
	}
}

func main() {
	file, _ = os.Create(os.Args[1])
	head := make([]byte, 24)
	for i, word := range []uint32{0xa1b2c3d4, 2 | 4<<16, 0, 0, 65535, 101} {
		binary.LittleEndian.PutUint32(head[4*i:], word)
	}
	file.Write(head)
	client, clientLink := newStack(os.Args[2:], "192.0.2.1", "2001:db8::1")
	server, serverLink := newStack(os.Args[2:], "192.0.2.2", "2001:db8::2")
	go forward(clientLink, serverLink)
	go forward(serverLink, clientLink)
	for _, text := range []string{"192.0.2.2", "2001:db8::2"} {
		address := netip.MustParseAddr(text)
		protocol := ipv4.ProtocolNumber
		if address.Is6() {
			protocol = ipv6.ProtocolNumber
		}
		at := tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFromSlice(address.AsSlice()), Port: 80}
		listener, err := gonet.ListenTCP(server, at, protocol)
		if err != nil {
			fmt.Println(err)
		}
		go listener.Accept()
		context, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		connection, err := gonet.DialContextTCP(context, client, at, protocol)
		fmt.Println(connection != nil, err)
		cancel()
	}
}
