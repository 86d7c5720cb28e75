//! Exposed communication by kind of collective.

use super::Evidence;
use haloscope_time::account::Class;
use haloscope_time::op_meta::{OpMeta, is_async_collective, is_asynchronous};
use haloscope_time::ops::Op;

/// The collectives of one kind.
pub(crate) struct Kind<'e, 'p> {
    /// Such as `all-gather`; `collective` where nothing says which.
    pub name: &'static str,
    /// Exposed time summed over devices, picoseconds.
    pub time_ps: f64,
    /// The part of it in ops that are not split into start and done.
    pub sync_ps: f64,
    /// The ops, largest first.
    pub ops: Vec<&'e Op<'p>>,
}

/// All kinds.
pub(crate) struct Kinds<'e, 'p> {
    /// Largest first.
    pub kinds: Vec<Kind<'e, 'p>>,
    /// Exposed time over self time: less than 1 where other ops run at the same time.
    pub scale: f64,
}

/// Words by which a kind is known, lower case without dashes: longer ones first.
const KINDS: [(&str, &str); 9] = [
    ("raggedalltoall", "all-to-all"),
    ("alltoall", "all-to-all"),
    ("reducescatter", "reduce-scatter"),
    ("allreduce", "all-reduce"),
    ("allgather", "all-gather"),
    ("collectivepermute", "collective-permute"),
    ("broadcast", "collective-broadcast"),
    ("send", "send and receive"),
    ("recv", "send and receive"),
];

/// The first so many are long enough to be looked for in expressions.
const IN_EXPRESSIONS: usize = 6;

impl Kind<'_, '_> {
    /// The kind at the beginning of a sentence.
    pub(crate) fn plural(&self) -> String {
        match self.name {
            "all-to-all" => "All-to-all exchanges".into(),
            "send and receive" => "Sends and receives".into(),
            name => {
                let mut letters = name.chars();
                let first = letters.next().map(|c| c.to_ascii_uppercase()).into_iter();
                first.chain(letters).chain(['s']).collect()
            }
        }
    }
}

impl<'p> Evidence<'p> {
    /// Exposed communication by kind.
    pub(crate) fn collectives(&self) -> Kinds<'_, 'p> {
        let is_meant = |op: &&Op<'_>| Class::of(&op.meta) == Class::Communication && op.self_ps > 0;
        let ops: Vec<&Op<'p>> = self.ops().iter().filter(is_meant).collect();
        let all: f64 = ops.iter().map(|op| op.self_ps as f64).sum();
        let exposed = self.times().of(Class::Communication) as f64;
        let scale = if all > 0.0 { (exposed / all).min(1.0) } else { 1.0 };
        let mut kinds: Vec<Kind<'_, 'p>> = Vec::new();
        for op in ops {
            let name = kind(&op.meta);
            let time_ps = op.self_ps as f64 * scale;
            let is_async = is_asynchronous(&op.meta.category) || is_async_collective(&op.meta.name);
            let sync_ps = if is_async { 0.0 } else { time_ps };
            match kinds.iter_mut().find(|kind| kind.name == name) {
                Some(kind) => {
                    kind.time_ps += time_ps;
                    kind.sync_ps += sync_ps;
                    kind.ops.push(op);
                }
                None => kinds.push(Kind { name, time_ps, sync_ps, ops: vec![op] }),
            }
        }
        kinds.sort_by(|a, b| b.time_ps.total_cmp(&a.time_ps).then(a.name.cmp(b.name)));
        Kinds { kinds, scale }
    }
}

/// The kind of a collective, by its category, its name, and the framework's name for it.
fn kind(meta: &OpMeta<'_>) -> &'static str {
    let plain = |text: &str| -> String {
        text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    // The fusion of an all-reduce and a slice is a reduce-scatter.
    if meta.category.contains("all-reduce-scatter") {
        return "reduce-scatter";
    }
    // In expressions the short words may be parts of other names.
    let long = KINDS.get(..IN_EXPRESSIONS).unwrap_or_default();
    let of = |text: &str, words: &[(&str, &'static str)]| {
        let text = plain(text);
        words.iter().find(|(word, _)| text.contains(word)).map(|(_, kind)| *kind)
    };
    let found = of(&meta.category, &KINDS).or_else(|| of(&meta.name, &KINDS));
    found.or_else(|| of(&meta.expression, long)).unwrap_or("collective")
}
