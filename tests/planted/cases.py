"""Thirteen runs with one planted fault each, and the run without it.

The forge (see run.py) compiles each model for its TPU topology and simulates the timeline. A case is a base scenario and what
changes it; `first` lists the findings of which one must rank first among the causes, `what` a word that its claim must hold.
"""

MIB, GIB = 1 << 20, 1 << 30


def base(chip, program, hosts, chips, steps, **more):
    """A quiet run: no slow step, no slow host, input that is there in time."""
    return dict(chip=chip, hosts=hosts, chips_per_host=chips, chips_profiled=min(chips, 2), noise=0.012, step_jitter=0.006,
                host_pattern="w-{}", input=dict(wait_s=0.00025, workers=2, batch_bytes=2 * MIB), resident_bytes=2 * GIB,
                temp_bytes=700 * MIB, out_shapes=[["f32[]", 512]], runs=[dict(program=program, count=steps)], seed=7, **more)


MODELS = {
    "dense_v5e16": dict(model="dense_train", topology="v5e:4x4", params=dict(
        layers=2, d=2048, heads=16, ff=8192, vocab=32000, batch=32, seq=2048, fsdp=4, tp=4)),
    "dense_v6e4": dict(model="dense_train", topology="v6e:2x2", params=dict(
        layers=4, d=1024, heads=8, ff=4096, vocab=16000, batch=16, seq=1024, fsdp=4, tp=1)),
    "dense_v6e4_tp": dict(model="dense_train", topology="v6e:2x2", params=dict(
        layers=4, d=1024, heads=8, ff=4096, vocab=16000, batch=16, seq=1024, fsdp=1, tp=4)),
    # Narrow layers: little to compute for the bytes, so that copies weigh.
    "narrow_v6e1": dict(model="dense_train", topology="v6e:1x1", params=dict(
        layers=4, d=1024, heads=4, ff=512, vocab=2000, batch=64, seq=512, fsdp=1, tp=1)),
    "narrow_v6e1_copies": dict(model="dense_train", topology="v6e:1x1", params=dict(
        layers=4, d=1024, heads=4, ff=512, vocab=2000, batch=64, seq=512, fsdp=1, tp=1, extra_copies=2)),
    "moe_v5p4": dict(model="moe_train", topology="v5p:2x2x1", params=dict(
        layers=4, d=2048, ff=4096, experts=16, heads=16, vocab=32000, batch=16, seq=1024, ep=4, cap=1.25)),
    "cnn_v6e32": dict(model="cnn_dp", topology="v6e:4x8", params=dict(
        blocks=8, width=256, img=224, classes=1000, batch=1024, dp=32)),
}

BASES = {
    "dense_v5e16": base("v5e", "dense_v5e16", 4, 4, 10),
    "dense_v6e4": base("v6e", "dense_v6e4", 1, 4, 10),
    "narrow_v6e1": base("v6e", "narrow_v6e1", 1, 1, 10),
    "moe_v5p4": base("v5p", "moe_v5p4", 1, 4, 8),
    "cnn_v6e32": base("v6e", "cnn_v6e32", 8, 4, 8),
}


def case(name, of, first, what="", same_shape=True, **change):
    """`same_shape` says that the ceiling must come near what removing the fault gives: the rest of the run is the same."""
    return dict(name=name, base=of, first=first, what=what, same_shape=same_shape, change=change)


CASES = [
    case("straggler_cnn", "cnn_v6e32", ["straggler"], "w-3", straggler=dict(host=3, factor=1.5)),
    case("straggler_dense", "dense_v5e16", ["straggler"], "w-2", straggler=dict(host=2, factor=1.5)),
    case("slow_step", "dense_v5e16", ["step_jitter"], "7", slow_steps={"7": 5.0}),
    case("slow_steps", "cnn_v6e32", ["step_jitter"], "3", slow_steps={"3": 4.0, "5": 4.0}),
    case("input_slow", "dense_v6e4", ["input_bound"], "input", block=True,
         input=dict(wait_s=0.0175, wait_sd=0.0011, workers=4, bound=True, read_share=0.35, batch_bytes=8 * MIB)),
    case("input_short", "cnn_v6e32", ["input_bound"], "input", block=True,
         input=dict(wait_s=0.012, wait_sd=0.0006, workers=2, bound=True, read_share=0.35, batch_bytes=8 * MIB)),
    case("slow_convolution", "cnn_v6e32", ["below_roofline"], "conv_general_dilated",
         inject={r"\(train_step\)/jvp\(\)/while/body/closed_call/residual_block/conv_general_dilated$": 5.0}),
    # Half of all ops, and most of those that they could be compared with: the ceiling comes out too low.
    case("slow_convolutions", "cnn_v6e32", ["below_roofline"], "conv_general_dilated", same_shape=False,
         inject={r"transpose\(jvp\(\)\)/while/body/.*conv_general_dilated$": 3.0}),
    case("slow_expert", "moe_v5p4", ["below_roofline"], "expert_mlp",
         inject={r"expert_mlp/ecf,efd->ecd/dot_general$": 6.0}),
    case("slow_logits", "dense_v5e16", ["below_roofline"], "fusion",
         inject={r"\(train_step\)/jvp\(logits\)/bsd,vd->bsv/dot_general$": 10.0}),
    case("extra_copies", "narrow_v6e1", ["data_formatting", "unfused_relayouts", "defensive_copies"], "",
         runs=[dict(program="narrow_v6e1_copies", count=10)]),
    case("host_dispatch", "dense_v6e4", ["host_bound", "launch_bound", "blocking_reads"], "", block=True, dispatch_s=0.006),
    case("sharding", "dense_v6e4", ["exposed_communication"], "", same_shape=False, runs=[dict(program="dense_v6e4_tp", count=10)]),
]

# Causes that are true of the runs without a fault, and may rank there.
CLEAN = {
    "dense_v5e16": ["exposed_communication"],
    "dense_v6e4": ["exposed_communication"],
    "moe_v5p4": ["exposed_communication"],
}
