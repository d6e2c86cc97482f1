//! The stream layer: reassembles each TCP connection once, and feeds its bytes to a set of parsers.

mod alternative;
mod counters;
mod data;
mod flow;
mod initial_seq;
mod observer;
mod padded_ack;
mod parser;
mod parser_set;
mod parser_slot;
mod prefix;
mod segment_traits;
mod tcp_connection;
mod tcp_direction;
mod unsettled;

pub use counters::StreamCounters;
pub use data::StreamData;
pub use flow::StreamFlow;
pub use observer::{StreamObserver, StreamObserverCounters};
pub use padded_ack::without_padding;
pub use parser::{Probe, StreamParser, StreamStart, first_sender};
pub use parser_set::{ParserSet, ParserVisitor};
pub use parser_slot::{ParserSlot, StreamInput};
pub use prefix::{PrefixObserver, PrefixParse, PrefixParser, StreamPrefix};

use crate::Side;
use tcp_connection::TcpConnection;

fn side_mut<T>([client, server]: &mut [T; 2], side: Side) -> &mut T {
    side.choose(client, server)
}
