"""Pairs of runs of which is known what differs: nothing, one op, the batch, only names.

The runs without a fault are those of tests/planted/cases.py. A pair names its baseline and its experiment: a run is a base, and
what changes it.
"""

import importlib.util
from pathlib import Path

_FILE = Path(__file__).parent.parent / "planted" / "cases.py"
_SPEC = importlib.util.spec_from_file_location("planted_cases", _FILE)
planted = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(planted)

# The same programs, one with another batch.
MODELS = {
    **planted.MODELS,
    "dense_v6e4_batch": dict(planted.MODELS["dense_v6e4"],
                             params=dict(planted.MODELS["dense_v6e4"]["params"], batch=24)),
}

# Copies of a compiled program with other names and numbers (see renamed.py): name, the program.
RENAMED = {"narrow_v6e1_renamed": "narrow_v6e1", "dense_v6e4_renamed": "dense_v6e4"}


def run(name, base, **change):
    """A run: its name, and its scenario."""
    return name, {**planted.BASES[base], **change}


def one_op(name, base, seed, pattern, factor):
    """A run with one slower instruction. The forge tells which it was where a scenario says that it has a regression."""
    return run(name, base, seed=seed, inject={pattern: factor}, regression=dict(baseline=base))


# Ten pairs of the same program, other seed; some with other noise of the ops (standard deviation of the logarithm of an op's time).
AA = [
    (run("dense_v5e16", "dense_v5e16"), run("aa_dense_v5e16_1", "dense_v5e16", seed=21)),
    (run("aa_dense_v5e16_2", "dense_v5e16", seed=22, noise=0.02), run("aa_dense_v5e16_3", "dense_v5e16", seed=23, noise=0.02)),
    (run("dense_v6e4", "dense_v6e4"), run("aa_dense_v6e4_1", "dense_v6e4", seed=31)),
    (run("aa_dense_v6e4_2", "dense_v6e4", seed=32, noise=0.012), run("aa_dense_v6e4_3", "dense_v6e4", seed=33, noise=0.016)),
    (run("narrow_v6e1", "narrow_v6e1"), run("aa_narrow_v6e1_1", "narrow_v6e1", seed=41)),
    (run("aa_narrow_v6e1_2", "narrow_v6e1", seed=42, noise=0.008), run("aa_narrow_v6e1_3", "narrow_v6e1", seed=43, noise=0.03)),
    (run("moe_v5p4", "moe_v5p4"), run("aa_moe_v5p4_1", "moe_v5p4", seed=51)),
    (run("aa_moe_v5p4_2", "moe_v5p4", seed=52, noise=0.02), run("aa_moe_v5p4_3", "moe_v5p4", seed=53, noise=0.02, step_jitter=0.003)),
    (run("cnn_v6e32", "cnn_v6e32"), run("aa_cnn_v6e32_1", "cnn_v6e32", seed=61)),
    # Another number of steps, too.
    (run("aa_cnn_v6e32_2", "cnn_v6e32", seed=62), run("aa_cnn_v6e32_3", "cnn_v6e32", seed=63, runs=[dict(program="cnn_v6e32", count=14)])),
]

# Pairs that differ in one op: slower logits; one expert's matmul; one convolution a little; one softmax; one op that got faster.
ONE_OP = [
    (run("dense_v6e4", "dense_v6e4"),
     one_op("op_logits", "dense_v6e4", 71, r"\(train_step\)/jvp\(logits\)/bsd,vd->bsv/dot_general$", 1.3)),
    (run("moe_v5p4", "moe_v5p4"), one_op("op_expert", "moe_v5p4", 72, r"^fusion\.503 ", 1.25)),
    (run("cnn_v6e32", "cnn_v6e32"), one_op("op_convolution", "cnn_v6e32", 73, r"^fusion\.115 ", 1.1)),
    (run("narrow_v6e1", "narrow_v6e1"), one_op("op_softmax", "narrow_v6e1", 74, r"^fusion\.485 ", 1.15)),
    (run("dense_v5e16", "dense_v5e16"), one_op("op_faster", "dense_v5e16", 75, r"^fusion\.700 ", 0.8)),
]

# Runs that are slower, and what tells it: a shift of all steps beside one slow step of the baseline; a few slow steps; a level from a
# step on.
_ALL = {str(step): 1.02 for step in range(40)}
SLOWER = [
    (run("hidden_baseline", "dense_v6e4", seed=76, slow_steps={"6": 3.0}), run("hidden_shift", "dense_v6e4", seed=77, slow_steps=_ALL), "usual steps"),
    (run("dense_v6e4", "dense_v6e4"), run("few_slow", "dense_v6e4", seed=78, slow_steps={"3": 1.6, "7": 1.6}), "a few steps"),
    (run("dense_v6e4", "dense_v6e4"), run("from_a_step", "dense_v6e4", seed=79, slow_steps={str(step): 1.06 for step in range(5, 40)}), "from a step on"),
]

# One step that is slow, in one run only: an outlier, and no change of the step time, either way round.
OUTLIERS = [
    (run("dense_v6e4", "dense_v6e4"), run("one_slow_step", "dense_v6e4", seed=82, slow_steps={"6": 2.5})),
    (run("cnn_v6e32", "cnn_v6e32"), run("one_slow_step_cnn", "cnn_v6e32", seed=83, slow_steps={"5": 4.0})),
]

# One program with another batch, and the shapes (tokens of a batch, per device) that must be named.
BATCH = (run("dense_v6e4", "dense_v6e4"),
         run("batch_24", "dense_v6e4", seed=81, runs=[dict(program="dense_v6e4_batch", count=10)]), ["4,1024", "6,1024"])

# Programs that differ in nothing but names, one of them with a slower op on top.
RENAMES = [
    (run("narrow_v6e1", "narrow_v6e1"),
     run("renamed_narrow", "narrow_v6e1", seed=91, runs=[dict(program="narrow_v6e1_renamed", count=10)])),
    (run("dense_v6e4", "dense_v6e4"),
     run("renamed_dense", "dense_v6e4", seed=92, runs=[dict(program="dense_v6e4_renamed", count=10)])),
]
