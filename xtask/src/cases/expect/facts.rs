//! Facts that a synopsis must state, by name.

use serde_json::Value;

use super::{Held, brief};
use crate::cases::subject::Said;

/// Holds every fact of an object.
pub(super) fn hold(wanted: &Value, said: &Said) -> Held {
    let Some(facts) = wanted.as_object() else {
        return Held::No("facts are not an object".to_owned());
    };
    let lines = Lines::of(said);
    for (name, wanted) in facts {
        let held = match name.as_str() {
            "rows" => lines.number(wanted, &["rows"], None),
            "columns" => lines.number(wanted, &["column_count"], None),
            "array_len" => lines.number(wanted, &["array length"], None),
            "chars" => lines.number(wanted, &["Characters", "original_chars"], None),
            "words" => lines.number(wanted, &["Words"], None),
            "lines" => lines.number(wanted, &["Lines", "line_count"], None),
            "attributes" => lines.number(wanted, &["attributes"], None),
            // One document, one value, nothing trailing: the usual goes without saying.
            "documents" => lines.number(wanted, &["documents"], Some(1)),
            "records" => lines.number(wanted, &["json_values"], Some(1)),
            "trailing_chars" => {
                lines.number(wanted, &["trailing_chars_after_first_json_value"], Some(0))
            }
            "key_count" => lines.key_count(wanted),
            "column_names" => lines.names(wanted, "columns"),
            "top_level_keys" => lines.names(wanted, "top-level keys"),
            "root" => lines.root(wanted),
            "children" => lines.children(wanted),
            _ => return Held::No(format!("unknown fact `{name}`")),
        };
        if let Err(found) = held {
            return Held::No(format!("{name} is {found}, not {}", brief(wanted)));
        }
    }
    Held::Yes
}

/// The lines in which a fact can stand.
struct Lines<'a> {
    lines: Vec<&'a str>,
}

impl<'a> Lines<'a> {
    fn of(said: &'a Said) -> Self {
        let synopsis = &said.synopsis;
        let header = said.stub.lines().take_while(|line| !line.is_empty());
        let body = [&synopsis.summary, &synopsis.structure, &synopsis.notable_items];
        let lines = body.into_iter().flatten().map(String::as_str).chain(header);
        Self { lines: lines.collect() }
    }

    /// What stands after a label.
    fn value(&self, label: &str) -> Option<&'a str> {
        let after = |line: &&'a str| line.strip_prefix(label)?.strip_prefix(": ").map(str::trim);
        self.lines.iter().find_map(after)
    }

    /// Holds a number to the first label that is there, or to what goes without saying.
    fn number(&self, wanted: &Value, labels: &[&str], silent: Option<u64>) -> Result<(), String> {
        let found = labels.iter().find_map(|label| self.value(label));
        let found = found.map(|found| found.trim_end_matches('.').to_owned());
        let found = found.or_else(|| silent.map(|silent| silent.to_string()));
        let found = found.ok_or("not stated")?;
        if is_number(&found, wanted) { Ok(()) } else { Err(found) }
    }

    fn key_count(&self, wanted: &Value) -> Result<(), String> {
        if self.value("key_count").is_some() {
            return self.number(wanted, &["key_count"], None);
        }
        let shape = self.value("shape").unwrap_or_default();
        let keys = shape.strip_prefix("object(keys=").unwrap_or_default();
        let keys: String = keys.chars().take_while(char::is_ascii_digit).collect();
        if is_number(&keys, wanted) { Ok(()) } else { Err(format!("stated as `{shape}`")) }
    }

    /// Holds a list of names, which may be cut where it says how many are left out.
    fn names(&self, wanted: &Value, label: &str) -> Result<(), String> {
        let names: Option<Vec<&str>> =
            wanted.as_array().and_then(|names| names.iter().map(Value::as_str).collect());
        let names = names.ok_or("not a list of names")?;
        let said = self.value(label).ok_or("not stated")?;
        let cut = said.rsplit_once(" (+").and_then(|(shown, more)| {
            Some((shown, more.strip_suffix(" more)")?.parse::<usize>().ok()?))
        });
        let shown_count = names.len().saturating_sub(cut.map_or(0, |(_, more)| more));
        let expected = names[..shown_count].join(", ");
        let shown = cut.map_or(said, |(shown, _)| shown);
        if shown == expected { Ok(()) } else { Err(format!("`{said}`")) }
    }

    /// Holds the root's local name.
    fn root(&self, wanted: &Value) -> Result<(), String> {
        let root = self.value("root").ok_or("not stated")?;
        let local = root.rsplit_once(':').map_or(root, |(_, local)| local);
        let wanted = wanted.as_str();
        if wanted == Some(root) || wanted == Some(local) { Ok(()) } else { Err(root.to_owned()) }
    }

    /// Holds how often tags occur, by their local names.
    fn children(&self, wanted: &Value) -> Result<(), String> {
        for (tag, count) in wanted.as_object().ok_or("not an object")? {
            let line = format!("{tag}: {count}");
            let stated = self.lines.iter().any(|said| {
                said.strip_suffix(line.as_str()).is_some_and(|prefix| {
                    prefix.is_empty() || (prefix.ends_with(':') && !prefix.contains(' '))
                })
            });
            if !stated {
                return Err(format!("without `{line}`"));
            }
        }
        Ok(())
    }
}

fn is_number(said: &str, wanted: &Value) -> bool {
    wanted.as_u64().is_some_and(|wanted| said.parse() == Ok(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolstub_core::Kind;

    #[track_caller]
    fn holds(structure: &[&str], wanted: &Value, expected: bool) {
        let synopsis = toolstub_core::Synopsis {
            kind: Kind::Text,
            title: String::new(),
            summary: Vec::new(),
            structure: structure.iter().map(|&line| line.to_owned()).collect(),
            notable_items: Vec::new(),
            sample: String::new(),
        };
        let stub = "[tool result]\noriginal_chars: 70\n\n- rows: 9\n".to_owned();
        let said = Said { kind: Kind::Text, synopsis, stub, receipt: None };
        assert_eq!(matches!(hold(wanted, &said), Held::Yes), expected, "{wanted}");
    }

    #[test]
    fn numbers_are_held_to_their_lines() {
        holds(&["rows: 12"], &json!({"rows": 12}), true);
        holds(&["rows: 12"], &json!({"rows": 13}), false);
        holds(&["Lines: 7."], &json!({"lines": 7, "chars": 70}), true);
        holds(&["first rows: 12"], &json!({"rows": 12}), false);
        holds(&["rows: many"], &json!({"rows": "many"}), false);
    }

    #[test]
    fn the_usual_goes_without_saying() {
        holds(&[], &json!({"documents": 1, "records": 1, "trailing_chars": 0}), true);
        holds(&[], &json!({"documents": 2}), false);
        holds(&["documents: 2"], &json!({"documents": 1}), false);
    }

    #[test]
    fn keys_are_counted_or_read_off_the_shape() {
        holds(&["key_count: 3"], &json!({"key_count": 3}), true);
        holds(&["shape: object(keys=12: a, b)"], &json!({"key_count": 12}), true);
        holds(&["shape: object(keys=12: a, b)"], &json!({"key_count": 1}), false);
    }

    #[test]
    fn names_may_be_cut_where_the_rest_is_counted() {
        let wanted = json!({"column_names": ["id", "name, full", "qty"]});
        holds(&["columns: id, name, full, qty"], &wanted, true);
        holds(&["columns: id, name, full (+1 more)"], &wanted, true);
        holds(&["columns: id (+1 more)"], &wanted, false);
        holds(&["columns: id, name"], &wanted, false);
    }

    #[test]
    fn prefixes_of_tags_do_not_matter() {
        let wanted = json!({"root": "feed", "children": {"entry": 2, "title": 1}});
        holds(&["root: a:feed", "a:entry: 2", "title: 1"], &wanted, true);
        holds(&["root: feed", "reentry: 2", "title: 1"], &wanted, false);
    }

    #[test]
    fn fact_that_is_not_known_fails() {
        holds(&["rows: 12"], &json!({"height": 12}), false);
    }
}
