//! Exposed communication by kind of collective.

use rustc_hash::FxHashMap;

use super::Evidence;
use haloscope_comm::exposed_by_op;
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
    /// The ops with their exposed time, picoseconds; longest first.
    pub ops: Vec<(&'e Op<'p>, f64)>,
}

/// All kinds.
pub(crate) struct Kinds<'e, 'p> {
    /// Largest first.
    pub kinds: Vec<Kind<'e, 'p>>,
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
            name => format!("{}s", haloscope_report::capitalized(name)),
        }
    }
}

impl<'p> Evidence<'p> {
    /// Exposed communication by kind: each op by the instants of the account that are its own.
    pub(crate) fn collectives(&self) -> Kinds<'_, 'p> {
        let mut exposed: FxHashMap<(Option<u64>, String), i64> = FxHashMap::default();
        let selected = self.selection.devices.iter().zip(self.accounts()).enumerate();
        for (position, (device, account)) in selected {
            let Some(account) = account else { continue };
            let cut = self.selection.window(position);
            let own = exposed_by_op(self.profile, device, account, cut);
            #[expect(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
            for (op, ps) in own {
                let sum = exposed.entry(op).or_default();
                *sum = sum.saturating_add(ps);
            }
        }
        let mut kinds: Vec<Kind<'_, 'p>> = Vec::new();
        for op in self.ops() {
            let key = (op.meta.program_id, op.meta.name.to_string());
            let Some(time_ps) = exposed.get(&key).map(|ps| *ps as f64) else { continue };
            let name = kind(&op.meta);
            let is_async = is_asynchronous(&op.meta.category) || is_async_collective(&op.meta.name);
            let sync_ps = if is_async { 0.0 } else { time_ps };
            match kinds.iter_mut().find(|kind| kind.name == name) {
                Some(kind) => {
                    kind.time_ps += time_ps;
                    kind.sync_ps += sync_ps;
                    kind.ops.push((op, time_ps));
                }
                None => kinds.push(Kind { name, time_ps, sync_ps, ops: vec![(op, time_ps)] }),
            }
        }
        kinds.iter_mut().for_each(|kind| kind.ops.sort_by(|a, b| b.1.total_cmp(&a.1)));
        kinds.sort_by(|a, b| b.time_ps.total_cmp(&a.time_ps).then(a.name.cmp(b.name)));
        Kinds { kinds }
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
