//! The work of the clients: what each of them sends, and what came of it.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};

use super::http::ask;
use crate::prove::random::Random;

const SMALLEST: usize = 20_000;
const LARGEST: usize = 200_000;
/// How many contents come from several clients.
const SHARED: u64 = 24;
const MOST_OF_A_BATCH: u64 = 6;
/// How often a request is sent, at most.
const ATTEMPTS: usize = 60;

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) messages: usize,
    pub(super) sessions: usize,
    pub(super) clients: usize,
}

/// What a client does where no answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    /// It sends the same again, with the same key.
    Keyed,
    /// It sends the same again.
    Repeats,
    /// It goes on to the next.
    GivesUp,
}

/// What a client sends at once, and what came of it.
#[derive(Debug, Clone)]
pub(super) struct Sending {
    pub(super) client: usize,
    /// The number of its first message among the client's.
    pub(super) first: usize,
    pub(super) session: usize,
    pub(super) habit: Habit,
    /// The recipes of the contents, one a message.
    pub(super) contents: Vec<(u64, usize)>,
    pub(super) came: Came,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Came {
    pub(super) attempts: usize,
    /// Attempts that got no answer.
    pub(super) lost: usize,
    /// Attempts that were refused.
    pub(super) refused: usize,
    pub(super) begun: Option<Instant>,
    pub(super) acknowledged: Option<Instant>,
    pub(super) fault: Option<String>,
}

pub(super) fn session_id(number: usize) -> String {
    format!("serve-{number:02}")
}

/// The words that tell a message from all others.
pub(super) fn mark(client: usize, number: usize) -> String {
    format!("client {client} message {number}")
}

/// Reads a mark.
pub(super) fn read_mark(text: &str) -> Option<(usize, usize)> {
    let (client, number) = text.strip_prefix("client ")?.split_once(" message ")?;
    Some((client.parse().ok()?, number.parse().ok()?))
}

/// What a tool returned: text of about so many bytes.
pub(super) fn content((seed, size): (u64, usize)) -> String {
    let mut random = Random::new(seed);
    let mut text = String::with_capacity(size + 64);
    while text.len() < size {
        let (left, right) = (random.next(), random.next());
        let _ = writeln!(text, "{left:016x} took é {right} steps and was done");
    }
    text
}

/// What each client sends, in order.
pub(super) fn plan(size: Size, seed: u64) -> Vec<Vec<Sending>> {
    let all = 0..size.clients;
    all.map(|client| {
        let mut random = Random::new(seed ^ (client as u64 + 1) << 32);
        let share =
            size.messages / size.clients + usize::from(client < size.messages % size.clients);
        let (mut sendings, mut number) = (Vec::new(), 0);
        while number < share {
            let most = (share - number).min(MOST_OF_A_BATCH as usize) as u64;
            let count = if random.percent(25) { 1 + random.below(most) } else { 1 };
            let contents = (0..count).map(|_| {
                let shared = random.percent(30);
                let seed = if shared { seed ^ random.below(SHARED) } else { random.next() };
                let mut by_seed = Random::new(seed);
                (seed, by_seed.size(SMALLEST, LARGEST))
            });
            let contents: Vec<_> = contents.collect();
            let habit = match random.below(10) {
                0..5 => Habit::Keyed,
                5..9 => Habit::Repeats,
                _ => Habit::GivesUp,
            };
            let session = random.below(size.sessions as u64) as usize;
            let came = Came::default();
            sendings.push(Sending { client, first: number, session, habit, contents, came });
            number += count as usize;
        }
        sendings
    })
    .collect()
}

impl Sending {
    fn body(&self) -> Vec<u8> {
        let message = |(nth, &(seed, size)): (usize, &(u64, usize))| {
            let number = self.first + nth;
            json!({
                "role": "assistant",
                "parts": [
                    {"type": "text", "text": mark(self.client, number)},
                    {
                        "type": "tool",
                        "tool_id": format!("call_{seed:x}"),
                        "tool_name": "steps",
                        "tool_output": content((seed, size)),
                        "tool_status": "completed",
                    },
                ],
            })
        };
        let mut messages: Vec<Value> = self.contents.iter().enumerate().map(message).collect();
        if self.is_batch() { json!({ "messages": messages }) } else { messages.swap_remove(0) }
            .to_string()
            .into_bytes()
    }

    pub(super) fn is_batch(&self) -> bool {
        self.contents.len() > 1
    }

    /// Sends it until it is answered, through one server after the other.
    pub(super) fn send(&mut self, ports: &[AtomicU16], turn: usize) -> anyhow::Result<()> {
        let session = session_id(self.session);
        let batch = if self.is_batch() { "/batch" } else { "" };
        let path = format!("/api/v1/sessions/{session}/messages{batch}");
        let key = format!("key-{}-{}", self.client, self.first);
        let keyed = [("idempotency-key", key.as_str())];
        let headers = if self.habit == Habit::Keyed { &keyed[..] } else { &[] };
        let body = self.body();
        self.came.begun = Some(Instant::now());
        loop {
            let port = ports[(turn + self.came.attempts) % ports.len()].load(Ordering::Relaxed);
            self.came.attempts += 1;
            match ask(port, "POST", &path, headers, &body) {
                Ok(answer) if answer.is_ok() => {
                    self.came.acknowledged = Some(Instant::now());
                    let told = answer.result()?;
                    let (count, session_told) = (&told["message_count"], &told["session_id"]);
                    ensure!(count.as_u64().is_some_and(|count| count > 0), "{}", answer.told());
                    ensure!(*session_told == *session, "{}", answer.told());
                    return Ok(());
                }
                // Somebody else is in the way, or the store is.
                Ok(answer) if matches!(answer.status, 409 | 429 | 503 | 504) => {
                    self.came.refused += 1;
                }
                Ok(answer) => {
                    self.came.fault = Some(format!("{path}: {}", answer.told()));
                    return Ok(());
                }
                Err(_) => self.came.lost += 1,
            }
            if self.habit == Habit::GivesUp || self.came.attempts >= ATTEMPTS {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20 * self.came.attempts.min(10) as u64));
        }
    }
}

/// Does what all clients are to do, at once; `done` counts what is answered.
pub(super) fn run(
    plan: Vec<Vec<Sending>>,
    ports: &[AtomicU16],
    done: &AtomicUsize,
) -> anyhow::Result<Vec<Sending>> {
    let clients: Vec<anyhow::Result<Vec<Sending>>> = std::thread::scope(|scope| {
        let client = |mut sendings: Vec<Sending>| {
            for (turn, sending) in sendings.iter_mut().enumerate() {
                sending.send(ports, turn)?;
                done.fetch_add(sending.contents.len(), Ordering::Relaxed);
            }
            Ok(sendings)
        };
        let running: Vec<_> =
            plan.into_iter().map(|sendings| scope.spawn(move || client(sendings))).collect();
        let failed = || Err(anyhow::Error::msg("a client failed"));
        running.into_iter().map(|client| client.join().unwrap_or_else(|_| failed())).collect()
    });
    let mut all = Vec::new();
    for sendings in clients {
        all.extend(sendings?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_plan() {
        let size = Size { messages: 103, sessions: 5, clients: 4 };
        let told = |seed| format!("{:?}", plan(size, seed));
        assert_eq!(told(1), told(1));
        assert_ne!(told(1), told(2));
        let count = |sendings: &Vec<Sending>| {
            sendings.iter().map(|sending| sending.contents.len()).sum::<usize>()
        };
        assert_eq!(plan(size, 7).iter().map(count).sum::<usize>(), 103);
    }

    #[test]
    fn marks_come_back() {
        assert_eq!(read_mark(&mark(3, 14)), Some((3, 14)));
        assert_eq!(read_mark("client 3"), None);
    }
}
