//! What can be said on the command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// Keeps oversized tool results out of an agent's context, and within reach.
#[derive(Debug, Parser)]
#[command(name = "toolstub", version, propagate_version = true)]
pub(crate) struct Args {
    /// Print the answer as one JSON object.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the stub of a tool result; store nothing.
    Stub(Stub),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Stub {
    /// The file that holds the tool result, or `-` for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) described: Described,
}

/// What is known of a tool result, and how its stub is written.
#[derive(Debug, ClapArgs)]
pub(crate) struct Described {
    /// The tool's name, for the stub's header.
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(crate) tool_name: String,
    /// The media type that the tool declared.
    #[arg(long, value_name = "TYPE")]
    pub(crate) mime: Option<String>,
    /// The cap of a sample or head, in characters.
    #[arg(long, value_name = "N", default_value_t = 2000, allow_negative_numbers = true)]
    pub(crate) preview_chars: i64,
    /// What stands in the stub: a typed synopsis, or the first lines.
    #[arg(long, value_enum, default_value_t = Style::Typed)]
    pub(crate) style: Style,
    /// How many lines a head has.
    #[arg(long, value_name = "N", default_value_t = 40, allow_negative_numbers = true)]
    pub(crate) head_lines: i64,
    /// What stands before the retrieval tools' names in the stub.
    #[arg(long, value_name = "PREFIX", default_value = "openviking_")]
    pub(crate) tool_prefix: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    Typed,
    Head,
}
