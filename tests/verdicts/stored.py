"""Runs that lie in a folder, each with its scenario, its truth and, by the same base and seed, its twin without the fault."""

import json

import cases

# By field of a scenario, the kind of fault in cases.KINDS and what the first claim must hold.
FIELDS = [
    ("straggler", "slow host", lambda scenario, truth: truth["straggler"]["host"]),
    ("throttle", "slow from a step on", None),
    ("recompile", "recompilation", None),
    ("hbm_factor", "HBM slower", None),
    ("inject_in", "an op of one program of two", None),
    ("slow_links", "a slow link", None),
]


def _read(folder, name):
    return json.loads((folder / name).read_text())


def _kind(scenario, truth):
    if scenario.get("straggler") and scenario.get("input", {}).get("bound"):
        # Two faults at once: no one ceiling is what removing both gives.
        return None
    periodic = scenario.get("periodic")
    if periodic and periodic.get("hosts"):
        return "late input of one host", truth["hosts"][periodic["hosts"][0]]
    if periodic:
        return "stall every few steps", periodic["event"]
    for field, kind, what in FIELDS:
        if scenario.get(field):
            return kind, what(scenario, truth) if what else ""
    return None


def _programs(scenario):
    return sorted({run["program"].partition("#")[0] for run in scenario["runs"]})


def clean(folder):
    """The folders of the runs without a fault."""
    return sorted(each for each in folder.iterdir() if each.name.startswith("clean_"))


def runs(folder):
    """Of each run with one fault and a twin: what is known of it, its folder, the twin's, and what removing the fault gives."""
    twins = {}
    for each in clean(folder):
        scenario = _read(each, "scenario.json")
        twins[(scenario["chip"], scenario["seed"], *_programs(scenario))] = each
    for each in sorted(folder.iterdir()):
        if each.name.startswith("clean_") or not (each / "scenario.json").exists():
            continue
        scenario, truth = _read(each, "scenario.json"), _read(each, "truth.json")
        twin = twins.get((scenario["chip"], scenario["seed"], *_programs(scenario)))
        kind = _kind(scenario, truth)
        if not twin or not kind:
            print(f"skip   {each.name}: it has no twin of its base and seed, or two faults")
            continue
        first = next(one["first"] for one in cases.KINDS if one["name"] == kind[0])
        gain = truth["step_time_ms"]["mean"] / _read(twin, "truth.json")["step_time_ms"]["mean"]
        yield dict(name=each.name, kind=kind[0], first=first, what=kind[1]), each, twin, gain
