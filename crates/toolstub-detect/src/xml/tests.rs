use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::*;
use crate::content::tests::Pieces;

fn declared(mut content: &[u8], declared: MediaType) -> Option<Xml> {
    let Ok(census) = Census::of(&mut content, 0);
    let Ok(xml) = scan(&mut content, &census, declared);
    xml
}

fn read(content: &[u8]) -> Option<Xml> {
    declared(content, MediaType::Other)
}

#[track_caller]
fn is_xml(content: &str) {
    assert!(read(content.as_bytes()).is_some(), "{content}");
}

#[track_caller]
fn is_not_xml(content: &str) {
    assert!(read(content.as_bytes()).is_none(), "{content}");
}

#[track_caller]
fn has(content: &str, root: &str, attributes: u64, children: &[(&str, u64)]) {
    let xml = read(content.as_bytes()).expect(content);
    let seen: Vec<_> = xml.children.iter().map(|(tag, count)| (tag.as_str(), *count)).collect();
    assert_eq!((xml.root.as_str(), xml.attributes, seen.as_slice()), (root, attributes, children));
    assert_eq!(xml.child_tags, Count::exact(children.len() as u64));
}

#[test]
fn one_well_formed_document_is_xml() {
    for content in [
        "<a/>",
        "\u{feff}<a/>",
        "\n\n<?xml version=\"1.0\"?>\n<a/>\n",
        "<?xml version='1.0' encoding='ISO-8859-1' standalone='no'?><a>\u{e9}</a>",
        "<!-- a --><?xml-stylesheet href='x'?><!DOCTYPE a><a><b></b ></a><!-- z --><?z?>",
        "<a b = '1' c=\"<\"/>".replace('<', "&lt;").replacen("&lt;", "<", 1).as_str(),
        "<a x='a > b'>a > b &amp; &#65; &#x1F600;</a>",
        "<a><![CDATA[ <b> & ]]></a>",
        "<a>]] ></a>",
        "<x:a y:b='1'/>",
        "<größe ñ='1'>ok</größe>",
        "<!DOCTYPE a [<!ENTITY e 'text'><!ENTITY % p \"q\">%p; <!ELEMENT a ANY>]><a b='&e;'>&e;</a>",
        "<!DOCTYPE a SYSTEM \"a.dtd\"><a>&nbsp;</a>",
        "<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'x.dtd'><html>&nbsp;</html>",
        "<!DOCTYPE a [<!NOTATION n SYSTEM 'n'><!ENTITY e SYSTEM 'e' NDATA n><!-- ]> --><?p ]>?>]><a/>",
    ] {
        is_xml(content);
    }
}

#[test]
fn what_is_not_well_formed_is_not_xml() {
    for content in [
        "",
        "a",
        "<",
        "<a",
        "<a>",
        "<a></b>",
        "<a><b></a></b>",
        "<a/><b/>",
        "<a/>text",
        "text<a/>",
        "<a/>&amp;",
        "<a/><![CDATA[x]]>",
        "</a>",
        "< a/>",
        "<1/>",
        "<a b/>",
        "<a b=1/>",
        "<a b='1'c='2'/>",
        "<a b='1' b='2'/>",
        "<a b='<'/>",
        "<a b='&'/>",
        "<a b='&nope;'/>",
        "<a>&</a>",
        "<a>& b;</a>",
        "<a>&nbsp;</a>",
        "<a>&#0;</a>",
        "<a>&#xD800;</a>",
        "<a>&#;</a>",
        "<a>]]></a>",
        "<a><!-- -- --></a>",
        "<a><!-- a---></a>",
        "<a><!--></a>",
        "<a>\u{1}</a>",
        "<a>\u{ffff}</a>",
        "<a/><?xml version='1.0'?>",
        "<?xml encoding='utf-8'?><a/>",
        "<?xml version='1.0' standalone='maybe'?><a/>",
        "<?XML version='1.0'?><a/>",
        "<?php echo 1 ?><a/>",
        "<!doctype html><html></html>",
        "<!DOCTYPE html><html>&nbsp;</html>",
        "<!DOCTYPE a><!DOCTYPE a><a/>",
        "<a/><!DOCTYPE a>",
        "<!DOCTYPE a [<!ENTITY e 'x>]><a/>",
        "<!DOCTYPE a [text]><a/>",
        "<?xml version='1.0' standalone='yes'?><!DOCTYPE a SYSTEM 'x'><a>&nbsp;</a>",
        "<p>one<p>two",
        "<div className={name}>x</div>",
        "<input disabled>",
        "<returncode>0</returncode>\n<output>\ndef f(): pass\n</output>",
        "<document>if (a < b && c) {}</document>",
    ] {
        is_not_xml(content);
    }
}

#[test]
fn many_attributes_are_compared_too() {
    let names: Vec<_> = (0..100).map(|i| format!("a{i}='1'")).collect();
    is_xml(&format!("<r {}/>", names.join(" ")));
    is_not_xml(&format!("<r {} a42='2'/>", names.join(" ")));
}

#[test]
fn the_root_and_its_children_are_counted() {
    has("<a/>", "a", 0, &[]);
    has("<n:a xmlns:n='u' xmlns='v' n:b='1' c='2'/>", "n:a", 2, &[]);
    has("<a><b/><c><b/></c><c/><b></b><d/></a>", "a", 0, &[("b", 2), ("c", 2), ("d", 1)]);
    has("<a><c/><b/><b/></a>", "a", 0, &[("b", 2), ("c", 1)]);
}

#[test]
fn the_thirty_most_frequent_children_are_kept() {
    let children: Vec<_> = (0..2000).map(|i| format!("<t{i}/>")).collect();
    let xml = read(format!("<a>{}<t1999/></a>", children.concat()).as_bytes()).unwrap();
    assert_eq!(xml.child_tags, Count::exact(2000));
    assert_eq!(xml.children.len(), CHILDREN);
    assert_eq!(xml.children[0], ("t1999".to_owned(), 2));
    assert_eq!(xml.children[29], ("t28".to_owned(), 1));
}

#[test]
fn a_script_is_xml_only_where_it_is_declared() {
    let content = b"<?php echo 1 ?><a/>";
    assert!(declared(content, MediaType::Xml).is_some());
}

#[test]
fn bytes_that_are_not_utf8_are_characters() {
    assert_eq!(read(b"<a><b\xe9/>caf\xe9</a>").unwrap().children[0].0, "b\u{fffd}");
}

#[test]
fn depth_is_the_documents_right() {
    let deep = format!("{}{}", "<a>".repeat(200_000), "</a>".repeat(200_000));
    has(&deep, "a", 0, &[("a", 1)]);
}

#[test]
fn entities_are_never_expanded() {
    let bomb: Vec<_> = (1..60).map(|i| format!("<!ENTITY e{i} '&e{0};&e{0};'>", i - 1)).collect();
    is_xml(&format!("<!DOCTYPE a [<!ENTITY e0 'ha'>{}]><a>&e59;</a>", bomb.concat()));
}

#[test]
fn marks_may_stand_over_any_border() {
    for (content, fits) in [
        ("<a>]]></a>", false),
        ("<a>]]&gt;<b/>]] ></a>", true),
        ("<a><![CDATA[]]]></a>", true),
        ("<a><![CDATA[] ]>]]>]</a>", true),
        ("<a><!-- - -- ></a>", false),
        ("<a><!--->-->></a>", true),
        ("<a><!----->></a>", false),
        ("<a><!--> - ->--></a>", true),
        ("<!DOCTYPE a [<!-- ]> '\" ---><!ENTITY e ']>'>]><a>&e;</a>", false),
        ("<!DOCTYPE a [<!-- ]> '\" - --><!ENTITY e ']>'><?p ?-?>]><a>&e;</a>", true),
        ("<a b='>' c=\"'>\"/>", true),
    ] {
        for size in 1..=content.len() {
            let mut pieces = Pieces::new(content.as_bytes(), std::slice::from_ref(&size));
            let Ok(census) = Census::of(&mut pieces, 0);
            let Ok(xml) = scan(&mut pieces, &census, MediaType::Other);
            assert_eq!(xml.is_some(), fits, "{content} in pieces of {size}");
        }
    }
}

#[test]
fn names_that_find_no_room_are_read_again() {
    let children: Vec<_> = (0..3000).map(|i| format!("<t{i}{}/>", "x".repeat(390))).collect();
    let late = format!("<t2999{0}/><b/><b/><t2998{0}/><t2999{0}/>", "x".repeat(390));
    let xml = read(format!("<a>{}{late}</a>", children.concat()).as_bytes()).unwrap();
    assert_eq!(xml.child_tags, Count::exact(3001));
    let first: Vec<_> = xml.children[..4].iter().map(|(name, n)| (&name[..1], *n)).collect();
    assert_eq!(first, [("t", 3), ("t", 2), ("b", 2), ("t", 1)]);
    assert!(xml.children[0].0.starts_with("t2999x") && xml.children[1].0.starts_with("t2998x"));
}

#[test]
fn what_takes_too_much_memory_is_no_document() {
    let long = |length| format!("<a b='{}'/>", "x".repeat(length));
    is_xml(&long(8_000_000));
    is_not_xml(&long(9_000_000));
    is_xml(&format!("<a><!--{0}-->{0}<![CDATA[{0}]]></a>", "x".repeat(9_000_000)));
    is_not_xml(&format!("{}{}", "<abcd>".repeat(1_500_000), "</abcd>".repeat(1_500_000)));
}

/// Whether quick-xml takes a document, with the checks that it leaves to others.
fn witness(content: &str) -> bool {
    let body = content.trim_ascii_start();
    body.starts_with('<')
        && !markup::has_forbidden_character(body.as_bytes())
        && is_document(body).is_some()
}

fn is_document(body: &str) -> Option<()> {
    let mut reader = Reader::from_str(body);
    reader.config_mut().check_comments = true;
    let mut document = Document::new(MediaType::Xml);
    let (mut depth, mut root) = (0_u32, false);
    loop {
        let start = reader.buffer_position() as usize;
        match reader.read_event().ok()? {
            Event::Start(tag) | Event::Empty(tag) if depth == 0 && root => {
                let _ = tag;
                return None;
            }
            Event::Start(tag) => {
                root = true;
                depth += 1;
                document.root = None;
                document.open(tag.name().as_ref().as_bytes(), tag.attributes_raw().as_bytes())?;
            }
            Event::Empty(tag) => {
                root = true;
                document.root = None;
                document.open(tag.name().as_ref().as_bytes(), tag.attributes_raw().as_bytes())?;
            }
            Event::End(_) => depth -= 1,
            Event::Text(text) if depth == 0 => {
                if !text.bytes().all(markup::is_space) {
                    return None;
                }
            }
            Event::Text(text) => {
                if text.as_bytes().windows(3).any(|part| part == b"]]>") {
                    return None;
                }
            }
            Event::GeneralRef(name) => {
                if depth == 0 || !document.entities.knows(name.as_bytes()) {
                    return None;
                }
            }
            Event::CData(_) => {
                if depth == 0 {
                    return None;
                }
            }
            Event::Comment(_) => {}
            Event::PI(content) => document.instruction(content.as_bytes(), false)?,
            Event::Decl(content) => document.instruction(content.as_bytes(), start == 0)?,
            Event::DocType(doctype) => {
                let keyword = body[start..].strip_prefix("<!DOCTYPE")?;
                if document.has_doctype || root || !keyword.starts_with([' ', '\t', '\n', '\r']) {
                    return None;
                }
                document.has_doctype = true;
                document.entities.declare(doctype.as_bytes())?;
            }
            Event::Eof => return (depth == 0 && root).then_some(()),
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(content in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&[b"<".as_slice(), &content].concat());
    }

    #[test]
    fn verdicts_agree_with_an_independent_reader(
        pieces in proptest::collection::vec(piece(), 0..40), inside in any::<bool>()
    ) {
        let mut content = pieces.concat();
        if inside {
            content = format!("<a>{content}</a>");
        }
        for content in [format!("<{content}"), content] {
            let xml = declared(content.as_bytes(), MediaType::Xml);
            prop_assert_eq!(xml.is_some(), witness(&content), "{}", content);
        }
    }

    #[test]
    fn verdicts_on_faults_agree_with_an_independent_reader(
        edits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<bool>(), piece()), 0..3)
    ) {
        let mut content = "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY e 'v'><!-- ] --><?p ]?>]>\n\
            <a x='1'><!-- c --><b y=\"&e;\">t &e; &amp;</b><![CDATA[ ]] ]]><c/></a> <!--z-->".to_owned();
        for (index, cut, new) in edits {
            let mut at = index.index(content.len());
            while !content.is_char_boundary(at) {
                at -= 1;
            }
            if cut {
                content.remove(at);
            }
            content.insert_str(at, new);
        }
        let xml = declared(content.as_bytes(), MediaType::Xml);
        prop_assert_eq!(xml.is_some(), witness(&content), "{}", content);
    }
}

fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "<",
        ">",
        "/",
        "</a>",
        "<a>",
        "<a ",
        "=",
        "'",
        "\"",
        "&",
        ";",
        "#",
        "x",
        "<!--",
        "-->",
        "-",
        "<!DOCTYPE ",
        "[",
        "]",
        "<![CDATA[",
        "]]>",
        "<?",
        "?>",
        "<?xml version='1.0'?>",
        "%",
        "é",
        "<!ENTITY e 'v'>",
        "&e;",
        " ",
        "\n",
        "!",
        "b='1'",
        "\u{fffe}",
    ])
}
