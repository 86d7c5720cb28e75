//! `megascale_stats`. The numbers are those of XProf 2.24.2 for the same profile.

use std::io::Read;

use haloscope_compat::{Params, answer, offered};
use haloscope_profile::Profile;
use haloscope_xspace::wire::{Fields, Value as Wire};
use haloscope_xspace::write::Value;
use serde_json::json;

use crate::planes::{Planned, US, space, words};
use crate::support::{ask, made, row};

fn message(fields: &[(u32, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    let varint = |out: &mut Vec<u8>, mut value: usize| {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    };
    for (number, bytes) in fields {
        varint(&mut out, (*number as usize) << 3 | 2);
        varint(&mut out, bytes.len());
        out.extend_from_slice(bytes);
    }
    out
}

fn uint(number: u32, value: u8) -> Vec<u8> {
    let tag = number << 3;
    if tag < 0x80 { vec![tag as u8, value] } else { vec![tag as u8 | 0x80, (tag >> 7) as u8, value] }
}

/// f32[4096], u32[], token[] and a tuple of shapes.
fn array() -> Vec<u8> {
    [uint(2, 11), message(&[(3, &[0x80, 0x20]), (5, &message(&[(1, &[0])]))])].concat()
}

fn tuple(parts: &[&[u8]]) -> Vec<u8> {
    let parts: Vec<_> = parts.iter().map(|part| (4, *part)).collect();
    [uint(2, 13), message(&parts)].concat()
}

fn op(id: u8, name: &str, opcode: &str, shape: &[u8], operands: &[u8], more: &[u8]) -> Vec<u8> {
    let head = message(&[(1, name.as_bytes()), (2, opcode.as_bytes()), (3, shape), (36, operands)]);
    [head, uint(35, id), more.to_vec()].concat()
}

/// A module that sends and receives one array.
fn module() -> Vec<u8> {
    let token = uint(2, 17);
    let attribute = |key: &str, value: &str| message(&[(1, key.as_bytes()), (2, value.as_bytes())]);
    let attributes = message(&[
        (1, &attribute("_xla_host_transfer_rendezvous", "collective.1")),
        (1, &attribute("_xla_megascale_transfer_type", "ALL_REDUCE")),
    ]);
    let done = [uint(26, 3), uint(47, 1)].concat();
    let start = [done.clone(), message(&[(68, &attributes)])].concat();
    let context = [uint(2, 8), message(&[(5, &[])])].concat();
    let sending = tuple(&[&array(), &context, &token]);
    let ops = [
        op(1, "data.0", "parameter", &array(), &[], &[]),
        op(2, "after.0", "after-all", &token, &[], &[]),
        op(3, "send.0", "send", &sending, &[1, 2], &start),
        op(4, "send-done.0", "send-done", &token, &[3], &done),
        op(5, "recv.0", "recv", &sending, &[2], &start),
        op(6, "recv-done.0", "recv-done", &tuple(&[&array(), &token]), &[5], &done),
    ];
    let ops: Vec<_> = ops.iter().map(|op| (2, op.as_slice())).collect();
    let body = [message(&[(1, b"main".as_slice())]), message(&ops), uint(5, 1), uint(6, 6)].concat();
    let module = message(&[(1, b"jit_f".as_slice()), (2, b"main".as_slice()), (3, &body)]);
    message(&[(1, &[module, uint(5, 7), uint(6, 1)].concat())])
}

pub(crate) fn sliced(heard: bool) -> Profile {
    let mut metadata = Planned::new("/host:metadata", &[]);
    metadata.meta(7, "jit_f(7)", &[("Hlo Proto", Value::Bytes(module()))]);
    let mut device = Planned::new("/device:TPU:0", &[("device_type_string", words("TPU v4"))]);
    device.line(1, "XLA Modules", 0);
    device.event("jit_f(7)", (0, 200 * US), &[("run_id", Value::Uint(1))]);
    device.line(2, "XLA Ops", 0);
    let member = message(&[(1, [].as_slice())]);
    let group = message(&[(2, [member.clone(), member.clone(), member.clone(), member].concat().as_slice())]);
    for (name, start, quarters) in
        [("send.0", 100, 8), ("recv.0", 103, 6), ("send-done.0", 120, 16), ("recv-done.0", 150, 121)]
    {
        let category = format!("host {}", name.trim_end_matches(".0"));
        let meta = [("hlo_category", words(&category)), ("dcn_collective_info", Value::Bytes(group.clone()))];
        let long =
            format!("%{name} = x, frontend_attributes={{_xla_host_transfer_rendezvous=\"collective_1\"}}");
        device.op(&long, name, (start * US, quarters * US / 4), &meta, &[("_p", Value::Int(1))]);
    }
    let mut graphs = Planned::new("/device:CUSTOM:Megascale Trace", &[]);
    graphs.line(1, "graph", 0);
    let key = ("graph_key", words("device_200000_gid_collective_1$1^i0"));
    let size = ("input_size", Value::Int(4096));
    graphs.event("device_200000_gid_collective_1", (101 * US, 60 * US), &[key.clone(), size]);
    graphs.event("DeviceToHost START", (102 * US, 0), &[key.clone(), ("action_index", Value::Int(0))]);
    let mut host = Planned::new("/host:CPU", &[]);
    host.line(1, "main", 0).event(if heard { "MegaScale: Barrier." } else { "f" }, (0, US), &[]);
    made(&space(vec![metadata, device, graphs, host]))
}

#[test]
fn slack_of_a_collective() {
    let tables = ask(&sliced(true), "megascale_stats", &[]);
    let expected = json!([
        "collective.1",
        "recv-done.0",
        "send.0",
        "ALL_REDUCE",
        0.042,
        "-",
        0.08,
        0.002,
        0.004,
        0.0,
        0.03,
        0.037,
        0.037,
        1.0,
        24576.0,
        4.681_142_857_142_857
    ]);
    assert_eq!(json!(row(&tables[0], 0)), expected);
    assert_eq!(tables[0]["rows"][0]["c"][14]["f"], "24.0K");
}

#[test]
fn no_messages_no_rows() {
    let profile = sliced(false);
    assert_eq!(ask(&profile, "megascale_stats", &[])[0]["rows"], json!([]));
    assert!(!offered(&profile).any(|t| t.id == "megascale_stats"));
    assert!(offered(&sliced(true)).any(|t| t.id == "megascale_stats"));
}

fn texts(bytes: &[u8], path: &[u32]) -> Vec<String> {
    let [number, rest @ ..] = path else { return vec![String::from_utf8_lossy(bytes).into_owned()] };
    let inner = Fields::new(bytes, 0).filter(|f| f.number == *number);
    inner.flat_map(|f| if let Wire::Bytes(b) = f.value { texts(b, rest) } else { Vec::new() }).collect()
}

#[test]
fn tracks_of_a_perfetto_trace() {
    let params: Params = [("perfetto", "true")].into_iter().collect();
    let found = answer(&sliced(true), "megascale_stats", &params).unwrap();
    assert_eq!(found.content_type, "application/octet-stream");
    let mut raw = Vec::new();
    flate2::read::GzDecoder::new(found.body.as_slice()).read_to_end(&mut raw).unwrap();
    let tracks = texts(&raw, &[1, 60, 2]);
    assert_eq!(
        tracks,
        [
            "1. Global Counters",
            "Megascale",
            "Inflight Collectives",
            "Inflight Collective Payload",
            "2. TPUs",
            "/device:TPU:0",
            "2. XLA Modules",
            "3. XLA Ops",
            "Megascale",
            "collective_1 (200000)"
        ]
    );
    let names = texts(&raw, &[1, 12, 2, 2]);
    assert_eq!(names[..3], ["jit_f(7)", "send.0", "recv.0"]);
    let keys = texts(&raw, &[1, 12, 3, 2]);
    assert!(keys.contains(&"flow_out".to_owned()) && !keys.contains(&"_p".to_owned()), "{keys:?}");
}
