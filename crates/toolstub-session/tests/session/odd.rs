//! What hosts send that is out of the ordinary.

use toolstub_session::{
    Config, FailureMode, Outcome, Owner, Replacement, Session, Standing, ToolPart, ToolResult,
};
use toolstub_store::ListRequest;

use super::{log, memory, result, session, session_in, turn};

async fn externalize(session: &Session, parts: &mut [ToolPart]) {
    session.externalize_parts("m", &[], parts, Owner::Session).await.unwrap();
}

async fn stored(session: &Session) -> usize {
    session.results().list(&ListRequest::default()).await.unwrap().records.len()
}

fn part(output: &str) -> ToolPart {
    let json = format!(r#"{{"type":"tool","tool_id":"c","tool_name":"t","tool_output":{output}}}"#);
    serde_json::from_str(&json).unwrap()
}

#[tokio::test]
async fn outputs_that_are_no_text_stay() {
    let session = session(Config { threshold_chars: 0, ..Config::default() });
    let long = format!(r#"{{"lines":["{}"]}}"#, "x".repeat(30_000));
    let surrogate = format!(r#""{}\ud800""#, "x".repeat(30_000));
    for output in ["null", "true", "1.10", "{}", "[]", long.as_str(), surrogate.as_str()] {
        let mut parts = [part(output)];
        let before = serde_json::to_string(&parts).unwrap();
        externalize(&session, &mut parts).await;
        assert_eq!(serde_json::to_string(&parts).unwrap(), before);
    }
    assert_eq!(stored(&session).await, 0);
}

#[tokio::test]
async fn calls_that_have_not_returned_stay() {
    let session = session(Config::default());
    for status in ["pending", "running"] {
        let mut part = ToolPart::new("c", "bash", "");
        part.set("tool_status", status);
        part.set("tool_input", serde_json::json!({"command": "sleep 9"}));
        assert!(part.field("tool_output").is_none());
        let before = serde_json::to_string(&part).unwrap();
        let parts = std::slice::from_mut(&mut part);
        let done = session.externalize_parts("m", &[], parts, Owner::Session).await.unwrap();
        assert!(done.outcomes.is_empty());
        assert_eq!(serde_json::to_string(&part).unwrap(), before);
    }
}

#[tokio::test]
async fn equal_results_of_a_turn_show_the_first_one_s_record() {
    // Whoever is written first: no name of a later one may win a race.
    for _ in 0..20 {
        let session = session(Config::default());
        let content = log("same", 25_000);
        let call = |id: &str, name: &str, mime: Option<&str>| {
            let mut result = result(id, content.clone());
            name.clone_into(&mut result.call.name);
            result.mime_type = mime.map(str::to_owned);
            result
        };
        let results = vec![
            call("", "first", None),
            call("c1", "other", None),
            call("", "second", Some("text/markdown")),
            call("c1", "another", None),
        ];
        let done = session.externalize(&turn(results)).await.unwrap();
        let stubs: Vec<_> =
            done.outcomes.iter().map(|outcome| &outcome.replacement().unwrap().stub).collect();
        assert!(stubs[0].contains("\ntool_name: first\n"));
        assert!(stubs[1].contains("\ntool_name: other\n"));
        assert_eq!((stubs[0], stubs[1]), (stubs[2], stubs[3]));
        assert_eq!(stored(&session).await, 2);
    }
}

#[tokio::test]
async fn the_same_call_may_return_different_things() {
    let session = session(Config::default());
    let turn = turn(vec![result("c1", log("a", 25_000)), result("c1", log("b", 25_000))]);
    let done = session.externalize(&turn).await.unwrap();
    let refs: Vec<_> =
        done.outcomes.iter().map(|o| o.replacement().unwrap().reference.clone()).collect();
    assert_ne!(refs[0], refs[1]);
    assert_eq!(stored(&session).await, 2);
}

#[tokio::test]
async fn a_thousand_results_are_a_turn_like_any_other() {
    let session = session(Config::default());
    let results: Vec<_> = (0..1000)
        .map(|n| {
            result(&format!("c{n}"), log(&format!("r{n}"), if n % 3 == 0 { 5000 } else { 40 }))
        })
        .collect();
    let turn = turn(results);
    let done = session.externalize(&turn).await.unwrap();
    let length = |(result, outcome): (&ToolResult, &Outcome)| {
        outcome.replacement().map_or(result.content.len() as u64, Replacement::stub_chars)
    };
    // The first of equals go out, and no more of them than have to, so that what stands fits.
    let out: Vec<bool> = done.outcomes.iter().map(|o| o.replacement().is_some()).collect();
    let large: Vec<bool> = out.iter().copied().step_by(3).collect();
    assert!(large.is_sorted_by(|a, b| a >= b), "the first go out first");
    let small = out.iter().enumerate().filter(|(n, _)| n % 3 != 0);
    assert!(small.into_iter().all(|(_, out)| !out), "no stub is as short as these");
    let stands: u64 = turn.results.iter().zip(&done.outcomes).map(length).sum();
    assert!(stands < done.group_original_chars);
}

#[tokio::test]
async fn bytes_that_are_not_text_go_out_and_are_kept() {
    let session = session(Config::default());
    let mut content = log("latin", 30_000).into_bytes();
    for place in (0..content.len()).step_by(97) {
        content[place] = 0xe9;
    }
    for standing in [Standing::Raw, Standing::Untold] {
        let result = ToolResult { content: content.clone().into(), standing, ..result("c", "") };
        let done = session.externalize(&turn(vec![result])).await.unwrap();
        let stub = done.outcomes[0].replacement().unwrap();
        let whole = toolstub_store::ReadRequest { limit: -1, ..Default::default() };
        let piece = session.results().read(stub.reference.as_ref().unwrap(), &whole).await.unwrap();
        assert_eq!(piece.bytes, content);
    }
}

#[tokio::test]
async fn numbers_out_of_the_ordinary_are_taken_as_they_are() {
    let content = format!("[{}0]", "0,".repeat(2000));
    let run = async |config: Config| {
        let session = session(config);
        let turn = turn(vec![result("c1", content.clone()), result("c2", "\u{0}".repeat(3000))]);
        let done = session.externalize(&turn).await.unwrap();
        done.outcomes.iter().map(|o| o.replacement().map(|s| s.stub.clone())).collect::<Vec<_>>()
    };
    let all = Config { threshold_chars: 0, ..Config::default() };
    for preview in [i64::MIN, -1, 0] {
        for (budget, least) in [(i64::MIN, i64::MIN), (0, 0), (-5, 7)] {
            let config = Config {
                preview_chars: preview,
                assistant_turn_preview_budget_chars: budget,
                min_preview_chars: least,
                ..all.clone()
            };
            for stub in run(config).await {
                assert!(stub.unwrap().contains("\npreview_chars: 0\n"));
            }
        }
    }
    let none = Config {
        threshold_chars: u64::MAX,
        assistant_turn_inline_budget_chars: u64::MAX,
        ..Config::default()
    };
    assert_eq!(run(none).await, [None, None]);
    let crowded = Config { assistant_turn_inline_budget_chars: 0, ..Config::default() };
    assert!(run(crowded).await.iter().all(Option::is_some));
    // A cap of nothing keeps nothing, and says so.
    let stubs = run(Config { hard_cap_bytes: 0, ..all }).await;
    assert!(stubs[1].as_ref().unwrap().contains("\nnot_stored_bytes: 3000\n"));
}

#[tokio::test]
async fn what_a_hard_cap_left_out_is_told_where_the_original_comes_back() {
    let config = Config { hard_cap_bytes: 25_000, ..Config::default() };
    let session = session(config);
    let mut parts = [ToolPart::new("c1", "bash", &"x".repeat(30_000))];
    externalize(&session, &mut parts).await;
    let hydrated = session.hydrate_parts(&parts).await.unwrap();
    assert_eq!(hydrated.messages[0].output().unwrap(), "x".repeat(25_000));
    assert_eq!(hydrated.missing[0].reference, parts[0].reference().unwrap());
    assert!(hydrated.missing[0].why.contains("5000 bytes"), "{}", hydrated.missing[0].why);
}

#[tokio::test]
async fn the_stub_of_what_was_stored_before_is_made_from_that_record() {
    let store = memory();
    let first = session_in(&store, Config { preview_chars: 500, ..Config::default() });
    let content = "\u{0}\u{1}".repeat(15_000);
    let turn = turn(vec![result("c1", content)]);
    let stub = first.externalize(&turn).await.unwrap().outcomes.remove(0);
    let again = session_in(&store, Config::default());
    assert_eq!(again.externalize(&turn).await.unwrap().outcomes[0], stub);
    assert_eq!(stored(&again).await, 1);
}

#[tokio::test]
async fn a_session_that_is_not_enabled_brings_back_what_it_put_out() {
    let store = memory();
    let mut parts = [ToolPart::new("c1", "bash", &log("a", 30_000))];
    externalize(&session_in(&store, Config::default()), &mut parts).await;
    let off = Config { enabled: false, failure_mode: FailureMode::Reject, ..Config::default() };
    let off = session_in(&store, off);
    let before = serde_json::to_string(&parts).unwrap();
    externalize(&off, &mut parts).await;
    assert_eq!(serde_json::to_string(&parts).unwrap(), before);
    let hydrated = off.hydrate_parts(&parts).await.unwrap();
    assert_eq!(hydrated.messages[0].output().unwrap(), log("a", 30_000));
}
