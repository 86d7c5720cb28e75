//! Damaged and malicious HLO text: an error or a module, never a panic, a hang or a deep recursion.
#![expect(clippy::unwrap_used, reason = "it is test code")]

mod common;

use std::time::Duration;

use haloscope_hlo::{Error, Module, TextOptions};

const FULL: TextOptions = TextOptions { metadata: true, ..TextOptions::LONG };

/// Reads, writes and reads again what can be read.
fn survive(text: &str) -> bool {
    match Module::parse(text) {
        Ok(module) => {
            let _ = (module.cost_analysis().total(), module.text(&FULL), module.text(&TextOptions::SHORT));
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            if let Error::Text { line, column, .. } = error {
                assert!((1..=text.lines().count() + 1).contains(&line) && column >= 1);
            }
            false
        }
    }
}

fn small() -> String {
    Module::decode(&common::gunzip(&common::fixture("matmul.tpu.hlo.pb.gz"))).unwrap().text(&FULL)
}

#[test]
fn every_prefix() {
    let text = small();
    assert!(survive(&text));
    for length in 0..text.len() {
        if let Some(prefix) = text.get(..length) {
            survive(prefix);
        }
    }
}

#[test]
fn random_damage() {
    // A fixed sequence (xorshift), so that a failure can be had again.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    let marks = b"{}()[]<>=,:;\"'\\%#*/?-+.x_0179TSEab \n\xc3";
    let mut survived = 0;
    for name in ["conv_gradients.cpu", "scan.tpu", "all_reduce.tpu", "gather.cpu"] {
        let module = Module::decode(&common::gunzip(&common::fixture(&format!("{name}.hlo.pb.gz")))).unwrap();
        let text = module.text(&FULL).into_bytes();
        for _ in 0..1500 {
            let mut damaged = text.clone();
            let at = random() % damaged.len();
            match random() % 3 {
                0 => damaged[at] = marks[random() % marks.len()],
                1 => damaged.insert(at, marks[random() % marks.len()]),
                _ => drop(damaged.drain(at..(at + random() % 9).min(text.len()))),
            }
            survived += u32::from(survive(&String::from_utf8_lossy(&damaged)));
        }
    }
    assert!(survived > 100, "{survived} damaged texts can still be read");
}

#[test]
fn nothing_is_nested_deeply() {
    let deep = 200_000;
    for (open, close) in [("(", ")"), ("b(", ")"), ("{", "}"), ("[", "]")] {
        for before in [
            "HloModule m, entry_computation_layout={(",
            "HloModule m, unknown=",
            "HloModule m\nENTRY e { a = ",
            "HloModule m\nENTRY e { a = f32[] constant(",
            "HloModule m\nENTRY e { a = f32[] iota(), sharding=",
            "HloModule m\nENTRY e { a = f32[] iota(), origin={",
            "HloModule m\nENTRY e { a = f32[] iota(), metadata={x=",
            "HloModule m\nENTRY e { a = f32[] custom-call(), literal=",
            "HloModule m\nENTRY e { a = f32[] iota(), backend_config=",
        ] {
            survive(&format!("{before}{}", open.repeat(deep)));
            survive(&format!("{before}{}{}", open.repeat(deep), close.repeat(deep)));
        }
    }
    // As many dimensions as there are braces.
    let dims = vec!["1"; deep].join(",");
    let open = "{".repeat(deep);
    let close = "}".repeat(deep);
    survive(&format!("HloModule m\nENTRY e {{ a = s8[{dims}] constant({open}1{close}) }}"));
}

/// How long this thread has run, not counting what others took meanwhile; nothing where the system does not say.
fn busy() -> Duration {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(said.split(' ').next().and_then(|nanoseconds| nanoseconds.parse().ok()).unwrap_or(0))
}

/// Work grows with the length of the text: each of these takes milliseconds, and would take minutes if it were squared.
#[test]
fn long_texts_take_time_in_proportion() {
    let many = 100_000;
    let entry = |body: &str| format!("HloModule m\nENTRY e {{ a = f32[] constant(0)\n{body} }}");
    let numbered = |one: &dyn Fn(usize) -> String| (0..many).map(one).collect::<String>();
    for text in [
        entry(&numbered(&|i| format!("i{i} = f32[] negate(a)\n"))),
        entry(&numbered(&|i| {
            format!("i{i} = f32[] negate({})\n", if i == 0 { "a".into() } else { format!("i{}", i - 1) })
        })),
        entry(&format!("t = f32[] tuple({})", "a, ".repeat(many))),
        entry(&format!("t = f32[] tuple(a){}", ", unknown={1}".repeat(many))),
        entry(&format!("t = f32[] tuple(a), control-predecessors={{{}}}", "a, ".repeat(many))),
        entry(&format!("t = f32[] fusion(a), calls={}", "e, ".repeat(many))),
        entry(&format!("t = f32[{many}] constant({{{}}})", "1, ".repeat(many))),
        entry(&format!("t = (f32[]{}) tuple()", ", f32[]".repeat(many))),
        entry(&format!("t = f32[] iota(), sharding={{{}}}", "{replicated}, ".repeat(many))),
        entry(&format!(
            "t = f32[] iota(), sharding={{mesh[{}], [{{x}}]}}",
            numbered(&|i| format!("x{i}=2,"))
        )),
        entry(&"/*".repeat(many)),
        entry(&"/**/".repeat(many)),
        entry(&"\"\\".repeat(many)),
        entry(&format!("t = f32[] iota(), x={}", "{\"".repeat(many))),
        format!("HloModule m\n{}", numbered(&|i| format!("c{i} {{ a = f32[] constant(0) }}\n"))),
        format!("HloModule m\nFileNames\n{}", numbered(&|i| format!("{i} \"f\"\n"))),
        "HloModule ".to_owned() + &"m".repeat(many),
        "\n".repeat(many),
    ] {
        let start = busy();
        survive(&text);
        let took = busy().saturating_sub(start);
        assert!(took < Duration::from_secs(5), "{took:?}: {}", text.get(..80).unwrap_or_default());
    }
}
