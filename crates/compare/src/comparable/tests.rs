use std::path::Path;

use haloscope_hlo::Module;

use super::*;
use crate::{StepVerdict, Terms, Verdict};
use haloscope_profile::Profile;
use haloscope_profile::load;
use haloscope_report::Notes;
use haloscope_time::select::Scoped;

fn open(folder: &Path) -> Profile {
    load::open(&load::find(folder).unwrap()).unwrap()
}

fn fixture(name: &str) -> Profile {
    open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs").join(name))
}

fn forged(name: &str) -> Option<Profile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/forged").join(name);
    folder.is_dir().then(|| open(&folder))
}

fn of_runs(a: &Profile, b: &Profile) -> Vec<Fact> {
    let scope = Scope::default();
    let samples = |profile| RunSamples::of(&Scoped::new(profile, &scope), &mut Notes::default()).unwrap();
    facts(&samples(a), &samples(b), &scope)
}

fn fact<'f>(facts: &'f [Fact], id: &str) -> &'f Fact {
    facts.iter().find(|fact| fact.id == id).unwrap()
}

/// A step of a model whose batch, mesh and types can be chosen.
fn module(batch: u32, partitions: u32, kind: &str) -> Module {
    let text = format!(
        "HloModule jit_step, num_partitions={partitions}\n\n\
         ENTRY main {{\n  \
         w = {kind}[512,512] parameter(0), metadata={{op_name=\"params['w']\"}}\n  \
         tokens = {kind}[{batch},512]{{1,0}} parameter(1), metadata={{op_name=\"batch['tokens']\"}}\n  \
         ROOT dot = {kind}[{batch},512] dot(tokens, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n}}\n"
    );
    Module::parse(&text).unwrap()
}

#[test]
fn a_run_is_comparable_with_itself() {
    for name in ["cpu-train", "tpu-train", "gpu-train", "tpu-decode", "tpu-memory"] {
        let run = fixture(name);
        let facts = of_runs(&run, &run);
        assert!(are_comparable(&facts), "{name}");
        assert!(facts.iter().all(|fact| fact.same != Same::No), "{name}: {facts:#?}");
        assert_eq!(fact(&facts, "chip").same, Same::Yes);
    }
}

/// Trap 16 of the field: runs of another batch, mesh, version or number of steps taken for equal.
#[test]
fn another_batch_breaks_and_the_shapes_are_named() {
    let (a, b) = (module(32, 4, "bf16"), module(24, 4, "bf16"));
    let fact = program::shapes([Some(&a), Some(&b)]);
    assert!(fact.breaks());
    assert_eq!(fact.baseline.as_deref(), Some("2 arrays, only here bf16[32,512] (batch['tokens'])"));
    assert_eq!(fact.experiment.as_deref(), Some("2 arrays, only here bf16[24,512] (batch['tokens'])"));
    // Layouts are the compiler's business, and so is the order.
    let same = program::shapes([Some(&a), Some(&a)]);
    assert_eq!((same.same, same.breaks()), (Same::Yes, false));
    assert_eq!(same.baseline.as_deref(), Some("2 arrays: bf16[32,512], bf16[512,512]"));
    // Without a program nobody knows, which is neither the same nor another.
    let unknown = program::shapes([Some(&a), None]);
    assert_eq!((unknown.same, unknown.breaks()), (Same::Unknown, false));
}

#[test]
fn another_type_or_number_of_devices_breaks() {
    assert!(program::shapes([Some(&module(32, 4, "bf16")), Some(&module(32, 4, "f32"))]).breaks());
    let words = |partitions| program::job(&module(32, partitions, "bf16")).unwrap();
    assert_eq!((words(4).words(), words(4).devices()), ("4 x 1".to_owned(), 4));
    let fact = Fact::of("mesh", "", true, [Some(words(4).words()), Some(words(8).words())]);
    assert!(fact.breaks() && !are_comparable(&[fact]));
}

#[test]
fn versions_and_step_counts_are_said_and_break_nothing() {
    let (a, mut b) = (fixture("tpu-train"), fixture("tpu-train"));
    for host in &mut b.hosts {
        for (name, value) in &mut host.environment {
            if name == "jaxlib_version" {
                "0.11.0".clone_into(value);
            }
        }
    }
    let scope = Scope::default();
    let two = Scope::from_words(|key| (key == "steps").then_some("2-5")).unwrap();
    let samples =
        |profile, scope| RunSamples::of(&Scoped::new(profile, scope), &mut Notes::default()).unwrap();
    let facts = facts(&samples(&a, &scope), &samples(&b, &two), &scope);
    let version = fact(&facts, "jaxlib_version");
    assert_eq!((version.same, version.breaks()), (Same::No, false));
    assert_eq!(
        (version.baseline.as_deref(), version.experiment.as_deref()),
        (Some("0.10.2"), Some("0.11.0"))
    );
    assert_eq!((fact(&facts, "steps").same, fact(&facts, "steps").breaks()), (Same::No, false));
    assert!(are_comparable(&facts));
}

#[test]
fn other_chips_break() {
    let facts = of_runs(&fixture("tpu-train"), &fixture("tpu-decode"));
    assert!(fact(&facts, "chip").breaks());
    assert!(!are_comparable(&facts));
}

#[test]
fn forged_pairs() {
    let Some(dense) = forged("dense_train_v5e16") else { return };
    let regressed = forged("dense_train_v5e16_regressed").unwrap();
    let facts = of_runs(&dense, &regressed);
    assert!(are_comparable(&facts), "{facts:#?}");
    let said = |id: &str| fact(&facts, id).baseline.clone().unwrap_or_default();
    assert_eq!(
        (said("devices"), said("devices_profiled"), said("mesh")),
        ("16".into(), "4".into(), "16 x 1".into())
    );
    assert_eq!(said("dtype"), "bf16 x bf16");
    assert_eq!(said("programs"), "jit_train_step");
    let steps = fact(&facts, "steps");
    assert_eq!((steps.baseline.as_deref(), steps.experiment.as_deref()), (Some("12"), Some("8")));
    // The change that truth.json has: +5.03 ms, beyond what chance gives.
    let scope = Scope::default();
    let samples = |profile| RunSamples::of(&Scoped::new(profile, &scope), &mut Notes::default()).unwrap();
    let verdict = StepVerdict::of(&samples(&dense).steps, &samples(&regressed).steps, Terms::default());
    assert_eq!(verdict.verdict, Verdict::Slower, "{}", verdict.why);
    assert!((verdict.delta_ps / 1e9 - 5.03).abs() < 0.005, "{}", verdict.delta_ps);
    let test = verdict.test.unwrap();
    assert!(test.low < verdict.delta_ps && verdict.delta_ps < test.high && test.low > 3e9);
    let same = StepVerdict::of(&samples(&dense).steps, &samples(&dense).steps, Terms::default());
    assert_eq!((same.verdict, same.delta_ps), (Verdict::Unchanged, 0.0));
    let (a, b) = (forged("pallas_attn_A_bq128").unwrap(), forged("pallas_attn_B_bq512").unwrap());
    assert!(are_comparable(&of_runs(&a, &b)), "the same work in other blocks");
    assert!(!are_comparable(&of_runs(&forged("decode_v5e4").unwrap(), &forged("moe_v5p4").unwrap())));
}

/// A rollout of 50 calls from Python against one scan: each call begins what is taken for a step, and 50 times as many steps that are
/// shorter are no faster run.
#[test]
fn steps_that_other_programs_begin_are_compared_only_where_they_do_as_much() {
    assert!(
        are_other_stretches([Some(8.3e6), Some(1.6e5)]) && are_other_stretches([Some(1.6e5), Some(8.3e6)])
    );
    assert!(!are_other_stretches([Some(8.3e6), Some(8.1e6)]));
    assert!(!are_other_stretches([Some(8.3e6), None]));
}

#[test]
fn the_program_that_both_runs_have_is_held_against_itself() {
    let scope = Scope::default();
    let common = |a: &str, b: &str| {
        let (a, b) = (fixture(a), fixture(b));
        let samples = |profile| RunSamples::of(&Scoped::new(profile, &scope), &mut Notes::default()).unwrap();
        program::common([&samples(&a), &samples(&b)])
    };
    assert_eq!(common("tpu-gate", "tpu-gate-slower"), common("tpu-gate", "tpu-gate"));
    assert_eq!(common("tpu-train", "tpu-train").as_deref(), Some("jit_train_step"));
    assert_eq!(common("tpu-train", "tpu-decode"), None);
}
