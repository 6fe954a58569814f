//! A message: as a client sends it, and as it is kept and given out.

use serde::Serialize;
use serde_json::value::RawValue;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use toolstub_session::{Part, ToolPart};

use crate::ask::{self, Faults, Fields};
use crate::part;
use crate::problem::Problem;
use crate::tokens::Weight;

/// The kinds that a message may say it is of.
const KINDS: [&str; 4] = ["user_query", "assistant_step", "tool_transport", "checkpoint"];

/// A message that a client sends.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) role: String,
    pub(crate) parts: Vec<Part>,
    pub(crate) created_at: Option<String>,
    pub(crate) peer_id: Option<String>,
    pub(crate) turn_id: Option<String>,
    pub(crate) message_kind: Option<String>,
    pub(crate) source_message_ids: Option<Vec<String>>,
}

/// A message as it is kept and given out.
#[derive(Debug, Serialize)]
struct Kept<'a> {
    id: &'a str,
    role: &'a str,
    parts: &'a [Part],
    created_at: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_message_ids: Option<&'a [String]>,
}

impl Incoming {
    /// Reads a message; what is wrong with it is noted, and `None` comes back.
    pub(crate) fn read(fields: &Fields, at: &[&str], faults: &mut Faults) -> Option<Self> {
        let mut found = Faults::default();
        let role = required_name(fields, "role", at, &mut found);
        let peer_id = peer(fields, at, &mut found);
        let content = ask::string(fields, "content", at, &mut found);
        let listed = ask::list(fields, "parts", at, &mut found);
        let created_at = ask::name(fields, "created_at", at, &mut found);
        let turn_id = ask::name(fields, "turn_id", at, &mut found);
        let message_kind = kind(fields, at, &mut found);
        let source_message_ids = sources(fields, at, &mut found);
        ask::telemetry(fields, at, &mut found);
        let mut parts = Vec::new();
        for (nth, part) in listed.iter().flatten().enumerate() {
            if found.is_full() {
                break;
            }
            let nth = nth.to_string();
            let at = [at, &["parts", &nth]].concat();
            parts.extend(part::read(part, &at, &mut found));
        }
        if found.is_empty() && content.is_none() && listed.is_none() {
            let message = "Value error, Either 'content' or 'parts' must be provided";
            found.add(at, message, "value_error");
        }
        let is_sound = found.is_empty();
        faults.append(found);
        if !is_sound {
            return None;
        }
        if let (None, Some(content)) = (&listed, &content) {
            parts.push(part::of_text(content));
        }
        let role = role?;
        Some(Self { role, parts, created_at, peer_id, turn_id, message_kind, source_message_ids })
    }

    /// The message as it is kept, on one line.
    pub(crate) fn to_line(&self, id: &str, now: &str) -> Result<String, serde_json::Error> {
        let given = self.created_at.as_deref().filter(|time| !time.is_empty());
        serde_json::to_string(&Kept {
            id,
            role: &self.role,
            parts: &self.parts,
            created_at: given.unwrap_or(now),
            peer_id: self.peer_id.as_deref().filter(|peer| !peer.is_empty()),
            turn_id: self.turn_id.as_deref(),
            message_kind: self.message_kind.as_deref(),
            source_message_ids: self.source_message_ids.as_deref(),
        })
        .map(on_one_line)
    }

    /// What the message weighs, in tokens: an estimate.
    pub(crate) fn tokens(&self) -> u64 {
        tokens(&self.parts)
    }
}

fn tokens(parts: &[Part]) -> u64 {
    let mut weight = Weight::default();
    for part in parts {
        match part {
            Part::Tool(part) => {
                for name in ["tool_id", "tool_name", "tool_output"] {
                    weight.add(&part.text(name).unwrap_or_default());
                }
                weight.add_json(part.field("tool_input").map_or("", RawValue::get));
            }
            Part::Other(other) => part::weigh(other, &mut weight),
        }
    }
    weight.tokens()
}

/// Line feeds can stand only between the values of a JSON text, where a space does as well.
fn on_one_line(json: String) -> String {
    if json.contains(['\n', '\r']) { json.replace(['\n', '\r'], " ") } else { json }
}

fn required_name(fields: &Fields, name: &str, at: &[&str], faults: &mut Faults) -> Option<String> {
    match fields.get(name) {
        None => faults.add(&[at, &[name]].concat(), "Field required", "missing"),
        Some(value) if value.get() == "null" => {
            faults.add(&[at, &[name]].concat(), "Input should be a valid string", "string_type");
        }
        Some(_) => return ask::name(fields, name, at, faults),
    }
    None
}

fn peer(fields: &Fields, at: &[&str], faults: &mut Faults) -> Option<String> {
    let peer = ask::name(fields, "peer_id", at, faults)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@');
    let wrong = match peer.as_str() {
        "." | ".." => "peer_id must not be '.' or '..'",
        peer if !peer.chars().all(fits) => "peer_id must be alpha_numeric string.",
        _ => return Some(peer),
    };
    let message = format!("Value error, Invalid peer_id: {wrong}");
    faults.add(&[at, &["peer_id"]].concat(), message, "value_error");
    None
}

fn kind(fields: &Fields, at: &[&str], faults: &mut Faults) -> Option<String> {
    let value = fields.get("message_kind").filter(|value| value.get() != "null")?;
    let kind = serde_json::from_str::<String>(value.get()).ok();
    let kind = kind.filter(|kind| KINDS.contains(&kind.as_str()));
    if kind.is_none() {
        let [first, second, third, last] = KINDS;
        let message = format!("Input should be '{first}', '{second}', '{third}' or '{last}'");
        faults.add(&[at, &["message_kind"]].concat(), message, "literal_error");
    }
    kind
}

fn sources(fields: &Fields, at: &[&str], faults: &mut Faults) -> Option<Vec<String>> {
    let listed = ask::list(fields, "source_message_ids", at, faults)?;
    let mut ids = Vec::with_capacity(listed.len());
    for (nth, id) in listed.iter().enumerate() {
        if faults.is_full() {
            break;
        }
        if let Ok(id) = serde_json::from_str(id.get()) {
            ids.push(id);
        } else {
            let nth = nth.to_string();
            let place = [at, &["source_message_ids", nth.as_str()]].concat();
            faults.add(&place, "Input should be a valid string", "string_type");
        }
    }
    Some(ids)
}

impl Incoming {
    /// Refuses a message with a part that makes no sense.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        self.parts.iter().try_for_each(part::check)
    }

    /// The turn that the message is a step of.
    pub(crate) fn turn(&self) -> Option<&str> {
        self.turn_id.as_deref().filter(|turn| !turn.is_empty())
    }

    /// When the message came: what the client says if it is a time, or now.
    pub(crate) fn time<'a>(&'a self, now: &'a str) -> &'a str {
        let given = self.created_at.as_deref();
        given.filter(|time| OffsetDateTime::parse(time, &Rfc3339).is_ok()).unwrap_or(now)
    }

    /// Whether a tool returned anything.
    pub(crate) fn has_output(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Tool(part) if part.output().is_some()))
    }

    /// Takes the tool parts out, and tells where they stood.
    pub(crate) fn take_tool_parts(&mut self) -> (Vec<ToolPart>, Vec<usize>) {
        let (mut tools, mut places, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (place, part) in std::mem::take(&mut self.parts).into_iter().enumerate() {
            match part {
                Part::Tool(part) => {
                    tools.push(part);
                    places.push(place);
                }
                other @ Part::Other(_) => others.push(other),
            }
        }
        self.parts = others;
        (tools, places)
    }

    /// Puts the tool parts back where they stood.
    pub(crate) fn put_tool_parts(&mut self, tools: Vec<ToolPart>, places: Vec<usize>) {
        let count = self.parts.len() + tools.len();
        let mut others = std::mem::take(&mut self.parts).into_iter();
        let mut tools = places.into_iter().zip(tools).peekable();
        for place in 0..count {
            match tools.next_if(|(of, _)| *of == place) {
                Some((_, part)) => self.parts.push(Part::Tool(part)),
                None => self.parts.extend(others.next()),
            }
        }
    }
}

/// Gives out the turn and the parts of each message of an object that is a step of a turn.
pub(crate) fn steps(object: &[u8], mut found: impl FnMut(&str, &RawValue)) {
    #[derive(serde::Deserialize)]
    struct Step<'a> {
        #[serde(default)]
        turn_id: Option<String>,
        #[serde(borrow)]
        parts: &'a RawValue,
    }
    // A name as it is kept: most messages are no steps, and need not be parsed to see that.
    let name = memchr::memmem::Finder::new("\"turn_id\":");
    for line in lines_of(object).filter(|line| name.find(line).is_some()) {
        let Ok(step) = serde_json::from_slice::<Step<'_>>(line) else { continue };
        if let Some(turn) = &step.turn_id {
            found(turn, step.parts);
        }
    }
}

/// The tool parts of a kept message.
pub(crate) fn tool_parts(parts: &RawValue) -> Vec<ToolPart> {
    let parts: Vec<Part> = serde_json::from_str(parts.get()).unwrap_or_default();
    let tool = |part| match part {
        Part::Tool(part) => Some(part),
        Part::Other(_) => None,
    };
    parts.into_iter().filter_map(tool).collect()
}

/// The messages of an object; other lines are notes.
pub(crate) fn lines_of(object: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    object.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#')
}

/// What a kept message weighs, in tokens.
pub(crate) fn tokens_of(line: &[u8]) -> u64 {
    #[derive(serde::Deserialize)]
    struct Parts {
        parts: Vec<Part>,
    }
    let Ok(Parts { parts }) = serde_json::from_slice(line) else { return 0 };
    tokens(&parts)
}
