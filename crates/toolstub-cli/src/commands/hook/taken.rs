//! What a host sent of a tool's result: the texts in it that may be replaced, and where they stand.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use serde_json::Value;
use toolstub_core::utf8::count_chars;
use toolstub_session::splice::{self, Object, Patches, span, text};
use toolstub_session::{Replacement, Standing, ToolResult};

use super::LARGEST;
use crate::failure::Failure;

const JSON: &str = "application/json";

/// Texts of a result, in order.
#[derive(Debug)]
pub(super) struct Taken<'a> {
    /// What the texts stand in, as JSON.
    pub(super) body: Cow<'a, str>,
    pub(super) texts: Vec<Text>,
    /// Whether there is anything else that a model would be shown, such as an image.
    pub(super) has_more: bool,
    /// Who cut the original before it came here, if it is known.
    pub(super) cut_by: Option<&'static str>,
    /// Whether the text is in a file of the host's, which the body names.
    pub(super) is_in_file: bool,
}

/// A text in a result.
#[derive(Debug)]
pub(super) struct Text {
    /// Where its value stands in the body.
    pub(super) at: Range<usize>,
    /// What is to be stored of it.
    pub(super) result: ToolResult,
    /// What the host has put before and behind it.
    pub(super) around: (&'static str, &'static str),
}

impl<'a> Taken<'a> {
    pub(super) fn new(body: impl Into<Cow<'a, str>>) -> Self {
        Self {
            body: body.into(),
            texts: Vec::new(),
            has_more: false,
            cut_by: None,
            is_in_file: false,
        }
    }

    /// Takes a value that is a text; whether it is one.
    ///
    /// `body` is the text that `raw` is a slice of, in this and all that follow.
    pub(super) fn value(&mut self, body: &str, raw: &str, mime_type: Option<String>) -> bool {
        let Some(text) = text(raw).or_else(|| text(&without_halves(raw)?)) else { return false };
        self.add(body, raw, text.into_bytes(), mime_type);
        true
    }

    /// Takes a value of any type, to be stored as it is written.
    pub(super) fn json(&mut self, body: &str, raw: &str) {
        self.add(body, raw, raw.as_bytes().to_vec(), Some(JSON.to_owned()));
    }

    fn add(&mut self, body: &str, raw: &str, content: Vec<u8>, mime_type: Option<String>) {
        let standing = Standing::Untold;
        let result =
            ToolResult { content: content.into(), mime_type, standing, ..ToolResult::default() };
        self.texts.push(Text { at: span(body, raw), result, around: ("", "") });
    }

    /// Takes the texts of content blocks.
    pub(super) fn blocks(&mut self, body: &str, blocks: &[&str]) {
        for raw in blocks {
            let Some(block) = Object::parse(raw) else {
                self.has_more = true;
                continue;
            };
            let taken = match block.text("type").as_deref() {
                Some("text") => block.get("text").is_some_and(|raw| self.value(body, raw, None)),
                Some("resource") => block.object("resource").is_some_and(|resource| {
                    let raw = resource.get("text");
                    raw.is_some_and(|raw| self.value(body, raw, resource.text("mimeType")))
                }),
                _ => false,
            };
            self.has_more |= !taken;
        }
    }

    /// Takes what an MCP server returned, in any of the forms in which hosts pass it on: a text, blocks,
    /// or an object that holds blocks.
    pub(super) fn mcp(&mut self, body: &str, raw: &str) {
        if self.value(body, raw, None) {
            return;
        }
        if let Some(blocks) = splice::blocks(raw) {
            return self.blocks(body, &blocks);
        }
        let content = Object::parse(raw).and_then(|result| splice::blocks(result.get("content")?));
        match content {
            Some(blocks) => self.blocks(body, &blocks),
            None => self.has_more = true,
        }
    }

    /// The body with stubs in it.
    pub(super) fn patches(&self, stubs: &[Option<&Replacement>]) -> Patches<'_> {
        let mut patches = Patches::new(&self.body);
        for (text, stub) in self.texts.iter().zip(stubs) {
            if let Some(stub) = stub {
                let stub = Value::from(self.noted(&stub.stub)).to_string();
                patches.replace(&self.body[text.at.clone()], stub);
            }
        }
        patches
    }

    /// All texts, one behind the other, with the stubs in the place of what they stand for.
    pub(super) fn joined(&self, stubs: &[Option<&Replacement>]) -> String {
        let mut joined = String::new();
        for (text, stub) in self.texts.iter().zip(stubs) {
            if !joined.is_empty() {
                joined.push('\n');
            }
            let (before, behind) = text.around;
            joined.push_str(before);
            match stub {
                Some(stub) => joined.push_str(&stub.stub),
                None => joined.push_str(&String::from_utf8_lossy(&text.result.content)),
            }
            joined.push_str(behind);
        }
        self.noted(&joined)
    }

    /// Whether a stub is shorter than the text that it would replace, with all that it says.
    pub(super) fn is_shorter(&self, stub: &Replacement, text: &Text) -> bool {
        count_chars(self.noted(&stub.stub).as_bytes()) < count_chars(&text.result.content)
    }

    /// A stub that says so where more was cut than it knows of.
    fn noted(&self, stub: &str) -> String {
        match self.cut_by {
            Some(host) => format!(
                "{stub}\nNote:\n- original incomplete: {host} cut this output before it could be stored; \
                 run the tool again for less at a time if the rest is needed\n"
            ),
            None => stub.to_owned(),
        }
    }
}

/// A string as it is written, with U+FFFD for each half of a surrogate pair whose other half is missing: hosts
/// that cut by units of UTF-16 leave such. `None` where there is none.
fn without_halves(raw: &str) -> Option<String> {
    let unit = |at: usize| {
        let digits = raw.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut mended, mut at, mut kept) = (String::new(), 0, 0);
    while let Some(found) = raw[at..].find('\\') {
        at += found;
        let is_high = |unit: u16| (0xD800..0xDC00).contains(&unit);
        let is_low = |unit: u16| (0xDC00..0xE000).contains(&unit);
        match unit(at) {
            Some(high) if is_high(high) && unit(at + 6).is_some_and(is_low) => at += 12,
            Some(half) if is_high(half) || is_low(half) => {
                mended.push_str(&raw[kept..at]);
                mended.push_str("\\ufffd");
                at += 6;
                kept = at;
            }
            Some(_) => at += 6,
            // What is escaped is one character, of whatever length.
            None => at += 1 + raw[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    if kept == 0 {
        return None;
    }
    mended.push_str(&raw[kept..]);
    Some(mended)
}

/// Reads the file in which a host has put the whole of a result. It has to be as long as the host says, in
/// bytes or in units of UTF-16, or it is not the whole.
pub(super) fn whole(path: &str, size: Option<u64>) -> Result<Vec<u8>, Failure> {
    read(Path::new(path), size)
        .with_context(|| format!("cannot use what the host has put into {path}"))
        .map_err(Failure::input)
}

fn read(path: &Path, size: Option<u64>) -> anyhow::Result<Vec<u8>> {
    if !path.is_absolute() {
        return Err(anyhow!("it is no absolute path"));
    }
    // A pipe would keep the host waiting, a device has no end, and a link leads to what is not the host's.
    let refused = || anyhow!("it is no file of at most {LARGEST} bytes");
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(refused());
    }
    let file = open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || about.len() > LARGEST {
        return Err(refused());
    }
    let mut bytes = Vec::with_capacity(about.len() as usize);
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != about.len() {
        return Err(anyhow!("it changes while it is read"));
    }
    let units = || std::str::from_utf8(&bytes).map(|text| text.encode_utf16().count() as u64);
    if size.is_some_and(|size| size != about.len() && units() != Ok(size)) {
        return Err(anyhow!("it is not the whole: its length is not the one that the host tells"));
    }
    Ok(bytes)
}

/// Opens what is a file still; anything else neither blocks nor is followed.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;

        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is_mended(raw: &str, expected: Option<&str>) {
        assert_eq!(without_halves(raw).as_deref(), expected, "{raw}");
    }

    #[test]
    fn half_of_a_surrogate_pair_is_mended() {
        is_mended(r#""a\ud83e""#, Some(r#""a\ufffd""#));
        is_mended(r#""\udd80a\uD83E\uDD80""#, Some(r#""\ufffda\uD83E\uDD80""#));
        is_mended(r#""\ud83e\ud83e\udd80""#, Some(r#""\ufffd\ud83e\udd80""#));
        is_mended(r#""\ud83e\n\udd80""#, Some(r#""\ufffd\n\ufffd""#));
        for raw in [
            r#""""#,
            r#""\\ud83e""#,
            r#""\u00e9\ud83e\udd80""#,
            r#""\ud8""#,
            r#""\é""#,
            r#""\u+800""#,
            "\\",
        ] {
            is_mended(raw, None);
        }
    }
}
