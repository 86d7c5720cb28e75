//! `megascale`: transfers between slices over the data-centre network.

use rustc_hash::FxHashMap;

use haloscope_profile::{HostId, Profile};
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Finding, Notes, Report, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::quality;
use haloscope_time::select::Scoped;
use haloscope_time::stats::Summary;
use haloscope_time::transfers::{self, Transfer};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "megascale",
    label: "Megascale",
    group: MenuGroup::Time,
    question: "How long do transfers between slices take, how much time do they have, and how long do devices wait for them?",
    params: &[],
    needs: &[
        "a run over several TPU slices, whose hosts record messages (`MegaScale:` events)",
        "host send and recv ops on the first TensorCore of a host, and the HLO module that names their rendezvous",
    ],
    reads: &[Input::Profile],
    example: "megascale logs",
    also: &[],
    run: Run::Of(run),
};

/// Transfers that are listed.
const LISTED: usize = 500;

struct Seen {
    host: HostId,
    transfer: Transfer,
}

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let selection = asked.selection()?;
    for (asked, what) in [(!scope.modules.is_empty(), "modules"), (scope.cuts_time(), "time")] {
        if asked {
            quality::not_used(what, notes);
        }
    }
    let mut hosts: Vec<HostId> = selection.devices.iter().map(|d| d.host).collect();
    hosts.dedup();
    let recorded: Vec<HostId> = hosts.iter().copied().filter(|h| transfers::recorded(profile, *h)).collect();
    let mut seen = Vec::new();
    for host in &recorded {
        seen.extend(transfers::of(profile, *host).into_iter().map(|transfer| Seen { host: *host, transfer }));
    }
    if seen.is_empty() {
        let (message, fix) = if recorded.is_empty() {
            ("no host recorded messages between slices: a run on one slice sends none", "")
        } else {
            (
                "hosts recorded messages between slices, but no send and receive of a TPU could be paired",
                "capture with device tracing on, on the first chip of each host, and with HLO protos",
            )
        };
        notes.add(
            "no_transfers",
            Severity::Info,
            message,
            "what transfers between slices cost is unknown",
            fix,
        );
    }
    let groups = grouped(&seen);
    Ok(Report {
        values: values(&seen),
        findings: stalled(&groups).into_iter().collect(),
        tables: vec![collectives(&groups), each(profile, &seen)],
        ..Report::default()
    })
}

/// The table of collectives between slices of some hosts, under an id of the caller's; `None` where none was seen.
pub(super) fn between_slices(profile: &Profile, hosts: &[HostId], id: &'static str) -> Option<Table> {
    let recorded = hosts.iter().filter(|host| transfers::recorded(profile, **host));
    let of = |host: &HostId| {
        let host = *host;
        transfers::of(profile, host).into_iter().map(move |transfer| Seen { host, transfer })
    };
    let seen: Vec<Seen> = recorded.flat_map(of).collect();
    (!seen.is_empty()).then(|| Table { id, ..collectives(&grouped(&seen)) })
}

/// The transfers of each collective, those with most stall first.
fn grouped(seen: &[Seen]) -> Vec<Vec<&Seen>> {
    let mut row_of: FxHashMap<&str, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<&Seen>> = Vec::new();
    for one in seen {
        let row = *row_of.entry(one.transfer.rendezvous.as_str()).or_insert(groups.len());
        if row == groups.len() {
            groups.push(Vec::new());
        }
        groups[row].push(one);
    }
    groups.sort_by_key(|group| std::cmp::Reverse(stall_ps(group)));
    groups
}

fn ps(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX).saturating_mul(1000)
}

fn latency_ps(transfer: &Transfer) -> i64 {
    ps(transfer.end_ns.saturating_sub(transfer.start_ns))
}

/// The slack; `None` where the ops in between took longer than the time between, which says that they overlap.
fn slack_ps(transfer: &Transfer) -> Option<i64> {
    (transfer.slack_ns <= transfer.end_ns.saturating_sub(transfer.start_ns)).then(|| ps(transfer.slack_ns))
}

fn stall_ps(group: &[&Seen]) -> i64 {
    units::sum(group.iter().map(|s| ps(s.transfer.stall_ns)))
}

fn mean(group: &[&Seen], of: impl Fn(&Transfer) -> Option<i64>) -> Option<f64> {
    let known: Vec<f64> = group.iter().filter_map(|s| of(&s.transfer)).map(|v| v as f64).collect();
    Summary::of(&known).map(|s| s.mean)
}

fn collectives(groups: &[Vec<&Seen>]) -> Table {
    let mut rows = Vec::new();
    for group in groups {
        let Some(Seen { transfer, .. }) = group.first() else { continue };
        let word = |text: &str| Some(text.to_owned()).filter(|t| !t.is_empty());
        let (latency, slack) = (mean(group, |t| Some(latency_ps(t))), mean(group, slack_ps));
        let bytes = mean(group, |t| i64::try_from(t.bytes).ok().filter(|b| *b > 0));
        let rate = |time: Option<f64>| Some(bytes? / (time.filter(|t| *t > 0.0)? / 1e12));
        let mut hosts: Vec<HostId> = group.iter().map(|s| s.host).collect();
        hosts.dedup();
        let row = row![
            text(
                "rendezvous",
                "Collective",
                "The name under which send and receive meet.",
                transfer.rendezvous.as_str()
            ),
            text(
                "kind",
                "Kind",
                "What is done, as the compiler says, such as ALL_REDUCE; unknown if it does not.",
                word(&transfer.kind)
            ),
            count(
                "occurrences",
                "Count",
                "Transfers whose end was recorded, summed over hosts.",
                group.len()
            ),
            duration(
                "latency_ps",
                "Latency",
                "From the start of the send to the end of the recv-done; mean.",
                latency
            ),
            duration(
                "slack_ps",
                "Slack",
                "From the start of the send to the start of the recv-done, minus other sends and receives in between: the time that the transfer may take without delaying anything; mean.",
                slack
            ),
            duration(
                "stall_ps",
                "Stall",
                "Time that the device spends in its send, recv and their dones; mean.",
                mean(group, |t| Some(ps(t.stall_ns)))
            ),
            duration("total_stall_ps", "Stall, sum", "The same, summed over occurrences.", stall_ps(group)),
            bytes(
                "bytes",
                "Bytes",
                "What one member sends over the network in one transfer; unknown if the profile does not say how many members there are.",
                bytes
            ),
            rate(
                "needed_rate",
                "Needed rate",
                Unit::ByteRate,
                "Bytes divided by slack: the bandwidth at which nothing would wait for the transfer; unknown without slack.",
                rate(slack)
            ),
            rate(
                "achieved_rate",
                "Rate",
                Unit::ByteRate,
                "Bytes divided by latency: the network was at least this fast.",
                rate(latency)
            ),
            text("send_op", "Send op", "The op that sends.", word(&transfer.send_op)),
            text(
                "recv_op",
                "Receive op",
                "The op that waits for the received value.",
                word(&transfer.recv_op)
            ),
            count("hosts", "Hosts", "Hosts that recorded it on their first TensorCore.", hosts.len()),
        ];
        rows.push(row);
    }
    Table::of("collectives", "Collectives between slices", rows)
}

fn each(profile: &Profile, seen: &[Seen]) -> Table {
    let mut rows = Vec::new();
    let mut order: Vec<&Seen> = seen.iter().collect();
    order.sort_by_key(|s| (std::cmp::Reverse(latency_ps(&s.transfer)), s.transfer.start_ns));
    for Seen { host, transfer } in order.into_iter().take(LISTED) {
        let time = |ps: u64| i64::try_from(ps).ok();
        let row = row![
            text(
                "rendezvous",
                "Collective",
                "The name under which send and receive meet.",
                transfer.rendezvous.as_str()
            ),
            text("host", "Host", "Host.", profile.host(*host).name.as_str()),
            duration(
                "latency_ps",
                "Latency",
                "From the start of the send to the end of the recv-done.",
                latency_ps(transfer)
            ),
            duration("slack_ps", "Slack", "The time that was available.", slack_ps(transfer)),
            duration("send_ps", "Send", "Time in the send.", time(transfer.send_ps)),
            duration(
                "send_done_ps",
                "Send done",
                "Time in the wait for the send.",
                time(transfer.send_done_ps)
            ),
            duration("recv_ps", "Receive", "Time in the receive.", time(transfer.recv_ps)),
            duration(
                "recv_done_ps",
                "Receive done",
                "Time in the wait for the receive.",
                time(transfer.recv_done_ps)
            ),
        ];
        rows.push(row);
    }
    Table::of("transfers", "Transfers, longest first", rows)
}

fn values(seen: &[Seen]) -> Vec<Value> {
    let latencies: Vec<f64> = seen.iter().map(|s| latency_ps(&s.transfer) as f64).collect();
    let summary = Summary::of(&latencies);
    let some = (!seen.is_empty()).then_some(());
    let time =
        |id, label, value: Option<f64>, doc| Value::new(id, label, value, Unit::Ps, Status::Derived, doc);
    let bytes: u64 = seen.iter().fold(0, |all, s| all.saturating_add(s.transfer.bytes));
    vec![
        Value::new(
            "transfer_count",
            "Transfers",
            some.map(|()| seen.len()),
            Unit::Count,
            Status::Measured,
            "Pairs of a send and a receive that ended in the capture, on the first TensorCore of each host.",
        ),
        time(
            "latency_p50_ps",
            "Latency, median",
            summary.map(|s| s.p50),
            "From the start of the send to the end of the recv-done.",
        ),
        time("latency_p90_ps", "Latency, 90th percentile", summary.map(|s| s.p90), "The same."),
        time("latency_max_ps", "Latency, longest", summary.map(|s| s.max), "The same."),
        time(
            "stall_ps",
            "Stall",
            some.map(|()| units::sum(seen.iter().map(|s| ps(s.transfer.stall_ns))) as f64),
            "Time that devices spend in sends, receives and waits for them, summed.",
        ),
        Value::new(
            "bytes",
            "Bytes sent",
            some.map(|()| bytes).filter(|b| *b > 0),
            Unit::Bytes,
            Status::Derived,
            "What the recorded members send over the network, summed, from the size of what is received, the kind of the collective and the number of members.",
        ),
    ]
}

/// The collective that holds devices up longest, where it does.
fn stalled(groups: &[Vec<&Seen>]) -> Option<Finding> {
    let group = groups.first()?;
    let transfer = &group.first()?.transfer;
    let (latency, slack) = (mean(group, |t| Some(latency_ps(t)))?, mean(group, slack_ps)?);
    let wait = mean(group, |t| i64::try_from(t.recv_done_ps).ok())?;
    if wait < 0.1 * latency {
        return None;
    }
    Some(Finding {
        id: "transfer_stalls",
        severity: Severity::Warning,
        claim: format!(
            "Devices wait for {} between slices: {} of its {} are spent in its recv-done",
            transfer.rendezvous,
            units::duration_ps(wait),
            units::duration_ps(latency)
        ),
        evidence: format!(
            "it has {} of slack; {} times, {} of stall in total",
            units::duration_ps(slack),
            group.len(),
            units::duration_ps(stall_ps(group) as f64)
        ),
        ceiling: format!("{} in each execution, if it were hidden", units::duration_ps(wait)),
        recommendation: "start the send earlier or use its result later (more compute in between), send less (lower precision, reduce-scatter within the slice first), or make fewer and larger transfers".into(),
        falsifier: "the step takes just as long on one slice with the same work per device".into(),
        status: Status::Derived,
        ..Finding::default()
    })
}
