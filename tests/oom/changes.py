"""What `haloscope oom --try` changes in a program's HLO leaves what the program computes: each change is made in small programs, and both are run on a CPU.

usage: changes.py      needs jax and numpy (seen with 0.10.2)
"""

import os
import pathlib
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import xla_client as xc
from jax._src.lib.mlir import ir

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "crates/cli/src/commands/oom_try"
CHANGES = {}
for part in ("hlo", "dimensions", "blocks", "recompute", "narrow"):
    exec(compile((SOURCES / (part + ".py")).read_text(), part + ".py", "exec"), CHANGES)
Module, Cannot = CHANGES["Module"], CHANGES["Cannot"]
# Small programs have small matrices.
CHANGES.update(PAIRS=16, WORDS=48)
TOLERANCE = 2e-3
random = np.random.RandomState(0)


def floats(*shape):
    return random.randn(*shape).astype(np.float32) * 0.3


def ids(most, *shape):
    return random.randint(0, most, shape).astype(np.int32)


def text_of(function, arguments):
    return jax.jit(function, keep_unused=True).lower(*arguments).compiler_ir("hlo").as_hlo_module().to_string()


def run(text, arguments):
    text = re.sub(r"\border=TOTAL\b", "type=TOTALORDER", text)
    proto = xc.hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
    devices = jax.devices()[:1]
    with mlir.make_ir_context():
        module = ir.Module.parse(xc._xla.mlir.hlo_to_stablehlo(proto))
        options = compiler.get_compile_options(1, 1)
        done = devices[0].client.compile_and_load(module, xc.DeviceList(tuple(devices)), options)
    results = done.execute_sharded([jax.device_put(a) for a in arguments]).disassemble_into_single_device_arrays()
    return [np.asarray(result[0]) for result in results]


def largest(text):
    """Elements of the largest array of a program."""
    module = Module(text)
    arrays = lambda shape: sum((arrays(part) for part in shape.parts), []) if hasattr(shape, "parts") else [shape.count()] if hasattr(shape, "count") else []
    ops = [op for own in module.reached() for op in own.ops.values() if op.code not in ("parameter", "tuple", "get-tuple-element", "constant")]
    sizes = [count for op in ops for count in arrays(op.shape)]
    return max(sizes)


def same(name, function, arguments, change, *more, smaller=True):
    """A change after which results are the same, and, where that is meant, the largest value is not there any more."""
    text, flat = text_of(function, arguments), jax.tree.leaves(arguments)
    module = Module(text)
    said = CHANGES[change](module, *more)
    changed = module.text()
    for before, after in zip(run(text, flat), run(changed, flat), strict=True):
        before, after = before.astype(np.float64), after.astype(np.float64)
        assert before.shape == after.shape, (name, before.shape, after.shape)
        worst = np.abs(before - after).max() / (np.abs(before).max() + 1e-9)
        assert worst < TOLERANCE, (name, worst)
    if smaller:
        assert largest(changed) < largest(text), (name, largest(changed), largest(text))
    print(f"{name}: {said}")


def shapes(name, function, arguments, smaller, wanted, times, replaced=None):
    """A batch that is smaller: the program takes smaller arguments, and gives results of these shapes; one argument may be donated."""
    text = text_of(function, arguments)
    if replaced is not None:
        text = text.replace(", entry_computation_layout", ", buffer_donor={ (%d, {}) }, entry_computation_layout" % replaced, 1)
    module = Module(text)
    said = CHANGES["smaller_batch"](module, times)
    found = [result.shape for result in run(module.text(), jax.tree.leaves(smaller))]
    assert found == wanted, (name, found)
    print(f"{name}: {said}")


def refused(name, function, arguments, change, *more):
    try:
        said = CHANGES[change](Module(text_of(function, arguments)), *more)
    except Cannot as why:
        print(f"{name}: refused, {why}")
        return
    raise AssertionError((name, said))


def attention(q, k, v):
    length = q.shape[1]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v)


def layer_of_attention(w, x):
    batch, length, width = x.shape
    q, k, v = ((x @ w[i]).reshape(batch, length, 4, width // 4) for i in range(3))
    return jnp.mean((attention(q, k, v).reshape(x.shape) @ w[3]) ** 2)


def two_layers_of_attention(ws, x):
    for w in ws:
        batch, length, width = x.shape
        q, k, v = ((x @ w[i]).reshape(batch, length, 4, width // 4) for i in range(3))
        x = x + attention(q, k, v).reshape(x.shape) @ w[3]
    return x


def scanned_attention(ws, x):
    layer = jax.checkpoint(lambda x, w: (two_layers_of_attention([w], x), None))
    return jnp.mean(jax.lax.scan(layer, x, ws)[0] ** 2)


def distances(w, x):
    """Of all pairs, from a value with their differences in each dimension."""
    y = x @ w
    near = jnp.exp(-jnp.sum((y[:, None, :] - y[None, :, :]) ** 2, -1))
    return near @ y, jnp.max(near, 1)


def loss_of_indices(w, x, targets):
    z = x @ w
    with jax.named_scope("cross_entropy"):
        return jnp.mean(jax.nn.logsumexp(z, -1) - jnp.take_along_axis(z, targets[..., None], -1)[..., 0])


def loss_of_one_hot(w, x, targets):
    return -jnp.mean(jnp.sum(jax.nn.one_hot(targets, w.shape[1]) * jax.nn.log_softmax(x @ w), -1))


def contrastive(w, a, b):
    """Pictures and texts of a batch against one another, both ways; the pairs lie on the diagonal."""
    a, b = a @ w[0], b @ w[1]
    s = a @ b.T
    at = jnp.arange(len(s))
    return -jnp.mean(jax.nn.log_softmax(s, 1)[at, at] + jax.nn.log_softmax(s, 0)[at, at])


def contrastive_of_labels(w, a, b):
    s = (a @ w[0]) @ (b @ w[1]).T
    at = jnp.arange(len(s))[:, None]
    picked = lambda z: jnp.take_along_axis(jax.nn.log_softmax(z), at, 1)
    return -jnp.mean(picked(s) + picked(s.T))


def contrastive_of_diagonal(w, a, b):
    s = (a @ w[0]) @ (b @ w[1]).T
    return jnp.mean(jax.nn.logsumexp(s, 1) + jax.nn.logsumexp(s, 0) - 2 * jnp.diag(s))


def recurrence(w, xs, h):
    return jnp.sum(jax.lax.scan(lambda c, x: (jnp.tanh(c @ w + x), None), h, xs)[0])


def two_recurrences(w, xs, h):
    last = jax.lax.scan(lambda c, x: (jnp.tanh(c @ w + x), None), h, xs)[0]
    step = lambda c, x: ((jnp.sin(c[0] @ w + x), c[1] * jnp.cos(c[0])), None)
    return jnp.sum(jax.lax.scan(step, (last, h), xs)[0][1])


def scanned_layers(ws, x):
    def body(h, w):
        a, b, scale = w
        normed = h * jax.lax.rsqrt(jnp.mean(h * h, -1, keepdims=True) + 1e-6) * scale
        return h + jax.nn.silu(normed @ a) @ b, None

    return jnp.mean(jax.lax.scan(body, x, ws)[0] ** 2)


def layers(ws, x, y):
    for i, (a, b) in enumerate(ws):
        with jax.named_scope(f"layer_{i}"):
            x = x + jax.nn.gelu(x @ a) @ b
    return jnp.mean((x - y) ** 2)


def experts(w, x, at):
    """Each row goes to one of several experts."""
    hot = jax.nn.one_hot(at, len(w))
    return jnp.mean((hot @ jnp.einsum("ed,edf->ef", hot.T @ x, w)) ** 2)


def nameless_layers(ws, x, y):
    for a, b in ws:
        x = x + jax.nn.gelu(x @ a) @ b
    return jnp.mean((x - y) ** 2)


def pooled(ws, x, y):
    for w in ws:
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jnp.mean((jnp.mean(x, (1, 2)) - y) ** 2)


def pictures(ws, x, y):
    for w in ws:
        x = x + jax.nn.relu(jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    z = jax.nn.log_softmax(jnp.mean(x, (1, 2)))
    return -jnp.mean(jnp.take_along_axis(z, y[:, None], 1))


def main():
    heads = (floats(2, 16, 3, 8), floats(2, 16, 3, 8), floats(2, 16, 3, 8))
    squares = lambda *a: jnp.mean(attention(*a) ** 2)
    same("attention", attention, heads, "blockwise", 4)
    same("gradient of attention", jax.grad(squares, (0, 1, 2)), heads, "blockwise", 4)
    same("layer of attention", jax.grad(layer_of_attention), ([floats(32, 32) for _ in range(4)], floats(2, 16, 32)), "blockwise", 2)
    two = [[floats(32, 32) for _ in range(4)] for _ in range(2)], floats(2, 16, 32)
    same("two layers of attention", two_layers_of_attention, two, "blockwise", 4)
    same("gradient of two layers of attention", jax.grad(lambda *a: jnp.mean(two_layers_of_attention(*a) ** 2)), two, "blockwise", 4)
    same("scan over layers of attention", jax.grad(scanned_attention), (floats(3, 4, 32, 32), floats(2, 16, 32)), "blockwise", 4, smaller=False)
    same("distances of pairs", distances, (floats(8, 8), floats(32, 8)), "blockwise", 4)
    same("gradient of distances of pairs", jax.grad(lambda *a: jnp.sum(distances(*a)[0] ** 2), (0, 1)), (floats(8, 8), floats(32, 8)), "blockwise", 4)
    refused("scores that are a result", lambda x: x @ x.T, (floats(32, 8),), "blockwise", 4)
    for loss in (loss_of_indices, loss_of_one_hot):
        arguments = floats(8, 64), floats(32, 8), ids(64, 32)
        same(loss.__name__, jax.value_and_grad(loss, (0, 1)), arguments, "chunked_loss", 4)
    same("tokens of a batch", jax.value_and_grad(loss_of_indices, (0, 1)), (floats(8, 64), floats(2, 16, 8), ids(64, 2, 16)), "chunked_loss", 8)
    pairs = [floats(12, 8), floats(10, 8)], floats(32, 12), floats(32, 10)
    for loss in (contrastive, contrastive_of_labels, contrastive_of_diagonal):
        for n in (2, 8):
            same(f"{loss.__name__}, {n}", jax.value_and_grad(loss), pairs, "blockwise", n)
    picked = lambda x, at: (x @ x.T)[at[:, 0], at[:, 1]]
    same("entries of pairs", picked, (floats(32, 8), ids(32, 7, 2)), "blockwise", 4)
    same("indices beyond the end", lambda x, at: (x @ x.T).at[at[:, 0], at[:, 1]].get(mode="clip"), (floats(32, 8), ids(60, 9, 2)), "blockwise", 4)
    same("pairs of which all are normed", lambda x: jnp.sum(jax.nn.softmax((x @ x.T), 0) * jnp.cos(x @ x.T), 1), (floats(32, 8),), "blockwise", 4)
    same("one value on both sides", lambda x: jnp.exp(-jnp.einsum("id,jd->ij", x, x)) @ x, (floats(32, 8),), "blockwise", 4)
    same("a sum over all pairs", jax.grad(lambda x: jnp.log(jnp.sum(jnp.exp(x @ x.T)))), (floats(32, 8),), "blockwise", 4)
    xs = floats(8, 8), floats(12, 32, 8), floats(32, 8)
    gradient = jax.grad(recurrence, (0, 1, 2))
    same("recurrence", gradient, xs, "checkpoint", 1, smaller=False)
    same("recurrence in groups", gradient, xs, "checkpoint", 3, smaller=False)
    for group in (1, 3):
        same(f"one recurrence behind another, {group}", jax.grad(two_recurrences, (0, 1, 2)), xs, "checkpoint", group, smaller=False)
    ws = floats(8, 8, 16), floats(8, 16, 8), floats(8, 8)
    for group in (1, 2, 4):
        same(f"scan over layers, {group}", jax.grad(scanned_layers), (ws, floats(32, 8)), "checkpoint", group)
    many = [(floats(8, 12), floats(12, 8))] * 6, floats(32, 8), floats(32, 8)
    for group in (1, 2):
        same(f"layers, {group}", jax.grad(layers), many, "checkpoint", group, smaller=False)
    same("layers without names", jax.grad(nameless_layers), many, "checkpoint", 1, smaller=False)
    refused("no gradient", attention, heads, "checkpoint", 1)
    few = [(floats(8, 12), floats(12, 8))] * 2
    shapes("batch", jax.grad(layers), (few, floats(32, 8), floats(32, 8)), (few, floats(16, 8), floats(16, 8)), [(8, 12), (12, 8)] * 2, 2)
    shapes("batch of a recurrence", jax.grad(recurrence), xs, (floats(8, 8), floats(12, 8, 8), floats(8, 8)), [(8, 8)], 4)
    routed = lambda n: (floats(4, 8, 64), floats(n, 8), ids(4, n))
    shapes("batch beside experts", jax.grad(experts), routed(8), routed(4), [(4, 8, 64)], 2, replaced=0)
    kernels = [floats(3, 3, 4, 4)] * 3
    picture = lambda n: (kernels, floats(n, 8, 8, 4), ids(4, n))
    shapes("batch of pictures", jax.grad(pictures), picture(16), picture(8), [(3, 3, 4, 4)] * 3, 2)
    pools = lambda n: ([floats(3, 3, 4, 4)] * 2, floats(n, 8, 8, 4), floats(n, 4))
    shapes("batch of pooled pictures", jax.grad(pooled), pools(16), pools(8), [(3, 3, 4, 4)] * 2, 2)
    rows = lambda n: (floats(64, 8), ids(64, n, 4), floats(n, 4, 8))
    shapes("batch of ids", jax.grad(lambda t, i, y: jnp.mean(t[i] * y)), rows(16), rows(8), [(64, 8)], 2)
    nearest = lambda q, of: jax.lax.top_k(q @ of.T, 3)
    shapes("batch of neighbours", nearest, (floats(32, 8), floats(64, 8)), (floats(16, 8), floats(64, 8)), [(16, 3), (16, 3)], 2)
    drawn = lambda w, x: (jax.nn.softmax(x @ w, -1), jax.random.uniform(jax.random.key(0), (4,)) * x[0, :4])
    module = Module(text_of(drawn, (floats(8, 8), floats(4, 8))))
    print("narrower:", CHANGES["narrower"](module))
    bf16 = lambda a: np.asarray(jnp.asarray(a, jnp.bfloat16))
    assert all(str(result.dtype) == "bfloat16" for result in run(module.text(), [bf16(floats(8, 8)), bf16(floats(4, 8))]))
    loss = text_of(lambda x: (jnp.mean(x), x * 2), (floats(4, 8),))
    module = Module(loss.replace("->(f32[],", "->(f32[]{:T(128)},", 1))
    print("narrower with a loss:", CHANGES["narrower"](module))
    assert [str(result.dtype) for result in run(module.text(), [bf16(floats(4, 8))])] == ["bfloat16"] * 2
    module = Module(text_of(lambda x: jnp.abs(jnp.fft.fft2(x)), (floats(8, 16),)))
    print("narrower around a transform:", CHANGES["narrower"](module))
    assert [str(result.dtype) for result in run(module.text(), [bf16(floats(8, 16))])] == ["bfloat16"]


if __name__ == "__main__":
    sys.exit(main())
