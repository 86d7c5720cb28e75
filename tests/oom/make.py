"""Compiles small programs that do not fit, for TPUs that are described (no device is needed), and keeps what the compiler says.

usage: make.py OUT [--only REGEX]      needs jax, libtpu and numpy

OUT/<program>_<chip>.txt holds the exception's text, verbatim; for HBM the dump's buffer assignment, memory-usage report and module lie
beside it, packed. OUT/truth.json holds what each program was written to ask for: computed here from its shapes, never from the text.
The texts that `fixtures/oom` holds were made with jax 0.10.2 and libtpu 0.0.52.
"""

import argparse
import glob
import gzip
import json
import math
import os
import re
import subprocess
import sys
import tempfile

TOPOLOGY = {"v4": "v4:2x2x1", "v5e": "v5e:2x2", "v5p": "v5p:2x2x1", "v6e": "v6e:2x2", "v7x": "tpu7x:2x2x1"}
MIB = 1 << 20
BYTES = {"float32": 4, "bfloat16": 2, "int32": 4}
# What lies beside a text, by the end of its name in the dump.
DUMPED = ("buffer-assignment", "memory-usage-report")
# Larger modules are left out: names of ops are shown by the small ones.
LARGEST = 200_000


def size(shape, dtype):
    return math.prod(shape) * BYTES[dtype]


def spec(shape, dtype):
    import jax

    return jax.ShapeDtypeStruct(shape, dtype)


# Each program: a function, its arguments, options of jax.jit, and what it asks for.


def embeddings(rows=40960, columns=16384, tables=8):
    import jax.numpy as jnp

    def lookup(tables, ids):
        return sum(jnp.take(table, ids, axis=0).sum() for table in tables)

    tables_ = tuple(spec((rows, columns), "float32") for _ in range(tables))
    asked = tables * size((rows, columns), "float32")
    return lookup, (tables_, spec((64,), "int32")), {}, dict(what="argument", largest_bytes=size((rows, columns), "float32"), argument_bytes=asked)


def decode_cache(batch=56, length=40960, heads=16, depth=128):
    import jax

    def write(cache, new, at):
        return jax.lax.dynamic_update_slice(cache, new, (0, at, 0, 0))

    shape = (batch, length, heads, depth)
    own = size(shape, "bfloat16")
    arguments = spec(shape, "bfloat16"), spec((batch, 1, heads, depth), "bfloat16"), spec((), "int32")
    return write, arguments, {}, dict(what="argument", largest_bytes=own, first_cure="donate")


def recurrence(steps=1024, rows=8192, width=2048):
    import jax
    import jax.numpy as jnp

    def gradient(x, w):
        def loss(x):
            with jax.named_scope("cell"):
                last, _ = jax.lax.scan(lambda c, _: (jnp.sin(c @ w), None), x, None, length=steps)
            return jnp.sum(last.astype(jnp.float32))

        return jax.grad(loss)(x)

    arguments = spec((rows, width), "bfloat16"), spec((width, width), "bfloat16")
    return gradient, arguments, {}, dict(what="temporary", largest_bytes=size((steps, rows, width), "bfloat16"), cure="checkpoint in groups")


def kernel_blocks(rows, columns, block, dtype="float32", limit=None):
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def add(x, y, out):
        out[...] = x[...] + y[...]

    def call(x, y):
        window = pl.BlockSpec((block, columns), lambda i: (i, 0))
        return pl.pallas_call(
            add, grid=(rows // block,), in_specs=[window, window], out_specs=window, out_shape=spec((rows, columns), dtype),
            name="add_blocks", compiler_params=pltpu.CompilerParams(vmem_limit_bytes=limit),
        )(x, y)

    own = size((block, columns), dtype)
    return call, (spec((rows, columns), dtype),) * 2, {}, dict(what="window", windows_bytes=6 * own)


def add_blocks():
    return kernel_blocks(8192, 2048, 1024)


def add_narrow_blocks():
    return kernel_blocks(8192, 4096, 1024, "bfloat16")


def add_blocks_beyond():
    return kernel_blocks(32768, 4096, 1536, limit=512 * MIB)


def accumulate(rows=256, columns=8192):
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def body(x, out, total):
        @pl.when(pl.program_id(0) == 0)
        def _():
            total[...] = x[...].astype("float32")

        total[...] += x[...].astype("float32")
        out[...] = total[...]

    def call(x):
        window = pl.BlockSpec((rows, columns), lambda i: (i, 0))
        whole = pl.BlockSpec((rows, columns), lambda i: (0, 0))
        return pl.pallas_call(
            body, grid=(4,), in_specs=[window], out_specs=whole, out_shape=spec((rows, columns), "float32"),
            scratch_shapes=[pltpu.VMEM((rows, columns), "float32")], name="accumulate",
        )(x)

    scratch = size((rows, columns), "float32")
    return call, (spec((4 * rows, columns), "bfloat16"),), {}, dict(what="window", scratch_bytes=scratch)


def page_table(pages=300_000):
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def body(table, x, out):
        out[...] = x[...] + table[pl.program_id(0)].astype("float32")

    def call(table, x):
        window = pl.BlockSpec((16, 128), lambda i, table: (i, 0))
        grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(4,), in_specs=[window], out_specs=window)
        return pl.pallas_call(body, grid_spec=grid, out_shape=spec((64, 128), "float32"), name="page_table")(table, x)

    return call, (spec((pages,), "int32"), spec((64, 128), "float32")), {}, dict(what="prefetched scalars", table_bytes=4 * pages)


def many_semaphores(n=20_000):
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def body(x, out, done):
        copy = pltpu.make_async_copy(x, out, done.at[n // 2])
        copy.start()
        copy.wait()

    def call(x):
        anywhere = pl.BlockSpec(memory_space=pl.ANY)
        return pl.pallas_call(
            body, in_specs=[anywhere], out_specs=anywhere, out_shape=spec((128, 128), "float32"),
            scratch_shapes=[pltpu.SemaphoreType.DMA((n,))], name="many_semaphores",
        )(x)

    return call, (spec((128, 128), "float32"),), {}, dict(what="scratch", semaphores=n)


def softmax_low_limit(n=2048):
    import jax

    def call(x, w):
        return jax.nn.softmax(x @ w, axis=-1)

    options = dict(compiler_options={"xla_tpu_scoped_vmem_limit_kib": "16"})
    return call, (spec((n, n), "bfloat16"),) * 2, options, dict(what="kernel stack", limit_bytes=16 << 10)


PROGRAMS = {
    program.__name__: program
    for program in (
        embeddings, decode_cache, recurrence, add_blocks, add_narrow_blocks, add_blocks_beyond, accumulate, page_table,
        many_semaphores, softmax_low_limit,
    )
}
# Where each does not fit.
PLAN = {
    "embeddings": ("v4", "v5e"),
    "decode_cache": ("v5e",),
    "recurrence": ("v5e", "v6e"),
    "add_blocks": ("v4", "v5e", "v5p", "v6e", "v7x"),
    "add_narrow_blocks": ("v5e", "v7x"),
    "add_blocks_beyond": ("v5e", "v5p", "v6e", "v7x"),
    "accumulate": ("v5e",),
    "page_table": ("v4", "v5p", "v7x"),
    "many_semaphores": ("v5e", "v7x"),
    "softmax_low_limit": ("v5p", "v6e"),
}


def one(name, chip, out):
    import jax
    from jax._src.pallas.mosaic import tpu_info
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding

    jax.config.update("jax_hlo_source_file_canonicalization_regex", "^.*/")
    device = topologies.get_topology_desc(TOPOLOGY[chip], "tpu").devices[0]
    tpu_info.get_device_kind = lambda: device.device_kind
    tpu_info.get_num_device_cores = lambda: device.num_cores
    function, arguments, options, truth = PROGRAMS[name]()
    options = dict(options)
    compiler_options = options.pop("compiler_options", None)
    sharding = SingleDeviceSharding(device)
    arguments = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), arguments)
    try:
        jax.jit(function, **options).lower(*arguments).compile(compiler_options=compiler_options)
        text = ""
    except Exception as error:
        text = str(error)
    with open(f"{out}/{name}_{chip}.txt", "w") as file:
        file.write(text)
    with open(f"{out}/{name}_{chip}.json", "w") as file:
        json.dump(dict(truth, program=name, chip=chip), file)


def keep(path, to):
    with open(path, "rb") as file, open(to, "wb") as out, gzip.GzipFile("", "wb", 9, out, 0) as packed:
        packed.write(file.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--only", default="", help="programs and chips that hold this, such as recurrence_v5e")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        return one(*asked.one, asked.out)
    os.makedirs(asked.out, exist_ok=True)
    all_ = {}
    for name, chips in PLAN.items():
        for chip in chips:
            label = f"{name}_{chip}"
            if not re.search(asked.only, label):
                continue
            with tempfile.TemporaryDirectory(prefix="oom-") as dump:
                env = dict(
                    os.environ, XLA_FLAGS=f"--xla_dump_to={dump} --xla_dump_hlo_as_text", JAX_PLATFORMS="cpu",
                    TPU_SKIP_MDS_QUERY="1", ALLOW_MULTIPLE_LIBTPU_LOAD="1",
                )
                command = [sys.executable, __file__, asked.out, "--one", name, chip]
                done = subprocess.run(command, env=env, capture_output=True, text=True)
                if done.returncode:
                    print(f"{label}: {done.stderr[-800:]}")
                    continue
                base = f"{asked.out}/{label}"
                with open(base + ".json") as file:
                    all_[label] = json.load(file)
                os.remove(base + ".json")
                with open(base + ".txt") as file:
                    text = file.read()
                if "memory on HBM" in text:
                    for end in DUMPED:
                        found = glob.glob(f"{dump}/*after_optimizations-{end}.txt")
                        if found:
                            keep(max(found, key=os.path.getsize), f"{base}.{end}.txt.gz")
                    for path in glob.glob(f"{dump}/*oom_intermediate_module.txt"):
                        if os.path.getsize(path) < LARGEST:
                            keep(path, f"{base}.oom_intermediate_module.txt.gz")
                print(f"{label}: {text[:110]!r}", flush=True)
    with open(f"{asked.out}/truth.json", "w") as file:
        json.dump(all_, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main()
