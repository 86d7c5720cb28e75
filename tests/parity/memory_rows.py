#!/usr/bin/env python3
"""What XProf's memory_viewer says of each worker of the fixture `tpu-run-scan`, and what buckets its rows make.

    memory_rows.py [--write]

Without --write it fails if fixtures/parity/tpu-run-scan.json is not what XProf says. HALOSCOPE_XPROF_PYTHON names a Python that
has xprof 2.24.2, as for tests/conformance/run.py. Needs Python 3.9 and no more.

Two lists of XProf are kept for memory space 0 (HBM). `max_heap` is what is alive at the peak; XProf gathers what is smaller than
16384 bytes in one row without a name. `indefinite` is one row for each allocation that lives as long as the program or a call,
however small; it has no op name, so the name stands for it. Sizes are bytes: XProf's MiB are whole bytes divided by 2^20.
"""
import argparse
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "conformance"))
from run import python_with_xprof  # noqa: E402

RUN = ROOT / "fixtures" / "runs" / "tpu-run-scan" / "plugins" / "profile"
KEPT = ROOT / "fixtures" / "parity" / "tpu-run-scan.json"
MODULE = "jit_run_scan(3861904237781946021)"
CACHES = ("init_carry[2]", "init_carry[3]")


def size(mib):
    """XProf's MiB in bytes; a number that is not whole bytes is an error."""
    found = mib * 2**20
    if found != int(found):
        raise SystemExit(f"memory_rows.py: {mib} MiB is no whole number of bytes")
    return int(found)


def bucket(name, group):
    """The rules, by op name where a row has one, else by XProf's group."""
    if name in CACHES:
        return "kv_cache"
    if name.startswith("params["):
        return "model_parameters"
    if name.startswith("init_carry["):
        return "other_carry"
    if group == "Parameter":
        return "other_parameter"
    return {"Output": "output", "Temporary": "temporary", "": "small"}[group]


def sums(rows):
    """Bytes by bucket, in order of name."""
    total = {}
    for row in rows:
        total[row["bucket"]] = total.get(row["bucket"], 0) + row["size_bytes"]
    return dict(sorted(total.items()))


def describe(answer):
    """What is kept of one answer."""
    rows = []
    for heap in answer["maxHeap"]:
        name, group = heap.get("tfOpName", ""), heap.get("groupName", "")
        rows.append(
            {
                "instruction": heap.get("instructionName", ""),
                "op_name": name,
                "group": group,
                "opcode": heap.get("opCode", ""),
                "shape": heap.get("shapeString", ""),
                "size_bytes": size(heap["logicalBufferSizeMib"]),
                "unpadded_bytes": size(heap.get("unpaddedShapeMib", 0)),
                "bucket": bucket(name, group),
            }
        )
    indefinite = [
        {
            "allocation": int(found["id"]),
            "size_bytes": size(found["sizeMib"]),
            "attributes": found["attributes"],
            "instructions": [at["hloName"] for at in found["logicalBuffers"]],
        }
        for found in answer["indefiniteLifetimes"]
    ]
    numbers = ("peakHeapMib", "peakUnpaddedHeapMib", "entryComputationParametersMib", "nonReusableMib", "maybeLiveOutMib")
    numbers += ("totalBufferAllocationMib", "indefiniteBufferAllocationMib")
    said = {key[:-3] + "_mib": answer[key] for key in numbers}
    said["peak_heap_bytes"] = size(answer["peakHeapMib"])
    said["entry_computation_parameters_bytes"] = size(answer["entryComputationParametersMib"])
    markers = ("transpose(jvp", "grad", "/jvp(")
    return {
        "numbers": {**said, "peakHeapSizePosition": answer["peakHeapSizePosition"]},
        "buckets_bytes": sums(rows),
        "gradient_markers": sum(any(m in row["op_name"] for m in markers) for row in rows),
        "max_heap": sorted(rows, key=lambda row: (-row["size_bytes"], row["instruction"])),
        "indefinite": sorted(indefinite, key=lambda row: row["allocation"]),
    }


def ask():
    """XProf's answers by worker."""
    with tempfile.TemporaryDirectory(prefix="haloscope-memory-rows-") as scratch:
        folder = pathlib.Path(scratch)
        session = folder / "plugins" / "profile" / "run"
        session.mkdir(parents=True)
        hosts = []
        for source in sorted(RUN.rglob("*.xplane.pb*")):
            hosts.append(source.name.split(".")[0])
            raw = source.read_bytes()
            (session / f"{hosts[-1]}.xplane.pb").write_bytes(gzip.decompress(raw) if source.suffix == ".gz" else raw)
        questions = [
            {
                "tool": "memory_viewer", "direct": False, "files": [], "logdir": scratch, "out": str(folder / host),
                "params": {"host": host, "module_name": MODULE, "memory_space": "0"},
            }
            for host in hosts
        ]  # fmt: skip
        (folder / "questions.json").write_text(json.dumps(questions))
        oracle = ROOT / "tests" / "conformance" / "oracle.py"
        command = [python_with_xprof(), str(oracle), str(folder / "questions.json")]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return {host: json.loads((folder / host).read_bytes()) for host in hosts}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--write", action="store_true", help="write the file that is compared otherwise")
    write = options.parse_args().write
    workers = {host: describe(answer) for host, answer in ask().items()}
    first, *others = workers.values()
    if any(other != first for other in others):
        raise SystemExit("memory_rows.py: XProf's rows are not the same for every worker, who run the same program")
    found = {"xprof": "2.24.2", "module": MODULE, "memory_space": 0, "workers": list(workers), "every_worker": first}
    text = json.dumps(found, indent=2) + "\n"
    if write:
        KEPT.write_text(text)
    elif KEPT.read_text() != text:
        raise SystemExit(f"memory_rows.py: {KEPT.relative_to(ROOT)} is not what XProf says; look with --write and git diff")
    print(f"memory_rows.py: {len(workers)} workers, {len(first['max_heap'])} rows, {first['buckets_bytes']}")


if __name__ == "__main__":
    main()
