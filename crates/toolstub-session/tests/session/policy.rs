//! The policy against a model that reads like its rules.

use proptest::prelude::*;
use toolstub_core::Reason;
use toolstub_session::{Config, Owner, Role, Size, ToolPart, plan};

use super::session;
use super::turns::content;

/// One result.
#[derive(Debug, Clone, Copy)]
struct Given {
    /// What stands in the message.
    inline: u64,
    /// What its original has, where that is another.
    original: u64,
    /// What its stub would have.
    stub: u64,
    role: Role,
}

/// What the rules make of a turn.
struct Model {
    chosen: Vec<Option<Reason>>,
    preview_chars: i64,
    group_original_chars: u64,
}

/// The rules, one after the other, with no regard to what they cost.
fn model(results: &[Given], config: &Config) -> Model {
    let mut chosen: Vec<Option<Reason>> = vec![None; results.len()];
    let why = |index: usize, reason| match results[index].role {
        Role::ReadBack => Some(Reason::SourceRead),
        _ => Some(reason),
    };
    // What is settled is left alone, and no part grows.
    let can_go = |index: usize| {
        let Given { inline, stub, role, .. } = results[index];
        config.enabled && role != Role::Settled && stub < inline
    };
    for (index, result) in results.iter().enumerate() {
        if result.inline > config.threshold_chars && can_go(index) {
            chosen[index] = why(index, Reason::SingleThreshold);
        }
    }
    loop {
        let stands = |index: usize| match chosen[index] {
            Some(_) => results[index].stub,
            None => results[index].inline,
        };
        let sum: u64 = (0..results.len()).map(stands).sum();
        if sum < config.assistant_turn_inline_budget_chars {
            break;
        }
        let mut largest: Option<usize> = None;
        for index in 0..results.len() {
            let larger = largest.is_none_or(|best| results[index].inline > results[best].inline);
            if chosen[index].is_none() && can_go(index) && larger {
                largest = Some(index);
            }
        }
        let Some(index) = largest else { break };
        chosen[index] = why(index, Reason::TurnBudget);
    }
    let count: i64 = chosen.iter().filter(|choice| choice.is_some()).map(|_| 1_i64).sum();
    let preview_chars = match count {
        0 => config.preview_chars,
        n => config
            .preview_chars
            .min(config.min_preview_chars.max(config.assistant_turn_preview_budget_chars / n)),
    };
    let group_original_chars = results.iter().map(|result| result.original).sum();
    Model { chosen, preview_chars, group_original_chars }
}

fn given() -> impl Strategy<Value = Vec<Given>> {
    // Few sizes, so that there are ties; stubs around them.
    let size = prop_oneof![0..40u64, Just(20), Just(21), 0..400u64];
    let role =
        prop_oneof![5 => Just(Role::Open), 1 => Just(Role::ReadBack), 2 => Just(Role::Settled)];
    let one = (size, 0..60u64, 0..900u64, role).prop_map(|(inline, stub, original, role)| {
        // Only what is a stub already has an original of another size.
        let original = if role == Role::Settled { original } else { inline };
        Given { inline, original, stub, role }
    });
    prop::collection::vec(one, 0..14)
}

fn config() -> impl Strategy<Value = Config> {
    (any::<u8>(), 0..60u64, 0..500u64, -3..90i64, -3..90i64, -3..90i64).prop_map(
        |(enabled, threshold, budget, preview, preview_budget, min_preview)| Config {
            enabled: enabled > 8,
            threshold_chars: threshold,
            assistant_turn_inline_budget_chars: budget,
            preview_chars: preview,
            assistant_turn_preview_budget_chars: preview_budget,
            min_preview_chars: min_preview,
            ..Config::default()
        },
    )
}

fn sizes(results: &[Given]) -> Vec<Size> {
    let size = |&Given { inline, original, role, .. }: &Given| Size {
        inline_chars: inline,
        original_chars: original,
        role,
    };
    results.iter().map(size).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_policy_chooses_what_the_rules_say(results in given(), config in config()) {
        let mut asked = vec![0; results.len()];
        let plan = plan(&sizes(&results), &config, |index| {
            asked[index] += 1;
            results[index].stub
        });
        let expected = model(&results, &config);
        prop_assert_eq!(&plan.choices, &expected.chosen);
        prop_assert_eq!(plan.preview_chars, expected.preview_chars);
        prop_assert_eq!(plan.group_original_chars, expected.group_original_chars);
        prop_assert!(asked.iter().all(|&asked| asked <= 1), "a stub was measured twice");
    }

    #[test]
    fn the_turn_never_grows_and_the_largest_go_first(results in given(), config in config()) {
        let plan = plan(&sizes(&results), &config, |index| results[index].stub);
        let after = |index: usize| match plan.choices[index] {
            Some(_) => results[index].stub,
            None => results[index].inline,
        };
        let all = 0..results.len();
        prop_assert!(all.clone().all(|index| after(index) <= results[index].inline));
        let total: u64 = all.clone().map(after).sum();
        let before: u64 = results.iter().map(|result| result.inline).sum();
        prop_assert!(total <= before);
        let by_budget = |index: &usize| plan.choices[*index] == Some(Reason::TurnBudget);
        let chosen = all.filter(by_budget).map(|index| results[index].inline);
        if let Some(smallest) = chosen.min() {
            // Without the last that went, the turn was at its budget or over it.
            let last = (0..results.len()).filter(by_budget).filter(|&i| results[i].inline == smallest);
            let last = last.max().unwrap();
            prop_assert!(
                total - results[last].stub + results[last].inline
                    >= config.assistant_turn_inline_budget_chars
                    || plan.choices.contains(&Some(Reason::SourceRead))
            );
            for (index, result) in results.iter().enumerate() {
                let stays = plan.choices[index].is_none() && result.role != Role::Settled;
                prop_assert!(!(stays && result.stub < result.inline && result.inline > smallest));
            }
        }
    }

    /// A second pass over what the first left finds nothing to do: stubs are settled.
    #[test]
    fn a_second_pass_changes_nothing(results in given(), config in config()) {
        let first = plan(&sizes(&results), &config, |index| results[index].stub);
        let again: Vec<Size> = sizes(&results)
            .into_iter()
            .zip(&results)
            .zip(&first.choices)
            .map(|((size, result), choice)| match choice {
                Some(_) => Size { inline_chars: result.stub, role: Role::Settled, ..size },
                None => size,
            })
            .collect();
        let second = plan(&again, &config, |index| results[index].stub);
        prop_assert!(second.choices.iter().all(Option::is_none));
        prop_assert_eq!(second.group_original_chars, first.group_original_chars);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Real contents: each is measured alone, and the session chooses of the turn what the model does.
    #[test]
    fn the_session_does_what_the_rules_say(
        contents in prop::collection::vec(content(), 0..7),
        steps in prop::collection::vec(any::<bool>(), 7),
        threshold in 0..6000u64,
        budget in 0..12_000u64,
    ) {
        let config = Config {
            threshold_chars: threshold,
            assistant_turn_inline_budget_chars: budget,
            ..Config::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let alone = Config { threshold_chars: 0, ..Config::default() };
            let alone = session(alone);
            let mut results: Vec<Given> = Vec::new();
            let (mut earlier, mut parts) = (Vec::new(), Vec::new());
            for (n, content) in contents.iter().enumerate() {
                let part = ToolPart::new(&format!("c{n}"), "bash", content);
                let chars = content.chars().count() as u64;
                let is_open = steps[n] && part.output().is_some();
                let mut measured = [part.clone()];
                alone.externalize_parts("m", &[], &mut measured, Owner::Session).await.unwrap();
                let stub = measured[0].output().map_or(0, |stub| stub.chars().count() as u64);
                let role = if is_open { Role::Open } else { Role::Settled };
                results.push(Given { inline: chars, original: chars, stub, role });
                if is_open { parts.push(part) } else { earlier.push(part) }
            }
            let session = session(config.clone());
            let before = serde_json::to_string(&earlier).unwrap();
            let done =
                session.externalize_parts("m", &earlier, &mut parts, Owner::Session).await.unwrap();
            prop_assert_eq!(serde_json::to_string(&earlier).unwrap(), before);
            let expected = model(&results, &config);
            let open = |(choice, given): (&Option<Reason>, &Given)| {
                (given.role == Role::Open).then_some(*choice)
            };
            let expected_choices: Vec<_> =
                expected.chosen.iter().zip(&results).filter_map(open).collect();
            let chosen: Vec<_> =
                done.outcomes.iter().map(|o| o.replacement().map(|stub| stub.reason)).collect();
            prop_assert_eq!(chosen, expected_choices);
            prop_assert_eq!(done.group_original_chars, expected.group_original_chars);
            Ok(())
        })?;
    }
}
