//! Tool parts, as `OpenViking` writes them.

use bytes::Bytes;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use toolstub_core::RefForm;
use toolstub_render::{ReadBack, Stub};

use crate::splice::Fields;
use crate::turn::{Call, Externalized, Outcome, Replacement, Standing, ToolResult};

/// The names of a part's fields.
pub(crate) mod field {
    pub(crate) const TYPE: &str = "type";
    pub(crate) const ID: &str = "tool_id";
    pub(crate) const NAME: &str = "tool_name";
    pub(crate) const INPUT: &str = "tool_input";
    pub(crate) const OUTPUT: &str = "tool_output";
    pub(crate) const REF: &str = "tool_output_ref";
    pub(crate) const TRUNCATED: &str = "tool_output_truncated";
    pub(crate) const ORIGINAL_CHARS: &str = "tool_output_original_chars";
    pub(crate) const PREVIEW_CHARS: &str = "tool_output_preview_chars";
    pub(crate) const SHA256: &str = "tool_output_sha256";
    pub(crate) const STORAGE_URI: &str = "tool_output_storage_uri";
    pub(crate) const MIME_TYPE: &str = "tool_output_mime_type";
    pub(crate) const SOURCE_REF: &str = "tool_output_source_ref";
    pub(crate) const SOURCE_OFFSET: &str = "tool_output_source_offset";
    pub(crate) const SOURCE_LIMIT: &str = "tool_output_source_limit";
    pub(crate) const ERROR: &str = "tool_output_externalization_error";
    pub(crate) const GROUP_ID: &str = "tool_output_group_id";
    pub(crate) const REASON: &str = "tool_output_externalized_reason";
    pub(crate) const GROUP_ORIGINAL_CHARS: &str = "tool_output_group_original_chars";
    pub(crate) const GROUP_BUDGET_CHARS: &str = "tool_output_group_budget_chars";
}

/// The fields that tell of a stub, and go where its original comes back.
pub(crate) const OF_A_STUB: [&str; 14] = [
    field::REF,
    field::TRUNCATED,
    field::ORIGINAL_CHARS,
    field::PREVIEW_CHARS,
    field::SHA256,
    field::STORAGE_URI,
    field::SOURCE_REF,
    field::SOURCE_OFFSET,
    field::SOURCE_LIMIT,
    field::ERROR,
    field::GROUP_ID,
    field::REASON,
    field::GROUP_ORIGINAL_CHARS,
    field::GROUP_BUDGET_CHARS,
];

/// A part of a message: a tool call with what it returned, or anything else, which is kept as it is.
#[derive(Debug, Clone)]
pub enum Part {
    /// A part of `type` `tool`.
    Tool(ToolPart),
    /// Any other.
    Other(Box<RawValue>),
}

/// A tool part: the fields in the order and the writing that they came in, known or not.
///
/// ```
/// use toolstub_session::ToolPart;
///
/// let json = r#"{"type":"tool","x":1.10,"tool_name":"bash","tool_output":"done"}"#;
/// let mut part: ToolPart = serde_json::from_str(json)?;
/// assert_eq!(part.text("tool_output").as_deref(), Some("done"));
/// part.set("tool_status", "completed");
/// let written = serde_json::to_string(&part)?;
/// assert_eq!(written, json.replace('}', r#","tool_status":"completed"}"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ToolPart {
    fields: Vec<(String, Box<RawValue>)>,
}

impl ToolPart {
    /// A part for a call and what it returned.
    pub fn new(tool_id: &str, tool_name: &str, tool_output: &str) -> Self {
        let mut part = Self { fields: Vec::new() };
        part.set(field::TYPE, "tool");
        part.set(field::ID, tool_id);
        part.set(field::NAME, tool_name);
        part.set(field::OUTPUT, tool_output);
        part
    }

    /// The fields in order, each as it is written.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_ref()))
    }

    /// A field as it is written.
    pub fn field(&self, name: &str) -> Option<&RawValue> {
        self.fields.iter().rev().find(|(field, _)| field == name).map(|(_, value)| value.as_ref())
    }

    /// A field that is a string.
    pub fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.field(name)?.get()).ok()
    }

    /// What the tool returned, or the stub in its place.
    pub fn output(&self) -> Option<String> {
        self.text(field::OUTPUT)
    }

    /// The ref of the original, if a stub is in its place.
    pub fn reference(&self) -> Option<String> {
        self.text(field::REF).filter(|reference| !reference.is_empty())
    }

    /// Whether a stub is in place of what the tool returned, as the fields say.
    pub fn is_externalized(&self) -> bool {
        let truncated = self.field(field::TRUNCATED).is_some_and(|value| value.get() == "true");
        // Where storing failed there is a stub without a ref, and nothing that could be stored.
        let failed = || self.field(field::ERROR).is_some() && self.field(field::REASON).is_some();
        truncated && (self.reference().is_some() || failed())
    }

    /// Whether the policy was over the part before, and left its marks.
    pub(crate) fn is_judged(&self) -> bool {
        self.field(field::GROUP_BUDGET_CHARS).is_some()
    }

    /// Sets a field in its place, or at the end. An empty string is not written: it takes the field
    /// away.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        let value = value.into();
        if value == "" {
            return self.remove(name);
        }
        // A value always has a text.
        let Ok(raw) = to_raw_value(&value) else { return };
        match self.fields.iter_mut().rev().find(|(field, _)| field == name) {
            Some((_, old)) => *old = raw,
            None => self.fields.push((name.to_owned(), raw)),
        }
    }

    /// Takes a field away.
    pub fn remove(&mut self, name: &str) {
        self.fields.retain(|(field, _)| field != name);
    }

    /// The result, as the policy takes it; `None` where there is no text that the tool returned.
    pub(crate) fn to_result(&self, is_settled: bool) -> Option<ToolResult> {
        let content = self.output()?;
        let standing = if self.is_externalized() {
            let chars = self.field(field::ORIGINAL_CHARS);
            let chars = chars.and_then(|chars| chars.get().parse().ok());
            let original_chars = chars.unwrap_or_else(|| content.chars().count() as u64);
            Standing::Externalized { original_chars }
        } else if is_settled {
            Standing::Settled
        } else {
            Standing::Raw
        };
        Some(ToolResult {
            call: self.call(),
            content: Bytes::from(content),
            mime_type: self.text(field::MIME_TYPE).filter(|mime| !mime.is_empty()),
            standing,
        })
    }

    pub(crate) fn call(&self) -> Call {
        Call {
            id: self.text(field::ID).unwrap_or_default(),
            name: self.text(field::NAME).unwrap_or_default(),
            input: self.field(field::INPUT).map(|input| input.get().to_owned()),
        }
    }
}

/// What is written to a part for what became of it: `None` takes a field away.
pub(crate) fn marks(
    standing: Standing,
    outcome: &Outcome,
    of: &Externalized,
    refs: &RefForm,
) -> Vec<(&'static str, Option<Value>)> {
    let mut marks = Vec::new();
    if matches!(standing, Standing::Settled | Standing::Externalized { .. }) {
        return marks;
    }
    if let Outcome::Replaced(replacement) = outcome {
        let Replacement { stub, reference, original_chars, sha256, source, .. } = &**replacement;
        let reference = reference.as_ref().map(|reference| refs.uri(reference));
        let told = |value: Option<String>| value.map(Value::from);
        let reason = Stub::parse(stub).ok().and_then(|stub| stub.reason);
        let range = source.as_ref().and_then(|source| match source.part {
            ReadBack::Range { offset, limit, .. } => Some((integer(offset)?, integer(limit)?)),
            ReadBack::Part => None,
        });
        let source = source.as_ref().map(|source| refs.uri(&source.reference));
        marks.extend([
            (field::OUTPUT, Some(Value::from(stub.as_str()))),
            (field::REF, told(reference.clone())),
            (field::TRUNCATED, Some(Value::from(true))),
            (field::ORIGINAL_CHARS, Some(Value::from(*original_chars))),
            (field::PREVIEW_CHARS, Some(Value::from(replacement.stub_chars()))),
            (field::SHA256, told(sha256.map(|sha256| sha256.to_string()))),
            (field::STORAGE_URI, told(reference)),
            (field::SOURCE_REF, told(source)),
            (field::SOURCE_OFFSET, range.clone().map(|(offset, _)| offset)),
            (field::SOURCE_LIMIT, range.map(|(_, limit)| limit)),
            (field::REASON, told(reason)),
        ]);
    }
    let group_id = Some(of.group_id.as_str()).filter(|id| !id.is_empty()).map(Value::from);
    marks.extend([
        (field::ERROR, outcome.error().map(Value::from)),
        (field::GROUP_ID, group_id),
        (field::GROUP_ORIGINAL_CHARS, Some(Value::from(of.group_original_chars))),
        (field::GROUP_BUDGET_CHARS, Some(Value::from(of.group_budget_chars))),
    ]);
    marks
}

fn integer(number: i128) -> Option<Value> {
    i64::try_from(number).ok().map(Value::from)
}

impl Serialize for ToolPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ToolPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fields::deserialize(deserializer).map(|Fields(fields)| Self { fields })
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Tool(part) => part.serialize(serializer),
            Self::Other(part) => part.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let part: Option<ToolPart> = serde_json::from_str(raw.get()).ok();
        let is_tool = |part: &ToolPart| part.text(field::TYPE).as_deref() == Some("tool");
        Ok(part.filter(is_tool).map_or(Self::Other(raw), Self::Tool))
    }
}
