//! What every command that touches the store needs.

use std::future::{Future, poll_fn};
use std::io;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tokio::runtime::{Builder, Runtime};
use toolstub_core::{EventId, Ref, SessionId, ToolResultId};
use toolstub_store::{Backend, MemoryBackend, ResultStore, SessionStore};
use toolstub_store_object::{OpenError, OpenOptions, Variables, open};

use crate::args::Target;
use crate::config::{Config, default_store};
use crate::failure::Failure;
use crate::{interrupt, output};

/// The session where none is given.
const DEFAULT_SESSION: &str = "default";

/// What was said beside the command, and the configuration.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) json: bool,
    pub(crate) config: Config,
    pub(crate) store: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) fsync: bool,
}

impl Context {
    /// Where the store is.
    pub(crate) fn location(&self) -> Result<String, Failure> {
        match (&self.store, &self.config.store) {
            (Some(location), _) | (None, Some(location)) => Ok(location.clone()),
            (None, None) => {
                let folder = default_store().ok_or_else(|| {
                    Failure::input(anyhow!(
                        "no store is given and there is no home directory for the default one; \
                         give --store or set TOOLSTUB_STORE"
                    ))
                })?;
                folder.to_str().map(str::to_owned).ok_or_else(|| {
                    Failure::input(anyhow!(
                        "the default store {} is not UTF-8; give --store",
                        folder.display()
                    ))
                })
            }
        }
    }

    /// Opens the store; a local folder is made if it is not there.
    pub(crate) fn open(&self) -> Result<ResultStore, Failure> {
        Ok(ResultStore::new(self.opening()?()?))
    }

    /// What opens the store.
    pub(crate) fn opening(
        &self,
    ) -> Result<impl Fn() -> Result<Arc<dyn Backend>, OpenError> + Send + Sync + use<>, Failure>
    {
        let (location, options) = (self.location()?, self.options(true));
        Ok(move || open(&location, &options))
    }

    /// Opens the store for a command that ends and leaves a ref behind.
    pub(crate) fn open_lasting(&self) -> Result<ResultStore, Failure> {
        self.check_lasting()?;
        self.open()
    }

    /// Refuses a store that ends with the process.
    pub(crate) fn check_lasting(&self) -> Result<(), Failure> {
        if self.location()?.starts_with("memory:") {
            return Err(Failure::input(anyhow!(
                "the store memory: is gone when this command ends, and so is what its refs lead to; \
                 give a path or s3://bucket/prefix"
            )));
        }
        Ok(())
    }

    /// Refuses a store that another process could not open: one that ends with this one, or none at all.
    pub(crate) fn check_store(&self) -> Result<(), Failure> {
        self.check_lasting()?;
        match open(&self.location()?, &self.options(false)) {
            Err(
                error @ (OpenError::Unknown { .. }
                | OpenError::NotBuilt { .. }
                | OpenError::FileUrl
                | OpenError::S3Url { .. }),
            ) => Err(error.into()),
            // What else is missing may be there by then, and be another's to give.
            _ => Ok(()),
        }
    }

    /// Opens the store for a command that puts nothing into it: a folder that is not there is told,
    /// and stands for an empty store.
    pub(crate) fn open_existing(&self) -> Result<ResultStore, Failure> {
        match open(&self.location()?, &self.options(false)) {
            Ok(backend) => Ok(ResultStore::new(backend)),
            Err(missing @ OpenError::Missing { .. }) => {
                output::remark(&format!("{missing}; nothing has been stored there yet"));
                Ok(ResultStore::new(Arc::new(MemoryBackend::new())))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn options(&self, create: bool) -> OpenOptions {
        OpenOptions { fsync: self.fsync, create, variables: Variables::of_process() }
    }

    /// The session that was given, or the default one.
    pub(crate) fn session(&self) -> Result<SessionId, Failure> {
        SessionId::new(self.session.as_deref().unwrap_or(DEFAULT_SESSION)).map_err(Failure::input)
    }

    /// The event that was given.
    pub(crate) fn event(&self) -> Result<Option<EventId>, Failure> {
        self.event.as_deref().map(EventId::new).transpose().map_err(Failure::input)
    }

    /// The result that a command is about, and the store seen from its session.
    ///
    /// A ref brings its session and event with it; where others are given beside it, it is not theirs.
    pub(crate) fn target(&self, target: &Target) -> Result<(SessionStore, Ref), Failure> {
        let reference = self.reference(target)?;
        Ok((self.open_existing()?.session(reference.session().clone()), reference))
    }

    /// The ref of the result that a command is about.
    pub(crate) fn reference(&self, target: &Target) -> Result<Ref, Failure> {
        let given = target.reference.trim();
        let reference = if given.contains('/') {
            given.parse::<Ref>().map_err(Failure::input)?
        } else {
            let id = ToolResultId::new(given).map_err(Failure::input)?;
            Ref::in_event(self.session()?, self.event()?, id)
        };
        let session = match self.session {
            Some(_) => self.session()?,
            None => reference.session().clone(),
        };
        let event = self.event()?;
        if *reference.session() != session {
            return Err(Failure::input(anyhow!(
                "the ref belongs to the session `{}`, not to `{session}`; leave --session out",
                reference.session(),
            )));
        }
        if event.is_some() && reference.event() != event.as_ref() {
            return Err(Failure::input(anyhow!(
                "the ref does not belong to the event given; leave --event out"
            )));
        }
        Ok(reference)
    }
}

/// How long what was dropped half-way has to clear away after itself.
const CLEARING: Duration = Duration::from_secs(1);
/// How often a look is taken whether it has.
const LOOK: Duration = Duration::from_millis(10);

/// Runs what waits for the store; a signal that asks the process to end is an error.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    block_until(interrupt::signalled(), work)
}

/// Runs what waits for the store for so long at most; `None` where it took longer.
///
/// What it has begun then is left behind: a thread may wait for a disk that never answers.
pub(crate) fn block_within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<Option<T>, Failure> {
    let runtime = runtime(&mut Builder::new_current_thread())?;
    let work = async {
        match tokio::time::timeout(limit, work).await {
            Ok(done) => done.map(Some),
            Err(_) => Ok(None),
        }
    };
    let done = run_until(&runtime, interrupt::signalled(), work);
    runtime.shutdown_timeout(CLEARING);
    done
}

/// What runs work that waits.
///
/// A runtime that finds no room for its own files panics, so the room is looked for first.
pub(crate) fn runtime(builder: &mut Builder) -> Result<Runtime, Failure> {
    let room: io::Result<Vec<_>> = (0..4).map(|_| UnixStream::pair()).collect();
    room.and_then(|room| {
        drop(room);
        builder.enable_all().build()
    })
    .map_err(|error| Failure::storage(anyhow::Error::new(error).context("cannot begin to work")))
}

/// Runs work to its end, or drops it once it is interrupted, and waits for the threads that it began.
fn block_until<T>(
    interrupted: impl Future<Output = ()>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    run_until(&runtime(&mut Builder::new_current_thread())?, interrupted, work)
}

/// Runs work to its end, or drops it once it is interrupted.
///
/// What the work leaves to the runtime when it is dropped, such as giving up an upload, is waited for.
fn run_until<T>(
    runtime: &Runtime,
    interrupted: impl Future<Output = ()>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let tasks = || runtime.metrics().num_alive_tasks();
    runtime.block_on(async {
        let (done, before) = {
            let (mut work, mut interrupted) = (pin!(work), pin!(interrupted));
            let done = poll_fn(|context| match work.as_mut().poll(context) {
                Poll::Pending => interrupted
                    .as_mut()
                    .poll(context)
                    .map(|()| Err(Failure::storage(anyhow!("interrupted")))),
                done @ Poll::Ready(_) => done,
            })
            .await;
            (done, tasks())
        };
        // Idle connections are tasks too: only what the drop has added is worth a wait.
        if tasks() > before {
            let deadline = Instant::now() + CLEARING;
            while tasks() > 0 && Instant::now() < deadline {
                tokio::time::sleep(LOOK).await;
            }
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Takes its time to clear away once it is dropped, and says when it has.
    struct Upload(Duration, Arc<AtomicBool>);

    impl Drop for Upload {
        fn drop(&mut self) {
            let (time, cleared) = (self.0, Arc::clone(&self.1));
            tokio::spawn(async move {
                tokio::time::sleep(time).await;
                cleared.store(true, Ordering::Relaxed);
            });
        }
    }

    /// Whether what takes so long to clear away does so after an interrupt.
    fn clears(time: Duration) -> bool {
        let cleared = Arc::new(AtomicBool::new(false));
        let upload = Arc::clone(&cleared);
        let done: Result<(), Failure> = block_until(ready(()), async move {
            let _upload = Upload(time, upload);
            pending().await
        });
        assert!(done.is_err());
        cleared.load(Ordering::Relaxed)
    }

    #[test]
    fn work_that_is_interrupted_clears_away_after_itself() {
        assert!(clears(Duration::from_millis(50)));
    }

    #[test]
    fn a_clearing_that_takes_long_is_given_up() {
        let begun = Instant::now();
        assert!(!clears(Duration::from_secs(600)));
        assert!((CLEARING..10 * CLEARING).contains(&begun.elapsed()));
    }

    #[test]
    fn a_thread_that_does_not_end_is_left_behind() {
        let begun = Instant::now();
        let done: Result<Option<()>, Failure> = block_within(Duration::from_millis(20), async {
            let hung = tokio::task::spawn_blocking(|| std::thread::sleep(Duration::from_secs(60)));
            hung.await.map_err(Failure::storage)
        });
        assert!(done.unwrap().is_none());
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        let done = block_within(Duration::from_secs(600), async { Ok(7) });
        assert_eq!(done.unwrap(), Some(7));
    }

    #[test]
    fn connections_that_are_idle_are_not_waited_for() {
        let begun = Instant::now();
        let done: Result<(), Failure> = block_until(ready(()), async {
            tokio::spawn(pending::<()>());
            pending().await
        });
        assert!(done.is_err() && begun.elapsed() < CLEARING, "{:?}", begun.elapsed());
    }
}
