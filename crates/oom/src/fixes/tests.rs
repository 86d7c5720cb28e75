use super::*;
use crate::chips;
use crate::holding::Holding;
use crate::message::{Buffer, Form, Message, Named, What};
use crate::size::Size;

const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;

fn buffer(what: What, bytes: i64, shape: &str, name: &str) -> Buffer {
    Buffer {
        what,
        size: Some(Size::exact(bytes)),
        shape: shape.into(),
        name: name.into(),
        ..Buffer::default()
    }
}

fn window(bytes: i64) -> Buffer {
    Buffer {
        levels: Some(2),
        window: "f32[2048,8192]".into(),
        ..buffer(What::InputWindow, bytes, "u8[1]", "k.1")
    }
}

fn fix<'c>(fixes: &'c [Fix], id: &str) -> &'c Fix {
    fixes.iter().find(|fix| fix.id == id).unwrap_or_else(|| panic!("no {id} in {fixes:?}"))
}

fn hbm<'a>(message: &'a Message, holding: &'a Holding, used: i64, limit: i64) -> Case<'a> {
    Case {
        message: Some(message),
        space: "hbm".into(),
        used: Some(Size::exact(used)),
        limit: Some(Size::exact(limit)),
        buffers: holding.buffers.clone(),
        holding: Some(holding),
        ..Case::default()
    }
}

#[test]
fn donation_saves_what_a_result_of_the_same_shape_takes() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let held = |shape: &str, donated: bool| Holding {
        buffers: vec![
            Buffer { is_donated: donated, ..buffer(What::Argument, 16 * GIB, "bf16[64,8]{1,0}", "cache") },
            buffer(What::Result, 16 * GIB, shape, "out"),
        ],
        argument_bytes: 16 * GIB,
        result_bytes: 16 * GIB,
        ..Holding::default()
    };
    let same = held("bf16[64,8]{0,1}", false);
    let fixes = all(&hbm(&message, &same, 32 * GIB, 31 * GIB));
    let first = &fixes[0];
    assert_eq!((first.id, first.fits, first.saves_bytes), ("donate", Some(true), Some(16 * GIB)));
    assert_eq!((first.left_bytes, first.spare_bytes()), (Some(16 * GIB), Some(15 * GIB)));
    // Still too much with it.
    let fixes = all(&hbm(&message, &same, 32 * GIB, 15 * GIB));
    assert_eq!((fix(&fixes, "donate").fits, fix(&fixes, "donate").spare_bytes()), (Some(false), Some(-GIB)));
    // Another shape, or one that is donated: nothing.
    for other in [held("bf16[64,9]", false), held("bf16[64,8]", true)] {
        assert!(all(&hbm(&message, &other, 32 * GIB, 31 * GIB)).iter().all(|fix| fix.id != "donate"));
    }
}

#[test]
fn what_a_loop_reads_while_it_fills_another_is_to_be_carried() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let held = |filled: bool| Holding {
        buffers: vec![
            buffer(What::Argument, 16 * GIB, "bf16[24,8,64]{2,1,0}", "cache"),
            buffer(What::Result, 16 * GIB, "bf16[24,8,64]{2,1,0}", "while.2{2}"),
        ],
        argument_bytes: 16 * GIB,
        result_bytes: 16 * GIB,
        filled_beside: filled.then(|| ("bf16", vec![24, 8, 64])).into_iter().collect(),
        ..Holding::default()
    };
    let has = |filled: bool, id: &str| {
        all(&hbm(&message, &held(filled), 32 * GIB, 31 * GIB)).iter().any(|fix| fix.id == id)
    };
    assert!(has(true, "carry_in_loop") && !has(true, "donate"));
    assert!(has(false, "donate") && !has(false, "carry_in_loop"));
}

#[test]
fn pairs_that_a_compiler_left_of_many_layers_are_a_guess() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let held = |is_rematerialised: bool| Holding {
        buffers: vec![buffer(What::Temporary, 20 * GIB, "bf16[8,4096,4096]", "scores")],
        temporary_bytes: 20 * GIB,
        gradient: Some(true),
        has_loop: Some(false),
        is_rematerialised,
        ..Holding::default()
    };
    let is_guess = |is_rematerialised: bool| {
        let held = held(is_rematerialised);
        fix(&all(&hbm(&message, &held, 26 * GIB, 18 * GIB)), "blockwise").is_guess
    };
    assert!(is_guess(true) && !is_guess(false));
}

#[test]
fn values_of_a_loop_are_computed_again() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let stack = |name: &str| buffer(What::Temporary, 32 * GIB, "bf16[512,16384,2048]", name);
    let held = Holding {
        buffers: vec![stack("while.4{2}"), stack("fusion.5")],
        temporary_bytes: 64 * GIB,
        ..Holding::default()
    };
    let case = hbm(&message, &held, 64 * GIB + GIB / 8, 16 * GIB);
    let fixes = all(&case);
    // What each trip begins with stays: half of it, which does not fit; in groups of 23 it does.
    assert_eq!(
        (fix(&fixes, "checkpoint").fits, fix(&fixes, "checkpoint").saves_bytes),
        (Some(false), Some(32 * GIB))
    );
    let grouped = fix(&fixes, "checkpoint_in_groups");
    assert_eq!(grouped.fits, Some(true));
    assert_eq!(grouped.saves_bytes, Some(64 * GIB - 46 * 64 * MIB));
    assert!(grouped.what.contains("the inputs of one trip in 23"));
    // Rows of a batch come first too: many layers' values of one shape are of no loop.
    let row = |name: &str| buffer(What::Temporary, 8 * GIB, "bf16[524288,8192]", name);
    let held = Holding {
        buffers: vec![row("fusion.1"), row("fusion.2"), row("fusion.3")],
        temporary_bytes: 24 * GIB,
        ..Holding::default()
    };
    assert!(
        all(&hbm(&message, &held, 24 * GIB, 16 * GIB)).iter().all(|fix| !fix.id.starts_with("checkpoint"))
    );
    // One large temporary of no loop is none.
    let held = Holding {
        buffers: vec![buffer(What::Temporary, 32 * GIB, "bf16[512,16384,2048]", "dot.1")],
        temporary_bytes: 32 * GIB,
        ..Holding::default()
    };
    assert!(
        all(&hbm(&message, &held, 32 * GIB, 16 * GIB)).iter().all(|fix| !fix.id.starts_with("checkpoint"))
    );
}

#[test]
fn nothing_is_computed_again_where_nothing_is_differentiated() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let stack = |name: &str| buffer(What::Temporary, 8 * GIB, "f32[4,4096,2048,64]", name);
    let held = |gradient: Option<bool>| Holding {
        buffers: vec![stack("add.1"), stack("mul.2")],
        temporary_bytes: 16 * GIB,
        gradient,
        ..Holding::default()
    };
    let ids = |gradient: Option<bool>| -> Vec<&str> {
        all(&hbm(&message, &held(gradient), 18 * GIB, 16 * GIB)).iter().map(|fix| fix.id).collect()
    };
    assert_eq!(ids(Some(true))[0], "checkpoint");
    assert_eq!(ids(None)[0], "checkpoint");
    // What XLA may keep in f32 all the same stands behind what it surely makes smaller.
    assert_eq!(ids(Some(false)), ["smaller_batch", "narrower"]);
}

#[test]
fn results_of_the_shapes_of_arguments_are_sharded_with_them() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let held = |result: &str| Holding {
        buffers: vec![
            buffer(What::Argument, 16 * GIB, "bf16[32,16]{1,0}", "cache"),
            buffer(What::Result, 16 * GIB, result, "out"),
        ],
        argument_bytes: 16 * GIB,
        result_bytes: 16 * GIB,
        ..Holding::default()
    };
    let same = held("bf16[32,16]{0,1}");
    let fixes = all(&hbm(&message, &same, 32 * GIB, 15 * GIB));
    let shard = fix(&fixes, "shard");
    assert_eq!(
        (shard.fits, shard.saves_bytes, shard.left_bytes),
        (Some(true), Some(24 * GIB), Some(8 * GIB))
    );
    assert!(shard.what.contains("results of the same shapes") && shard.buffers == [0, 1], "{shard:?}");
    // Another result stays whole: it alone is too much.
    let other = held("bf16[16,32]");
    let fixes = all(&hbm(&message, &other, 32 * GIB, 15 * GIB));
    assert_eq!((fix(&fixes, "shard").fits, fix(&fixes, "shard").buffers.as_slice()), (Some(false), &[0][..]));
}

#[test]
fn what_a_fourier_transform_takes_or_makes_is_not_narrowed() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let held = |transforms: &[i64]| Holding {
        buffers: vec![
            buffer(What::Argument, 8 * GIB, "f32[65536,32768]", "x"),
            buffer(What::Temporary, 8 * GIB, "f32[2,65536,16385]", "fft"),
        ],
        argument_bytes: 8 * GIB,
        temporary_bytes: 8 * GIB,
        transforms: transforms.iter().copied().collect(),
        ..Holding::default()
    };
    let has = |transforms: &[i64]| {
        all(&hbm(&message, &held(transforms), 16 * GIB, 12 * GIB)).iter().any(|fix| fix.id == "narrower")
    };
    assert!(has(&[]) && has(&[1024]) && !has(&[65_536 * 16_385]));
}

#[test]
fn values_of_layers_that_are_written_out_are_computed_again() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let value = |layer: usize, of: &str, name: &str| Buffer {
        op_name: format!("jit(loss)/{of}(layer_{layer})/dot_general"),
        ..buffer(What::Temporary, GIB, "bf16[131072,4096]{1,0}", name)
    };
    let held = |of: &str, layers: usize| {
        let values = |layer: usize| [value(layer, of, "fusion{0}"), value(layer, of, "fusion{1}")];
        Holding {
            buffers: (0..layers).flat_map(values).collect(),
            temporary_bytes: 2 * layers as i64 * GIB,
            ..Holding::default()
        }
    };
    let of = |held: &Holding, limit: i64| all(&hbm(&message, held, held.temporary_bytes + GIB, limit * GIB));
    let fixes = of(&held("jvp", 10), 12);
    let one = fix(&fixes, "checkpoint");
    // What each layer begins with stays.
    assert_eq!((one.saves_bytes, one.fits), (Some(10 * GIB), Some(true)));
    assert!(one.what.contains("20.00 GiB kept of the forward pass by 10 layers"), "{}", one.what);
    assert!(one.how.contains("each layer's function"));
    assert!(fixes.iter().all(|fix| fix.id != "checkpoint_in_groups"));
    // By 24 layers in groups of 5, as loops are.
    let fixes = of(&held("jvp", 24), 12);
    assert_eq!(fix(&fixes, "checkpoint").fits, Some(false));
    assert_eq!(fix(&fixes, "checkpoint_in_groups").saves_bytes, Some((48 - 10) * GIB));
    // What the backward pass makes itself, and what is not differentiated, is not kept.
    for other in ["transpose(jvp", "vmap"] {
        assert!(of(&held(other, 10), 12).iter().all(|fix| !fix.id.starts_with("checkpoint")), "{other}");
    }
    // A few of one shape are no layers.
    assert!(of(&held("jvp", 1), 2).iter().all(|fix| !fix.id.starts_with("checkpoint")));
}

#[test]
fn gathered_paired_and_whole_buffers() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let held = Holding {
        buffers: vec![
            buffer(What::Temporary, 12 * GIB, "bf16[65536,98304]", "all-gather.5"),
            buffer(What::Temporary, 8 * GIB, "bf16[65536,65536]", "scores"),
            buffer(What::Argument, 6 * GIB, "f32[16384,98304]", "w"),
        ],
        argument_bytes: 6 * GIB,
        temporary_bytes: 20 * GIB,
        partitions: Some(4),
        ..Holding::default()
    };
    let fixes = all(&hbm(&message, &held, 26 * GIB, 18 * GIB));
    assert_eq!(
        (fix(&fixes, "keep_sharded").saves_bytes, fix(&fixes, "keep_sharded").fits),
        (Some(9 * GIB), Some(true))
    );
    let pairs = fix(&fixes, "blockwise");
    assert!(pairs.what.contains("65536 x 65536") && pairs.fits == Some(false), "{pairs:?}");
    let shard = fix(&fixes, "shard");
    // Whether it fits is up to the temporaries.
    assert!(shard.fits.is_none() && shard.what.contains("runs on 4 devices"), "{shard:?}");
    assert_eq!(fix(&fixes, "narrower").saves_bytes, Some(3 * GIB));
    let batch = fix(&fixes, "smaller_batch");
    assert_eq!((batch.fits, batch.saves_bytes), (Some(true), Some(10 * GIB)));
    // Two cures for other buffers count together.
    assert_eq!(fix(&fixes, "keep_sharded").together_bytes, Some(17 * GIB));
    assert!(fixes.iter().skip_while(|fix| fix.fits == Some(true)).all(|fix| fix.fits != Some(true)));
}

#[test]
fn without_buffers_nothing_is_claimed() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let case = Case {
        message: Some(&message),
        space: "hbm".into(),
        used: Some(Size::exact(24 * GIB)),
        limit: Some(Size::exact(16 * GIB)),
        ..Case::default()
    };
    let fixes = all(&case);
    assert!(!fixes.is_empty() && fixes.iter().all(|fix| fix.fits.is_none() && fix.saves_bytes.is_none()));
    assert!(fix(&fixes, "smaller_batch").what.contains("1.50 times"));
}

fn on_chip<'a>(message: &'a Message, space: &str, used: i64, limit: i64, buffers: Vec<Buffer>) -> Case<'a> {
    Case {
        message: Some(message),
        space: space.into(),
        used: Some(Size::exact(used)),
        limit: Some(Size::exact(limit)),
        buffers,
        ..Case::default()
    }
}

#[test]
fn blocks_and_their_copies() {
    let message = Message::new(Form::LargestAllocations, "vmem");
    let case = on_chip(&message, "vmem", 256 * MIB, 128 * MIB, vec![window(128 * MIB), window(128 * MIB)]);
    let fixes = all(&case);
    let single = fix(&fixes, "fewer_buffers");
    assert_eq!(
        (single.saves_bytes, single.fits, single.spare_bytes()),
        (Some(128 * MIB), Some(true), Some(0))
    );
    let smaller = fix(&fixes, "smaller_blocks");
    assert!(smaller.what.contains("2 times smaller: f32[2048,8192] becomes f32[1024,8192]"), "{smaller:?}");
    assert!(fixes.iter().all(|fix| fix.id != "raise_limit"), "there is no more VMEM to ask for");
    // Scratch that alone is too much is not cured by smaller blocks.
    let scratch = buffer(What::Scratch, 200 * MIB, "f32[1]", "k.1");
    let fixes = all(&on_chip(&message, "vmem", 264 * MIB, 128 * MIB, vec![window(64 * MIB), scratch]));
    assert_eq!(fix(&fixes, "smaller_blocks").fits, Some(false));
    let less = fix(&fixes, "less_scratch");
    assert_eq!((less.fits, less.saves_bytes), (Some(true), Some(150 * MIB)));
}

#[test]
fn the_limit_of_a_stack_is_raised_where_the_chip_has_room() {
    let kernel = Named { opcode: "custom-call".into(), name: "k.1".into(), ..Named::default() };
    let message = Message { named: Some(kernel), ..Message::new(Form::ScopedStack, "vmem") };
    let with = |used: i64, names: &[&str]| {
        let mut case = on_chip(&message, "vmem", used, 16 * MIB, vec![buffer(What::Stack, used, "", "k.1")]);
        case.chips = names.iter().filter_map(|name| chips::named(name)).collect();
        let fixes = all(&case);
        (fix(&fixes, "raise_limit").fits, fix(&fixes, "raise_limit").how.clone())
    };
    let (fits, how) = with(48 * MIB, &["v5e"]);
    assert_eq!(fits, Some(true));
    assert!(how.contains("vmem_limit_bytes=58 * 2**20") && how.contains("kib=59392"), "a fifth more: {how}");
    let (_, how) = with(60 * MIB, &["v5p"]);
    assert!(how.contains("vmem_limit_bytes=64 * 2**20"), "but no more than there is: {how}");
    assert_eq!(with(48 * MIB, &["v5e", "v5p"]).0, Some(true));
    assert_eq!(with(100 * MIB, &["v5e", "v5p"]).0, None, "one has room, the other has not");
    assert_eq!(with(100 * MIB, &["v5p"]).0, Some(false));
    assert_eq!(with(48 * MIB, &[]).0, None);
    assert_eq!(with(200 * MIB, &[]).0, Some(false));
    // XLA's own code that met a flag.
    let fusion = Named { opcode: "fusion".into(), ..Named::default() };
    let message = Message { named: Some(fusion), ..Message::new(Form::ScopedStack, "vmem") };
    let fixes = all(&on_chip(&message, "vmem", 64 << 10, 16 << 10, Vec::new()));
    let raise = fix(&fixes, "raise_limit");
    assert!(raise.how.contains("xla_tpu_scoped_vmem_limit_kib") && raise.fits == Some(true), "{raise:?}");
    assert!(fixes.iter().all(|fix| fix.id != "smaller_blocks"));
}

#[test]
fn scalars_semaphores_and_subcores() {
    let message = Message::new(Form::OneAllocation, "smem");
    let table = buffer(What::Prefetched, 2 * MIB, "u8[2097152]", "k.1");
    let fixes = all(&on_chip(&message, "smem", 2 * MIB, MIB, vec![table]));
    assert_eq!(fixes[0].id, "table_in_hbm");
    assert_eq!(fix(&fixes, "pack_scalars").fits, None, "half of it just fills SMEM");
    assert!(fix(&fixes, "fewer_scalars").what.contains("261120 words of 4 bytes instead of 524288"));
    let message = Message::new(Form::OneAllocation, "sflag");
    let flags = buffer(What::Scratch, 262_144, "s32[65536]", "k.1");
    let fixes = all(&on_chip(&message, "sflag", 262_144, 2048, vec![flags]));
    assert!(
        fixes[0].what.contains("fewer than 512 semaphores instead of 65536") && fixes[0].fits == Some(true)
    );
    let message = Message::new(Form::SparseCoreOffset, "spmem");
    let scratch = buffer(What::Scratch, 16 * MIB, "2048x128xf32", "");
    let fixes = all(&on_chip(&message, "spmem", 16 * MIB, 4 * MIB - 4, vec![scratch]));
    assert!(fixes[0].what.contains("8 times smaller (1.000 MiB on each of 16 subcores"), "{:?}", fixes[0]);
}

#[test]
fn a_running_program_frees_memory() {
    let message = Message::new(Form::RuntimeAllocation, "hbm");
    let case = on_chip(&message, "hbm", 3 * GIB, GIB, Vec::new());
    let fixes = all(&case);
    assert_eq!(
        (fixes[0].id, fixes[0].saves_bytes, fixes[0].fits),
        ("free_arrays", Some(2 * GIB), Some(true))
    );
    let case = on_chip(&message, "hbm", GIB, 2 * GIB, Vec::new());
    assert_eq!(all(&case)[0].id, "one_piece", "there is enough, but not together");
    let vllm = Case { is_vllm: true, ..on_chip(&message, "hbm", GIB, 2 * GIB, Vec::new()) };
    assert!(all(&vllm).iter().any(|fix| fix.how.contains("--gpu-memory-utilization")));
}

#[test]
fn numbers_that_are_too_coarse_decide_nothing() {
    assert_eq!(fits(100, 100, 0), Some(true));
    assert_eq!(fits(101, 100, 0), Some(false));
    assert_eq!(fits(99, 100, 5), None);
    assert_eq!(fits(100, 100, 5), None);
    assert_eq!(fits(90, 100, 5), Some(true));
}

#[test]
fn logits_are_made_by_chunks_of_tokens_where_an_op_says_that_they_are() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let value = |shape: &str, name: &str, op_name: &str| Buffer {
        op_name: op_name.into(),
        ..buffer(What::Temporary, 8 * GIB, shape, name)
    };
    let of = |op_name: &str| Holding {
        buffers: vec![
            value("f32[16384,131072]{1,0}", "fusion.1", op_name),
            value("f32[8,2048,131072]{2,1,0}", "fusion.2", "jit(loss)/transpose(jvp())/mul"),
            value("bf16[16384,262144]{1,0}", "fusion.3", "jit(loss)/ffn/dot_general"),
        ],
        temporary_bytes: 24 * GIB,
        ..Holding::default()
    };
    let held = of("jit(loss)/jvp(jit(log_softmax))/sub");
    let fixes = all(&hbm(&message, &held, 24 * GIB, 13 * GIB));
    let chunks = fix(&fixes, "chunked_loss");
    // Both values of the loss go to a quarter, that of the layer stays.
    assert_eq!((chunks.fits, chunks.left_bytes), (Some(true), Some(12 * GIB)));
    assert!(chunks.what.contains("16384 tokens for 131072 words") && chunks.what.contains("over 4 chunks"));
    assert!(chunks.what.contains("kept in f32"), "{}", chunks.what);
    // The scores of attention are of no vocabulary, whatever their extents; nor is what no op's name says.
    for other in ["jit(loss)/jvp(attention)/softmax", ""] {
        let mut held = of(other);
        held.logits = BTreeSet::from([(131_072, 131_072 * 16_384)]);
        let fixes = all(&hbm(&message, &held, 24 * GIB, 13 * GIB));
        assert_eq!(
            fix(&fixes, "chunked_loss").saves_bytes,
            Some(12 * GIB),
            "an op inside of a fusion says it"
        );
        held.logits.clear();
        assert!(all(&hbm(&message, &held, 24 * GIB, 13 * GIB)).iter().all(|fix| fix.id != "chunked_loss"));
    }
}

#[test]
fn a_batch_is_no_loop_where_the_program_has_none() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let value = |layer: usize| Buffer {
        op_name: format!("jit(step)/jvp(layer_{})/add", layer / 2),
        ..buffer(What::Temporary, 2 * GIB, "bf16[256,224,224,64]", "add")
    };
    let ids = |has_loop: Option<bool>| -> Vec<String> {
        let held = Holding {
            buffers: (0..8).map(value).collect(),
            temporary_bytes: 16 * GIB,
            has_loop,
            ..Holding::default()
        };
        all(&hbm(&message, &held, 20 * GIB, 16 * GIB)).into_iter().map(|fix| fix.what).collect()
    };
    assert!(ids(None)[0].contains("256 iterations of a loop"));
    assert!(ids(Some(true))[0].contains("256 iterations of a loop"));
    let without = ids(Some(false));
    assert!(without[0].contains("of the forward pass by 4 layers"), "{without:?}");
    assert!(without.iter().all(|what| !what.contains("iterations")));
}

#[test]
fn trips_are_those_of_a_loop_where_these_are_known() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let value = || Buffer {
        op_name: "jit(step)/transpose(jvp(words))/log_softmax".into(),
        ..buffer(What::Temporary, 4 * GIB, "f32[24,400,64,4096]", "fusion")
    };
    let says_trips = |trips: Option<&[i64]>| {
        let held = Holding {
            buffers: (0..4).map(|_| value()).collect(),
            temporary_bytes: 16 * GIB,
            has_loop: Some(true),
            trips: trips.map(|trips| trips.iter().copied().collect()),
            ..Holding::default()
        };
        let fixes = all(&hbm(&message, &held, 20 * GIB, 16 * GIB));
        fixes.iter().any(|fix| fix.what.contains("for each of 24 iterations"))
    };
    // As many, one less beside the loop, two at a time; nobody knows.
    assert!([Some(&[24][..]), Some(&[400, 23]), Some(&[12]), None].into_iter().all(says_trips));
    // 24 is a batch.
    assert!(!says_trips(Some(&[400, 63])));
}

#[test]
fn blocks_of_pairs_stand_before_a_batch_that_there_need_not_be() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let first = |other: i64| {
        let held = Holding {
            buffers: vec![
                buffer(What::Temporary, 18 * GIB, "f32[4,34816,34816]", "scores"),
                buffer(What::Temporary, other * GIB, "f32[64,4096,512]", "values"),
            ],
            temporary_bytes: (18 + other) * GIB,
            gradient: Some(true),
            has_loop: Some(false),
            is_rematerialised: true,
            ..Holding::default()
        };
        all(&hbm(&message, &held, (20 + other) * GIB, 15 * GIB)).remove(0)
    };
    let blocks = first(1);
    assert_eq!(blocks.id, "blockwise");
    assert!(blocks.how.contains("jax.checkpoint"), "{}", blocks.how);
    // Where other values fill as much, a batch is surer.
    assert_eq!(first(18).id, "smaller_batch");
}

#[test]
fn what_a_loop_keeps_is_no_matrix_of_pairs() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let held = Holding {
        buffers: vec![
            buffer(What::Temporary, 16 * GIB, "bf16[8192,1024,1024]", "dynamic-update-slice.1"),
            buffer(What::Temporary, 16 * GIB, "bf16[8192,1024,1024]", "dynamic-update-slice.2"),
        ],
        temporary_bytes: 32 * GIB,
        has_loop: Some(true),
        ..Holding::default()
    };
    let fixes = all(&hbm(&message, &held, 32 * GIB, 15 * GIB));
    assert_eq!((fixes[0].id, fixes[0].times), ("checkpoint_in_groups", Some(91)));
    assert!(fixes.iter().all(|fix| fix.id != "blockwise"));
}

#[test]
fn f64_is_named_where_a_program_has_it() {
    let message = Message::new(Form::HbmTotal, "hbm");
    let held = |doubles: &[&[i64]]| Holding {
        buffers: vec![
            buffer(What::Argument, 2 * GIB, "f64[16384,16384]{1,0:T(8,128)}", "a"),
            buffer(What::Temporary, 8 * GIB, "f32[8,16384,16384]", "broadcast.1"),
            buffer(What::Temporary, GIB, "f32[8,512,65536]", "other"),
        ],
        argument_bytes: 2 * GIB,
        temporary_bytes: 9 * GIB,
        doubles: doubles.iter().map(|extents| extents.to_vec()).collect(),
        ..Holding::default()
    };
    let known = held(&[&[16384, 16384]]);
    let fixes = all(&hbm(&message, &known, 11 * GIB, 8 * GIB));
    // Half of the argument, and one of the eight parts of the product.
    assert_eq!((fixes[0].id, fixes[0].saves_bytes, fixes[0].fits), ("no_f64", Some(8 * GIB), Some(true)));
    assert_eq!(fixes[0].buffers, [0, 1]);
    // Without the module only what says f64 itself counts.
    let alone = held(&[]);
    assert_eq!(fix(&all(&hbm(&message, &alone, 11 * GIB, 8 * GIB)), "no_f64").saves_bytes, Some(GIB));
}
