//! `graph_viewer`. Texts, numbers and names are those that XProf 2.24.2 gives for the same bytes.

use haloscope_compat::{Error, answer};
use haloscope_profile::load;
use serde_json::json;

use crate::support::{ask, open, refused, text};

const DECODE: (&str, &str) = ("module_name", "jit_decode(9646411105960254074)");
const STEP: (&str, &str) = ("module_name", "jit_train_step(38)");

/// FNV-1a of 64 bits.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[test]
fn modules_as_text() {
    for (run, module, kind, len, fingerprint) in [
        ("tpu-decode", DECODE.1, "short_txt", 114_466, 0x6e5c_c544_984b_9b76),
        ("tpu-decode", DECODE.1, "long_txt", 123_185, 0xd960_4878_171a_3ddd),
        ("tpu-decode", DECODE.1, "pbtxt", 1_000_020, 0x775b_176f_3552_72c7),
        ("cpu-train", STEP.1, "short_txt", 62_749, 0xeccd_f702_707a_9202),
        ("cpu-train", STEP.1, "long_txt", 72_683, 0xee29_83a2_71ed_85c7),
        ("cpu-train", STEP.1, "pbtxt", 756_333, 0x7f70_c02a_2019_9452),
        ("gpu-train", "jit_convolution", "long_txt", 43_763, 0x7ea9_3cc2_b024_3ccb),
    ] {
        let answer = text(&open(run), "graph_viewer", &[("module_name", module), ("type", kind)]);
        assert_eq!((answer.len(), hash(&answer)), (len, fingerprint), "{run} {kind}");
    }
}

/// Nodes, edges and boxes of a drawing.
fn counts(dot: &str) -> (usize, usize, usize) {
    let count = |part: &str| dot.lines().filter(|line| !line.starts_with(' ') && line.contains(part)).count();
    (count(" [label=<"), count(" -> "), count("subgraph "))
}

fn drawn(run: &str, words: &[(&str, &str)]) -> String {
    text(&open(run), "graph_viewer", &[words, &[("type", "graph"), ("format", "dot")]].concat())
}

#[test]
fn neighbourhood_of_a_kernel() {
    let dot = drawn("tpu-custom-call", &[("node_name", "blocked_matmul.1"), ("graph_width", "1")]);
    let title = "label = <<b>Neighborhood of 1 nodes around blocked_matmul.1<br/>Computation main.1<br/>\
                 ENTRY computation</b>>;";
    assert!(dot.contains(title), "{dot}");
    for node in [
        r##"[label=<<b>blocked_matmul.1</b><br/>custom-call<br/>custom_call_target=&quot;tpu_custom_call&quot;<br/>operand_layout_constraints={bf16[1024,2048]{1,0}, bf16[2048,1024]{1,0}}<br/>frontend_attributes={kernel_metadata={}}<br/>bf16[1024,1024]{1,0:T(8,128)(2,1)S(1)}>, shape=diamond, "##,
        r##"style="filled", fontcolor="white", color="#7f0000", fillcolor="#b71c1c"];"##,
        r##"[label=<<b>tanh.1</b><br/>bf16[1024,1024]{1,0:T(8,128)(2,1)}>, shape=rect, "##,
        r##"[label=<ROOT>, shape=circle, tooltip=" ", style="filled", fontcolor="black", color="#8c7b75", fillcolor="#bcaaa4"];"##,
        r##"[arrowhead=normal tooltip="left.1 -> blocked_matmul.1"  headlabel="0", labeldistance=2];"##,
        r##"[arrowhead=normal tooltip="blocked_matmul.1 -> tanh.1" ];"##,
    ] {
        assert!(dot.contains(node), "{node} in {dot}");
    }
    assert_eq!(dot.matches("[arrowhead=").count(), 3);
}

#[test]
fn fusions_are_boxes_unless_merged() {
    let words = [DECODE, ("node_name", "copy.25"), ("graph_width", "3")];
    assert_eq!(counts(&drawn("tpu-decode", &words)), (425, 504, 62));
    let words = [STEP, ("node_name", "ynn_fusion.19"), ("graph_width", "2")];
    assert_eq!(counts(&drawn("cpu-train", &words)), (31, 32, 6));
    let merged = [STEP, ("node_name", "ynn_fusion.19"), ("graph_width", "2"), ("merge_fusion", "true")];
    assert_eq!(counts(&drawn("cpu-train", &merged)), (14, 15, 0));
}

/// The page shows the drawing, and fetches and runs nothing.
#[test]
fn the_page_needs_no_network() {
    let words = [STEP, ("type", "graph"), ("node_name", "ynn_fusion.19"), ("graph_width", "2")];
    let page = text(&open("cpu-train"), "graph_viewer", &words);
    let dot = text(&open("cpu-train"), "graph_viewer", &[&words[..], &[("format", "dot")]].concat());
    assert!(page.contains("<svg") && page.contains("ynn_fusion.19"));
    assert!(!page.contains("https://") && !page.contains("<script src") && !page.contains("@import"));
    assert!(page.contains(r#"<script type="text/vnd.graphviz""#));
    assert!(!dot.contains("https://"));
}

#[test]
fn neighbours_pass_through_tuples() {
    let of = |run: &str, module, node: &str| {
        ask(&open(run), "graph_viewer", &[module, ("type", "adj_nodes"), ("node_name", node)])
    };
    assert_eq!(
        of("tpu-decode", DECODE, "copy.25"),
        json!({ "consumer_names": ["tuple.69"], "operand_names": ["constant.177.clone"] })
    );
    assert_eq!(
        of("cpu-train", STEP, "ynn_fusion.19"),
        json!({
            "consumer_names": ["broadcast_maximum_fusion", "compare_select_fusion"],
            "operand_names": ["multiply_bitcast_fusion.2", "params__block____up__.1"],
        })
    );
    let carried = of("tpu-decode", DECODE, "wide.param.2");
    let consumers = carried["consumer_names"].as_array().unwrap();
    assert_eq!((consumers.len(), &consumers[0], &consumers[36]), (37, &json!("add.303"), &json!("tuple.58")));
    assert_eq!(carried["operand_names"], json!([]));
}

#[test]
fn refuses_what_it_cannot_answer() {
    let run = open("tpu-decode");
    let error = refused(&run, "graph_viewer", &[DECODE, ("type", "graph"), ("node_name", "nothing")]);
    assert_eq!(error.to_string(), "Couldn't find HloInstruction or HloComputation named nothing.");
    let error = refused(&run, "graph_viewer", &[DECODE, ("type", "wrong")]);
    assert!(error.to_string().contains("long_txt"), "{error}");
    let error = refused(&run, "graph_viewer", &[("module_name", "nothing"), ("type", "long_txt")]);
    assert!(error.to_string().contains(DECODE.1), "{error}");
    let kernel = [("type", "custom_call"), ("node_name", "blocked_matmul.1")];
    let error = refused(&open("tpu-custom-call"), "graph_viewer", &kernel);
    assert!(matches!(error, Error::Missing { .. }), "{error:?}");
}

#[test]
fn a_program_without_a_proto_has_no_pb() {
    let text_run = load::from_bytes(
        "m.txt",
        b"HloModule m\n\nENTRY e {\n  ROOT a = f32[2]{0} parameter(0)\n}\n".to_vec(),
    );
    let text_run = text_run.unwrap();
    for kind in ["pb", "pbtxt"] {
        let error = refused(&text_run, "graph_viewer", &[("type", kind)]);
        assert!(matches!(error, Error::Missing { .. }), "{error}");
        assert!(error.to_string().contains("the module m as HLO text, and no HLO proto of it"), "{error}");
    }
    assert!(text(&text_run, "graph_viewer", &[("type", "short_txt")]).starts_with("HloModule m"));
}

#[test]
fn a_bare_module_becomes_an_hlo_proto() {
    let words = [DECODE, ("type", "pb")];
    let whole = answer(&open("tpu-decode"), "graph_viewer", &words.iter().copied().collect()).unwrap().body;
    let name = b"\x0a\x0ajit_decode".as_slice();
    let at = whole.windows(name.len()).position(|w| w == name).unwrap();
    // Tag and length of the module stand before its first field, its name.
    let length = whole[1..at].iter().rev().fold(0, |sum, byte| sum << 7 | usize::from(byte & 127));
    let (wrapped, bare) = (&whole[..at + length], &whole[at..at + length]);
    let run = load::from_bytes("m.pb", bare.to_vec()).unwrap();
    assert_eq!(answer(&run, "graph_viewer", &[("type", "pb")].into_iter().collect()).unwrap().body, wrapped);
}
