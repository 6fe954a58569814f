//! What is code, what is text, and which language it is.

use super::{is_code, is_text, scanned};

#[test]
fn prose_that_begins_like_code_is_text() {
    let lines = "let us know when the boat is back\nuse the north gate after dark\nclass action was not discussed\n\
                 package of maps arrived on time\nimport duties stay as they were\nfrom here to there import is free\nfunction follows form\n";
    is_text(lines);
    is_text(&lines.repeat(40));
}

#[test]
fn reports_on_code_are_text() {
    is_text(
        "diff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n@@ -1,4 +1,4 @@\n int main(void) {\n-    return 0;\n+    return 1;\n }\n",
    );
    is_text(
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    main()\n  File \"a.py\", line 2, in main\n    raise ValueError(x)\nValueError: x\n",
    );
    is_text(
        "src/a.py:1:import os\nsrc/a.py:2:import sys\nsrc/b.py:9:from x import y\nsrc/b.py:12:def f(x):\n",
    );
    is_text(
        "1234abcd (Ann 2026-01-02 10:00:00 +0000 1) fn main() {\n1234abcd (Ann 2026-01-02 10:00:00 +0000 2)     run();\n1234abcd (Ann 2026-01-02 10:00:00 +0000 3) }\n",
    );
    is_text(
        "a.c:3:5: error: expected ';'\n    3 |     int x = 1\n      |     ^~~\na.c:4:1: warning: unused\n    4 | }\n",
    );
    is_text(
        "2026-01-02 10:00:00,123 INFO start\nstmt = create table x (\n  id int,\n);\n2026-01-02 10:00:01,000 INFO insert into x;\n",
    );
    is_text(
        "# Title\n\nSome words on it.\n\n```python\nimport os\ndef f(x):\n    return x\n```\n\n## More\n",
    );
    is_text(
        "<!DOCTYPE html>\n<html><head>\n<style>\nbody {\n  margin: 0;\n}\np {\n  color: red;\n}\n</style>\n",
    );
    is_text(
        "openat(AT_FDCWD, \"/etc/x\", O_RDONLY) = 3\nread(3, \"\\177ELF\", 832) = 832\nclose(3) = 0\n",
    );
    is_text("$ cat a.py\nimport os\n$ python a.py\nok\n$ git status\nOn branch main\n");
    is_text("{ name: 'x',\n  list: [ 1, 2 ],\n  f: [Function: f],\n  nested: { a: 1 } }\n");
    is_text("[package]\nname = \"x\"\nversion = \"1\"\n\n[dependencies]\na = \"1\"\n");
    is_text(
        "worker_processes auto;\nhttp {\n  server {\n    listen 80;\n    root /var/www;\n  }\n}\n",
    );
    is_text("A=1\nB=two\nC=\"three\"\n");
    is_text("");
    is_text("\n\n\n");
}

/// Asserts the language of a source that is code.
#[track_caller]
fn is_in(source: &str, language: &str) {
    assert_eq!(scanned(source).map(|code| code.language), Some(language));
}

#[test]
fn items_of_lists_in_code_say_nothing() {
    let rows = |row: &str| row.repeat(60);
    is_in(
        &format!("pub(super) const NAMES: &[&str] = &[\n{}];\n", rows("    \"a/b c d e.c\",\n")),
        "rust",
    );
    is_in(
        &format!(
            "import {{ freeze }} from './a.js';\n\nexport const tags = freeze([\n{}] as const);\n",
            rows("  'abbr',\n")
        ),
        "typescript",
    );
    is_in(
        &format!(
            "#include <stdint.h>\n\nconst uint32_t table[60] = {{\n{}}};\n",
            rows("    0x30fb40d4, 0x9fa0ff0b,\n")
        ),
        "c",
    );
    is_in(
        &format!(
            "from x import Table\n\ntable = Table(\n    \"6.0\",\n    [\n{}    ],\n)\n",
            rows("        (0, 767, 1),\n")
        ),
        "python",
    );
    is_in(
        "import PackageDescription\n\nlet package = Package(\n    name: \"Camera\",\n    platforms: [.iOS(.v13)],\n    products: [\n        .library(\n            name: \"Camera\",\n            targets: [\"CameraPlugin\"])\n    ],\n    dependencies: [\n        .package(url: \"https://x.example/y.git\", branch: \"main\")\n    ],\n    targets: [\n        .target(\n            name: \"CameraPlugin\",\n            path: \"ios/Sources\"),\n    ]\n)\n",
        "swift",
    );
}

#[test]
fn members_of_types_are_code() {
    is_in(
        "from typing import TypedDict\n\n\nclass Header(TypedDict, total=False):\n    alg: str\n    \"\"\"The name of it.\"\"\"\n    kid: str\n    key: dict[str, int]\n    \"\"\"\n    More on it, in words.\n    \"\"\"\n    tag: str\n",
        "python",
    );
    is_in(
        &format!("typedef enum opcode {{\n{}}} opcode;\n", "\tOP_NAME\t = 12,\n".repeat(30)),
        "c",
    );
}

#[test]
fn words_in_a_list_stay_text() {
    is_text(&format!("files = [\n{}]\n", "  \"a b\",\n".repeat(40)));
    is_text(&format!("class of things:\n{}", "  name: value\n  other: more of it\n".repeat(20)));
    is_text(
        "{\n  \"desc\": \"<pre>const a = require('a');</pre>\",\n  \"code\": \"function (a) { return a; }\",\n  \"more\": [\n    \"import x from 'y';\",\n",
    );
}

#[test]
fn a_script_without_line_ends_is_code_however_short() {
    is_in(
        "!function(e,t){\"object\"==typeof exports?module.exports=t():e.leap=t()}(this,(function(){\"use strict\";return function(e,t){t.prototype.isLeap=function(){return this.$y%4==0}}}));",
        "javascript",
    );
    is_in(
        "import{i as w}from\"./init-Dmth1.js\";import{o as I}from\"./ordinal.js\";function O(n,u,o){n=+n,u=+u;return o=>n+o}export{O as s};",
        "javascript",
    );
    is_in(
        "/*! x */\nconst a=e.regex,t=[\"absolute_url\",\"asset|0\"];let n=[\"for\",\"if\"];return{name:\"Twig\",\n\"keywords\":n.map((e=>e+\"|0\")),contains:[e.COMMENT(/\\{#/,/#\\}/),{className:\"tag\",end:/%\\}/}]}\n",
        "javascript",
    );
    is_in(
        ".swiper-fade .swiper-slide{pointer-events:none;transition-property:opacity}.swiper-fade .swiper-slide-active{pointer-events:auto}",
        "css",
    );
    is_in(
        "/*!\n  Theme: Dusk\n*/pre code.x{display:block;padding:1em}code.x{padding:3px 5px}.x{color:#c7dbdd;background:#0e3c46}",
        "css",
    );
}

#[test]
fn a_long_line_of_something_else_is_text() {
    let long = |part: &str| part.repeat(30);
    is_text(&long("{a:1,b:[2,3],c:{d:'x'}},"));
    is_text(&long("Object(name=\"x\",items=[1,2],inner=Other(id=3,done=None)),"));
    is_text(&long("\"name\":{\"const\":true,\"return\":\"function(a){return a}\"},"));
    is_text(&long("the function returns, if there is one; "));
    is_text(&long("new [function flag(s)](https://x.example/return/of=it) => new "));
}

#[test]
fn a_minified_script_is_code() {
    let line = "!function(e,t){\"object\"==typeof exports?module.exports=t():e.x=t()}(this,function(){var a=1;return function(n){return n&&a;}});".repeat(40);
    assert_eq!(scanned(&line).map(|code| code.language), Some("javascript"));
}

#[test]
fn declarations_without_semicolons_are_typescript() {
    let types = "export type Formatter = (input: string | null) => string\n\nexport interface Colors {\n\tisSupported: boolean\n\n\treset: Formatter\n\tbold: Formatter\n\tdim: Formatter\n}\n";
    is_code(types, "typescript", &[], &["export type Formatter", "export interface Colors"]);
    let class = "import Client from './client'\n\nexport default Stats\n\ndeclare class Stats {\n  constructor (pool: Client)\n  /** Open ones. */\n  connected: number\n  pending: number\n}\n";
    is_code(class, "typescript", &["./client"], &["declare class Stats"]);
    is_in(
        "type Encoding =\n  | 'ascii'\n  | 'hex'\n  | 'utf8'\n\ninterface Handler<in A extends unknown[], out R = unknown> {\n  (...args: A): R\n}\n",
        "typescript",
    );
    is_in(
        "export declare class Lexer {\n    private _atEnd;\n    private _next;\n    private done;\n    lex(source: Text): Tokens;\n}\n",
        "typescript",
    );
    is_in(
        "declare namespace getList {\n\ttype Channel<K, V> = {\n\t\tassert: (key: K) => void;\n\t\thas: (key: K) => boolean;\n\t};\n}\ndeclare function getList<V, K>(): getList.Channel<K, V>;\nexport = getList;\n",
        "typescript",
    );
    is_in(
        "export interface Rule {\n  color: string;\n  width: Length;\n  kind: \"solid\";\n  styles: Style[];\n}\n",
        "typescript",
    );
}

#[test]
fn a_class_with_a_supertype_in_the_next_line_is_kotlin() {
    is_code(
        "package a.x\n\nimport android.net.Uri\nimport a.CodedException\n\ninternal class NullException :\n  CodedException(\"is null\")\n\ninternal class ReadException(uri: Uri?) :\n  CodedException(\"$uri does not exist\")\n",
        "kotlin",
        &["android.net.Uri", "a.CodedException"],
        &["internal class NullException", "internal class ReadException"],
    );
}

#[test]
fn what_a_source_begins_with_decides_its_language() {
    is_in(
        "<?php\n\nnamespace A;\n\nclass B {\n    public function c() {\n        ?>\n        <script>\n          var a = function () { return 1; };\n          var b = a === 1;\n        </script>\n        <?php\n    }\n}\n",
        "php",
    );
    is_in(
        "#![cfg(feature = \"load\")]\n#[path = \"../support.rs\"]\nmod support;\n\nuse a::{b, c};\n\nasync fn when_ready() {\n    let _t = support::trace_init();\n}\n",
        "rust",
    );
    is_in("syntax = \"proto2\";\n\npackage a.b.c;\n\nmessage Empty {}\n", "protobuf");
}

#[test]
fn a_dollar_sign_inside_of_a_name_makes_no_variable() {
    is_in(
        "function peg$parse(input) {\n  if (peg$cache) {\n    return peg$cache;\n  }\n  while (s1 !== peg$FAILED) {\n    s0.push(s1);\n  }\n  for (i = peg$start; i < peg$end; i++) {\n    peg$next(i);\n  }\n  return s0;\n}\n",
        "javascript",
    );
}

#[test]
fn scripts_of_extensions_are_sql() {
    is_code(
        "-- complain if sourced\n\\echo Use \"CREATE EXTENSION tuple\" to load this file. \\quit\n\nCREATE FUNCTION tuple(IN relname text,\n    OUT table_len BIGINT,\t\t-- physical length in bytes\n    OUT tuple_count BIGINT,\t\t-- number of live ones\n    OUT free_percent FLOAT8)\t\t-- in per cent\nAS 'MODULE_PATHNAME', 'tuple'\nLANGUAGE C STRICT PARALLEL SAFE;\n",
        "sql",
        &[],
        &["CREATE FUNCTION tuple"],
    );
    is_in(
        "\\echo Use \"ALTER EXTENSION lo UPDATE\" to load this file. \\quit\n\nALTER FUNCTION lo_oid(lo) PARALLEL SAFE;\n",
        "sql",
    );
}

#[test]
fn output_with_the_marks_of_code_is_text() {
    is_text(
        "added 123 packages in 8s\nnpm warn EBADENGINE Unsupported engine {\nnpm warn EBADENGINE   package: 'a@2.12.0',\nnpm warn EBADENGINE   required: { node: '>=22.19.0' },\nnpm warn EBADENGINE   current: { node: 'v20.20.2', npm: '11.19.1' }\nnpm warn EBADENGINE }\n",
    );
    is_text("done\n");
    is_text(
        "cache = \"/a\"\nfix = false\n\n# Rules\nrules = [\n\treturn-in-try-except (SIM107),\n\traise-literal (B016),\n\tstatic-key-dict (B035),\n]\n",
    );
    is_text("set\nset-backup\nset-default\nset-disk\nset-iam\nshow\n");
    is_text(
        "class A(Exception):\t\t\tclass A(Exception):\n    \"\"\"Anything wrong.\"\"\"\t\t    \"\"\"Anything wrong.\"\"\"\n\n\tdef f(self):\t\t\t\tdef f(self):\n\t    return self.a\t\t      |\t    return self.b\n\t\t\t\t\t\t>\tdef g(self):\n\t\t\t\t\t\t>\t    pass\n",
    );
    is_text(
        "Buckets\n=======\n\nList them::\n\n.. code-block:: python\n\n    import boto3\n\n    s3 = boto3.client('s3')\n    for bucket in s3.list():\n        print(bucket)\n\n.. note:: More on it.\n",
    );
    is_text(
        "arch: [Function: arch] {\n  [Symbol(Symbol.toPrimitive)]: [Function (anonymous)]\n},\nfreemem: [Function: freemem],\n",
    );
    is_text(
        "import 're._parser' # <_frozen_importlib_external.SourceFileLoader object at 0x7f>\n# code object from '/x/re/_casefix.pyc'\nimport 're' # <_frozen_importlib_external.SourceFileLoader object at 0x8f>\n",
    );
    is_text(
        "ENV{ID_PART}==\"?*\", SYMLINK+=\"disk/by-partuuid/$env{ID_PART}\"\nLABEL=\"dm_end\"\nOPTIONS+=\"watch\"\n",
    );
    is_text(
        "#include <abstractions/base>\n\n/{,usr/}bin/bzip2 rm,\n/{,usr/}bin/gzip rm,\n/etc/** r,\n",
    );
    is_text(
        "src/a.rs\n12:    pub fn reference(&self) -> Ref {\n19:    pub fn other(&self) -> Ref {\n\nsrc/b.rs\n7:pub fn third() {\n",
    );
    is_text(
        "| code | n | m |\n| --- | ---: | --- |\nbuf = require(\"a\")().encode(obj);   |   15800 |  5024 |\nbuf = require(\"b\")().encode(obj);   |   15801 |  5025 |\nlines | ops | s\n--- | --- | ---\n",
    );
}
