use proptest::prelude::*;

use super::*;

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

proptest! {
    #[test]
    fn no_bytes_panic(content in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&[b"<".as_slice(), &content].concat());
    }

    #[test]
    fn no_markup_panics(pieces in proptest::collection::vec(piece(), 0..40)) {
        let content = pieces.concat();
        let _ = read(format!("<{content}").as_bytes());
        let _ = read(content.as_bytes());
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
