//! Averages of requests and batches, in whole picoseconds as XProf divides them.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use haloscope_serving::inference::{Batch, Model, Phases, Request};

/// How many a second, from the first start to the last end, and how long one takes on average, in microseconds.
pub(super) fn throughput_and_latency_us(spans: impl Iterator<Item = (u64, u64)>) -> (f64, f64) {
    let (mut count, mut first, mut last, mut total) = (0_u64, u64::MAX, 0, 0_u64);
    for (start, end) in spans {
        count += 1;
        first = first.min(start);
        last = last.max(end);
        total += end.saturating_sub(start);
    }
    if count == 0 {
        return (0.0, 0.0);
    }
    let count = count as f64;
    (count / ((last - first) as f64 / 1e12), total as f64 / 1e6 / count)
}

/// The average request; its times start at 0. All zero where there is none.
pub(super) fn request<'a>(all: impl Iterator<Item = &'a Request>) -> Request {
    let (mut count, mut sum) = (0, Request::default());
    for request in all {
        count += 1;
        sum.end_ps += request.duration_ps();
        sum.batching_delay_ps = sum.batching_delay_ps.wrapping_add(request.batching_delay_ps);
        sum.batching_size = sum.batching_size.wrapping_add(request.batching_size);
        for (to, from) in fields(&mut sum.phases).into_iter().zip(fields(&mut request.phases.clone())) {
            *to += *from;
        }
    }
    if let Some(count) = NonZeroU64::new(count) {
        sum.end_ps /= count;
        sum.batching_delay_ps /= count;
        sum.batching_size /= count.get() as i32;
        fields(&mut sum.phases).into_iter().for_each(|part| *part /= count);
    }
    sum
}

fn fields(phases: &mut Phases) -> [&mut u64; 8] {
    let Phases {
        idle_ps,
        preprocess_ps,
        postprocess_ps,
        batch_formation_ps,
        runtime_ps,
        to_device_ps,
        from_device_ps,
        device_ps,
    } = phases;
    [
        idle_ps,
        preprocess_ps,
        postprocess_ps,
        batch_formation_ps,
        runtime_ps,
        to_device_ps,
        from_device_ps,
        device_ps,
    ]
}

/// The average batch; likewise. It has all programs that any of them ran. Beside it the share of all of them together that
/// is not padding.
pub(super) fn batch<'a>(all: impl Iterator<Item = &'a Batch>) -> (Batch, f64) {
    let (mut count, mut sum) = (0, Batch::default());
    for batch in all {
        count += 1;
        sum.end_ps += batch.duration_ps();
        sum.delay_ps = sum.delay_ps.wrapping_add(batch.delay_ps);
        sum.padding = sum.padding.wrapping_add(batch.padding);
        sum.size = sum.size.wrapping_add(batch.size);
        sum.device_ps += batch.device_ps;
        for program in &batch.programs {
            if !sum.programs.contains(program) {
                sum.programs.push(*program);
            }
        }
    }
    let efficiency = sum.efficiency();
    if let Some(count) = NonZeroU64::new(count) {
        sum.end_ps /= count;
        sum.delay_ps /= count;
        sum.padding /= count.get() as i32;
        sum.size /= count.get() as i32;
        sum.device_ps /= count;
    }
    (sum, efficiency)
}

/// Averages over the batches of one size, and over the requests in them.
pub(super) struct OfSize {
    pub(super) size: i32,
    pub(super) request: Request,
    pub(super) requests: usize,
    pub(super) batch: (Batch, f64),
    pub(super) batches: usize,
}

/// Averages by the size of batches, ascending. A request in several batches counts in each.
pub(super) fn by_size(model: &Model) -> Vec<OfSize> {
    let mut sizes: BTreeMap<i32, (Vec<&Request>, Vec<&Batch>)> = BTreeMap::new();
    let by_id: BTreeMap<i64, &Batch> = model.batches.iter().map(|b| (b.id, b)).collect();
    for request in &model.requests {
        for batch in request.batches.iter().filter_map(|id| by_id.get(id)) {
            sizes.entry(batch.size).or_default().0.push(request);
        }
    }
    for batch in &model.batches {
        sizes.entry(batch.size).or_default().1.push(batch);
    }
    let of_size = |(size, (requests, batches)): (i32, (Vec<&Request>, Vec<&Batch>))| OfSize {
        size,
        request: request(requests.iter().copied()),
        requests: requests.len(),
        batch: batch(batches.iter().copied()),
        batches: batches.len(),
    };
    sizes.into_iter().map(of_size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_whole() {
        let all =
            [10, 15].map(|end_ps| Request { start_ps: 4, end_ps, batching_size: 3, ..Request::default() });
        let mean = request(all.iter());
        assert_eq!((mean.start_ps, mean.end_ps, mean.batching_size), (0, 8, 3));
        assert_eq!(request(std::iter::empty()), Request::default());
        let (rate, latency) =
            throughput_and_latency_us([(0, 500_000_000_000), (0, 1_000_000_000_000)].into_iter());
        assert_eq!((rate, latency), (2.0, 750_000.0));
    }
}
