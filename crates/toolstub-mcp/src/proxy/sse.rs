//! Server-sent events: frames in a stream over HTTP.

/// The longest event that is held, in bytes.
const MAX_EVENT: usize = 256 << 20;

/// Takes events out of a stream as its pieces come in.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    /// The last piece ended with a carriage return: a line feed at the start of the next belongs to it.
    after_return: bool,
    is_begun: bool,
    /// The id of the last event that had one.
    pub(super) last_id: Option<String>,
    /// How long the server wants a client to wait before it comes back, in milliseconds.
    pub(super) retry: Option<u64>,
}

/// An event that is longer than any that is held.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Events {
    /// The events that end in a piece, as what they say.
    pub(super) fn take(&mut self, mut piece: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut events = Vec::new();
        while !piece.is_empty() {
            if std::mem::take(&mut self.after_return) && piece[0] == b'\n' {
                piece = &piece[1..];
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', piece) else {
                self.hold(piece)?;
                break;
            };
            self.hold(&piece[..end])?;
            self.after_return = piece[end] == b'\r';
            piece = &piece[end + 1..];
            let line = std::mem::take(&mut self.line);
            events.extend(self.end_line(&line)?);
        }
        Ok(events)
    }

    fn hold(&mut self, piece: &[u8]) -> Result<(), TooLong> {
        self.line.extend_from_slice(piece);
        if self.line.len() > MAX_EVENT { Err(TooLong) } else { Ok(()) }
    }

    fn end_line(&mut self, line: &[u8]) -> Result<Option<Vec<u8>>, TooLong> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        let line = if is_first { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if line.is_empty() {
            return Ok(self.data.take().filter(|data| !data.is_empty()));
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                    if data.len() > MAX_EVENT {
                        return Err(TooLong);
                    }
                }
                None => self.data = Some(value.to_vec()),
            },
            b"id" if !value.contains(&0) => {
                self.last_id = std::str::from_utf8(value).ok().map(str::to_owned);
            }
            b"retry" => {
                let digits = std::str::from_utf8(value).ok();
                self.retry = digits.and_then(|digits| digits.parse().ok()).or(self.retry);
            }
            _ => {}
        }
        Ok(None)
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
    }
}
