//! Ops that take far longer than their FLOPs and bytes explain, and than comparable ops of the run take.

use std::collections::BTreeSet;

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::names::{common, counted, framework_tail, named_scope};
use crate::evidence::work::{Piece, Roof, is_irregular};
use crate::rule::{Outcome, Rule, Standing};
use crate::thresholds::{GAP, OP_WORTH};
use haloscope_profile::DeviceKind;
use haloscope_report::units;
use haloscope_report::{Finding, Link, Status};
use haloscope_time::ops::Op;

pub(super) static RULE: Rule = Rule {
    id: "below_roofline",
    standing: Standing::Cause,
    on: &[DeviceKind::Tpu, DeviceKind::Gpu],
    needs: "FLOPs and bytes of ops (on TPUs from the profile, elsewhere from the HLO), and the device's peaks",
    threshold: Some(&GAP),
    check,
};

/// Where comparable ops agree within a few percent, one that is this far off is an outlier.
const OUTLIER: f64 = 0.15;
/// An execution shorter than this, picoseconds, is mostly the cost of starting it: `many_small_ops` looks at those.
const SHORTEST_PS: f64 = 3e6;
/// The same on GPUs, where a kernel takes longer to start.
const SHORTEST_GPU_PS: f64 = 10e6;
/// Where the best of comparable ops reach less than this of their limit, it is another limit that binds them.
const BINDING: f64 = 0.3;
/// The edge of the matrix unit of most TPUs, and of the tile that all pad to.
const MATRIX_UNIT: u64 = 128;
/// Ops of one place are slow alike where their factors are within this of each other.
const ALIKE: f64 = 1.25;
/// At most this many groups are findings; the rest is in the table of the roofline.
const FINDINGS: usize = 8;

/// A slow op.
struct Slow<'e, 'p> {
    op: &'e Op<'p>,
    piece: Piece,
    saved_ps: f64,
}

fn check(evidence: &Evidence<'_>) -> Outcome {
    let pieces = evidence.pieces();
    if pieces.is_empty() {
        return Outcome::unknown(match (evidence.peaks.flops, evidence.peaks.hbm) {
            (Some(_), Some(_)) => "no compute op has a FLOP or byte count",
            _ => "the device's peaks are not known, so there is no roofline",
        });
    }
    let covered: f64 = pieces.iter().map(|p| p.time_ps).sum();
    let groups = groups(evidence);
    let said = format!(
        "{} of the active window is in ops whose shortest possible time is known; {} of them take far longer{}",
        units::share(evidence.of_active(covered)),
        match groups.len() {
            0 => "none".to_owned(),
            n => counted(n as u64, "group"),
        },
        if groups.len() > FINDINGS { format!(", of which {FINDINGS} are shown") } else { String::new() },
    );
    let findings = groups.iter().take(FINDINGS).map(|group| finding(evidence, group)).collect();
    Outcome::found(said, findings)
}

/// The slow ops that are worth a finding, those of one framework op together, most to save first.
fn groups<'e, 'p>(evidence: &'e Evidence<'p>) -> Vec<Vec<Slow<'e, 'p>>> {
    let memory_rate = evidence.memory_rate();
    let slow = evidence.pieces().iter().filter_map(|piece| slow(evidence, piece, memory_rate));
    let mut groups: Vec<(String, Vec<Slow<'_, '_>>)> = Vec::new();
    for one in slow {
        let key = format!("{} {} {}", one.op.module, framework_tail(&one.op.meta), one.op.meta.category);
        match groups.iter_mut().find(|(own, _)| *own == key) {
            Some((_, group)) => group.push(one),
            None => groups.push((key, vec![one])),
        }
    }
    let mut groups = of_places(groups.into_iter().map(|(_, group)| group));
    groups.retain(|group| evidence.of_active(saved_ps(group)) >= OP_WORTH.good);
    groups.sort_by(|a, b| saved_ps(b).total_cmp(&saved_ps(a)));
    groups
}

/// Groups of one place of the program, the products of its forward and its backward pass, whose ops are slow alike: what slows one
/// slows all.
fn of_places<'e, 'p>(groups: impl Iterator<Item = Vec<Slow<'e, 'p>>>) -> Vec<Vec<Slow<'e, 'p>>> {
    let place = |group: &[Slow<'_, '_>]| {
        let scope = |one: &Slow<'_, '_>| (one.op.module.to_string(), named_scope(&one.op.meta));
        group.first().map(scope).filter(|(_, scope)| !scope.is_empty())
    };
    let mut merged: Vec<Vec<Slow<'e, 'p>>> = Vec::new();
    for group in groups {
        let is_same = |own: &&mut Vec<Slow<'_, '_>>| {
            let (a, b) = (factor(own), factor(&group));
            place(own).is_some() && place(own) == place(&group) && a.max(b) <= ALIKE * a.min(b)
        };
        match merged.iter_mut().find(is_same) {
            Some(own) => own.extend(group),
            None => merged.push(group),
        }
    }
    merged
}

/// How many times as long as they should ops take.
fn factor(group: &[Slow<'_, '_>]) -> f64 {
    let time_ps: f64 = group.iter().map(|one| one.piece.time_ps).sum();
    time_ps / (time_ps - saved_ps(group)).max(1.0)
}

/// The ops that a finding here names, and whose time no other rule is to claim: positions in [`Evidence::ops`].
pub(super) fn claimed(evidence: &Evidence<'_>) -> BTreeSet<usize> {
    groups(evidence).into_iter().take(FINDINGS).flatten().map(|one| one.piece.op).collect()
}

fn saved_ps(group: &[Slow<'_, '_>]) -> f64 {
    group.iter().map(|one| one.saved_ps).sum()
}

/// An op whose time is far above what the best of comparable ops would need. `memory_rate`: what all memory-bound ops of the
/// run reach of HBM alike, which holds for the bytes of other ops too; where that is too little, [`super::below_usual`] says so.
fn slow<'e, 'p>(evidence: &'e Evidence<'p>, piece: &Piece, memory_rate: Option<f64>) -> Option<Slow<'e, 'p>> {
    let op = evidence.ops().get(piece.op)?;
    let is_gpu = evidence.is_gpu();
    let shortest = if is_gpu { SHORTEST_GPU_PS } else { SHORTEST_PS };
    let reach = piece.reach;
    let each = op.self_ps as f64 / op.occurrences.max(1) as f64;
    // Changes of layout have rules of their own.
    if each < shortest || reach.share < BINDING || evidence.only_moves(op) {
        return None;
    }
    // Without others to compare with, guessed limits and scattered accesses say nothing.
    let is_sure = matches!(piece.roof, Roof::Matrix | Roof::Hbm) && !is_scattered(op);
    if reach.peers == 0 && !is_sure {
        return None;
    }
    // Padding says more of an op than the roof does without others to compare it with.
    let is_padded = || evidence.padding().is_some_and(|all| all.iter().any(|one| one.op == piece.op));
    if reach.peers == 0 && is_padded() {
        return None;
    }
    let saved_ps = |share: f64| {
        let needed_ps = piece.floor_ps / share.max(0.01);
        piece.time_ps - memory_rate.map_or(needed_ps, |rate| needed_ps.max(piece.hbm_ps / rate))
    };
    let limit = if reach.is_tight { OUTLIER } else { GAP.bad };
    (saved_ps(reach.share) > limit * piece.time_ps).then(|| Slow {
        op,
        piece: *piece,
        saved_ps: saved_ps(reach.best),
    })
}

/// Custom calls with FLOPs or bytes of their own are held against the roofline; other irregular ops are not.
fn is_scattered(op: &Op<'_>) -> bool {
    is_irregular(&op.meta.category) && !op.meta.category.contains("custom")
}

fn finding(evidence: &Evidence<'_>, group: &[Slow<'_, '_>]) -> Finding {
    let Some(first) = group.first() else { return Finding::default() };
    let (time_ps, floor_ps) = group
        .iter()
        .fold((0.0, 0.0), |(time, floor), one| (time + one.piece.time_ps, floor + one.piece.floor_ps));
    let saved = evidence.of_active(saved_ps(group));
    let scopes: BTreeSet<String> = group.iter().map(|one| named_scope(&one.op.meta)).collect();
    let tails: BTreeSet<String> = group.iter().map(|one| framework_tail(&one.op.meta)).collect();
    let of = match scopes.first().filter(|scope| tails.len() > 1 && scopes.len() == 1 && !scope.is_empty()) {
        Some(scope) => format!("{} ops of `{scope}` ({} and others)", group.len(), first.op.meta.name),
        None => common(group.iter().map(|one| one.op)),
    };
    let takes = if group.len() == 1 { "takes" } else { "take" };
    let efficiency = floor_ps / time_ps.max(1.0);
    let roof = first.piece.roof;
    let reach = first.piece.reach;
    let peers = if reach.peers == 0 {
        "no other op in the run is comparable, so the roof itself is the ceiling".to_owned()
    } else if reach.is_twin {
        format!(
            "of {} with the same FLOPs and bytes, the best reaches {}",
            counted(reach.peers as u64, "other op"),
            units::share(reach.share)
        )
    } else {
        format!(
            "the best quarter of {} comparable ops of this run reaches {}",
            reach.peers,
            units::share(reach.share)
        )
    };
    let runs: u64 = group.iter().map(|one| one.op.occurrences).sum();
    let name = first.op.meta.name.as_ref();
    Cause {
        id: RULE.id,
        claim: format!(
            "{of} {takes} {:.1} times as long as {}: {} of {}",
            factor(group),
            if reach.peers == 0 { "FLOPs and bytes explain" } else { "comparable ops would" },
            units::share(efficiency),
            roof.words(),
        ),
        evidence: format!(
            "{} of the active window, {} an execution; its FLOPs and bytes explain {}; {peers}{}",
            units::share(evidence.of_active(time_ps)),
            units::duration_ps(time_ps / runs.max(1) as f64),
            units::duration_ps(floor_ps / runs.max(1) as f64),
            if roof == Roof::Matrix { product(evidence, first.op) } else { String::new() },
        ),
        saved: Some(saved),
        assuming: if reach.peers == 0 {
            "if it ran at the roofline, which few kernels reach".into()
        } else {
            "if it came as close to its limit as comparable ops".into()
        },
        recommendation: recommendation(roof, first.op).into(),
        falsifier: "run alone on the same shapes, it takes just as long, and other shapes of the same size come no closer to the limit".into(),
        status: if matches!(roof, Roof::Vector | Roof::Exp) { Status::Estimated } else { Status::Derived },
        links: vec![
            Link::to("roofline").row("ops", name),
            Link::to("ops").row("ops", name),
            evidence.timeline_of(first.op),
        ],
    }
    .into_finding(evidence)
}

/// The shape of the largest matrix product of an op, where its HLO says it: what it fills of the unit, in which types.
fn product(evidence: &Evidence<'_>, op: &Op<'_>) -> String {
    let Some(largest) = evidence.products(op).into_iter().max_by_key(|product| product.flops()) else {
        return String::new();
    };
    let fill = largest.fill(MATRIX_UNIT).map_or_else(String::new, |fill| {
        format!(", which fills {} of tiles of {MATRIX_UNIT} x {MATRIX_UNIT}", units::share(fill))
    });
    format!(
        "; it multiplies {} x {} by {} x {} ({} x {}){fill}",
        largest.m,
        largest.k,
        largest.k,
        largest.n,
        largest.lhs.name(),
        largest.rhs.name(),
    )
}

fn recommendation(roof: Roof, op: &Op<'_>) -> &'static str {
    if op.meta.category.contains("custom") {
        return "tune the kernel: larger blocks, more buffers, a grid that fills the device; `inspect` and the timeline show what it waits for";
    }
    match roof {
        Roof::Matrix => {
            "change its shapes and layouts: dimensions that fill the matrix unit's tile, no transposed operand, less work fused into it"
        }
        Roof::Hbm => {
            "look at what it reads: make rows contiguous in the layout, remove padding, do not read one value in several ops"
        }
        Roof::Vector | Roof::Vmem | Roof::Exp => {
            "look at what is fused into it: make fewer passes over the value, use 16-bit types on the vector unit"
        }
    }
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{MS, Made, US, check};

    /// Four products that take 10 ms for 1.8 TFLOP each (0.914 of a v5e's peak), the last `slow` times as long.
    fn products(slow: i64) -> Made {
        let mut tpu = Made::tpu(0);
        for n in 1..=4 {
            let path = format!("jit(step)/layer_{n}/mlp/dot_general:");
            let stats = [
                ("flops", Value::Double(1.8e12)),
                ("bytes_accessed", Value::Double(1e9)),
                ("tf_op", Value::Str(if n == 4 { "jit(step)/logits/dot_general:".into() } else { path })),
            ];
            tpu.op(&format!("fusion.{n}"), "convolution fusion", "", &stats);
        }
        let each = 10 * MS;
        tpu.programs(&[("jit_step(7)", 0, (3 + slow) * each)]);
        tpu.ops(&[
            ("fusion.1", "", 0, each),
            ("fusion.2", "", each, each),
            ("fusion.3", "", 2 * each, each),
            ("fusion.4", "", 3 * each, slow * each),
        ]);
        tpu
    }

    #[test]
    fn an_op_that_was_slowed_three_times_is_found_with_what_it_cost() {
        let found = check(&super::RULE, vec![products(3)]);
        assert_eq!(found.verdict, Verdict::Found);
        let finding = &found.findings[0];
        assert_eq!(found.findings.len(), 1);
        assert!(finding.claim.contains("fusion.4") && finding.claim.contains("logits"), "{finding:?}");
        // 60 ms now, 40 ms without.
        assert!((finding.speedup.unwrap() - 1.5).abs() < 0.01, "{finding:?}");
    }

    #[test]
    fn a_twin_shows_what_an_op_could() {
        // Three products reach 60%; of two with the same FLOPs and bytes one reaches 91%, the other takes three times as long.
        let mut tpu = Made::tpu(0);
        let flops = [1.182e12, 1.182e12, 1.182e12, 1.8e12, 1.8e12];
        let names = ["fusion.1", "fusion.2", "fusion.3", "fusion.4", "fusion.5"];
        let lengths = [10, 10, 10, 10, 30];
        let mut at = 0;
        let mut ops = Vec::new();
        for (n, (name, length)) in names.iter().zip(lengths).enumerate() {
            // Others of one size would be twins too.
            let bytes = if n < 3 { 1e9 + n as f64 * 1e6 } else { 2e9 };
            let stats = [("flops", Value::Double(flops[n])), ("bytes_accessed", Value::Double(bytes))];
            tpu.op(name, "convolution fusion", "", &stats);
            ops.push((*name, "", at * MS, length * MS));
            at += length;
        }
        tpu.programs(&[("jit_step(7)", 0, at * MS)]);
        tpu.ops(&ops);
        let found = check(&super::RULE, vec![tpu]);
        let [finding] = &found.findings[..] else { unreachable!("{found:?}") };
        assert!(finding.claim.starts_with("fusion.5"), "{finding:?}");
        assert!(finding.evidence.contains("of 1 other op with the same FLOPs and bytes"), "{finding:?}");
        assert!((finding.speedup.unwrap() - 70.0 / 50.0).abs() < 0.01, "{finding:?}");
    }

    /// Four products of 0.819 GB each, a millisecond at all of a v5e's bandwidth, that take so long, among elementwise ops that come
    /// near it. `rows` of the first operand, and `flops`, say what the matrix unit does meanwhile.
    fn products_of_memory(length: i64, rows: u64, flops: f64) -> Vec<Made> {
        let mut tpu = Made::tpu(0);
        let mut text = format!(
            "HloModule m\n\nENTRY e {{\n  p = bf16[{rows},1024]{{1,0}} parameter(0)\n  w = bf16[1024,1024]{{1,0}} parameter(1)\n"
        );
        let (mut at, mut ops) = (0, Vec::new());
        let names: Vec<String> =
            (1..=4).map(|n| format!("d.{n}")).chain((1..=8).map(|n| format!("f.{n}"))).collect();
        for name in &names {
            let is_product = name.starts_with('d');
            let (category, flops) =
                if is_product { ("convolution fusion", flops) } else { ("loop fusion", 1e6) };
            let path = format!("jit(step)/{}/dot_general:", if is_product { "attention" } else { "norm" });
            let stats = [
                ("flops", Value::Double(flops)),
                ("bytes_accessed", Value::Double(0.819e9)),
                ("tf_op", Value::Str(path)),
            ];
            tpu.op(name, category, "", &stats);
            if is_product {
                let root = if name == "d.4" { "ROOT " } else { "" };
                text.push_str(&format!("  {root}{name} = bf16[{rows},1024]{{1,0}} dot(p, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"));
            }
            let length = if is_product { length } else { 1160 * US };
            ops.push((name.as_str(), "", at, length));
            at += length;
        }
        text.push_str("}\n");
        tpu.programs(&[("jit_step(7)", 0, at)]);
        tpu.ops(&ops);
        vec![tpu, Made::program(&text)]
    }

    #[test]
    fn products_that_are_all_far_from_what_others_reach_of_memory_are_found() {
        let found = check(&super::RULE, products_of_memory(3480 * US, 1024, 2.1e9));
        let [finding] = &found.findings[..] else { unreachable!("{found:?}") };
        assert!(finding.claim.starts_with("4 ops of") || finding.claim.contains("attention"), "{finding:?}");
        assert!(finding.claim.contains("take 3.0 times as long as comparable ops would"), "{finding:?}");
        // As near to the bandwidth as the others they are clear.
        assert_eq!(check(&super::RULE, products_of_memory(1160 * US, 1024, 2.1e9)).verdict, Verdict::Clear);
        // Sixteen rows use an eighth of the matrix unit, which explains most of the time.
        assert_eq!(check(&super::RULE, products_of_memory(3480 * US, 16, 60e9)).verdict, Verdict::Clear);
    }

    #[test]
    fn ops_that_are_alike_are_no_cause() {
        assert_eq!(check(&super::RULE, vec![products(1)]).verdict, Verdict::Clear);
    }

    #[test]
    fn a_kernel_without_peers_is_held_against_the_roof() {
        let mut tpu = Made::tpu(0);
        let stats = [("flops", Value::Double(138.8e9)), ("bytes_accessed", Value::Double(136e6))];
        tpu.op("kernel.1", "custom-call", "", &stats);
        tpu.programs(&[("jit_step(7)", 0, 2_120_000_000)]);
        tpu.ops(&[("kernel.1", "", 0, 2_120_000_000)]);
        let found = check(&super::RULE, vec![tpu]);
        assert!((found.findings[0].speedup.unwrap() - 2.12 / 0.7046).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn without_flops_nobody_can_tell() {
        let mut tpu = Made::tpu(0);
        tpu.ops(&[("kernel.1", "custom-call", 0, 10 * MS)]);
        assert_eq!(check(&super::RULE, vec![tpu]).verdict, Verdict::Unknown);
    }
}
