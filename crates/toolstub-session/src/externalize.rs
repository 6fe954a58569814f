//! Carrying a plan out: the originals are stored, stubs take their places.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use futures::StreamExt as _;
use toolstub_core::{EventId, Reason, Receipt, Ref, Sha256, ToolResultId, error_chain, utf8};
use toolstub_render::ReadBack;
use toolstub_store::{StoreError, WriteRequest};

use crate::config::FailureMode;
use crate::describe::{Draft, least_stub_chars, read_back_stub};
use crate::policy::{Plan, Role, Size, plan};
use crate::read_back::{Target, is_retrieval, read_back};
use crate::turn::{
    Call, Externalized, Outcome, Owner, Replacement, Source, Standing, ToolResult, Turn,
};
use crate::{Session, SessionError, ToolResultHandle};

/// How many originals of a turn are written at once.
const WRITES: usize = 8;
/// For how many results work is prepared at once.
const AT_ONCE: usize = 256;
/// How many questions the store is asked at once.
pub(crate) const READS: usize = 8;
/// The longest tool name in an error, in characters.
const MAX_TOOL_NAME: usize = 200;

/// What stands in the earlier steps of a turn: it counts, and stays.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Earlier {
    inline_chars: u64,
    original_chars: u64,
}

impl Earlier {
    fn count(&mut self, inline_chars: u64, original_chars: u64) {
        self.inline_chars = self.inline_chars.saturating_add(inline_chars);
        self.original_chars = self.original_chars.saturating_add(original_chars);
    }

    fn count_result(&mut self, result: &ToolResult) {
        let size = size(result, utf8::count_chars(&result.content));
        self.count(size.inline_chars, size.original_chars);
    }

    /// Adds the results of a step, as they stand now.
    pub(crate) fn add(&mut self, results: &[ToolResult], outcomes: &[Outcome]) {
        for (result, outcome) in results.iter().zip(outcomes) {
            if let Some(stub) = outcome.replacement() {
                self.count(stub.stub_chars(), stub.original_chars);
            } else {
                self.count_result(result);
            }
        }
    }
}

impl FromIterator<ToolResult> for Earlier {
    fn from_iter<T: IntoIterator<Item = ToolResult>>(results: T) -> Self {
        let mut earlier = Self::default();
        for result in results {
            earlier.count_result(&result);
        }
        earlier
    }
}

/// The size of a result that stands in so many characters.
fn size(result: &ToolResult, inline_chars: u64) -> Size {
    match result.standing {
        Standing::Externalized { original_chars } => {
            Size { inline_chars, original_chars, role: Role::Settled }
        }
        Standing::Settled => {
            Size { inline_chars, original_chars: inline_chars, role: Role::Settled }
        }
        Standing::Raw | Standing::Untold => {
            Size { inline_chars, original_chars: inline_chars, role: Role::Open }
        }
    }
}

/// What is known of a result before anything is decided.
#[derive(Debug, Clone, Default)]
struct Known {
    /// The original that a retrieval tool read it from.
    source: Option<(Receipt, ReadBack)>,
    /// It is left alone.
    settled: bool,
    /// Why it is left alone, where the store could not tell what it is.
    error: Option<String>,
}

/// A result that is to be stored.
#[derive(Debug)]
struct Job {
    index: usize,
    reason: Reason,
    draft: Draft,
    /// Its number among the results of its event.
    number: Option<u64>,
}

impl Session {
    /// Puts what is too large of a turn out of the context.
    ///
    /// What happens where an original cannot be stored is up to the configuration's failure mode.
    /// With `reject`, what was stored before the failure stays stored, and a second try finds it.
    pub async fn externalize(&self, turn: &Turn) -> Result<Externalized, SessionError> {
        self.externalize_after(&Earlier::default(), turn).await
    }

    /// [`externalize`](Self::externalize) for the last step of a turn.
    pub(crate) async fn externalize_after(
        &self,
        earlier: &Earlier,
        turn: &Turn,
    ) -> Result<Externalized, SessionError> {
        let (event, is_new) = match &turn.owner {
            Owner::Session => (None, false),
            Owner::Event(event) => (Some(event.clone()), false),
            Owner::NewEvent => (Some(self.host().new_event_id()), true),
        };
        let chars: Vec<u64> =
            turn.results.iter().map(|result| utf8::count_chars(&result.content)).collect();
        let all = chars.iter().fold(earlier.inline_chars, |sum, &chars| sum.saturating_add(chars));
        let crowded = all >= self.config().assistant_turn_inline_budget_chars;
        let known = self.learn(turn, &chars, crowded).await?;
        let (plan, mut jobs) =
            self.prepare(earlier, turn, &chars, &known, event.as_ref(), crowded).await?;

        let mut outcomes = vec![Outcome::Kept { error: None }; chars.len()];
        for (index, known) in known {
            let stub = match (&known.source, plan.choices[index]) {
                (Some((receipt, part)), Some(Reason::SourceRead)) => {
                    let stub = read_back_stub(receipt, *part, self.look());
                    let source = Source { reference: receipt.reference().clone(), part: *part };
                    Some(Replacement::read_back(stub, source, chars[index]))
                }
                _ => None,
            };
            let kept = Outcome::Kept { error: known.error };
            outcomes[index] = stub.map_or(kept, |stub| Outcome::Replaced(Box::new(stub)));
        }

        // Held until everything is written, so that no number is given away twice.
        let _numbering = match &event {
            Some(_) if !jobs.is_empty() => Some(self.numbering.lock().await),
            _ => None,
        };
        let failure = match &event {
            Some(event) if !jobs.is_empty() => {
                self.give_numbers(turn, event, is_new, &mut jobs).await.err()
            }
            _ => None,
        };
        match failure {
            None => {
                // The first of equal results makes the record that all of them show, so the others
                // wait for it: which of them a race would have it be is nobody's guess.
                let mut seen = BTreeSet::new();
                let is_first = |job: &Job| seen.insert(job.id(turn));
                let (firsts, repeats): (Vec<_>, Vec<_>) = jobs.into_iter().partition(is_first);
                for mut jobs in [firsts, repeats].map(VecDeque::from) {
                    while !jobs.is_empty() {
                        let write = |job| self.write(turn, job, &plan, event.as_ref());
                        // Collected first: a stream of borrowing closures is not `Send`.
                        let some = jobs.drain(..jobs.len().min(AT_ONCE));
                        let writes: Vec<_> = some.map(write).collect();
                        let mut writes = futures::stream::iter(writes).buffered(WRITES);
                        while let Some((job, written)) = writes.next().await {
                            let chars = chars[job.index];
                            outcomes[job.index] = match written {
                                Ok(receipt) => self.stored(&job, &receipt, chars),
                                Err(error) => self.failed(turn, &job, &plan, chars, error)?,
                            };
                        }
                    }
                }
            }
            Some(SessionError::Store(error)) => {
                // Without numbers nothing is written; what failed is told of each.
                let told = error_chain(&error);
                let first = jobs.first().and_then(|job| turn.results.get(job.index));
                self.reject(first, error)?;
                for job in jobs {
                    outcomes[job.index] =
                        self.given_up(turn, &job, &plan, chars[job.index], told.clone());
                }
            }
            Some(error) => return Err(error),
        }
        Ok(Externalized {
            outcomes,
            event,
            group_id: turn.id.clone(),
            group_original_chars: plan.group_original_chars,
            group_budget_chars: self.config().assistant_turn_inline_budget_chars,
        })
    }

    /// Stores a result for an event whatever its size, and leaves a stub with a handle.
    ///
    /// It can be read at once, though the event itself be saved later or never; it goes with
    /// [`purge_event`](Self::purge_event). Without an event, one is made: the handle names it.
    pub async fn register(
        &self,
        event: Option<EventId>,
        result: &ToolResult,
    ) -> Result<Replacement, SessionError> {
        let is_new = event.is_none();
        let event = event.unwrap_or_else(|| self.host().new_event_id());
        let (content, mime) = (result.content.clone(), result.mime_type.clone());
        let chars = utf8::count_chars(&content);
        let preview_chars = self.config().preview_chars;
        let session = self.clone();
        let describe = move || Draft::new(&content, mime.as_deref(), session.config());
        let draft = off_thread(describe).await?;
        let turn = Turn { results: vec![result.clone()], ..Turn::default() };
        let plan = Plan {
            choices: vec![Some(Reason::Requested)],
            preview_chars,
            group_original_chars: chars,
        };
        let _numbering = self.numbering.lock().await;
        let mut jobs = [Job { index: 0, reason: Reason::Requested, draft, number: None }];
        self.give_numbers(&turn, &event, is_new, &mut jobs).await?;
        let [job] = jobs;
        let (job, written) = self.write(&turn, job, &plan, Some(&event)).await;
        Ok(self.replacement(&job, &written?, chars))
    }

    /// Finds out which results are read-backs, and which are stubs though no field says so.
    ///
    /// The store is asked about those only that a rule can choose.
    async fn learn(
        &self,
        turn: &Turn,
        chars: &[u64],
        crowded: bool,
    ) -> Result<BTreeMap<usize, Known>, SessionError> {
        let config = self.config();
        let mut known = BTreeMap::new();
        if !config.enabled {
            return Ok(known);
        }
        let can_go = |&index: &usize| {
            let ToolResult { call, content, standing, .. } = &turn.results[index];
            let is_open = match standing {
                Standing::Raw => is_retrieval(&call.name),
                // The first line of a stub stands in brackets.
                Standing::Untold => is_retrieval(&call.name) || content.starts_with(b"["),
                Standing::Settled | Standing::Externalized { .. } => false,
            };
            is_open && (crowded || chars[index] > config.threshold_chars)
        };
        let ask = |index: &usize| {
            let index = *index;
            async move { (index, self.know(&turn.results[index]).await) }
        };
        let open: Vec<_> = (0..chars.len()).filter(can_go).collect();
        for some in open.chunks(AT_ONCE) {
            // Collected first: a stream of borrowing closures is not `Send`.
            let asked: Vec<_> = some.iter().map(ask).collect();
            let mut asked = futures::stream::iter(asked).buffered(READS);
            while let Some((index, answer)) = asked.next().await {
                known.insert(index, answer?);
            }
        }
        Ok(known)
    }

    /// What the store knows of a result.
    async fn know(&self, result: &ToolResult) -> Result<Known, SessionError> {
        if result.standing == Standing::Untold
            && let Ok(text) = std::str::from_utf8(&result.content)
            // Where the store cannot tell, to leave a text as it is loses nothing.
            && self.is_own_stub(text, &result.call).await.unwrap_or(true)
        {
            return Ok(Known { settled: true, ..Known::default() });
        }
        match self.source(result).await {
            Ok(source) => Ok(Known { source, ..Known::default() }),
            Err(SessionError::Store(error)) => {
                let told = error_chain(&error);
                self.reject(Some(result), error)?;
                self.warn(&result.call, &told);
                Ok(Known { settled: true, error: Some(told), ..Known::default() })
            }
            Err(error) => Err(error),
        }
    }

    /// What a retrieval tool read; `None` where it was no such tool, or read nothing that there is.
    async fn source(
        &self,
        result: &ToolResult,
    ) -> Result<Option<(Receipt, ReadBack)>, SessionError> {
        let Some((reference, part)) = self.read_of(&result.call).await? else { return Ok(None) };
        match self.store().receipt(&reference).await {
            Ok(receipt) => Ok(Some((receipt, part))),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The ref that a call of a retrieval tool names, and what it read of it.
    pub(crate) async fn read_of(
        &self,
        call: &Call,
    ) -> Result<Option<(Ref, ReadBack)>, SessionError> {
        let default_limit = self.config().default_read_chars();
        let Some(call) = read_back(call, self.id(), default_limit) else { return Ok(None) };
        match call.target {
            Target::Reference(reference) => Ok(Some((reference, call.part))),
            Target::Handle(handle) => match self.resolve(&handle).await {
                Ok(reference) => Ok(Some((reference, call.part))),
                Err(SessionError::NoSuchIndex { .. }) => Ok(None),
                Err(error) => Err(error),
            },
        }
    }

    /// Plans, and drafts what the plan needs: whatever takes time and waits for nobody.
    async fn prepare(
        &self,
        earlier: &Earlier,
        turn: &Turn,
        chars: &[u64],
        known: &BTreeMap<usize, Known>,
        event: Option<&EventId>,
        crowded: bool,
    ) -> Result<(Plan, Vec<Job>), SessionError> {
        let mut sizes: Vec<Size> = Vec::with_capacity(chars.len() + 1);
        for (index, (result, &chars)) in turn.results.iter().zip(chars).enumerate() {
            let size = size(result, chars);
            let role = match (size.role, known.get(&index)) {
                (Role::Open, Some(known)) if known.settled => Role::Settled,
                (Role::Open, Some(known)) if known.source.is_some() => Role::ReadBack,
                (role, _) => role,
            };
            sizes.push(Size { role, ..size });
        }
        let Earlier { inline_chars, original_chars } = *earlier;
        sizes.push(Size { inline_chars, original_chars, role: Role::Settled });
        let config = self.config();
        let can_choose = crowded || chars.iter().any(|&chars| chars > config.threshold_chars);
        if !(config.enabled && can_choose) {
            // No rule chooses anything, so there is nothing to describe.
            return Ok((plan(&sizes, config, |_| u64::MAX), Vec::new()));
        }

        let results = turn.results.clone();
        let source = |(index, known): (&usize, &Known)| Some((*index, known.source.clone()?));
        let sources: BTreeMap<usize, _> = known.iter().filter_map(source).collect();
        let (session, event) = (self.clone(), event.cloned());
        off_thread(move || {
            let mut drafts: BTreeMap<usize, Draft> = BTreeMap::new();
            let least = least_stub_chars(session.id(), session.look());
            let plan = plan(&sizes, session.config(), |index| {
                if let Some((receipt, part)) = sources.get(&index) {
                    return read_back_stub(receipt, *part, session.look()).chars().count() as u64;
                }
                if sizes[index].inline_chars <= least {
                    // No stub is shorter, whatever it would say.
                    return least;
                }
                let ToolResult { call, content, mime_type, .. } = &results[index];
                let draft = Draft::new(content, mime_type.as_deref(), session.config());
                // The digest is not in the stub's length: every ref of the call is as long.
                let id = ToolResultId::for_content(Some(&call.id), &Sha256::from_bytes([0; 32]));
                let reference = Ref::in_event(session.id().clone(), event.clone(), id);
                let chars = draft.stub_chars(&call.name, &reference, session.look());
                drafts.insert(index, draft);
                chars
            });
            let job = |(index, draft)| {
                let reason = plan.choices[index]?;
                Some(Job { index, reason, draft, number: None })
            };
            let jobs = drafts.into_iter().filter_map(job).collect();
            (plan, jobs)
        })
        .await
    }

    /// Numbers what is to be stored for an event. What is stored already keeps its number.
    async fn give_numbers(
        &self,
        turn: &Turn,
        event: &EventId,
        is_new: bool,
        jobs: &mut [Job],
    ) -> Result<(), SessionError> {
        let stored = if is_new { BTreeMap::new() } else { self.numbered(event).await? };
        let mut free = stored.keys().next_back().map_or(0, |last| last + 1);
        let by_id =
            |(number, record): (u64, toolstub_core::Metadata)| (record.tool_result_id, number);
        let mut numbers: BTreeMap<String, u64> = stored.into_iter().map(by_id).collect();
        for job in jobs {
            let id = job.id(turn).to_string();
            job.number = Some(*numbers.entry(id).or_insert_with(|| {
                free += 1;
                free - 1
            }));
        }
        Ok(())
    }

    async fn write(
        &self,
        turn: &Turn,
        job: Job,
        plan: &Plan,
        event: Option<&EventId>,
    ) -> (Job, Result<Receipt, StoreError>) {
        let ToolResult { call, mime_type, .. } = &turn.results[job.index];
        let identity = self.identity().clone();
        let request = WriteRequest {
            event: event.cloned(),
            event_index: job.number,
            tool_id: call.id.clone(),
            tool_name: call.name.clone(),
            message_id: turn.message_id.clone(),
            agent_id: identity.agent_id,
            user_id: identity.user_id,
            peer_id: identity.peer_id,
            mime_type: mime_type.clone(),
            preview_chars: plan.preview_chars.max(0).unsigned_abs(),
            ..WriteRequest::new(
                self.id().clone(),
                job.draft.synopsis(plan.preview_chars),
                self.host().now(),
            )
        };
        let written = self.store().write(&job.draft.original, request).await;
        (job, written)
    }

    fn stored(&self, job: &Job, receipt: &Receipt, chars: u64) -> Outcome {
        let replacement = self.replacement(job, receipt, chars);
        // The record may be that of an earlier write, which had more to say.
        if replacement.stub_chars() < chars {
            Outcome::Replaced(Box::new(replacement))
        } else {
            Outcome::Kept { error: None }
        }
    }

    fn replacement(&self, job: &Job, receipt: &Receipt, chars: u64) -> Replacement {
        let reference = receipt.reference().clone();
        let event = reference.event().cloned();
        let handle = event.zip(job.number);
        Replacement {
            stub: job.draft.stored_stub(receipt, job.reason, self.look()),
            reason: job.reason,
            reference: Some(reference),
            handle: handle.map(|(event_id, index)| ToolResultHandle::Event { event_id, index }),
            original_chars: chars,
            sha256: Some(receipt.metadata().sha256),
            source: None,
            error: None,
        }
    }

    fn failed(
        &self,
        turn: &Turn,
        job: &Job,
        plan: &Plan,
        chars: u64,
        error: StoreError,
    ) -> Result<Outcome, SessionError> {
        let told = error_chain(&error);
        self.reject(turn.results.get(job.index), error)?;
        Ok(self.given_up(turn, job, plan, chars, told))
    }

    /// What becomes of a result that could not be stored.
    fn given_up(&self, turn: &Turn, job: &Job, plan: &Plan, chars: u64, told: String) -> Outcome {
        let call = &turn.results[job.index].call;
        self.warn(call, &told);
        if self.config().failure_mode == FailureMode::PreviewOnly {
            let (reason, preview_chars) = (job.reason, plan.preview_chars);
            let replacement = Replacement {
                stub: job.draft.failed_stub(&call.name, reason, preview_chars, self.look()),
                reason,
                reference: None,
                handle: None,
                original_chars: chars,
                sha256: Some(job.draft.original.sha256()),
                source: None,
                error: Some(told.clone()),
            };
            if replacement.stub_chars() < chars {
                return Outcome::Replaced(Box::new(replacement));
            }
        }
        Outcome::Kept { error: Some(told) }
    }

    fn warn(&self, call: &Call, error: &str) {
        let Call { id, name, .. } = call;
        tracing::warn!(session = %self.id(), tool_id = id, tool_name = name, error,
            "an original was not stored");
    }

    /// Ends the work where failures are to be rejected.
    fn reject(&self, result: Option<&ToolResult>, source: StoreError) -> Result<(), SessionError> {
        if self.config().failure_mode != FailureMode::Reject {
            return Ok(());
        }
        let tool_name = result.map_or("", |result| result.call.name.as_str());
        let tool_name = toolstub_core::text::clean(tool_name, MAX_TOOL_NAME);
        Err(SessionError::Rejected { tool_name, source })
    }
}

impl Job {
    /// The id under which the result is stored.
    fn id(&self, turn: &Turn) -> ToolResultId {
        self.draft.original.id(&turn.results[self.index].call.id)
    }
}

impl Replacement {
    fn read_back(stub: String, source: Source, original_chars: u64) -> Self {
        Self {
            stub,
            reason: Reason::SourceRead,
            reference: Some(source.reference.clone()),
            handle: None,
            original_chars,
            sha256: None,
            source: Some(source),
            error: None,
        }
    }

    /// The stub's length in characters.
    pub fn stub_chars(&self) -> u64 {
        self.stub.chars().count() as u64
    }
}

/// Runs what takes time where it stops nobody.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SessionError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(SessionError::Interrupted),
    }
}
