//! Another Python thread holds the interpreter while the one that launches programs wants it.

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::evidence::host_events::Doing;
use crate::evidence::interpreter::SWITCH_PS;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::rules::host_doing::cold_words;
use crate::thresholds::{Grade, HOST_CAUSE};
use haloscope_report::units;
use haloscope_report::{Link, Status};
use haloscope_time::account::Class;

pub(super) static RULE: Rule = Rule {
    id: "interpreter_held",
    standing: Standing::Cause,
    on: ANY,
    needs: "program executions, and the calls of Python on the thread that launches (python_tracer_level 1)",
    threshold: Some(&HOST_CAUSE),
    check,
};

/// So many events are named.
const NAMED: usize = 4;

fn check(evidence: &Evidence<'_>) -> Outcome {
    let host = evidence.host();
    let has_programs = evidence.accounts().iter().flatten().any(|account| !account.launches.is_empty());
    let between = evidence.share(Class::Between);
    if has_programs && HOST_CAUSE.grade(between) == Grade::Good {
        return Outcome::clear(format!(
            "devices have no program for {} of the active window",
            units::share(between)
        ));
    }
    if !has_programs || !host.is_traced {
        return Outcome::unknown(
            "Python's tracer recorded no thread that launches, so how long its calls stand still is unknown",
        );
    }
    let interval = units::duration_ps(SWITCH_PS as f64);
    let Some(held) = &host.held else {
        return Outcome::clear(format!(
            "calls of the launching thread that have nothing in common do not stand still for {interval} each"
        ));
    };
    let share = evidence.of_active(held.ps() as f64);
    let said = format!(
        "{} of {} long stretches of single calls take {interval} or a multiple; devices have no program for {} of the active window meanwhile",
        held.stretches.0,
        held.stretches.1,
        units::share(share)
    );
    if HOST_CAUSE.grade(share) == Grade::Good {
        return Outcome::clear(said);
    }
    let cold = evidence.cold_behind_work(share, |_| true);
    let names: Vec<String> = held.names.iter().take(NAMED).map(|name| format!("`{name}`")).collect();
    let finding = Cause {
        id: RULE.id,
        claim: format!(
            "Another Python thread{} holds Python's interpreter lock (the GIL) while the loop wants it: devices have no program for {} of the active window",
            held.holder.as_ref().map_or_else(String::new, |name| format!(", in `{name}`,")),
            units::share(share)
        ),
        evidence: format!(
            "on the thread that launches {} of {} long stretches of single calls take {interval} or a multiple, after which Python asks for the interpreter, in calls that have nothing in common: {}{}",
            held.stretches.0,
            held.stretches.1,
            names.join(", "),
            cold_words(cold)
        ),
        saved: Some((share + cold).min(1.0)),
        assuming: "if the loop got the lock when it wants it".into(),
        recommendation: "do that thread's work in another process, or in code that releases the lock (NumPy on large arrays, I/O); sys.setswitchinterval(0.0005) makes each wait a tenth as long".into(),
        falsifier: "with the other thread stopped the same calls take as long".into(),
        status: Status::Estimated,
        links: vec![Link::to("ops").param("on", "host"), Link::to("idle").table("gaps")],
    };
    let of = |doing: &Doing, ps: i64| {
        let share = evidence.of_active(ps as f64);
        match doing {
            Doing::Read => ("blocking_reads", share),
            Doing::Transfer => ("large_transfers", share),
            Doing::Launch => ("launch_bound", share),
            _ => ("host_bound", evidence.with_cold(share)),
        }
    };
    let explained = held.by_doing.iter().map(|(doing, ps)| of(doing, *ps));
    let finding = explained
        .fold(finding.into_finding(evidence), |finding, (rule, share)| finding.explaining(rule, share));
    Outcome::found(said, vec![finding])
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Value;

    use crate::rule::Verdict;
    use crate::tests::{Made, US, check, check_hosts};

    /// Thirty rounds, each a program of 2 ms and five calls one after another that stand still for so many us; before and behind them
    /// the calls inside of them, which take 20.
    fn run(calls: [(&str, i64); 5]) -> Vec<Made> {
        let mut cpu = Made::named("/host:CPU");
        let mut programs = Vec::new();
        cpu.line("python");
        let mut at = 0;
        for n in 0..30 {
            let from = at;
            let round = 3000 + calls.iter().map(|call| call.1 + 40).sum::<i64>();
            cpu.event("$train.py:9 step", from * US, round * US, &[]);
            cpu.event("PjitFunction(step)", (at + 1) * US, 10 * US, &[]);
            programs.push(at + 20);
            cpu.event("np.asarray(jax.Array)", (at + 15) * US, 2010 * US, &[]);
            at += 2030;
            for (place, (name, us)) in calls.into_iter().enumerate() {
                // Each a little later than the interval says.
                let us = us + (n * 7 + place as i64 * 3) % 40;
                cpu.event(name, at * US, (us + 20) * US, &[]);
                cpu.event("$builtins isinstance", at * US, 20 * US, &[]);
                at += us + 20;
            }
            at = from + round;
        }
        cpu.line("tf_XLAPjRtCpuClient/1");
        for (run, at) in (0..).zip(programs) {
            let stats = [
                ("hlo_op", Value::Str("dot.1".into())),
                ("hlo_module", Value::Str("jit_step".into())),
                ("program_id", Value::Uint(7)),
                ("run_id", Value::Uint(run)),
            ];
            cpu.event("dot.1", at * US, 2000 * US, &stats);
        }
        vec![cpu]
    }

    const HELD: [(&str, i64); 5] = [
        ("DevicePut", 5100),
        ("PjitFunction(other)", 5150),
        ("$array_creation.py:98 ones", 10_200),
        ("$numpy sort", 5120),
        ("$log.py:3 line", 100),
    ];

    #[test]
    fn calls_of_any_kind_that_take_the_switch_interval_are_a_thread_that_holds_the_interpreter() {
        let found = check(&super::RULE, run(HELD));
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        let finding = &found.findings[0];
        assert!(finding.evidence.contains("DevicePut") && finding.evidence.contains("sort"), "{finding:?}");
        // 25.5 of a round of 28.9 ms.
        assert!(finding.speedup.is_some_and(|gain| (6.0..12.0).contains(&gain)), "{finding:?}");
        for rule in ["large_transfers", "launch_bound", "host_bound"] {
            assert!(
                finding.explains.iter().any(|one| one.rule == rule && one.share > 0.1),
                "{rule}: {finding:?}"
            );
        }
    }

    #[test]
    fn what_is_held_up_on_several_hosts_is_added() {
        let found = check_hosts(&super::RULE, vec![("a", run(HELD)), ("b", run(HELD))]);
        assert!(found.findings[0].speedup.is_some_and(|gain| (6.0..12.0).contains(&gain)), "{found:?}");
    }

    #[test]
    fn one_that_holds_it_is_named_where_its_calls_were_recorded() {
        let mut planes = run(HELD);
        planes[0].line("python");
        planes[0].event("$work.py:4 crunch", 0, 900_000 * US, &[]);
        let found = check(&super::RULE, planes);
        assert!(found.findings[0].claim.contains("in `$work.py:4 crunch`,"), "{found:?}");
    }

    #[test]
    fn calls_that_take_as_long_for_reasons_of_their_own_are_clear() {
        // Two kinds only; of any length; a loop that sleeps for the interval.
        let mut two = HELD;
        (two[2].1, two[3].1) = (100, 100);
        let mut any = HELD;
        (any[0].1, any[1].1, any[2].1) = (4300, 6900, 8400);
        let sleeps = [("$time sleep", 5060), ("$a f", 90), ("$b g", 90), ("$c h", 90), ("$d i", 90)];
        for calls in [two, any, sleeps] {
            let found = check(&super::RULE, run(calls));
            assert_eq!(found.verdict, Verdict::Clear, "{calls:?}: {found:?}");
        }
    }

    #[test]
    fn where_devices_always_have_a_program_nothing_is_held_up() {
        let found = check(&super::RULE, vec![Made::repeating(10, 1000 * US, 995 * US)]);
        assert_eq!(found.verdict, Verdict::Clear, "{found:?}");
    }

    #[test]
    fn without_the_calls_of_python_nobody_can_tell() {
        let planes = vec![Made::cpu(20, 1000 * US, 600 * US)];
        assert_eq!(check(&super::RULE, planes).verdict, Verdict::Unknown);
        assert_eq!(
            check(&super::RULE, vec![Made::repeating(10, 1000 * US, 700 * US)]).verdict,
            Verdict::Unknown
        );
    }
}
