//! The policy: which results of a turn go out of the context, and why.
//!
//! A pure function from sizes and configuration to a plan. It reads nothing, stores nothing and
//! asks how long a stub would be only of the results that a rule is about to choose.

use std::cmp::Reverse;

use toolstub_core::Reason;

use crate::Config;

/// One result of a turn, as the policy sees it. Lengths are in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// The length of what stands in the message.
    pub inline_chars: u64,
    /// The length of the original: that of what stands in the message, unless it is a stub.
    pub original_chars: u64,
    /// What may become of it.
    pub role: Role,
}

/// What may become of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It may be chosen.
    Open,
    /// It may be chosen; a retrieval tool returned it, so it is stored already.
    ReadBack,
    /// It is counted and left alone: a stub already, or a part of an earlier step.
    Settled,
}

/// What is to be done with the results of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// For each result, why it goes out; `None` where it stays.
    pub choices: Vec<Option<Reason>>,
    /// The preview's cap of each stub that is made.
    pub preview_chars: i64,
    /// The length of all originals of the turn.
    pub group_original_chars: u64,
}

/// Decides what becomes of the results of one turn.
///
/// `stub_chars` tells how long the stub of a result would be with the configured `preview_chars`;
/// it is asked at most once for each. A result whose stub is not shorter stays, whatever the rule.
pub fn plan(sizes: &[Size], config: &Config, mut stub_chars: impl FnMut(usize) -> u64) -> Plan {
    let sum = |chars: fn(&Size) -> u64| sizes.iter().map(chars).fold(0, u64::saturating_add);
    let mut choices = vec![None; sizes.len()];
    let group_original_chars = sum(|size| size.original_chars);
    let open = |index: &usize| config.enabled && sizes[*index].role != Role::Settled;

    let mut inline = sum(|size| size.inline_chars);
    let mut choose = |index: usize, inline: &mut u64, reason| {
        let Size { inline_chars, role, .. } = sizes[index];
        let stub = stub_chars(index);
        if stub < inline_chars {
            let reason = if role == Role::ReadBack { Reason::SourceRead } else { reason };
            choices[index] = Some(reason);
            *inline = inline.saturating_sub(inline_chars).saturating_add(stub);
        }
    };

    let (over, mut rest): (Vec<usize>, Vec<usize>) = (0..sizes.len())
        .filter(open)
        .partition(|&index| sizes[index].inline_chars > config.threshold_chars);
    for index in over {
        choose(index, &mut inline, Reason::SingleThreshold);
    }
    // The sort is stable: of equals, the first comes first.
    rest.sort_by_key(|&index| Reverse(sizes[index].inline_chars));
    for index in rest {
        if inline < config.assistant_turn_inline_budget_chars {
            break;
        }
        choose(index, &mut inline, Reason::TurnBudget);
    }

    let chosen = choices.iter().flatten().count();
    Plan { preview_chars: preview_chars(chosen, config), choices, group_original_chars }
}

/// What each of so many previews gets.
fn preview_chars(chosen: usize, config: &Config) -> i64 {
    let share = i64::try_from(chosen).ok().filter(|&chosen| chosen > 0);
    let share = share.map(|chosen| config.assistant_turn_preview_budget_chars / chosen);
    share.map_or(config.preview_chars, |share| {
        config.preview_chars.min(config.min_preview_chars.max(share))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(chars: &[u64]) -> Vec<Size> {
        let size = |&chars| Size { inline_chars: chars, original_chars: chars, role: Role::Open };
        chars.iter().map(size).collect()
    }

    #[track_caller]
    fn chooses(chars: &[u64], stub: u64, chosen: &[usize]) -> Plan {
        let plan = plan(&sizes(chars), &Config::default(), |_| stub);
        let found: Vec<usize> =
            (0..chars.len()).filter(|&index| plan.choices[index].is_some()).collect();
        assert_eq!(found, chosen);
        plan
    }

    #[test]
    fn threshold_itself_stays() {
        chooses(&[20_000, 20_001], 900, &[1]);
    }

    #[test]
    fn turn_at_its_budget_gives_up_the_largest_first() {
        chooses(&[19_999, 20_000, 20_000, 20_000, 20_000], 900, &[]);
        chooses(&[19_000, 20_000, 20_000, 20_000, 20_000, 1000], 900, &[1]);
        chooses(&[15_000; 8], 2000, &[0, 1]);
    }

    #[test]
    fn result_whose_stub_is_not_shorter_stays() {
        chooses(&[450; 250], 900, &[]);
        chooses(&[30_000, 30_001], 30_000, &[1]);
    }

    #[test]
    fn previews_share_their_budget() {
        assert_eq!(chooses(&[30_000; 5], 900, &[0, 1, 2, 3, 4]).preview_chars, 2000);
        assert_eq!(chooses(&[30_000; 8], 900, &[0, 1, 2, 3, 4, 5, 6, 7]).preview_chars, 1250);
        let all: Vec<usize> = (0..40).collect();
        assert_eq!(chooses(&[30_000; 40], 900, &all).preview_chars, 1000);
    }

    #[test]
    fn what_is_settled_counts_and_stays() {
        let mut sizes = sizes(&[60_000, 39_000, 1500]);
        sizes[0].role = Role::Settled;
        sizes[1].role = Role::Settled;
        let plan = plan(&sizes, &Config::default(), |_| 900);
        assert_eq!(plan.choices, [None, None, Some(Reason::TurnBudget)]);
        assert_eq!(plan.group_original_chars, 100_500);
    }

    #[test]
    fn read_back_is_chosen_by_the_same_rules() {
        let mut sizes = sizes(&[500, 25_000]);
        for size in &mut sizes {
            size.role = Role::ReadBack;
        }
        let plan = plan(&sizes, &Config::default(), |_| 900);
        assert_eq!(plan.choices, [None, Some(Reason::SourceRead)]);
    }

    #[test]
    fn session_that_is_not_enabled_changes_nothing() {
        let config = Config { enabled: false, ..Config::default() };
        let plan = plan(&sizes(&[50_000]), &config, |_| unreachable!("nothing is chosen"));
        assert_eq!(plan.choices, [None]);
    }
}
