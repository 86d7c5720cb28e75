use super::*;

const GIB: i64 = 1 << 30;

const ASSIGNMENT: &str = "BufferAssignment:\n\
    allocation 0: size 4, color 2, page 0, preallocated-temp:\n \
    value: <11 copy-start{2} @2> (size=4,offset=0): u32[]{:S(2)}\n\
    allocation 1: size 2147483648, page 0, parameter 0, shape |f32[16384,32768]| at ShapeIndex {}:\n \
    value: <12 cache.1 @0> (size=2147483648,offset=0): f32[16384,32768]{1,0:T(8,128)}\n\
    allocation 2: size 1073741824, page 0, parameter 1, shape |f32[16384,16384]| at ShapeIndex {}, maybe-live-out:\n \
    value: <13 w.1 @0> (size=1073741824,offset=0): f32[16384,16384]{1,0:T(8,128)}\n\
    allocation 3: size 2147483648, page 0, maybe-live-out:\n \
    value: <14 copy.3 @0> (size=2147483648,offset=0): f32[16384,32768]{1,0:T(8,128)}\n \
    value: <15 update_fusion @0> (size=2147483648,offset=0): f32[16384,32768]{1,0:T(8,128)}\n\
    allocation 4: size 512, page 0, constant:\n \
    value: <16 constant.4 @0> (size=512,offset=0): s32[]{:T(128)}\n\
    allocation 5: size 64, page 0, thread-local:\n \
    value: <1 reduce.0 @0> (size=64,offset=0): f32[]{:T(128)}\n\
    allocation 6: size 3221225472, page 0, preallocated-temp:\n \
    value: <20 while.4{2} @0> (size=2147483648,offset=0): f32[512,1024,1024]{2,1,0:T(8,128)}\n \
    value: <21 dynamic-update-slice_fusion @0> (size=2147483648,offset=0): f32[512,1024,1024]{2,1,0:T(8,128)}\n \
    value: <22 tanh.2 @0> (size=1073741824,offset=1073741824): f32[16384,16384]{1,0:T(8,128)}\n \
    value: <23 all-gather.5 @0> (size=1073741824,offset=2147483648): f32[16384,16384]{1,0:T(8,128)}\n\n";

#[test]
fn a_buffer_assignment_says_what_fills_hbm() {
    let held = Holding::of_texts(ASSIGNMENT, None).unwrap();
    assert_eq!(held.argument_bytes, 3 * GIB);
    assert_eq!(held.result_bytes, 2 * GIB);
    assert_eq!(held.temporary_bytes, 3 * GIB);
    assert_eq!(held.constant_bytes, 512);
    assert_eq!(held.total_bytes(), 8 * GIB + 512, "other memories and what each call has are not counted");
    let names: Vec<_> = held.buffers.iter().map(|b| (b.what.word(), b.name.as_str(), b.is_donated)).collect();
    // Of values at one place the one whose name says most; what overlaps with a larger one does not count beside it.
    let expected = [
        ("argument", "cache.1", false),
        ("result", "update_fusion", false),
        ("temporary", "dynamic-update-slice_fusion", false),
        ("argument", "w.1", true),
        ("temporary", "all-gather.5", false),
        ("constant", "constant.4", false),
    ];
    assert_eq!(names, expected);
}

#[test]
fn the_module_adds_names_and_lines() {
    let module = Module::parse(
        "HloModule jit_f, is_scheduled=true, num_partitions=4\n\nFileNames\n1 \"train.py\"\n\nFunctionNames\n1 \"step\"\n\nFileLocations\n1 {file_name_id=1 function_name_id=1 line=42}\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\nENTRY %main (cache.1: f32[16384,32768], w.1: f32[16384,16384]) -> f32[16384,32768] {\n  %w.1 = f32[16384,16384]{1,0} parameter(1)\n  %cache.1 = f32[16384,32768]{1,0} parameter(0), metadata={op_name=\"cache\"}\n  ROOT %copy.3 = f32[16384,32768]{1,0} copy(%cache.1), metadata={op_name=\"jit(f)/layer_3/mlp/copy\" stack_frame_id=1}\n}\n",
    )
    .unwrap();
    let held = Holding::of_texts(ASSIGNMENT, Some(&module)).unwrap();
    let result = held.buffers.iter().find(|buffer| buffer.what == What::Result).unwrap();
    assert_eq!((result.name.as_str(), result.op_name.as_str()), ("copy.3", "jit(f)/layer_3/mlp/copy"));
    assert_eq!(result.source, "train.py:42");
    assert_eq!(held.partitions, Some(4));
    // The same from the module with its assignment, as a dump that is opened as a run has it.
    let mut module = module;
    module.buffer_assignment = Some(BufferAssignment::parse(ASSIGNMENT).unwrap());
    let buffers = Buffers::new(&module).unwrap();
    let run = Holding::of_program(&buffers);
    assert_eq!(run.argument_bytes, held.argument_bytes);
}

#[test]
fn what_cannot_be_read_is_refused() {
    assert!(
        matches!(Holding::of_texts("HloModule x", None), Err(Error::Usage(message)) if message.contains("line 1"))
    );
}

#[test]
fn a_usage_report_has_total_and_shapes() {
    let text = "Memory Space: default (color=0)\nTotal bytes: 25905684480 (24.13GiB)\n  cumulative_size;       size;       offset; used_by_n_values; shapes_list\n  ------------\n   16.00GiB( 66%);   16.00GiB;            0;                3; bf16[65536,65536], 2×s32[65536,65536]\n   24.00GiB( 99%);    8.00GiB;  17179869184;                2; 2×bf16[65536,65536]\n  The rest 32 values are less than 5% of the total size and not shown.\n\n\nMemory Space: vmem (color=1)\nTotal bytes: 7 (7B)\n   64.00GiB(100%);   64.00GiB;            0;                2; 2×bf16[65536,512]\n";
    let (total, buffers) = of_usage_report(text).unwrap();
    assert_eq!(total, 25_905_684_480);
    let shapes: Vec<_> = buffers.iter().map(|b| (b.shape.as_str(), b.size.unwrap().bytes)).collect();
    assert_eq!(shapes, [("s32[65536,65536]", 16 * GIB), ("bf16[65536,65536]", 8 * GIB)]);
    assert!(of_usage_report("nothing").is_none());
}
