//! Each rule on programs made by hand: where it must speak, where it must not, and where it cannot know.

use super::context::Capacity;
use super::*;
use crate::attribution::Rules;
use crate::attribution::tests::{LOOP, LOOP_MEMORY, Lasting, made};
use crate::heap::Buffers;
use haloscope_hlo::Module;

const MIB: i64 = 1 << 20;

/// A training step: what it says does not matter, only names, shapes and which values live when.
const STEP: &str = r#"HloModule jit_step

ENTRY %main (p: f32[512,512], m: f32[512,512], e: f32[8192,64], t: s32[4,64]) -> (f32[512,512], f32[512,512]) {
  %p = f32[512,512] parameter(0), metadata={op_name="params['w']"}
  %m = f32[512,512] parameter(1), metadata={op_name="opt_state[0].mu['w']"}
  %e = f32[8192,64] parameter(2), metadata={op_name="params['embedding']"}
  %t = s32[4,64] parameter(3), metadata={op_name="tokens"}
  %h = f32[512,512] exponential(%p), metadata={op_name="jit(step)/jvp(mlp)/exp"}
  %d = f32[512,512] dot(%h, %p), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/jvp(mlp)/dot_general"}
  %l = f32[512,8192] broadcast(%d), dimensions={0,1}, metadata={op_name="jit(step)/jvp(loss)/mul"}
  %g = f32[512,512] dot(%d, %d), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(step)/transpose(jvp(mlp))/dot_general"}
  %x = f32[512,512] copy(%t)
  %y = f32[512,512] copy(%t)
  %p.1 = f32[512,512] subtract(%p, %g), metadata={op_name="jit(step)/sub"}
  %m.1 = f32[512,512] add(%m, %g), metadata={op_name="jit(step)/add"}
  ROOT %out = (f32[512,512], f32[512,512]) tuple(%p.1, %m.1)
}
"#;

const STEP_MEMORY: &[(&str, i64, Lasting)] = &[
    ("p", MIB, Lasting::Parameter(0)),
    ("m", MIB, Lasting::Parameter(1)),
    ("e", 2 * MIB, Lasting::Parameter(2)),
    ("t", 1024, Lasting::Parameter(3)),
];

const OUTPUTS: &[(&str, i64, Lasting)] = &[("p.1", MIB, Lasting::Output), ("m.1", MIB, Lasting::Output)];

const TEMPORARY: &[(&str, i64)] =
    &[("h", MIB), ("d", MIB), ("l", 16 * MIB), ("g", MIB), ("x", MIB), ("y", MIB)];

/// A step whose heap does this; updates take over what they replace.
fn step(events: &str) -> Module {
    step_with(TEMPORARY, events)
}

fn step_with(temporary: &[(&str, i64)], events: &str) -> Module {
    made(&donated(STEP), STEP_MEMORY, temporary, 20 * MIB, events)
}

fn donated(text: &str) -> String {
    let aliases = "input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) }";
    text.replacen("HloModule jit_step", &format!("HloModule jit_step, {aliases}"), 1)
}

/// The same program as if its metadata had been stripped.
fn nameless(events: &str) -> Module {
    let mut text = STEP.to_owned();
    while let Some(at) = text.find(", metadata={") {
        let end = text[at..].find('}').unwrap() + at;
        text.replace_range(at..=end, "");
    }
    made(&donated(&text), STEP_MEMORY, TEMPORARY, 20 * MIB, events)
}

fn without_heap(text: &str) -> Module {
    made(text, STEP_MEMORY, &[], 0, "")
}

fn check_with(module: &Module, id: &str, capacity: Option<i64>, runtime: Option<(String, f64)>) -> Outcome {
    let buffers = Buffers::new(module).unwrap();
    let memory = ProgramMemory::new(&buffers, 0);
    let attribution = Attribution::of(&memory, Rules::built_in());
    let capacity = capacity.map(|bytes| Capacity { bytes, source: "as the test says".to_owned() });
    let context = Context::new(
        &attribution,
        Totals::of(&attribution),
        capacity,
        runtime,
        haloscope_time::fix::WrittenIn::Jax,
    );
    let rule = RULES_OF_DIAGNOSIS.iter().find(|rule| rule.id == id).unwrap();
    (rule.check)(&context)
}

fn check(module: &Module, id: &str) -> Outcome {
    check_with(module, id, None, None)
}

#[track_caller]
fn found(outcome: &Outcome) -> &Finding {
    assert_eq!(outcome.verdict, Verdict::Found, "{outcome:?}");
    let finding = outcome.finding.as_ref().unwrap();
    for words in
        [&finding.claim, &finding.evidence, &finding.ceiling, &finding.recommendation, &finding.falsifier]
    {
        assert!(!words.is_empty(), "{finding:?}");
    }
    finding
}

#[track_caller]
fn is(outcome: &Outcome, verdict: Verdict) {
    assert_eq!(outcome.verdict, verdict, "{outcome:?}");
    assert!(outcome.finding.is_none() && !outcome.said.is_empty() && !outcome.threshold.is_empty());
}

const QUIET: &str = "+h -h +d -d +g -g +x -x";

#[test]
fn headroom() {
    let module = step(QUIET);
    let peak = 4 * MIB + 1024 + MIB;
    let of = |capacity| check_with(&module, "headroom", Some(capacity), None);
    let full = of(peak * 100 / 95);
    assert_eq!(
        (found(&full).id, found(&full).severity, full.bytes),
        ("memory_nearly_full", Severity::Warning, Some(peak))
    );
    let over = of(peak / 2);
    assert_eq!((found(&over).id, found(&over).severity), ("memory_nearly_full", Severity::Error));
    let spare = of(peak * 4);
    assert_eq!((found(&spare).id, found(&spare).severity), ("memory_to_spare", Severity::Info));
    is(&of(peak * 10 / 7), Verdict::Clear);
    let unknown = check(&module, "headroom");
    is(&unknown, Verdict::Unknown);
    assert_eq!((unknown.bytes, unknown.share), (Some(peak), None));
}

#[test]
fn vocabulary_sized_logits() {
    let id = "vocabulary_sized_logits";
    let outcome = check(&step("+h +l -h -l"), id);
    assert_eq!(outcome.bytes, Some(16 * MIB));
    // Seven of eight chunks are saved.
    assert!(found(&outcome).ceiling.starts_with("14.00 MiB less"), "{outcome:?}");
    is(&check(&step(QUIET), id), Verdict::Clear);
    is(&check(&nameless(QUIET), id), Verdict::Unknown);
}

#[test]
fn donation_missed() {
    let lasting = [STEP_MEMORY, OUTPUTS].concat();
    let module = made(STEP, &lasting, TEMPORARY, 20 * MIB, QUIET);
    let outcome = check(&module, "donation_missed");
    assert_eq!(outcome.bytes, Some(2 * MIB));
    // The shapes agree, but the outputs are computed anew: the caller may need the inputs.
    assert_eq!(found(&outcome).status, Status::Estimated);
    assert!(
        outcome.said.contains("opt_state[0].mu['w']") && !outcome.said.contains("embedding"),
        "{}",
        outcome.said
    );
    is(&check(&step(QUIET), "donation_missed"), Verdict::Clear);
    // A cache that is changed in place is certain.
    let outcome = check(&made(LOOP, LOOP_MEMORY, &[], 0, ""), "donation_missed");
    assert_eq!((found(&outcome).status, outcome.bytes), (Status::Derived, Some(32768)));
    // A donated parameter without an alias is not missed.
    let text =
        STEP.replacen("HloModule jit_step", "HloModule jit_step, buffer_donor={ (0, {}), (1, {}) }", 1);
    is(&check(&made(&text, &lasting, TEMPORARY, 20 * MIB, QUIET), "donation_missed"), Verdict::Clear);
}

#[test]
fn f32_optimiser_state() {
    let id = "f32_optimiser_state";
    let outcome = check(&step(QUIET), id);
    assert_eq!((outcome.bytes, found(&outcome).status), (Some(MIB), Status::Derived));
    assert!(found(&outcome).ceiling.starts_with("512.0 KiB"));
    let bf16 = STEP
        .replace("%m = f32[512,512]", "%m = bf16[512,512]")
        .replace("m: f32[512,512]", "m: bf16[512,512]");
    is(&check(&made(&bf16, STEP_MEMORY, TEMPORARY, 20 * MIB, QUIET), id), Verdict::Clear);
    // Without a name that says so, its shape makes it a guess.
    let unnamed = STEP.replace("opt_state[0].mu['w']", "second");
    let outcome = check(&made(&unnamed, STEP_MEMORY, TEMPORARY, 20 * MIB, QUIET), id);
    assert_eq!(found(&outcome).status, Status::Estimated);
    assert!(found(&outcome).claim.contains("guess"));
    is(&check(&made(LOOP, LOOP_MEMORY, &[], 0, ""), id), Verdict::NotApplicable);
    is(&check(&nameless(QUIET), id), Verdict::Unknown);
}

#[test]
fn long_lived_temporaries() {
    let id = "long_lived_temporaries";
    let outcome = check(&step("+h +d -d +g -g +x -x -h"), id);
    assert_eq!((outcome.bytes, found(&outcome).severity), (Some(MIB), Severity::Warning));
    // Critical is what is both large and nearly as old as the program.
    let large = [("h", 200 * MIB), ("d", MIB), ("g", MIB), ("x", MIB)];
    let outcome = check(&step_with(&large, "+h +d -d +g -g +x -x -h"), id);
    assert_eq!(found(&outcome).severity, Severity::Error);
    is(&check(&step(QUIET), id), Verdict::Clear);
    is(&check(&without_heap(STEP), id), Verdict::Unknown);
}

#[test]
fn rematerialisation_candidates() {
    let id = "rematerialisation_candidates";
    // The exponential waits for the gradient; so does the product, which is not cheap.
    let outcome = check(&step("+h +d +x -x +g -h -d -g"), id);
    assert_eq!((outcome.bytes, found(&outcome).status), (Some(MIB), Status::Estimated));
    assert!(found(&outcome).evidence.contains("2.000 MiB of forward values are kept"), "{outcome:?}");
    is(&check(&step("+d +g -d -g +h -h"), id), Verdict::Clear);
    is(&check(&made(LOOP, LOOP_MEMORY, &[], 0, ""), id), Verdict::NotApplicable);
    is(&check(&step("+h -h"), id), Verdict::Unknown);
    is(&check(&nameless(QUIET), id), Verdict::Unknown);
}

#[test]
fn same_shape_buffers() {
    let id = "same_shape_buffers";
    let outcome = check(&step("+h +d +x +y -h -d -x -y"), id);
    assert_eq!(outcome.bytes, Some(4 * MIB));
    assert!(found(&outcome).claim.starts_with("4 temporaries of f32[512,512]"));
    is(&check(&step("+h +d +x -h -d -x"), id), Verdict::Clear);
    is(&check(&without_heap(STEP), id), Verdict::Unknown);
}

#[test]
fn padding() {
    let padded = [("h", 3 * MIB), ("d", MIB)];
    let outcome = check(&step_with(&padded, "+h -h"), "padding");
    assert_eq!(outcome.bytes, Some(2 * MIB));
    assert!(found(&outcome).evidence.contains("jit(step)/jvp(mlp)/exp"));
    let outcome = check(&step(QUIET), "padding");
    is(&outcome, Verdict::Clear);
    // The memory of one value that another takes over is no padding: nothing here is padded.
    assert_eq!(outcome.bytes, Some(0));
}

#[test]
fn fragmentation() {
    let id = "fragmentation";
    let outcome = check_with(&step(QUIET), id, None, Some(("GPU_0_bfc".to_owned(), 0.25)));
    assert_eq!(outcome.bytes, Some(19 * MIB));
    assert!(found(&outcome).evidence.contains("25.0% of the free memory of allocator GPU_0_bfc"));
    is(&check(&step("+l +h +d +g +x -l"), id), Verdict::Clear);
    is(&check(&without_heap(STEP), id), Verdict::Unknown);
}

#[test]
fn peak_phase() {
    let id = "peak_phase";
    let claim = |module: &Module| {
        let outcome = check(module, id);
        let finding = found(&outcome);
        (finding.claim.contains("forward"), finding.status)
    };
    assert_eq!(claim(&step("+h +l -l -h +g -g")), (true, Status::Derived));
    assert_eq!(claim(&step("+h -h +d +g +x -d -g -x")), (false, Status::Derived));
    // No temporary names a pass: the place in the schedule is a guess.
    assert_eq!(claim(&step("+x +y -y -x +x -x")), (true, Status::Estimated));
    assert_eq!(claim(&step("+x -x +x -x +x -x +x -x +x +y -y -x")), (false, Status::Estimated));
    is(&check(&step("+x -x +x +y -y"), id), Verdict::Unknown);
    is(&check(&made(LOOP, LOOP_MEMORY, &[], 0, ""), id), Verdict::NotApplicable);
    is(&check(&nameless(QUIET), id), Verdict::Unknown);
    is(&check(&without_heap(STEP), id), Verdict::Unknown);
}

#[test]
fn spikes() {
    let id = "spikes";
    let outcome = check(&step("+h +l -l -h"), id);
    assert_eq!((found(&outcome).severity, outcome.bytes), (Severity::Info, Some(16 * MIB)));
    assert!(found(&outcome).evidence.contains("16.00 MiB for l at 25.0%"), "{outcome:?}");
    let small = [("h", 1024), ("d", 1024)];
    is(&check(&step_with(&small, "+h +d -d -h"), id), Verdict::Clear);
    is(&check(&without_heap(STEP), id), Verdict::Unknown);
}

#[test]
fn every_rule_has_a_test() {
    let source = include_str!("tests.rs");
    for rule in RULES_OF_DIAGNOSIS {
        assert!(source.contains(&format!("fn {}()", rule.id)), "{}", rule.id);
    }
}
