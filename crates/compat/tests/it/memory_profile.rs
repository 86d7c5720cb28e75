//! `memory_profile`. The numbers are those that XProf 2.24.2 gives for the same bytes.

use haloscope_xspace::write::{Event, EventMetadata, Line, Plane, Space, Stat, StatMetadata, Value};
use serde_json::{Value as Json, json};

use crate::support::{ask, made, open, refused};

const STATS: [&str; 14] = [
    "allocator_name",
    "bytes_reserved",
    "bytes_allocated",
    "bytes_available",
    "fragmentation",
    "peak_bytes_in_use",
    "requested_bytes",
    "allocation_bytes",
    "addr",
    "tf_op",
    "region_type",
    "data_type",
    "shape",
    "group_id",
];

/// What an event says beside the allocator's account.
#[derive(Default)]
struct Told {
    op: Option<(&'static str, &'static str, i64, &'static str)>,
    group: Option<i64>,
}

/// An event at a time in ns: `sizes` are allocated, available, peak, requested, given and the address.
fn event(at_ns: i64, is_release: bool, fragmentation: f64, sizes: [i64; 6], told: &Told) -> Event {
    let mut event = Event::at(if is_release { 2 } else { 1 }, at_ns * 1000, 10);
    let mut add = |name: &str, value| {
        let metadata_id = STATS.iter().position(|stat| *stat == name).unwrap() as i64 + 1;
        event.stats.push(Stat { metadata_id, value });
    };
    let [allocated, available, peak, requested, given, address] = sizes;
    add("allocator_name", Value::Str("HBM".to_owned()));
    add("bytes_reserved", Value::Int(64));
    add("bytes_allocated", Value::Int(allocated));
    add("bytes_available", Value::Int(available));
    add("fragmentation", Value::Double(fragmentation));
    add("peak_bytes_in_use", Value::Int(peak));
    add("requested_bytes", Value::Int(requested));
    add("allocation_bytes", Value::Int(given));
    add("addr", Value::Int(address));
    if let Some((op, region, data_type, shape)) = told.op {
        add("tf_op", Value::Str(op.to_owned()));
        add("region_type", Value::Str(region.to_owned()));
        add("data_type", Value::Int(data_type));
        add("shape", Value::Str(shape.to_owned()));
    }
    if let Some(group) = told.group {
        add("group_id", Value::Int(group));
    }
    event
}

/// Two threads that share an allocator. The profiler grouped the events, but not all of them.
fn two_threads() -> Space {
    let of = |op, group| Told { op: Some(op), group };
    let in_step = |group| Told { op: None, group: Some(group) };
    let weights = of(("weights", "persist/dynamic", 1, "[125]"), Some(0));
    let matmul = of(("matmul", "temp", 14, "[10,50]"), Some(0));
    let bias = of(("bias", "output", 3, "[]"), Some(1));
    let conv = of(("conv", "temp", 1, "[256]"), None);
    let mut first = Line::new(1, "a");
    first.events = vec![
        event(100, false, 0.0, [512, 9488, 512, 500, 512, 4096], &weights),
        event(200, false, 0.125, [1536, 8464, 1536, 1000, 1024, 8192], &matmul),
        event(300, true, 0.25, [512, 9488, 1536, 1000, 1024, 8192], &in_step(0)),
        event(400, false, 0.25, [768, 9232, 1536, 250, 256, 8192], &bias),
        event(600, true, 0.5, [512, 9488, 1536, 250, 256, 8192], &Told::default()),
    ];
    let mut second = Line::new(2, "b");
    second.events = vec![
        event(350, false, 0.25, [1536, 8464, 1536, 1024, 1024, 16384], &conv),
        event(500, true, 0.5, [512, 9488, 1536, 1024, 1024, 16384], &in_step(1)),
        event(700, true, 0.5, [512, 9488, 1536, 9, 16, 99999], &in_step(1)),
    ];
    (first.timestamp_ns, second.timestamp_ns) = (1000, 1000);
    let meta = |(id, name): (i64, &str)| {
        (id, EventMetadata { id, name: name.to_owned(), ..EventMetadata::default() })
    };
    let stat = |(index, name): (usize, &&str)| {
        let id = index as i64 + 1;
        (id, StatMetadata { id, name: (*name).to_owned(), ..StatMetadata::default() })
    };
    let plane = Plane {
        id: 1,
        name: "/host:CPU".to_owned(),
        lines: vec![first, second],
        event_metadata: [(1, "MemoryAllocation"), (2, "MemoryDeallocation")].map(meta).to_vec(),
        stat_metadata: STATS.iter().enumerate().map(stat).collect(),
        ..Plane::default()
    };
    Space { planes: vec![plane], ..Space::default() }
}

/// A field of the activities of a list of snapshots.
fn field(snapshots: &Json, name: &str) -> Json {
    snapshots.as_array().unwrap().iter().map(|s| s["activityMetadata"][name].clone()).collect()
}

#[test]
fn allocations_of_two_threads_are_one_timeline() {
    let answer = ask(&made(&two_threads()), "memory_profile", &[]);
    assert_eq!((&answer["memoryIds"], &answer["numHosts"]), (&json!(["HBM"]), &json!(1)));
    let hbm = &answer["memoryProfilePerAllocator"]["HBM"];
    let timeline = &hbm["sampledTimelineSnapshots"];
    let times: Json = timeline.as_array().unwrap().iter().map(|s| s["timeOffsetPs"].clone()).collect();
    let expected =
        ["100000", "200000", "300000", "350000", "400000", "500000", "600000", "700000"].map(Json::from);
    assert_eq!(times, Json::from(expected.to_vec()));
    // What is in no step is in the one after the last seen, and a release is named after its allocation.
    assert_eq!(field(timeline, "stepId"), json!(["0", "0", "0", "1", "1", "1", "2", "1"]));
    let names = json!(["weights", "matmul", "matmul", "conv", "bias", "conv", "bias", ""]);
    assert_eq!(field(timeline, "tfOpName"), names);
    let types = json!(["float", "bfloat16", "bfloat16", "float", "int32", "float", "int32", ""]);
    assert_eq!(field(timeline, "dataType"), types);
}

/// The last of equal peaks counts, in the order of threads; what nobody allocated while the profiler watched is one entry.
#[test]
fn peak_and_what_fills_it() {
    let answer = ask(&made(&two_threads()), "memory_profile", &[]);
    let hbm = &answer["memoryProfilePerAllocator"]["HBM"];
    let summary = json!({
        "peakBytesUsageLifetime": "1536",
        "peakStats": {
            "stackReservedBytes": "64",
            "heapAllocatedBytes": "1536",
            "freeMemoryBytes": "8464",
            "fragmentation": 0.25,
            "peakBytesInUse": "1600",
        },
        "peakStatsTimePs": "350000",
        "memoryCapacity": "10064",
    });
    assert_eq!(hbm["profileSummary"], summary);
    assert_eq!(field(&hbm["memoryProfileSnapshots"], "tfOpName"), json!(["conv"]));
    let active = json!([
        { "snapshotIndex": "0", "specialIndex": "-1", "numOccurrences": "1" },
        { "snapshotIndex": "-1", "specialIndex": "0", "numOccurrences": "1" },
        { "snapshotIndex": "-2", "specialIndex": "1", "numOccurrences": "1" },
    ]);
    assert_eq!(hbm["activeAllocations"], active);
    let special: Vec<_> = hbm["specialAllocations"].as_array().unwrap().iter().collect();
    assert_eq!(
        special.iter().map(|s| (&s["tfOpName"], &s["allocationBytes"])).collect::<Vec<_>>(),
        [(&json!("unused preallocated device memory"), &json!("512")), (&json!("stack"), &json!("64"))]
    );
}

#[test]
fn hosts_without_allocators_have_only_modules() {
    assert_eq!(
        ask(&open("cpu-train"), "memory_profile", &[]),
        json!({ "memoryProfilePerAllocator": {}, "numHosts": 1, "memoryIds": [], "version": 1, "hloModules": [] })
    );
    let answer = ask(&open("tpu-decode"), "memory_profile", &[]);
    let modules = answer["hloModules"].as_array().unwrap();
    assert_eq!(modules.len(), 3);
    let last = json!({
        "name": "jit_decode(9646411105960254074)",
        "startTimePs": "8616533750",
        "endTimePs": "9374895000",
        "id": "2",
        "planeName": "TPU:0",
    });
    assert_eq!(modules[2], last);
}

#[test]
fn needs_the_host_tracer() {
    let error = refused(&made(&Space::default()), "memory_profile", &[]);
    assert!(error.to_string().contains("/host:CPU"), "{error}");
}
