//! Hellos in the bytes of one direction of a stream, whatever comes before them.

use crate::hello::Hello;
use crate::record::{self, Probe, RecordReader};
use crate::{Transport, sslv2};

/// How far into a direction a hello is looked for, in bytes: past a CONNECT with a long token, a PROXY header, SOCKS,
/// a dialogue up to its STARTTLS.
const SEARCH_LIMIT: u32 = 32 << 10;
/// How far hellos are read, in bytes: past the longest one in small records, and past early data.
const READ_LIMIT: u32 = 512 << 10;

/// Looks for hellos in one direction of a stream.
///
/// Where TLS begins is not for the protocol before it to say: it begins with a record that holds a hello. A record
/// header and a message header in a row, of lengths that agree, occur by chance once in some hundred million bytes.
#[derive(Debug, Default)]
pub(crate) struct HelloSearch {
    state: State,
    /// Bytes taken.
    taken: u32,
    hellos: u8,
}

#[derive(Debug, Default)]
enum State {
    /// At the first byte of the stream, where a hello of SSL 2.0 may be; with the bytes of it that are there.
    Start(Vec<u8>),
    /// Before the first record; with the bytes at the end that may be its beginning.
    Searching(Vec<u8>),
    /// In TLS.
    Reading(RecordReader),
    #[default]
    Done,
}

impl HelloSearch {
    /// A search in a stream from its first byte.
    pub(crate) const fn from_start() -> Self {
        Self { state: State::Start(Vec::new()), taken: 0, hellos: 0 }
    }

    /// Takes the next bytes and hands on the hellos that are now whole.
    pub(crate) fn push(&mut self, bytes: &[u8], found: &mut (impl FnMut(Hello<'_>) + ?Sized)) {
        self.taken = self.taken.saturating_add(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.advance(bytes, found);
        let limit = match &self.state {
            State::Start(_) | State::Searching(_) => SEARCH_LIMIT,
            State::Reading(_) => READ_LIMIT,
            State::Done => return,
        };
        if self.taken > limit {
            self.state = State::Done;
        }
    }

    /// Tells that bytes are missing here. What was begun cannot be completed.
    pub(crate) fn gap(&mut self) {
        self.state = if self.hellos == 0 { State::Searching(Vec::new()) } else { State::Done };
    }

    /// Whether nothing further can be found.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// The memory that it takes up beside itself, in bytes.
    pub(crate) fn held(&self) -> usize {
        match &self.state {
            State::Start(bytes) | State::Searching(bytes) => bytes.capacity(),
            State::Reading(reader) => reader.held(),
            State::Done => 0,
        }
    }

    fn advance(&mut self, mut bytes: &[u8], found: &mut (impl FnMut(Hello<'_>) + ?Sized)) {
        while !bytes.is_empty() {
            match &mut self.state {
                State::Start(held) => {
                    if held.is_empty() && sslv2::probe(bytes) == Probe::No {
                        self.state = State::Searching(Vec::new());
                        continue;
                    }
                    held.extend_from_slice(bytes);
                    return self.start(found);
                }
                State::Searching(held) if held.is_empty() => match find(bytes) {
                    Some((place, Probe::Yes)) => {
                        bytes = bytes.get(place..).unwrap_or_default();
                        self.state = State::Reading(RecordReader::default());
                    }
                    Some((place, _)) => {
                        held.extend_from_slice(bytes.get(place..).unwrap_or_default());
                        return;
                    }
                    None => return,
                },
                // A few bytes are held that may be the beginning of a record: one more decides or is held too.
                State::Searching(held) => {
                    let (first, rest) = bytes.split_at_checked(1).unwrap_or_default();
                    held.extend_from_slice(first);
                    bytes = rest;
                    if record::probe(held) != Probe::Unsure {
                        let held = std::mem::take(held);
                        self.advance(&held, found);
                    }
                }
                State::Reading(reader) => {
                    let hellos = &mut self.hellos;
                    let outcome = reader.push(bytes, &mut |hello| {
                        *hellos = hellos.saturating_add(1);
                        found(hello);
                    });
                    let Err(taken) = outcome else { return };
                    if self.hellos > 0 {
                        self.state = State::Done;
                        return;
                    }
                    // It looked like a record with a hello, and was none.
                    self.state = State::Searching(Vec::new());
                    bytes = bytes.get(taken.max(1)..).unwrap_or_default();
                }
                State::Done => return,
            }
        }
    }

    /// Decides, where enough bytes are held, whether a stream begins with a hello of SSL 2.0.
    fn start(&mut self, found: &mut (impl FnMut(Hello<'_>) + ?Sized)) {
        let State::Start(held) = &mut self.state else { return };
        let whole = sslv2::record_len(held).is_some_and(|len| held.len() >= len);
        match sslv2::probe(held) {
            Probe::Unsure => return,
            Probe::Yes if !whole => return,
            Probe::Yes | Probe::No => {}
        }
        let held = std::mem::take(held);
        match sslv2::to_message(&held).as_deref().map(|message| Hello::from_message(message, Transport::Tcp))
        {
            Some(Ok(hello)) => {
                self.state = State::Done;
                found(hello);
            }
            Some(Err(_)) | None => {
                self.state = State::Searching(Vec::new());
                self.advance(&held, found);
            }
        }
    }
}

/// The first place where a record with a hello begins, or may begin.
fn find(bytes: &[u8]) -> Option<(usize, Probe)> {
    memchr::memchr_iter(record::HANDSHAKE, bytes).find_map(|place| {
        let probe = record::probe(bytes.get(place..)?);
        (probe != Probe::No).then_some((place, probe))
    })
}
