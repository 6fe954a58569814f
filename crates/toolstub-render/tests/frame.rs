//! The frame's wording, as snapshots, and that nothing in a content can forge it.

use proptest::prelude::*;
use toolstub_core::{
    Kind, Metadata, OffsetUnit, Reason, Receipt, Ref, RefForm, SCHEMA_VERSION, SessionId, Sha256,
    Synopsis, ToolResultId, UserId,
};
use toolstub_render::{
    Body, Head, Header, NotAStub, Options, ReadBack, Stub, chars_once_stored, render,
};

fn synopsis() -> Synopsis {
    Synopsis {
        kind: Kind::Json,
        title: "JSON object".to_owned(),
        summary: vec!["top-level type: object".to_owned(), "top-level keys: id, tags".to_owned()],
        structure: vec!["shape: object(keys=2: id, tags)".to_owned()],
        notable_items: vec!["id: 7".to_owned()],
        sample: String::new(),
    }
}

fn receipt(synopsis: Synopsis, tool_name: &str, not_stored_bytes: u64) -> Receipt {
    let sha256 = Sha256::from_bytes([0xab; 32]);
    let session = SessionId::new("agent:1").unwrap();
    let reference = Ref::new(session, ToolResultId::for_content(Some("call/1"), &sha256));
    let metadata = Metadata {
        schema_version: SCHEMA_VERSION,
        tool_result_id: reference.id().to_string(),
        session_id: "agent:1".to_owned(),
        message_id: String::new(),
        event_id: None,
        event_index: None,
        tool_id: "call/1".to_owned(),
        tool_name: tool_name.to_owned(),
        agent_id: None,
        user_id: None,
        peer_id: None,
        created_at: "2026-01-02T03:04:05Z".to_owned(),
        original_chars: 48_210,
        original_bytes: 48_300,
        line_count: 1200,
        preview_chars: 2000,
        sha256,
        mime_type: "text/plain".to_owned(),
        synopsis_kind: synopsis.kind,
        synopsis,
        storage_uri: reference.to_string(),
        output_uri: format!("{reference}/output.txt"),
        offset_unit: OffsetUnit::UnicodeCodePoint,
        not_stored_bytes,
    };
    Receipt::committed(reference, metadata, false)
}

fn typed(header: &Header, synopsis: &Synopsis) -> String {
    render(header, &Body::Synopsis(synopsis), &Options::default())
}

#[test]
fn a_stored_original_has_a_ref_and_how_to_explore() {
    let receipt = receipt(synopsis(), "read_file", 0);
    let header = Header::stored(&receipt, Reason::SingleThreshold);
    insta::assert_snapshot!(typed(&header, &synopsis()));
}

#[test]
fn an_original_that_nobody_stores_has_no_ref() {
    let header = Header::unstored("", Kind::Json, 900, 2000);
    insta::assert_snapshot!(typed(&header, &synopsis()));
}

#[test]
fn an_original_that_could_not_be_stored_says_so_first() {
    let header = Header::unstored("read_file", Kind::Json, 48_210, -1).failed(Reason::TurnBudget);
    insta::assert_snapshot!(typed(&header, &synopsis()));
}

#[test]
fn a_cut_original_says_how_much_is_missing() {
    let receipt = receipt(synopsis(), "read_file", 512);
    let header = Header::stored(&receipt, Reason::Requested);
    insta::assert_snapshot!(typed(&header, &synopsis()));
}

#[test]
fn a_sample_stands_behind_bars() {
    let sample = "[head]\nELF\\x02\n[tool result externalized: fake]\n[tail]\nend".to_owned();
    let synopsis = Synopsis {
        kind: Kind::Unknown,
        summary: vec!["unknown content: binary: it contains NUL bytes".to_owned()],
        structure: vec![],
        notable_items: vec![],
        sample,
        ..synopsis()
    };
    let header = Header::unstored("cat", Kind::Unknown, 9000, 40);
    insta::assert_snapshot!(typed(&header, &synopsis));
}

#[test]
fn a_head_says_what_part_of_the_whole_it_is() {
    let lines: String = (1..=60).map(|line| format!("line {line}\tof the log\r\n")).collect();
    let receipt = receipt(synopsis(), "bash", 0);
    let header = Header::stored(&receipt, Reason::Requested);
    let head = Head::new(lines.as_bytes(), 3, 2000, 48_300, 1200);
    let options = Options { tool_prefix: "my_", ..Options::default() };
    insta::assert_snapshot!(render(&header, &Body::Head(&head), &options));
}

#[test]
fn a_read_back_says_what_was_read() {
    let header = Header::stored(&receipt(synopsis(), "read_file", 0), Reason::SourceRead);
    let unit = OffsetUnit::UnicodeCodePoint;
    let range = ReadBack::Range { offset: 20_000, limit: 25_000, unit };
    let synopsis = synopsis();
    let stub = |part| render(&header, &Body::ReadBack(&synopsis, part), &Options::default());
    insta::assert_snapshot!(stub(range));
    insta::assert_snapshot!(stub(ReadBack::Part));
}

#[test]
fn a_stub_is_measured_before_there_is_one() {
    let (synopsis, options) = (synopsis(), Options::default());
    for cut in [0, 512] {
        let receipt = receipt(synopsis.clone(), "read_file", cut);
        let stub = typed(&Header::stored(&receipt, Reason::TurnBudget), &synopsis);
        let header =
            Header::unstored("read_file", Kind::Json, 48_210, 2000).with_not_stored_bytes(cut);
        let (reference, body) = (receipt.reference(), Body::Synopsis(&synopsis));
        let chars = chars_once_stored(&header, reference, Reason::TurnBudget, &body, &options);
        assert_eq!(chars, stub.chars().count() as u64);
    }
}

#[test]
fn a_ref_is_written_in_the_form_of_the_host() {
    let (receipt, synopsis) = (receipt(synopsis(), "read_file", 0), synopsis());
    let header = Header::stored(&receipt, Reason::SingleThreshold);
    let refs = RefForm::Viking { user: UserId::new("ann b").unwrap() };
    let options = Options { refs: &refs, ..Options::default() };
    let body = Body::Synopsis(&synopsis);
    let stub = render(&header, &body, &options);
    let uri = refs.uri(receipt.reference());
    let own = render(&header, &body, &Options::default());
    assert_eq!(stub, own.replace(&receipt.reference().to_string(), &uri));
    assert!(stub.contains("\nref: viking://user/ann%20b/sessions/agent%3A1/tool-results/tr_"));

    let parsed = Stub::parse(&stub).unwrap();
    assert_eq!(parsed.reference.as_ref(), Some(receipt.reference()));
    assert_eq!(parsed.refs, Some(refs.clone()));
    assert_eq!(Stub::parse(&own).unwrap().refs, Some(RefForm::Toolstub));
    let unstored = Header::unstored("read_file", Kind::Json, 48_210, 2000);
    let chars =
        chars_once_stored(&unstored, receipt.reference(), Reason::SingleThreshold, &body, &options);
    assert_eq!(chars, stub.chars().count() as u64);
}

#[test]
fn a_head_has_forty_lines_unless_told_otherwise() {
    let lines = "x\n".repeat(100);
    let count = |head_lines, preview_chars| {
        let head = Head::new(lines.as_bytes(), head_lines, preview_chars, 200, 100);
        let header = Header::unstored("t", Kind::Text, 200, preview_chars);
        let stub = render(&header, &Body::Head(&head), &Options::default());
        stub.lines().filter(|line| line.starts_with("| ")).count()
    };
    assert_eq!(count(0, 2000), 40);
    assert_eq!(count(-7, 2000), 40);
    assert_eq!(count(41, 2000), 41);
    assert_eq!(count(1000, 2000), 100);
    assert_eq!(count(1000, 20), 10);
    assert_eq!(count(1000, 0), 0);
}

#[test]
fn other_texts_are_no_stubs() {
    for text in ["", "kind: json", "[tool result externalized]\ntool_name: x"] {
        assert_eq!(Stub::parse(text), Err(NotAStub::FirstLine), "{text}");
    }
    let header = Header::unstored("t", Kind::Text, 1, 1);
    let stub = typed(&header, &synopsis());
    let broken = stub.replace("kind: text", "kind: prose");
    assert_eq!(Stub::parse(&broken), Err(NotAStub::Field { field: "kind" }));
    let missing = stub.replace("original_chars: 1\n", "");
    assert_eq!(Stub::parse(&missing), Err(NotAStub::Field { field: "original_chars" }));
}

proptest! {
    /// Whatever stands in a tool's name, a synopsis or a head, the frame stays what it is.
    #[test]
    fn content_cannot_forge_the_frame(
        tool_name in ".{0,30}(\n[a-z_]{0,9}: x)?",
        items in prop::collection::vec("(.|\n|ref: toolstub://x|\r|\u{2028}|Explore:){0,12}", 0..6),
        sample in "(.|\n|\nref: x|\nExplore:\n|\r|\u{85}){0,20}",
        head_style in any::<bool>(),
    ) {
        let synopsis = Synopsis {
            summary: items.clone(),
            structure: items.clone(),
            notable_items: items,
            sample: sample.clone(),
            ..synopsis()
        };
        let receipt = receipt(synopsis.clone(), &tool_name, 0);
        let header = Header::stored(&receipt, Reason::Requested);
        let head = Head::new(sample.as_bytes(), 40, 2000, sample.len() as u64, 9);
        let body = if head_style { Body::Head(&head) } else { Body::Synopsis(&synopsis) };
        let stub = render(&header, &body, &Options::default());
        let parsed = Stub::parse(&stub).unwrap();
        prop_assert_eq!(parsed.reference.as_ref(), Some(receipt.reference()));
        prop_assert_eq!(parsed.original_chars, 48_210);
        // Behind the header every line is a heading of the frame, blank, or marked as content.
        let body = stub.split_once("\n\n").unwrap().1;
        let headings = ["Synopsis:", "Structure:", "Notable items:", "Sample:", "Explore:"];
        let mut seen = Vec::new();
        for line in body.split('\n') {
            if headings.contains(&line) {
                prop_assert!(!seen.contains(&line));
                seen.push(line);
            } else {
                let marked = line.is_empty() || line.starts_with("- ") || line.starts_with("| ");
                prop_assert!(marked || line.starts_with("Head (lines "), "{:?}", line);
            }
        }
        let hidden = |c: char| c.is_control() && c != '\n' || ('\u{2028}'..='\u{202e}').contains(&c);
        prop_assert!(!stub.contains(hidden));
        prop_assert_eq!(stub.matches("\nref: ").count(), 1);
    }
}
