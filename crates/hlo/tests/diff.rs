//! Modules held against themselves under other names, and against what another compiler made of them.
#![expect(clippy::unwrap_used, reason = "it is test code")]

mod common;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::LazyLock,
    time::Instant,
};

use haloscope_hlo::{Alignment, Direction, Module, TextOptions, WalkOptions};

const FULL: TextOptions = TextOptions { metadata: true, async_sugar: false, ..TextOptions::LONG };

fn fixtures() -> Vec<(String, Module)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["tests/fixtures", "../../fixtures/hlo", "../../../shared/traces/hlo"] {
        if let Ok(entries) = std::fs::read_dir(root.join(folder)) {
            paths.extend(entries.map(|entry| entry.unwrap().path()));
        }
    }
    let is_module = |name: &str| name.ends_with(".gz") && !name.ends_with("buffer-assignment.txt.gz");
    paths.retain(|path| is_module(&path.to_string_lossy()));
    paths.sort();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), Module::read(&common::gunzip(path)).unwrap())).collect()
}

fn fixture(name: &str) -> Module {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hlo");
    Module::read(&common::gunzip(&root.join(format!("{name}.hlo_proto.pb.gz")))).unwrap()
}

/// A module's text in which every instruction and computation has another name, with the names of some for others.
fn renamed(module: &Module) -> String {
    let mut names: Vec<&str> = module.instructions().map(|(_, i)| i.name.as_str()).collect();
    names.extend(module.computations().map(|(_, c)| c.name.as_str()));
    names.sort_unstable();
    names.dedup();
    let count = names.len();
    let others: BTreeMap<&str, &str> =
        names.iter().enumerate().map(|(at, name)| (*name, names[(at * 7 + 3) % count])).collect();
    let is_permutation = !count.is_multiple_of(7);
    let mut out = String::new();
    let text = module.text(&FULL);
    let mut parts = text.split('%');
    out.push_str(parts.next().unwrap());
    for part in parts {
        let end = part.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c))).unwrap_or(part.len());
        match others.get(&part[..end]) {
            Some(other) if is_permutation => out.push_str(&format!("%{other}{}", &part[end..])),
            Some(_) => out.push_str(&format!("%{}.x{}", &part[..end], &part[end..])),
            None => out.push_str(&format!("%{part}")),
        }
    }
    out
}

/// Pairs that differ, and instructions that only one side has.
fn changes(a: &Module, b: &Module) -> Vec<String> {
    let alignment = Alignment::new(a, b);
    let mut found = Vec::new();
    for (index, instruction) in a.instructions() {
        match alignment.in_b(index) {
            None => found.push(format!("- {}", instruction.name)),
            Some(other) => {
                for difference in alignment.differences(index, other) {
                    found.push(format!("{}: {difference:?}", instruction.name));
                }
            }
        }
    }
    let added = b.instructions().filter(|(index, _)| alignment.in_a(*index).is_none());
    found.extend(added.map(|(_, instruction)| format!("+ {}", instruction.name)));
    found
}

#[test]
fn other_names_are_no_change() {
    let mut instructions = 0;
    for (name, module) in fixtures() {
        let other = Module::parse(&renamed(&module)).unwrap();
        let plain = Module::parse(&module.text(&FULL)).unwrap();
        let found = changes(&plain, &other);
        assert!(found.is_empty(), "{name}: {} changes, first {:?}", found.len(), found.first());
        let found = changes(&module, &module);
        assert!(found.is_empty(), "{name} against itself: {found:?}");
        instructions += module.instructions().len();
    }
    println!("{instructions} instructions matched");
    assert!(instructions > 9_000);
}

#[test]
fn one_program_for_two_chips() {
    let (a, b) = (fixture("train_step.v5e"), fixture("train_step.v5p"));
    let alignment = Alignment::new(&a, &b);
    let outside = |module: &Module| {
        let all = module.instructions();
        all.filter(|(_, i)| !module.computation(i.computation).is_fusion).count()
    };
    let pairs = alignment.pairs().filter(|(at, _)| !a.computation(a.instruction(*at).computation).is_fusion);
    println!(
        "v5e {} ({} outside of fusions), v5p {} ({}), matched {} ({})",
        a.instructions().len(),
        outside(&a),
        b.instructions().len(),
        outside(&b),
        alignment.pairs().count(),
        pairs.count()
    );
    // Entry parameters have numbers and are each other's.
    let (mine, theirs) = (a.computation(a.entry()).parameters(), b.computation(b.entry()).parameters());
    assert_eq!(mine.len(), theirs.len());
    for (mine, theirs) in mine.iter().zip(theirs) {
        assert_eq!(alignment.in_b(*mine), Some(*theirs));
    }
    for (mine, theirs) in alignment.pairs() {
        assert_eq!(a.instruction(mine).opcode_name(), b.instruction(theirs).opcode_name());
    }
}

/// A network of layers, with about 30 instructions each.
fn large(layers: usize, with_copies: bool) -> Module {
    use std::fmt::Write;
    let mut text = "HloModule large\n\nsum {\n  sa = f32[] parameter(0)\n  sb = f32[] parameter(1)\n  \
                    ROOT sc = f32[] add(sa, sb)\n}\n\n"
        .to_owned();
    let mut entry =
        "ENTRY main {\n  w = f32[128,128]{1,0} parameter(1)\n  x0 = f32[64,128]{1,0} parameter(0)\n"
            .to_owned();
    for l in 0..layers {
        write!(
            text,
            "fused{l} {{\n  pa{l} = f32[64,128]{{1,0}} parameter(0)\n  pb{l} = f32[64,128]{{1,0}} parameter(1)\n"
        )
        .unwrap();
        let mut last = format!("pa{l}");
        for (step, opcode) in ["multiply", "add", "subtract", "maximum", "multiply", "add"].iter().enumerate()
        {
            let name = format!("f{l}.{step}");
            writeln!(text, "  {name} = f32[64,128]{{1,0}} {opcode}({last}, pb{l})").unwrap();
            last = name;
        }
        writeln!(text, "  ROOT r{l} = f32[64,128]{{1,0}} negate({last})\n}}\n").unwrap();
        let at = format!("metadata={{op_name=\"jit(f)/layer_{l}/mlp/dot_general\"}}");
        let read = if with_copies && l % 100 == 50 {
            writeln!(entry, "  copy.{l} = f32[64,128]{{0,1}} copy(x{l})").unwrap();
            format!("copy.{l}")
        } else {
            format!("x{l}")
        };
        writeln!(
            entry,
            "  d{l} = f32[64,128]{{1,0}} dot({read}, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, {at}"
        )
        .unwrap();
        let mut last = format!("d{l}");
        for (step, opcode) in
            ["exponential", "tanh", "negate", "abs", "cosine", "sine", "floor", "sqrt", "sign", "log"]
                .iter()
                .enumerate()
        {
            let name = format!("u{l}.{step}");
            writeln!(entry, "  {name} = f32[64,128]{{1,0}} {opcode}({last}), {at}").unwrap();
            last = name;
        }
        let next = l + 1;
        writeln!(
            entry,
            "  x{next} = f32[64,128]{{1,0}} fusion(d{l}, {last}), kind=kLoop, calls=fused{l}, {at}"
        )
        .unwrap();
    }
    writeln!(entry, "  ROOT out = (f32[64,128]{{1,0}}) tuple(x{layers})\n}}").unwrap();
    Module::parse(&(text + &entry)).unwrap()
}

#[test]
fn copies_in_a_large_module_are_found() {
    let (a, b) = (large(1500, false), Module::parse(&renamed(&large(1500, true))).unwrap());
    assert!(a.instructions().len() > 30_000);
    let found = changes(&a, &b);
    let added = found.iter().filter(|line| line.starts_with("+ ")).count();
    let operands = found.iter().filter(|line| line.contains("Operands")).count();
    assert_eq!((added, operands, found.len()), (15, 15, 30), "{:?}", &found[..found.len().min(5)]);
}

/// Seconds that this thread has run, which other work on the machine does not change; where the system does not say, the time.
fn seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_cpu = stat.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok());
    on_cpu.map_or_else(|| START.elapsed().as_secs_f64(), |ns| ns / 1e9)
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// How long answers on a large module take; run it with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "it measures"]
fn how_long_it_takes() {
    let (a, b) = (large(1500, false), large(1500, true));
    println!("{} instructions", a.instructions().len());
    let time = |what: &str, mut run: Box<dyn FnMut() -> usize + '_>| {
        let mut best = f64::MAX;
        let mut result = 0;
        for _ in 0..5 {
            let start = seconds();
            result = run();
            best = best.min(seconds() - start);
        }
        println!("{what}: {:.2} ms ({result})", best * 1e3);
    };
    time("text, long", Box::new(|| a.text(&FULL).len()));
    time("text, short", Box::new(|| a.text(&TextOptions::SHORT).len()));
    let centre = a.instruction_by_name("x700").unwrap();
    for radius in [2, 6, 1_000_000] {
        let options = WalkOptions { direction: Direction::Both, through_calls: true, radius, limit: 500 };
        time(&format!("neighbourhood {radius}"), Box::new(|| a.neighbourhood(centre, &options).places.len()));
    }
    let all =
        WalkOptions { direction: Direction::Both, through_calls: true, radius: 1_000_000, limit: 1_000_000 };
    time("all that is connected", Box::new(|| a.neighbourhood(centre, &all).places.len()));
    let (first, last) = (a.instruction_by_name("x0").unwrap(), a.instruction_by_name("out").unwrap());
    time("path", Box::new(|| a.shortest_path(first, last, Direction::Users, true).unwrap().places.len()));
    time("alignment", Box::new(|| Alignment::new(&a, &b).pairs().count()));
}
