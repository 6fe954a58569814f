//! What a client may say about memories. There are none here; what is said is checked and kept.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::ask::{self, Faults, Fields};
use crate::problem::{Code, Problem};

/// The longest policy, in bytes.
const MAX_POLICY: usize = 64 << 10;
/// The names that a memory policy may have.
const MEMORY: [&str; 4] = ["memory_types", "peer", "self", "working_memory"];
/// The names that an auto-commit policy may have, and what holds where one is not given.
const COMMIT: [(&str, u64); 5] = [
    ("pending_token_threshold", 150_000),
    ("message_count_threshold", 100),
    ("idle_timeout_seconds", 86_400),
    ("keep_recent_count", 0),
    ("min_commit_interval_seconds", 0),
];

/// What was said about memories when a session was made.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    pub(crate) memory: Option<Box<RawValue>>,
    pub(crate) auto_commit: Option<Box<RawValue>>,
    pub(crate) extraction: Option<Box<RawValue>>,
}

impl Policies {
    /// Reads the policies of a body.
    pub(crate) fn read(fields: &Fields, faults: &mut Faults) -> Self {
        Self {
            memory: ask::dictionary(fields, "memory_policy", &["body"], faults),
            auto_commit: auto_commit(fields, faults),
            extraction: extraction(fields, faults),
        }
    }

    /// Refuses a memory policy that says what nobody knows.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        let all = [&self.memory, &self.auto_commit, &self.extraction];
        if all.into_iter().flatten().any(|policy| policy.get().len() > MAX_POLICY) {
            let message = format!("a policy takes at most {MAX_POLICY} bytes");
            return Err(Problem::whole(Code::InvalidArgument, message, json!({})));
        }
        let Some(policy) = &self.memory else { return Ok(()) };
        let known = ask::fields(policy)
            .is_ok_and(|fields| fields.keys().all(|name| MEMORY.contains(&name.as_str())));
        if known {
            return Ok(());
        }
        let message = format!("memory_policy supports only: {}", MEMORY.join(", "));
        Err(Problem::whole(Code::InvalidArgument, message, json!({})))
    }
}

fn auto_commit(fields: &Fields, faults: &mut Faults) -> Option<Box<RawValue>> {
    let at = ["body", "auto_commit_policy"];
    let given = model(fields, &at, faults)?;
    let mut policy = Map::new();
    for (name, default) in COMMIT {
        let value = match given.get(name).map(|value| value.get()) {
            None => json!(default),
            Some("null") => Value::Null,
            Some(number) => {
                let Ok(number) = number.trim_matches('"').parse::<u64>() else {
                    let message =
                        "Input should be a valid integer, unable to parse string as an integer";
                    faults.add(&[at[0], at[1], name], message, "int_parsing");
                    continue;
                };
                json!(number)
            }
        };
        policy.insert(name.to_owned(), value);
    }
    refuse_others(&given, &at, &COMMIT.map(|(name, _)| name), faults);
    serde_json::value::to_raw_value(&policy).ok()
}

fn extraction(fields: &Fields, faults: &mut Faults) -> Option<Box<RawValue>> {
    let at = ["body", "memory_extraction_config"];
    let given = model(fields, &at, faults)?;
    refuse_others(&given, &at, &["events"], faults);
    if given.get("events").is_some_and(|events| events.get() != "null") {
        let at = [at[0], at[1], "events"];
        let mut renamed = Fields::new();
        renamed.extend(given.get("events").map(|events| ("events".to_owned(), events.clone())));
        if let Some(events) = model(&renamed, &at, faults) {
            refuse_others(&events, &at, &["tags"], faults);
            ask::list(&events, "tags", &at, faults);
        }
    }
    fields.get("memory_extraction_config").cloned()
}

/// The fields of a field that is an object; its name is the last part of its place.
fn model(fields: &Fields, at: &[&str], faults: &mut Faults) -> Option<Fields> {
    let name = at.last()?;
    let value = fields.get(*name).filter(|value| value.get() != "null")?;
    let fields = value.get().starts_with('{').then(|| ask::fields(value).ok()).flatten();
    if fields.is_none() {
        ask::not_an_object(faults, at);
    }
    fields
}

fn refuse_others(given: &Fields, at: &[&str], known: &[&str], faults: &mut Faults) {
    let mut others: Vec<_> = given.keys().filter(|name| !known.contains(&name.as_str())).collect();
    others.sort_unstable();
    for name in others {
        let place = [at, &[name.as_str()]].concat();
        faults.add(&place, "Extra inputs are not permitted", "extra_forbidden");
    }
}
