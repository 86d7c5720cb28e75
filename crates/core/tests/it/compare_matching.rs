//! Ops of one run known again in another.

use haloscope_core::derive::compare::{How, Matches, RunSamples};
use haloscope_core::load;
use haloscope_core::profile::Profile;
use haloscope_core::report::Notes;
use haloscope_core::scope::Scope;

use crate::support::{RUNS, open, traces};

fn forged(name: &str) -> Option<(Profile, serde_json::Value)> {
    let folder = traces(&format!("forged/{name}"))?;
    let truth = std::fs::read_to_string(folder.join("truth.json")).unwrap();
    Some((load::open(&load::find(&folder).unwrap()).unwrap(), serde_json::from_str(&truth).unwrap()))
}

fn samples(profile: &Profile) -> RunSamples<'_> {
    RunSamples::of(profile, &Scope::default(), &mut Notes::default()).unwrap()
}

fn time(run: &RunSamples<'_>, op: usize) -> f64 {
    run.ops[op].step_ps.iter().sum::<f64>() / run.steps.len() as f64
}

/// What holds of all matches: every op is in one list, once.
fn check(matches: &Matches<'_>, a: &RunSamples<'_>, b: &RunSamples<'_>) {
    let grouped = |of: usize| {
        matches.regrouped.iter().flat_map(move |g| if of == 0 { g.a.clone() } else { g.b.clone() })
    };
    let mut ops: Vec<usize> = matches.pairs.iter().map(|p| p.a).chain(grouped(0)).collect();
    ops.extend(&matches.gone);
    ops.sort_unstable();
    assert_eq!(ops, (0..a.ops.len()).collect::<Vec<_>>());
    let mut ops: Vec<usize> = matches.pairs.iter().map(|p| p.b).chain(grouped(1)).collect();
    ops.extend(&matches.new);
    ops.sort_unstable();
    assert_eq!(ops, (0..b.ops.len()).collect::<Vec<_>>());
    let one_to_many = |g: &haloscope_core::derive::compare::Regrouped| (g.a.len() == 1) != (g.b.len() == 1);
    assert!(matches.regrouped.iter().all(one_to_many), "{:?}", matches.regrouped);
}

#[test]
fn a_run_is_itself() {
    for name in RUNS {
        let (left, right) = (open(name), open(name));
        let Ok(a) = RunSamples::of(&left, &Scope::default(), &mut Notes::default()) else { continue };
        let b = samples(&right);
        let matches = Matches::of(&a, &b);
        check(&matches, &a, &b);
        assert_eq!(matches.pairs.len(), a.ops.len(), "{name}");
        for pair in &matches.pairs {
            assert_eq!(pair.a, pair.b, "{name}: {} is {}", a.ops[pair.a].meta.name, b.ops[pair.b].meta.name);
        }
    }
}

#[test]
fn what_a_recompilation_renamed_is_known_again_and_what_it_added_is_new() {
    let Some((before, _)) = forged("dense_train_v5e16") else { return };
    let Some((after, truth)) = forged("dense_train_v5e16_regressed") else { return };
    let (a, b) = (samples(&before), samples(&after));
    let matches = Matches::of(&a, &b);
    check(&matches, &a, &b);
    let name = |run: &RunSamples<'_>, op: usize| run.ops[op].meta.name.to_string();
    let partner = |wanted: &str| {
        let place = b.ops.iter().position(|op| op.meta.name == wanted).unwrap();
        let pair = matches.pairs.iter().find(|pair| pair.b == place).unwrap();
        (name(&a, pair.a), pair.how)
    };
    // The slowed fusion has another number now.
    assert_eq!(partner("fusion.462"), ("fusion.467".to_owned(), How::Structure));
    for op in truth["regression"]["extra_ops"].as_object().unwrap().keys() {
        let place = b.ops.iter().position(|own| own.meta.name == *op).unwrap();
        assert!(matches.new.contains(&place), "{op} is not new");
    }
    // Waits whose beginning went elsewhere are all that is gone.
    assert!(matches.gone.iter().all(|op| time(&a, *op) < 1e6));
    let share = matches.matched_share(|op| time(&a, op)).unwrap();
    assert!(share > 0.999, "{share}");
    // Two fusions do now what one did.
    let grouped =
        |of: &[usize], run: &RunSamples<'_>| -> Vec<String> { of.iter().map(|op| name(run, *op)).collect() };
    let regrouped: Vec<_> =
        matches.regrouped.iter().map(|g| (grouped(&g.a, &a), grouped(&g.b, &b))).collect();
    let words = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(regrouped, [(words(&["fusion.694"]), words(&["fusion.695", "fusion.693"]))]);
    // The other way round what was new is gone.
    let back = Matches::of(&b, &a);
    check(&back, &b, &a);
    assert_eq!(back.gone, matches.new);
    assert_eq!(back.new, matches.gone);
}
