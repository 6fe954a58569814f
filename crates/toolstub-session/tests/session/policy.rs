//! The policy against a model that reads like its rules.

use proptest::prelude::*;
use toolstub_core::Reason;
use toolstub_session::{Config, Role, Size, plan};

/// One result: its size, the size of its stub, and what may become of it.
type Given = (u64, u64, Role);

/// The rules, one after the other, with no regard to what they cost.
fn model(results: &[Given], config: &Config) -> (Vec<Option<Reason>>, i64) {
    let mut chosen: Vec<Option<Reason>> = vec![None; results.len()];
    if !config.enabled {
        return (chosen, config.preview_chars);
    }
    let why = |index: usize, reason| match results[index].2 {
        Role::ReadBack => Some(Reason::SourceRead),
        _ => Some(reason),
    };
    let can_go =
        |index: usize| results[index].2 != Role::Settled && results[index].1 < results[index].0;
    for (index, result) in results.iter().enumerate() {
        if result.0 > config.threshold_chars && can_go(index) {
            chosen[index] = why(index, Reason::SingleThreshold);
        }
    }
    loop {
        let inline = |index: usize| {
            if chosen[index].is_some() { results[index].1 } else { results[index].0 }
        };
        let sum: u64 = (0..results.len()).map(inline).sum();
        if sum < config.assistant_turn_inline_budget_chars {
            break;
        }
        let mut largest: Option<usize> = None;
        for index in 0..results.len() {
            let larger = largest.is_none_or(|best| results[index].0 > results[best].0);
            if chosen[index].is_none() && can_go(index) && larger {
                largest = Some(index);
            }
        }
        let Some(index) = largest else { break };
        chosen[index] = why(index, Reason::TurnBudget);
    }
    let count: i64 = chosen.iter().filter(|choice| choice.is_some()).map(|_| 1_i64).sum();
    let preview = match count {
        0 => config.preview_chars,
        n => config
            .preview_chars
            .min(config.min_preview_chars.max(config.assistant_turn_preview_budget_chars / n)),
    };
    (chosen, preview)
}

fn role() -> impl Strategy<Value = Role> {
    prop_oneof![5 => Just(Role::Open), 1 => Just(Role::ReadBack), 1 => Just(Role::Settled)]
}

fn given() -> impl Strategy<Value = Vec<Given>> {
    // Few sizes, so that there are ties; stubs around them.
    let size = prop_oneof![0..40u64, Just(20), Just(21), 0..400u64];
    prop::collection::vec((size, 0..60u64, role()), 0..14)
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
    let size =
        |&(chars, _, role): &Given| Size { inline_chars: chars, original_chars: chars, role };
    results.iter().map(size).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn the_policy_chooses_what_the_rules_say(results in given(), config in config()) {
        let mut asked = vec![0; results.len()];
        let plan = plan(&sizes(&results), &config, |index| {
            asked[index] += 1;
            results[index].1
        });
        let (chosen, preview_chars) = model(&results, &config);
        prop_assert_eq!(&plan.choices, &chosen);
        prop_assert_eq!(plan.preview_chars, preview_chars);
        prop_assert!(asked.iter().all(|&asked| asked <= 1), "a stub was measured twice");
    }

    #[test]
    fn the_turn_never_grows_and_the_largest_go_first(results in given(), config in config()) {
        let plan = plan(&sizes(&results), &config, |index| results[index].1);
        let after = |index: usize| match plan.choices[index] {
            Some(_) => results[index].1,
            None => results[index].0,
        };
        for (index, result) in results.iter().enumerate() {
            prop_assert!(after(index) <= result.0);
        }
        let by_budget = |index: &usize| plan.choices[*index] == Some(Reason::TurnBudget);
        if let Some(smallest) = (0..results.len()).filter(by_budget).map(|i| results[i].0).min() {
            for (index, result) in results.iter().enumerate() {
                let stays = plan.choices[index].is_none() && result.2 != Role::Settled;
                prop_assert!(!(stays && result.1 < result.0 && result.0 > smallest));
            }
        }
    }

    /// A second pass over what the first left finds nothing to do: stubs are settled.
    #[test]
    fn a_second_pass_changes_nothing(results in given(), config in config()) {
        let first = plan(&sizes(&results), &config, |index| results[index].1);
        let again: Vec<Size> = results
            .iter()
            .zip(&first.choices)
            .map(|(&(chars, stub, role), choice)| match choice {
                Some(_) => Size { inline_chars: stub, original_chars: chars, role: Role::Settled },
                None => Size { inline_chars: chars, original_chars: chars, role },
            })
            .collect();
        let second = plan(&again, &config, |index| results[index].1);
        prop_assert!(second.choices.iter().all(Option::is_none));
        prop_assert_eq!(second.group_original_chars, first.group_original_chars);
    }
}
