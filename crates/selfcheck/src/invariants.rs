//! The invariants.

mod ceilings;
mod one;
mod ranges;
mod split;
mod sums;
mod words;

use crate::{Holds, Invariant};

/// All sums that must hold. One more is one entry.
pub static ALL: &[Invariant] = &[
    Invariant {
        id: "shares_in_range",
        says: "a share lies between 0 and 1",
        holds: Holds::Alone(ranges::shares),
    },
    Invariant {
        id: "not_negative",
        says: "a length, a size or a count is not below 0",
        holds: Holds::Alone(ranges::not_negative),
    },
    Invariant {
        id: "ordered",
        says: "what is part of something is at most that: self time of total, exposed time of the step, the least of the mean of the most",
        holds: Holds::Alone(ranges::ordered),
    },
    Invariant {
        id: "below_peak",
        says: "no rate is above 102% of its peak without a remark",
        holds: Holds::Alone(ranges::below_peak),
    },
    Invariant { id: "parts_add_up", says: "parts add up to their whole", holds: Holds::Alone(sums::parts) },
    Invariant {
        id: "children_within_parent",
        says: "the children of a node add up to no more than the node",
        holds: Holds::Alone(sums::trees),
    },
    Invariant {
        id: "peak_is_maximum",
        says: "a peak is the largest value of its curve",
        holds: Holds::Alone(sums::peaks),
    },
    Invariant {
        id: "steps_fit",
        says: "the counted steps, one after another, fit into the capture",
        holds: Holds::Alone(sums::steps),
    },
    Invariant {
        id: "ceilings",
        says: "a ceiling is at most 1 / (1 - the share that it removes), and no cause removes more than there is",
        holds: Holds::Alone(ceilings::ceilings),
    },
    Invariant {
        id: "claims_within_whole",
        says: "what the causes of one rule claim is together at most the active window",
        holds: Holds::Alone(ceilings::claims),
    },
    Invariant { id: "words_fit", says: "no text says `21 of 18`", holds: Holds::Alone(words::fit) },
    Invariant {
        id: "one_number",
        says: "one quantity is one number in every analysis",
        holds: Holds::Together(one::one),
    },
    Invariant {
        id: "same_id",
        says: "numbers of one id are equal in every analysis",
        holds: Holds::Together(one::same_id),
    },
    Invariant {
        id: "ops_within_wall",
        says: "the self times of a device's ops add up to no more than the time in which it had some",
        holds: Holds::Together(one::ops_within_wall),
    },
    Invariant {
        id: "scopes_add_up",
        says: "windows, devices, hosts and steps that leave nothing out add up to the whole",
        holds: Holds::Split(split::split),
    },
];
