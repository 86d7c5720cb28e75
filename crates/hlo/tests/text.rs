//! HLO text is read back into the module that it was written from, and written again as it was.
#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "it is test code")]

mod common;

use std::{collections::BTreeMap, path::PathBuf};

use haloscope_hlo::{Error, InstructionIdx, Module, Opcode, TextOptions};

/// The long form with everything that text can say.
const FULL: TextOptions = TextOptions { metadata: true, async_sugar: false, ..TextOptions::LONG };

/// All modules that stand beside the tests and among the project's fixtures, with their names.
fn fixtures() -> Vec<(String, Module)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["tests/fixtures", "../../fixtures/hlo"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        paths.extend(entries.map(|entry| entry.unwrap().path()));
    }
    paths.retain(|path| path.to_string_lossy().ends_with(".pb.gz"));
    paths.sort();
    assert!(paths.len() > 50, "{} fixtures", paths.len());
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), Module::decode(&common::gunzip(path)).unwrap())).collect()
}

/// What can be told of an instruction without ids: names instead of indices.
fn facts(module: &Module, index: InstructionIdx) -> String {
    let instruction = module.instruction(index);
    let names = |list: &[InstructionIdx]| -> Vec<&str> {
        list.iter().map(|i| module.instruction(*i).name.as_str()).collect()
    };
    let called: Vec<&str> =
        instruction.called_computations.iter().map(|c| module.computation(*c).name.as_str()).collect();
    let mut attributes = instruction.attributes().clone();
    // Encoded, one value can be written in more than one way; in words it is the same.
    (attributes.literal, attributes.sharding) = (None, None);
    // The last field is what only text shows; some compilers write out its defaults and some do not.
    let attributes = format!("{attributes:?}");
    let (attributes, _) = attributes.split_once(", rare:").unwrap();
    format!(
        "{} {:?} {:?} {called:?} {:?} {:?} {attributes} {}",
        instruction.opcode_name(),
        instruction.shape,
        names(&instruction.operands),
        names(&instruction.control_predecessors),
        instruction.metadata,
        module.instruction_text(index, &FULL),
    )
}

/// Facts by computation and instruction.
fn all_facts(module: &Module) -> BTreeMap<(String, String), String> {
    let mut all = BTreeMap::new();
    for (index, instruction) in module.instructions() {
        let computation = module.computation(instruction.computation);
        all.insert((computation.name.clone(), instruction.name.clone()), facts(module, index));
    }
    all
}

fn assert_same(name: &str, left: &Module, right: &Module) {
    let (left_facts, right_facts) = (all_facts(left), all_facts(right));
    for (key, facts) in &left_facts {
        assert_eq!(Some(facts), right_facts.get(key), "{name}: {key:?}");
    }
    assert_eq!(left_facts.len(), right_facts.len(), "{name}");
    let root = |module: &Module| module.computation(module.entry()).name.clone();
    assert_eq!((&left.name, root(left)), (&right.name, root(right)), "{name}");
    assert_eq!(left.is_scheduled(), right.is_scheduled(), "{name}");
    for (index, computation) in left.computations() {
        let other = right.computation_by_name(&computation.name).unwrap();
        let order = |module: &Module, order: Option<&[InstructionIdx]>| -> Option<Vec<String>> {
            order.map(|order| order.iter().map(|i| module.instruction(*i).name.clone()).collect())
        };
        assert_eq!(order(left, left.schedule(index)), order(right, right.schedule(other)), "{name}");
        let twin = right.computation(other);
        assert_eq!(
            (computation.is_fusion, &computation.execution_thread, computation.parameters().len()),
            (twin.is_fusion, &twin.execution_thread, twin.parameters().len()),
            "{name}: {}",
            computation.name
        );
    }
    assert_eq!(left.stack_frames, right.stack_frames, "{name}");
    assert_eq!(left.input_output_aliases, right.input_output_aliases, "{name}");
    assert_eq!(left.buffer_donors, right.buffer_donors, "{name}");
    assert_eq!(left.frontend_attributes, right.frontend_attributes, "{name}");
    assert_eq!(left.program_shape, right.program_shape, "{name}");
    assert_eq!(left.cost_analysis().total(), right.cost_analysis().total(), "{name}");
}

fn assert_same_lines(name: &str, left: &str, right: &str) {
    for (number, (left, right)) in left.lines().zip(right.lines()).enumerate() {
        assert_eq!(left, right, "{name}: line {}", number + 1);
    }
    assert_eq!(left.lines().count(), right.lines().count(), "{name}");
}

#[test]
fn protos_survive_text() {
    for (name, module) in fixtures() {
        let text = module.text(&FULL);
        let parsed = Module::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(parsed.unread_attributes, [""; 0], "{name}");
        assert_same(&name, &module, &parsed);
    }
}

#[test]
fn text_is_written_as_it_was() {
    for (name, module) in fixtures() {
        for options in [FULL, TextOptions::LONG, TextOptions::SHORT] {
            let text = module.text(&options);
            let parsed = Module::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_same_lines(&name, &text, &parsed.text(&options));
        }
    }
}
