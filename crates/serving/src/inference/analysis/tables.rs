//! The tables of `inference`.

use super::{Served, at, mean, sorted};
use crate::inference::{Batch, Batching, Phases, Request};
use haloscope_profile::{HostId, Profile};
use haloscope_report::{Cell, Column, Table};

/// Requests and batches that are listed: the slowest.
const LISTED: usize = 1000;

const PERCENTILES: &[Column] = &[
    Column::text("what", "What", "Requests or batches of a model."),
    Column::count("count", "Count", "How many."),
    Column::duration("mean_ps", "Mean", "Arithmetic mean of their times."),
    Column::duration(
        "p50_ps",
        "Median",
        "Half take at most this long; linear between neighbours, as the others.",
    ),
    Column::duration("p90_ps", "90%", "90% take at most this long."),
    Column::duration("p95_ps", "95%", "95% take at most this long."),
    Column::duration("p99_ps", "99%", "99% take at most this long."),
    Column::duration("max_ps", "Longest", "The longest."),
    Column::text("model", "Model", "The model; unknown where no request names one."),
];

const PHASES: &[Column] = &[
    Column::text(
        "phase",
        "Where requests' time goes",
        "At each instant of a request the phase that stands last in this table.",
    ),
    Column::duration("mean_ps", "Mean", "Mean over requests."),
    Column::duration("p50_ps", "Median", "Median over requests."),
    Column::duration("p99_ps", "99%", "99th percentile over requests."),
    Column::share("share", "Share", "Of the latency of all requests."),
];

const REQUESTS: &[Column] = &[
    Column::count("request", "Request", "Its group's number."),
    Column::duration("latency_ps", "Latency", "From its first event to the end of its last or of its batch."),
    Column::duration("preprocess_ps", "Before", "The host before the device."),
    Column::duration(
        "batch_formation_ps",
        "Batching",
        "Between its arrival in the queue and the start of its batch.",
    ),
    Column::duration("runtime_ps", "Runtime", "The host between the start of an execution and its launch."),
    Column::duration("to_device_ps", "To device", "Transfers to the device."),
    Column::duration("device_ps", "Device", "Programs on the device."),
    Column::duration("from_device_ps", "From device", "Transfers from the device."),
    Column::duration("postprocess_ps", "After", "The host after the device."),
    Column::duration("idle_ps", "Nothing", "None of the others."),
    Column::count("size", "Size", "Its size in a batch; unknown where it says none."),
    Column::duration("start_ps", "Start", "From the start of the run."),
    Column::duration("end_ps", "End", "From the start of the run."),
    Column::text("model", "Model", "The model; unknown where it names none."),
    Column::text("host", "Host", "The host that served it."),
];

const BATCHES: &[Column] = &[
    Column::count("batch", "Batch", "Its group's number."),
    Column::duration("duration_ps", "Time", "From its start to its end."),
    Column::duration(
        "delay_ps",
        "Delay",
        "From the start of its first request to its own; unknown without requests.",
    ),
    Column::duration("device_ps", "Device", "Programs on the device."),
    Column::count("requests", "Requests", "Requests in it."),
    Column::count("size", "Size", "Its size with padding."),
    Column::count("padding", "Padding", "What was added to fill it up."),
    Column::share("efficiency", "Efficiency", "The share of it that is not padding."),
    Column::duration("start_ps", "Start", "From the start of the run."),
    Column::duration("end_ps", "End", "From the start of the run."),
    Column::text("model", "Model", "The model; unknown where its requests name none."),
    Column::text("host", "Host", "The host that ran it."),
];

const SETTINGS: &[Column] = &[
    Column::text("model", "Model", "The model."),
    Column::count("max_size", "Largest batch", "Its largest size."),
    Column::duration("timeout_ps", "Timeout", "How long a batch waits for more requests."),
    Column::count("threads", "Threads", "Threads that process batches."),
    Column::count("max_waiting", "Most waiting", "How many batches may wait."),
    Column::text("allowed_sizes", "Allowed sizes", "Sizes to which batches are filled up."),
    Column::text("host", "Host", "The host whose server says so."),
];

fn known(text: &str) -> Cell {
    if text.is_empty() { Cell::Unknown } else { text.into() }
}

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
    let mut table = Table::new("percentiles", "Times by percentile", PERCENTILES);
    let mut row = |what: &str, model: &str, times: Vec<f64>| {
        if times.is_empty() {
            return;
        }
        let q = |q| Cell::from(at(&times, q));
        table.push(vec![
            what.into(),
            times.len().into(),
            mean(&times).into(),
            q(0.5),
            q(0.9),
            q(0.95),
            q(0.99),
            times.last().copied().into(),
            known(model),
        ]);
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
    table
}

type OfPhases = fn(&Phases) -> u64;

pub(super) fn phases(requests: &[Served<Request>]) -> Table {
    let mut table = Table::new("phases", "Where requests' time goes", PHASES);
    if requests.is_empty() {
        return table;
    }
    let all: f64 = requests.iter().map(|r| r.what.duration_ps() as f64).sum();
    let rows: [(&str, OfPhases); 8] = [
        ("nothing that was recorded", |p| p.idle_ps),
        ("host, before the device", |p| p.preprocess_ps),
        ("host, after the device", |p| p.postprocess_ps),
        ("waiting for a batch", |p| p.batch_formation_ps),
        ("runtime, before the launch", |p| p.runtime_ps),
        ("transfers to the device", |p| p.to_device_ps),
        ("transfers from the device", |p| p.from_device_ps),
        ("device", |p| p.device_ps),
    ];
    for (name, of) in rows {
        let times = sorted(requests.iter().map(|r| of(&r.what.phases)));
        table.push(vec![
            name.into(),
            mean(&times).into(),
            at(&times, 0.5).into(),
            at(&times, 0.99).into(),
            (all > 0.0).then(|| times.iter().sum::<f64>() / all).into(),
        ]);
    }
    table
}

pub(super) fn requests(profile: &Profile, requests: &[Served<Request>]) -> Table {
    let mut table = Table::new("requests", "Requests, slowest first", REQUESTS);
    let mut order: Vec<&Served<Request>> = requests.iter().collect();
    order.sort_by_key(|r| std::cmp::Reverse(r.what.duration_ps()));
    for one in order.into_iter().take(LISTED) {
        let (request, phases) = (&one.what, &one.what.phases);
        let end = one.start_ps.saturating_add_unsigned(request.duration_ps());
        table.push(vec![
            request.id.into(),
            time(request.duration_ps()),
            time(phases.preprocess_ps),
            time(phases.batch_formation_ps),
            time(phases.runtime_ps),
            time(phases.to_device_ps),
            time(phases.device_ps),
            time(phases.from_device_ps),
            time(phases.postprocess_ps),
            time(phases.idle_ps),
            Some(i64::from(request.batching_size)).filter(|n| *n > 0).into(),
            one.start_ps.into(),
            end.into(),
            known(&one.model),
            profile.host(one.host).name.as_str().into(),
        ]);
    }
    table
}

pub(super) fn batches(profile: &Profile, batches: &[Served<Batch>]) -> Table {
    let mut table = Table::new("batches", "Batches, slowest first", BATCHES);
    let mut order: Vec<&Served<Batch>> = batches.iter().collect();
    order.sort_by_key(|b| std::cmp::Reverse(b.what.duration_ps()));
    for one in order.into_iter().take(LISTED) {
        let batch = &one.what;
        let sized = batch.size > 0;
        let end = one.start_ps.saturating_add_unsigned(batch.duration_ps());
        table.push(vec![
            batch.id.into(),
            time(batch.duration_ps()),
            if batch.requests.is_empty() { Cell::Unknown } else { time(batch.delay_ps) },
            time(batch.device_ps),
            batch.requests.len().into(),
            sized.then(|| i64::from(batch.size)).into(),
            sized.then(|| i64::from(batch.padding)).into(),
            sized.then(|| batch.efficiency()).into(),
            one.start_ps.into(),
            end.into(),
            known(&one.model),
            profile.host(one.host).name.as_str().into(),
        ]);
    }
    table
}

pub(super) fn settings(profile: &Profile, settings: &[(HostId, String, Batching)]) -> Table {
    let mut table = Table::new("settings", "How batches are made", SETTINGS);
    for (host, model, batching) in settings {
        table.push(vec![
            known(model),
            batching.max_size.into(),
            batching.timeout_us.saturating_mul(1_000_000).into(),
            batching.threads.into(),
            batching.max_waiting.into(),
            known(&batching.allowed_sizes),
            profile.host(*host).name.as_str().into(),
        ]);
    }
    table
}
