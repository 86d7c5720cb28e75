//! The tables of `inference`.

use super::{Served, at, mean, sorted};
use crate::inference::{Batch, Batching, Phases, Request};
use haloscope_profile::{HostId, Profile};
use haloscope_report::{Cell, Table, row};

/// Requests and batches that are listed: the slowest.
const LISTED: usize = 1000;

fn time(ps: u64) -> Cell {
    i64::try_from(ps).ok().into()
}

fn models<'a>(names: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut all: Vec<&str> = names.map(String::as_str).collect();
    all.sort_unstable();
    all.dedup();
    all
}

pub(super) fn percentiles(requests: &[Served<Request>], batches: &[Served<Batch>]) -> Table {
    let mut rows = Vec::new();
    let mut row = |what: &str, model: &str, times: Vec<f64>| {
        if times.is_empty() {
            return;
        }
        let q = |q| Cell::from(at(&times, q));
        let row = row![
            text("what", "What", "Requests or batches of a model.", what),
            count("count", "Count", "How many.", times.len()),
            duration("mean_ps", "Mean", "Arithmetic mean of their times.", mean(&times)),
            duration(
                "p50_ps",
                "Median",
                "Half take at most this long; linear between neighbours, as the others.",
                q(0.5)
            ),
            duration("p90_ps", "90%", "90% take at most this long.", q(0.9)),
            duration("p95_ps", "95%", "95% take at most this long.", q(0.95)),
            duration("p99_ps", "99%", "99% take at most this long.", q(0.99)),
            duration("max_ps", "Longest", "The longest.", times.last().copied()),
            text("model", "Model", "The model; unknown if no request names one.", Cell::words(model)),
        ];
        rows.push(row);
    };
    for model in models(requests.iter().map(|r| &r.model).chain(batches.iter().map(|b| &b.model))) {
        row(
            "requests",
            model,
            sorted(requests.iter().filter(|r| r.model == model).map(|r| r.what.duration_ps())),
        );
        row(
            "batches",
            model,
            sorted(batches.iter().filter(|b| b.model == model).map(|b| b.what.duration_ps())),
        );
    }
    Table::of("percentiles", "Times by percentile", rows)
}

type OfPhases = fn(&Phases) -> u64;

pub(super) fn phases(requests: &[Served<Request>]) -> Table {
    let mut table = Vec::new();
    let all: f64 = requests.iter().map(|r| r.what.duration_ps() as f64).sum();
    let rows: [(&str, OfPhases); 8] = [
        ("nothing recorded", |p| p.idle_ps),
        ("host, before the device", |p| p.preprocess_ps),
        ("host, after the device", |p| p.postprocess_ps),
        ("waiting for a batch", |p| p.batch_formation_ps),
        ("runtime, before the launch", |p| p.runtime_ps),
        ("transfers to the device", |p| p.to_device_ps),
        ("transfers from the device", |p| p.from_device_ps),
        ("device", |p| p.device_ps),
    ];
    for (name, of) in rows.into_iter().filter(|_| !requests.is_empty()) {
        let times = sorted(requests.iter().map(|r| of(&r.what.phases)));
        let row = row![
            text(
                "phase",
                "Where requests' time goes",
                "At each instant of a request, the phase that comes last in this table.",
                name
            ),
            duration("mean_ps", "Mean", "Mean over requests.", mean(&times)),
            duration("p50_ps", "Median", "Median over requests.", at(&times, 0.5)),
            duration("p99_ps", "99%", "99th percentile over requests.", at(&times, 0.99)),
            share(
                "share",
                "Share",
                "Of the latency of all requests.",
                (all > 0.0).then(|| times.iter().sum::<f64>() / all)
            ),
        ];
        table.push(row);
    }
    Table::of("phases", "Where requests' time goes", table)
}

pub(super) fn requests(profile: &Profile, requests: &[Served<Request>]) -> Table {
    let mut table = Vec::new();
    let mut order: Vec<&Served<Request>> = requests.iter().collect();
    order.sort_by_key(|r| std::cmp::Reverse(r.what.duration_ps()));
    for one in order.into_iter().take(LISTED) {
        let (request, phases) = (&one.what, &one.what.phases);
        let end = one.start_ps.saturating_add_unsigned(request.duration_ps());
        let row = row![
            count("request", "Request", "Its group's number.", request.id),
            duration(
                "latency_ps",
                "Latency",
                "From its first event to the end of its last or of its batch.",
                time(request.duration_ps())
            ),
            duration("preprocess_ps", "Before", "The host before the device.", time(phases.preprocess_ps)),
            duration(
                "batch_formation_ps",
                "Batching",
                "Between its arrival in the queue and the start of its batch.",
                time(phases.batch_formation_ps)
            ),
            duration(
                "runtime_ps",
                "Runtime",
                "The host between the start of an execution and its launch.",
                time(phases.runtime_ps)
            ),
            duration("to_device_ps", "To device", "Transfers to the device.", time(phases.to_device_ps)),
            duration("device_ps", "Device", "Programs on the device.", time(phases.device_ps)),
            duration(
                "from_device_ps",
                "From device",
                "Transfers from the device.",
                time(phases.from_device_ps)
            ),
            duration("postprocess_ps", "After", "The host after the device.", time(phases.postprocess_ps)),
            duration("idle_ps", "Nothing", "None of the others.", time(phases.idle_ps)),
            count(
                "size",
                "Size",
                "Its size in a batch; unknown if it does not say.",
                Some(i64::from(request.batching_size)).filter(|n| *n > 0)
            ),
            duration("start_ps", "Start", "From the start of the run.", one.start_ps),
            duration("end_ps", "End", "From the start of the run.", end),
            text("model", "Model", "The model; unknown if it names none.", Cell::words(&one.model)),
            text("host", "Host", "The host that served it.", profile.host(one.host).name.as_str()),
        ];
        table.push(row);
    }
    Table::of("requests", "Requests, slowest first", table)
}

pub(super) fn batches(profile: &Profile, batches: &[Served<Batch>]) -> Table {
    let mut table = Vec::new();
    let mut order: Vec<&Served<Batch>> = batches.iter().collect();
    order.sort_by_key(|b| std::cmp::Reverse(b.what.duration_ps()));
    for one in order.into_iter().take(LISTED) {
        let batch = &one.what;
        let sized = batch.size > 0;
        let end = one.start_ps.saturating_add_unsigned(batch.duration_ps());
        let row = row![
            count("batch", "Batch", "Its group's number.", batch.id),
            duration("duration_ps", "Time", "From its start to its end.", time(batch.duration_ps())),
            duration(
                "delay_ps",
                "Delay",
                "From the start of its first request to its own; unknown without requests.",
                if batch.requests.is_empty() { Cell::Unknown } else { time(batch.delay_ps) }
            ),
            duration("device_ps", "Device", "Programs on the device.", time(batch.device_ps)),
            count("requests", "Requests", "Requests in it.", batch.requests.len()),
            count("size", "Size", "Its size with padding.", sized.then(|| i64::from(batch.size))),
            count("padding", "Padding", "Padding that fills it up.", sized.then(|| i64::from(batch.padding))),
            share(
                "efficiency",
                "Efficiency",
                "The share of it that is not padding.",
                sized.then(|| batch.efficiency())
            ),
            duration("start_ps", "Start", "From the start of the run.", one.start_ps),
            duration("end_ps", "End", "From the start of the run.", end),
            text("model", "Model", "The model; unknown if its requests name none.", Cell::words(&one.model)),
            text("host", "Host", "The host that ran it.", profile.host(one.host).name.as_str()),
        ];
        table.push(row);
    }
    Table::of("batches", "Batches, slowest first", table)
}

pub(super) fn settings(profile: &Profile, settings: &[(HostId, String, Batching)]) -> Table {
    let mut table = Vec::new();
    for (host, model, batching) in settings {
        let row = row![
            text("model", "Model", "The model.", Cell::words(model)),
            count("max_size", "Largest batch", "Its largest size.", batching.max_size),
            duration(
                "timeout_ps",
                "Timeout",
                "How long a batch waits for more requests.",
                batching.timeout_us.saturating_mul(1_000_000)
            ),
            count("threads", "Threads", "Threads that process batches.", batching.threads),
            count("max_waiting", "Most waiting", "How many batches may wait.", batching.max_waiting),
            text(
                "allowed_sizes",
                "Allowed sizes",
                "Sizes to which batches are filled up.",
                Cell::words(&batching.allowed_sizes)
            ),
            text("host", "Host", "The host of the server.", profile.host(*host).name.as_str()),
        ];
        table.push(row);
    }
    Table::of("settings", "How batches are made", table)
}
