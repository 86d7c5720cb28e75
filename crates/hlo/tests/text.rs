//! HLO text is read back into the module that it was written from, and written again as it was.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "it is test code")]

mod common;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

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
    let mut called: Vec<&str> =
        instruction.called_computations.iter().map(|c| module.computation(*c).name.as_str()).collect();
    // Text, and newer compilers, say at the start only what an asynchronous operation runs.
    if matches!(instruction.opcode, Opcode::AsyncUpdate | Opcode::AsyncDone) {
        called.clear();
    }
    let mut attributes = instruction.attributes().clone();
    // Encoded, one value can be written in more than one way; in words it is the same.
    (attributes.literal, attributes.sharding) = (None, None);
    // The last field is what only text shows; some compilers write out its defaults and some do not.
    let attributes = format!("{attributes:?}");
    let (attributes, _) = attributes.split_once(", rare:").unwrap();
    // XLA leaves out what says nothing about the source.
    let metadata = instruction.metadata.as_ref().filter(|m| {
        let texts = [&m.op_type, &m.op_name, &m.source_file, &m.scheduling_name];
        texts.iter().any(|text| text.is_some()) || m.stack_frame_id.is_some()
    });
    format!(
        "{} {:?} {:?} {called:?} {:?} {:?} {attributes} {}",
        instruction.opcode_name(),
        instruction.shape,
        names(&instruction.operands),
        names(&instruction.control_predecessors),
        metadata,
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

/// The folder of profiles, or `None` with a printed reason.
fn traces() -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: no profiles at {}", path.display());
    None
}

/// All files below a folder whose name passes, in order of path.
fn files(root: &Path, passes: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let (mut found, mut todo) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else if passes(&path.file_name().unwrap().to_string_lossy()) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Text of real compilers: XLA's dumps, and what XProf shows of a module.
#[test]
fn recorded_text_is_written_as_it_was() {
    let Some(traces) = traces() else { return };
    let dump = TextOptions { large_constants: false, ..FULL };
    let mut seen = 0;
    for (ending, options) in [
        (".after_optimizations.txt.gz", dump),
        (".long_txt.gz", TextOptions { former_queues: false, ..TextOptions::LONG }),
        (".short_txt.gz", TextOptions { former_queues: false, ..TextOptions::SHORT }),
    ] {
        for path in files(&traces, &|name| name.ends_with(ending)) {
            let text = String::from_utf8(common::gunzip(&path)).unwrap();
            if !Module::is_text(text.as_bytes()) {
                // Some answers are that there is no such module.
                continue;
            }
            let name = path.display().to_string();
            let parsed = Module::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(parsed.unread_attributes, [""; 0], "{name}");
            assert_same_lines(&name, text.trim_end(), parsed.text(&options).trim_end());
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen} texts");
}

#[test]
fn modules_of_profiles_survive_text() {
    let Some(traces) = traces() else { return };
    let mut seen = 0;
    for path in files(&traces, &|name| name.ends_with(".hlo.pb.gz")) {
        let module = Module::decode(&common::gunzip(&path)).unwrap();
        let text = module.text(&FULL);
        let parsed = Module::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_same(&path.display().to_string(), &module, &parsed);
        assert_same_lines(&path.display().to_string(), &text, &parsed.text(&FULL));
        seen += 1;
    }
    for path in files(&traces, &|name| name.ends_with(".xplane.pb")) {
        for (name, bytes) in common::modules(&std::fs::read(&path).unwrap()) {
            let name = format!("{}: {name}", path.display());
            let module = Module::decode(&bytes).unwrap();
            let text = module.text(&FULL);
            let parsed = Module::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_same(&name, &module, &parsed);
            assert_same_lines(&name, &text, &parsed.text(&FULL));
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen} modules");
}

/// What an error says of a text.
fn refusal(text: &str) -> String {
    let error = Module::parse(text).map(|module| module.text(&FULL)).unwrap_err();
    assert!(matches!(error, Error::Text { .. }), "{error}");
    error.to_string()
}

#[test]
fn errors_name_the_place_and_what_was_expected() {
    for (text, said) in [
        ("", "line 1, column 1: expected HloModule, found the end of the text"),
        ("{\"a\": 1}", r#"line 1, column 1: expected HloModule, found "{\"a\": 1}""#),
        ("HloModule m\n", "line 2, column 1: expected the name of a computation, found the end of the text"),
        (
            "HloModule m\nENTRY e {\n  ROOT x = f32[2] negate(y)\n}",
            "line 3, column 26: expected the name of an instruction above in this computation, found \"y)\"",
        ),
        (
            "HloModule m\nENTRY e {\n  ROOT x = f32[2] call(), to_apply=%f\n}",
            "line 3, column 36: expected the name of a computation of this module, found \"%f\"",
        ),
        (
            "HloModule m\nENTRY e {\n  x = f33[2] iota()\n}",
            "line 3, column 7: expected a shape, found \"f33[2] iota()\"",
        ),
        (
            "HloModule m\nENTRY e {\n  x = s8[] constant(300)\n}",
            "line 3, column 21: expected an integer from -128 to 127, found \"300)\"",
        ),
        (
            "HloModule m\nENTRY e {\n  x = s32[2,2] constant({{1,2},{3}})\n}",
            "line 3, column 34: expected 2 values before this, not 1, found \"}})\"",
        ),
        (
            "HloModule m\nENTRY e {\n  x = f32[] iota(), dimensions={1;2}\n}",
            "line 3, column 34: expected an integer, found \";2}\"",
        ),
        (
            "HloModule m\nENTRY e {\n  x = f32[] iota()\n  x = f32[] iota()\n}",
            "line 4, column 3: expected a name that no other instruction of the computation has, found \"x = f32[] iota()\"",
        ),
        (
            "HloModule m\nENTRY e { }",
            "line 2, column 7: expected a computation with instructions, found \"e { }\"",
        ),
        ("HloModule m, is_scheduled=maybe", "line 1, column 27: expected true or false, found \"maybe\""),
        (
            "HloModule m\nENTRY e {\n  x = f32[] iota(), metadata={op_name=\"open}\n}",
            "line 3, column 39: expected text in quotes that ends, found \"\\\"open}\"",
        ),
    ] {
        assert_eq!(refusal(text), said, "{text}");
    }
}

#[test]
fn what_is_not_known_is_passed_over_and_named() {
    let text = "HloModule m, new_thing={a={1,2}, b=\"}\"}\n\nENTRY e {\n  \
                ROOT x = f32[2]{0} brand-new(), twist=1.5x, knob={[0:1]}, sharding={replicated}\n}, colour=red\n";
    let module = Module::parse(text).unwrap();
    assert_eq!(module.unread_attributes, ["colour", "knob", "new_thing", "twist"]);
    let root = module.instruction(module.computation(module.entry()).root);
    assert_eq!((root.opcode, root.opcode_name()), (Opcode::Other, "brand-new"));
    assert!(root.attributes().sharding.is_some());
}

/// The computation behind `all-gather-start` and the like is made up, with what the line says of it.
#[test]
fn asynchronous_operations_on_one_line() {
    let text = "HloModule m, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}\n\n\
        ENTRY %e (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n  \
        %s = ((f32[8]{0}), f32[8]{0}, u32[]) custom-call-start(%p), async_execution_thread=\"x\", \
        custom_call_target=\"f\", output_to_operand_aliasing={{}: (0, {})}, frontend_attributes={a=\"1\"}\n  \
        %u = ((f32[8]{0}), f32[8]{0}, u32[]) custom-call-update(%s)\n  \
        ROOT %d = f32[8]{0} custom-call-done(%u)\n}\n\n";
    let module = Module::parse(text).unwrap();
    assert_eq!(module.text(&TextOptions::LONG), text);
    let start = module.instruction(module.instruction_by_name("s").unwrap());
    assert_eq!((start.opcode, start.called_computations.len()), (Opcode::AsyncStart, 1));
    let called = module.computation(start.called_computations[0]);
    let call = module.instruction(called.root);
    assert_eq!(call.attributes().custom_call_target.as_deref(), Some("f"));
    assert_eq!((call.shape.to_string(), called.parameters().len()), ("f32[8]{0}".to_owned(), 1));
    assert_eq!(called.execution_thread.as_deref(), Some("x"));
}

/// Each form of constant, window, sharding and group that no fixture has.
#[test]
fn rare_forms_are_written_as_they_were() {
    for line in [
        "pred[2]{0} constant({1, 0})",
        "pred[] constant(true)",
        "c64[2]{0} constant({(1, -0), (nan, 2.5)})",
        "f32[3]{0} constant({inf, -nan, nan(0x1)})",
        "bf16[2,2]{0,1} constant({ { 1, 2 }, { 3, 4 } })",
        "s4[3]{0:E(4)} constant({-8, 0, 7})",
        "u64[] constant(18446744073709551615)",
        "f8e4m3fn[2]{0} constant({448, -nan})",
        "f32[2,0]{1,0} constant({ {}, {} })",
        "f32[1,2,1,2]{3,2,1,0} constant({ { /*i0=0*/ { /*i1=0*/ { 1, 2 } }, { /*i1=1*/ { 3, 4 } } } })",
        "(f32[], (s32[2]{0}, pred[])) constant(( 1, ( {1, 2}, false ) ))",
        "f32[9]{0} iota(), iota_dimension=0, sharding={devices=[2,2]0,2,1,3 last_tile_dims={manual}}",
        "f32[9]{0} iota(), iota_dimension=0, sharding={{maximal device=3}, {manual}, {unknown shard_as 5}}",
        "f32[9]{0} iota(), iota_dimension=0, sharding={mesh['a'=2,'b'=4], [{'a'}, {'b':(1)2, ?}], replicated={'b':(2)2}}",
        "f32[9]{0} iota(), iota_dimension=0, frontend_attributes={a=\"b\",c={\"d\":\"}\"}}",
        "f32[9]{0} iota(), iota_dimension=0, statistics={visualizing_index=0,hits=1.5}",
        "f32[9]{0} iota(), iota_dimension=0, origin={{\"x\" {1,0}}}",
        "token[] after-all()",
    ] {
        let text = format!(
            "HloModule m, entry_computation_layout={{()->f32[]}}\n\nENTRY %e () -> f32[] {{\n  %a = {line}\n  \
             ROOT %r = f32[] constant(0)\n}}\n\n"
        );
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{line}: {error}"));
        let again = module.instruction_text(module.instruction_by_name("a").unwrap(), &FULL);
        assert_eq!(again, format!("%a = {line}"));
    }
}

#[test]
fn comments_quotes_and_order_do_not_matter() {
    let text = "// a dump\n/* of */ HloModule jit_f.1, entry_computation_layout={(f32[2]{0})->f32[2]{0}} \n\n\
        add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, f32[] %b) }\n\
        main { // the last one runs where none is marked\n p = f32[2]{0} parameter(0)\n z = f32[] constant(0)\n\
        r = f32[] reduce(p, /*index=1*/z), to_apply=add, dimensions={0}, control-predecessors={after}\n\
        after = f32[] negate(z)\n ROOT o = f32[2]{0} broadcast(r), dimensions={} }";
    let module = Module::parse(text).unwrap();
    assert_eq!(module.name, "jit_f.1");
    assert_eq!(module.computation(module.entry()).name, "main");
    let reduce = module.instruction(module.instruction_by_name("r").unwrap());
    assert_eq!(module.instruction(reduce.control_predecessors[0]).name, "after");
    assert_eq!(module.cost_analysis().instruction(module.instruction_by_name("r").unwrap()).flops, Some(1));
}
