//! What is code, in which language, and what it declares.

mod telling;

use proptest::prelude::*;

use super::language::Language;
use super::{Code, outline_of, scan};
use crate::census::Census;
use crate::content::tests::Pieces;

fn scanned(source: &str) -> Option<Code> {
    scan_bytes(source.as_bytes())
}

fn scan_bytes(mut source: &[u8]) -> Option<Code> {
    let Ok(census) = Census::of(&mut source, 0);
    let Ok(code) = scan(&mut source, &census);
    code
}

#[track_caller]
fn is_code(source: &str, language: &str, imports: &[&str], symbols: &[&str]) {
    let code = scanned(source).expect("code");
    assert_eq!(code.language, language);
    assert_eq!(code.imports, imports);
    assert_eq!(code.symbols, symbols);
    assert_eq!(code.import_count, imports.len() as u64);
    assert_eq!(code.symbol_count, symbols.len() as u64);
}

#[track_caller]
fn is_text(source: &str) {
    assert_eq!(scanned(source), None);
}

fn outlined(mut source: &[u8], language: Language) -> Code {
    let end = source.len() as u64;
    let Ok(code) = outline_of(&mut source, 0, end, language);
    code
}

#[track_caller]
fn declares(language: Language, source: &str, symbols: &[&str]) {
    assert_eq!(outlined(source.as_bytes(), language).symbols, symbols);
}

const PYTHON: &str = r#"#!/usr/bin/env python3
"""Doc.

def not_this(): pass
"""
from __future__ import annotations
import os.path, sys as system
from .near import (
    thing,
)

LIMIT = 3

@decorated
class Foo(Base):
    """import nothing"""
    def bar(self):
        def inner():
            pass

    async def baz(self): ...

async def fetch(url):
    text = """
def nor_this(): pass
"""
    marks = ('"""', "'''")
    return text

if __name__ == "__main__":
    def hidden(): pass
    fetch(1)
"#;

#[test]
fn python_lists_members_after_the_top_level() {
    is_code(
        PYTHON,
        "python",
        &["__future__", "os.path", "sys", ".near"],
        &["class Foo", "def bar", "async def baz", "async def fetch"],
    );
}

#[test]
fn rust_names_impls_in_full() {
    is_code(
        "//! Doc.\n\nuse std::io::{\n    self,\n    Write,\n};\npub use crate::a::B;\n\n\
         #[derive(Debug)]\npub(crate) struct Version<'a>(&'a str);\n\n\
         impl<'a> fmt::Display for Version<'a>\nwhere\n    Self: Sized,\n{\n    fn fmt(&self) -> R {\n        let c = '{';\n    }\n}\n\n\
         pub const fn baz<T>() -> [u8; 3] {\n    \"}\";\n    r#\"}\"#\n}\n\nmacro_rules! m { () => {} }\n\n\
         mod tests {\n    fn no() {}\n}\n",
        "rust",
        &["std::io::{ self, Write, }", "crate::a::B"],
        &[
            "pub(crate) struct Version",
            "impl<'a> fmt::Display for Version<'a>",
            "fn fmt",
            "pub const fn baz",
            "macro_rules! m",
        ],
    );
}

#[test]
fn go_lists_groups_and_receivers() {
    is_code(
        "package main\n\nimport (\n\t\"fmt\"\n\tx \"a/b\" // c\n)\n\nconst (\n\tA = iota\n\tB\n)\n\n\
         type T struct {\n\tn int\n}\n\nfunc (c *Compressor) SetEncoder(e func() error) {\n\tfmt.Println(`}`)\n}\n\n\
         func main() {\n\tif err != nil {\n\t\treturn\n\t}\n}\n",
        "go",
        &["fmt", "a/b"],
        &["const A", "const B", "type T", "func (c *Compressor) SetEncoder", "func main"],
    );
}

#[test]
fn javascript_lists_functions_and_not_variables() {
    is_code(
        "'use strict';\n\nvar debug = require('debug')('x:y');\nconst { a, b } = require(\"path\");\nvar n = 3;\n\n\
         module.exports = View;\n\nfunction View(name) {\n  var re = /[}/]{/;\n  return `}${ {a: `}`}.a }`;\n}\n\n\
         View.prototype.lookup = function lookup(name) {\n  return 1 / 2;\n};\n\nexports.one = (x) => x;\nconst two = async x => x;\n\
         class K extends View {\n  constructor() {\n    super();\n  }\n  static of(x) {\n    return x;\n  }\n}\n",
        "javascript",
        &["debug", "path"],
        &[
            "function View",
            "View.prototype.lookup = function",
            "exports.one = function",
            "const two",
            "class K",
            "constructor",
            "static of",
        ],
    );
}

#[test]
fn typescript_lists_constants_and_types() {
    is_code(
        "import * as core from \"../core/index.js\";\nimport type {\n  A,\n  B,\n} from './b';\nexport { c } from './c';\n\n\
         export interface Point {\n  x: number;\n}\nexport const Point: core.Make<Point> = core.make(\"P\", (i) => {\n  i;\n});\n\
         export type Id = string;\nexport function id<T>(x: T): T {\n  return x;\n}\nenum E { One }\n\
         abstract class Q {\n  private run(): void {\n  }\n}\n",
        "typescript",
        &["../core/index.js", "./b", "./c"],
        &[
            "export interface Point",
            "export const Point",
            "export type Id",
            "export function id",
            "enum E",
            "abstract class Q",
            "private run",
        ],
    );
}

#[test]
fn java_and_its_kin_list_methods_as_members() {
    is_code(
        "package a.b;\n\nimport java.util.List;\nimport static a.b.C.d;\n\n/** class No {} */\n@Named(\"{\")\npublic final class Foo<T> extends Bar {\n    \
         private int n = f(1);\n\n    public Foo(int n) {\n        this.n = n;\n    }\n\n    @Override\n    public <A> List<A> get(A a) throws E {\n        return null;\n    }\n\n    \
         enum Kind { ONE, TWO }\n}\n",
        "java",
        &["java.util.List", "a.b.C.d"],
        &["public final class Foo", "public Foo", "public <A> List<A> get", "enum Kind"],
    );
    is_code(
        "using System;\nusing static System.Math;\n\nnamespace A.B\n{\n    [Serializable]\n    public partial class Foo : IBar\n    {\n        \
         public string Name { get; set; }\n        var p = @\"C:\\\";\n        public async Task<int> Run(string x)\n        {\n            return 1;\n        }\n    }\n\n    \
         public interface IBar { }\n}\n",
        "csharp",
        &["System", "System.Math"],
        &["public partial class Foo", "public async Task<int> Run", "public interface IBar"],
    );
    is_code(
        "package a.b\n\nimport android.view.View\nimport a.c.D as E\n\n@Module\nclass Foo(\n    private val x: Int,\n) : Bar(),\n    Baz {\n    \
         override fun getName(): String = \"}\"\n    fun more() {\n    }\n}\n\nfun <T> List<T>.second(): T = this[1]\n\nobject One\n",
        "kotlin",
        &["android.view.View", "a.c.D"],
        &["class Foo", "override fun getName", "fun more", "fun <T> List<T>.second", "object One"],
    );
    is_code(
        "import Foundation\n\n@objc public enum Kind: Int {\n    case one\n\n    public func name() -> String {\n        return \"\"\"\n}\n\"\"\"\n    }\n}\n\n\
         extension Notification.Name {\n    static let x = 1\n}\n\nfunc == (a: A, b: A) -> Bool {\n    return true\n}\n",
        "swift",
        &["Foundation"],
        &["public enum Kind", "public func name", "extension Notification.Name", "func =="],
    );
}

#[test]
fn c_survives_branches_of_its_preprocessor() {
    is_code(
        "#include <stdio.h>\n#include \"a/b.h\"\n#define GUARD_H\n#define MAX(a, b) \\\n    ((a) > (b))\n\nstatic int forward(void);\n\n\
         typedef struct node {\n    int x;\n} node_t;\n\nenum color { RED };\n\n#ifdef A\nint\nfoo(int a) {\n#else\nint\nfoo(long a) {\n#endif\n    \
         char c = '{';\n    return 1;\n}\n\nstatic int forward(void)\n{\n}\n\nint announced(int x);\n",
        "c",
        &["stdio.h", "a/b.h"],
        &[
            "#define MAX",
            "struct node",
            "typedef node_t",
            "enum color",
            "int foo",
            "static int forward",
            "int announced",
        ],
    );
}

#[test]
fn cpp_looks_through_namespaces() {
    is_code(
        "#include <string>\n\nnamespace a::b {\n\ntemplate <typename T>\nclass EXPORT Worker final : public Base {\n public:\n  Worker() : x(1) {}\n  ~Worker() {}\n  void Later();\n  \
         bool operator==(const Worker& o) const { return true; }\n};\n\nvoid Worker::Run(int n = 1) {\n  auto s = R\"x(})x\";\n}\n\nextern \"C\" {\nint plain() {\n}\n}\n\n}  // namespace\n\n\
         TEST(Suite, Works) {\n}\n",
        "cpp",
        &["string"],
        &[
            "class EXPORT Worker",
            "Worker",
            "~Worker",
            "bool operator==",
            "void Worker::Run",
            "int plain",
            "TEST(Suite, Works)",
        ],
    );
}

#[test]
fn scripting_languages_are_told_by_indentation() {
    is_code(
        "# frozen\nrequire 'set'\nrequire_relative \"a/b\"\n\nmodule Sinatra\n  class Hash < ::Hash\n    def self.[](*args)\n      new\n    end\n\n    def key=(k)\n      def inner; end\n    end\n  end\nend\n\n\
         def top?\n  x = <<~EOS\n    class No\n  EOS\nend\n",
        "ruby",
        &["set", "a/b"],
        &["module Sinatra", "class Hash", "def self.[]", "def key=", "def top?"],
    );
    is_code(
        "--[[\nfunction no() end\n]]\nlocal lpeg = require(\"lpeg\")\nlocal char = require 'string'.char\n\nlocal function get(item)\n  local x = [[\nfunction nor()\n]]\n  return x\nend\n\n\
         function M.foo(a)\n  if a then\n    return nil\n  end\nend\n\nfunction M:bar()\nend\n\nM.baz = function(x)\nend\n",
        "lua",
        &["lpeg", "string"],
        &["local function get", "function M.foo", "function M:bar", "M.baz = function"],
    );
    is_code(
        "#!/bin/sh\nset -e\n. ./lib.sh\n\nmain () {\n  local x=$1\n  cat <<EOF\nno () {\nEOF\n}\n\nfunction other {\n  inner() {\n    :\n  }\n}\n\nif [ -n \"$1\" ]; then\n  main \"$@\"\nfi\n",
        "shell",
        &["./lib.sh"],
        &["main", "function other"],
    );
    is_code(
        "<#\n.Synopsis\nfunction no {}\n#>\nParam(\n    [String]\n    $Dir\n)\nImport-Module -Name Pester\nfunction global:Get-Thing ([string]$x) {\n    $y = $x -replace 'a', 'b'\n    if ($y -eq 1) {\n        function inner {}\n    }\n}\n",
        "powershell",
        &["Pester"],
        &["function global:Get-Thing"],
    );
    is_code(
        "package Foo::Bar;\nuse strict;\nuse List::Util qw(first);\n\n=head1 NAME\n\nsub no {\n\n=cut\n\nsub new {\n    my ($class) = @_;\n    return bless {}, $class;\n}\n\n1;\n__END__\nsub nor {}\n",
        "perl",
        &["strict", "List::Util"],
        &["package Foo::Bar", "sub new"],
    );
    is_code(
        "<?php declare(strict_types=1);\n\nnamespace A\\B;\n\nuse A\\C as D;\nuse A\\{E, F};\n\n# class No {\n#[Attribute]\nfinal class Web implements P\n{\n    public function __construct($x = null)\n    {\n        $s = <<<EOT\n}\nEOT;\n    }\n}\n\nfunction help(): int {\n    return 1;\n}\n?>\n<p>it's {</p>\n<?php function late() {} ?>\n",
        "php",
        &["A\\C", "A\\{E, F}"],
        &["final class Web", "public function __construct", "function help", "function late"],
    );
}

#[test]
fn schemas_and_builds_name_their_things() {
    is_code(
        "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE [Genre]\n(\n  [Id] INTEGER NOT NULL\n);\nINSERT INTO Genre VALUES(1,'create table no');\ncreate or replace view a.\"b c\" as select 1;\nCOMMIT;\n",
        "sql",
        &[],
        &["CREATE TABLE [Genre]", "create or replace view a.\"b c\""],
    );
    is_code(
        "syntax = \"proto3\";\npackage a.b;\nimport \"google/any.proto\";\n\nmessage Page {\n  string name = 1;\n  message Inner {\n  }\n}\n\nservice S {\n  rpc Get(Page) returns (Page);\n}\n",
        "protobuf",
        &["google/any.proto"],
        &["message Page", "message Inner", "service S", "rpc Get"],
    );
    is_code(
        "variable \"region\" {\n  type = string\n}\n\nresource \"aws_instance\" \"web\" {\n  ami = \"x\" # }\n  user_data = <<-EOF\n    }\n  EOF\n}\n\nlocals {\n  a = 1\n}\n",
        "hcl",
        &[],
        &["variable \"region\"", "resource \"aws_instance\" \"web\""],
    );
    is_code(
        "CC := gcc\nOBJ = a.o \\\n  b.o\ninclude rules.mk\n\n.PHONY: all clean\n\nall: $(OBJ)\n\t$(CC) -o x $(OBJ)\n\n%.o: %.c\n\t@$(CC) -c $<\n\nclean:\n\trm -f x\n",
        "makefile",
        &["rules.mk"],
        &["all", "clean"],
    );
    is_code(
        "FROM --platform=x rust:1 AS build\nWORKDIR /src\nCOPY . .\nRUN cargo build\n\nFROM debian\nCOPY --from=build /src/x /x\nCMD [\"/x\"]\n",
        "dockerfile",
        &["rust:1", "debian"],
        &["FROM --platform=x rust:1 AS build"],
    );
    is_code(
        "@import url(\"base.css\");\n\n/* {\n */\nhtml {\n  line-height: 1.15; /* 1 */\n}\n\n.a > b {\n  margin: 0;\n}\n",
        "css",
        &["base.css"],
        &[],
    );
}

#[test]
fn line_numbers_in_front_are_left_out() {
    let plain = scanned(PYTHON);
    assert!(plain.is_some());
    let forms: [fn(usize) -> String; 11] = [
        |n| format!("{n:6}\t"),
        |n| format!("{n}→"),
        |n| format!("{n:4}: "),
        |n| format!("{n}| "),
        |n| format!("{n:>5} | "),
        |n| format!("L{n}: "),
        |n| format!("{n:>4} │ "),
        |n| format!("{n:^7}│ "),
        |n| format!("{n:>7} "),
        |n| format!("{n}) "),
        |n| format!("[{n}] "),
    ];
    for number in forms {
        let numbered: String =
            PYTHON.lines().enumerate().map(|(n, line)| number(n + 1) + line + "\r\n").collect();
        assert_eq!(scanned(&numbered), plain, "{}", number(7));
    }
}

#[test]
fn a_list_of_numbered_things_is_text() {
    is_text("  501  cd /srv\n  502  export A=$B\n  503  for x in *; do echo \"$x\"; done\n");
    is_text("1) import duties\n2) from there on\n3) class of its own\n");
    is_text("[1] Ann\n[2] Bo\n[3] Cy\n");
}

#[test]
fn a_source_may_have_the_word_from_in_its_name() {
    let source = "import { from } from './from';\nimport * as requireFrom from \"require-from\";\nimport{i as w}from\"./from.js\";\nexport { from } from '../from';\nfunction f(a) {\n  return a;\n}\n";
    let code = outlined(source.as_bytes(), Language::JavaScript);
    assert_eq!(code.imports, ["./from", "require-from", "./from.js", "../from"]);
}

#[test]
fn a_python_string_may_end_where_the_next_begins() {
    let joined = "class A:\n    x = \"\"\"\n    a \"\"\" + b + \"\"\"\n    c\n    \"\"\"\n\n\nclass B(A):\n    pass\n";
    declares(Language::Python, joined, &["class A", "class B"]);
    let passed = "f(\"\"\"a\n  b\"\"\", \"\"\"c\n  d\"\"\")\n\n\ndef g(x):\n    pass\n";
    declares(Language::Python, passed, &["def g"]);
    let commented = "x = \"\"\"\na\"\"\"  # '''\ndef g(x):\n    pass\n";
    declares(Language::Python, commented, &["def g"]);
}

#[test]
fn an_envelope_does_not_hide_code() {
    let wrapped = format!("<returncode>0</returncode>\n<output>\n{PYTHON}</output>\n");
    assert_eq!(scanned(&wrapped), scanned(PYTHON));
}

fn repeated(times: usize, part: impl Fn(usize) -> String) -> String {
    (0..times).map(part).collect::<Vec<_>>().concat()
}

#[test]
fn the_first_names_are_kept_and_all_are_counted() {
    let source: String = repeated(100, |n| format!("import m{n}\ndef f{n}():\n    pass\n"));
    let code = scanned(&source).expect("code");
    assert_eq!((code.imports.len(), code.import_count), (12, 100));
    assert_eq!((code.symbols.len(), code.symbol_count), (24, 100));
    assert_eq!(code.symbols[23], "def f23");
}

#[test]
fn functions_get_the_room_before_macros() {
    let macros: String = repeated(30, |n| format!("#define M{n} {n}\n"));
    let code = scanned(&format!("#include <a.h>\n{macros}int f(void) {{\n}}\n")).expect("code");
    assert_eq!(code.symbols.len(), 24);
    assert_eq!(code.symbols[23], "int f");
    assert_eq!(code.symbol_count, 31);
}

#[test]
fn what_is_nested_shows_only_where_nothing_else_does() {
    declares(Language::Shell, "{\n  a() {\n  }\n}\n", &["a"]);
    declares(Language::Shell, "b() {\n  a() {\n  }\n}\n", &["b"]);
    declares(Language::Rust, "mod a {\n  fn b() {}\n}\n", &["mod a"]);
}

#[test]
fn further_languages_are_read() {
    declares(
        Language::Elixir,
        "defmodule A.B do\n  @doc \"\"\"\n  def no do\n  \"\"\"\n  def run?(x) do\n  end\nend\n",
        &["defmodule A.B", "def run?"],
    );
    declares(
        Language::Scala,
        "package a\ncase class P(x: Int)\nobject Q extends R {\n  def f(x: Int): Int = {\n    x\n  }\n}\n",
        &["case class P", "object Q", "def f"],
    );
    declares(Language::R, "f <- function(x) {\n  x\n}\nn <- 1\n", &["f <- function"]);
    declares(Language::CMake, "function(add_it name)\nendfunction()\n", &["function(add_it"]);
    declares(
        Language::Haskell,
        "data T = A | B\nrun :: Int -> Int\nrun x = x\n",
        &["data T", "run"],
    );
    declares(
        Language::Zig,
        "const std = @import(\"std\");\npub fn main() !void {\n}\n",
        &["pub fn main"],
    );
    declares(
        Language::Dart,
        "import 'a.dart';\nclass A extends B {\n  void run() {\n  }\n}\nint f(int x) => x;\n",
        &["class A", "void run", "int f"],
    );
    declares(Language::Groovy, "def run(String x) {\n  x\n}\n", &["def run"]);
    declares(Language::Scss, "@mixin wide($x) {\n  width: $x;\n}\n", &["@mixin wide"]);
    declares(
        Language::ObjectiveC,
        "#import <A/A.h>\n@implementation Foo\n- (void)run {\n}\n@end\nint f(void) {\n}\n",
        &["@implementation Foo", "int f"],
    );
}

/// Pieces in which strings, comments and blocks open and never close.
const PIECES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    "\n",
    "\r\n",
    "\"",
    "'",
    "`",
    "\"\"\"",
    "'''",
    "/*",
    "*/",
    "//",
    "#",
    "<<EOF\n",
    "<<<'X'\n",
    "<?php ",
    "?>",
    "${",
    "#if A\n",
    "#else\n",
    "#endif\n",
    "#define X \\\n",
    "class A",
    "def f(",
    "fn f",
    "impl<'a> A for B where ",
    "struct",
    "typedef ",
    "operator",
    "template <",
    "namespace ",
    "extern \"C\" ",
    "TEST(A, B) ",
    "@interface ",
    "import ",
    "use ",
    "from x import ",
    "func (a *B) ",
    "const (",
    "export ",
    "require('",
    "function ",
    "--[[",
    "]]",
    "[==[",
    "=begin\n",
    "=cut\n",
    "__END__\n",
    "<#",
    "#>",
    "@'\n",
    "'@\n",
    "CREATE TABLE ",
    "target: dep\n\t",
    "R\"x(",
    "r#\"",
    "@\"",
    "\\",
    "\u{301}",
    "漢",
    " ",
    "\t",
    "= ",
    "=> ",
    ": ",
    "12: ",
    "7\t",
    "3→",
    "<tag>\n",
    "/",
    "é'",
    "b'\\",
    "<",
    ">",
    ",",
    "::",
    "->",
];

proptest! {
    #[test]
    fn any_pieces_are_survived(picks in prop::collection::vec(0..PIECES.len(), 0..120)) {
        let source: String = picks.iter().map(|&pick| PIECES[pick]).collect();
        scanned(&source);
        for &language in Language::ALL {
            let code = outlined(source.as_bytes(), language);
            prop_assert!(code.symbols.len() <= 24 && code.imports.len() <= 12);
            prop_assert!(code.symbol_count >= code.symbols.len() as u64);
        }
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        scan_bytes(&bytes);
        for &language in Language::ALL {
            let first = outlined(&bytes, language);
            prop_assert_eq!(&first, &outlined(&bytes, language));
        }
    }
}

#[test]
fn settings_are_no_script_and_a_script_of_few_commands_is() {
    let kind = |text: &str| scanned(text).map(|code| code.language);
    assert_eq!(kind("# local\nA=1\nexport B=two\nC=\"x y\"\nexport D=\n"), None);
    assert_eq!(
        kind(
            "#!/bin/sh\nusage=\"Usage: x\nDo all that one can do with it.\nMore of it.\"\nexec x\n"
        ),
        Some("shell")
    );
    let lua = "local a = require 'a'\nlocal m = {}\n\n--- Reads the file of that name.\nm.read = a.read\n\n--- Writes it.\nm.write = a.write\n\nreturn m\n";
    assert_eq!(kind(lua), Some("lua"));
}

#[test]
fn a_macro_alone_on_its_line_belongs_to_no_declaration() {
    is_code(
        "#include <a.h>\n\n__BEGIN_DECLS\n\n/* A block. */\nstruct block\n{\n  int a;\n};\n\nextern int f(int x);\n\n__END_DECLS\n",
        "c",
        &["a.h"],
        &["struct block", "extern int f"],
    );
}

#[test]
fn a_long_source_is_walked_in_parts_that_begin_with_declarations() {
    let body = "    let x = \"a line of code\";\n\n".repeat(4000);
    let source: String = (0..150).map(|i| format!("fn f{i}() {{\n{body}}}\n\n")).collect();
    assert!(source.len() > 2 * super::PART_BYTES);
    let code = outlined(source.as_bytes(), Language::Rust);
    assert_eq!(code.symbol_count, 150);
    let mut pieces = Pieces::new(source.as_bytes(), &[100_000, 7]);
    let Ok(in_pieces) = outline_of(&mut pieces, 0, source.len() as u64, Language::Rust);
    assert_eq!(in_pieces, code);
}
