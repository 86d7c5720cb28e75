//! `inference`: the requests that a model server answered, the batches that it ran them in, and where their time went.

mod tables;

use crate::inference::{self, Batch, Phases, Request};
use haloscope_profile::{HostId, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_report::{Notes, Report, Series, Severity, Status, Unit, Value};
use haloscope_time::analysis::{Analysis, Input, MenuGroup, Params, Run};
use haloscope_time::fix;
use haloscope_time::quality;
use haloscope_time::select::Scoped;
use haloscope_time::stats::{mean, quantile};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "inference",
    label: "Inference",
    group: MenuGroup::Time,
    question: "How long do requests to a model server take, and where does their time go?",
    params: &[],
    needs: &[
        "host events of a model server (BatchingSessionRun, TfrtModelRun, ServingModelRun, SessionRun, ModelServerRequest_...), or steps marked as requests",
    ],
    reads: &[Input::Profile],
    example: "inference logs",
    also: &[],
    run: Run::Of(run),
};

/// A request or a batch with the host that served it.
struct Served<T> {
    host: HostId,
    model: String,
    what: T,
    /// Start on the run's clock, picoseconds.
    start_ps: i64,
}

fn run(asked: &Scoped<'_>, _: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let (profile, scope) = (asked.profile, &asked.scope);
    let hosts = hosts(profile, scope);
    for (asked, what) in [
        (!scope.modules.is_empty(), "modules"),
        (!scope.devices.is_empty(), "devices"),
        (scope.steps.is_some() || scope.steady, "steps"),
    ] {
        if asked {
            quality::not_used(what, notes);
        }
    }
    let (mut requests, mut batches, mut settings) = (Vec::new(), Vec::new(), Vec::new());
    let inside = |start: i64, end: i64| scope.window_ps.is_none_or(|(from, to)| start < to && end > from);
    for host in hosts {
        let base = profile.host(host).base_ps;
        let on_run = |ps: u64| i64::try_from(ps).unwrap_or(i64::MAX).saturating_add(base);
        for model in inference::of(profile, &[host]).models {
            let served = |start: u64| (host, model.name.clone(), on_run(start));
            for what in model.requests.iter().filter(|r| inside(on_run(r.start_ps), on_run(r.end_ps))) {
                let (host, model, start_ps) = served(what.start_ps);
                requests.push(Served { host, model, what: what.clone(), start_ps });
            }
            for what in model.batches.iter().filter(|b| inside(on_run(b.start_ps), on_run(b.end_ps))) {
                let (host, model, start_ps) = served(what.start_ps);
                batches.push(Served { host, model, what: what.clone(), start_ps });
            }
            settings.extend(model.batching.map(|batching| (host, model.name, batching)));
        }
    }
    if requests.is_empty() && batches.is_empty() {
        notes.add(
            "no_requests",
            Severity::Info,
            "no request of a model server was recorded in the scope",
            "latencies are unknown; for a program that is not a server, `steps` has the times",
            format!(
                "capture on the server's host with host_tracer_level 2 while it serves; in your own code, mark each request \
                 with {}: name `ModelServerRequest_NAME`, argument `_r=1`",
                fix::ANNOTATE.for_run(profile)
            ),
        );
    }
    requests.sort_by_key(|r| (r.start_ps, r.what.id));
    batches.sort_by_key(|b| (b.start_ps, b.what.id));
    let latencies = sorted(requests.iter().map(|r| r.what.duration_ps()));
    Ok(Report {
        values: values(&requests, &batches, &latencies),
        tables: vec![
            tables::percentiles(&requests, &batches),
            tables::phases(&requests),
            tables::requests(profile, &requests),
            tables::batches(profile, &batches),
            tables::settings(profile, &settings),
        ],
        series: distribution(&latencies).into_iter().collect(),
        ..Report::default()
    })
}

/// The hosts in scope; devices do not matter here, since a server's host may have none.
fn hosts(profile: &Profile, scope: &Scope) -> Vec<HostId> {
    let wanted = |name: &String| scope.hosts.is_empty() || scope.hosts.contains(name);
    let ids = (0_u32..).map(HostId).zip(&profile.hosts);
    ids.filter(|(_, h)| wanted(&h.name)).map(|(id, _)| id).collect()
}

fn sorted(times_ps: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut all: Vec<f64> = times_ps.map(|ps| ps as f64).collect();
    all.sort_by(f64::total_cmp);
    all
}

fn at(sorted: &[f64], q: f64) -> Option<f64> {
    (!sorted.is_empty()).then(|| quantile(sorted, q))
}

fn values(requests: &[Served<Request>], batches: &[Served<Batch>], latencies: &[f64]) -> Vec<Value> {
    use Status::{Derived, Measured};
    let time = |id, label, value: Option<f64>, doc| Value::new(id, label, value, Unit::Ps, Derived, doc);
    let count = |n: usize| Some(n).filter(|n| *n > 0);
    let first = requests.iter().map(|r| r.what.start_ps).min();
    let last = requests.iter().map(|r| r.what.end_ps).max();
    let span_ps = first.zip(last).map(|(a, b)| b.saturating_sub(a) as f64);
    let rate = span_ps.filter(|ps| *ps > 0.0).map(|ps| requests.len() as f64 / (ps / 1e12));
    let (size, padding) = batches.iter().fold((0_i64, 0_i64), |(size, padding), b| {
        (size.saturating_add(b.what.size.into()), padding.saturating_add(b.what.padding.into()))
    });
    vec![
        Value::new(
            "request_count",
            "Requests",
            count(requests.len()),
            Unit::Count,
            Measured,
            "Requests in the capture.",
        ),
        Value::new(
            "batch_count",
            "Batches",
            count(batches.len()),
            Unit::Count,
            Measured,
            "Batches in the capture.",
        ),
        time(
            "latency_mean_ps",
            "Latency, mean",
            mean(latencies),
            "From a request's first event to the end of its last or of its batch.",
        ),
        time("latency_p50_ps", "Latency, median", at(latencies, 0.5), "Linear between neighbours."),
        time("latency_p90_ps", "Latency, 90th percentile", at(latencies, 0.9), "Linear between neighbours."),
        time(
            "latency_p99_ps",
            "Latency, 99th percentile",
            at(latencies, 0.99),
            "Linear between neighbours; with fewer than 100 requests it is close to the longest.",
        ),
        time("latency_max_ps", "Latency, longest", latencies.last().copied(), "Longest request."),
        Value::new(
            "requests_per_second",
            "Requests a second",
            rate,
            Unit::Ratio,
            Derived,
            "Requests divided by the time from the first one's start to the last one's end.",
        ),
        Value::new(
            "batch_efficiency",
            "Batch efficiency",
            (size > 0).then(|| (size - padding) as f64 / size as f64),
            Unit::Share,
            Derived,
            "The share of all batches' slots that is not padding.",
        ),
        Value::new(
            "device_share",
            "On the device",
            phase_share(requests, |p| p.device_ps),
            Unit::Share,
            Derived,
            "Time of programs on the device as a share of the latency of all requests.",
        ),
        Value::new(
            "batch_formation_share",
            "Waiting for a batch",
            phase_share(requests, |p| p.batch_formation_ps).filter(|_| !batches.is_empty()),
            Unit::Share,
            Derived,
            "Time between a request's arrival in the queue and the start of its batch, as a share of the latency of all requests; unknown if there are no batches.",
        ),
    ]
}

fn phase_share(requests: &[Served<Request>], of: impl Fn(&Phases) -> u64) -> Option<f64> {
    let all: f64 = requests.iter().map(|r| r.what.duration_ps() as f64).sum();
    let own: f64 = requests.iter().map(|r| of(&r.what.phases) as f64).sum();
    (all > 0.0).then(|| own / all)
}

/// Latency by percentile.
fn distribution(latencies: &[f64]) -> Option<Series> {
    if latencies.len() < 2 {
        return None;
    }
    let point = |i: u32| [f64::from(i), quantile(latencies, f64::from(i) / 100.0)];
    Some(Series {
        id: "latency_by_percentile".into(),
        title: "Latency by percentile of requests".into(),
        x: ("Percentile", Unit::Count),
        y: ("Latency", Unit::Ps),
        points: (0..=100).map(point).collect(),
    })
}
