//! What is a table, what is none, and what is said of tables.

use proptest::prelude::*;

use super::*;

fn scanned(text: &str) -> Option<Table> {
    read(text.as_bytes())
}

fn read(mut bytes: &[u8]) -> Option<Table> {
    let Ok(census) = Census::of(&mut bytes, 0);
    let Ok(table) = scan(&mut bytes, &census);
    table
}

#[track_caller]
fn table(text: &str) -> Table {
    scanned(text).unwrap_or_else(|| panic!("no table: {text:?}"))
}

#[track_caller]
fn is_table(text: &str, columns: &[&str], rows: u64) {
    let table = table(text);
    assert_eq!(table.columns, columns, "{text:?}");
    assert!(table.header, "{text:?}");
    assert_eq!(table.rows, rows, "{text:?}");
}

#[track_caller]
fn is_headless(text: &str, width: u64, rows: u64) {
    let table = table(text);
    assert!(!table.header, "{text:?}");
    assert_eq!((table.column_count, table.rows), (width, rows), "{text:?}");
}

#[track_caller]
fn is_none(text: &str) {
    assert_eq!(scanned(text), None, "{text:?}");
}

/// `count` lines, each made from its number.
fn lines(count: u32, line: impl Fn(u32) -> String) -> String {
    (0..count).map(|i| line(i) + "\n").collect()
}

#[test]
fn plain_tables_have_a_header() {
    is_table("id,name\n1,ann\n2,bob\n", &["id", "name"], 2);
    is_table("name,email\nann,ann@x.org\nbob,bob@x.org\n", &["name", "email"], 2);
    is_table("a\tb\n1\tx y\n", &["a", "b"], 1);
    is_table("x;y;z\n1,5;a;b\n2,5;a;c\n", &["x", "y", "z"], 2);
    is_table("name, age, city\nann, 30, york\nbob, 41, bath\n", &["name", "age", "city"], 2);
    is_table("Country,1990,1991\nA,1,2\nB,3,4\n", &["Country", "1990", "1991"], 2);
}

#[test]
fn quotes_enclose_delimiters_line_breaks_and_quotes() {
    is_table("\u{feff}\"id\",\"a, b\"\n1,\"x\ny\"\n2,\"say \"\"hi\"\"\"\n", &["id", "a, b"], 2);
    let table = table("Year, \"Title\"\n1968, \"Hi, Mom!\"\n1970,  \"x\"\n");
    assert_eq!(table.first_row, ["1968", "Hi, Mom!"]);
}

#[test]
fn a_quote_inside_a_cell_is_literal() {
    is_table(&format!("size,n\n{}", lines(50, |i| format!("{i}\" pipe,{i}"))), &["size", "n"], 50);
    is_table("a\tb\n\"x\t1\ny\t2\nz\t3\n", &["a", "b"], 3);
    is_table("\"id\"\t\"name\"\n\"1\"\t\"x\"\n\"2\"\t\"y\"\n", &["id", "name"], 2);
    is_table("a\tb\n\"x\ty\"\t1\n\"x\ty\"\t2\n", &["a", "b"], 2);
}

#[test]
fn an_open_quote_does_not_swallow_the_table() {
    is_table("a,b\n\"x,1\ny,2\nz,3\n", &["a", "b"], 3);
}

#[test]
fn a_first_row_of_values_is_data() {
    is_headless("1,rock,10\n2,pop,20\n3,jazz,30\n", 3, 3);
    is_headless("47\t0\tsrc/a.c\n3\t1\tsrc/b.c\n", 3, 2);
    is_headless("4\tnode/x\n8\tnode/y z\n", 2, 2);
    is_headless("M\tsrc/a.rs\nM\tsrc/b.rs\nA\tsrc/c.rs\n", 2, 3);
    is_headless("a1b2c3d\tfix the thing\ne4f5a6b\tadd a test\n0123abc\tdrop it\n", 2, 3);
}

#[test]
fn comments_and_footers_are_no_rows() {
    let table = table("# made today\n#\nid,v\n1,2\n3,4\n(2 rows)\n");
    assert_eq!((table.rows, table.preamble_lines, table.ragged_rows), (2, 2, 0));
    is_table("#fields\tts\tid\n#types\ttime\tstring\n1.5\ta\n2.5\tb\n#close\n", &["ts", "id"], 2);
    is_table("# comment\n# CPU,Core\n0,0\n1,0\n", &["CPU", "Core"], 2);
    is_headless("#ff0000,1\n#00ff00,2\n", 2, 2);
    is_table("Report\n\nid,v,w\n1,2,3\n3,4,5\n5,6,7\n", &["id", "v", "w"], 3);
}

#[test]
fn a_few_ragged_rows_are_counted() {
    let text = format!("a,b,c\n{}1,2\n", lines(99, |i| format!("{i},x,y")));
    let table = table(&text);
    assert_eq!((table.rows, table.column_count, table.ragged_rows), (100, 3, 1));
    is_none(&format!("a,b,c\n{}1,2\n1,2\n", lines(40, |i| format!("{i},x,y"))));
}

#[test]
fn a_header_of_another_width_is_still_the_header() {
    let text = format!("a,b,c,made by x\n{}", lines(99, |i| format!("{i},x,y")));
    let table = table(&text);
    assert_eq!((table.rows, table.column_count, table.ragged_rows), (99, 3, 0));
}

#[test]
fn regular_texts_are_no_tables() {
    is_none(&lines(40, |i| format!("On day {i} we walked, talked, and went home.")));
    is_none(&lines(40, |i| format!("2026-01-02 10:00:{i:02},123 INFO started worker {i}")));
    is_none(&lines(40, |i| format!("{i:6}\tlet x = {i};")));
    is_none(&lines(40, |i| format!("src/main.rs:{i}:use a, b")));
    is_none(&lines(40, |i| format!("Smith{i}, John")));
    is_none(&lines(40, |i| format!("INSERT INTO t VALUES ({i}, 'a', 2);")));
    is_none(&lines(40, |i| format!("('a{i}', {i}),")));
    is_none(&lines(40, |i| format!("level=info, id={i}, msg=ok")));
    is_none(&lines(40, |i| format!("    \"item{i}\",")));
    is_none(&lines(40, |i| format!("\tcall(x, {i})")));
    is_none(&lines(40, |i| format!("pkg{i}/stable,now 1.{i} amd64 [installed]")));
    is_none(&lines(40, |i| format!("\u{1b}[01;34mdir{i}\u{1b}[0m")));
    is_none(&lines(40, |i| format!("{i},123 bytes sent to host{i}")));
    is_none(&lines(5, |i| format!("{:6}\tSome words here", i + 1)));
    is_none(&lines(40, |i| format!("    0x{i:02}, 0x02, 0x03,")));
    is_none(&lines(9, |i| format!("FOO{i}=1; export FOO{i};")));
    is_none(&lines(40, |i| format!("    int x{i} = {i}; // {i}")));
    is_none("Hello, world\nBye, all\n");
    is_none("a,b,c\n");
    is_none("\n\n");
}

#[test]
fn tables_may_begin_with_a_time_or_an_address() {
    for time in [
        "2024-01-01T03:00:00Z",
        "2024-01-01T03:00:00",
        "2024-01-01T03:00",
        "2024-01-01T03:00:00.123Z",
        "2024-01-01T03:00:00+02:00",
        "2024-01-01T03:00:00+02:00[Europe/Berlin]",
        "20240101T030000Z",
        "2024-01-01 03:00:00 UTC",
        "01/Jan/2024:10:00:00",
        "01/Jan/2024:10:00:00 +0000",
        "1/2/2024 10:00:00 PM",
        "Mon 1 January 2024 10:00",
        "aa:bb:12:00:01:02",
        "fe80::1:12:3",
    ] {
        for delimiter in [",", ";", "\t"] {
            for mark in ["", "\""] {
                let row = |i| format!("{mark}{time}{mark}{delimiter}{i}.5");
                for rows in [4, 400] {
                    is_headless(&lines(rows, row), 2, rows.into());
                    let headed = format!("time{delimiter}value\n{}", lines(rows, row));
                    is_table(&headed, &["time", "value"], rows.into());
                }
            }
        }
    }
    is_table(
        &format!("place,p\n{}", lines(9, |i| format!("chr1:{i}:A:G,0.{i}"))),
        &["place", "p"],
        9,
    );
    is_table(
        &format!("name,2024-01,2024-02\n{}", lines(9, |i| format!("x{i},{i},1"))),
        &["name", "2024-01", "2024-02"],
        9,
    );
}

#[test]
fn lines_that_begin_with_a_time_are_no_tables() {
    for count in [4, 40, 4000] {
        for line in [
            "2026-01-02 10:00:00,123 INFO started worker",
            "2026-01-02 10:00:00,123 INFO started, then slept",
            "2026-01-02T10:00:00Z INFO foo, bar",
            "2026-01-02T10:00:00,123 INFO foo, bar",
            "2026-01-02T10:00:00.123Z [INFO] connected, id=7",
            "10.0.0.1 - - [02/Jan/2026:10:00:00 +0000] \"GET /a,b HTTP/1.1\" 200 5",
            "Jan  2 10:00:00 host app[7]: found 3 items, skipped 4",
            "[02/Jan/2026 10:00:00] fetched 3 items, 4 left",
        ] {
            is_none(&lines(count, |_| line.to_owned()));
        }
    }
}

#[test]
fn numbered_lines_are_no_table_however_many() {
    for count in [5, 300, 2113, 20_000, 250_000] {
        is_none(&lines(count, |i| format!("{:6}\tsome prose line", i + 1)));
        is_none(&lines(count, |i| format!("{:6}\tsome prose line", i + 501)));
        is_none(&lines(count, |i| format!("{:<6}\tsome prose line", i + 1)));
        // Blank lines with a number or without one, and headings of pages.
        is_none(&lines(count, |i| match i % 10 {
            9 => " ".repeat(7),
            _ => format!("{:6}\tsome prose line", i + 1),
        }));
        is_none(&lines(count, |i| match i % 10 {
            9 => " ".repeat(7),
            _ => format!("{:6}\tsome prose line", i - i / 10 + 1),
        }));
        is_none(&lines(count, |i| match i % 56 {
            0 => format!("\n\nprose.txt   Page {}\n\n\n{:5}\tsome prose line", i / 56 + 1, i + 1),
            _ => format!("{:5}\tsome prose line", i + 1),
        }));
    }
    for step in [1, 3] {
        is_headless(&lines(3000, |i| format!("{}\tsome prose line", i * step + 1)), 2, 3000);
        is_headless(&lines(3000, |i| format!("{:6}\t{i}", i * 7 % 1000)), 2, 3000);
    }
}

#[test]
fn numbers_make_a_table_with_spaces_behind_the_commas() {
    for count in [3, 1000] {
        is_headless(&lines(count, |i| format!("{i}, {:#x}", i * 77 + 1)), 2, count.into());
        is_headless(&lines(count, |i| format!("{i}, {}.5, 7", i * 2)), 3, count.into());
        let series = lines(count, |i| format!("2026-01-02T10:00:{:02}Z, {i}.5", i % 60));
        is_headless(&series, 2, count.into());
    }
    let draws = format!("seed, 0x0\n{}", lines(1000, |i| format!("{i}, {:#x}", i * 77)));
    is_table(&draws, &["seed", "0x0"], 1000);
    is_headless(&lines(40, |i| format!("{},{i}.5", ["N/A", "12"][i as usize % 2])), 2, 40);
    is_none(&lines(40, |i| format!("{i} apples, {i} pears")));
}

#[test]
fn lists_in_sources_are_no_tables() {
    for (head, entry, end) in [
        ("// Copyright 2024, Foo\n\nconst A: [&str; 9] = [", "    \"{}\",", "];"),
        (" * Copyright 2024, Foo\n */\nchar *a[] = {", "\t\"{}\",", "};"),
        ("from a import b, c\n\nNAMES = [", "    '{}',", "]"),
        ("from a import b, c\nNAMES = [", "\"{}\",", "]"),
        ("types: dict[str, str] = {", "    \"a::{}\": \"x\",", "}"),
        ("/* one, two */\nenum e {", "  {} = 1,", "};"),
        ("a, b = 1, 2\nx = [", "{},", "]"),
        ("// one; two\nfn f() {", "    {}();", "}"),
        ("-- one, two\nSELECT", "    , {}", "FROM t;"),
        ("// a, b\nint x[] = {", "  0x{}, 0x02, 0x03,", "};"),
        ("# a, b\nx = [", "    \"{}\",\"b\",\"c\",", "]"),
        ("CHECK(a == 1, b)\nCHECK(a == 2, b)\nint x[] = {", "  0x{},", "};"),
    ] {
        for count in [9, 300, 4000] {
            let list = lines(count, |i| entry.replace("{}", &format!("a{i}")));
            is_none(&format!("{head}\n{list}{end}\n"));
            is_none(&format!("{head}\n{list}"));
            is_none(&format!("{}\n{list}", head.split('\n').next().unwrap()));
            is_none(&list);
            is_none(&list.replace('\n', "\r\n"));
        }
    }
}

#[test]
fn a_delimiter_at_the_end_of_each_row_leaves_a_table() {
    is_table(&format!("name,notes\n{}", lines(9, |i| format!("x{i},"))), &["name", "notes"], 9);
    is_table(&format!("id,name,\n{}", lines(9, |i| format!("{i},x{i},"))), &["id", "name", ""], 9);
    is_headless(&lines(9, |i| format!("{i},x{i},")), 3, 9);
    is_table(&format!("none,id\n{}", lines(9, |i| format!(",{i}"))), &["none", "id"], 9);
}

#[test]
fn phrases_beside_numbers_are_a_table() {
    is_headless(&lines(40, |i| format!("the quick brown fox,{i}.5")), 2, 40);
    is_none(&lines(40, |i| format!("read 1,{}", 100 + i)));
    is_none(&lines(40, |i| format!("the quick brown fox, {i}")));
}

#[test]
fn cells_may_hold_brackets_and_statements() {
    for cell in ["[10-20)", "(10 - 20]", "nice :)", "a (b", "x = f(7);", "\"so, it was. And then\""]
    {
        for count in [3, 400] {
            let text = format!("id,v,w\n{}", lines(count, |i| format!("{i},{cell},x")));
            is_table(&text, &["id", "v", "w"], count.into());
            let text = format!("id\tv\n{}", lines(count, |i| format!("{i}.5\t{cell}")));
            is_table(&text, &["id", "v"], count.into());
        }
    }
    is_headless(&lines(40, |i| format!("[10-20),{i}.5")), 2, 40);
    is_headless(
        &lines(40, |i| format!("In {i} it was founded, and then it grew fast;{i}.5")),
        2,
        40,
    );
    is_none(&lines(40, |i| format!("f(a{i}, b)")));
    is_none(&lines(40, |i| format!("f(a{i},b)")));
    is_none(&lines(40, |i| format!("x, y = {{ {i}, 2 }};")));
}

#[test]
fn blocks_indented_by_tabs_are_no_tables() {
    is_none(&lines(40, |i| format!("\tname{i}: Formatter")));
    is_none(&lines(40, |i| format!("\tlet x{i} = f(a)")));
    is_none(&lines(40, |i| format!("\tadd\tr{i}, r2")));
    is_none(&lines(40, |i| format!("\tmovq\t%r{i},%rax")));
    is_headless(&lines(40, |i| format!("{i:4},{:7}.5", i * 7)), 2, 40);
    let aligned = format!("  id,  value, name\n{}", lines(40, |i| format!("{i:4}, {i:6}, x")));
    is_table(&aligned, &["id", "value", "name"], 40);
}

#[test]
fn blank_lines_are_no_rows() {
    is_table("a,b\n\n1,2\n  \n3,4\n\n", &["a", "b"], 2);
    is_table("a\tb\n\t\n1\t2\n", &["a", "b"], 1);
}

#[test]
fn carriage_returns_belong_to_the_line_end() {
    let table = table("a,b\r\n1,x\r\n2,y\r\n");
    assert_eq!(table.columns, ["a", "b"]);
    assert_eq!(table.first_row, ["1", "x"]);
}

proptest! {
    /// The reference reader agrees on every table that it reads as regular.
    #[test]
    fn rows_and_names_agree_with_the_csv_crate(
        names in prop::collection::hash_set("[a-z]{1,8}( [a-z]{1,4})?", 2..6),
        cells in prop::collection::vec("[A-Z][a-zA-Z ,\"\n;é]{0,11}x", 12..60),
    ) {
        let width = names.len();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&names).unwrap();
        for (index, row) in cells.chunks_exact(width).enumerate() {
            // A number in front makes the table plain to see.
            let row = std::iter::once(index.to_string()).chain(row[1..].iter().cloned());
            writer.write_record(row).unwrap();
        }
        let bytes = writer.into_inner().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let count = cells.len() / width;
        let table = scanned(&text);
        prop_assert!(table.is_some(), "{}", text);
        let table = table.unwrap();
        prop_assert_eq!(table.rows, count as u64, "{}", text);
        prop_assert_eq!(table.columns, names.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(table.ragged_rows, 0);
    }

    #[test]
    fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes);
    }

    #[test]
    fn no_text_is_too_odd(text in "[a,;\t\"\n#( 1\r]{0,200}") {
        scanned(&text);
    }
}
