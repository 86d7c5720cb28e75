//! Small made profiles for the tests of rules and of what they rest on.

mod made;

pub(super) use made::{MS, Made, US};

use super::evidence::Evidence;
use super::rule::{Outcome, Rule};
use haloscope_report::scope::Scope;
use haloscope_time::select::Scoped;

/// What a rule says of one host with these planes.
pub(super) fn check(rule: &'static Rule, planes: Vec<Made>) -> Outcome {
    let profile = made::profile(vec![("host", planes)]);
    let asked = Scoped::new(&profile, &Scope::default());
    let evidence = Evidence::new(&asked, None).unwrap();
    rule.apply(&evidence).outcome
}

/// The profile of one host with these planes.
pub(super) fn profile_of(planes: Vec<Made>) -> haloscope_profile::Profile {
    made::profile(vec![("host", planes)])
}

/// What a rule says of several hosts.
pub(super) fn check_hosts(rule: &'static Rule, hosts: Vec<(&str, Vec<Made>)>) -> Outcome {
    let profile = made::profile(hosts);
    let asked = Scoped::new(&profile, &Scope::default());
    let evidence = Evidence::new(&asked, None).unwrap();
    rule.apply(&evidence).outcome
}

/// Eight TPUs of one host that work, meet in pairs, and then all meet, so many steps long: microseconds of work by step and
/// device, of the meeting by step and pair. Nobody leaves a meeting before all have come.
pub(super) fn in_pairs(
    steps: i64,
    work: impl Fn(i64, usize) -> i64,
    meets: impl Fn(i64, usize) -> i64,
) -> Vec<Made> {
    const REST: &str = "channel_id=1, use_global_device_ids=true";
    let mut events: Vec<Vec<(&str, &str, i64, i64)>> = vec![Vec::new(); 8];
    let (mut spans, mut now) = (Vec::new(), 0);
    for step in 0..steps {
        let arrives = |d: usize| now + work(step, d) * US;
        let met = |pair: usize| arrives(2 * pair).max(arrives(2 * pair + 1)) + meets(step, pair) * US;
        let end = (0..4).map(met).max().unwrap_or(0) + 10 * US;
        for (d, own) in events.iter_mut().enumerate() {
            let (come, left) = (arrives(d), met(d / 2));
            own.push(("fusion.1", "loop fusion", now, come - now));
            own.push(("all-reduce.1", "all-reduce", come, left - come));
            own.push(("all-reduce.2", "all-reduce", left, end - left));
        }
        spans.push((step, now, end - now));
        now = end;
    }
    let made = events.iter().enumerate().map(|(d, own)| {
        let mut tpu = Made::tpu(d as i64);
        let groups = ["{{0,1},{2,3},{4,5},{6,7}}", "{{0,1,2,3,4,5,6,7}}"];
        for (name, groups) in ["all-reduce.1", "all-reduce.2"].into_iter().zip(groups) {
            let text = format!("%{name} = f32[1048576]{{0}} all-reduce(%a), replica_groups={groups}, {REST}");
            tpu.op(name, "all-reduce", &text, &[]);
        }
        tpu.steps(&spans);
        tpu.programs(&spans.iter().map(|(_, at, long)| ("jit_step(7)", *at, *long)).collect::<Vec<_>>());
        tpu.ops(own);
        tpu
    });
    made.collect()
}

/// The evidence of one host with these planes, for the tests of what rules rest on.
pub(crate) fn with_evidence(planes: Vec<Made>, look: impl FnOnce(&Evidence<'_>)) {
    let profile = made::profile(vec![("host", planes)]);
    let asked = Scoped::new(&profile, &Scope::default());
    look(&Evidence::new(&asked, None).unwrap());
}

/// A TPU that runs programs of 900 us, one each millisecond; the host's thread reads a batch for so long, launches for so long, and waits
/// for a result for so long, microseconds.
pub(crate) fn launched(batch: i64, launch: i64, read: i64) -> Vec<Made> {
    let mut tpu = Made::tpu(0);
    let starts: Vec<(i64, i64)> = (0..10).map(|i| (i, i * MS)).collect();
    tpu.steps(&starts.iter().map(|(i, at)| (*i, *at, MS)).collect::<Vec<_>>());
    tpu.programs(&starts.iter().map(|(_, at)| ("jit_step(7)", *at, 900 * US)).collect::<Vec<_>>());
    tpu.ops(&starts.iter().map(|(_, at)| ("fusion.1", "loop fusion", *at, 900 * US)).collect::<Vec<_>>());
    let mut host = Made::named("/host:CPU");
    host.line("python");
    for (_, at) in starts {
        host.event("$data.py:4 next_batch", at, batch * US, &[]);
        host.event("PjitFunction(step)", at + batch * US, launch * US, &[]);
        host.event("block_until_ready", at + (batch + launch) * US, read * US, &[]);
    }
    vec![tpu, host]
}
