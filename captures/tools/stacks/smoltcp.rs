//! Connects two stacks of smoltcp with each other over IPv4 and IPv6, and writes their packets as a pcap file of raw IP:
//!
//!     smoltcp_stack FILE [BUFFER [MTU [timestamps]]]
//!
//! BUFFER is the size of the receive buffer in bytes (65535), MTU that of the link (1500); timestamps are off unless a
//! program sets a generator. To build it, in a folder of its own: `cargo init --name smoltcp_stack && cargo add smoltcp`, with this
//! file as src/main.rs. The signatures of smoltcp are from 0.14.0.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::rc::Rc;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

type Queue = Rc<RefCell<VecDeque<Vec<u8>>>>;

/// One end of a link of raw IP. It records what it sends.
struct End {
    incoming: Queue,
    outgoing: Queue,
    file: Rc<RefCell<File>>,
    mtu: usize,
}

struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

struct Sender<'a>(&'a End);

impl TxToken for Sender<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        let now = Instant::now();
        let words = [now.secs() as u32, now.micros() as u32, len as u32, len as u32];
        let mut file = self.0.file.borrow_mut();
        file.write_all(&words.map(u32::to_le_bytes).concat()).unwrap();
        file.write_all(&packet).unwrap();
        self.0.outgoing.borrow_mut().push_back(packet);
        result
    }
}

impl Device for End {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sender<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received, Sender<'_>)> {
        let packet = self.incoming.borrow_mut().pop_front()?;
        Some((Received(packet), Sender(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sender<'_>> {
        Some(Sender(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

fn interface(device: &mut End, host: u16) -> Interface {
    let mut config = Config::new(HardwareAddress::Ip);
    config.random_seed = host.into();
    let mut interface = Interface::new(config, device, Instant::now());
    interface.update_ip_addrs(|list| {
        list.push(IpCidr::new(IpAddress::v4(192, 0, 2, host as u8), 24)).unwrap();
        list.push(IpCidr::new(IpAddress::v6(0x2001, 0xdb8, 0, 0, 0, 0, 0, host), 64)).unwrap();
    });
    interface
}

fn add_socket(sockets: &mut SocketSet<'_>, buffer: usize, timestamps: bool) -> SocketHandle {
    let mut socket = Socket::new(SocketBuffer::new(vec![0; buffer]), SocketBuffer::new(vec![0; buffer]));
    if timestamps {
        socket.set_tsval_generator(Some(|| Instant::now().total_millis() as u32));
    }
    sockets.add(socket)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut file = File::create(arguments.next().expect("a file")).unwrap();
    let buffer = arguments.next().map_or(65535, |text| text.parse().unwrap());
    let mtu = arguments.next().map_or(1500, |text| text.parse().unwrap());
    let timestamps = arguments.next().is_some();
    let head = [0xa1b2_c3d4_u32, 2 | 4 << 16, 0, 0, 65535, 101];
    file.write_all(&head.map(u32::to_le_bytes).concat()).unwrap();
    let file = Rc::new(RefCell::new(file));
    let (forth, back) = (Queue::default(), Queue::default());
    let mut client_end = End { incoming: back.clone(), outgoing: forth.clone(), file: file.clone(), mtu };
    let mut server_end = End { incoming: forth, outgoing: back, file, mtu };
    let (mut client, mut server) = (interface(&mut client_end, 1), interface(&mut server_end, 2));
    let servers = [IpAddress::v4(192, 0, 2, 2), IpAddress::v6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)];
    for (address, port) in servers.into_iter().zip(49152..) {
        let (mut client_sockets, mut server_sockets) = (SocketSet::new(vec![]), SocketSet::new(vec![]));
        let listener = add_socket(&mut server_sockets, buffer, timestamps);
        server_sockets.get_mut::<Socket>(listener).listen(80).unwrap();
        let handle = add_socket(&mut client_sockets, buffer, timestamps);
        client_sockets.get_mut::<Socket>(handle).connect(client.context(), (address, 80), port).unwrap();
        for _ in 0..10 {
            client.poll(Instant::now(), &mut client_end, &mut client_sockets);
            server.poll(Instant::now(), &mut server_end, &mut server_sockets);
        }
        println!("{}", client_sockets.get::<Socket>(handle).state() == State::Established);
    }
}
