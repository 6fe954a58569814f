//! A server that is a program: it is started, talked to over its standard streams, and ended.

use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::FusedFuture as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::frames::{Frames, Sink};
use super::{Proxy, STORING, pump};
use crate::McpError;

/// How long a server has for what it was asked once the client has said all.
pub(super) const ANSWERING: Duration = Duration::from_secs(60);
/// How long it has to end by itself once nothing more is to be said to it, and all is answered.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long it has once it is told to.
const GRACE: Duration = Duration::from_secs(1);
/// How long what a server has said is waited for once it has ended: longer than the store has for it.
const REST: Duration = Duration::from_secs(STORING.as_secs() + 5);
/// How long its stream may stay open then: others may hold it who say nothing.
const HELD: Duration = Duration::from_secs(2);
/// How often a look is taken at what is waited for.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A program that is an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamCommand {
    /// The program.
    pub program: OsString,
    /// What it is given.
    pub arguments: Vec<OsString>,
}

/// How a proxy ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The client went away, and the server was ended.
    Client,
    /// The server ended first, with this code: 128 and the signal's number where one ended it.
    Upstream(u8),
    /// It was told to stop, and the server was ended.
    Stopped,
}

impl Proxy {
    /// Runs between a client and a program until one of them ends, or until `stop` does.
    ///
    /// The program's errors go where this process's go.
    pub async fn run_command<R, W>(
        self,
        command: &UpstreamCommand,
        input: R,
        output: W,
        stop: impl Future<Output = ()>,
    ) -> Result<Exit, McpError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let mut program = Program::start(command)?;
        let group = program.group;
        let streams = program.child.stdin.take().zip(program.child.stdout.take());
        let (stdin, stdout) = streams.ok_or_else(|| McpError::Stream {
            what: "talk to the MCP server",
            source: io::ErrorKind::BrokenPipe.into(),
        })?;
        let (proxy, client, upstream) = (Arc::new(self), Sink::new(output), Sink::new(stdin));
        let (stop_said, stop_heard) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (ahead, queue) = pump::ahead();
        let mut said = tokio::spawn(pump::from_client(
            Arc::clone(&proxy),
            Frames::new(input),
            ahead,
            client.clone(),
            Arc::clone(&stop_said),
        ));
        let mut arrives = tokio::spawn(pump::to_upstream(
            Arc::clone(&proxy),
            queue,
            upstream.clone(),
            client.clone(),
        ));
        let mut heard = tokio::spawn(pump::to_client(
            Arc::clone(&proxy),
            Frames::new(stdout),
            client.clone(),
            Arc::clone(&stop_heard),
        ));

        let mut stop = pin!(stop.fuse());
        let mut answers = None;
        // The code with which the program ended by itself after the client.
        let mut left = None;
        let exit = tokio::select! {
            // Where both have ended, it was the client that went first.
            biased;
            said = &mut said => {
                answers = said.ok();
                let until = Instant::now() + ANSWERING;
                let may_answer = || !heard.is_finished() && proxy.is_owed() && Instant::now() < until;
                let leave = async {
                    program.arrive(&mut arrives, (&upstream, &client), may_answer).await;
                    let status = program.end_by_itself(&client, may_answer).await;
                    if status.is_none() {
                        program.end_now().await;
                    }
                    status.flatten()
                };
                let status = tokio::select! {
                    status = leave => status,
                    () = &mut stop => {
                        program.end_now().await;
                        None
                    }
                };
                left = status.map(|status| code(Some(status)));
                Exit::Client
            }
            status = program.child.wait() => Exit::Upstream(code(status.ok())),
            heard = &mut heard => {
                arrives.abort();
                upstream.close().await;
                let status = program.end(&client).await;
                match heard {
                    // It is the client that does not listen any more.
                    Ok(Err(_)) => Exit::Client,
                    _ => Exit::Upstream(code(status)),
                }
            }
            () = &mut stop => {
                program.end_now().await;
                Exit::Stopped
            }
        };
        arrives.abort();
        stop_said.notify_one();
        let rest = async {
            finish(&proxy, &mut heard, &stop_heard, &client).await;
            let answered = async {
                if answers.is_none() {
                    answers = said.await.ok();
                }
                if let Some(answers) = answers {
                    answers.finish().await;
                }
            };
            let mut answered = pin!(answered);
            if within(REST, || client.is_writing(), &mut answered).await.is_none() {
                proxy.hurry();
                within(GRACE, || client.is_writing(), answered).await;
            }
        };
        let stopped = async {
            if !stop.is_terminated() {
                stop.as_mut().await;
            }
            // Whoever wants the end does not want to wait for a client, nor for the store.
            proxy.hurry();
            sleep(HELD).await;
        };
        tokio::select! {
            ((), ()) = async { tokio::join!(rest, group.end()) } => {}
            () = stopped => {
                if group.is_left() {
                    group.signal(true);
                }
            }
        }
        heard.abort();
        let reason = match (exit, left) {
            _ if stop.is_terminated() => {
                "the proxy was told to stop before the MCP server answered".to_owned()
            }
            (Exit::Upstream(code), _) | (_, Some(code)) => {
                format!("the MCP server ended with code {code} before it answered")
            }
            _ => "the client closed its side before the MCP server answered".to_owned(),
        };
        let is_read = || exit != Exit::Stopped && client.is_writing();
        within(GRACE, is_read, proxy.tell_given_up(&reason, &client)).await;
        within(GRACE, is_read, client.close()).await;
        Ok(exit)
    }

    /// Runs between a client and a server whose streams are at hand, until both have said all.
    pub async fn run_streams<R, W, S, U>(
        self,
        (input, output): (R, W),
        (stdout, stdin): (S, U),
    ) -> Result<(), McpError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
        S: AsyncRead + Send + Unpin + 'static,
        U: AsyncWrite + Send + Unpin + 'static,
    {
        let (proxy, client) = (Arc::new(self), Sink::new(output));
        let upstream = Sink::new(stdin);
        let (ahead, queue) = pump::ahead();
        let hang_up = Arc::new(Notify::new());
        let said = tokio::spawn(pump::from_client(
            Arc::clone(&proxy),
            Frames::new(input),
            ahead,
            client.clone(),
            Arc::clone(&hang_up),
        ));
        let arrives =
            tokio::spawn(pump::to_upstream(Arc::clone(&proxy), queue, upstream, client.clone()));
        let never = Arc::new(Notify::new());
        let heard =
            pump::to_client(Arc::clone(&proxy), Frames::new(stdout), client.clone(), never).await;
        arrives.abort();
        hang_up.notify_one();
        if let Ok(answers) = said.await {
            answers.finish().await;
        }
        proxy.tell_given_up("the MCP server ended before it answered", &client).await;
        client.close().await;
        heard
            .map_err(|source| McpError::Stream { what: "pass on what the MCP server says", source })
    }

    /// Tells the client what it will get no answer to.
    async fn tell_given_up<W: AsyncWrite + Unpin>(&self, reason: &str, client: &Sink<W>) {
        for error in self.give_up(reason) {
            // A client that has gone away wants no answer.
            let _ = client.write(error.as_bytes()).await;
        }
    }
}

/// A program that runs, and what it has started.
struct Program {
    child: Child,
    /// All of them.
    group: Group,
}

impl Program {
    fn start(command: &UpstreamCommand) -> Result<Self, McpError> {
        let mut builder = Command::new(&command.program);
        builder
            .args(&command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true);
        // A group of its own, so that what the program has started can be ended with it.
        #[cfg(unix)]
        builder.process_group(0);
        let child = builder.spawn().map_err(|source| McpError::Start {
            command: command.program.to_string_lossy().into_owned(),
            source,
        })?;
        let group = Group::of(&child);
        Ok(Self { child, group })
    }

    /// Lets what the client has said arrive, for as long as the program takes it or is about to answer
    /// what it took, and ends its input.
    async fn arrive<U: AsyncWrite + Unpin, W>(
        &mut self,
        arrives: &mut JoinHandle<()>,
        (upstream, client): (&Sink<U>, &Sink<W>),
        may_answer: impl Fn() -> bool,
    ) {
        let mut taken = upstream.taken();
        let is_held_up = || {
            let before = std::mem::replace(&mut taken, upstream.taken());
            before != taken || client.is_writing() || may_answer()
        };
        let work = async {
            tokio::select! {
                _ = &mut *arrives => {}
                _ = self.child.wait() => {}
            }
        };
        within(PATIENCE, is_held_up, work).await;
        arrives.abort();
        upstream.close().await;
    }

    /// Lets the program end by itself, if it does so in time. While the client has not read what the
    /// program said, the program may be waiting for that; and it may be about to answer.
    async fn end_by_itself<W>(
        &mut self,
        client: &Sink<W>,
        may_answer: impl Fn() -> bool,
    ) -> Option<Option<ExitStatus>> {
        let is_held_up = || client.is_writing() || may_answer();
        Some(within(PATIENCE, is_held_up, self.child.wait()).await?.ok())
    }

    /// Ends the program: by itself if it does so in time, or it is told to, or made to.
    async fn end<W>(&mut self, client: &Sink<W>) -> Option<ExitStatus> {
        match self.end_by_itself(client, || false).await {
            Some(status) => status,
            None => self.end_now().await,
        }
    }

    /// Ends the program: it is told to, or made to.
    async fn end_now(&mut self) -> Option<ExitStatus> {
        self.group.signal(false);
        if let Ok(status) = timeout(GRACE, self.child.wait()).await {
            return status.ok();
        }
        self.group.signal(true);
        let _ = self.child.start_kill();
        timeout(GRACE, self.child.wait()).await.ok()?.ok()
    }
}

/// A program and what it has started, as far as that has not gone its own way.
#[derive(Debug, Clone, Copy)]
struct Group {
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { id: id.and_then(rustix::process::Pid::from_raw) }
    }

    /// Whether anything of it runs. For as long as it does, nothing else gets its id.
    fn is_left(self) -> bool {
        self.id.is_some_and(|id| rustix::process::test_kill_process_group(id).is_ok())
    }

    /// Tells all of it to end, or ends it.
    fn signal(self, at_once: bool) {
        use rustix::process::{Signal, kill_process_group};

        if let Some(id) = self.id {
            let signal = if at_once { Signal::KILL } else { Signal::TERM };
            // What has ended meanwhile needs no signal.
            let _ = kill_process_group(id, signal);
        }
    }
}

/// Programs are ended by the system's own means alone.
#[cfg(not(unix))]
impl Group {
    fn of(_: &Child) -> Self {
        Self {}
    }

    fn is_left(self) -> bool {
        false
    }

    fn signal(self, _: bool) {}
}

impl Group {
    /// Ends what a program that has ended has left behind: by itself in time, or it is told to, or
    /// made to.
    async fn end(self) {
        for (limit, at_once) in [(HELD, false), (GRACE, true)] {
            let gone = async {
                while self.is_left() {
                    sleep(LOOK).await;
                }
            };
            if timeout(limit, gone).await.is_ok() {
                return;
            }
            self.signal(at_once);
        }
    }
}

/// Waits for something, but not too long. Time in which something else holds it up does not count.
pub(super) async fn within<T>(
    limit: Duration,
    mut is_held_up: impl FnMut() -> bool,
    work: impl Future<Output = T>,
) -> Option<T> {
    let (mut work, mut left) = (pin!(work), limit);
    while !left.is_zero() {
        if let Ok(done) = timeout(LOOK, &mut work).await {
            return Some(done);
        }
        if !is_held_up() {
            left = left.saturating_sub(LOOK);
        }
    }
    None
}

/// Waits until what the server has said is passed on, however long the client takes to read it.
async fn finish<W>(
    proxy: &Proxy,
    heard: &mut JoinHandle<io::Result<()>>,
    hang_up: &Notify,
    client: &Sink<W>,
) {
    for limit in [HELD, REST] {
        if heard.is_finished() || within(limit, || client.is_writing(), &mut *heard).await.is_some()
        {
            return;
        }
        hang_up.notify_one();
    }
    proxy.hurry();
    within(GRACE, || client.is_writing(), heard).await;
}

/// The code with which a program ended, as a shell tells it.
fn code(status: Option<ExitStatus>) -> u8 {
    let Some(status) = status else { return 1 };
    if let Some(code) = status.code() {
        return u8::try_from(code & 0xff).unwrap_or(1);
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            return u8::try_from(128 + signal).unwrap_or(1);
        }
    }
    1
}
