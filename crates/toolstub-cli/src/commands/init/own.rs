//! What is ours in a host's file: what runs this program with the words that `init` writes, and no others.

use std::fs;
use std::path::Path;

use super::entry::NAME;

/// This program, as the files of a host name it.
#[derive(Debug, Clone)]
pub(super) struct Own {
    pub(super) path: String,
    pub(super) host: &'static str,
}

impl Own {
    /// Whether a shell that is given a command calls our hook, and does nothing else.
    pub(super) fn is_hook(&self, command: &str) -> bool {
        let Some(words) = words(command) else { return false };
        self.is_call(&words, &["hook", self.host], &["--threshold", "--tail-tool"], &[])
    }

    /// Whether a command that is not ours may call the hook all the same.
    pub(super) fn is_like_hook(&self, command: &str) -> bool {
        let names_it = command.contains(NAME) || command.contains(file_name(&self.path));
        names_it && command.contains(&format!(" hook {}", self.host)) && !self.is_hook(command)
    }

    /// Whether a program and its arguments are the server of the retrieval tools.
    pub(super) fn is_server(&self, words: &[String]) -> bool {
        self.is_call(words, &["mcp"], &[], &["--stub-tool"])
    }

    /// Whether words are this program, what holds for all of it, `command`, and options of that.
    fn is_call(&self, words: &[String], command: &[&str], valued: &[&str], bare: &[&str]) -> bool {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Some((program, rest)) = words.split_first() else { return false };
        let mut rest = rest;
        while let ["--store" | "--session" | "--event" | "--fsync", _, behind @ ..] = rest {
            rest = behind;
        }
        let Some(mut rest) = rest.strip_prefix(command) else { return false };
        loop {
            rest = match rest {
                [] => return self.is_program(program),
                [option, rest @ ..] if bare.contains(option) => rest,
                [option, _, rest @ ..] if valued.contains(option) => rest,
                _ => return false,
            };
        }
    }

    /// Whether a path leads to this program, or to where it was once.
    fn is_program(&self, path: &str) -> bool {
        let name = file_name(path);
        let is_same = |one: &Path, other: &Path| {
            let both = (fs::canonicalize(one), fs::canonicalize(other));
            one.is_absolute() && other.is_absolute() && matches!(both, (Ok(a), Ok(b)) if a == b)
        };
        name == file_name(&self.path)
            || is_named(name)
            || is_same(Path::new(path), Path::new(&self.path))
    }
}

fn file_name(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    name.strip_suffix(".exe").unwrap_or(name)
}

/// Whether a file has the name of the program, or that and a version.
fn is_named(name: &str) -> bool {
    name.strip_prefix(NAME).is_some_and(|rest| {
        let version = rest.trim_start_matches(['-', '_', '@', '.', 'v']);
        rest.is_empty() || version.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// The words of a command; `None` if a shell would do more than call a program with them.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' if c == '"' || !cfg!(windows) => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' if c == '"' && !cfg!(windows) => return None,
                        inner => word.push(inner),
                    }
                }
            }
            '\\' if !cfg!(windows) => word.get_or_insert_default().push(chars.next()?),
            ';' | '&' | '|' | '<' | '>' | '(' | ')' | '$' | '`' | '#' | '\n' => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is_ours(path: &str, command: &str, expected: bool) {
        let own = Own { path: path.to_owned(), host: "claude" };
        assert_eq!(own.is_hook(command), expected, "{command}");
    }

    #[test]
    fn hook_is_ours_by_the_words_that_are_written() {
        for path in ["/usr/bin/toolstub", "/usr/bin/ts"] {
            is_ours(path, "/old/toolstub hook claude", true);
            is_ours(path, "/old/toolstub-1.2.0 hook claude", true);
            is_ours(path, "toolstub --store s3://a/b hook claude --threshold 5", true);
            is_ours(path, "toolstub hook claude --threshold 5 --tail-tool x", true);
            is_ours(path, "toolstub --session a --event b --fsync false hook claude", true);
            is_ours(path, "toolstub --json hook claude", false);
            is_ours(path, "toolstub hook codex", false);
            is_ours(path, "toolstub hook claude --log", false);
            is_ours(path, "toolstub hook claude; rm x", false);
            is_ours(path, "toolstub hook claude --threshold $N", false);
            is_ours(path, "A=1 toolstub hook claude", false);
            is_ours(path, "cd /src/toolstub && ./my hook claude --log", false);
            is_ours(path, "toolstub-audit hook claude", false);
            is_ours(path, "rtk hook claude", false);
            is_ours(path, "toolstub 'hook claude", false);
            is_ours(path, "", false);
        }
        is_ours("/usr/bin/ts", "/usr/bin/ts hook claude", true);
        is_ours("/usr/bin/ts", "/old/ts hook claude", true);
        is_ours("/usr/bin/toolstub", "/usr/bin/ts hook claude", false);
    }

    #[test]
    #[cfg(unix)]
    fn words_are_those_of_a_shell() {
        is_ours("/a b/ts", "'/a b/ts' hook claude", true);
        is_ours("/it's/ts", r"'/it'\''s/ts' hook claude", true);
        is_ours("/a b/ts", "\"/a b/ts\" hook claude", true);
        is_ours("/a/ts", "/a/ts 'hook claude'", false);
        is_ours("/a/ts", "/a/ts --store '$(x)' hook claude", true);
    }

    #[test]
    fn server_is_ours_by_its_arguments() {
        let own = Own { path: "/usr/bin/toolstub".to_owned(), host: "claude" };
        for (words, expected) in [
            ("toolstub mcp", true),
            ("toolstub --store x mcp --stub-tool", true),
            ("toolstub --store x --session y mcp", true),
            ("toolstub proxy -- npx server", false),
            ("toolstub proxy -- toolstub mcp", false),
            ("toolstub mcp --verbose", false),
            ("toolstub serve", false),
            ("toolstub", false),
            ("npx mcp", false),
        ] {
            let list: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(own.is_server(&list), expected, "{words}");
        }
    }
}
