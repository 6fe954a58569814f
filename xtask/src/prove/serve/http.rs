//! A client of the service that asks one thing a connection, and tells no answer from a bad one.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(120);

/// What a server answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn is_ok(&self) -> bool {
        self.status == 200
    }

    /// The result of an answer that must be a good one.
    pub(super) fn result(&self) -> anyhow::Result<Value> {
        ensure!(self.is_ok(), "answered {}", self.told());
        let mut answer: Value = serde_json::from_slice(&self.body)?;
        Ok(answer["result"].take())
    }

    pub(super) fn told(&self) -> String {
        let body: String = String::from_utf8_lossy(&self.body).chars().take(300).collect();
        format!("{}: {body}", self.status)
    }
}

/// Asks a server at a port of this machine. An error is no answer, or half of one.
pub(super) fn ask(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> anyhow::Result<Answer> {
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let length = body.len();
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\ncontent-length: {length}\r\n\
         content-type: application/json\r\n"
    );
    for (name, value) in headers {
        write!(head, "{name}: {value}\r\n")?;
    }
    head.push_str("\r\n");
    stream.write_all(&[head.as_bytes(), body].concat())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    read(&answer)
}

fn read(answer: &[u8]) -> anyhow::Result<Answer> {
    let end = find(answer, b"\r\n\r\n").context("no whole head")?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let body = &answer[end + 4..];
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.context("no status")?;
    let field = |name: &str| {
        head.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    let body = if field("transfer-encoding:").is_some_and(|coding| coding == "chunked") {
        joined(body)?
    } else {
        let length: usize = field("content-length:").context("no length")?.parse()?;
        ensure!(body.len() == length, "{} bytes of {length}", body.len());
        body.to_vec()
    };
    Ok(Answer { status, body })
}

/// A body that comes in chunks.
fn joined(mut rest: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = find(rest, b"\r\n").context("half a chunk")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end])?.trim(), 16)?;
        let chunk = rest.get(end + 2..end + 2 + size).context("half a chunk")?;
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(chunk);
        rest = rest.get(end + 4 + size..).unwrap_or_default();
        if rest.is_empty() {
            bail!("half a body");
        }
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_an_answer_is_none() {
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbody";
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n";
        for answer in [whole, chunked] {
            let read_all = read(answer.as_bytes()).unwrap();
            assert_eq!((read_all.status, &read_all.body[..]), (200, &b"body"[..]));
            for cut in [10, 40, answer.len() - 3] {
                let half = read(&answer.as_bytes()[..cut]);
                assert!(half.is_err() || cut > whole.len(), "{cut}: {half:?}");
            }
        }
    }
}
