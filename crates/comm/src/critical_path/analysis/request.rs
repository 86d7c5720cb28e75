//! What `--if` asks: changes in words.

use crate::critical_path::{Change, Choice, Graph, GraphOp};
use haloscope_program::hlo::find::nearest;
use haloscope_report::Error;
use haloscope_time::account::{Class, Group};

/// What a change may look like.
const FORMS: &str = "`WHAT free`, `WHAT x0.7`, `WHAT at roofline`, `perfect overlap`, `no straggler` or `no idle`, where WHAT is an op such as fusion.12, \
     a pattern such as fusion.*, a category, a kind of collective such as all-gather, or one of: communication, copies, compute, infeed, \
     input, idle, host transfers, overhead";

/// Kinds of collectives, as people call them, and the same without signs.
const KINDS: [(&str, &str); 7] = [
    ("all-gather", "allgather"),
    ("reduce-scatter", "reducescatter"),
    ("all-reduce", "allreduce"),
    ("all-to-all", "alltoall"),
    ("collective-permute", "collectivepermute"),
    ("collective-broadcast", "collectivebroadcast"),
    ("send-recv", "sendrecv"),
];

/// A change, in the words in which it was asked.
pub(super) struct Request {
    pub(super) words: String,
    pub(super) change: Change,
}

impl Request {
    pub(super) fn new(words: impl Into<String>, change: Change) -> Self {
        Self { words: words.into(), change }
    }
}

/// Reads changes that are separated by `;`.
///
/// # Errors
/// [`Error::Usage`] for what is no change and for ops that the step does not have.
pub(super) fn read(text: &str, graph: &Graph<'_>) -> Result<Vec<Request>, Error> {
    let parts = text.split([';', '\n']).map(str::trim).filter(|part| !part.is_empty());
    parts.map(|words| Ok(Request::new(words, change(words, graph)?))).collect()
}

fn change(words: &str, graph: &Graph<'_>) -> Result<Change, Error> {
    let lower = words.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    match lower.as_str() {
        "perfect overlap" => return Ok(Change::PerfectOverlap),
        "no straggler" | "no stragglers" => return Ok(Change::NoStraggler),
        _ => {}
    }
    if let Some(what) = lower.strip_suffix(" free").or_else(|| lower.strip_prefix("no ")) {
        return Ok(Change::Scale(choose(what.trim(), graph)?, 0.0));
    }
    for end in [" at roofline", " at its roofline", " at the roofline"] {
        if let Some(what) = lower.strip_suffix(end) {
            return Ok(Change::Roofline(choose(what.trim(), graph)?));
        }
    }
    let factor = |word: &str| {
        let number = word.strip_prefix(['x', '*', '×'])?;
        number.parse::<f64>().ok().filter(|f| f.is_finite() && (0.0..=1000.0).contains(f))
    };
    if let Some((what, by)) = lower.rsplit_once(' ')
        && let Some(factor) = factor(by)
    {
        return Ok(Change::Scale(choose(what.trim(), graph)?, factor));
    }
    Err(Error::Usage(format!("`if`: expected {FORMS}; found `{words}`")))
}

/// What some words stand for: first a word that has a meaning of its own, then a kind, a category, an op, a pattern.
pub(super) fn choose(what: &str, graph: &Graph<'_>) -> Result<Choice, Error> {
    let classes = |classes: &[Class], gaps: &[Class]| Choice {
        ops: graph.ops.iter().map(|op| classes.contains(&op.class)).collect(),
        gaps: gaps.to_vec(),
    };
    let idle: Vec<Class> = Class::ALL.into_iter().filter(|c| c.group() == Group::Idle).collect();
    match what {
        "communication" | "collectives" | "collective" => return Ok(classes(&[Class::Communication], &[])),
        "copies" => return Ok(classes(&[Class::Copy, Class::AsyncWait], &[])),
        "compute" => return Ok(classes(&[Class::Compute], &[])),
        "infeed" | "outfeed" => return Ok(classes(&[Class::Infeed], &[])),
        "input" => return Ok(classes(&[Class::Infeed], &[Class::Input])),
        "idle" => return Ok(classes(&[], &idle)),
        "between programs" => return Ok(classes(&[], &[Class::Between])),
        "host transfers" | "host transfer" => return Ok(classes(&[Class::HostTransfer], &[])),
        "overhead" => return Ok(classes(&[Class::Overhead], &[Class::Overhead])),
        _ => {}
    }
    let singular = what.strip_suffix('s').unwrap_or(what);
    if let Some((known, _)) = KINDS.iter().find(|(k, _)| *k == what || *k == singular) {
        return Ok(of_ops(graph, |op| kind(op) == Some(known)));
    }
    let tests: [&dyn Fn(&GraphOp<'_>) -> bool; 3] = [
        &|op| op.meta.category.to_lowercase() == what,
        &|op| op.meta.name.to_lowercase() == what.trim_start_matches('%'),
        &|op| what.contains(['*', '?']) && fits(what, &op.meta.name.to_lowercase()),
    ];
    for test in tests {
        if graph.ops.iter().any(test) {
            return Ok(of_ops(graph, test));
        }
    }
    let names = graph.ops.iter().map(|op| op.meta.name.as_ref());
    let categories = graph.ops.iter().map(|op| op.meta.category.as_ref()).filter(|c| !c.is_empty());
    let near = nearest(what, names.chain(categories)).join(", ");
    Err(Error::Usage(format!("`if`: nothing in the step is called `{what}`; near it: {near}")))
}

/// Ops of the step. An op that begins an asynchronous operation and the one that waits for it go together.
pub(super) fn of_ops(graph: &Graph<'_>, takes: impl Fn(&GraphOp<'_>) -> bool) -> Choice {
    let mut ops: Vec<bool> = graph.ops.iter().map(takes).collect();
    for transfer in &graph.transfers {
        let pair = [transfer.issued_by, transfer.awaited_by].map(|n| graph.nodes[n as usize].op as usize);
        if pair.iter().any(|op| ops[*op]) {
            pair.iter().for_each(|op| ops[*op] = true);
        }
    }
    Choice { ops, gaps: Vec::new() }
}

/// The kind of a collective: by its name, else by its category, else by what its expression calls.
pub(super) fn kind(op: &GraphOp<'_>) -> Option<&'static str> {
    if op.class != Class::Communication {
        return None;
    }
    [&op.meta.name, &op.meta.category, &op.meta.expression].into_iter().find_map(|text| {
        let plain: String =
            text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        KINDS.iter().find(|(_, word)| plain.contains(word)).map(|(kind, _)| *kind)
    })
}

/// Whether a name fits a pattern: `*` stands for any letters, `?` for one.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == b'?' || pattern[p] == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            n = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, is_fit) in [
            ("fusion.*", "fusion.12", true),
            ("fusion.*", "fusion", false),
            ("*fusion*", "loop_fusion.3", true),
            ("fusion.?", "fusion.12", false),
            ("a*b*c", "a-b-b-c", true),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, name), is_fit, "{pattern} {name}");
        }
    }

    #[test]
    fn what_is_no_change_is_said() {
        let graph = Graph::default();
        for words in ["all-gather", "fusion.1 x-2", "fusion.1 xfast", "faster"] {
            let Err(Error::Usage(message)) = change(words, &graph) else { panic!("{words}") };
            assert!(message.contains("`WHAT x0.7`"), "{message}");
        }
        assert!(matches!(change("all-gather free", &graph), Ok(Change::Scale(_, f)) if f == 0.0));
        assert!(matches!(change("Copies X0.5", &graph), Ok(Change::Scale(_, f)) if f == 0.5));
        assert!(matches!(change("fusion.12 x0.5", &graph), Err(Error::Usage(m)) if m.contains("fusion.12")));
    }
}
