//! The table: means of each collective over its occurrences, truncated where XProf truncates.

use haloscope_profile::{HostId, Profile};
use haloscope_time::transfers::{self, Transfer};
use rustc_hash::FxHashMap;

use crate::gviz::{Cell, DataTable, Kind};
use crate::{Answer, Error};

/// Columns: key, type, heading.
const COLUMNS: [(&str, Kind, &str); 16] = [
    ("rendezvous_name", Kind::String, "Rendezvous Name"),
    ("recv_op_name", Kind::String, "Recv Op Name"),
    ("send_op_name", Kind::String, "Send Op Name"),
    ("transfer_type", Kind::String, "Transfer Type"),
    ("slack_time", Kind::Number, "Slack Time (ms)"),
    ("host_stall", Kind::String, "Host Stall (ms)"),
    ("observed_duration", Kind::Number, "Observed Duration (ms)"),
    ("send_stall", Kind::Number, "Send Stall (ms)"),
    ("send_done_stall", Kind::Number, "SendDone Stall (ms)"),
    ("recv_stall", Kind::Number, "Recv Stall (ms)"),
    ("recv_done_stall", Kind::Number, "RecvDone Stall (ms)"),
    ("stall_duration", Kind::Number, "Stall Duration (ms)"),
    ("total_stall", Kind::Number, "Aggregated Total Stall (ms)"),
    ("occurrences", Kind::Number, "Occurrences"),
    ("net_tx_bytes", Kind::Number, "Data Transmitted Size"),
    ("required_bandwidth", Kind::Number, "Required Bandwidth (Gbps)"),
];

/// Stands for a bandwidth without bound.
const NO_BOUND: f64 = i32::MAX as f64;

/// Times of a collective in whole microseconds; sums, or means over [`Summary::occurrences`].
#[derive(Debug, Clone, Default)]
struct Times {
    slack: u64,
    observed: u64,
    stall: u64,
    send: u64,
    recv: u64,
    send_done: u64,
    recv_done: u64,
}

#[derive(Debug, Clone, Default)]
struct Summary {
    /// Of the last occurrence: names and bytes.
    last: Transfer,
    occurrences: u64,
    us: Times,
}

impl Times {
    fn new(transfer: &Transfer) -> Self {
        let us = |ns: u64| (ns as f64 / 1e3) as u64;
        Self {
            slack: us(transfer.slack_ns),
            observed: us(transfer.end_ns).wrapping_sub(us(transfer.start_ns)),
            stall: us(transfer.stall_ns),
            send: us(transfer.send_ps / 1000),
            // XProf divides this one by a million too often.
            recv: (transfer.recv_ps as f64 / 1e6 / 1e6) as u64,
            send_done: us(transfer.send_done_ps / 1000),
            recv_done: us(transfer.recv_done_ps / 1000),
        }
    }

    fn map(&self, f: impl Fn(u64) -> u64) -> Self {
        Self {
            slack: f(self.slack),
            observed: f(self.observed),
            stall: f(self.stall),
            send: f(self.send),
            recv: f(self.recv),
            send_done: f(self.send_done),
            recv_done: f(self.recv_done),
        }
    }

    fn add(&mut self, other: &Self) {
        for (sum, value) in [
            (&mut self.slack, other.slack),
            (&mut self.observed, other.observed),
            (&mut self.stall, other.stall),
            (&mut self.send, other.send),
            (&mut self.recv, other.recv),
            (&mut self.send_done, other.send_done),
            (&mut self.recv_done, other.recv_done),
        ] {
            *sum = sum.wrapping_add(value);
        }
    }
}

impl Summary {
    fn add(&mut self, last: &Transfer, times: &Times, occurrences: u64) {
        self.us.add(&times.map(|us| us.wrapping_mul(occurrences)));
        self.occurrences += occurrences;
        self.last.clone_from(last);
    }

    fn means(mut self) -> Self {
        let count = self.occurrences as f64;
        self.us = self.us.map(|us| if count > 0.0 { (us as f64 / count) as u64 } else { 0 });
        self
    }

    fn row(&self) -> [Cell; 16] {
        let ms = |us: u64| Cell::Number(us as f64 / 1e3);
        let Times { slack, observed, stall, send, recv, send_done, recv_done } = self.us;
        let bytes = self.last.bytes;
        let gbps = if slack == 0 { NO_BOUND } else { bytes as f64 / slack as f64 * 8e-3 };
        [
            self.last.rendezvous.as_str().into(),
            self.last.recv_op.as_str().into(),
            self.last.send_op.as_str().into(),
            self.last.kind.as_str().into(),
            ms(slack),
            "-".into(),
            ms(observed),
            ms(send),
            ms(send_done),
            ms(recv),
            ms(recv_done),
            ms(stall),
            ms(stall.wrapping_mul(self.occurrences)),
            Cell::Number(self.occurrences as f64),
            Cell::Shown(bytes as f64, short_bytes(bytes)),
            Cell::Number(gbps),
        ]
    }
}

/// A size with at most three letters, as XProf prints it.
fn short_bytes(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let mut rest = bytes;
    let mut units = "KMGTPE".chars();
    let mut unit = units.next().unwrap_or('K');
    while rest >= 1024 * 1024 {
        rest /= 1024;
        unit = units.next().unwrap_or('E');
    }
    let digits = if unit == 'K' { 1 } else { 2 };
    format!("{:.digits$}{unit}", rest as f64 / 1024.0)
}

/// One collective after the other, by first appearance.
#[derive(Default)]
struct Summaries {
    place: FxHashMap<String, usize>,
    all: Vec<Summary>,
}

impl Summaries {
    fn add(&mut self, last: &Transfer, times: &Times, occurrences: u64) {
        let next = self.all.len();
        let at = *self.place.entry(last.rendezvous.clone()).or_insert(next);
        if at == next {
            self.all.push(Summary::default());
        }
        self.all[at].add(last, times, occurrences);
    }
}

pub(super) fn answer(profile: &Profile, chosen: &[HostId]) -> Result<Answer, Error> {
    let mut table = DataTable::new(&COLUMNS);
    // XProf gives up on all hosts where one has recorded no messages.
    if chosen.iter().all(|host| transfers::recorded(profile, *host)) {
        let mut combined = Summaries::default();
        for host in chosen {
            let mut own = Summaries::default();
            for transfer in transfers::of(profile, *host) {
                own.add(&transfer, &Times::new(&transfer), 1);
            }
            for summary in own.all.into_iter().map(Summary::means) {
                combined.add(&summary.last, &summary.us, summary.occurrences);
            }
        }
        for summary in combined.all.into_iter().map(Summary::means) {
            table.row(summary.row());
        }
    }
    Answer::json(&[table])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Printed by XProf 2.24.2 for 0, 12,288 and 49,152 bytes; the others follow its rule.
    #[test]
    fn sizes_in_short() {
        let sizes = [0, 1023, 1024, 12_288, 49_152, 1 << 20, 3 << 29, 1 << 62];
        let found = sizes.map(short_bytes);
        assert_eq!(found, ["0B", "1023B", "1.0K", "12.0K", "48.0K", "1.00M", "1.50G", "4.00E"]);
    }
}
