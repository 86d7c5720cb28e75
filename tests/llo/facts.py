"""What the `kernel` analyses say, in the form of the corpus' facts.json. None of it needs XProf."""

import collections


class Report:
    """An answer: values by id, tables as rows by column."""

    def __init__(self, body):
        self.body = body

    def value(self, name):
        return self.body["values"][name]["value"]

    def rows(self, table):
        found = next(t for t in self.body["tables"] if t["id"] == table)
        names = [column["id"] for column in found["columns"]]
        return [dict(zip(names, row)) for row in found["rows"]]


UNITS = ("mxu", "xlu", "vector_alu", "vector_eup", "vector_load", "vector_store", "scalar_alu")


def facts_of(asked):
    """Facts of each op of a run, by its name."""
    listed = asked.report("kernel-list")
    if listed is None:
        return {}
    return {row["kernel"]: facts_of_one(asked, row["kernel"]) for row in Report(listed).rows("kernels")}


def facts_of_one(asked, op):
    ask = lambda analysis, **params: Report(asked.report(analysis, op=op, **params))  # noqa: E731
    whole, spills, opcodes, registers = (ask(f"kernel{part}") for part in ("", "-spills", "-opcodes", "-registers"))
    bundles = []
    while len(bundles) < whole.value("bundles"):
        bundles += ask("kernel-bundles", first=len(bundles), count=20000).rows("bundles")
    capacity = {row["unit"]: row["capacity"] for row in whole.rows("units")}
    memory = whole.rows("memory")
    facts = {
        "instructions": opcodes.value("instructions"),
        "bundles": whole.value("bundles"),
        "units": {unit: {"sum": sum(row[unit] for row in bundles), "capacity": capacity[unit]} for unit in UNITS},
        "spill_stores": spills.value("vector_spills"),
        "spill_fills": spills.value("vector_fills"),
        "bundles_with_spill": sum(row["spills"] > 0 for row in bundles),
        "bundles_with_fill": sum(row["fills"] > 0 for row in bundles),
        "allocations": len(memory),
        "allocated_bytes": by_space(memory),
        "spill_bytes": by_space([row for row in memory if row["is_spill"]]),
        "peak_distinct_registers": {row["type"]: row["peak"] for row in registers.rows("types")},
        "loops": [
            {"path": row["path"], "trips": row["trips"], "body": [row["first_bundle"], row["first_bundle"] + row["bundles"]]}
            for row in whole.rows("loops")
        ],
    }
    # A table that was cut has not all of them.
    if not any(remark["id"] == "thinned" for remark in spills.body["quality"]):
        opcodes_of_spills = collections.Counter(f"OPCODE_{row['opcode']}" for row in spills.rows("spills"))
        facts["instructions_on_spill_allocations"] = dict(opcodes_of_spills)
    source = ask("kernel-source")
    # The corpus counts instructions that the source map names, also those of which it has a primitive and no line.
    with_source = sum(row["instructions"] for row in source.rows("primitives") if row["name"])
    if with_source:
        scopes = collections.Counter()
        for row in source.rows("scopes"):
            for scope in (row["name"] or "").split("/"):
                scopes[scope] += row["instructions"]
        del scopes[""]
        facts["instructions_with_source"] = with_source
        facts["instructions_by_scope"] = dict(scopes)
        for key, table in (("line", "lines"), ("primitive", "primitives")):
            rows = source.rows(table)
            facts[f"instructions_by_{key}"] = {row["name"]: row["instructions"] for row in rows if row["name"]}
    return facts


def by_space(rows):
    sums = collections.Counter()
    for row in rows:
        sums[row["space"]] += row["bytes"]
    return dict(sums)
