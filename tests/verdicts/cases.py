"""A grid of runs of which is known what is wrong: kinds of fault x sizes x programs x seeds, and runs in which nothing is.

The forge compiles each program for its TPU topology and simulates the timeline (see ../forging.py). A kind says what changes a base,
which rules of `diagnose` name it truly, and a word that the first claim must hold. What removing a fault gives is the step time of
the run over that of the same base and seed without it: no rule knows it.
"""

MIB, GIB = 1 << 20, 1 << 30
# Rules that say what a program's design costs, collectives and waits for copies: true of most runs, and no fault.
INHERENT = ("exposed_communication", "exposed_copies")
# The same for one sort of a rule's findings, by rule and variant: steps that are as short as their launches.
INHERENT_VARIANTS = (("launch_bound", "at_pace"),)
# Chips that the forge does not have: v4 by its data sheet (275 TFLOP/s, 1.2 TB/s, 32 GiB, 6 links); the rates of its vector memory are guesses.
CHIPS = {
    "v4": dict(type="TPU v4", peak=275.0, hbm=1200.0, clock=1.05e9, vmem_rd=12000.0, vmem_wr=8400.0, hbm_gib=32, ici=45e9, megacore=1, cores=2, sc=4),
}


def base(chip, program, hosts, chips, steps, profiled=None, **more):
    """A quiet run: no slow step, no slow host, input that is there in time."""
    return dict(chip=chip, hosts=hosts, chips_per_host=chips, chips_profiled=profiled or chips, noise=0.012, step_jitter=0.006,
                host_pattern="w-{}", input=dict(wait_s=0.00025, workers=2, batch_bytes=2 * MIB), resident_bytes=2 * GIB,
                temp_bytes=700 * MIB, out_shapes=[["f32[]", 512]], runs=[dict(program=program, count=steps)], **more)


def dense(topology, layers, d, heads, ff, vocab, batch, seq, fsdp, tp, **more):
    return dict(model="dense_train", topology=topology, params=dict(
        layers=layers, d=d, heads=heads, ff=ff, vocab=vocab, batch=batch, seq=seq, fsdp=fsdp, tp=tp, **more))


# p5cb: a transformer whose learning rate comes from a callback to the host. The rules were made before the five below were looked at.
MODELS = {
    "p5cb": dense("v6e:2x2", 4, 1024, 8, 4096, 16000, 16, 1024, 4, 1, host_lr=True),
    "v5p8": dense("v5p:2x2x2", 6, 1536, 12, 6144, 24000, 16, 1024, 4, 2),
    "v6e8": dense("v6e:2x4", 3, 2048, 16, 8192, 32000, 32, 1024, 8, 1),
    "deep": dense("v5e:2x2", 10, 768, 12, 3072, 8000, 16, 512, 2, 2),
    "moe8": dict(model="moe_train", topology="v6e:2x4", params=dict(
        layers=2, d=1024, ff=4096, experts=8, heads=8, vocab=16000, batch=16, seq=1024, ep=8, cap=1.5)),
    "cnn8": dict(model="cnn_dp", topology="v5e:2x4", params=dict(blocks=6, width=128, img=128, classes=1000, batch=256, dp=8)),
    # A torus of three dimensions.
    "cnn16": dict(model="cnn_dp", topology="v5p:2x2x4", params=dict(blocks=5, width=128, img=112, classes=1000, batch=512, dp=16)),
}
# Programs, meshes and mechanisms that no rule was made on: weights gathered over sixteen chips by permutes, products split over four of
# eight chips, experts on a small and on a torus of three dimensions, convolutions on sixteen slow chips, decoding.
MODELS |= {
    "v6e16": dense("v6e:4x4", 4, 1024, 8, 4096, 32000, 32, 1024, 16, 1),
    "v5e8tp": dense("v5e:2x4", 4, 1024, 8, 4096, 16000, 16, 1024, 2, 4),
    "v5p4": dense("v5p:2x2x1", 4, 2048, 16, 8192, 32000, 16, 1024, 2, 2),
    "moe4": dict(model="moe_train", topology="v5e:2x2", params=dict(
        layers=2, d=1024, ff=2048, experts=8, heads=8, vocab=16000, batch=8, seq=1024, ep=4, cap=1.25)),
    "moe8p": dict(model="moe_train", topology="v5p:2x2x2", params=dict(
        layers=3, d=1536, ff=3072, experts=16, heads=12, vocab=32000, batch=16, seq=1024, ep=8, cap=1.25)),
    "cnn16e": dict(model="cnn_dp", topology="v5e:4x4", params=dict(blocks=4, width=128, img=112, classes=1000, batch=256, dp=16)),
    "dec4": dict(model="decode", topology="v6e:2x2", params=dict(
        layers=4, d=2048, heads=16, kv_heads=4, ff=8192, vocab=32000, batch=32, ctx=1024, steps=8, tp=4)),
}
# One chip, a mesh of six by two, 32 chips that split products by permutes, weights gathered over eight, experts on sixteen chips, a
# large decoder on eight, convolutions on 64 chips whose steps are shorter than a launch.
MODELS |= {
    "v6e1": dense("v6e:1x1", 4, 1024, 8, 4096, 16000, 8, 1024, 1, 1),
    "v5p12": dense("v5p:2x2x3", 3, 1536, 12, 6144, 24000, 24, 1024, 6, 2),
    "v6e32tp": dense("v6e:4x8", 2, 2048, 16, 8192, 32000, 32, 1024, 4, 8),
    "fsdp8": dense("v5e:2x4", 6, 1536, 12, 6144, 16000, 16, 1024, 8, 1),
    "fsdp8ev": dense("v5e:2x4", 2, 1536, 12, 6144, 16000, 16, 1024, 8, 1),
    "moe16": dict(model="moe_train", topology="v5e:4x4", params=dict(
        layers=2, d=1024, ff=2048, experts=16, heads=8, vocab=16000, batch=32, seq=512, ep=16, cap=1.25)),
    "moe4v6e": dict(model="moe_train", topology="v6e:2x2", params=dict(
        layers=3, d=1536, ff=4096, experts=8, heads=12, vocab=24000, batch=16, seq=1024, ep=4, cap=1.25)),
    "dec8": dict(model="decode", topology="v6e:2x4", params=dict(
        layers=4, d=4096, heads=32, kv_heads=8, ff=14336, vocab=32000, batch=32, ctx=2048, steps=6, tp=8)),
    "dec4e": dict(model="decode", topology="v5e:2x2", params=dict(
        layers=6, d=1024, heads=8, kv_heads=4, ff=4096, vocab=32000, batch=16, ctx=2048, steps=8, tp=4)),
    "cnn64": dict(model="cnn_dp", topology="v5e:8x8", params=dict(blocks=4, width=128, img=112, classes=1000, batch=512, dp=64)),
    "cnn16v6e": dict(model="cnn_dp", topology="v6e:4x4", params=dict(blocks=6, width=256, img=128, classes=1000, batch=512, dp=16)),
}
# Compiled for faults that were drawn at random: weights gathered over four and eight, products split over eight, experts, convolutions of
# features that do not fill a matrix unit, a decoder whose messages are all small.
MODELS |= {
    "v6e16t": dense("v6e:4x4", 4, 1536, 12, 6144, 24000, 32, 1024, 4, 4),
    "v6e8tp": dense("v6e:2x4", 4, 2048, 16, 8192, 16000, 8, 1024, 1, 8),
    "fsdp8p": dense("v5p:2x2x2", 5, 1024, 8, 4096, 32000, 16, 2048, 8, 1),
    "moe8e": dict(model="moe_train", topology="v5e:2x4", params=dict(
        layers=3, d=1536, ff=3072, experts=8, heads=12, vocab=24000, batch=16, seq=1024, ep=8, cap=1.25)),
    "cnn4": dict(model="cnn_dp", topology="v6e:2x2", params=dict(blocks=5, width=192, img=160, classes=1000, batch=256, dp=4)),
    "dec8p": dict(model="decode", topology="v5p:2x2x2", params=dict(
        layers=4, d=3072, heads=24, kv_heads=8, ff=8192, vocab=32000, batch=16, ctx=2048, steps=6, tp=8)),
}
# A decoder whose messages are all small, convolutions that do not fill a matrix unit, experts on slow chips.
MODELS |= {
    "decf": dict(model="decode", topology="v5e:2x4", params=dict(
        layers=5, d=2560, heads=24, kv_heads=8, ff=7680, vocab=32000, batch=8, ctx=4096, steps=5, tp=8)),
    "cnnf": dict(model="cnn_dp", topology="v5p:2x2x1", params=dict(blocks=4, width=96, img=96, classes=500, batch=128, dp=4)),
    "moef": dict(model="moe_train", topology="v5e:2x4", params=dict(
        layers=2, d=1280, ff=2560, experts=16, heads=10, vocab=20000, batch=16, seq=768, ep=8, cap=2.0)),
}
# Llama 3 of 8 billion parameters, weights split over eight chips: its compiled text was published by others, and is no model of the forge's. Four
# layers run in place of 32, and fewer blocks of the loss.
MODELS["llama8"] = dict(model="llama3_text", topology="v6e:2x4", params={})
TEXTS = {
    "llama8": ("../traces/hlo/llama3-8b-train-step.v6e-8.after_optimizations.txt.gz", {
        "constant.1559": (32, 4), "constant.1599": (32, 4), "constant.1518": (32, 2), "constant.1539": (32, 2),
        "constant.1486": (63, 3), "constant.1501": (63, 3)}),
}
# Programs that the forge has no builders for (models.py beside this file): a U-Net, an encoder with a decoder, embeddings that are exchanged,
# patches of images, a state-space model, adapters, messages along the edges of a graph, sequences split over chips, a policy that acts
# and learns, experts on one axis of two.
def own(model, topology, **params):
    return dict(model=model, topology=topology, params=params)


MODELS |= {
    "unet": own("diffusion", "v6e:2x2", width=128, img=128, batch=128, dp=4, heads=4),
    "trans": own("translate", "v5e:2x4", layers=3, d=1024, heads=8, ff=4096, vocab=32000, batch=32, src=512, tgt=512, data=4, tensor=2),
    "reco": own("recommend", "v6e:2x4", tables=32, rows=100000, d=128, dense=128, hidden=2048, batch=65536, chips=8),
    "vit16": own("vit", "v5p:2x2x4", layers=4, d=1024, heads=16, img=224, patch=16, batch=512, classes=1000, fsdp=16),
    "ssm4": own("ssm", "v5e:2x2", layers=3, d=1024, state=128, batch=16, seq=1024, vocab=16000, dp=4),
    "lora8": own("lora", "v6e:2x4", layers=4, d=2048, heads=16, ff=8192, vocab=32000, rank=16, batch=32, seq=1024, data=2, tensor=4),
    "gnn4": own("gnn", "v4:2x2x1", nodes=20000, edges=160000, d=256, layers=3, dp=4),
    "ctx16": own("context", "v5e:4x4", layers=2, d=1024, heads=8, kv_heads=2, ff=4096, vocab=16000, seq=8192, data=2, ring=8),
    "act1": own("act", "v6e:1x1", layers=4, d=2048, obs=512, actions=64, batch=32768, dp=1),
    "learn1": own("learn", "v6e:1x1", layers=4, d=2048, obs=512, actions=64, batch=65536, dp=1),
    "exp8": own("experts2", "v5p:2x2x2", layers=3, d=1024, ff=4096, experts=16, heads=8, vocab=16000, batch=16, seq=1024, data=2, ep=4, cap=1.25),
}
# Programs with members that were not captured, which were told as slow links, and the other way round.
MODELS |= {
    "ring16": own("ring", "v6e:4x4", layers=2, d=1024, heads=8, ff=4096, vocab=16000, seq=16384, batch=2, data=2, ring=8),
    "dit16": own("dit", "v5p:2x2x4", layers=4, d=1152, heads=16, grid=16, batch=256, classes=1000, data=4, fsdp=4),
    "vae8": own("vae", "v6e:2x4", width=96, img=128, batch=128, latent=8, dp=8),
    "lstm4": own("lstm", "v5e:2x2", layers=2, d=1024, vocab=16000, batch=128, seq=192, dp=4),
    "pipe8": own("pipeline", "v5e:2x4", d=1024, ff=4096, per_stage=2, stages=8, micro=8, mbatch=4, seq=512, vocab=16000, heads=8),
}
# Two towers of 768 features whose only gather all wait in; experts that choose, whose collectives go along three sets of groups.
MODELS |= {
    "clip16": own("clip", "v5e:4x4", layers=3, d=768, heads=12, img=224, patch=32, words=77, vocab=49408, embed=512, batch=1024, dp=16),
    "choice8": own("choice", "v6e:2x4", layers=3, d=1024, ff=4096, experts=16, heads=8, vocab=32000, batch=32, seq=512, ep=4, tp=2, cap=2.0),
}
# These are noisier and have slower loaders.
NOISY = dict(noise=0.02, step_jitter=0.01, host_pattern="gke-pool-{}-x", input=dict(wait_s=0.0004, workers=3, batch_bytes=4 * MIB))

# The other programs are those of the forge's own cfg.py: p1 and p5 dense transformers, p3 a mixture of experts, p6 a CNN, nar narrow layers.
BASES = {
    "dense_v5e16": base("v5e", "p1", 4, 4, 12),
    "dense_v5e16_2hosts": base("v5e", "p1", 2, 8, 12, 2),
    "dense_v6e4": base("v6e", "p5", 1, 4, 16, 1),
    "dense_v6e4_callback": base("v6e", "p5cb", 1, 4, 14, 2),
    "cnn_v6e32": base("v6e", "p6", 8, 4, 14, 1),
    "moe_v5p4": base("v5p", "p3", 1, 4, 12),
    "narrow_v6e4": base("v6e", "nar", 1, 4, 16, 1),
    "dense_v5p8": base("v5p", "v5p8", 2, 4, 20) | NOISY,
    "dense_v6e8": base("v6e", "v6e8", 2, 4, 24, 2) | NOISY,
    "moe_v6e8": base("v6e", "moe8", 2, 4, 18) | NOISY,
    "cnn_v5e8": base("v5e", "cnn8", 2, 4, 30) | NOISY,
    "deep_v5e4": base("v5e", "deep", 1, 4, 22) | NOISY,
    # Steps of less than a millisecond: one chip of each host captured; four of eight and no step markers; three of four hosts.
    "cnn_v5p16": base("v5p", "cnn16", 4, 4, 25, 1),
    "cnn_v5p16_unmarked": base("v5p", "cnn16", 2, 8, 14, 4, annotate=False, steps_line=False),
    "cnn_v5p16_3hosts": base("v5p", "cnn16", 4, 4, 15, 1, only_hosts=[0, 1, 3]),
    "two_programs": base("v6e", "p5", 1, 4, 0, 1) | dict(
        rename={"ev": "jit_eval_step"}, runs=[dict(program=name, count=count) for name, count in (("p5", 5), ("ev", 2)) * 2]),
}
LATER = {
    "dense_v6e16": base("v6e", "v6e16", 4, 4, 16, 1) | NOISY,
    "dense_v6e16_all": base("v6e", "v6e16", 4, 4, 14),
    # One chip of sixteen captured; three of four hosts.
    "dense_v6e16_1host": base("v6e", "v6e16", 4, 4, 16, 1, only_hosts=[0]),
    "dense_v6e16_3hosts": base("v6e", "v6e16", 4, 4, 16, 2, only_hosts=[0, 1, 2]),
    "dense_v5e8_tp": base("v5e", "v5e8tp", 2, 4, 18, 2) | NOISY,
    "dense_v5p4": base("v5p", "v5p4", 1, 4, 16),
    "moe_v5e4": base("v5e", "moe4", 1, 4, 16),
    "moe_v5p8": base("v5p", "moe8p", 2, 4, 14, 2),
    "cnn_v5e16": base("v5e", "cnn16e", 4, 4, 20, 1),
    "decode_v6e4": base("v6e", "dec4", 1, 4, 12, 2),
}
NEWEST = {
    "one_v6e1": base("v6e", "v6e1", 1, 1, 16),
    "dense_v5p12": base("v5p", "v5p12", 3, 4, 16, 2),
    "dense_v6e32_tp": base("v6e", "v6e32tp", 8, 4, 10, 1) | NOISY,
    "dense_v6e32_tp_2hosts": base("v6e", "v6e32tp", 8, 4, 10, 4, only_hosts=[2, 3]),
    "fsdp_v5e8": base("v5e", "fsdp8", 2, 4, 12, 2) | NOISY,
    "fsdp_v5e8_two": base("v5e", "fsdp8", 2, 4, 0, 1) | dict(
        rename={"fsdp8ev": "jit_eval_step"},
        runs=[dict(program=name, count=count) for name, count in (("fsdp8", 4), ("fsdp8ev", 2)) * 2]),
    "moe_v5e16": base("v5e", "moe16", 4, 4, 12, 1),
    "moe_v6e4": base("v6e", "moe4v6e", 1, 4, 12) | NOISY,
    "decode_v6e8": base("v6e", "dec8", 2, 4, 10, 1),
    "decode_v5e4": base("v5e", "dec4e", 1, 4, 12) | NOISY,
    "cnn_v5e64": base("v5e", "cnn64", 16, 4, 16, 1),
    "cnn_v5e64_9hosts": base("v5e", "cnn64", 16, 4, 16, 1, only_hosts=[0, 1, 2, 4, 5, 7, 9, 10, 14]),
    "cnn_v6e16": base("v6e", "cnn16v6e", 4, 4, 14, 1) | NOISY,
}
DRAWN = {
    "dense_v6e16_tp": base("v6e", "v6e16t", 4, 4, 11, 2) | dict(noise=0.015),
    "dense_v6e8_tp": base("v6e", "v6e8tp", 2, 4, 14) | NOISY,
    "fsdp_v5p8": base("v5p", "fsdp8p", 2, 4, 13, 1),
    "moe_v5e8": base("v5e", "moe8e", 2, 4, 12),
    "cnn_v6e4": base("v6e", "cnn4", 1, 4, 18) | NOISY,
    "decode_v5p8": base("v5p", "dec8p", 2, 4, 11, 4),
    "decode_v5e8": base("v5e", "decf", 2, 4, 13, 2) | dict(noise=0.017),
    "decode_v6e8": base("v6e", "decf", 1, 8, 15) | NOISY,
    "cnn_v5p4": base("v5p", "cnnf", 1, 4, 25) | dict(noise=0.017),
    "cnn_v4": base("v4", "cnnf", 1, 4, 20, 2),
    "moe_v5e8_1": base("v5e", "moef", 2, 4, 13, 1),
}
BORROWED = {
    "llama_v6e8": base("v6e", "llama8", 2, 4, 9),
    "llama_v6e8_1": base("v6e", "llama8", 2, 4, 10, 1) | NOISY,
    "llama_v6e8_host": base("v6e", "llama8", 1, 8, 8) | dict(noise=0.015),
}
OTHERS = {
    "unet_v6e4": base("v6e", "unet", 1, 4, 12),
    "translate_v5e8": base("v5e", "trans", 2, 4, 12, 2) | NOISY,
    "recommend_v6e8": base("v6e", "reco", 2, 4, 14, 1),
    "vit_v5p16": base("v5p", "vit16", 4, 4, 13, 1) | dict(noise=0.016),
    "vit_v5p16_3hosts": base("v5p", "vit16", 4, 4, 13, 2, only_hosts=[0, 2, 3]),
    "ssm_v5e4": base("v5e", "ssm4", 1, 4, 11) | NOISY,
    "lora_v6e8": base("v6e", "lora8", 1, 8, 12, 4),
    "lora_v6e8_2hosts": base("v6e", "lora8", 2, 4, 14) | NOISY,
    "gnn_v4": base("v4", "gnn4", 1, 4, 14),
    "context_v5e16": base("v5e", "ctx16", 4, 4, 10, 2),
    "policy_v6e1": base("v6e", "learn1", 1, 1, 0) | dict(runs=[dict(program=name, count=count) for name, count in (("act1", 6), ("learn1", 4)) * 2]),
    "learn_v6e1": base("v6e", "learn1", 1, 1, 18) | NOISY,
    "experts_v5p8": base("v5p", "exp8", 2, 4, 12),
}
# Of these only some chips were captured.
PARTLY_SEEN = {
    "ring_v6e16_1": base("v6e", "ring16", 4, 4, 10, 1) | NOISY,
    "dit_v5p16_1": base("v5p", "dit16", 4, 4, 13, 1),
    "vae_v6e8": base("v6e", "vae8", 1, 8, 15, 4) | NOISY,
    "lstm_v5e4": base("v5e", "lstm4", 1, 4, 9, 2),
    "pipe_v5e8": base("v5e", "pipe8", 2, 4, 9, 2) | NOISY,
}
TOLD_BY_OTHERS = {
    "clip_v5e16": base("v5e", "clip16", 4, 4, 14, 1),
    "clip_v5e16_3hosts": base("v5e", "clip16", 4, 4, 13, 2, only_hosts=[0, 1, 3]) | NOISY,
    "choice_v6e8": base("v6e", "choice8", 2, 4, 12),
}
# Two seeds of runs without a fault will do.
TWICE = LATER | NEWEST | DRAWN | BORROWED | OTHERS | PARTLY_SEEN | TOLD_BY_OTHERS
BASES |= TWICE
MANY = ("dense_v5e16", "dense_v5e16_2hosts", "cnn_v6e32")
ONE = ("dense_v6e4", "moe_v5p4", "narrow_v6e4")
ALL = MANY[:1] + MANY[2:] + ONE
MANY_NOISY = ("dense_v5p8", "dense_v6e8", "moe_v6e8", "cnn_v5e8")
ALL_NOISY = (*MANY_NOISY, "deep_v5e4")


def kind(name, first, sizes, bases, change, what=lambda base, size: "", seeds=(1,)):
    return dict(name=name, first=first, sizes=sizes, bases=bases, change=change, what=what, seeds=seeds)


def steps(scenario):
    return sum(run["count"] for run in scenario["runs"])


def twice(scenario, size):
    """The program compiled a second time half way."""
    program, count = scenario["runs"][0]["program"], steps(scenario)
    at = count // 2
    return dict(runs=[dict(program=program, count=at), dict(program=f"{program}#b", count=count - at)], recompile=dict(step=at, s=size))


def slow_host(scenario):
    return scenario["hosts"] // 2


def host_name(scenario):
    return scenario["host_pattern"].format(slow_host(scenario))


def late(scenario, size):
    return dict(periodic=dict(every=1, s=size, hosts=[slow_host(scenario)], sync=True, event="grain DataLoaderIterator.__next__"))


def slow_input(scenario, size):
    """Every host waits for its loader, and only then launches."""
    return dict(block=True, input=dict(wait_s=size, wait_sd=size * 0.06, workers=4, bound=True, read_share=0.35, batch_bytes=8 * MIB))


LOGITS = r"logits\)?/bsd,vd->bsv/dot_general$"

KINDS = [
    kind("slow host", ("straggler",), (1.03, 1.1, 1.3, 2.0), MANY,
         lambda s, x: dict(straggler=dict(host=slow_host(s), factor=x)), lambda s, x: host_name(s)),
    kind("late input of one host", ("late_host", "straggler", "input_bound"), (0.002, 0.02), ("cnn_v6e32", "dense_v5e16"), late,
         lambda s, x: host_name(s)),
    kind("a host late at random", ("late_host", "late_members", "straggler", "step_jitter"), (0.005, 0.02), ("cnn_v6e32", "dense_v5e16"),
         lambda s, x: dict(random_late=dict(s=x))),
    kind("slow from a step on", ("slower_from_step",), (1.02, 1.1, 1.5), ALL,
         lambda s, x: dict(throttle={"from": steps(s) // 2, "factor": x})),
    kind("slower and slower", ("slower_from_step",), (1.2,), ("dense_v5e16", "dense_v6e4"),
         lambda s, x: dict(throttle={"from": 3, "factor": x, "ramp": 8})),
    kind("stall every few steps", ("periodic_stall",), (0.01, 0.1), ALL,
         lambda s, x: dict(periodic=dict(every=4, s=x, event="save_checkpoint")), lambda s, x: "save_checkpoint"),
    kind("recompilation", ("recompilation", "compilation_in_window"), (0.1, 1.0), ("dense_v6e4", "moe_v5p4", "narrow_v6e4"), twice),
    kind("callback", ("debug_callbacks",), (0.001, 0.004), ("dense_v6e4_callback",), lambda s, x: dict(callback=dict(s=x))),
    kind("HBM slower", ("slow_memory",), (0.7, 0.5), ("narrow_v6e4", "dense_v6e4", "dense_v5e16"),
         lambda s, x: dict(hbm_factor=x)),
    kind("a slow link", ("slow_link",), (4.0, 8.0), ("dense_v5e16",), lambda s, x: dict(slow_links=[[5, 9, x]])),
    kind("a slow axis", ("slow_link",), (3.0,), ("dense_v5e16",),
         lambda s, x: dict(slow_axis={"4": x})),
    kind("a slow op", ("below_roofline",), (1.5, 4.0), ("dense_v5e16", "dense_v6e4", "narrow_v6e4"), lambda s, x: dict(inject={LOGITS: x})),
    kind("an op of one program of two", ("below_roofline",), (8.0,), ("two_programs",), lambda s, x: dict(inject_in={"ev": {LOGITS: x}})),
    kind("slow input", ("input_bound",), (0.003, 0.02), ("dense_v6e4", "cnn_v6e32", "narrow_v6e4"), slow_input),
    kind("slow launches", ("host_bound", "launch_bound", "blocking_reads"), (0.006,), ("dense_v6e4",),
         lambda s, x: dict(block=True, dispatch_s=x)),
    kind("experts out of balance", ("expert_imbalance",), (1.15, 1.5), ("moe_v5p4",), lambda s, x: dict(device_inject={"2": {"expert_mlp": x}}),
         lambda s, x: "TPU:2"),
    kind("slow convolutions and products", ("slow_compute",), (1.5,), ("cnn_v6e32", "moe_v5p4"),
         lambda s, x: dict(inject={"conv_general_dilated|dot_general": x})),
    kind("two faults", ("straggler",), (1.4,), ("cnn_v6e32",),
         lambda s, x: dict(straggler=dict(host=6, factor=x), periodic=dict(every=5, s=0.02, event="save_checkpoint")), lambda s, x: "w-6"),
]


def more(name, sizes, bases, *change):
    """A kind once more, in other sizes on other bases, and in another way if one is given."""
    one = next(one for one in KINDS if one["name"] == name)
    return {**one, "sizes": sizes, "bases": bases, "change": change[0] if change else one["change"]}


def every(steps_between, event):
    return lambda s, x: dict(periodic=dict(every=steps_between, s=x, event=event))


KINDS += [
    more("slow host", (1.05, 1.17, 1.6), MANY_NOISY),
    more("late input of one host", (0.004,), ("dense_v5p8", "dense_v6e8", "cnn_v5e8"), lambda s, x: dict(
        periodic=dict(every=1, s=x, hosts=[slow_host(s)], sync=True, event="IteratorGetNext"))),
    more("a host late at random", (0.006,), ("dense_v5p8", "moe_v6e8", "cnn_v5e8")),
    more("slow from a step on", (1.05, 1.25), ALL_NOISY, lambda s, x: dict(throttle={"from": steps(s) * 2 // 3, "factor": x})),
    more("slower and slower", (1.3,), ("dense_v6e8", "deep_v5e4"), lambda s, x: dict(throttle={"from": 4, "factor": x, "ramp": 10})),
    more("stall every few steps", (0.008, 0.05), ("dense_v5p8", "moe_v6e8"), every(3, "$gc.py:22 collect")) | dict(what=lambda s, x: "gc.py"),
    more("stall every few steps", (0.008, 0.05), ("dense_v6e8", "deep_v5e4"), every(5, "orbax save")) | dict(what=lambda s, x: "orbax"),
    more("stall every few steps", (0.008, 0.05), ("cnn_v5e8",), every(7, "wandb.log")) | dict(what=lambda s, x: "wandb"),
    more("recompilation", (0.3,), ALL_NOISY),
    more("HBM slower", (0.6,), ALL_NOISY),
    more("a slow op", (2.5, 6.0), ("dense_v5p8", "dense_v6e8", "deep_v5e4", "moe_v6e8")),
    more("slow input", (0.006,), ALL_NOISY),
    more("slow launches", (0.003,), ("dense_v6e8", "deep_v5e4", "cnn_v5e8")),
    more("experts out of balance", (1.3,), ("moe_v6e8",), lambda s, x: dict(device_inject={"5": {"expert_mlp": x}}))
    | dict(what=lambda s, x: "gke-pool-1-x/TPU:1"),
    more("slow convolutions and products", (1.6,), ("cnn_v5e8", "dense_v5p8")),
    more("a slow link", (5.0,), ("dense_v5p8", "dense_v6e8", "moe_v6e8"), lambda s, x: dict(slow_links=[[2, 3, x]])),
    kind("slow collectives", ("slow_link",), (4.0,), ("dense_v5p8", "dense_v6e8"),
         lambda s, x: dict(coll_scale={"all-reduce": x, "all-gather": x, "reduce-scatter": x})),
]

SHORT = ("cnn_v5p16", "cnn_v5p16_unmarked")
KINDS += [
    more("slow host", (1.08, 3.0), SHORT),
    more("slow from a step on", (1.2,), SHORT, lambda s, x: dict(throttle={"from": steps(s) * 2 // 3, "factor": x})),
    more("stall every few steps", (0.002, 0.03), SHORT, every(3, "save_checkpoint")),
    more("stall every few steps", (0.004,), ("cnn_v5p16",), lambda s, x: dict(periodic=dict(every=2, s=x, event="logging.flush", hosts=[1])))
    | dict(first=("late_host", "periodic_stall"), what=lambda s, x: ""),
    more("slow input", (0.0015,), SHORT),
    more("a host late at random", (0.003,), ("cnn_v5p16",)),
    more("slow convolutions and products", (1.4, 2.0), SHORT),
    more("slow collectives", (8.0,), ("cnn_v5p16",)),
    more("HBM slower", (0.5,), ("cnn_v5p16",)),
    kind("slow host not captured", ("late_members",), (1.3, 2.0), ("cnn_v5p16_3hosts",), lambda s, x: dict(straggler=dict(host=2, factor=x))),
    more("slow host", (1.2,), ("cnn_v5p16_3hosts",), lambda s, x: dict(straggler=dict(host=1, factor=x))) | dict(what=lambda s, x: "w-1"),
]

def slow_chip(device, ops="."):
    """All ops of one chip, or some of them, are slower."""
    return lambda s, x: dict(device_inject={str(device): {ops: x}})


KINDS += [
    more("slow host", (1.06,), ("dense_v5e8_tp",)),
    more("slow host", (1.5,), ("dense_v6e16_all",)),
    more("slow host", (1.3,), ("moe_v5p8",)),
    more("slow host", (4.0,), ("cnn_v5e16",)),
    kind("slow chip", ("straggler",), (1.25,), ("dense_v5p4",), slow_chip(3), lambda s, x: "TPU:3"),
    kind("slow chip", ("straggler",), (1.5,), ("moe_v5e4",), slow_chip(1), lambda s, x: "TPU:1"),
    kind("slow chip", ("straggler",), (1.2,), ("dense_v6e16_all",), slow_chip(9), lambda s, x: "w-2/TPU:1"),
    kind("slow chip", ("straggler",), (1.3,), ("dense_v6e16_all",), slow_chip(6, "dot_general"), lambda s, x: "w-1/TPU:2"),
    kind("slow chip", ("straggler",), (1.4,), ("dense_v6e16_all",),
         lambda s, x: dict(throttle={"from": 6, "factor": 1.0, "devices": [5], "device_factor": x}), lambda s, x: "from step 6 on"),
    more("slow host not captured", (1.3,), ("dense_v6e16_1host",)),
    more("slow host not captured", (1.5,), ("dense_v6e16_3hosts",), lambda s, x: dict(straggler=dict(host=3, factor=x))),
    kind("late input of a host not captured", ("late_members",), (0.004,), ("dense_v6e16_3hosts",), lambda s, x: dict(
        periodic=dict(every=1, s=x, hosts=[3], sync=True, event="IteratorGetNext"))),
    more("late input of one host", (0.001, 0.005), ("cnn_v5e16",)),
    more("late input of one host", (0.003,), ("dense_v6e16",)),
    kind("late input every second step", ("late_host", "periodic_stall"), (0.004,), ("dense_v5e8_tp",),
         lambda s, x: dict(periodic=dict(every=2, s=x, event="IteratorGetNext", hosts=[1]))),
    more("a host late at random", (0.004,), ("cnn_v5e16",)),
    more("stall every few steps", (0.02,), ("dense_v6e16",), every(6, "$gc.py:22 collect")) | dict(what=lambda s, x: "gc.py"),
    more("stall every few steps", (0.003,), ("dense_v5p4",), every(2, "tensorboard.add_scalar"))
    | dict(what=lambda s, x: "tensorboard"),
    more("stall every few steps", (0.01,), ("decode_v6e4",), every(4, "detokenize")) | dict(what=lambda s, x: "detokenize"),
    more("HBM slower", (0.7,), ("dense_v5p4",)),
    more("HBM slower", (0.6,), ("moe_v5e4",)),
    more("HBM slower", (0.5,), ("dense_v6e16", "decode_v6e4")),
    more("slow convolutions and products", (1.6,), ("dense_v5p4",)),
    more("slow convolutions and products", (2.0,), ("cnn_v5e16",)),
    more("a slow link", (6.0,), ("dense_v6e16_all", "dense_v5e8_tp"), lambda s, x: dict(slow_links=[[4, 5, x]])),
    more("a slow link", (4.0,), ("dense_v5p4",), lambda s, x: dict(slow_links=[[0, 1, x]])),
    more("a slow link", (5.0,), ("moe_v5e4",), lambda s, x: dict(slow_links=[[0, 2, x]])),
    more("a slow axis", (5.0,), ("dense_v5e8_tp",)),
    more("slow collectives", (3.0,), ("cnn_v5e16",)),
    kind("slow exchange of experts", ("slow_link",), (5.0,), ("moe_v5p8",), lambda s, x: dict(coll_scale={"all-to-all": x})),
    more("recompilation", (0.4,), ("dense_v6e16",)),
    more("a slow op", (3.0,), ("dense_v5p4",)),
    more("a slow op", (5.0,), ("decode_v6e4",), lambda s, x: dict(inject={"lm_head|sample": x})),
    more("a slow op", (2.0,), ("moe_v5p8",), lambda s, x: dict(inject={"expert_mlp": x})),
    more("slow launches", (0.004,), ("moe_v5p8",)),
    more("experts out of balance", (1.4,), ("moe_v5p8",), lambda s, x: dict(device_inject={"5": {"expert_mlp": x}}))
    | dict(what=lambda s, x: "w-1/TPU:1"),
    more("experts out of balance", (2.0,), ("moe_v5e4",), lambda s, x: dict(device_inject={"0": {"expert_mlp": x}}))
    | dict(what=lambda s, x: "TPU:0"),
]



def of_host(host):
    return lambda s, x: dict(straggler=dict(host=host, factor=x))


def of_kinds(*kinds):
    return lambda s, x: dict(coll_scale=dict.fromkeys(kinds, x))


ALL_COLLECTIVES = of_kinds("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")

KINDS += [
    more("slow host", (1.04, 2.5), ("dense_v5p12",)),
    more("slow host", (1.1,), ("dense_v6e32_tp", "moe_v5e16")),
    more("slow host", (1.15, 4.0), ("cnn_v5e64",)),
    kind("slow chip", ("straggler",), (1.3,), ("moe_v6e4",), slow_chip(2), lambda s, x: "TPU:2"),
    kind("slow chip", ("straggler",), (1.2,), ("decode_v5e4",), slow_chip(1), lambda s, x: "TPU:1"),
    kind("slow chip not captured", ("late_members",), (1.3,), ("dense_v5p12", "fsdp_v5e8"), slow_chip(7)),
    kind("slow chip not captured", ("late_members",), (1.3, 2.0), ("cnn_v6e16", "cnn_v5e64"), slow_chip(10)),
    kind("slow chip not captured", ("late_members",), (1.5,), ("moe_v5e16",), slow_chip(10)),
    more("slow host not captured", (1.3, 3.0), ("cnn_v5e64_9hosts",), of_host(3)),
    more("slow host not captured", (1.3, 2.0), ("dense_v6e32_tp_2hosts",), of_host(5)),
    more("late input of a host not captured", (0.002, 0.01), ("cnn_v5e64_9hosts", "dense_v6e32_tp_2hosts"), lambda s, x: dict(
        periodic=dict(every=1, s=x, hosts=[6], sync=True, event="IteratorGetNext"))),
    more("late input of one host", (0.001, 0.006), ("cnn_v5e64", "dense_v5p12", "decode_v6e8", "moe_v5e16")),
    more("a host late at random", (0.003,), ("cnn_v5e64", "fsdp_v5e8", "dense_v5p12")),
    more("slow from a step on", (1.04, 1.4), ("one_v6e1", "moe_v6e4", "dense_v6e32_tp", "decode_v6e8")),
    more("stall every few steps", (0.005,), ("one_v6e1", "decode_v5e4", "cnn_v6e16", "moe_v5e16"), every(3, "wandb.log"))
    | dict(what=lambda s, x: "wandb"),
    more("HBM slower", (0.6, 0.8), ("one_v6e1", "decode_v6e8", "decode_v5e4", "fsdp_v5e8", "moe_v6e4", "cnn_v6e16")),
    more("slow convolutions and products", (1.4,), ("cnn_v5e64", "cnn_v6e16", "one_v6e1", "dense_v5p12")),
    more("a slow link", (3.0, 8.0), ("dense_v5p12", "moe_v6e4"), lambda s, x: dict(slow_links=[[0, 1, x]])),
    more("a slow link", (5.0,), ("dense_v5p12", "fsdp_v5e8", "dense_v6e32_tp", "cnn_v5e64", "moe_v5e16"),
         lambda s, x: dict(slow_links=[[2, 4, x]])),
    more("a slow axis", (4.0,), ("dense_v5p12", "dense_v6e32_tp"), lambda s, x: dict(slow_axis={"1": x})),
    more("a slow axis", (4.5,), ("dense_v6e32_tp",), lambda s, x: dict(slow_axis={"8": x})),
    more("slow collectives", (2.0, 4.0), ("dense_v5p12", "fsdp_v5e8", "dense_v6e32_tp", "cnn_v5e64", "cnn_v6e16", "moe_v5e16"),
         ALL_COLLECTIVES),
    more("slow exchange of experts", (2.5, 4.0), ("moe_v5e16", "moe_v6e4")),
    kind("slow permutes", ("slow_link",), (3.0,), ("dense_v6e32_tp", "fsdp_v5e8"), of_kinds("collective-permute")),
    more("recompilation", (0.2,), ("one_v6e1", "fsdp_v5e8", "decode_v5e4")),
    more("a slow op", (3.0,), ("one_v6e1", "dense_v5p12", "moe_v6e4", "fsdp_v5e8")),
    kind("an op of one program of two", ("below_roofline",), (6.0,), ("fsdp_v5e8_two",),
         lambda s, x: dict(inject_in={"fsdp8ev": {LOGITS: x}})),
    more("slow input", (0.004,), ("one_v6e1", "decode_v6e8", "moe_v5e16", "cnn_v5e64")),
    more("slow launches", (0.005,), ("one_v6e1", "dense_v5p12", "moe_v6e4")),
    more("experts out of balance", (1.3,), ("moe_v5e16",), lambda s, x: dict(device_inject={"4": {"expert_mlp": x}}))
    | dict(what=lambda s, x: "w-1"),
    more("experts out of balance", (1.2,), ("moe_v6e4",), lambda s, x: dict(device_inject={"1": {"expert_mlp": x}}))
    | dict(what=lambda s, x: "TPU:1"),
]

KINDS += [
    more("slow host", (1.45,), ("dense_v6e8_tp",)),
    more("slow host", (1.2,), ("moe_v5e8",)),
    more("slow host", (1.04,), ("fsdp_v5p8",)),
    more("late input of one host", (0.005,), ("dense_v6e16_tp", "moe_v5e8")),
    more("a host late at random", (0.004,), ("dense_v6e16_tp", "dense_v6e8_tp")),
    more("slow from a step on", (1.04, 1.3), ("cnn_v6e4", "moe_v5e8"), lambda s, x: dict(throttle={"from": steps(s) // 3, "factor": x})),
    more("slower and slower", (1.4,), ("cnn_v6e4", "decode_v5p8"), lambda s, x: dict(throttle={"from": 4, "factor": x, "ramp": 6})),
    more("stall every few steps", (0.006, 0.06), ("dense_v6e8_tp", "cnn_v6e4", "decode_v5p8"), every(5, "write_summaries"))
    | dict(what=lambda s, x: "write_summaries"),
    more("stall every few steps", (0.004,), ("moe_v5e8", "fsdp_v5p8"), every(2, "log_metrics")) | dict(what=lambda s, x: "log_metrics"),
    more("recompilation", (0.15,), ("decode_v5p8",)),
    more("HBM slower", (0.75, 0.45), ("cnn_v6e4", "dense_v6e16_tp")),
    more("a slow link", (3.5,), ("moe_v5e8", "dense_v6e8_tp", "decode_v5p8"), lambda s, x: dict(slow_links=[[1, 5, x]])),
    more("a slow op", (4.0,), ("dense_v6e16_tp", "moe_v5e8")),
    kind("slow attention", ("below_roofline",), (2.0, 3.0), ("fsdp_v5p8", "dense_v5e16", "dense_v6e4"),
         lambda s, x: dict(inject={"softmax|bhqk|exp": x})),
    more("slow input", (0.004, 0.012), ("moe_v5e8", "dense_v6e8_tp", "cnn_v6e4")),
    more("slow launches", (0.008,), ("dense_v6e8_tp", "fsdp_v5p8")),
    more("experts out of balance", (1.25,), ("moe_v5e8",), lambda s, x: dict(device_inject={"3": {"expert_mlp": x}}))
    | dict(what=lambda s, x: "TPU:3"),
    more("slow convolutions and products", (1.8,), ("cnn_v6e4",)),
    kind("slow chip", ("straggler",), (1.15, 1.35), ("dense_v6e8_tp", "cnn_v6e4", "decode_v5p8"), slow_chip(2), lambda s, x: "TPU:2"),
    more("slow collectives", (3.0, 5.0), ("dense_v6e8_tp", "moe_v5e8", "decode_v5p8"), ALL_COLLECTIVES),
]

KINDS += [
    more("HBM slower", (0.55,), ("cnn_v5p4",)),
    more("a host late at random", (0.008,), ("moe_v5e8_1",)),
    more("a slow op", (4.0,), ("decode_v5e8",), lambda s, x: dict(inject={"lm_head|sample": x})),
    more("a slow op", (3.0,), ("moe_v5e8_1",), lambda s, x: dict(inject={"combine": x})),
    more("experts out of balance", (1.3,), ("moe_v5e8_1",), lambda s, x: dict(device_inject={"4": {"expert_mlp": x}}))
    | dict(what=lambda s, x: "w-1"),
    more("late input of one host", (0.003,), ("moe_v5e8_1",)),
    more("late input of one host", (0.009,), ("decode_v5e8",)),
    more("recompilation", (0.25,), ("cnn_v4", "cnn_v5p4")),
    more("slow chip", (1.12,), ("decode_v6e8",), slow_chip(1)) | dict(what=lambda s, x: "TPU:1"),
    more("slow chip not captured", (1.35, 1.7), ("decode_v5e8",), slow_chip(3)),
    more("slow collectives", (4.0,), ("decode_v5e8",), ALL_COLLECTIVES),
    more("slow convolutions and products", (2.0,), ("cnn_v4",)),
    more("slow exchange of experts", (3.5,), ("moe_v5e8_1",)),
    more("slow from a step on", (1.35,), ("moe_v5e8_1",)),
    more("slow host", (1.8,), ("moe_v5e8_1",)),
    more("slow input", (0.015,), ("decode_v5e8",)),
    more("stall every few steps", (0.03,), ("cnn_v5p4",), every(4, "flush_metrics")) | dict(what=lambda s, x: "flush_metrics"),
    more("stall every few steps", (0.005,), ("moe_v5e8_1",), every(4, "flush_metrics")) | dict(what=lambda s, x: "flush_metrics"),
]

KINDS += [
    more("slow host", (2.2,), ("llama_v6e8_1",)),
    more("slow chip", (2.4,), ("llama_v6e8_1",), slow_chip(4)) | dict(what=lambda s, x: "gke-pool-1-x"),
    more("slow chip not captured", (1.7,), ("llama_v6e8_1",), slow_chip(7)),
    more("late input of one host", (0.07,), ("llama_v6e8_1",)),
    more("a host late at random", (0.09,), ("llama_v6e8",)),
    more("slow from a step on", (1.2,), ("llama_v6e8_host",)),
    more("stall every few steps", (0.16,), ("llama_v6e8",), every(4, "save_checkpoint")) | dict(what=lambda s, x: "save_checkpoint"),
    more("HBM slower", (0.57,), ("llama_v6e8_1",)),
    more("slow input", (0.12,), ("llama_v6e8",)),
    more("slow convolutions and products", (1.95,), ("llama_v6e8_1",)),
]

KINDS += [
    more("slow host", (1.46,), ("vit_v5p16",)),
    more("slow host", (2.36,), ("recommend_v6e8",)),
    more("late input of one host", (0.00108,), ("context_v5e16",)),
    more("a host late at random", (0.00932,), ("vit_v5p16",)),
    more("slow from a step on", (1.76,), ("policy_v6e1",), lambda s, x: dict(throttle={"from": steps(s) // 2, "factor": x})),
    more("slow from a step on", (1.18,), ("lora_v6e8_2hosts",), lambda s, x: dict(throttle={"from": steps(s) // 2, "factor": x})),
    more("slower and slower", (1.67,), ("learn_v6e1",)),
    more("stall every few steps", (0.0403,), ("lora_v6e8_2hosts",), every(3, "write_summaries")) | dict(what=lambda s, x: "write_summaries"),
    more("stall every few steps", (0.0135,), ("vit_v5p16",), every(3, "flush_metrics")) | dict(what=lambda s, x: "flush_metrics"),
    more("recompilation", (0.418,), ("translate_v5e8",)),
    more("recompilation", (0.316,), ("ssm_v5e4",)),
    more("HBM slower", (0.522,), ("recommend_v6e8",)),
    more("HBM slower", (0.649,), ("vit_v5p16_3hosts",)),
    more("HBM slower", (0.658,), ("ssm_v5e4",)),
    more("a slow link", (5.18,), ("translate_v5e8",), lambda s, x: dict(slow_links=[[4, 5, x]])),
    more("a slow link", (7.32,), ("context_v5e16",), lambda s, x: dict(slow_links=[[0, 1, x]])),
    more("a slow axis", (4.46,), ("experts_v5p8",), lambda s, x: dict(slow_axis={"1": x})),
    more("a slow op", (8.0,), ("lora_v6e8_2hosts", "lora_v6e8")),
    more("a slow op", (2.1,), ("recommend_v6e8",), lambda s, x: dict(inject={"lookup": x})),
    more("a slow op", (1.83,), ("unet_v6e4",), lambda s, x: dict(inject={"middle": x})),
    more("slow attention", (1.86,), ("vit_v5p16",)),
    more("an op of one program of two", (2.19,), ("policy_v6e1",), lambda s, x: dict(inject_in={"act1": {"policy_": x}})),
    more("slow input", (0.00144,), ("recommend_v6e8",)),
    more("slow input", (0.00203,), ("unet_v6e4",)),
    more("slow launches", (0.00232,), ("gnn_v4",)),
    more("experts out of balance", (1.55,), ("experts_v5p8",), lambda s, x: dict(device_inject={"6": {"expert_mlp": x}}))
    | dict(what=lambda s, x: "w-1/TPU:2"),
    more("slow convolutions and products", (1.44,), ("experts_v5p8",)),
    more("slow convolutions and products", (1.79,), ("vit_v5p16",)),
    more("slow collectives", (4.42,), ("recommend_v6e8",), ALL_COLLECTIVES),
    more("slow collectives", (3.57,), ("unet_v6e4",), ALL_COLLECTIVES),
    more("slow exchange of experts", (3.85,), ("experts_v5p8",)),
    more("slow host not captured", (1.52,), ("vit_v5p16_3hosts",), of_host(1)),
    more("late input of a host not captured", (0.00212,), ("vit_v5p16_3hosts",), lambda s, x: dict(
        periodic=dict(every=1, s=x, hosts=[1], sync=True, event="IteratorGetNext"))),
    more("slow chip", (1.27,), ("ssm_v5e4",), slow_chip(1)) | dict(what=lambda s, x: "TPU:1"),
    more("slow chip", (1.59,), ("unet_v6e4",), slow_chip(3)) | dict(what=lambda s, x: "TPU:3"),
    more("slow chip not captured", (1.29,), ("recommend_v6e8",), slow_chip(5)),
    more("slow chip not captured", (1.32,), ("ring_v6e16_1",), slow_chip(7)),
    more("slow chip not captured", (1.69,), ("dit_v5p16_1",), slow_chip(11)),
    more("slow chip not captured", (1.13,), ("vae_v6e8",), slow_chip(7)),
    more("slow chip not captured", (1.2, 1.86), ("lstm_v5e4", "pipe_v5e8"), slow_chip(2)),
    more("a slow link", (3.32,), ("dit_v5p16_1",), lambda s, x: dict(slow_links=[[0, 1, x]])),
    more("a host late at random", (0.036,), ("clip_v5e16", "clip_v5e16_3hosts")),
    more("slow convolutions and products", (1.63,), ("clip_v5e16",)),
    more("late input of a host not captured", (0.0027, 0.0057), ("clip_v5e16_3hosts",), lambda s, x: dict(
        periodic=dict(every=1, s=x, hosts=[2], sync=True, event="IteratorGetNext"))),
    more("slow chip not captured", (1.33,), ("clip_v5e16_3hosts",), slow_chip(7)),
    more("a slow axis", (4.6,), ("choice_v6e8",), lambda s, x: dict(slow_axis={"1": x})),
]

# Seeds of runs without a fault; each is held against the first of its base (A/A).
CLEAN_SEEDS = (1, 2, 3, 4)
# What a change tries: one size of each kind on the bases that are quickest to make.
QUICK = ("dense_v6e4", "narrow_v6e4", "two_programs")


def clean_name(of, seed):
    return f"clean-{of}-{seed}"


def grid(quick=False):
    """The faulty runs: name, kind, size, base, seed, scenario."""
    for one in KINDS:
        for of in one["bases"]:
            if quick and of not in QUICK:
                continue
            for size in one["sizes"][-1:] if quick else one["sizes"]:
                for seed in one["seeds"]:
                    scenario = {**BASES[of], "seed": 8100 + seed}
                    name = f"{one['name'].replace(' ', '-')}-{of}-{size}-{seed}"
                    yield dict(name=name, kind=one, size=size, base=of, seed=seed, scenario={**scenario, **one["change"](scenario, size)})


def clean(quick=False):
    """The runs without a fault: name, base, seed, scenario."""
    for of in QUICK if quick else BASES:
        for seed in CLEAN_SEEDS[:2] if quick or of in TWICE else CLEAN_SEEDS:
            yield dict(name=clean_name(of, seed), base=of, seed=seed, scenario={**BASES[of], "seed": 8100 + seed})
