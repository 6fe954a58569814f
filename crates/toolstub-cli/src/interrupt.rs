//! Signals: what was begun is cleared away, then the process ends by itself.
//!
//! The command runs on a thread of its own, while the first thread waits for its end or a signal.
//! After a signal, waits for input and for the store end in an error, so that what they hold is
//! dropped: a temporary file takes itself away. A command that does not notice is given up.

use std::io::{self, Cursor, Read};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;

/// How often a wait looks for a signal.
const LOOK: Duration = Duration::from_millis(20);
/// How long a command has to clear away what it began.
const GRACE: Duration = Duration::from_secs(2);
/// What a command has asked for beyond that, in milliseconds.
static MORE_GRACE: AtomicU64 = AtomicU64::new(0);
/// The stack of the command's thread: as large as that of a process.
const STACK: usize = 8 << 20;
/// How much of an input is read at a time, and how many pieces may wait.
const PIECE: usize = 64 << 10;
const WAITING: usize = 4;

/// The last signal that asked the process to end; 0 before there is one.
static CAUGHT: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// The exit code of a process that a signal has asked to end: 130 for an interrupt.
pub(crate) fn caught() -> Option<u8> {
    let signal = CAUGHT.load(Ordering::Relaxed);
    (signal != 0).then(|| u8::try_from(128 + signal).unwrap_or(u8::MAX))
}

/// An error once a signal has asked the process to end, for work that takes long.
pub(crate) fn check() -> Result<(), Failure> {
    match caught() {
        Some(_) => Err(Failure::storage(anyhow::Error::msg("interrupted"))),
        None => Ok(()),
    }
}

/// Runs the command to its end, or until a signal asks for another.
pub(crate) fn run(command: impl FnOnce() -> ExitCode + Send + 'static) -> ExitCode {
    watch();
    let (end, ended) = mpsc::sync_channel(1);
    let body = move || {
        // The receiver has gone only if the command was given up.
        let _ = end.send(command());
    };
    let thread = match thread::Builder::new().stack_size(STACK).spawn(body) {
        Ok(thread) => thread,
        Err(error) => {
            let error = anyhow::Error::new(error).context("cannot start a thread");
            return Failure::storage(error).report(false);
        }
    };
    let mut deadline = None;
    loop {
        match ended.recv_timeout(LOOK) {
            Ok(code) => return code,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => return ExitCode::FAILURE,
            },
        }
        if let Some(code) = caught() {
            let now = Instant::now();
            if now
                >= *deadline.get_or_insert(
                    now + GRACE + Duration::from_millis(MORE_GRACE.load(Ordering::Relaxed)),
                )
            {
                return ExitCode::from(code);
            }
        }
    }
}

/// The signals that ask a process to end. That a terminal goes away is none where whoever started the
/// process wants it to go on, as `nohup` does.
fn ends() -> impl Iterator<Item = i32> {
    use signal_hook::consts;

    static LEFT_ALONE: LazyLock<u64> = LazyLock::new(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        ignored(&status)
    });
    #[cfg(unix)]
    let at_a_terminal = [consts::SIGHUP, consts::SIGQUIT];
    #[cfg(not(unix))]
    let at_a_terminal = [];
    let is_heeded = |signal: &i32| *LEFT_ALONE & (1 << (signal - 1)) == 0;
    [consts::SIGINT, consts::SIGTERM].into_iter().chain(at_a_terminal.into_iter().filter(is_heeded))
}

/// The signals that a process ignores, by its status as Linux tells it; none where that is not told.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Takes note of signals instead of dying of them. Where that is refused, they do as always.
fn watch() {
    use signal_hook::{consts, flag};

    for signal in ends() {
        let value = usize::try_from(signal).unwrap_or_default();
        let _ = flag::register_usize(signal, Arc::clone(&CAUGHT), value);
    }
    // A file over the limit on its size is an error of the write, which says so.
    #[cfg(unix)]
    let _ = flag::register(consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Gives a command more time to come to its end after a signal. A second signal ends it at once.
pub(crate) fn give_grace(grace: Duration) {
    use signal_hook::flag;

    MORE_GRACE.store(grace.as_millis() as u64, Ordering::Relaxed);
    let is_second = Arc::new(AtomicBool::new(false));
    for signal in ends() {
        // In this order: the first signal, whichever it is, only says that the next one is the second.
        let _ = flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&is_second));
        let _ = flag::register(signal, Arc::clone(&is_second));
    }
}

/// Returns once a signal has asked the process to end.
pub(crate) async fn signalled() {
    while caught().is_none() {
        tokio::time::sleep(LOOK).await;
    }
}

/// An input, the wait for which ends with a signal.
///
/// It is read by a thread of its own: a read of a terminal or a pipe cannot be called back.
#[derive(Debug)]
pub(crate) struct Reader {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Cursor<Vec<u8>>,
}

impl Reader {
    pub(crate) fn new(mut source: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, pieces) = mpsc::sync_channel(WAITING);
        thread::Builder::new().spawn(move || {
            loop {
                let mut piece = vec![0; PIECE];
                let read = match source.read(&mut piece) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read,
                };
                let is_last = !matches!(read, Ok(1..));
                let sent = sender.send(read.map(|length| {
                    piece.truncate(length);
                    piece
                }));
                if is_last || sent.is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { pieces, piece: Cursor::default() })
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.piece.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            if caught().is_some() {
                return Err(io::Error::other("interrupted"));
            }
            match self.pieces.recv_timeout(LOOK) {
                Ok(piece) => {
                    let piece = piece?;
                    if piece.is_empty() {
                        return Ok(0);
                    }
                    self.piece = Cursor::new(piece);
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The end was told before.
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_comes_through_as_it_is() {
        let input: Vec<u8> = (0..PIECE * 6 + 7).map(|at| (at % 251) as u8).collect();
        let mut read = Vec::new();
        let mut reader = Reader::new(Cursor::new(input.clone())).unwrap();
        reader.read_to_end(&mut read).unwrap();
        assert!(read == input);
        assert_eq!(reader.read(&mut [0; 8]).unwrap(), 0);
    }

    #[test]
    fn signals_that_are_ignored_are_told_by_the_system() {
        assert_eq!(ignored("Name:\ttoolstub\nSigIgn:\t0000000000000001\nSigCgt:\t0f\n"), 1);
        assert_eq!(ignored("SigIgn:\t8000000000001004\n"), 0x8000_0000_0000_1004);
        assert_eq!(ignored("SigIgn:\tx\n"), 0);
        assert_eq!(ignored(""), 0);
    }

    #[test]
    fn an_error_of_the_input_is_the_reader_s() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::PermissionDenied.into())
            }
        }
        let error = Reader::new(Broken).unwrap().read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
