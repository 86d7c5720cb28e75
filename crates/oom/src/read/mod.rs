//! From a text to the messages in it. Wordings are told apart by what stands in the middle of them, so that a traceback or a log
//! around them does no harm.

mod compile;
mod gpu;
mod listing;
mod runtime;

use std::collections::BTreeSet;

use crate::message::Message;
use haloscope_report::head;

use crate::text::{between, plain};

/// At most this many messages of a text are read; a program on many devices repeats one for each.
const MOST_MESSAGES: usize = 256;
/// Bytes in front of a message in which its status and code stand.
const BEFORE: usize = 240;
/// Characters of a name or shape that are kept.
pub(crate) const LONGEST: usize = 2000;

/// A wording: what stands in it, and what reads it, from the text and where that stands.
type Wording = (&'static str, fn(&str, usize) -> Option<Message>);

/// The wordings known. Where one stands in another the longer one is first.
const WORDINGS: &[Wording] = &[
    ("Ran out of memory on ", compile::total),
    ("Ran out of memory in memory space ", compile::in_space),
    ("Scoped allocation with size ", compile::scoped_only),
    ("scoped allocation with size ", compile::scoped_only),
    ("Insufficient scoped vmem", compile::insufficient),
    ("Allocation (size=", compile::one_allocation),
    ("current allocation offset upper bound (", compile::sparse_core),
    ("Attempting to reserve ", runtime::reserve),
    ("Attempting to allocate ", runtime::allocate),
    ("Out of memory while trying to allocate ", gpu::while_trying),
    ("Out of memory allocating ", gpu::while_trying),
    ("Failed to allocate request for ", gpu::request),
    ("ailed to allocate ", gpu::from_device),
    ("ran out of memory trying to allocate ", gpu::allocator),
    ("OOM when allocating tensor with shape", gpu::tensor),
    ("Tried to allocate ", gpu::tried),
];

/// The messages of a text, each once, in the order of the text.
#[must_use]
pub fn read(text: &str) -> Vec<Message> {
    let text = plain(text);
    let mut found: Vec<(usize, Message)> = Vec::new();
    for (word, read) in WORDINGS {
        let mut from = 0;
        let mut tries = 0;
        while let Some(at) = text.get(from..).and_then(|rest| rest.find(word)) {
            let at = from + at;
            from = at + word.len();
            tries += 1;
            if tries > MOST_MESSAGES {
                break;
            }
            if let Some(mut message) = read(&text, at) {
                status(&text, at, &mut message);
                found.push((at, message));
            }
        }
    }
    found.sort_by_key(|(at, _)| *at);
    let mut seen = BTreeSet::new();
    let mut all: Vec<Message> = Vec::new();
    let (mut line, mut until) = (1, 0);
    for (at, mut message) in found {
        line += text.get(until..at).map_or(0, |part| part.bytes().filter(|b| *b == b'\n').count());
        until = at;
        message.line = line;
        let key = (
            message.form,
            message.space.clone(),
            message.required.map(|r| r.bytes),
            message.limit.map(|l| l.bytes),
        );
        if seen.insert(key) {
            all.push(message);
        }
    }
    all
}

/// The message that a report is about: a failure before a warning, one that says the limit before one that does not, and among
/// those the first, as others follow from it.
#[must_use]
pub fn main_message(messages: &[Message]) -> Option<&Message> {
    let rank = |message: &&Message| {
        (
            message.is_warning,
            message.required.is_none(),
            message.limit.is_none() && message.buffers.is_empty(),
        )
    };
    messages.iter().min_by_key(rank)
}

/// Fills in the status and the error code that stand in front of a message.
fn status(text: &str, at: usize, message: &mut Message) {
    let from = (at.saturating_sub(BEFORE)..=at).find(|from| text.is_char_boundary(*from)).unwrap_or(at);
    let mut before = &text[from..at];
    // Of a message in front of this one nothing is taken.
    if let Some(end) = before.rfind("for more details.") {
        before = &before[end..];
    }
    let words =
        ["RESOURCE_EXHAUSTED", "Resource exhausted", "ResourceExhaustedError", "INTERNAL", "UNIMPLEMENTED"];
    let status = words.iter().filter_map(|word| before.rfind(word).map(|at| (at, *word))).max();
    if let Some((_, word)) = status {
        message.status =
            if word.starts_with("Res") { "RESOURCE_EXHAUSTED".to_owned() } else { word.to_owned() };
    }
    for (at, _) in before.match_indices('E').rev() {
        let code = &before[at..];
        let Some((code, rest)) = code.split_once(':') else { continue };
        let is_code = code.len() == 5 && code[1..].bytes().all(|b| b.is_ascii_digit());
        let name = rest.trim_start().split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        // A log of glog begins with a letter and four digits too.
        if is_code && name.len() > 3 && name.starts_with(|c: char| c.is_ascii_uppercase()) {
            message.code = code.to_owned();
            message.code_name = short(name);
            break;
        }
    }
    if let Some(program) = between(before, "Error loading program '", "'") {
        message.module = short(program);
    }
}

/// At most so much of a text that a message cannot fill a report.
pub(crate) fn short(text: &str) -> String {
    head(text.trim(), LONGEST).to_owned()
}

#[cfg(test)]
mod tests;
