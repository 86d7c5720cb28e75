//! The data of each mode, in XProf's shapes.

use std::collections::{BTreeMap, BTreeSet};

use haloscope_kernel::carried::Carried;
use haloscope_llo::{Allocation, Group, GroupIdx, Kind, Liveness, Module, Part, UNITS};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Bundles that `bundle_util` shows.
const SHOWN: usize = 30;
/// Opcodes that `opcodes` shows.
const TOP: usize = 20;
/// Bundles that `register_pressure` shows.
const HOTTEST: usize = 15;
/// Instructions that `spills` lists.
const LISTED: usize = 1000;

#[derive(Serialize)]
pub(super) struct Ops<'a> {
    ops: BTreeSet<&'a str>,
}

pub(super) fn ops<'a>(all: &'a [Carried<'_>]) -> Ops<'a> {
    Ops { ops: all.iter().map(Carried::op).collect() }
}

#[derive(Serialize)]
pub(super) struct Regions<'a> {
    hlo_instruction_name: &'a str,
    hlo_module_name: &'a str,
    hlo_module_id: i64,
    root: Option<Node<'a>>,
}

#[derive(Serialize)]
struct Node<'a> {
    name: &'a str,
    kind: &'static str,
    ordinal: i32,
    start_bundleno: i32,
    limit_bundleno: i32,
    num_instructions: usize,
    children: Vec<Node<'a>>,
}

pub(super) fn regions<'a>(module: &'a Module<'_>) -> Regions<'a> {
    Regions {
        hlo_instruction_name: &module.op,
        hlo_module_name: &module.module_name,
        hlo_module_id: module.module_id,
        root: module.groups.first().map(|group| node(module, 0, group)),
    }
}

/// A group as XProf shows it. Groups are nested as deep as the reader allows, and no deeper.
fn node<'a>(module: &'a Module<'_>, row: GroupIdx, group: &'a Group<'_>) -> Node<'a> {
    let (name, kind) = match (group.kind, group.part) {
        (Kind::Loop(_), _) => ("loop", "loop"),
        (Kind::Predicated, _) => ("predicated_region", "predicated_region"),
        (Kind::Region, Part::Inner) => (Part::Inner.word(), Part::Inner.word()),
        (Kind::Region, part) => (part.word(), "region"),
    };
    let children = module.children(row).filter_map(|row| Some(node(module, row, module.groups.get(row)?)));
    Node {
        name: if group.name.is_empty() { name } else { &group.name },
        kind,
        ordinal: group.ordinal,
        start_bundleno: group.first_bundle,
        limit_bundleno: group.limit_bundle,
        num_instructions: group.own_instructions,
        children: children.collect(),
    }
}

/// The path of a bundle's region; of one without a region nothing.
fn path(module: &Module<'_>, bundle: i64) -> String {
    module.region_of(bundle).map(|row| module.path(row)).unwrap_or_default()
}

pub(super) fn bundles(module: &Module<'_>, first: i64) -> Value {
    let all = module.bundles();
    let first = usize::try_from(first).unwrap_or(0).min(all);
    let last = first.saturating_add(SHOWN).min(all);
    let shown: Vec<Value> = (first..last).map(|bundle| one_bundle(module, bundle)).collect();
    json!({
        "hlo_instruction_name": module.op,
        "hlo_module_name": module.module_name,
        "hlo_module_id": module.module_id,
        "total_bundles": all,
        "shown_bundles": shown.len(),
        "truncated": shown.len() < all,
        "bundles": shown,
    })
}

fn one_bundle(module: &Module<'_>, bundle: usize) -> Value {
    let utilization = &module.utilization;
    let mut cells = Map::new();
    cells.insert("bundle".into(), json!(bundle));
    cells.insert("semantics".into(), json!(super::SEMANTICS));
    cells.insert("region_path".into(), json!(path(module, bundle as i64)));
    for unit in UNITS {
        cells.insert(format!("{}_used", unit.word()), json!(utilization.used(unit, bundle)));
        cells.insert(format!("{}_avail", unit.word()), json!(utilization.unit(unit).capacity));
    }
    let of = |list: &[u32]| list.get(bundle).copied().unwrap_or(0);
    cells.insert("spill".into(), json!(of(&utilization.spills)));
    cells.insert("fill".into(), json!(of(&utilization.fills)));
    let (used, capacity) = utilization.share(bundle);
    cells.insert("util_pct".into(), json!((100 * used).checked_div(capacity).unwrap_or(0)));
    Value::Object(cells)
}

#[derive(Serialize)]
pub(super) struct Opcodes<'a> {
    hlo_instruction_name: &'a str,
    total_instructions: usize,
    top_opcodes: Vec<OpcodeCount>,
    categories: Vec<CategoryCount>,
}

#[derive(Serialize)]
struct OpcodeCount {
    opcode: String,
    count: usize,
    category: &'static str,
}

#[derive(Serialize)]
struct CategoryCount {
    category: &'static str,
    count: usize,
}

pub(super) fn opcodes<'a>(module: &'a Module<'_>) -> Opcodes<'a> {
    let mut by_opcode = BTreeMap::new();
    let mut by_category = BTreeMap::new();
    for instruction in &module.instructions {
        *by_opcode.entry(instruction.opcode).or_insert(0_usize) += 1;
        *by_category.entry(instruction.opcode.category().word()).or_insert(0_usize) += 1;
    }
    let mut top: Vec<OpcodeCount> = by_opcode
        .into_iter()
        .map(|(opcode, count)| OpcodeCount {
            opcode: name(opcode),
            count,
            category: opcode.category().word(),
        })
        .collect();
    top.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.opcode.cmp(&b.opcode)));
    top.truncate(TOP);
    let mut categories: Vec<CategoryCount> =
        by_category.into_iter().map(|(category, count)| CategoryCount { category, count }).collect();
    categories.sort_by_key(|one| std::cmp::Reverse(one.count));
    Opcodes {
        hlo_instruction_name: &module.op,
        total_instructions: module.instructions.len(),
        top_opcodes: top,
        categories,
    }
}

/// XProf's name of an opcode.
pub(super) fn name(opcode: haloscope_llo::Opcode) -> String {
    format!("OPCODE_{}", opcode.name())
}

#[derive(Serialize)]
pub(super) struct Registers<'a> {
    hlo_instruction_name: &'a str,
    total_live_ranges: usize,
    peak_by_register_type: BTreeMap<String, u32>,
    hottest_bundles: Vec<Hot>,
}

#[derive(Serialize)]
struct Hot {
    bundle: u32,
    region: String,
    total_live: u64,
    by_type: BTreeMap<String, u32>,
}

pub(super) fn registers<'a>(module: &'a Module<'_>) -> Registers<'a> {
    let words = |counts: &BTreeMap<haloscope_llo::RegisterType, u32>| {
        counts.iter().map(|(kind, count)| (kind.word(), *count)).collect::<BTreeMap<_, _>>()
    };
    let live = Liveness::new(module);
    let mut stretches = live.values();
    let peak_by_register_type = words(&live.value_peaks());
    stretches.sort_by_key(|stretch| (std::cmp::Reverse(stretch.total()), stretch.first));
    // Stretches of one total may lie between each other's bundles only if they do not overlap: in order they stay.
    let bundles =
        stretches.iter().flat_map(|stretch| (stretch.first..=stretch.last).map(move |b| (b, stretch)));
    let hottest_bundles = bundles.take(HOTTEST).map(|(bundle, stretch)| Hot {
        bundle,
        region: path(module, i64::from(bundle)),
        total_live: stretch.total(),
        by_type: words(&stretch.by_type),
    });
    Registers {
        hlo_instruction_name: &module.op,
        total_live_ranges: live.ranges.len(),
        hottest_bundles: hottest_bundles.collect(),
        peak_by_register_type,
    }
}

pub(super) fn spills(module: &Module<'_>) -> Value {
    let listed: Vec<Value> =
        module.constants.iter().filter_map(|c| c.allocation.as_ref()).map(allocation).collect();
    let unique = module.allocations();
    let bytes = |only_spills: bool| -> i64 {
        let counted = unique.values().filter(|a| !only_spills || a.is_spill);
        counted.fold(0, |sum, a| sum.saturating_add(a.bytes))
    };
    let of_vectors = |list: &[u32]| list.iter().map(|count| u64::from(*count)).sum::<u64>();
    let for_want_of_registers = || module.instructions.iter().filter_map(|i| Some((i, module.spill(i)?)));
    let instructions: Vec<Value> = for_want_of_registers()
        .take(LISTED)
        .map(|(instruction, kind)| {
            let bundle = instruction.bundle;
            json!({
                "instruction_id": instruction.id,
                "opcode": name(instruction.opcode),
                "kind": kind.word(),
                "bundle": bundle,
                "region": bundle.map(|bundle| path(module, i64::from(bundle))),
            })
        })
        .collect();
    json!({
        "hlo_instruction_name": module.op,
        "summary": {
            "num_allocations": unique.len(),
            "num_spill_allocations": unique.values().filter(|a| a.is_spill).count(),
            "num_scoped_allocations": unique.values().filter(|a| a.is_scoped).count(),
            "total_allocation_bytes": bytes(false),
            "total_spill_bytes": bytes(true),
            "static_spill_bundles": of_vectors(&module.utilization.spills),
            "static_fill_bundles": of_vectors(&module.utilization.fills),
            "num_spill_fill_instructions": for_want_of_registers().count(),
        },
        "allocations": listed,
        "spill_fill_instructions": instructions,
    })
}

fn allocation(it: &Allocation) -> Value {
    json!({
        "ordinal": it.ordinal,
        "size": it.bytes,
        "space": it.space.number(),
        "is_spill": it.is_spill,
        "is_scoped": it.is_scoped,
        "is_virtual": it.is_virtual,
        "is_remote": it.is_remote,
    })
}

/// The compiler writes no interlock codes: the shape, and nothing in it.
pub(super) fn stalls(module: &Module<'_>) -> Value {
    json!({
        "hlo_instruction_name": module.op,
        "total_annotated_instructions": 0,
        "code_histogram": {},
        "instructions": [],
    })
}

pub(super) fn target(module: &Module<'_>) -> Value {
    let mut fields = Map::new();
    if let Some(target) = &module.target {
        let bounds = |[x, y, z]: [i64; 3]| format!("x={x}, y={y}, z={z}");
        fields.insert("replica_count".into(), json!(target.replica_count));
        fields.insert("reserved_hbm_usage_bytes".into(), json!(target.reserved_hbm_bytes));
        fields.insert("chip_config_name".into(), json!(target.chip_config_name));
        if !target.variant.is_empty() {
            fields.insert("variant".into(), json!(target.variant));
        }
        fields.insert("platform_type".into(), json!(target.platform_type));
        fields.insert("enhanced_barrier_enabled".into(), json!(target.enhanced_barrier));
        fields.insert("chips_per_host_bounds".into(), json!(bounds(target.chips_per_host)));
        fields.insert("host_bounds".into(), json!(bounds(target.hosts)));
    }
    json!({
        "hlo_instruction_name": module.op,
        "has_target_arguments": module.target.is_some(),
        "key_fields": fields,
        "catalog_only_fields": [
            "mxus / xlus per tensor core",
            "VMEM / SMEM / CMEM sizes",
            "tensor-core and HBM frequencies",
            "HBM capacity per chip",
            "tensor cores / sparse cores per chip",
        ],
    })
}

pub(super) fn sources(module: &Module<'_>, bundle: i64) -> Value {
    let infos = module.infos();
    let mut lines = BTreeSet::new();
    if let Some(map) = &module.source_map {
        let inside =
            module.instructions.iter().zip(&infos).filter(|(i, _)| i.bundle.map(i64::from) == Some(bundle));
        let of_bundle = inside.filter_map(|(_, info)| map.infos.get((*info)? as usize));
        lines.extend(of_bundle.filter_map(|info| map.line_of(info)));
    }
    json!({
        "hlo_instruction_name": module.op,
        "bundle": bundle,
        "region_path": path(module, bundle),
        "sources": lines,
        "frames": lines,
    })
}
