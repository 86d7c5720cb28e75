//! What to try is said in the words of the framework that the run was written in.

use haloscope_analyses as analyses;
use haloscope_profile::{Profile, load};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_time::analysis::{self, Others, Params};
use haloscope_time::fix::WrittenIn;
use haloscope_xspace::write::Value;

use crate::made::{Made, US, profile};
use crate::support::{ask, traces};

/// Words of JAX, and flags that only XLA reads: no advice for a program that neither of them compiled.
const OF_JAX: [&str; 8] = ["jax.", "jax_", "`jit`", "lax.", "jnp.", "pallas", "PjitFunction", "--xla_"];
const OF_TENSORFLOW: [&str; 4] = ["tf.function", "tf.profiler", "Keras", "tf.data iterators are"];

/// All advice of all analyses on a run: levers and what would refute them, cures of remarks, and refusals.
fn advice(profile: &Profile) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for one in analyses::ALL.iter().filter(|one| one.others() == Others::None) {
        match analysis::run(one, profile, &Scope::default(), &Params::default()) {
            Ok(report) => {
                for finding in &report.findings {
                    let id = format!("{}: {}", one.id, finding.id);
                    all.extend([
                        (id.clone(), finding.recommendation.clone()),
                        (id, finding.falsifier.clone()),
                    ]);
                }
                all.extend(
                    report.quality.iter().map(|note| (format!("{}: {}", one.id, note.id), note.fix.clone())),
                );
                if let Some(recorded) = report.table("recorded") {
                    for row in 0..recorded.rows.len() {
                        let fix = recorded.cell(row, "cure").and_then(|cell| cell.as_text());
                        all.extend(fix.map(|fix| (format!("{}: recorded", one.id), fix.to_owned())));
                    }
                }
            }
            Err(Error::Nothing(why)) => all.push((format!("{}: refused", one.id), why)),
            Err(_) => {}
        }
    }
    assert!(all.iter().any(|(_, text)| !text.is_empty()));
    all
}

/// Advice with words of another framework.
fn out_of_place(profile: &Profile) -> Vec<String> {
    let foreign: &[&str] = match WrittenIn::of(profile) {
        WrittenIn::Jax => &OF_TENSORFLOW,
        WrittenIn::TensorFlow => &OF_JAX,
        _ => return Vec::new(),
    };
    let is_foreign = |text: &str| foreign.iter().any(|word| text.contains(word));
    let wrong = advice(profile).into_iter().filter(|(_, text)| is_foreign(text));
    wrong.map(|(id, text)| format!("{id}: {text}")).collect()
}

/// A TensorFlow program on a GPU that is launched op by op: kernels that XLA did not compile, steps by Keras's marker.
fn tensorflow(marked: bool) -> Profile {
    let mut gpu = Made::named("/device:GPU:0");
    let kernel =
        gpu.meta("volta_sgemm_128x64_nn", &[("tf_op", Value::Str("model/dense/MatMul:MatMul".into()))]);
    let kernels: Vec<_> = (0..40).map(|n| (kernel, n * 100 * US, 20 * US)).collect();
    gpu.line("Stream #13(Compute)", 0, &kernels);
    let mut host = Made::named("/host:CPU");
    host.line("tf_Compute/12", 0, &[]);
    for n in 0..40 {
        host.event("ExecutorState::Process", n * 100 * US, 90 * US, &[]);
    }
    host.line("python3", 0, &[]);
    for n in 0..4 {
        let stats: &[(&str, i64)] = if marked { &[("step_num", n), ("_r", 1)] } else { &[] };
        host.event("train", n * 1000 * US, 990 * US, stats);
    }
    profile(vec![gpu, host])
}

#[test]
fn a_tensorflow_run_is_told_what_tensorflow_has() {
    for marked in [true, false] {
        let profile = tensorflow(marked);
        assert_eq!(WrittenIn::of(&profile), WrittenIn::TensorFlow);
        let wrong = out_of_place(&profile);
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
    // What it lacks has a cure all the same.
    let inspect = ask(&tensorflow(false), "inspect", &[]);
    let note = inspect.quality.iter().find(|note| note.id == "no_steps").unwrap();
    assert!(note.fix.contains("tf.profiler.experimental.Trace"), "{}", note.fix);
}

#[test]
fn a_jax_run_is_told_what_jax_has() {
    for run in ["tpu-train", "cpu-train", "gpu-train"] {
        let profile = crate::support::open(run);
        assert_eq!(WrittenIn::of(&profile), WrittenIn::Jax, "{run}");
        let wrong = out_of_place(&profile);
        assert!(wrong.is_empty(), "{run}: {wrong:#?}");
    }
}

#[test]
fn a_run_that_names_no_framework_is_told_what_is_true_of_all() {
    let mut tpu = Made::tpu(0);
    let op = tpu.op("fusion.1", "loop fusion", 1, 1);
    tpu.line("XLA Ops", 0, &[(op, 0, 10 * US), (op, 100 * US, 10 * US)]);
    let profile = profile(vec![tpu]);
    assert_eq!(WrittenIn::of(&profile), WrittenIn::Unknown);
    let note = ask(&profile, "overview", &[]).quality.into_iter().find(|note| note.id == "no_steps").unwrap();
    assert!(note.fix.contains("in JAX") && note.fix.contains("in TensorFlow"), "{}", note.fix);
}

#[test]
fn real_runs_of_tensorflow_are_told_nothing_of_jax() {
    let Some(real) = traces("real") else { return };
    for (run, written_in) in [
        ("v100x8-tf", WrittenIn::TensorFlow),
        ("t4-keras-a", WrittenIn::TensorFlow),
        ("t4-keras-b", WrittenIn::TensorFlow),
        ("cpu-mac-keras", WrittenIn::TensorFlow),
        ("gfx950-te-attn", WrittenIn::Jax),
        ("mi300-gemm", WrittenIn::Jax),
        ("cpu-jax-train", WrittenIn::Jax),
    ] {
        let profile = load::open(&load::find(&real.join(run)).unwrap()).unwrap();
        assert_eq!(WrittenIn::of(&profile), written_in, "{run}");
        let wrong = out_of_place(&profile);
        assert!(wrong.is_empty(), "{run}: {wrong:#?}");
    }
    // A library's kernels on a GPU are no Pallas kernels of a TPU.
    let profile = load::open(&load::find(&real.join("gfx950-te-attn")).unwrap()).unwrap();
    let all = advice(&profile);
    assert!(all.iter().all(|(_, fix)| !fix.contains("xla_xprof_enable_custom_call_tracing")), "{all:#?}");
}
