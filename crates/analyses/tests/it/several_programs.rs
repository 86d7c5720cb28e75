//! Steps that launch one program several times, and steps of several programs: gradients that are accumulated, decoding in a
//! loop of the host's, two programs in turn. Every analysis counts the same steps, by markers or without.

use haloscope_analyses as analyses;
use haloscope_analyses::selfcheck;
use haloscope_profile::Profile;
use haloscope_report::scope::Scope;
use haloscope_time::select::Scoped;
use haloscope_xspace::write::Value;

use crate::made::{Made, US, profile};
use crate::support::{ask, column, near, number, words};

/// A program: its name, how long it runs, and the gap behind it, microseconds.
type Launch = (&'static str, i64, i64);

/// Accumulated gradients: four times the same program, then the update.
const ACCUMULATED: &[Launch] = &[
    ("jit_micro", 100, 10),
    ("jit_micro", 100, 10),
    ("jit_micro", 100, 10),
    ("jit_micro", 100, 10),
    ("jit_update", 50, 40),
];
/// A request: the prompt, then a token each.
const DECODED: &[Launch] = &[
    ("jit_prefill", 200, 5),
    ("jit_decode", 90, 5),
    ("jit_decode", 90, 5),
    ("jit_decode", 90, 5),
    ("jit_decode", 90, 5),
    ("jit_decode", 90, 5),
    ("jit_decode", 90, 25),
];
const IN_TURN: &[Launch] = &[("jit_act", 150, 20), ("jit_learn", 300, 30)];

fn length(round: &[Launch]) -> i64 {
    round.iter().map(|(_, runs, gap)| runs + gap).sum()
}

fn busy(round: &[Launch]) -> i64 {
    round.iter().map(|(_, runs, _)| runs).sum()
}

/// So many rounds on two devices; with `marked` the devices have step markers, of which each begins with its round.
fn rounds(round: &[Launch], count: i64, marked: bool) -> Profile {
    profile(planes(round, count, marked))
}

fn planes(round: &[Launch], count: i64, marked: bool) -> Vec<Made> {
    let devices = (0..2).map(|ordinal| {
        let mut tpu = Made::tpu(ordinal);
        let mut names: Vec<&str> = round.iter().map(|launch| launch.0).collect();
        names.dedup();
        let (mut programs, mut ops) = (Vec::new(), Vec::new());
        for (id, name) in (7_u64..).zip(&names) {
            programs.push(tpu.meta(&format!("{name}({id})"), &[]));
            ops.push(tpu.meta(
                &format!("fusion.{id}"),
                &[
                    ("hlo_category", Value::Str("loop fusion".into())),
                    ("program_id", Value::Uint(id)),
                    ("flops", Value::Int(1000)),
                    ("bytes_accessed", Value::Int(1000)),
                ],
            ));
        }
        let (mut launches, mut events, mut at) = (Vec::new(), Vec::new(), 1000 * US);
        for (name, runs, gap) in (0..count).flat_map(|_| round) {
            let which = names.iter().position(|known| known == name).unwrap();
            launches.push((programs[which], at, runs * US));
            events.push((ops[which], at, runs * US));
            at += (runs + gap) * US;
        }
        if marked {
            let each = length(round) * US;
            let steps: Vec<_> =
                (0..count).map(|n| (tpu.meta(&n.to_string(), &[]), 1000 * US + n * each, each)).collect();
            tpu.line("Steps", 0, &steps);
        }
        tpu.line("XLA Modules", 0, &launches);
        tpu.line("XLA Ops", 0, &events);
        tpu
    });
    let host = Made::environment(1_000, 100_001_000);
    devices.chain([host]).collect()
}

/// All analyses in a grid of scopes hold the sums: steps among them, in each door of the account.
#[track_caller]
fn holds(profile: &Profile, what: &str) {
    let others: Vec<_> = analyses::ALL.iter().copied().filter(|analysis| analysis.id != "inspect").collect();
    let outcomes = selfcheck::check(&Scoped::new(profile, &Scope::default()), &others).unwrap();
    let wrong: Vec<String> = outcomes
        .iter()
        .filter(|outcome| outcome.tally.broken > 0)
        .map(|outcome| format!("{} [{}] {:?}", outcome.invariant.id, outcome.scope, outcome.tally.first))
        .collect();
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
}

#[test]
fn a_step_of_several_launches_is_one_step_everywhere() {
    for (what, round) in [("accumulated", ACCUMULATED), ("decoded", DECODED), ("in turn", IN_TURN)] {
        for marked in [true, false] {
            let what = format!("{what}, marked: {marked}");
            let profile = rounds(round, 8, marked);
            let (overview, steps) = (ask(&profile, "overview", &[]), ask(&profile, "steps", &[]));
            for report in [&overview, &steps] {
                let count = number(report, "step_count");
                // Without markers a round whose first program is another one than the longest is met from within.
                assert!(
                    count == 8.0 || !marked && count >= 7.0,
                    "{what}: {count} steps in {}",
                    report.analysis
                );
                near(number(report, "step_time_p50_ps"), (length(round) * US) as f64, 1.0, &what);
            }
            near(number(&overview, "step_count"), number(&steps, "step_count"), 0.0, &what);
            // The account of a step in the middle is that of a round: what runs, what the host leaves idle.
            let classes = steps.table("classes").unwrap();
            let of = |id: &str| column(classes, id)[3];
            near(of("compute_ps"), (busy(round) * US) as f64, 1.0, &format!("{what}: compute"));
            let idle = of("between_ps") + of("inside_ps");
            near(idle, ((length(round) - busy(round)) * US) as f64, 1.0, &format!("{what}: idle"));
            // Idle time of the whole is by the same account, whatever a step is.
            let waterfall = ask(&profile, "idle", &[]);
            let all = (8 * busy(round) * US) as f64;
            near(number(&waterfall, "device_busy_ps"), all, 1.0, &format!("{what}: busy"));
            near(number(&overview, "device_busy_ps"), all, 1.0, &format!("{what}: busy"));
            holds(&profile, &what);
        }
    }
}

#[test]
fn a_run_whose_steps_cannot_be_told_from_launches_says_so() {
    // Nothing but one program again and again: how many launches a step has is in no profile.
    let profile = rounds(&[("jit_micro", 100, 10)], 24, false);
    let steps = ask(&profile, "steps", &[]);
    near(number(&steps, "step_count"), 24.0, 0.0, "a launch each");
    assert!(words(&steps, "step_source").contains("every launch of jit_micro begins a step"));
    let note = steps.quality.iter().find(|note| note.id == "no_step_markers").unwrap();
    assert!(note.cost.contains("several times") && note.fix.contains("step"), "{note:?}");
    holds(&profile, "one program");
}

#[test]
fn a_validation_now_and_then_makes_no_step() {
    // Four steps, then a validation that takes longer than all of them: it returns a loss, or it is an update that returns the state.
    let round = &[
        ("jit_step", 100, 10),
        ("jit_step", 100, 10),
        ("jit_step", 100, 10),
        ("jit_step", 100, 10),
        ("jit_loss", 900, 20),
    ];
    let count = |returned: u64| {
        let mut planes = planes(round, 6, false);
        let program = |returned: u64| {
            format!(
                "HloModule m\n\nENTRY e {{\n  p = f32[4096]{{0}} parameter(0)\n  ROOT r = f32[{returned}]{{0}} custom-call(p), custom_call_target=\"mine\"\n}}\n"
            )
        };
        let mut programs = Made::named("/host:metadata");
        programs.program("jit_step(7)", &program(4096));
        programs.program("jit_loss(8)", &program(returned));
        planes.push(programs);
        let profile = profile(planes);
        holds(&profile, "validation");
        number(&ask(&profile, "steps", &[]), "step_count")
    };
    near(count(1), 24.0, 0.0, "a launch of jit_step each");
    assert!(count(4096) <= 6.0);
}
