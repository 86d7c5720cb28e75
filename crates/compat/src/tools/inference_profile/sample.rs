//! Which requests and batches are shown: all of a few, and of many those around some percentiles.

use haloscope_serving::inference::{Batch, Request};

use crate::{Error, Params};

/// What rows are sorted by: whole numbers first.
type Key<T> = fn(&T) -> (i128, f64);

/// Percentiles, and how far above them a row may stand.
const BANDS: [(f64, f64); 6] =
    [(50.0, 1.0), (75.0, 1.0), (90.0, 1.0), (99.0, 0.5), (99.9, 0.05), (99.99, 0.005)];
/// Rows of one band.
const ROOM: usize = 10;

fn whole(value: impl Into<i128>) -> (i128, f64) {
    (value.into(), 0.0)
}

/// The columns by which requests can be chosen, by their headings.
const REQUESTS: [(&str, Key<Request>); 12] = [
    ("Latency", |r| whole(r.duration_ps())),
    ("Request delay for batching", |r| whole(r.batching_delay_ps)),
    ("Request size", |r| whole(r.batching_size)),
    ("Host preprocess", |r| whole(r.phases.preprocess_ps)),
    ("Host batch formation", |r| whole(r.phases.batch_formation_ps)),
    ("Host runtime", |r| whole(r.phases.runtime_ps)),
    ("Data transfer H2D", |r| whole(r.phases.to_device_ps)),
    ("Data transfer D2H", |r| whole(r.phases.from_device_ps)),
    ("Device compute", |r| whole(r.phases.device_ps)),
    ("Host postprocess", |r| whole(r.phases.postprocess_ps)),
    ("Idle time", |r| whole(r.phases.idle_ps)),
    ("latency", |r| whole(r.duration_ps())),
];

/// Those by which batches can be chosen.
const BATCHES: [(&str, Key<Batch>); 6] = [
    ("Latency", |b| whole(b.duration_ps())),
    ("Batching delay", |b| whole(b.delay_ps)),
    ("Padding amount", |b| whole(b.padding)),
    ("Batch size after padding", |b| whole(b.size)),
    ("Batching efficiency", |b| (0, b.efficiency())),
    ("latency", |b| whole(b.duration_ps())),
];

fn key<T>(params: &Params, name: &str, keys: &[(&'static str, Key<T>)]) -> Result<Key<T>, Error> {
    let words: Vec<&str> = keys.iter().map(|(word, _)| *word).collect();
    let word = params.choice(name, &words)?;
    let found = keys.iter().find(|(known, _)| *known == word);
    found.map(|(_, key)| *key).ok_or_else(|| Error::Internal(format!("`{name}`: no key of `{word}`")))
}

pub(super) fn request_key(params: &Params) -> Result<Key<Request>, Error> {
    key(params, "request_column", &REQUESTS)
}

pub(super) fn batch_key(params: &Params) -> Result<Key<Batch>, Error> {
    key(params, "batch_column", &BATCHES)
}

/// The rows to show, with their percentiles.
pub(super) fn rows<T>(all: &[T], key: Key<T>) -> Vec<(&T, f64)> {
    let mut sorted: Vec<&T> = all.iter().collect();
    sorted.sort_by(|a, b| {
        let ((a, x), (b, y)) = (key(a), key(b));
        a.cmp(&b).then(x.total_cmp(&y))
    });
    let percentile = |i: usize| 100.0 * i as f64 / sorted.len() as f64;
    if sorted.len() <= BANDS.len() * ROOM {
        return sorted.iter().enumerate().map(|(i, row)| (*row, percentile(i))).collect();
    }
    let mut chosen = Vec::new();
    for (from, width) in BANDS {
        let first = first_from(sorted.len(), |i| percentile(i) >= from);
        let rows = (first..sorted.len()).take_while(|i| percentile(*i) < from + width).take(ROOM);
        chosen.extend(rows.map(|i| (sorted[i], percentile(i))));
    }
    chosen
}

/// The first of `0..count` that holds, where all behind it do; `count` if none does.
fn first_from(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(count: u64) -> Vec<Request> {
        (0..count).map(|i| Request { end_ps: 1000 - i, ..Request::default() }).collect()
    }

    #[test]
    fn a_few_are_all_shown() {
        let all = requests(60);
        let shown = rows(&all, REQUESTS[0].1);
        assert_eq!((shown.len(), shown[0].0.end_ps, shown[59].1), (60, 941, 100.0 * 59.0 / 60.0));
        assert_eq!(rows(&requests(0), REQUESTS[0].1).len(), 0);
    }

    #[test]
    fn of_many_some_around_each_percentile() {
        let all = requests(1000);
        let shown: Vec<f64> = rows(&all, REQUESTS[0].1).into_iter().map(|(_, p)| p).collect();
        // Ten in each band of 1 point, five in half a point, one at 99.9 and none between that and the end.
        assert_eq!(shown.len(), 10 + 10 + 10 + 5 + 1);
        assert_eq!((shown[0], shown[10], shown[35]), (50.0, 75.0, 99.9));
    }
}
