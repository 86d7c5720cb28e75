//! The tables of models, requests, batches and tensors.

use haloscope_serving::inference::{Batch, Model, Request};

use super::average;
use crate::gviz::{Cell, DataTable, Kind};

const N: Kind = Kind::Number;
const S: Kind = Kind::String;

fn ms(ps: u64) -> Cell {
    Cell::Number(ps as f64 / 1e9)
}

pub(super) fn models(models: &[Model], batching: bool) -> DataTable {
    let mut table = DataTable::new(&[("model_name", S, "Model Name")]);
    table.prop("hasBatching", batching.to_string());
    // XProf says so whether or not there is a table of tensors.
    table.prop("hasTensorPattern", "false");
    for model in models {
        table.row([model.name.as_str().into()]);
    }
    table
}

/// What a row is about, in words.
struct Heading<'a> {
    percentile: String,
    id: &'a str,
    throughput: &'a str,
}

pub(super) fn requests(model: &Model, shown: &[(&Request, f64)], batching: bool) -> DataTable {
    let head =
        [("percentile", S, "Percentile"), ("request_id", S, "Request ID"), ("latency_ms", N, "Latency")];
    let of_batching = [
        ("batching_request_size", N, "Request size"),
        ("host_batch_formation", N, "Host batch formation"),
        ("throughput", S, "Throughput"),
    ];
    let rest = [
        ("host_preprocessing", N, "Host preprocess"),
        ("host_runtime", N, "Host runtime"),
        ("data_transfer_h2d", N, "Data transfer H2D"),
        ("data_transfer_d2h", N, "Data transfer D2H"),
        ("device_compute", N, "Device compute"),
        ("host_postprocess", N, "Host postprocess"),
        ("idle time", N, "Idle time"),
        ("trace_viewer_url", S, "Trace Viewer URL"),
    ];
    let of_batching = if batching { &of_batching[..] } else { &[] };
    let mut table = DataTable::new(&[&head[..], of_batching, &rest[..]].concat());
    let spans = model.requests.iter().map(|r| (r.start_ps, r.end_ps));
    let (throughput, latency_us) = average::throughput_and_latency_us(spans);
    table.prop("throughput", format!("{throughput:.1}"));
    table.prop("averageLatencyMs", format!("{:.3}", latency_us / 1e3));
    let mut add = |request: &Request, heading: &Heading<'_>| {
        let mut row: Vec<Cell> =
            vec![heading.percentile.as_str().into(), heading.id.into(), ms(request.duration_ps())];
        if batching {
            row.push(Cell::Number(f64::from(request.batching_size)));
            row.push(ms(request.batching_delay_ps));
            row.push(heading.throughput.into());
        }
        let p = &request.phases;
        let times =
            [p.preprocess_ps, p.runtime_ps, p.to_device_ps, p.from_device_ps, p.device_ps, p.postprocess_ps];
        row.extend(times.map(ms));
        row.extend([ms(p.idle_ps), "".into()]);
        table.row(row);
    };
    for (request, percentile) in shown {
        let id = request.id.to_string();
        add(request, &Heading { percentile: format!("{percentile:.3}"), id: &id, throughput: "N/A" });
    }
    for of_size in average::by_size(model) {
        let rate = of_size.requests as f64 * throughput / model.requests.len() as f64;
        let percentile = format!("Batch size {}", of_size.size);
        add(&of_size.request, &Heading { percentile, id: "N/A", throughput: &decimal(rate) });
    }
    let mean = average::request(model.requests.iter());
    let rate = decimal(throughput);
    add(&mean, &Heading { percentile: "Average".to_owned(), id: "N/A", throughput: &rate });
    table
}

/// One decimal; no number as C++ prints the one that 0 / 0 gives.
fn decimal(value: f64) -> String {
    if value.is_nan() { "-nan".to_owned() } else { format!("{value:.1}") }
}

pub(super) fn batches(model: &Model, shown: &[(&Batch, f64)]) -> DataTable {
    let mut table = DataTable::new(&[
        ("percentile", S, "Percentile"),
        ("batch_id", S, "Batch ID"),
        ("latency", N, "Latency"),
        ("padding_amount", N, "Padding amount"),
        ("batch_size_after_padding", N, "Batch size after padding"),
        ("batching_efficiency", N, "Batching efficiency"),
        ("batching_delay_us", N, "Batching delay"),
        ("throughput", S, "Throughput"),
        ("device_compute", N, "Device compute"),
        ("program_id", S, "Program ID(s)"),
        ("trace_viewer_url", S, "Trace Viewer URL"),
    ]);
    let spans = model.batches.iter().map(|b| (b.start_ps, b.end_ps));
    let (throughput, latency_us) = average::throughput_and_latency_us(spans);
    let mut add = |(batch, efficiency): (&Batch, f64), heading: &Heading<'_>, programs: &str, link: &str| {
        table.row([
            heading.percentile.as_str().into(),
            heading.id.into(),
            ms(batch.duration_ps()),
            Cell::Number(f64::from(batch.padding)),
            Cell::Number(f64::from(batch.size)),
            Cell::Number(efficiency),
            ms(batch.delay_ps),
            heading.throughput.into(),
            ms(batch.device_ps),
            programs.into(),
            link.into(),
        ]);
    };
    for (batch, percentile) in shown {
        let id = batch.id.to_string();
        let heading = Heading { percentile: format!("{percentile:.3}"), id: &id, throughput: "N/A" };
        add((batch, batch.efficiency()), &heading, &programs(batch), "");
    }
    for of_size in average::by_size(model) {
        let rate = decimal(of_size.batches as f64 * throughput / model.batches.len() as f64);
        let percentile = format!("Batch size {}", of_size.size);
        let heading = Heading { percentile, id: "N/A", throughput: &rate };
        let (batch, efficiency) = &of_size.batch;
        add((batch, *efficiency), &heading, &programs(batch), "");
    }
    let rate = decimal(throughput);
    let heading = Heading { percentile: "Aggregated".to_owned(), id: "N/A", throughput: &rate };
    let (mean, efficiency) = average::batch(model.batches.iter());
    add((&mean, efficiency), &heading, "N/A", "N/A");
    table.prop("throughput", rate);
    table.prop("averageLatencyMs", format!("{:.3}", latency_us / 1e3));
    table.prop("hasBatchingParam", model.batching.is_some().to_string());
    if let Some(batching) = &model.batching {
        table.prop("batchingParamNumBatchThreads", batching.threads.to_string());
        table.prop("batchingParamMaxBatchSize", batching.max_size.to_string());
        table.prop("batchingParamBatchTimeoutMicros", batching.timeout_us.to_string());
        table.prop("batchingParamMaxEnqueuedBatches", batching.max_waiting.to_string());
        table.prop("batchingParamAllowedBatchSizes", batching.allowed_sizes.clone());
    }
    table
}

fn programs(batch: &Batch) -> String {
    if batch.programs.is_empty() {
        return "N/A".to_owned();
    }
    batch.programs.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

/// How long tensors of each shape and layout took, by percentile.
pub(super) fn tensors(model: &Model, patterns: &[String]) -> DataTable {
    const PERCENTILES: [f64; 6] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9];
    let mut table = DataTable::new(&[
        ("id", N, "ID"),
        ("tensor_pattern", S, "Tensor Pattern"),
        ("count", N, "Number of Occurrence"),
        ("percentile", S, "Linearize/Delinearize latency"),
    ]);
    let all = model.requests.iter().filter_map(|r| r.tensors.as_ref());
    let all: Vec<_> = all.chain(model.batches.iter().filter_map(|b| b.tensors.as_ref())).collect();
    let mut id = 0;
    for (at, pattern) in patterns.iter().enumerate() {
        let mut times: Vec<u64> = all.iter().filter(|t| t.pattern == at).map(|t| t.duration_ps).collect();
        if times.is_empty() {
            continue;
        }
        times.sort_unstable();
        let text = PERCENTILES.map(|percentile| {
            let place = (percentile / 100.0 * times.len() as f64) as usize;
            let ps = times.get(place).copied().unwrap_or(0);
            format!("{percentile:.2}%: {:.6}ms", ps as f64 / 1e9)
        });
        let count = Cell::Number(times.len() as f64);
        table.row([Cell::Number(f64::from(id)), pattern.as_str().into(), count, text.join("<br>").into()]);
        id += 1;
    }
    table
}
