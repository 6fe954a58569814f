//! `toolstub proxy`: in front of an MCP server.

use std::env;
use std::ffi::OsString;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use anyhow::anyhow;
use toolstub_core::SessionId;
use toolstub_mcp::{Exit, McpError, ProxyOptions, UpstreamCommand, UpstreamUrl};

use super::Outcome;
use super::mcp::{config, log_to_stderr, with_streams};
use super::put::now;
use crate::args::{Inject, Proxy, Structured};
use crate::context::Context;
use crate::failure::Failure;
use crate::{interrupt, late};

pub(crate) fn run(args: Proxy, context: &Context) -> Result<Outcome, Failure> {
    log_to_stderr();
    let mut config = config(&args.offered, context)?;
    if let Some(threshold) = args.threshold {
        config.threshold_chars = threshold;
    }
    let session = match context.session {
        Some(_) => context.session()?,
        None => fresh_session()?,
    };
    let options = ProxyOptions {
        inject: match args.inject {
            Inject::Auto => toolstub_mcp::Inject::Auto,
            Inject::Always => toolstub_mcp::Inject::Always,
            Inject::Never => toolstub_mcp::Inject::Never,
        },
        structured: match args.structured {
            Structured::Strip => toolstub_mcp::Structured::Strip,
            Structured::Keep => toolstub_mcp::Structured::Keep,
            Structured::Shrink => toolstub_mcp::Structured::Shrink,
        },
    };
    let upstream = upstream(args.command, &args.headers)?;
    let store = late::open(context, "results stay as they are")?;
    let proxy = toolstub_mcp::Proxy::new(store, session, config, options);
    with_streams(async {
        let (input, output) = toolstub_mcp::standard_streams();
        // A client that is gone is noticed even where the server keeps what it said from being read.
        let stop = async {
            tokio::select! {
                () = interrupt::signalled() => {}
                () = toolstub_mcp::standard_streams_left() => {}
            }
        };
        let exit = match upstream {
            Upstream::Url(url) => proxy.run_url(url, input, output, stop).await,
            Upstream::Command(command) => proxy.run_command(&command, input, output, stop).await,
        };
        match exit.map_err(failure)? {
            Exit::Client => Ok(Outcome::Done),
            Exit::Upstream(code) => Ok(Outcome::Code(code)),
            Exit::Stopped if interrupt::caught().is_none() => Ok(Outcome::Done),
            Exit::Stopped => Err(Failure::storage(anyhow!("interrupted"))),
        }
    })
}

/// The server that the proxy stands in front of.
enum Upstream {
    Command(UpstreamCommand),
    Url(UpstreamUrl),
}

fn upstream(words: Vec<OsString>, headers: &[(String, String)]) -> Result<Upstream, Failure> {
    let first = words.first().and_then(|word| word.to_str());
    if let Some((scheme, _)) = first.and_then(|word| word.split_once("://"))
        && !is_http(scheme)
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    {
        return Err(Failure::input(anyhow!(
            "a server cannot be reached over `{scheme}:`; give a URL of http or https, or a command"
        )));
    }
    if let Some(url) = first.filter(|word| is_url(word)) {
        if words.len() > 1 {
            return Err(Failure::input(anyhow!(
                "nothing can stand behind a URL; put options before it"
            )));
        }
        let filled: Result<Vec<_>, Failure> = headers
            .iter()
            .map(|(name, value)| Ok((name.as_str(), fill(value, |name| env::var(name).ok())?)))
            .collect();
        let filled = filled?;
        let pairs = filled.iter().map(|(name, value)| (*name, value.as_str()));
        return UpstreamUrl::new(url, pairs).map(Upstream::Url).map_err(Failure::input);
    }
    if !headers.is_empty() {
        return Err(Failure::input(anyhow!("--header is for a server at a URL; leave it out")));
    }
    let mut words = words.into_iter();
    let program = words.next().ok_or_else(|| Failure::input(anyhow!("no command is given")))?;
    Ok(Upstream::Command(UpstreamCommand { program, arguments: words.collect() }))
}

fn is_url(word: &str) -> bool {
    word.split_once("://").is_some_and(|(scheme, _)| is_http(scheme))
}

fn is_http(scheme: &str) -> bool {
    ["http", "https"].iter().any(|url| scheme.eq_ignore_ascii_case(url))
}

/// A text with variables in the place of their names, so that secrets need not stand on the command line.
fn fill(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<String, Failure> {
    let (mut filled, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| Failure::input(anyhow!("a ${{ in a header is not closed")))?;
        let value = variable(name).ok_or_else(|| {
            Failure::input(anyhow!("the variable {name}, of a header, is not set"))
        })?;
        filled.push_str(before);
        filled.push_str(&value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn failure(error: McpError) -> Failure {
    match error {
        McpError::Start { .. } | McpError::Upstream { .. } => Failure::input(error),
        _ => Failure::storage(error),
    }
}

/// A session of its own for each connection, by time and chance.
fn fresh_session() -> Result<SessionId, Failure> {
    let chance = RandomState::new().build_hasher().finish();
    let digits: String = now()?.chars().filter(char::is_ascii_digit).take(14).collect();
    SessionId::new(format!("mcp-{digits}-{:08x}", chance as u32)).map_err(Failure::input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_told_from_a_command() {
        let is_url = |words: &[&str]| {
            let words = words.iter().map(Into::into).collect();
            matches!(upstream(words, &[]).unwrap(), Upstream::Url(_))
        };
        for url in ["http://x/mcp", "HTTPS://x/mcp", "Http://user@x"] {
            assert!(is_url(&[url]), "{url}");
        }
        for command in ["npx", "./http", "http:x", "./a://x"] {
            assert!(!is_url(&[command, "-y"]), "{command}");
        }
        let other = upstream(vec!["ftp://user:secret@x".into()], &[]).err().unwrap();
        assert!(
            format!("{other:?}").contains("over `ftp:`")
                && !format!("{other:?}").contains("secret")
        );
        let headed = vec![OsString::from("HTTP://x"), OsString::from("--header")];
        assert!(upstream(headed, &[]).is_err());
    }

    #[test]
    fn headers_are_filled_from_the_environment() {
        let variable = |name: &str| (name == "TOKEN").then(|| "t$0{k}".to_owned());
        assert_eq!(fill("Bearer ${TOKEN}!", variable).unwrap(), "Bearer t$0{k}!");
        assert_eq!(fill("plain $5", variable).unwrap(), "plain $5");
        assert!(fill("${OTHER}", variable).is_err());
        assert!(fill("${TOKEN", variable).is_err());
    }
}
