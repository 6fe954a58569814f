//! What changed between two bodies, and which cases changed alike.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use similar::{ChangeTag, TextDiff};

/// One change of words: what stood there, and what stands there now.
///
/// Numbers are shown as `#` where a change is in numbers only, so that a count that moves in
/// every case is one change.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edit {
    old: String,
    new: String,
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.old.as_str(), self.new.as_str()) {
            ("", new) => write!(f, "added `{new}`"),
            (old, "") => write!(f, "removed `{old}`"),
            (old, new) => write!(f, "`{old}` is now `{new}`"),
        }
    }
}

/// Cases that changed by the same edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) edits: BTreeSet<Edit>,
    pub(super) cases: Vec<String>,
}

/// Groups cases by their edits, the largest group first.
pub(super) fn group(changes: &[(String, BTreeSet<Edit>)]) -> Vec<Group> {
    let mut groups: BTreeMap<&BTreeSet<Edit>, Vec<String>> = BTreeMap::new();
    for (case, edits) in changes {
        groups.entry(edits).or_default().push(case.clone());
    }
    let mut groups: Vec<Group> =
        groups.into_iter().map(|(edits, cases)| Group { edits: edits.clone(), cases }).collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.cases.len()));
    groups
}

/// The edits that lead from one body to another. Sizes and digests of stubs follow from the rest
/// and are no edits.
pub(super) fn edits(old: &str, new: &str) -> BTreeSet<Edit> {
    let mut edits = BTreeSet::new();
    let diff = TextDiff::from_lines(old, new);
    for op in diff.ops() {
        let mut lines = (Vec::new(), Vec::new());
        for change in diff.iter_changes(op) {
            let line = change.value().trim_end_matches('\n');
            if line.starts_with("== ") {
                continue;
            }
            match change.tag() {
                ChangeTag::Delete => lines.0.push(line),
                ChangeTag::Insert => lines.1.push(line),
                ChangeTag::Equal => {}
            }
        }
        pair(&lines.0, &lines.1, &mut edits);
    }
    edits
}

/// Pairs the lines of a hunk in order; lines without a partner are edits of their own.
fn pair(old: &[&str], new: &[&str], edits: &mut BTreeSet<Edit>) {
    for index in 0..old.len().max(new.len()) {
        match (old.get(index), new.get(index)) {
            (Some(old), Some(new)) => edits.extend(words(old, new)),
            (old, new) => {
                let line = |line: Option<&&str>| line.map_or(String::new(), |line| hide(line));
                edits.insert(Edit { old: line(old), new: line(new) });
            }
        }
    }
}

/// The words that changed between two lines; the whole lines where hardly a word stayed.
fn words(old: &str, new: &str) -> Vec<Edit> {
    if old == new {
        return Vec::new();
    }
    let diff = TextDiff::from_words(old, new);
    let mut found = vec![Edit { old: String::new(), new: String::new() }];
    let mut stayed = 0;
    for change in diff.iter_all_changes() {
        let word = change.value();
        let last = found.len() - 1;
        match change.tag() {
            ChangeTag::Delete => found[last].old.push_str(word),
            ChangeTag::Insert => found[last].new.push_str(word),
            // A blank between two changed words belongs to the change.
            ChangeTag::Equal if word.trim().is_empty() && found[last] != Edit::default() => {
                found[last].old.push_str(word);
                found[last].new.push_str(word);
            }
            ChangeTag::Equal => {
                stayed += word.len();
                if found[last] != Edit::default() {
                    found.push(Edit::default());
                }
            }
        }
    }
    if stayed * 4 < old.len().min(new.len()) {
        return vec![Edit::new(old, new)];
    }
    found.retain(|edit| *edit != Edit::default());
    found.iter().map(|edit| Edit::new(edit.old.trim(), edit.new.trim())).collect()
}

impl Edit {
    fn new(old: &str, new: &str) -> Self {
        if hide(old) == hide(new) {
            return Self { old: hide(old), new: "another number".to_owned() };
        }
        Self { old: old.to_owned(), new: new.to_owned() }
    }
}

/// A line with every number as `#`.
fn hide(line: &str) -> String {
    let mut hidden = String::new();
    for c in line.chars() {
        if !c.is_ascii_digit() {
            hidden.push(c);
        } else if !hidden.ends_with('#') {
            hidden.push('#');
        }
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(old: &str, new: &str, expected: &[&str]) {
        let said: Vec<_> = edits(old, new).iter().map(ToString::to_string).collect();
        assert_eq!(said, expected);
    }

    #[test]
    fn a_word_is_an_edit_whatever_stands_around_it() {
        finds("- rows: 12\n", "- data rows: 12\n", &["added `data`"]);
        finds(
            "- first row: a, b\n",
            "- row sample: a, b\n",
            &["`first row:` is now `row sample:`"],
        );
    }

    #[test]
    fn changes_in_numbers_only_are_one_edit() {
        let expected = ["`#` is now `another number`"];
        finds("- rows: 12\n", "- rows: 13\n", &expected);
        finds("- rows: 7\n", "- rows: 4711\n", &expected);
    }

    #[test]
    fn lines_without_a_partner_are_edits() {
        finds("a\n", "a\n- header: none\n", &["added `- header: none`"]);
        finds("a\n- rows: 12\n", "a\n", &["removed `- rows: #`"]);
    }

    #[test]
    fn sizes_and_digests_are_no_edits() {
        finds("== typed: 12 chars, ab\nx\n", "== typed: 14 chars, cd\nx\n", &[]);
    }

    #[test]
    fn cases_that_changed_alike_are_a_group_and_the_largest_comes_first() {
        let change = |case: &str, old: &str, new: &str| (case.to_owned(), edits(old, new));
        let groups = group(&[
            change("csv/a", "- odd\n", "- even\n"),
            change("csv/b", "- rows: 1\n", "- data rows: 1\n"),
            change("csv/c", "- rows: 2, x\n", "- data rows: 2, x\n"),
        ]);
        let cases: Vec<_> = groups.iter().map(|group| group.cases.join(" ")).collect();
        assert_eq!(cases, ["csv/b csv/c", "csv/a"]);
    }
}
