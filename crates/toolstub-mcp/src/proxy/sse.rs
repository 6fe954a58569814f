//! Server-sent events: frames in a stream over HTTP.

use std::time::Duration;

/// The longest event that is held, in bytes.
const MAX_EVENT: usize = 256 << 20;
/// How long a stream that broke off is left alone where the server does not say.
const RETRY: Duration = Duration::from_secs(1);
/// How long it is left alone at least and at most, whatever the server says.
const LEAST: Duration = Duration::from_millis(100);
const MOST: Duration = Duration::from_secs(30);

/// Takes events out of a stream as its pieces come in.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// What has come in of the stream that is open.
    stream: Stream,
    /// The id of the last event that came in whole and had one.
    pub(super) last_id: Option<String>,
    /// How long the server wants a client to wait before it comes back, in milliseconds.
    retry: Option<u64>,
    /// How many events have said anything for a client.
    pub(super) count: u64,
}

/// What is known of a stream while it is open.
#[derive(Debug, Default)]
struct Stream {
    /// The line that has not ended.
    line: Vec<u8>,
    /// What the event that has not ended says so far.
    data: Option<Vec<u8>>,
    id: Option<String>,
    /// It is of another kind than those that carry frames.
    is_other: bool,
    /// The last piece ended with a carriage return: a line feed at the start of the next belongs to it.
    after_return: bool,
    is_begun: bool,
}

/// An event that is longer than any that is held.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// Begins with another stream: what the one before it broke off in is said again, or never.
    pub(super) fn begin(&mut self) {
        self.stream = Stream::default();
    }

    /// How long a stream that broke off is left alone.
    pub(super) fn wait(&self) -> Duration {
        self.retry.map_or(RETRY, Duration::from_millis).clamp(LEAST, MOST)
    }

    /// The events that end in a piece, as what they say.
    pub(super) fn take(&mut self, mut piece: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut events = Vec::new();
        while !piece.is_empty() {
            if std::mem::take(&mut self.stream.after_return) && piece[0] == b'\n' {
                piece = &piece[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', piece) else {
                self.hold(piece)?;
                break;
            };
            self.hold(&piece[..end])?;
            self.stream.after_return = piece[end] == b'\r';
            piece = &piece[end + 1..];
            let line = std::mem::take(&mut self.stream.line);
            events.extend(self.end_line(&line)?);
        }
        Ok(events)
    }

    /// How much is held of an event that has not ended, in bytes.
    pub(super) fn held(&self) -> usize {
        self.stream.line.len() + self.stream.data.as_ref().map_or(0, Vec::len)
    }

    fn hold(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        self.stream.line.extend_from_slice(piece);
        if self.stream.line.len() > MAX_EVENT { Err(TooLong) } else { Ok(()) }
    }

    fn end_line(&mut self, line: &[u8]) -> Result<Option<Vec<u8>>, TooLong> {
        let is_first = !std::mem::replace(&mut self.stream.is_begun, true);
        let line = if is_first { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => match &mut self.stream.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                    if data.len() > MAX_EVENT {
                        return Err(TooLong);
                    }
                }
                None => self.stream.data = Some(value.to_vec()),
            },
            b"event" => self.stream.is_other = !matches!(value, b"" | b"message"),
            b"id" if !value.contains(&0) => {
                self.stream.id = std::str::from_utf8(value).ok().map(str::to_owned);
            }
            b"retry" => {
                let digits = std::str::from_utf8(value).ok();
                self.retry = digits.and_then(|digits| digits.parse().ok()).or(self.retry);
            }
            _ => {}
        }
        Ok(None)
    }

    /// What the event says that has ended, if it says anything for a client.
    fn end_event(&mut self) -> Option<Vec<u8>> {
        if let Some(id) = self.stream.id.take() {
            // One without a name is none to come back to.
            self.last_id = Some(id).filter(|id| !id.is_empty());
        }
        let is_other = std::mem::take(&mut self.stream.is_other);
        let said = self.stream.data.take().filter(|data| !is_other && !data.is_empty());
        self.count += u64::from(said.is_some());
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn says(stream: &str, expected: &[&str]) -> Events {
        for step in [1, 2, 3, 1000] {
            let (mut events, mut said) = (Events::default(), Vec::new());
            for piece in stream.as_bytes().chunks(step) {
                said.extend(events.take(piece).unwrap());
            }
            let said: Vec<_> = said.iter().map(|data| std::str::from_utf8(data).unwrap()).collect();
            assert_eq!(said, expected, "{step}");
        }
        let mut events = Events::default();
        events.take(stream.as_bytes()).unwrap();
        events
    }

    #[test]
    fn events_are_what_their_data_say() {
        says("event: message\ndata: {\"a\":1}\n\n", &["{\"a\":1}"]);
        says("data:a\r\n\r\ndata: b\r\rdata:  c\n\n", &["a", "b", " c"]);
        says("data: {\ndata: }\n\n: a comment\n\ndata\n\n", &["{\n}"]);
        says("\u{feff}data: é\n\ndata: cut off", &["é"]);
    }

    #[test]
    fn ids_and_waits_are_kept() {
        let events = says("id: 7\nretry: 50\ndata:\n\nid: 8\nretry: soon\ndata: x\n\n", &["x"]);
        assert_eq!((events.last_id.as_deref(), events.retry), (Some("8"), Some(50)));
        assert_eq!(says("id: 7\n\nid\ndata: x\n\n", &["x"]).last_id, None);
    }

    #[test]
    fn wait_is_neither_none_nor_without_end() {
        for (said, millis) in [
            ("", 1000),
            ("retry: 0\n", 100),
            ("retry: 2500\n", 2500),
            ("retry: 99999999999999\n", 30_000),
            ("retry: 99999999999999999999999\n", 1000),
        ] {
            let mut events = Events::default();
            events.take(said.as_bytes()).unwrap();
            assert_eq!(events.wait(), Duration::from_millis(millis), "{said}");
        }
    }

    #[test]
    fn events_of_other_kinds_are_no_frames() {
        says("event: ping\ndata: keep-alive 1\n\ndata: a\n\n", &["a"]);
        says("data: x\nevent: end\r\rdata: a\n\nevent:\ndata: b\n\n", &["a", "b"]);
        let events = says("event: ping\nid: 3\ndata: x\n\n", &[]);
        assert_eq!(events.last_id.as_deref(), Some("3"));
    }

    #[test]
    fn stream_that_breaks_off_anywhere_is_said_again_without_a_trace() {
        let said = [(1, r#"{"id":1}"#), (2, "{\n}"), (3, "é")];
        let event = |(id, data): &(u32, &str)| {
            let data = data.replace('\n', "\r\ndata: ");
            format!("id: {id}\r\nevent: message\r\ndata: {data}\r\n\r\n")
        };
        let stream: String = said.iter().map(event).collect();
        for cut in 0..=stream.len() {
            let (mut events, mut heard) = (Events::default(), Vec::new());
            events.begin();
            heard.extend(events.take(&stream.as_bytes()[..cut]).unwrap());
            let last = events.last_id.as_deref().map_or(0, |id| id.parse().unwrap());
            events.begin();
            let rest: String = said.iter().filter(|(id, _)| *id > last).map(event).collect();
            for piece in rest.as_bytes().chunks(3) {
                heard.extend(events.take(piece).unwrap());
            }
            let heard: Vec<_> =
                heard.iter().map(|data| std::str::from_utf8(data).unwrap()).collect();
            assert_eq!(heard, said.map(|(_, data)| data), "{cut}");
        }
    }
}
