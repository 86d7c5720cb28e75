//! Programs made by hand: text for the graph, lists for the memory.

use haloscope_hlo::{
    AssignedBuffer, BufferAllocation, BufferAssignment, HeapEvent, HeapEventKind, HeapTrace, LogicalBuffer,
    Module,
};

use super::*;
use crate::heap::Buffers;

/// What an allocation that lives as long as the program is for.
#[derive(Clone, Copy)]
pub(crate) enum Lasting {
    Parameter(i64),
    Output,
    Constant,
}

/// A module with memory: allocations that last, each with the buffer of one instruction (`name` or `name{1}`), and temporary
/// buffers that a heap gives out (`+name`) and takes back (`-name`), in an allocation of `room` bytes.
pub(crate) fn made(
    text: &str,
    lasting: &[(&str, i64, Lasting)],
    temporary: &[(&str, i64)],
    room: i64,
    events: &str,
) -> Module {
    let mut module = Module::parse(text).unwrap();
    let mut assignment = BufferAssignment::default();
    let mut add = |name: &str, size_bytes: i64| {
        let (instruction_name, shape_index) = match name.split_once('{') {
            Some((name, step)) => (name, vec![step.trim_end_matches('}').parse().unwrap()]),
            None => (name, Vec::new()),
        };
        let id = assignment.logical_buffers.len() as i64 + 100;
        assert!(module.instruction_by_name(instruction_name).is_some(), "no instruction {instruction_name}");
        let instruction_name = instruction_name.to_owned();
        let buffer =
            LogicalBuffer { id, size_bytes, instruction_name, shape_index, ..LogicalBuffer::default() };
        assignment.logical_buffers.push(buffer);
        AssignedBuffer { buffer_id: id, offset_bytes: 0, size_bytes }
    };
    let mut allocations = Vec::new();
    for (index, (name, size_bytes, what)) in lasting.iter().enumerate() {
        allocations.push(BufferAllocation {
            index: index as i64,
            size_bytes: *size_bytes,
            entry_parameter: if let Lasting::Parameter(number) = what {
                Some((*number, Vec::new()))
            } else {
                None
            },
            maybe_live_out: matches!(what, Lasting::Output),
            is_constant: matches!(what, Lasting::Constant),
            assigned: vec![add(name, *size_bytes)],
            ..BufferAllocation::default()
        });
    }
    let placed: Vec<_> = temporary.iter().map(|(name, bytes)| (*name, add(name, *bytes))).collect();
    let event = |word: &str| {
        let (kind, name) = match word.strip_prefix('+') {
            Some(name) => (HeapEventKind::Alloc, name),
            None => (HeapEventKind::Free, word.trim_start_matches('-')),
        };
        let buffer_id = placed.iter().find(|(of, _)| *of == name).unwrap().1.buffer_id;
        HeapEvent { kind, buffer_id, computation_name: String::new(), instruction_name: String::new() }
    };
    if !placed.is_empty() {
        let events = events.split_whitespace().map(event).collect();
        assignment.heap_traces.push(HeapTrace { events, ..HeapTrace::default() });
        allocations.push(BufferAllocation {
            index: allocations.len() as i64,
            size_bytes: room,
            assigned: placed.iter().map(|(_, assigned)| *assigned).collect(),
            ..BufferAllocation::default()
        });
    }
    assignment.allocations = allocations;
    module.buffer_assignment = Some(assignment);
    module
}

/// A loop that carries a cache, a state that is computed anew, rows that are only written, a table that is only read, and a
/// random key. Nothing is donated: the loop works on copies.
pub(crate) const LOOP: &str = r#"HloModule jit_run

%body (s: (f32[8,64,16], f32[8,16], f32[4,8,16], f32[16,16], u32[2], s32[])) -> (f32[8,64,16], f32[8,16], f32[4,8,16], f32[16,16], u32[2], s32[]) {
  %s = (f32[8,64,16], f32[8,16], f32[4,8,16], f32[16,16], u32[2], s32[]) parameter(0)
  %cache = f32[8,64,16] get-tuple-element(%s), index=0
  %state = f32[8,16] get-tuple-element(%s), index=1
  %rows = f32[4,8,16] get-tuple-element(%s), index=2
  %table = f32[16,16] get-tuple-element(%s), index=3
  %key = u32[2] get-tuple-element(%s), index=4
  %n = s32[] get-tuple-element(%s), index=5
  %zero = s32[] constant(0)
  %new = f32[8,1,16] reshape(%state)
  %written = f32[8,64,16] dynamic-update-slice(%cache, %new, %zero, %n, %zero)
  %scores = f32[8,64] dot(%state, %written), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={2}, metadata={op_name="jit(run)/while/body/attention/dot_general"}
  %mixed = f32[8,16] dot(%scores, %written), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}, metadata={op_name="jit(run)/while/body/attention/dot_general"}
  %next = f32[8,16] dot(%mixed, %table), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %row = f32[1,8,16] reshape(%next)
  %rows.1 = f32[4,8,16] dynamic-update-slice(%rows, %row, %n, %zero, %zero)
  %two = u32[2] add(%key, %key)
  %one = s32[] constant(1)
  %n.1 = s32[] add(%n, %one)
  ROOT %t = (f32[8,64,16], f32[8,16], f32[4,8,16], f32[16,16], u32[2], s32[]) tuple(%written, %next, %rows.1, %table, %two, %n.1)
}

%condition (c: (f32[8,64,16], f32[8,16], f32[4,8,16], f32[16,16], u32[2], s32[])) -> pred[] {
  %c = (f32[8,64,16], f32[8,16], f32[4,8,16], f32[16,16], u32[2], s32[]) parameter(0)
  %m = s32[] get-tuple-element(%c), index=5
  %end = s32[] constant(4)
  ROOT %less = pred[] compare(%m, %end), direction=LT
}

ENTRY %main (a: f32[8,64,16], b: f32[8,16], w: f32[16,16], k: u32[2], bias: f32[16]) -> (f32[8,64,16], f32[4,8,16]) {
  %a = f32[8,64,16] parameter(0), metadata={op_name="init_carry[2]"}
  %b = f32[8,16] parameter(1), metadata={op_name="init_carry[0]"}
  %w = f32[16,16] parameter(2), metadata={op_name="params['w']"}
  %k = u32[2] parameter(3), metadata={op_name="init_carry['key']"}
  %bias = f32[16] parameter(4), metadata={op_name="bias"}
  %a.start = (f32[8,64,16], f32[8,64,16], u32[]) copy-start(%a)
  %a.copy = f32[8,64,16] copy-done(%a.start)
  %b.copy = f32[8,16] copy(%b)
  %nothing = f32[] constant(0)
  %empty = f32[4,8,16] broadcast(%nothing), dimensions={}
  %start = s32[] constant(0)
  %tuple = (f32[8,64,16], f32[8,16], f32[4,8,16], f32[16,16], u32[2], s32[]) tuple(%a.copy, %b.copy, %empty, %w, %k, %start)
  %while = (f32[8,64,16], f32[8,16], f32[4,8,16], f32[16,16], u32[2], s32[]) while(%tuple), condition=%condition, body=%body
  %cache.out = f32[8,64,16] get-tuple-element(%while), index=0
  %rows.out = f32[4,8,16] get-tuple-element(%while), index=2
  ROOT %out = (f32[8,64,16], f32[4,8,16]) tuple(%cache.out, %rows.out)
}
"#;

/// The memory of [`LOOP`]: what lasts.
pub(crate) const LOOP_MEMORY: &[(&str, i64, Lasting)] = &[
    ("a", 32768, Lasting::Parameter(0)),
    ("b", 512, Lasting::Parameter(1)),
    ("w", 1024, Lasting::Parameter(2)),
    ("k", 8, Lasting::Parameter(3)),
    ("bias", 64, Lasting::Parameter(4)),
    ("a.start{0}", 32768, Lasting::Output),
    ("empty", 2048, Lasting::Output),
    ("start", 4, Lasting::Constant),
];

/// Asks a module, and hands what is found to `look`.
pub(crate) fn ask<T>(module: &Module, rules: &Rules, look: impl FnOnce(&Attribution<'_, '_>) -> T) -> T {
    let buffers = Buffers::new(module).unwrap();
    let memory = ProgramMemory::new(&buffers, 0);
    look(&Attribution::of(&memory, rules))
}

fn fate(flow: &Flow<'_>, number: i64) -> Fate {
    flow.parameters[flow.parameter(number, &[]).unwrap()].fate
}

#[test]
fn values_are_followed_through_copies_and_loops() {
    let module = Module::parse(LOOP).unwrap();
    let flow = Flow::new(&module);
    let cache = Fate {
        is_carried: true,
        is_rewritten: true,
        is_returned: true,
        is_written: true,
        is_multiplied: true,
    };
    assert_eq!(fate(&flow, 0), cache);
    // Computed anew: carried on, but not written in place; its own value is multiplied.
    assert_eq!(fate(&flow, 1), Fate { is_returned: false, is_written: false, ..cache });
    // The same in every round.
    let read = Fate { is_carried: true, is_multiplied: true, ..Fate::default() };
    assert_eq!(fate(&flow, 2), read);
    assert_eq!(fate(&flow, 3), Fate { is_carried: true, is_rewritten: true, ..Fate::default() });
    assert_eq!(fate(&flow, 4), Fate::default());
    let holder =
        |name: &str, path: &[i64]| flow.holder(&module, name, path).map(|row| flow.parameters[row].name());
    assert_eq!(holder("a.start", &[0]).as_deref(), Some("init_carry[2]"));
    assert_eq!(holder("written", &[]).as_deref(), Some("init_carry[2]"));
    assert_eq!(holder("while", &[0]).as_deref(), Some("init_carry[2]"));
    assert_eq!(holder("b.copy", &[]).as_deref(), Some("init_carry[0]"));
    assert_eq!(holder("empty", &[]), None);
    assert_eq!(holder("scores", &[]), None);
}

#[test]
fn bytes_go_to_buckets_once() {
    let temporary = [("b.copy", 512), ("written", 32768), ("scores", 2048)];
    let module = made(LOOP, LOOP_MEMORY, &temporary, 40_000, "+b.copy +scores -scores -b.copy");
    ask(&module, Rules::built_in(), |attribution| {
        let totals = Totals::of(attribution);
        let expected = Totals {
            peak_bytes: 32768 + 512 + 1024 + 8 + 64 + 32768 + 2048 + 4 + 2560,
            entry_parameters_bytes: 32768 + 512 + 1024 + 8 + 64,
            kv_cache_bytes: 32768,
            model_parameters_bytes: 1024,
            other_carry_bytes: 512 + 8,
            other_parameter_bytes: 64,
            optimiser_state_bytes: 0,
            temporary_bytes: 2560,
            lacks_temporaries: false,
            output_bytes: 32768 + 2048,
            constant_bytes: 4,
            gradient_markers: Some(0),
        };
        assert_eq!(totals, expected);
        assert!(Identity::all(attribution, &totals).iter().all(Identity::holds));
        let of = |name: &str| {
            let found = attribution.buffers.iter().find(|b| b.alive.instruction().name == name).unwrap();
            let rule = &attribution.rules.all()[found.rule.unwrap()];
            (attribution.bucket(found.rule).to_owned(), rule.name.clone(), found.op_name.clone())
        };
        // The cache has no name that says so: what the program does with it does.
        assert_eq!(of("a").1, "cache, by what the program does with it");
        // Its copy has no name at all, and is no parameter's memory.
        let copy = attribution.buffers.iter().find(|b| b.alive.instruction().name == "a.start").unwrap();
        assert_eq!((copy.op_name.as_str(), copy.alive.group), ("init_carry[2]", Group::Output));
        assert_eq!(attribution.bucket(copy.rule), "KV cache");
        // A random key is no key of attention, and rows that are only written are no cache.
        assert_eq!(of("k").0, "other carry state");
        assert_eq!(of("empty").0, "outputs");
        assert_eq!(of("scores").0, "attention");
        assert_eq!(of("start").0, "constants");
    });
}

/// A sum that does not agree is seen.
#[test]
fn broken_sums_do_not_hold() {
    let module = made(LOOP, LOOP_MEMORY, &[], 0, "");
    ask(&module, Rules::built_in(), |attribution| {
        let totals = Totals::of(attribution);
        let wrong = Totals { kv_cache_bytes: totals.kv_cache_bytes + 1, ..totals };
        let broken = |totals| -> Vec<_> {
            let all = Identity::all(attribution, totals);
            all.into_iter().filter(|i| !i.holds()).map(|i| (i.what, i.difference_bytes())).collect()
        };
        assert_eq!(broken(&totals), []);
        assert_eq!(broken(&wrong), [("buckets of parameters sum to the entry parameters", 1)]);
    });
    // An allocation that is larger than its parameter can be by padding.
    let mut lasting = LOOP_MEMORY.to_vec();
    lasting[0].1 = 1 << 20;
    let module = made(LOOP, &lasting, &[], 0, "");
    ask(&module, Rules::built_in(), |attribution| {
        let all = Identity::all(attribution, &Totals::of(attribution));
        let broken: Vec<_> = all.iter().filter(|i| !i.holds()).map(|i| i.what).collect();
        assert_eq!(broken, ["parameter rows sum to their shapes within padding"]);
    });
}

#[test]
fn own_rules_go_first() {
    let module = made(LOOP, LOOP_MEMORY, &[], 0, "");
    let mine = r#"
        [[rule]]
        name = "biases"
        bucket = "small things"
        op_name = "bias"
        group = "Parameter"
        max_bytes = 100
        dtype = ["f32", "bf16"]

        [[rule]]
        name = "parameter 1"
        bucket = "the state"
        parameter = 1
        aliased = false
        opcode = "parameter"
        guess = true
    "#;
    let buckets = |rules: &Rules| {
        ask(&module, rules, |attribution| {
            let bucket = |name: &str| {
                let found = attribution.buffers.iter().find(|b| b.alive.instruction().name == name).unwrap();
                attribution.bucket(found.rule).to_owned()
            };
            ["a", "b", "bias", "start"].map(bucket)
        })
    };
    let words = ["KV cache", "the state (guess)", "small things", "constants"];
    assert_eq!(buckets(&Rules::parse(mine).unwrap()), words);
    let alone = format!("replace = true\n{mine}");
    let words = ["other", "the state (guess)", "small things", "other"];
    assert_eq!(buckets(&Rules::parse(&alone).unwrap()), words);
    assert_eq!(Rules::parse("").unwrap().all().len(), Rules::built_in().all().len());
    assert!(Rules::built_in().all().len() > 15);
}

#[test]
fn wrong_rules_are_refused_with_their_line() {
    let refusal = |text: &str| Rules::parse(text).unwrap_err().to_string();
    let said = refusal("[[rule]]\nname = \"x\"\nbucket = \"y\"\nop_name_prefx = \"z\"\n");
    assert!(
        said.contains("line 4") && said.contains("op_name_prefx") && said.contains("op_name_prefix"),
        "{said}"
    );
    let said = refusal("[[rule]]\nname = \"x\"\n");
    assert!(said.contains("line 1") && said.contains("bucket"), "{said}");
    let said = refusal("[[rule]]\nname = \"x\"\nbucket = \"y\"\n\nop_name_regex = \"(\"\n");
    assert!(said.contains("line 5") && said.contains("expected a regular expression"), "{said}");
    let said = refusal("[[rule]]\nname = \"x\"\nbucket = \"y\"\ngroup = \"Temp\"\n");
    assert!(said.contains("line 4") && said.contains("Temp") && said.contains("Temporary"), "{said}");
    let said = refusal("[[rule]]\nname = \"x\"\nbucket = \"y\"\nfact = [\"cached\"]\n");
    assert!(said.contains("line 4") && said.contains("cached") && said.contains("rewritten"), "{said}");
    let said = refusal("[[rule]]\nname = \"x\"\nbucket = \"y\"\nopcode = 3\n");
    assert!(said.contains("line 4") && said.contains("a text or a list of texts"), "{said}");
    let said = refusal("[[rule]]\nname = \"x\"\nbucket = \" \"\n");
    assert!(said.contains("line 3") && said.contains("the name of a bucket"), "{said}");
    let said = refusal("rule = [\n");
    assert!(said.contains("line"), "{said}");
}

/// The bucket of a parameter by its name, where the program says nothing else.
fn by_name(op_name: &str, rank: usize, facts: &[Fact]) -> String {
    let mut all = Facts::default();
    all.set(Fact::Parameter, true);
    facts.iter().for_each(|fact| all.set(*fact, true));
    let rules = Rules::built_in();
    let rule = rules.find(&Subject {
        op_name,
        group: Group::Parameter,
        opcode: "parameter",
        shape: "f32[8,8]",
        dtype: "f32",
        rank,
        bytes: 1 << 20,
        parameter: Some(0),
        is_aliased: false,
        facts: all,
    });
    rules.all()[rule.unwrap()].bucket.clone()
}

#[test]
fn names_of_parameters() {
    use Fact::{Carried, Gradients, LikeModelParameter, Rewritten};
    let training = |name: &str| by_name(name, 2, &[Gradients]);
    for name in [
        "params['layer_0']['wq']",
        "state.params['w']",
        "variables['params']['dense']",
        "args[0]['params'].w",
    ] {
        assert_eq!(training(name), "model parameters", "{name}");
    }
    // The moments have the model's names below them.
    for name in [
        "opt_state[0].mu['params']['w']",
        "state.opt_state[1][0].nu.params['w']",
        "momentum['w']",
        "adam['m']",
    ] {
        assert_eq!(training(name), "optimiser state", "{name}");
    }
    // Words that mean something only in a training step.
    assert_eq!(by_name("stats['mu']", 2, &[]), "other parameters");
    // Parts of words are no words.
    assert_eq!(training("hyperparams['lr']"), "other parameters");
    assert_eq!(training("numbers"), "other parameters");
    let carried = [Carried, Rewritten];
    for name in
        ["cache['k']", "init_carry.kv_cache[0]", "k_cache", "state['cached_key']", "past_key_values[3][0]"]
    {
        assert_eq!(by_name(name, 4, &carried), "KV cache", "{name}");
    }
    assert_eq!(by_name("init_carry['key'][0]", 4, &carried), "KV cache");
    // Ambiguous: a random key, the length of a cache, a variable's value, a key that no loop carries.
    assert_eq!(by_name("init_carry['key']", 1, &carried), "other carry state");
    assert_eq!(by_name("init_carry.cache['length']", 0, &carried), "other carry state");
    assert_eq!(by_name("state['dense']['kernel'].value", 3, &[]), "other parameters");
    assert_eq!(by_name("batch['key']", 3, &[]), "other parameters");
    assert_eq!(by_name("params['attention']['key']['kernel']", 3, &carried), "model parameters");
    assert_eq!(by_name("x", 2, &carried), "other carry state");
    assert_eq!(by_name("x", 2, &[Carried]), "other parameters");
    // What is guessed says so.
    assert_eq!(by_name("x", 2, &[Gradients, LikeModelParameter]), "optimiser state (guess)");
}

/// Names of ops, with scopes that only look like others.
#[test]
fn names_of_ops() {
    let bucket = |op_name: &str| {
        let rules = Rules::built_in();
        let mut facts = Facts::default();
        facts.set(Fact::Gradients, true);
        facts.set(Fact::Backward, Phase::of(op_name, "") == Some(Phase::Backward));
        facts.set(Fact::Forward, Phase::of(op_name, "") == Some(Phase::Forward));
        let rule = rules.find(&Subject {
            op_name,
            group: Group::Temporary,
            opcode: "fusion",
            shape: "bf16[8,128]",
            dtype: "bf16",
            rank: 2,
            bytes: 1 << 24,
            parameter: None,
            is_aliased: false,
            facts,
        });
        rules.all()[rule.unwrap()].bucket.clone()
    };
    assert_eq!(bucket("jit(step)/jvp(layer_0)/feed_forward/mul"), "activations");
    assert_eq!(bucket("jit(step)/transpose(jvp(layer_0))/attention/dot_general"), "gradients");
    assert_eq!(
        bucket("jit(step)/transpose(jvp(checkpoint))/rematted_computation/attention/exp"),
        "attention"
    );
    assert_eq!(bucket("jit(step)/transpose(jvp(checkpoint))/rematted_computation/mlp/exp"), "activations");
    assert_eq!(bucket("jit(step)/jvp(cross_entropy)/dot_general"), "logits and vocabulary-sized");
    assert_eq!(bucket("jit(f)/layer_3/self_attention/dot_general"), "attention");
    assert_eq!(bucket("jit(f)/moe/experts/dot_general"), "MoE experts");
    assert_eq!(bucket("jit(f)/attentive_pooling/add"), "temporaries");
    assert_eq!(bucket("jit(f)/remote_experience/add"), "temporaries");
    assert_eq!(bucket(""), "temporaries");
}

#[test]
fn the_vocabulary_is_an_extent_of_its_own() {
    let text = "HloModule m\n\nENTRY %e (a: f32[32000,512], b: f32[512,2048], c: f32[2048,512], t: s32[4,2048]) -> f32[] {\n  \
                %a = f32[32000,512] parameter(0), metadata={op_name=\"params['embedding']\"}\n  \
                %b = f32[512,2048] parameter(1), metadata={op_name=\"params['lm_head']\"}\n  \
                %c = f32[2048,512] parameter(2), metadata={op_name=\"params['pos_embedding']\"}\n  \
                %t = s32[4,2048] parameter(3), metadata={op_name=\"tokens\"}\n  ROOT %z = f32[] constant(0)\n}\n";
    let module = Module::parse(text).unwrap();
    let vocabulary = Vocabulary::new(&Flow::new(&module).parameters);
    let is_in = |extents: &[i64]| vocabulary.is_in(&Shape::array(haloscope_hlo::ElementType::F32, extents));
    assert!(is_in(&[4, 32000]));
    // The output head's largest extent is the length too, so it tells nothing.
    assert!(!is_in(&[4, 2048]) && !is_in(&[4, 512]) && !is_in(&[32000]));
}
