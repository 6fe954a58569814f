//! Two servers on one store, one of them killed again and again: what was acknowledged is there, once
//! and whole, in the order in which its sender sent it.

mod check;
mod http;
mod load;
mod seen;

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use regex::Regex;

use super::holdings::Place;
use super::random::Random;
use super::subject::Subject;
use crate::say;
use check::{Digests, Removal, Verdict};
use load::{Habit, Sending, Size, session_id};
use seen::Seen;

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long no message may be answered.
const STANDSTILL: Duration = Duration::from_secs(300);
/// What a session has beside its results.
const OURS: &str = r"^sessions/serve-\d+/(session\.json|messages/[0-9a-f-]+\.jsonl)$";

/// What is done.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Work {
    /// How many messages are sent.
    #[arg(long, default_value_t = 2000)]
    messages: usize,
    /// To how many sessions.
    #[arg(long, default_value_t = 20)]
    sessions: usize,
    /// By how many clients at once.
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// How often a server is killed.
    #[arg(long, default_value_t = 10)]
    rounds: usize,
    /// How often a session is removed meanwhile, out of a quarter of them.
    #[arg(long, default_value_t = 0)]
    removals: usize,
}

pub(super) fn run(
    program: &Path,
    location: &str,
    place: &Place,
    work: Work,
    seed: u64,
) -> anyhow::Result<bool> {
    let Work { messages, sessions, clients, rounds, removals } = work;
    say(format_args!(
        "serve: {clients} clients send {messages} messages to {sessions} sessions through two servers \
         on {location}; {rounds} kills, {removals} removals, seed {seed}"
    ));
    ensure!(sessions > 0 && clients > 0, "there must be a session and a client");
    ensure!(place.holdings()?.is_empty(), "{location} holds something; give an empty place");
    let subject = Subject::new(program, location, "");
    let mut servers = [Server::start(&subject)?, Server::start(&subject)?];
    let ports = [AtomicU16::new(servers[0].port), AtomicU16::new(servers[1].port)];
    let plan = load::plan(Size { messages, sessions, clients }, seed);
    let done = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let begun = Instant::now();
    let (sendings, killed, removed) = std::thread::scope(|scope| {
        let clients = scope.spawn(|| {
            let sendings = load::run(plan, &ports, &done);
            over.store(true, Ordering::Relaxed);
            sendings
        });
        let deleting = scope.spawn(|| remove(&ports, work, seed, &done, &over));
        let killed = kill(&subject, &mut servers, work, seed, &done, &over);
        // The clients come to their end whatever became of the servers.
        let sendings = clients.join().unwrap_or_else(|_| bail!("the clients failed"));
        let removed = deleting.join().unwrap_or_else(|_| bail!("the removals failed"));
        anyhow::Ok((sendings?, killed?, removed?))
    })?;
    tell(&sendings, begun.elapsed(), killed, removed.len());
    drop(servers);

    let mut proof =
        Proof { place, sendings: &sendings, removed: &removed, sessions, faults: Vec::new() };
    let mut digests = Digests::default();
    let server = Server::start(&subject)?;
    let (before, verdict) = proof.look(&server, &mut digests)?;
    say(format_args!("{verdict}"));
    let (objects, bytes) = subject.gc()?;
    let (whole, damaged) = subject.verify()?;
    say(format_args!("gc removed {objects} leftovers of {bytes} bytes; {whole} results are whole"));
    proof.faults.extend(damaged.into_iter().map(|told| format!("damaged: {told}")));
    // Another server, since the first has seen it all already.
    drop(server);
    let (after, _) = proof.look(&Server::start(&subject)?, &mut digests)?;
    if before != after {
        proof.faults.push("gc changed what can be seen".to_owned());
    }
    proof.strays()?;
    for fault in &proof.faults {
        say(format_args!("FAIL: {fault}"));
    }
    // Some find nothing to remove.
    let was_tried = killed == rounds && removed.len() * 2 >= removals;
    if !was_tried {
        say("FAIL: the work was done before all was done to it");
    }
    say(format_args!("{} faults", proof.faults.len()));
    let held = proof.faults.is_empty() && was_tried;
    if !held {
        say(format_args!("the seed was {seed}"));
    }
    Ok(held)
}

/// What was sent, and how long it took.
fn tell(sendings: &[Sending], took: Duration, killed: usize, removed: usize) {
    let sum = |of: fn(&Sending) -> usize| sendings.iter().map(of).sum::<usize>();
    let acknowledged = |sending: &Sending| sending.came.acknowledged.is_some();
    let messages = sendings.iter().filter(|sending| acknowledged(sending));
    let messages: usize = messages.map(|sending| sending.contents.len()).sum();
    let lost = sum(|sending| sending.came.lost);
    let refused = sum(|sending| sending.came.refused);
    let keyed = sendings.iter().filter(|sending| sending.habit == Habit::Keyed);
    let keyed_again = keyed.filter(|sending| sending.came.attempts > 1).count();
    let bytes: usize =
        sendings.iter().flat_map(|sending| &sending.contents).map(|(_, size)| size).sum();
    let mut times: Vec<_> = sendings
        .iter()
        .filter(|sending| sending.came.attempts == 1)
        .filter_map(|sending| Some(sending.came.acknowledged? - sending.came.begun?))
        .collect();
    times.sort();
    let part =
        |of: usize| times.get(times.len() * of / 100).copied().unwrap_or_default().as_millis();
    let seconds = took.as_secs_f64();
    say(format_args!(
        "{messages} messages acknowledged in {} requests, {:.1} MB of results, in {seconds:.1} s: {:.0} \
         messages a second; an answer at once took {} ms (half), {} ms (of a hundred 99)",
        sendings.iter().filter(|sending| acknowledged(sending)).count(),
        bytes as f64 / 1e6,
        messages as f64 / seconds,
        part(50),
        part(99),
    ));
    say(format_args!(
        "{killed} kills, {removed} removals; {lost} requests without an answer, {refused} refused; \
         {keyed_again} sent again with a key"
    ));
}

/// What is looked at in the end.
struct Proof<'a> {
    place: &'a Place,
    sendings: &'a [Sending],
    removed: &'a [Removal],
    sessions: usize,
    faults: Vec<String>,
}

impl Proof<'_> {
    /// Looks at everything, through a server and past it.
    fn look(&mut self, server: &Server, digests: &mut Digests) -> anyhow::Result<(Seen, Verdict)> {
        let shown = Seen::through(server.port, self.sessions)?;
        let folder = tempfile::Builder::new().prefix("serve-").tempdir()?;
        let root = self.place.fetch(folder.path())?;
        let stands = Seen::in_store(&root, self.sessions)?;
        if shown.sessions != stands.sessions || shown.results != stands.results {
            self.faults.push("a server shows other messages than there are".to_owned());
        }
        self.faults.extend(stands.faults);
        let mut verdict = check::judge(&shown, self.sendings, self.removed, digests);
        self.faults.append(&mut verdict.faults);
        Ok((shown, verdict))
    }

    /// Nothing is there but results, records and messages.
    fn strays(&mut self) -> anyhow::Result<()> {
        let ours = Regex::new(OURS)?;
        let strays = self.place.holdings()?.strays();
        let strays = strays.into_iter().filter(|told| {
            let key = told.split(": ").next().unwrap_or_default();
            !ours.is_match(key)
        });
        self.faults.extend(strays.map(|told| format!("left: {told}")));
        Ok(())
    }
}

/// Kills one server or the other, and starts it again, each time that a part of the work is done.
fn kill(
    subject: &Subject,
    servers: &mut [Server; 2],
    work: Work,
    seed: u64,
    done: &AtomicUsize,
    over: &AtomicBool,
) -> anyhow::Result<usize> {
    let mut random = Random::new(seed ^ 1);
    for round in 0..work.rounds {
        if !wait(work.messages * (round + 1) / (work.rounds + 2), done, over)? {
            return Ok(round);
        }
        std::thread::sleep(Duration::from_millis(random.below(300)));
        let server = &mut servers[random.below(2) as usize];
        server.kill()?;
        std::thread::sleep(Duration::from_millis(random.below(500)));
        *server = Server::start_at(subject, server.port)?;
    }
    Ok(work.rounds)
}

/// Removes sessions, each time that a part of the work is done.
fn remove(
    ports: &[AtomicU16],
    work: Work,
    seed: u64,
    done: &AtomicUsize,
    over: &AtomicBool,
) -> anyhow::Result<Vec<Removal>> {
    let mut random = Random::new(seed ^ 2);
    let mut removals = Vec::new();
    for round in 0..work.removals {
        if !wait(work.messages * (round + 1) / (work.removals + 2), done, over)? {
            break;
        }
        let session = random.below(work.sessions.div_ceil(4) as u64) as usize;
        let path = format!("/api/v1/sessions/{}", session_id(session));
        let begun = Instant::now();
        let mut turn = random.below(2) as usize;
        // What is removed in part goes with the next attempt.
        let status = loop {
            let port = ports[turn % 2].load(Ordering::Relaxed);
            match http::ask(port, "DELETE", &path, &[], &[]) {
                Ok(answer) if matches!(answer.status, 200 | 404) => break answer.status,
                _ if begun.elapsed() > STANDSTILL => bail!("{path} cannot be removed"),
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
            turn += 1;
        };
        if status == 200 || turn > 1 {
            let answered = Instant::now();
            removals.push(Removal { session, begun, answered });
        }
    }
    Ok(removals)
}

/// Waits until so many messages are done; `false` if the work is over before.
fn wait(count: usize, done: &AtomicUsize, over: &AtomicBool) -> anyhow::Result<bool> {
    let begun = Instant::now();
    while done.load(Ordering::Relaxed) < count {
        if over.load(Ordering::Relaxed) {
            return Ok(false);
        }
        ensure!(begun.elapsed() < STANDSTILL, "nothing goes on");
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(true)
}

/// A server that is killed when it is not needed any more.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(subject: &Subject) -> anyhow::Result<Self> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        Self::start_at(subject, port)
    }

    fn start_at(subject: &Subject, port: u16) -> anyhow::Result<Self> {
        let listen = format!("127.0.0.1:{port}");
        let args = ["serve", "--log", "error", "--listen", &listen];
        let mut command = subject.command(&[], &args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().context("the server does not start")?;
        let mut server = Self { child, port };
        let begun = Instant::now();
        while !http::ask(port, "GET", "/health", &[], &[]).is_ok_and(|answer| answer.is_ok()) {
            if let Some(status) = server.child.try_wait()? {
                bail!("the server ended: {status}");
            }
            ensure!(begun.elapsed() < PATIENCE, "the server does not answer");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// Ends it by SIGKILL.
    fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.kill();
    }
}
