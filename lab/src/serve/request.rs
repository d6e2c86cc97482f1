//! The request grammar, after httpterm and haterm: `/?s=16k&r=404,t=10r`.

use anyhow::{Context, bail};

use crate::quantity::parse_size;

/// The response to `/?`.
pub(super) const HELP: &str = "\
huginn-lab serve: the request's path and query set the response.

  /?s=SIZE     bytes of the body                      [default: 1024]
    r=STATUS   status code, 200 to 599                [default: 200]
    t=MS       wait this long before responding       [default: 0]
    c=0|1      response may be cached                 [default: 1]
    k=0|1      body of unannounced length (chunked)   [default: 0]
    R=0|1      random bytes, which no encoder shrinks [default: 0]
    A=0|1      respond before the request's body has been read
    C=0|1      close the connection after the response
    K=0|1      keep the connection open (K=0 is C=1)

SIZE, STATUS and MS take the suffixes k, m and g (powers of 1024), and r: a random number from 0 to the one given.
Pairs are separated by any of & ? , ; / ; unknown keys are ignored.
The response says: x-id, x-size (bytes), x-wait (ms), and server-timing, in ms: 'wait', as requested, and 'server', from
the request's head to the response's head without the wait.
";

/// The largest wait that a request can ask for, in milliseconds: one hour.
const MAX_WAIT: u64 = 3_600_000;

/// The response that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Bytes.
    pub(super) size: u64,
    pub(super) status: u16,
    /// Milliseconds.
    pub(super) wait: u64,
    pub(super) cacheable: bool,
    pub(super) chunked: bool,
    pub(super) random: bool,
    pub(super) drain_after: bool,
    pub(super) close: bool,
    /// `K=1`: confirm in HTTP/1 that the connection stays open.
    pub(super) keep_alive: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            size: 1024,
            status: 200,
            wait: 0,
            cacheable: true,
            chunked: false,
            random: false,
            drain_after: false,
            close: false,
            keep_alive: false,
        }
    }
}

impl Wanted {
    /// Parses the path and query of a request; the last of repeated keys counts.
    ///
    /// # Errors
    ///
    /// Fails if a known key has a value that is malformed or out of range.
    pub(super) fn parse(target: &str) -> anyhow::Result<Self> {
        let mut wanted = Self::default();
        for pair in target.split(['&', '?', ',', ';', '/']) {
            if let Some((key, value)) = pair.split_once('=') {
                wanted.set(key, value).with_context(|| format!("in '{pair}'"))?;
            }
        }
        Ok(wanted)
    }

    fn set(&mut self, key: &str, value: &str) -> anyhow::Result<()> {
        match key {
            "s" => self.size = number(value)?,
            "r" => self.status = status(value)?,
            "t" => self.wait = number(value)?.min(MAX_WAIT),
            "c" => self.cacheable = flag(value)?,
            "k" => self.chunked = flag(value)?,
            "R" => self.random = flag(value)?,
            "A" => self.drain_after = flag(value)?,
            "C" => self.close = flag(value)?,
            "K" => {
                self.keep_alive = flag(value)?;
                self.close = !self.keep_alive;
            }
            _ => {}
        }
        Ok(())
    }
}

fn number(text: &str) -> anyhow::Result<u64> {
    match text.strip_suffix('r') {
        Some(limit) => Ok(fastrand::u64(..=parse_size(limit)?)),
        None => parse_size(text),
    }
}

fn status(text: &str) -> anyhow::Result<u16> {
    match number(text)? {
        // 1xx is not a final response (RFC 9110, section 15.2).
        status @ 200..=599 => Ok(u16::try_from(status)?),
        status => bail!("status {status} is not between 200 and 599"),
    }
}

fn flag(text: &str) -> anyhow::Result<bool> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => bail!("expected 0 or 1, not '{text}'"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::Wanted;

    #[test]
    fn every_key_sets_its_field() {
        let wanted = Wanted::parse("/?s=16k&r=404&t=25&c=0&k=1&R=1&A=1&C=1").unwrap();
        let expected = Wanted {
            size: 16_384,
            status: 404,
            wait: 25,
            cacheable: false,
            chunked: true,
            random: true,
            drain_after: true,
            close: true,
            keep_alive: false,
        };
        assert_eq!(wanted, expected);
    }

    #[test]
    fn every_delimiter_separates() {
        for delimiter in ["&", "?", ",", ";", "/"] {
            let wanted = Wanted::parse(&format!("/s=5{delimiter}t=7")).unwrap();
            assert_eq!((wanted.size, wanted.wait), (5, 7), "{delimiter}");
        }
    }

    #[test]
    fn random_numbers_stay_below_their_limit() {
        let sizes: Vec<_> = (0..200).map(|_| Wanted::parse("/?s=1kr").unwrap().size).collect();
        assert!(sizes.iter().all(|size| *size <= 1024));
        assert!(sizes.iter().any(|size| *size != sizes[0]));
    }

    #[test]
    fn keep_alive_undoes_close() {
        assert!(Wanted::parse("/?K=0").unwrap().close);
        let wanted = Wanted::parse("/?C=1&K=1").unwrap();
        assert!(wanted.keep_alive && !wanted.close);
    }

    #[test]
    fn malformed_values_are_errors() {
        for target in
            ["/?s=", "/?s=x", "/?s=1t", "/?r=100", "/?r=600", "/?r=abc", "/?c=2", "/?k=yes", "/?t=-1"]
        {
            assert!(Wanted::parse(target).is_err(), "{target}");
        }
    }

    #[test]
    fn unknown_keys_and_plain_paths_are_ignored() {
        assert_eq!(Wanted::parse("/index.html?utm=1").unwrap(), Wanted::default());
    }
}
