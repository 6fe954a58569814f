//! Words of schemas, queries and builds.

use super::{Votes, Words, ends, has, is_call, is_path, starts};
use crate::code::language::Language::{CMake, Dockerfile, Groovy, Hcl, Makefile, Protobuf, Sql};
use crate::code::words::word;

/// Adds what the first word of a line says. True if it says anything here.
pub(super) fn clues(words: &Words<'_>, votes: &mut Votes) -> bool {
    let Words { first, text, rest, behind, semicolon, brace, .. } = *words;
    match first {
        b"syntax" if starts(rest, "= \"proto") && semicolon => votes.add(Protobuf, 20),
        b"message" | b"service" if brace && rest.len() < 80 && behind == b"{" => {
            votes.add(Protobuf, 3);
        }
        b"rpc" if is_call(rest) && has(rest, "returns") => votes.add(Protobuf, 4),
        b"rpc" if is_call(rest) => votes.add(Protobuf, 2),
        b"option" if semicolon && has(rest, "=") => votes.add(Protobuf, 3),
        b"repeated" | b"optional" | b"required" if semicolon && has(rest, " = ") => {
            votes.add(Protobuf, 3);
        }
        b"resource" | b"variable" | b"provider" | b"output" | b"terraform" | b"locals"
        | b"data"
            if brace && (starts(rest, "\"") || rest == b"{") =>
        {
            votes.add(Hcl, 4);
        }
        b"cmake_minimum_required"
        | b"add_library"
        | b"add_executable"
        | b"target_link_libraries"
        | b"find_package"
        | b"endif"
        | b"endforeach"
        | b"endfunction"
        | b"endmacro"
        | b"project"
        | b"set_target_properties"
        | b"install"
        | b"macro"
            if starts(rest, "(") && !semicolon =>
        {
            votes.add(CMake, 2);
        }
        b"SET" | b"set" if starts(rest, "(") && !has(rest, ",") && !semicolon => {
            votes.add(CMake, 2);
        }
        b"mark_as_advanced" | b"unset" | b"list" | b"string" | b"message" | b"function"
        | b"include"
            if !ends(text, ",")
                && text[first.len()..].starts_with(b"(")
                && !has(rest, ", ")
                && !semicolon
                && !brace
                && !has(rest, "$_") =>
        {
            votes.add(CMake, 2);
        }
        b"if" | b"else" | b"elseif"
            if text[first.len()..].starts_with(b"(")
                && ends(text, ")")
                && (has(rest, "(NOT ")
                    || has(rest, " STREQUAL ")
                    || has(rest, " MATCHES ")
                    || rest == b"()"
                    || has(rest, "(TARGET ")
                    || is_path(&rest[1..rest.len() - 1], b"")) =>
        {
            votes.add(CMake, 2);
        }
        b"FROM" | b"RUN" | b"COPY" | b"WORKDIR" | b"ENTRYPOINT" | b"CMD" | b"ENV" | b"EXPOSE"
        | b"ARG" | b"ADD" | b"USER" | b"VOLUME" | b"LABEL" | b"HEALTHCHECK"
            if text.get(first.len()) == Some(&b' ') =>
        {
            docker(first, rest, votes);
        }
        b"ifeq" | b"ifneq" | b"ifdef" | b"ifndef" | b"endef" | b"endif" | b"define"
        | b"include"
            if rest.is_empty()
                || rest.starts_with(b"(") && has(rest, "$")
                || is_path(rest, b"-./$()") =>
        {
            votes.add(Makefile, if starts(rest, "(") { 3 } else { 1 });
        }
        b"apply" if starts(rest, "plugin:") => votes.add(Groovy, 4),
        b"implementation" | b"compile" | b"classpath" | b"testImplementation" | b"api"
            if !semicolon
                && (starts(rest, "'")
                    || starts(rest, "\"")
                    || starts(rest, "project(")
                    || starts(rest, "(\"")) =>
        {
            votes.add(Groovy, 3);
        }
        b"dependencies" | b"repositories" | b"android" | b"plugins" | b"buildscript"
            if rest == b"{" =>
        {
            votes.add(Groovy, 3);
        }
        _ => return false,
    }
    true
}

fn docker(first: &[u8], rest: &[u8], votes: &mut Votes) {
    let fine = match first {
        b"FROM" => {
            let image = rest.split(|&b| b == b' ').next().unwrap_or_default();
            let behind = rest[image.len()..].trim_ascii();
            let named = behind.is_empty()
                || behind.to_ascii_lowercase().starts_with(b"as ")
                || image.starts_with(b"--");
            named && !image.is_empty() && !image.ends_with(b",") && !image.ends_with(b";")
        }
        b"WORKDIR" => starts(rest, "/") || starts(rest, "$"),
        b"EXPOSE" => rest.first().is_some_and(|b| b.is_ascii_digit() || *b == b'$'),
        b"CMD" | b"ENTRYPOINT" => {
            starts(rest, "[") || rest.first().is_some_and(u8::is_ascii_lowercase)
        }
        b"ENV" | b"ARG" | b"LABEL" => !rest.is_empty() && rest.first() != Some(&b'='),
        _ => rest.first().is_some_and(|b| b.is_ascii_lowercase() || b"-./[$\"".contains(b)),
    };
    if fine {
        votes.add(Dockerfile, if first == b"FROM" { 3 } else { 2 });
    }
}

pub(super) fn sql(first: &[u8], text: &[u8], rest: &[u8], votes: &mut Votes) {
    let upper = first.to_ascii_uppercase();
    let next = word(rest).to_ascii_uppercase();
    let is = |words: &[&[u8]]| words.contains(&next.as_slice());
    let exact = first == upper;
    let points = match upper.as_slice() {
        b"CREATE" => {
            4 * u32::from(
                is(&[
                    b"TABLE",
                    b"OR",
                    b"INDEX",
                    b"UNIQUE",
                    b"VIEW",
                    b"FUNCTION",
                    b"TYPE",
                    b"TRIGGER",
                    b"SEQUENCE",
                    b"SCHEMA",
                    b"TEMP",
                    b"TEMPORARY",
                    b"PROCEDURE",
                    b"EXTENSION",
                    b"DATABASE",
                    b"UNLOGGED",
                    b"MATERIALIZED",
                    b"DOMAIN",
                    b"ROLE",
                    b"POLICY",
                    b"OPERATOR",
                    b"AGGREGATE",
                    b"CAST",
                    b"COLLATION",
                    b"CONVERSION",
                    b"PUBLICATION",
                    b"RULE",
                    b"STATISTICS",
                    b"TABLESPACE",
                    b"TEXT",
                    b"VIRTUAL",
                ]) && (exact
                    || ends(text, ";")
                    || ends(text, "(")
                    || ends(text, "AS")
                    || ends(text, "as")),
            )
        }
        b"INSERT" => 4 * u32::from(is(&[b"INTO", b"OR", b"OVERWRITE"])),
        b"ALTER" | b"DROP" => {
            3 * u32::from(
                is(&[
                    b"TABLE",
                    b"INDEX",
                    b"VIEW",
                    b"FUNCTION",
                    b"TYPE",
                    b"SEQUENCE",
                    b"SCHEMA",
                    b"DATABASE",
                    b"EXTENSION",
                    b"TRIGGER",
                    b"OPERATOR",
                    b"ROLE",
                    b"USER",
                    b"PROCEDURE",
                    b"AGGREGATE",
                    b"CAST",
                    b"DOMAIN",
                    b"MATERIALIZED",
                    b"POLICY",
                    b"RULE",
                    b"TEXT",
                ]) && (exact || ends(text, ";")),
            )
        }
        b"SELECT" => {
            2 * u32::from(exact || ends(text, ";") && (has(text, " from ") || has(text, " FROM ")))
        }
        b"UPDATE" => 3 * u32::from(has(text, " SET ") || has(text, " set ") && ends(text, ";")),
        b"DELETE" | b"TRUNCATE" => {
            2 * u32::from(is(&[b"FROM", b"TABLE"]) && (exact || ends(text, ";")))
        }
        b"GRANT" | b"REVOKE" | b"COMMENT" => {
            4 * u32::from(ends(text, ";") && (has(text, " ON ") || has(text, " on ")))
        }
        b"BEGIN" | b"COMMIT" | b"ROLLBACK" => 2 * u32::from(ends(text, ";") && text.len() < 24),
        b"PRAGMA" | b"ANALYZE" | b"VACUUM" => 3 * u32::from(ends(text, ";")),
        b"FROM" | b"WHERE" | b"JOIN" | b"GROUP" | b"ORDER" | b"VALUES" | b"HAVING" | b"LIMIT"
        | b"UNION" | b"LEFT" | b"INNER" | b"RETURNS" | b"DECLARE" | b"CONSTRAINT" => {
            u32::from(exact && !rest.is_empty() && !has(rest, "--"))
        }
        b"LANGUAGE" => 2 * u32::from(exact && ends(text, ";")),
        b"IN" | b"OUT" | b"INOUT" | b"VARIADIC" => {
            u32::from(exact && rest.first().is_some_and(u8::is_ascii_lowercase) && ends(text, ","))
        }
        b"PRIMARY" | b"FOREIGN" => 2 * u32::from(is(&[b"KEY"])),
        _ => 0,
    };
    votes.add(Sql, points);
}
