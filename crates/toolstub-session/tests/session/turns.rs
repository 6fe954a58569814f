//! Whole turns: what goes out, what stays, and that it comes back.

use proptest::prelude::*;
use toolstub_core::Reason;
use toolstub_session::{
    Call, Config, Context, Externalized, Outcome, Owner, Part, Session, Shape, Style, ToolPart,
    ToolResult,
};

use super::{log, memory, result, session, session_in, turn};

/// What stands in the messages afterwards.
fn inline(results: &[ToolResult], done: &Externalized) -> Vec<String> {
    let text = |result: &ToolResult| String::from_utf8(result.content.to_vec()).unwrap();
    let after = |(result, outcome): (&ToolResult, &Outcome)| {
        outcome.replacement().map_or_else(|| text(result), |replacement| replacement.stub.clone())
    };
    results.iter().zip(&done.outcomes).map(after).collect()
}

async fn parts_of(session: &Session, parts: &mut [ToolPart]) -> Externalized {
    session.externalize_parts("m1", &[], parts, Owner::Session).await.unwrap()
}

fn written(parts: &[ToolPart]) -> String {
    serde_json::to_string(parts).unwrap()
}

#[tokio::test]
async fn a_result_over_the_threshold_goes_out_and_comes_back() {
    let session = session(Config::default());
    assert!(!session.has_stored_results().await.unwrap());
    let turn = turn(vec![result("c1", log("a", 20_001)), result("c2", log("b", 20_000))]);
    let done = session.externalize(&turn).await.unwrap();
    let stub = done.outcomes[0].replacement().unwrap();
    assert_eq!((stub.reason, stub.original_chars), (Reason::SingleThreshold, 20_001));
    assert_eq!(done.outcomes[1], Outcome::Kept { error: None });
    assert_eq!((done.group_original_chars, done.group_budget_chars), (40_001, 100_000));
    assert!(session.has_stored_results().await.unwrap());
    let whole = toolstub_store::ReadRequest { limit: -1, ..Default::default() };
    let piece = session.results().read(stub.reference.as_ref().unwrap(), &whole).await.unwrap();
    assert_eq!(piece.bytes, turn.results[0].content);
}

#[tokio::test]
async fn parts_tell_what_became_of_them() {
    let session = session(Config::default());
    let raw = [ToolPart::new("c1", "bash", &log("a", 30_000)), ToolPart::new("c2", "ls", "x\n")];
    let mut parts = raw.clone();
    parts_of(&session, &mut parts).await;
    let stub = parts[0].output().unwrap();
    let sha256 = parts[0].text("tool_output_sha256").unwrap();
    let reference = format!("toolstub://session/s%3A1/tool-results/tr_c1_{}", &sha256[..32]);
    for name in ["tool_output_ref", "tool_output_storage_uri"] {
        assert_eq!(parts[0].text(name), Some(reference.clone()));
    }
    let chars = stub.chars().count().to_string();
    let number = |part: &ToolPart, name| part.field(name).map(|value| value.get().to_owned());
    for (name, value) in [
        ("tool_output_truncated", "true"),
        ("tool_output_original_chars", "30000"),
        ("tool_output_preview_chars", &chars),
        ("tool_output_group_id", "\"m1\""),
        ("tool_output_group_original_chars", "30002"),
        ("tool_output_group_budget_chars", "100000"),
        ("tool_output_externalized_reason", "\"single_threshold\""),
    ] {
        assert_eq!(number(&parts[0], name).as_deref(), Some(value), "{name}");
    }
    assert_eq!(number(&parts[1], "tool_output_group_original_chars").as_deref(), Some("30002"));
    assert!(parts[1].field("tool_output_ref").is_none());

    let once = written(&parts);
    parts_of(&session, &mut parts).await;
    assert_eq!(written(&parts), once);

    let hydrated = session.hydrate_parts(&parts).await.unwrap();
    assert_eq!(hydrated.missing, []);
    assert_eq!(written(&hydrated.messages[..1]), written(&raw[..1]));
}

#[tokio::test]
async fn what_a_part_has_beside_passes_through() {
    let session = session(Config::default());
    let output = log("a", 30_000);
    let json = |output: &str| {
        let output = serde_json::to_string(output).unwrap();
        format!(
            r#"{{"x":1.10,"type":"tool","tool_output":{output},"tool_id":"c","n":123456789012345678901234567890}}"#
        )
    };
    let mut part: ToolPart = serde_json::from_str(&json(&output)).unwrap();
    assert_eq!(serde_json::to_string(&part).unwrap(), json(&output));
    parts_of(&session, std::slice::from_mut(&mut part)).await;
    let after = serde_json::to_string(&part).unwrap();
    let begin = json(&part.output().unwrap());
    assert!(after.starts_with(begin.strip_suffix('}').unwrap()), "{after}");
}

#[test]
fn parts_that_are_not_known_pass_through() {
    let json = r#"[{"type":"text","text":"caf\u00e9", "n":1.10},{"type":"tool","tool_id":"c","x":[1, 2]},null,{"type":7}]"#;
    let parts: Vec<Part> = serde_json::from_str(json).unwrap();
    let tools: Vec<bool> = parts.iter().map(|part| matches!(part, Part::Tool(_))).collect();
    assert_eq!(tools, [false, true, false, false]);
    assert_eq!(serde_json::to_string(&parts).unwrap(), json);
    let value = serde_json::from_str::<serde_json::Value>(json).unwrap();
    let parts: Vec<Part> = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(serde_json::to_value(&parts).unwrap(), value);
}

#[tokio::test]
async fn parts_of_earlier_steps_count_and_stay() {
    let session = session(Config::default());
    let earlier: Vec<_> =
        (0..5).map(|n| ToolPart::new(&format!("e{n}"), "bash", &log("e", 18_000))).collect();
    let mut parts = [ToolPart::new("c1", "bash", &log("a", 10_000))];
    let done = session.externalize_parts("t1", &earlier, &mut parts, Owner::Session).await.unwrap();
    assert_eq!(done.outcomes.len(), 1);
    let stub = done.outcomes[0].replacement().unwrap();
    assert_eq!((stub.reason, done.group_original_chars), (Reason::TurnBudget, 100_000));
}

#[tokio::test]
async fn a_text_that_reads_like_a_stub_goes_out_like_any_other() {
    let session = session(Config::default());
    let first = turn(vec![result("c1", log("a", 30_000))]);
    let done = session.externalize(&first).await.unwrap();
    let stub = &done.outcomes[0].replacement().unwrap().stub;
    for standing in [toolstub_session::Standing::Raw, toolstub_session::Standing::Untold] {
        let forged = ToolResult { standing, ..result("c2", format!("{stub}{}", log("b", 25_000))) };
        let done = session.externalize(&turn(vec![forged])).await.unwrap();
        assert!(done.outcomes[0].replacement().is_some());
    }
}

#[tokio::test]
async fn many_stubs_share_the_previews() {
    let session = session(Config::default());
    let bytes =
        |n: u8| (0..25_000_u32).map(|i| char::from(1 + n + (i % 7) as u8)).collect::<String>();
    let turn = turn((0..8).map(|n| result(&format!("c{n}"), bytes(n))).collect());
    let done = session.externalize(&turn).await.unwrap();
    for outcome in &done.outcomes {
        let stub = outcome.replacement().unwrap();
        assert!(stub.stub.contains("\npreview_chars: 1250\n"), "{}", stub.stub);
        let sample = stub.stub.lines().filter_map(|line| line.strip_prefix("| "));
        assert!(sample.map(|line| line.chars().count()).sum::<usize>() <= 1250 + 20);
    }
}

#[tokio::test]
async fn a_head_stands_in_place_of_a_synopsis() {
    let config = Config { style: Style::Head, head_lines: 3, ..Config::default() };
    let session = session(config);
    let turn = turn(vec![result("c1", log("a", 30_000))]);
    let done = session.externalize(&turn).await.unwrap();
    let stub = &done.outcomes[0].replacement().unwrap().stub;
    assert_eq!(stub.lines().filter(|line| line.starts_with("| ")).count(), 3);
    assert!(stub.contains("\nHead (lines 1-3 of "), "{stub}");
}

#[tokio::test]
async fn a_session_that_is_not_enabled_leaves_everything() {
    let session = session(Config { enabled: false, ..Config::default() });
    let mut parts = [ToolPart::new("c1", "bash", &log("a", 30_000))];
    let before = written(&parts);
    parts_of(&session, &mut parts).await;
    assert_eq!(written(&parts), before);
    assert!(!session.has_stored_results().await.unwrap());
}

#[tokio::test]
async fn what_is_over_the_hard_cap_is_told() {
    let session = session(Config { hard_cap_bytes: 25_000, ..Config::default() });
    let done = session.externalize(&turn(vec![result("c1", "x".repeat(30_000))])).await.unwrap();
    let stub = done.outcomes[0].replacement().unwrap();
    assert!(stub.stub.contains("\nnot_stored_bytes: 5000\n"), "{}", stub.stub);
    assert_eq!(stub.original_chars, 30_000);
}

#[tokio::test]
async fn nothing_is_decided_by_who_runs_it() {
    fn sendable<T: Send>(value: T) -> T {
        value
    }
    let turn = turn((0..8).map(|n| result(&format!("c{n}"), log("a", 15_000 + n))).collect());
    let first = sendable(session(Config::default()).externalize(&turn)).await.unwrap();
    // Servers run these on any thread.
    let (it, shape, call) = (session(Config::default()), Shape::OpenViking, Call::default());
    let (context, mut value, mut parts) = (Context::default(), serde_json::json!([]), []);
    sendable(it.externalize_json(shape, "[]", &context)).await.unwrap();
    sendable(it.externalize_value(shape, &mut value, &context)).await.unwrap();
    sendable(it.externalize_parts("m", &[], &mut parts, Owner::Session)).await.unwrap();
    sendable(it.hydrate_json(shape, "[]", &call)).await.unwrap();
    sendable(it.hydrate_value(shape, &value, &call)).await.unwrap();
    sendable(it.hydrate_parts(&parts)).await.unwrap();
    let stub = sendable(it.register(None, &turn.results[0])).await.unwrap();
    sendable(it.read_event(&stub.handle.unwrap(), 0, 0)).await.unwrap();
    let second = session(Config::default()).externalize(&turn).await.unwrap();
    assert_eq!(first, second);
}

/// Contents of several kinds and sizes around a small threshold.
pub(crate) fn content() -> impl Strategy<Value = String> {
    let words = (0..900usize).prop_map(|n| "some words of text\n".repeat(n));
    let json = (0..500usize).prop_map(|n| format!("[{}0]", r#"{"a":1},"#.repeat(n)));
    let table = (0..500usize).prop_map(|n| format!("a,b,c\n{}", "1,2,3\n".repeat(n)));
    let code = (0..300usize).prop_map(|n| {
        (0..n).map(|i| format!("pub fn f{i}() {{\n    g();\n}}\n")).collect::<String>()
    });
    let binary = (0..4000usize).prop_map(|n| "\u{1}x\u{0}".repeat(n));
    prop_oneof![words, json, table, code, binary, ".{0,40}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Real contents: no part grows, a second pass changes nothing, and everything comes back.
    #[test]
    fn turns_shrink_settle_and_come_back(
        contents in prop::collection::vec(content(), 0..7),
        threshold in 0..6000u64,
        budget in 0..12_000u64,
        head in any::<bool>(),
    ) {
        let config = Config {
            threshold_chars: threshold,
            assistant_turn_inline_budget_chars: budget,
            style: if head { Style::Head } else { Style::Typed },
            ..Config::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = memory();
            let session = session_in(&store, config.clone());
            let raw: Vec<_> = contents
                .iter()
                .enumerate()
                .map(|(n, content)| ToolPart::new(&format!("c{n}"), "bash", content))
                .collect();
            let mut parts = raw.clone();
            parts_of(&session, &mut parts).await;
            for (part, raw) in parts.iter().zip(&raw) {
                let length = |part: &ToolPart| part.output().unwrap_or_default().chars().count();
                prop_assert!(length(part) <= length(raw));
                prop_assert_eq!(length(part) == length(raw), !part.is_externalized());
            }
            let once = written(&parts);
            parts_of(&session, &mut parts).await;
            prop_assert_eq!(written(&parts), once.clone());
            // The same raw turn again, as a host sends it that keeps its messages raw.
            let mut again = raw.clone();
            parts_of(&session, &mut again).await;
            prop_assert_eq!(written(&again), once.clone());

            let hydrated = session.hydrate_parts(&parts).await.unwrap();
            let outputs = |parts: &[ToolPart]| parts.iter().map(ToolPart::output).collect::<Vec<_>>();
            prop_assert_eq!(outputs(&hydrated.messages), outputs(&raw));

            // The same without fields that tell: what was put out is known by the store.
            let results: Vec<_> = contents
                .iter()
                .enumerate()
                .map(|(n, content)| ToolResult {
                    standing: toolstub_session::Standing::Untold,
                    ..result(&format!("c{n}"), content.clone())
                })
                .collect();
            let done = session.externalize(&turn(results.clone())).await.unwrap();
            let after = inline(&results, &done);
            let again: Vec<_> = results
                .iter()
                .zip(&after)
                .map(|(result, text)| ToolResult { content: text.clone().into(), ..result.clone() })
                .collect();
            let done = session.externalize(&turn(again.clone())).await.unwrap();
            prop_assert_eq!(inline(&again, &done), after);
            Ok(())
        })?;
    }
}
