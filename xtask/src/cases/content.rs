//! What a step works on: a file, words, or a part of either.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use super::integer::integer;

/// How long a content may get that is made by filling, in characters.
const MAX_FILL: usize = 200_000_000;

/// Where contents come from.
#[derive(Debug, Default)]
pub(super) struct Sources {
    /// The files of the case, by name.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// The stubs left for earlier parts, by name.
    pub(super) stubs: BTreeMap<String, String>,
}

impl Sources {
    /// Reads the case's files.
    pub(super) fn read(files: &[(String, &Path)]) -> std::io::Result<Self> {
        let read = |(name, path): &(String, &Path)| Ok((name.clone(), std::fs::read(path)?));
        let files: std::io::Result<_> = files.iter().map(read).collect();
        Ok(Self { files: files?, ..Self::default() })
    }

    /// The content that a spec describes.
    pub(super) fn content(&self, spec: &Value) -> Result<Vec<u8>, String> {
        let spec = spec.as_object().ok_or("a content is an object")?;
        let fields: Vec<&str> = spec.keys().map(String::as_str).collect();
        let has = |names: &[&str]| fields.iter().all(|field| names.contains(field));
        match spec {
            _ if spec.contains_key("file") && has(&["file"]) => self.file(text(spec, "file")?),
            _ if spec.contains_key("text") && has(&["text"]) => Ok(text(spec, "text")?.into()),
            _ if spec.contains_key("fill") && has(&["fill", "chars", "prefix"]) => fill(spec),
            _ if spec.contains_key("slice_of") && has(&["slice_of", "offset", "limit"]) => {
                let file = self.file(text(spec, "slice_of")?)?;
                let (offset, limit) = (count(spec, "offset")?, count(spec, "limit")?);
                let slice = String::from_utf8_lossy(&file);
                Ok(slice.chars().skip(offset).take(limit).collect::<String>().into())
            }
            _ if spec.contains_key("stub_prefix_of") && has(&["stub_prefix_of", "then"]) => {
                let name = text(spec, "stub_prefix_of")?;
                let stub = self.stubs.get(name).ok_or(format!("there is no stub of {name}"))?;
                let then = spec.get("then").ok_or("`stub_prefix_of` wants `then`")?;
                // One level only: a stub's prefix of a stub's prefix is not in the vocabulary.
                if then.get("stub_prefix_of").is_some() {
                    return Err("`stub_prefix_of` stands inside another".to_owned());
                }
                Ok([stub.as_bytes(), &self.content(then)?].concat())
            }
            _ => Err(format!("unknown content {}", Value::Object(spec.clone()))),
        }
    }

    fn file(&self, name: &str) -> Result<Vec<u8>, String> {
        self.files.get(name).cloned().ok_or(format!("the case has no file {name}"))
    }
}

/// A prefix, then a unit repeated, cut to a number of characters in all.
fn fill(spec: &Map<String, Value>) -> Result<Vec<u8>, String> {
    let unit = text(spec, "fill")?;
    let chars = count(spec, "chars")?;
    if unit.is_empty() || chars > MAX_FILL {
        return Err(format!("cannot fill {chars} characters with {unit:?}"));
    }
    let prefix = if spec.contains_key("prefix") { text(spec, "prefix")? } else { "" };
    let filled = prefix.chars().chain(unit.chars().cycle()).take(chars);
    Ok(filled.collect::<String>().into())
}

fn text<'a>(spec: &'a Map<String, Value>, field: &str) -> Result<&'a str, String> {
    spec.get(field).and_then(Value::as_str).ok_or(format!("`{field}` is a string"))
}

fn count(spec: &Map<String, Value>, field: &str) -> Result<usize, String> {
    let value = spec.get(field).ok_or(format!("`{field}` is missing"))?;
    usize::try_from(integer(value)?).map_err(|_| format!("`{field}` is a count"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn makes(spec: &Value, expected: Result<&str, &str>) {
        let mut sources = Sources::default();
        sources.files.insert("a.txt".to_owned(), "aé🎯b".into());
        sources.stubs.insert("p".to_owned(), "[stub]\n".to_owned());
        let made = sources.content(spec).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(made.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn contents_are_counted_in_characters() {
        makes(&json!({"file": "a.txt"}), Ok("aé🎯b"));
        makes(&json!({"text": ""}), Ok(""));
        makes(&json!({"fill": "記録", "chars": 5, "prefix": "x"}), Ok("x記録記録"));
        makes(&json!({"fill": "ab", "chars": 1, "prefix": "xyz"}), Ok("x"));
        makes(&json!({"slice_of": "a.txt", "offset": 1, "limit": 2}), Ok("é🎯"));
        makes(&json!({"stub_prefix_of": "p", "then": {"text": "t"}}), Ok("[stub]\nt"));
    }

    #[test]
    fn content_that_is_not_known_is_refused() {
        makes(&json!({"file": "b.txt"}), Err("the case has no file b.txt"));
        makes(&json!({"text": "t", "twice": 1}), Err(r#"unknown content {"text":"t","twice":1}"#));
        makes(&json!({"url": "x"}), Err(r#"unknown content {"url":"x"}"#));
    }
}
