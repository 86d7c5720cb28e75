//! Modules of real and simulated profiles: everything decodes, and agrees with what the profile says. The profiles are not
//! part of the project; without them these tests say so and pass.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the helpers of a test are test code, and a skipped test says so"
)]

mod common;

use std::{collections::BTreeMap, path::PathBuf};

use common::wire::{Field, fields};
use haloscope_hlo::{Cost, CostAnalysis, CostOptions, Module, Opcode, Shape};

/// The folder of profiles, or `None` with a printed reason.
fn traces() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: no profiles at {}", path.display());
    None
}

/// All profiles below a folder of the traces, in order of path.
fn profiles(traces: &std::path::Path, kind: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![traces.join(kind)];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else if path.to_string_lossy().ends_with(".xplane.pb") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no profiles of kind {kind}");
    found
}

/// An instruction as the profile describes it: the stats of its event metadata.
#[derive(Debug, Default)]
struct Described {
    name: String,
    numbers: BTreeMap<String, u64>,
    category: Option<String>,
}

/// Modules by program id, and what device planes say about instructions.
#[derive(Default)]
struct Profile {
    modules: Vec<(String, Vec<u8>)>,
    described: Vec<Described>,
}

/// A map entry: its numeric key, and its fields.
fn entry<'a>(field: &Field<'a>) -> (u64, Vec<Field<'a>>) {
    let parts = fields(field.bytes);
    (parts.iter().find(|f| f.number == 1).map_or(0, |f| f.value), parts)
}

fn read(path: &std::path::Path) -> Profile {
    let bytes = std::fs::read(path).unwrap();
    let mut profile = Profile::default();
    for plane in fields(&bytes).iter().filter(|f| f.number == 1) {
        let plane = fields(plane.bytes);
        let text = |field: &Field<'_>| String::from_utf8_lossy(field.bytes).into_owned();
        let plane_name = plane.iter().find(|f| f.number == 2).map(text).unwrap_or_default();
        let mut stat_names = BTreeMap::new();
        for field in plane.iter().filter(|f| f.number == 5) {
            let (key, parts) = entry(field);
            let value = parts.iter().find(|f| f.number == 2).map(|f| fields(f.bytes)).unwrap_or_default();
            stat_names.insert(key, value.iter().find(|f| f.number == 2).map(text).unwrap_or_default());
        }
        for field in plane.iter().filter(|f| f.number == 4) {
            let (_, parts) = entry(field);
            let metadata = parts.iter().find(|f| f.number == 2).map(|f| fields(f.bytes)).unwrap_or_default();
            let mut described = Described::default();
            let name = metadata.iter().find(|f| f.number == 2).map(text).unwrap_or_default();
            described.name = name.trim_start_matches('%').split(' ').next().unwrap_or("").to_owned();
            for stat in metadata.iter().filter(|f| f.number == 5) {
                let stat = fields(stat.bytes);
                let id = stat.iter().find(|f| f.number == 1).map_or(0, |f| f.value);
                let stat_name = stat_names.get(&id).cloned().unwrap_or_default();
                for value in &stat {
                    match (value.number, stat_name.as_str()) {
                        (6, "Hlo Proto") => profile.modules.push((name.clone(), value.bytes.to_vec())),
                        (3 | 4, _) => drop(described.numbers.insert(stat_name.clone(), value.value)),
                        (5, "hlo_category") => described.category = Some(text(value)),
                        (7, "hlo_category") => described.category = stat_names.get(&value.value).cloned(),
                        _ => {}
                    }
                }
            }
            if plane_name.starts_with("/device:TPU") && described.category.is_some() {
                profile.described.push(described);
            }
        }
    }
    profile
}

/// Everything that can be asked of a module, so that nothing panics unseen.
fn ask_everything(name: &str, bytes: &[u8]) -> Module {
    let module = Module::decode(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    let analysis = module.cost_analysis();
    for (index, instruction) in module.instructions() {
        assert!(!module.category(instruction).is_empty(), "{name} {}", instruction.name);
        assert_eq!(module.instruction_by_name(&instruction.name), Some(index), "{name}");
        for user in module.users(index) {
            assert!(module.instruction(*user).operands.contains(&index), "{name}");
        }
        assert!(!instruction.shape.to_string().is_empty());
        assert!(analysis.instruction(index).is_complete() || instruction.opcode.name().is_some(), "{name}");
    }
    let reached = module.reachable_computations(module.entry());
    assert!(!reached.is_empty() && reached.len() <= module.computations().len());
    module
}

#[test]
fn dumped_modules_decode() {
    let Some(traces) = traces() else { return };
    for (kind, scheduled) in [("before", false), ("after", true)] {
        let name = format!("maxtext-train-step.h100-4.{kind}_optimizations.hlo.pb.gz");
        let module = ask_everything(&name, &common::gunzip(&traces.join("hlo").join(&name)));
        assert_eq!(module.is_scheduled(), scheduled, "{name}");
        assert_eq!(module.buffer_assignment.is_some(), scheduled, "{name}");
        assert!(module.cost_analysis().total().flops.unwrap() > 1_000_000_000_000, "{name}");
    }
}

#[test]
fn embedded_modules_decode() {
    let Some(traces) = traces() else { return };
    let mut count = 0;
    for kind in ["real", "forged"] {
        for path in profiles(&traces, kind) {
            for (name, bytes) in read(&path).modules {
                let module = ask_everything(&name, &bytes);
                let launched = name.split('(').next().unwrap();
                assert_eq!(module.name, launched, "{}", path.display());
                assert!(module.buffer_assignment.is_some_and(|b| !b.allocations.is_empty()), "{name}");
                count += 1;
            }
        }
    }
    assert!(count > 50, "{count} modules");
}

#[test]
fn real_tpu_profiles_say_the_same() {
    let Some(traces) = traces() else { return };
    for path in profiles(&traces, "real/v6e-four-chips") {
        let profile = read(&path);
        let modules: Vec<Module> =
            profile.modules.iter().map(|(_, bytes)| Module::decode(bytes).unwrap()).collect();
        let mut seen = 0;
        for described in &profile.described {
            // Which module an instruction is from hardly matters here: the few modules share no long names.
            let found = modules.iter().find_map(|m| m.instruction_by_name(&described.name).map(|i| (m, i)));
            let Some((module, index)) = found else { continue };
            let category = module.category(module.instruction(index));
            assert_eq!(Some(category), described.category.as_deref(), "{}", described.name);
            let cost = CostAnalysis::new(module, CostOptions::default()).instruction(index);
            let Cost { flops: Some(flops), bytes_accessed: Some(bytes), .. } = cost else {
                panic!("{described:?}")
            };
            assert_eq!(flops, described.numbers["flops"], "{}", described.name);
            // The profile leaves scalars in scalar memory out.
            let said = described.numbers["bytes_accessed"];
            assert!(bytes.abs_diff(said) <= 16, "{}: {bytes} bytes, the profile says {said}", described.name);
            seen += 1;
        }
        assert!(seen > 20, "{seen} instructions");
    }
}

#[test]
fn categories_of_simulated_profiles() {
    let Some(traces) = traces() else { return };
    let (mut same, mut differing) = (0, BTreeMap::<(String, String), u32>::new());
    for path in profiles(&traces, "forged") {
        let profile = read(&path);
        let modules: Vec<Module> =
            profile.modules.iter().map(|(_, bytes)| Module::decode(bytes).unwrap()).collect();
        for described in &profile.described {
            let found = modules.iter().find_map(|m| m.instruction_by_name(&described.name).map(|i| (m, i)));
            let (Some((module, index)), Some(said)) = (found, &described.category) else { continue };
            let category = module.category(module.instruction(index)).to_owned();
            if category == *said {
                same += 1;
            } else {
                *differing.entry((said.clone(), category)).or_default() += 1;
            }
        }
    }
    // The simulation names copies on its asynchronous lines itself, and calls what it offloads to SparseCore by its name.
    let known = [("async-copy", "copy-start"), ("custom-call", "async-start")];
    differing.retain(|(said, ours), _| !known.contains(&(said.as_str(), ours.as_str())));
    assert!(differing.is_empty(), "(profile, ours): {differing:?}");
    assert!(same > 10_000, "{same} the same");
}

/// The compiler's own FLOPs of whole programs, loops counted once, which the simulation wrote down.
#[test]
fn flops_of_large_tpu_programs_are_the_compilers() {
    let Some(traces) = traces() else { return };
    let mut seen = 0;
    for path in profiles(&traces, "forged") {
        // <name>/plugins/profile/run/<host>.xplane.pb, with <name>/truth.json beside.
        let truth = path.ancestors().nth(4).unwrap().join("truth.json");
        let truth: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(truth).unwrap()).unwrap();
        for (name, bytes) in read(&path).modules {
            let Some(flops) = truth["modules"][&name]["xla_cost_analysis_flops"].as_f64() else { continue };
            let total = Module::decode(&bytes).unwrap().cost_analysis().total();
            let ours = total.flops.unwrap() as f64;
            assert!((ours / flops - 1.0).abs() < 1e-6, "{name}: {ours} FLOPs, the compiler says {flops}");
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen} modules");
}

/// A GPU's matrix products are library calls; their dimensions are in the backend's JSON.
#[test]
fn library_calls_on_gpu_are_counted() {
    let Some(traces) = traces() else { return };
    let mut seen = 0;
    for path in profiles(&traces, "real/mi300-attention") {
        for (name, bytes) in read(&path).modules {
            let module = Module::decode(&bytes).unwrap();
            let analysis = module.cost_analysis();
            for (index, call) in module.instructions().filter(|(_, i)| i.opcode == Opcode::CustomCall) {
                if call.attributes().custom_call_target.as_deref() != Some("__cublas$gemm") {
                    continue;
                }
                // Without batch dimensions, lhs = m*k, rhs = k*n and result = m*n give mnk = sqrt(lhs * rhs * result).
                let elements = |shape: &Shape| shape.leaves()[0].element_count().unwrap() as f64;
                let operands = call.operands.iter().take(2).map(|idx| &module.instruction(*idx).shape);
                let shapes: Vec<&Shape> = operands.chain([&call.shape]).collect();
                if shapes.iter().any(|shape| shape.leaves()[0].dimensions.len() != 2) {
                    continue;
                }
                let products = shapes.iter().map(|shape| elements(shape)).product::<f64>().sqrt();
                assert_eq!(analysis.instruction(index).flops, Some(2 * products as u64), "{name}");
                seen += 1;
            }
        }
    }
    assert!(seen > 0);
}
