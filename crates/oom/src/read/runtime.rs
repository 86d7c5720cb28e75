//! What the runtime of TPUs says when a program is loaded or a buffer is made.

use super::listing;
use crate::message::{Form, Message};
use crate::size::Size;
use haloscope_report::head;

use crate::text::{after, between};

/// Bytes of a message.
const LINE: usize = 2 << 10;

/// `Attempting to reserve 10.51G at the bottom of memory. That was not possible. There are 8.97G free, 0B reserved, and 8.97G
/// reservable.`
pub(super) fn reserve(text: &str, at: usize) -> Option<Message> {
    let mut message = asked(text, at, "Attempting to reserve ", Form::ProgramLoad)?;
    let near = near(text, at);
    let reservable = between(near, "reserved, and ", " reservable").and_then(Size::parse);
    if let Some((reservable, _)) = reservable {
        message.limit = Some(reservable);
    }
    Some(message)
}

/// `Attempting to allocate 129.50M. That was not possible. There are 78.17M free.; (0x0x0_HBM0)`.
pub(super) fn allocate(text: &str, at: usize) -> Option<Message> {
    asked(text, at, "Attempting to allocate ", Form::RuntimeAllocation)
}

/// The message up to the next of its kind.
fn near(text: &str, at: usize) -> &str {
    let near = head(&text[at..], LINE);
    let end = near.get(1..).and_then(|rest| rest.find("Attempting to ")).map_or(near.len(), |end| end + 1);
    &near[..end]
}

fn asked(text: &str, at: usize, word: &str, form: Form) -> Option<Message> {
    let near = near(text, at);
    let (required, rest) = Size::parse(near.strip_prefix(word)?)?;
    if !rest.contains("not possible") {
        return None;
    }
    let mut message = Message::new(form, "hbm");
    message.required = Some(required);
    message.limit = after(rest, "There are ").and_then(Size::parse).map(|(size, _)| size);
    message.device = between(rest, ".; (", ")")
        .or_else(|| between(rest, "; (", ")"))
        .map(super::short)
        .unwrap_or_default();
    listing::read(head(&text[at..], listing::MOST), &mut message);
    Some(message)
}
