use super::*;
use crate::message::{Form, What};

fn one(text: &str) -> Message {
    let all = read(text);
    main_message(&all).cloned().unwrap_or_else(|| panic!("nothing read of {text}"))
}

fn numbers(message: &Message) -> (Option<i64>, Option<i64>, Option<i64>) {
    (message.required.map(|s| s.bytes), message.limit.map(|s| s.bytes), message.over().map(|s| s.bytes))
}

const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;

#[test]
fn the_total_of_hbm() {
    let read = one(
        "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO temporaries (24.00G) exceeds available HBM (16.00G). HLO module: jit_step.\nSee https://openxla.org/xla/errors/error_1000 for more details.",
    );
    assert_eq!(
        (read.form, read.space.as_str(), read.blamed.as_str()),
        (Form::HbmTotal, "hbm", "HLO temporaries")
    );
    assert_eq!(
        (read.status.as_str(), read.code.as_str(), read.code_name.as_str()),
        ("RESOURCE_EXHAUSTED", "E1000", "CompileTimeHbmOom")
    );
    assert_eq!(read.module, "jit_step");
    assert_eq!(numbers(&read), (Some(24 * GIB), Some(16 * GIB), Some(8 * GIB)));
}

const SCOPED: &str = "E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem while allocating on stack for %k.1 = (f32[8,128]{1,0:T(8,128)}, bf16[4]{0}) custom-call(%x.1, %y), custom_call_target=\"tpu_custom_call\", operand_layout_constraints={f32[8,128]{1,0}, s32[4]{0}}, frontend_attributes={kernel_metadata={}}, metadata={op_name=\"jit(f)/layer_3/k/pallas_call\" stack_frame_id=3}. Scoped allocation with size 64.00M and limit 16.00M exceeded scoped vmem limit by 48.00M. It should not be possible to run out of scoped vmem - \nSee https://openxla.org/xla/errors/error_1001 for more details.";

#[test]
fn the_stack_of_a_kernel() {
    let read = one(SCOPED);
    assert_eq!((read.form, read.space.as_str(), read.code.as_str()), (Form::ScopedStack, "vmem", "E1001"));
    assert_eq!(numbers(&read), (Some(64 * MIB), Some(16 * MIB), Some(48 * MIB)));
    let named = read.named.as_ref().unwrap();
    assert_eq!((named.name.as_str(), named.opcode.as_str()), ("k.1", "custom-call"));
    assert_eq!(named.shape, "(f32[8,128]{1,0:T(8,128)}, bf16[4]{0})");
    assert_eq!(named.op_name, "jit(f)/layer_3/k/pallas_call");
    assert_eq!(named.operands, ["f32[8,128]{1,0}", "s32[4]{0}"]);
    assert!(named.is_kernel());
    assert_eq!(read.buffers.len(), 1);
    assert_eq!(super::super::read(SCOPED).len(), 1, "its numbers are not a second message");
    let fusion = one(
        "Ran out of memory in memory space vmem while allocating on stack for %fusion = bf16[4]{0} fusion(%a), kind=kLoop. Scoped allocation with size 64.0K and limit 16.0K exceeded scoped vmem limit by 48.0K.",
    );
    assert!(!fusion.named.as_ref().unwrap().is_kernel());
    assert_eq!(numbers(&fusion), (Some(65536), Some(16384), Some(49152)));
}

#[test]
fn other_words_for_scoped_memory() {
    let bytes =
        one("Mosaic scoped allocation with size 45108224 bytes exceeds the scoped vmem limit of 33554432");
    assert_eq!(numbers(&bytes), (Some(45_108_224), Some(32 * MIB), Some(45_108_224 - 32 * MIB)));
    let short = one("Mosaic failed to compile TPU kernel: Insufficient scoped vmem: 44.00M > 32M");
    assert_eq!(numbers(&short), (Some(44 * MIB), Some(32 * MIB), Some(12 * MIB)));
    // An instruction without numbers has none.
    let bare = one(
        "Ran out of memory in memory space vmem while allocating on stack for %x.2 = bf16[2048,4096]{1,0} custom-call(...) ...",
    );
    assert_eq!((bare.form, numbers(&bare)), (Form::ScopedStack, (None, None, None)));
}

const LISTED: &str = "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 30.21G of 15.48G hbm. Exceeded hbm capacity by 14.73G.

Total hbm usage >= 30.73G:
    reserved        530.00M 
    program          14.31G 
    arguments        15.90G 

Output size 1.0K; shares 0B with arguments.

Program hbm requirement 14.31G:
    global           481.0K
    scoped           512.0K
    HLO temp         14.31G (100.0% utilization: Unpadded (14.25G) Padded (14.25G), 0.4% fragmentation (62.60M))

  Largest program allocations in hbm:

  1. Size: 14.00G 
     Operator: op_name=\"jit(generate)/model/layers/7/mlp/convert[new_dtype=bfloat16 weak_type=False]\" source_file=\"/home/u/model.py\" source_line=177
     Shape: s32[29360128,10]{1,0:T(8,128)}
     Unpadded size: 1.09G
     Extra memory due to padding: 12.91G (12.8x expansion)
     XLA label: %iota.2 = s32[29360128,10]{1,0:T(8,128)} iota(), iota_dimension=1
     Allocation type: HLO temp
     ==========================

  2. Size: 144.00M
     Operator: op_type=\"OneHot\" op_name=\"model/loss/one_hot\"
     Shape: bf16[3072,24576]{1,0:T(8,128)(2,1)}
     Unpadded size: 144.00M
     XLA label: convert.15982 = convert(param.72)
     Allocation type: parameter
     ==========================
";

#[test]
fn lists_of_older_releases() {
    let read = one(LISTED);
    assert_eq!(read.form, Form::LargestAllocations);
    assert_eq!(numbers(&read), (Some(32_437_740_503), Some(16_621_523_436), Some(15_816_217_068)));
    assert_eq!(read.part("total", "arguments").map(|s| s.bytes), Some(17_072_495_002));
    assert_eq!(read.part("total", "reserved").map(|s| s.bytes), Some(530 * MIB));
    assert_eq!(read.part("output", "shared").map(|s| s.bytes), Some(0));
    assert_eq!(read.part("output", "size").map(|s| s.bytes), Some(1024));
    assert!(read.part("program", "HLO temp").is_some() && read.part("program", "global").is_some());
    let [first, second] = read.buffers.as_slice() else { panic!("{:?}", read.buffers) };
    assert_eq!((first.what, first.name.as_str()), (What::Temporary, "iota.2"));
    assert_eq!(first.size.map(|s| s.bytes), Some(14 * GIB));
    assert_eq!(first.source, "/home/u/model.py:177");
    assert_eq!(first.op_name, "jit(generate)/model/layers/7/mlp/convert[new_dtype=bfloat16 weak_type=False]");
    assert_eq!(first.unpadded.map(|s| s.bytes), Some(1_170_378_588));
    assert_eq!((second.what, second.op_name.as_str()), (What::Argument, "model/loss/one_hot"));
}

#[test]
fn logs_and_tracebacks_around_a_message_do_no_harm() {
    let prefix = "(EngineCore pid=106339) ERROR 06-03 07:41:11 [core.py:1184] ";
    let logged: String = LISTED.lines().map(|line| format!("{prefix}{line}\n")).collect();
    let escaped = format!("{{\"error\": \"{}\"}}", LISTED.replace('"', "\\\"").replace('\n', "\\n"));
    let traced = format!(
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n{LISTED}\nTraceback (most recent call last):\n x"
    );
    let coloured = format!("\u{1b}[31m{LISTED}\u{1b}[0m");
    let plain = one(LISTED);
    for text in [logged, escaped, traced, coloured] {
        let read = one(&text);
        assert_eq!(read.buffers, plain.buffers, "{text}");
        assert_eq!(read.parts, plain.parts, "{text}");
        assert_eq!(numbers(&read), numbers(&plain));
    }
}

#[test]
fn windows_of_a_kernel() {
    let read = one(
        "Ran out of memory in memory space vmem. Used 256.00M of 128.00M vmem. Exceeded vmem capacity by 128.00M.\n\nProgram vmem requirement 256.00M:\n    scoped          256.00M\n\n  Largest program allocations in vmem:\n\n  1. Size: 128.00M\n     Operator: op_name=\"jit(f)/k/pallas_call\"\n     Shape: u8[134217728]{0}\n     Unpadded size: 128.00M\n     Tag: output window allocation for operator output 1. The window shape is f32[2048,8192], while the full shape is f32[65536,8192]. The u8 shape/size shown above represents the raw byte size of this window in VMEM. This allocation has 2 buffering levels.\n     XLA label: k.1 = custom-call(x.1)\n     Allocation type: scoped\n     ==========================\n\n [type.googleapis.com/x='\\x08Ran out of memory in memory space vmem. Used 256.00M...[truncated]']",
    );
    let [buffer] = read.buffers.as_slice() else { panic!("{:?}", read.buffers) };
    assert_eq!((buffer.what, buffer.levels, buffer.operand), (What::OutputWindow, Some(2), Some(1)));
    assert_eq!((buffer.window.as_str(), buffer.full.as_str()), ("f32[2048,8192]", "f32[65536,8192]"));
    assert_eq!(numbers(&read), (Some(256 * MIB), Some(128 * MIB), Some(128 * MIB)));
    assert_eq!(read.part("program", "scoped").map(|s| s.bytes), Some(256 * MIB));
}

#[test]
fn old_lists_without_sizes() {
    let read = one(
        "Compilation failure: Ran out of memory in memory space vmem. It should not be possible to run out of vmem - please file a bug against XLA.\n\nLargest program allocations in vmem:\n\n  XLA label: register allocator spill slots\n  Allocation type: scoped\n\n  XLA label: %fusion.177 = (bf16[], f32[256]{0}) fusion(f32[256]{0} %a), kind=kOutput\n  Allocation type: scoped\n",
    );
    assert_eq!(numbers(&read), (None, None, None));
    let names: Vec<_> = read.buffers.iter().map(|b| (b.what, b.name.as_str())).collect();
    assert_eq!(names, [(What::Spills, "register allocator spill slots"), (What::Unknown, "fusion.177")]);
}

#[test]
fn one_allocation_that_is_too_large() {
    let read = one(
        "RESOURCE_EXHAUSTED: Allocation (size=2097152) would exceed memory (size=1048576) :: #allocation3 [shape = 'u8[2097152]{0}', space=smem, size = 0x200000, scoped, tag = 'prefetched SMEM operand 0'] :: prefetch.1\nmore",
    );
    assert_eq!((read.form, read.space.as_str()), (Form::OneAllocation, "smem"));
    assert_eq!(numbers(&read), (Some(2 * MIB), Some(MIB), Some(MIB)));
    let [buffer] = read.buffers.as_slice() else { panic!() };
    assert_eq!(
        (buffer.what, buffer.operand, buffer.name.as_str()),
        (What::Prefetched, Some(0), "prefetch.1")
    );
    let window = one(
        "Allocation (size=268435456) would exceed memory (size=67108864) :: #allocation3 [shape = 'u8[268435456]{0}', space=vmem, size = 0x10000000, scoped, tag = 'input window allocation for operator input 0. The window shape is f32[4096,8192], while the full shape is f32[32768,8192]. The u8 shape/size shown above represents the raw byte size of this window in VMEM. This allocation has 2 buffering levels.'] :: _lambda_.1",
    );
    assert_eq!((window.buffers[0].what, window.buffers[0].levels), (What::InputWindow, Some(2)));
    assert_eq!(window.buffers[0].window, "f32[4096,8192]");
}

#[test]
fn offsets_of_a_sparse_core() {
    let read = one(
        "INTERNAL: Failed to run MLO pass pipeline.f.6:56:1: error: 'memref.alloca' op E3000: CompileTimeSparseCoreAllocationFailure: current allocation offset upper bound (4194303 words) exceeds the legitimate user allocatable offset upper bound (1048575 words) in memory space spmem when allocating 4194304 words\nf.6:56:1: note: see current operation: %47 = \"memref.alloca\"() : () -> memref<2048x128xf32, #sc_tpu.memory_space<tile_spmem>>\n",
    );
    assert_eq!(
        (read.form, read.space.as_str(), read.status.as_str(), read.code.as_str()),
        (Form::SparseCoreOffset, "spmem", "INTERNAL", "E3000")
    );
    assert_eq!(read.words, Some((4_194_304, 1_048_575)));
    assert_eq!(numbers(&read), (Some(16 * MIB), Some(4 * MIB - 4), Some(12 * MIB + 4)));
    assert_eq!(read.buffers[0].shape, "2048x128xf32");
}

#[test]
fn programs_and_buffers_at_run_time() {
    let load = one(
        "RESOURCE_EXHAUSTED: Error loading program 'jit__multi_slice': Attempting to reserve 6.14G at the bottom of memory. That was not possible. There are 5.00G free, 0B reserved, and 4.00G reservable.",
    );
    assert_eq!((load.form, load.module.as_str()), (Form::ProgramLoad, "jit__multi_slice"));
    assert_eq!(load.limit.map(|s| s.bytes), Some(4 * GIB));
    let cut = one(
        "Error loading program 'a': Attempting to reserve 6.14G at the bottom of memory. That was not possible.",
    );
    assert_eq!(cut.limit, None);
    let buffer = one(
        "RuntimeError: Bad StatusOr access: RESOURCE_EXHAUSTED: E0100: RuntimeBufferAllocationFailure: Error allocating device buffer: Attempting to allocate 129.50M. That was not possible. There are 78.17M free.; (0x0x0_HBM0)",
    );
    assert_eq!(
        (buffer.form, buffer.device.as_str(), buffer.code.as_str()),
        (Form::RuntimeAllocation, "0x0x0_HBM0", "E0100")
    );
    assert_eq!(buffer.limit.map(|s| s.bytes), Some(81_967_186));
    let table = one(
        "Resource exhausted: From /job:tpu_worker/replica:0/task:0:\nAttempting to reserve 3.95G at the bottom of memory. That was not possible. There are 1.92G free, 0B reserved, and 1.92G reservable.; \nHBM capacity 8.00G:\n       Top-of-Memory reserved:  529.00M (     554,696,704 bytes)\n          Currently allocated:    6.08G (   6,532,939,776 bytes)\n          Program requirement:    3.95G (   4,237,689,856 bytes)\n                               ------------\n      Available after request:   -2.55G (  -2,735,391,744 bytes)\n; attempting reservation for program memory\n\nTotal hbm usage >= 10.94G:\n    reserved(Infeed/Outfeed/Continuations) 529.00M \n    heap allocations (without fragmentation)   6.08G \n    program                    4.34G \n",
    );
    assert_eq!(table.part("capacity", "Currently allocated").map(|s| s.bytes), Some(6_532_939_776));
    assert_eq!(table.part("total", "program").map(|s| s.bytes), Some(4_660_039_516));
    assert_eq!(table.status, "RESOURCE_EXHAUSTED");
    // What is a job of something else is no message.
    assert!(read("Attempting to reserve 3 units of SKU 7; Attempting to allocate 5 GPUs").is_empty());
}

#[test]
fn allocators_of_gpus() {
    let xla = one(
        "2025-05-18 21:59:55.086788: W external/xla/xla/tsl/framework/bfc_allocator.cc:310] Allocator (GPU_0_bfc) ran out of memory trying to allocate 3.37GiB with freed_by_count=0. The caller indicates that this is not a failure, but this may mean that there could be performance gains.\nI0000 bfc_allocator.cc:1128] Stats: \nLimit:                        89.77GiB\nInUse:                        81.00GiB\njaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 7406166528 bytes.\nBufferAssignment OOM Debugging.\nBufferAssignment stats:\n             parameter allocation:  372.76MiB\n              constant allocation:    48.5KiB\n        maybe_live_out allocation:    9.64GiB\n     preallocated temp allocation:    4.44GiB\n                 total allocation:   14.44GiB\n              total fragmentation:  680.30MiB (4.60%)\nPeak buffers:\n        Buffer 1:\n                Size: 6.00MiB\n                Operator: op_name=\"jit(concatenate)/concatenate[dimension=0]\" source_file=\"/m/models.py\" source_line=689\n                XLA Label: concatenate\n                Shape: f32[4096,128,3]\n                ==========================\n\n        Buffer 2:\n                Size: 384.0KiB\n                Entry Parameter Subshape: f32[256,128,3]\n                ==========================\n",
    );
    assert_eq!(
        (xla.form, xla.space.as_str(), xla.required.map(|s| s.bytes)),
        (Form::RuntimeAllocation, "gpu", Some(7_406_166_528))
    );
    assert!(!xla.is_warning);
    assert_eq!(xla.part("assignment", "preallocated temp allocation").map(|s| s.bytes), Some(4_767_413_699));
    assert_eq!(xla.buffers.iter().map(|b| b.what).collect::<Vec<_>>(), [What::Unknown, What::Argument]);
    assert_eq!(xla.buffers[0].source, "/m/models.py:689");
    assert_eq!(xla.limit.map(|s| s.bytes), Some(9_416_715_796));
    let request = one(
        "RESOURCE_EXHAUSTED: Failed to allocate request for 32.00MiB (33554432B) on device ordinal 0: while running replica 0",
    );
    assert_eq!(
        (request.required.map(|s| s.bytes), request.device.as_str(), request.space.as_str()),
        (Some(32 * MIB), "0", "device")
    );
    let driver =
        one("failed to allocate 2.2KiB (2250 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory");
    assert_eq!((driver.required.map(|s| s.bytes), driver.space.as_str()), (Some(2250), "gpu"));
    let tensor = one(
        "ResourceExhaustedError: OOM when allocating tensor with shape[256,64,112,112] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
    );
    assert_eq!(tensor.required.map(|s| s.bytes), Some(256 * 64 * 112 * 112 * 4));
    assert_eq!(tensor.device, "/job:localhost/replica:0/task:0/device:GPU:0");
    let torch = one(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 14.21 GiB already allocated; 1.00 GiB free; 14.30 GiB reserved in total by PyTorch)",
    );
    assert_eq!(numbers(&torch), (Some(2 * GIB), Some(GIB), Some(GIB)));
    assert_eq!(torch.part("allocator", "capacity").map(|s| s.bytes), Some(16_943_645_983));
    let newer = one(
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.25 GiB is free. Process 1 has 77.9 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch",
    );
    assert_eq!(numbers(&newer), (Some(2 * GIB), Some(GIB + GIB / 4), Some(GIB - GIB / 4)));
}

#[test]
fn a_failure_goes_before_a_warning_and_repetitions_count_once() {
    let text = format!(
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.25GiB with freed_by_count=0. The caller indicates that this is not a failure\n{SCOPED}\n{SCOPED}\n"
    );
    let all = read(&text);
    assert_eq!(all.len(), 2);
    assert!(all[0].is_warning);
    let main = main_message(&all).unwrap();
    assert_eq!((main.form, main.line), (Form::ScopedStack, 3));
}

#[test]
fn texts_without_a_message_have_none() {
    for text in [
        "",
        "all is well",
        "Ran out of memory",
        "Ran out of memory on ",
        "Allocation (size=",
        "Traceback\nValueError: shapes",
        "Tried to allocate 3 seats",
    ] {
        assert!(read(text).is_empty(), "{text}");
    }
}

/// Every text, cut anywhere and with any byte changed, is read or refused; nothing is believed that is not there.
#[test]
fn damage_is_survived() {
    let mut seed = 7u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below.max(1)
    };
    for text in [LISTED, SCOPED] {
        for at in (0..text.len()).step_by(3) {
            let cut = text.get(..at).unwrap_or_default();
            assert!(read(cut).len() <= 2);
        }
        for _ in 0..2000 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..random(6) {
                let at = random(bytes.len());
                bytes[at] = b"(){}[]=.,:%#0 \n9\"'x-\xc3"[random(21)];
            }
            let changed = String::from_utf8_lossy(&bytes).into_owned();
            assert!(read(&changed).len() <= 4);
        }
    }
}
