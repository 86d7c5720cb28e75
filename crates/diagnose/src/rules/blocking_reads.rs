//! The host waits for a result before it launches the next program, so that devices run dry.

use crate::evidence::Evidence;
use crate::evidence::host_words::BehindReads;
use crate::rule::{ANY, Outcome, Rule, Standing};
use crate::thresholds::HOST_CAUSE;
use haloscope_report::units;

use super::host_doing::{READS, Words};

pub(super) static RULE: Rule = Rule {
    id: "blocking_reads",
    standing: Standing::Cause,
    on: ANY,
    needs: "host events (`block_until_ready`, `np.asarray`, stream synchronisation) and program executions",
    threshold: Some(&HOST_CAUSE),
    check,
};

fn check(evidence: &Evidence<'_>) -> Outcome {
    let part = match READS.part(evidence) {
        Ok(part) => part,
        Err(unknown) => return unknown,
    };
    let share = evidence.share_of(&part);
    let said = format!(
        "devices had nothing to run while their host waited for a result: {} of the active window",
        units::share(share)
    );
    let behind = evidence.behind_reads();
    READS.judge(evidence, (&part, share, said), || Words {
        claim: format!(
            "The host waits for results in `{}` before it launches the next program: this leaves the devices idle for {} of the active window{}",
            part.names.first().map_or("a read", |named| named.name.as_str()),
            units::share(share),
            behind.as_ref().map_or_else(String::new, |BehindReads { words, .. }| format!(", mostly while it is in {words} after the read")),
        ),
        evidence: String::new(),
        recommendation: behind.as_ref().map_or_else(String::new, |BehindReads { name, .. }| {
            format!("take `{name}` off the loop: do it on another thread, or every n-th step; or ")
        }) + "do not wait for results in each step: keep metrics on the device and read those of an earlier step, or read every n-th step; in a benchmark, launch all calls and wait once",
        assuming: None,
        also: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use crate::rule::Verdict;
    use crate::tests::{Made, US, check};

    /// Ten programs of 700 us, one every 1000 us.
    fn tpu() -> Made {
        Made::repeating(10, 1000 * US, 700 * US)
    }

    /// The host blocks from 100 us of each program to `until`.
    fn host(until: i64) -> Made {
        let mut host = Made::named("/host:CPU");
        host.line("python");
        for at in (0..10).map(|i| i * 1000 * US) {
            host.event("block_until_ready", at + 100 * US, (until - 100) * US, &[]);
            host.event("PjitFunction(step)", at + 900 * US, 100 * US, &[]);
        }
        host
    }

    #[test]
    fn gaps_that_begin_while_the_host_waits_are_the_reads() {
        let found = check(&super::RULE, vec![tpu(), host(710)]);
        assert_eq!(found.verdict, Verdict::Found, "{found:?}");
        // Nine gaps of 300 us, which all would have fit beside a program, in 9700 us.
        let speedup = found.findings[0].speedup.unwrap();
        assert!((speedup - 1.0 / (1.0 - 2700.0 / 9700.0)).abs() < 1e-6, "{found:?}");
        assert!(
            found.findings[0].evidence.contains("`block_until_ready` 9 times, 610.0 us each"),
            "{found:?}"
        );
    }

    #[test]
    fn a_read_that_ends_long_before_the_device_runs_dry_is_clear() {
        assert_eq!(check(&super::RULE, vec![tpu(), host(600)]).verdict, Verdict::Clear);
    }

    #[test]
    fn what_the_host_does_with_a_result_is_named_where_it_is_most() {
        // The read ends with the program; of the 300 us to the next launch the host logs for so many.
        let logs = |us: i64| {
            let mut host = Made::named("/host:CPU");
            host.line("python");
            for at in (0..10).map(|i| i * 1000 * US) {
                host.event("$train.py:9 step", at, 1000 * US, &[]);
                host.event("block_until_ready", at + 100 * US, 610 * US, &[]);
                host.event("$train.py:20 log", at + 720 * US, us * US, &[]);
                host.event("$<unknown> recv", at + 725 * US, (us - 10) * US, &[]);
                host.event("PjitFunction(step)", at + 980 * US, 15 * US, &[]);
            }
            check(&super::RULE, vec![tpu(), host])
        };
        let found = &logs(220).findings[0];
        assert!(
            found.claim.ends_with("in `$train.py:20 log` (`$<unknown> recv`) after the read"),
            "{found:?}"
        );
        assert!(found.recommendation.starts_with("take `$train.py:20 log` off the loop"), "{found:?}");
        // Near miss: it is less than half of it.
        let found = &logs(100).findings[0];
        assert!(
            !found.claim.contains("log") && found.recommendation.starts_with("do not wait for results"),
            "{found:?}"
        );
    }

    #[test]
    fn programs_launched_ahead_do_not_wait_for_reads() {
        // The host reads two steps back: each program is launched before the one before it ends.
        let mut host = Made::named("/host:CPU");
        host.line("python");
        for at in (0..10).map(|i| i * 1000 * US) {
            host.event("PjitFunction(step)", at - 800 * US, 10 * US, &[]);
            host.event("block_until_ready", at - 780 * US, 500 * US, &[]);
        }
        assert_eq!(check(&super::RULE, vec![tpu(), host.clone()]).verdict, Verdict::Clear);
        // Near miss: the calls are of another function, so that nobody knows when the program was launched.
        let mut other = Made::named("/host:CPU");
        other.line("python");
        for at in (0..10).map(|i| i * 1000 * US) {
            other.event("PjitFunction(other)", at - 800 * US, 10 * US, &[]);
            other.event("block_until_ready", at - 780 * US, 500 * US, &[]);
        }
        assert_eq!(check(&super::RULE, vec![tpu(), other]).verdict, Verdict::Found);
    }

    #[test]
    fn without_host_events_nobody_can_tell() {
        assert_eq!(check(&super::RULE, vec![tpu()]).verdict, Verdict::Unknown);
    }
}
