//! How long requests took, for servers.

use haloscope_profile::{HostId, PlaneKind, Profile};
use haloscope_serving::inference;

use crate::gviz::{Cell, DataTable, Kind};
use crate::steps::Environment;

/// Percentiles of latency that are shown.
const PERCENTILES: [f64; 5] = [50.0, 75.0, 90.0, 99.0, 99.9];

/// Picoseconds of a request: on the host, on the device, between them, in all.
type Parts = [i128; 4];

pub(super) fn table(profile: &Profile, hosts: &[HostId], environment: &Environment) -> DataTable {
    let mut table = DataTable::new(&[
        ("percentile", Kind::String, "percentile"),
        ("hostTimeMs", Kind::Number, "Host time (in ms)"),
        ("deviceTimeMs", Kind::Number, "Device time (in ms)"),
        ("communicationTimeMs", Kind::Number, "Host-device communication time (in ms)"),
        ("totalTimeMs", Kind::Number, "Total latency (in ms)"),
    ]);
    if environment.is_training || !may_serve(profile, hosts) {
        return table;
    }
    let mut requests: Vec<Parts> = Vec::new();
    for request in inference::of(profile, hosts).models.iter().flat_map(|m| &m.requests) {
        let [all, device] = [request.duration_ps(), request.phases.device_ps].map(i128::from);
        let between = i128::from(request.phases.to_device_ps) + i128::from(request.phases.from_device_ps);
        requests.push([all - device - between, device, between, all]);
    }
    requests.sort_by_key(|parts| parts[3]);
    let count = requests.len() as f64;
    let mut add = |label: String, times_ps: [f64; 4]| {
        let times = times_ps.map(|ps| Cell::Number(ps / 1e9));
        table.row(std::iter::once(label.into()).chain(times));
    };
    if !requests.is_empty() {
        let mean = |part: usize| requests.iter().map(|parts| parts[part]).sum::<i128>() as f64 / count;
        add("Avg".to_owned(), std::array::from_fn(mean));
    }
    for percentile in PERCENTILES {
        if let Some(parts) = requests.get((percentile / 100.0 * count) as usize) {
            add(format!("{percentile:.1}%"), parts.map(|ps| ps as f64));
        }
    }
    table
}

/// False where no host has an event that could be a request: then nothing has to be grouped.
fn may_serve(profile: &Profile, hosts: &[HostId]) -> bool {
    const REQUESTS: [&[u8]; 5] =
        [b"SessionRun", b"RunGraph", b"BatchingSessionRun", b"TfrtModelRun", b"ServingModelRun"];
    let mut planes = profile.planes.iter().filter(|p| p.kind == PlaneKind::Host && hosts.contains(&p.host));
    planes.any(|plane| {
        let source = profile.source_of(plane);
        let named = plane.metas.iter().any(|meta| REQUESTS.contains(&source.slice(meta.name)));
        named || plane.stat_id("_r").is_some()
    })
}
