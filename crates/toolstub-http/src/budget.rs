//! Which messages fit a budget of tokens.
//!
//! A turn begins with what the user says; the steps in it are an assistant's messages, each with what
//! tools answered. Whole turns fit or do not: an answer without its call, or a call without its
//! answer, is worse than neither. No message is ever cut.

use serde_json::value::RawValue;

/// What counts of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weighed {
    pub(crate) tokens: u64,
    pub(crate) place: Place,
}

/// Where a message stands in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It begins a turn.
    Turn,
    /// It begins a step of a turn.
    Step,
    /// It belongs to the step before it.
    Answer,
}

impl Weighed {
    /// Weighs a message as it is kept.
    pub(crate) fn of(line: &[u8]) -> Self {
        #[derive(serde::Deserialize)]
        struct Told<'a> {
            #[serde(default)]
            role: String,
            #[serde(default)]
            message_kind: String,
            #[serde(borrow)]
            parts: Vec<&'a RawValue>,
        }
        #[derive(serde::Deserialize)]
        struct Part {
            #[serde(default)]
            r#type: String,
        }
        let tokens = crate::message::tokens_of(line);
        let Ok(told) = serde_json::from_slice::<Told<'_>>(line) else {
            return Self { tokens, place: Place::Answer };
        };
        let is_tool = |part: &&RawValue| {
            serde_json::from_str::<Part>(part.get()).is_ok_and(|part| part.r#type == "tool")
        };
        let has_answers_alone = !told.parts.is_empty() && told.parts.iter().all(is_tool);
        let place = match told.role.as_str() {
            _ if told.message_kind == "tool_transport" => Place::Answer,
            "user" if has_answers_alone => Place::Answer,
            "user" => Place::Turn,
            "assistant" => Place::Step,
            _ => Place::Answer,
        };
        Self { tokens, place }
    }
}

/// Says of each message whether it is to be shown; the last comes whatever it weighs, unless the
/// budget is 0. The first message given begins a turn, or there is none before it.
pub(crate) fn choose(messages: &[Weighed], budget: u128) -> Vec<bool> {
    let mut chosen = vec![false; messages.len()];
    if budget == 0 {
        return chosen;
    }
    let sum = |range: &[Weighed]| range.iter().map(|one| u128::from(one.tokens)).sum::<u128>();
    let mut end = messages.len();
    let mut left = budget;
    while end > 0 {
        let begin = begins(messages, end, |place| place == Place::Turn);
        let weight = sum(&messages[begin..end]);
        if weight > left {
            break;
        }
        chosen[begin..end].fill(true);
        left -= weight;
        end = begin;
    }
    if end < messages.len() || end == 0 {
        return chosen;
    }
    // Not even the newest turn fits: what it began with, if there is room, and its last steps.
    let first = begins(messages, end, |place| place == Place::Turn);
    let last = begins(messages, end, |place| place != Place::Answer).max(first);
    // Where the beginning of the turn is not among the messages, there is no such message to show.
    let is_anchor = messages[first].place == Place::Turn;
    let anchor = if is_anchor { u128::from(messages[first].tokens) } else { 0 };
    let newest = sum(&messages[last..end]);
    chosen[last..end].fill(true);
    if last == first || anchor + newest > budget {
        return chosen;
    }
    chosen[first] = is_anchor;
    left = budget - anchor - newest;
    end = last;
    while end > first + 1 {
        let begin = begins(messages, end, |place| place != Place::Answer).max(first + 1);
        if messages[begin].place == Place::Answer {
            // Answers whose call is not among the messages.
            break;
        }
        let weight = sum(&messages[begin..end]);
        if weight > left {
            break;
        }
        chosen[begin..end].fill(true);
        left -= weight;
        end = begin;
    }
    chosen
}

/// Where what ends before `end` begins.
fn begins(messages: &[Weighed], end: usize, is_begin: impl Fn(Place) -> bool) -> usize {
    messages[..end].iter().rposition(|message| is_begin(message.place)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `U10 A5 T20`: places and weights.
    fn messages(text: &str) -> Vec<Weighed> {
        let weighed = |word: &str| {
            let place = match &word[..1] {
                "U" => Place::Turn,
                "A" => Place::Step,
                _ => Place::Answer,
            };
            Weighed { tokens: word[1..].parse().unwrap(), place }
        };
        text.split(' ').map(weighed).collect()
    }

    #[track_caller]
    fn chooses(text: &str, budget: u128, expected: &str) {
        let chosen = choose(&messages(text), budget);
        let words: Vec<_> = text.split(' ').zip(chosen).filter(|(_, chosen)| *chosen).collect();
        let words: Vec<_> = words.into_iter().map(|(word, _)| word).collect();
        assert_eq!(words.join(" "), expected, "{text} in {budget}");
    }

    #[test]
    fn whole_turns_fit_the_newest_first() {
        chooses("U10 A10 U10 A10", 100, "U10 A10 U10 A10");
        chooses("U10 A10 U10 A10", 40, "U10 A10 U10 A10");
        chooses("U10 A10 U10 A11", 39, "U10 A11");
        // What is older than what does not fit is not shown, however small.
        chooses("U1 A1 U90 A9 U10 A10", 50, "U10 A10");
        chooses("T5 U10 A10", 20, "U10 A10");
        chooses("T5 U10 A10", 25, "T5 U10 A10");
    }

    #[test]
    fn of_a_turn_that_does_not_fit_the_last_steps_are_shown() {
        chooses("U10 A10 A10 A10", 20, "U10 A10");
        chooses("U10 A11 A12 A13", 35, "U10 A12 A13");
        chooses("U10 A10 A10 A10", 25, "U10 A10");
        // A call and its answers stay together.
        chooses("U10 A5 T20 T20 A5 T20", 40, "U10 A5 T20");
        chooses("U10 A5 T20 T20 A5 T20", 79, "U10 A5 T20");
        chooses("U10 A5 T20 T20 A5 T20", 80, "U10 A5 T20 T20 A5 T20");
    }

    #[test]
    fn answers_are_not_shown_without_their_call() {
        chooses("T10 T10 A10 T10 A10 T10", 50, "A10 T10 A10 T10");
        chooses("A10 T10 A10 T10 A10 T10", 50, "A10 T10 A10 T10");
        chooses("A10 T10 A10 T10 A10 T10", 39, "A10 T10");
    }

    #[test]
    fn the_newest_is_shown_whatever_it_weighs() {
        chooses("U10 A100", 50, "A100");
        chooses("U100", 1, "U100");
        chooses("U100", 0, "");
        chooses("A5 T100", 1, "A5 T100");
    }
}
