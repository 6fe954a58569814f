//! Putting originals back in the places of their stubs.

use futures::StreamExt as _;
use serde_json::Value;
use toolstub_core::{OffsetUnit, Ref};
use toolstub_render::ReadBack;
use toolstub_store::{ReadRequest, StoreError};

use crate::externalize::READS;
use crate::json::{Edit, Node, edit_text, edit_value};
use crate::part::{OF_A_STUB, ToolPart, field};
use crate::read_back::{parse_ref, read_back};
use crate::shape::{Found, Shape, groups};
use crate::turn::Call;
use crate::{Session, SessionError};

/// A copy of messages with originals in place of stubs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hydrated<T> {
    /// The messages.
    pub messages: T,
    /// The stubs that stay, as their originals cannot be had; and the originals of which a hard cap
    /// left the end out, which come back as far as they are kept.
    pub missing: Vec<Missing>,
}

/// An original that cannot be had, or not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// The ref, as the message has it; empty where there is none.
    pub reference: String,
    /// Why it is missing.
    pub why: String,
}

impl Missing {
    fn new(reference: &(impl ToString + ?Sized), why: &(impl ToString + ?Sized)) -> Self {
        Self { reference: reference.to_string(), why: why.to_string() }
    }
}

/// What a stub stands for.
enum Wanted {
    Original(Original),
    Nothing(Missing),
}

/// An original, or the part of it that was read back.
struct Original {
    /// The ref, as the message has it.
    given: String,
    reference: Ref,
    part: ReadBack,
}

/// What comes back in the place of a stub.
#[derive(Default)]
struct Fetched {
    original: Option<String>,
    missing: Option<Missing>,
}

impl From<Missing> for Fetched {
    fn from(missing: Missing) -> Self {
        Self { original: None, missing: Some(missing) }
    }
}

const WHOLE: ReadBack =
    ReadBack::Range { offset: 0, limit: -1, unit: OffsetUnit::UnicodeCodePoint };

impl Session {
    /// A copy of messages that are JSON text, with the originals back in place. Of a read-back it is
    /// the range that was read. `call` is the one that results answer where no message has it.
    ///
    /// An original that is gone is told in [`Hydrated::missing`]; damage and failures of the store are
    /// errors.
    pub async fn hydrate_json(
        &self,
        shape: Shape,
        json: &str,
        call: &Call,
    ) -> Result<Hydrated<String>, SessionError> {
        let root = Node::parse(json)?;
        let (edits, missing) = self.hydrate_groups(shape, &root, call).await?;
        Ok(Hydrated { messages: edit_text(json, &edits), missing })
    }

    /// [`hydrate_json`](Self::hydrate_json) for a value.
    pub async fn hydrate_value(
        &self,
        shape: Shape,
        messages: &Value,
        call: &Call,
    ) -> Result<Hydrated<Value>, SessionError> {
        let json = messages.to_string();
        let root = Node::parse(&json)?;
        let (edits, missing) = self.hydrate_groups(shape, &root, call).await?;
        let mut messages = messages.clone();
        edit_value(&mut messages, &edits);
        Ok(Hydrated { messages, missing })
    }

    /// [`hydrate_json`](Self::hydrate_json) for tool parts.
    pub async fn hydrate_parts(
        &self,
        parts: &[ToolPart],
    ) -> Result<Hydrated<Vec<ToolPart>>, SessionError> {
        let mut hydrated = Hydrated { messages: parts.to_vec(), missing: Vec::new() };
        let fetch = |part| async move {
            match self.wanted_of_part(part) {
                Some(wanted) => self.fetch(wanted).await,
                None => Ok(Fetched::default()),
            }
        };
        // Collected first: a stream of borrowing closures is not `Send`.
        let fetches: Vec<_> = parts.iter().map(fetch).collect();
        let mut fetches = futures::stream::iter(fetches).buffered(READS);
        let mut messages = hydrated.messages.iter_mut();
        while let Some((fetched, part)) = fetches.next().await.zip(messages.next()) {
            let Fetched { original, missing } = fetched?;
            hydrated.missing.extend(missing);
            if let Some(original) = original {
                part.set(field::OUTPUT, original);
                for name in OF_A_STUB {
                    part.remove(name);
                }
            }
        }
        Ok(hydrated)
    }

    async fn hydrate_groups<'a>(
        &self,
        shape: Shape,
        root: &Node<'a>,
        call: &Call,
    ) -> Result<(Vec<Edit<'a>>, Vec<Missing>), SessionError> {
        let found: Vec<_> =
            groups(shape, root, call).into_iter().flat_map(|group| group.found).collect();
        let fetches: Vec<_> = found.iter().map(|found| self.fetch_found(found)).collect();
        let mut fetches = futures::stream::iter(fetches).buffered(READS);
        let (mut edits, mut all_missing) = (Vec::new(), Vec::new());
        let mut places = found.iter();
        while let Some((fetched, found)) = fetches.next().await.zip(places.next()) {
            let Fetched { original, missing } = fetched?;
            all_missing.extend(missing);
            let Some(original) = original else { continue };
            let edit = |name: &str, value| Edit {
                object: found.object.clone(),
                name: name.to_owned(),
                value,
            };
            edits.push(edit(found.field, Some(Value::from(original))));
            if found.is_part {
                edits.extend(OF_A_STUB.iter().map(|name| edit(name, None)));
            }
        }
        Ok((edits, all_missing))
    }

    async fn fetch_found(&self, found: &Found<'_>) -> Result<Fetched, SessionError> {
        let wanted = if found.is_part {
            let part: Option<ToolPart> = serde_json::from_str(found.object.raw()).ok();
            part.and_then(|part| self.wanted_of_part(&part))
        } else {
            let text = String::from_utf8_lossy(&found.result.content);
            self.wanted_of_text(&text, &found.result.call).await?
        };
        match wanted {
            Some(wanted) => self.fetch(wanted).await,
            None => Ok(Fetched::default()),
        }
    }

    /// What a part's fields say that it stands for; `None` where it is no stub.
    fn wanted_of_part(&self, part: &ToolPart) -> Option<Wanted> {
        if !part.is_externalized() {
            return None;
        }
        let Some(given) = part.reference() else {
            let why = part.text(field::ERROR).unwrap_or_default();
            return Some(Wanted::Nothing(Missing::new("", &why)));
        };
        let Some(reference) = parse_ref(&given, self.id()) else {
            let why = "it is not a ref of this session";
            return Some(Wanted::Nothing(Missing::new(&given, why)));
        };
        if part.text(field::SOURCE_REF).is_none_or(|source| source.is_empty()) {
            return Some(Wanted::Original(Original { given, reference, part: WHOLE }));
        }
        // The call knows the unit of the range; the part's fields do not.
        let default_limit = self.config().default_read_chars();
        let range = read_back(&part.call(), self.id(), default_limit).map(|call| call.part);
        let number = |name| part.field(name)?.get().parse().ok();
        let written = || {
            let (offset, limit) = (number(field::SOURCE_OFFSET)?, number(field::SOURCE_LIMIT)?);
            Some(ReadBack::Range { offset, limit, unit: OffsetUnit::UnicodeCodePoint })
        };
        let range = range.or_else(written).unwrap_or(ReadBack::Part);
        Some(Wanted::Original(Original { given, reference, part: range }))
    }

    /// What a text stands for, if the store confirms that it is a stub.
    async fn wanted_of_text(
        &self,
        text: &str,
        call: &Call,
    ) -> Result<Option<Wanted>, SessionError> {
        let Some(vouched) = self.vouch(text, call).await? else { return Ok(None) };
        let part = vouched.read_back.unwrap_or(WHOLE);
        let reference = vouched.receipt.reference().clone();
        let given = vouched.refs.uri(&reference);
        Ok(Some(Wanted::Original(Original { given, reference, part })))
    }

    async fn fetch(&self, wanted: Wanted) -> Result<Fetched, SessionError> {
        let Original { given, reference, part } = match wanted {
            Wanted::Original(original) => original,
            Wanted::Nothing(missing) => return Ok(missing.into()),
        };
        let ReadBack::Range { offset, limit, unit } = part else {
            let why = "what was found in the original is not kept; search it again";
            return Ok(Missing::new(&given, why).into());
        };
        let include_metadata = part == WHOLE;
        let request = ReadRequest { offset, limit, unit, include_metadata };
        match self.store().read(&reference, &request).await {
            Ok(piece) => {
                let cut = piece.metadata.as_ref().map_or(0, |metadata| metadata.not_stored_bytes);
                let why = format!("its last {cut} bytes were over the hard cap and not stored");
                let missing = (cut > 0).then(|| Missing::new(&given, &why));
                Ok(Fetched { original: Some(piece.content().into_owned()), missing })
            }
            Err(error @ (StoreError::NotFound { .. } | StoreError::Invalid { .. })) => {
                Ok(Missing::new(&given, &error).into())
            }
            Err(error) => Err(error.into()),
        }
    }
}
