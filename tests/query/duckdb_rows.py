#!/usr/bin/env python3
"""Twenty questions in SQL, asked here and of DuckDB over the Parquet files that `haloscope query` writes of the same tables: the same rows.

    python3 tests/query/duckdb_rows.py --query FOLDER/debug/haloscope-query

DuckDB is fetched once from PyPI into target/peers/duckdb. The questions are in words that both take.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "target/peers/duckdb"
DUCKDB = "duckdb==1.4.3"
RUNS = ["tpu-train", "gpu-train", "cpu-train"]
TABLES = ["event", "host", "device", "line", "step", "op", "launch", "account", "gap", "collective", "counter", "module", "instruction"]

# All are ordered by what tells their rows apart.
QUESTIONS = {
    "events by kind": "SELECT kind, count(*) AS n, sum(dur_ps) AS ps, min(start_ps) AS first_ps, max(end_ps) AS last_ps FROM event GROUP BY kind ORDER BY kind",
    "op time by name": """SELECT op, sum(self_ps) AS self_ps, count(*) AS n FROM event WHERE op IS NOT NULL AND kind IN ('op', 'stream', 'thread')
        GROUP BY op ORDER BY self_ps DESC, op LIMIT 50""",
    "op time by category and step": """SELECT step, category, sum(self_ps) AS self_ps FROM event WHERE op IS NOT NULL GROUP BY step, category
        ORDER BY step NULLS FIRST, category""",
    "ops of the table op": "SELECT host, device, op, module, occurrences, total_ps, self_ps, flops, bytes FROM op ORDER BY host, device, module, op LIMIT 500",
    "ops beyond a share of their device": """WITH d AS (SELECT device, sum(self_ps) AS all_ps FROM op GROUP BY device)
        SELECT o.device, o.op, o.self_ps FROM op o JOIN d ON o.device = d.device WHERE o.self_ps > 0.02 * d.all_ps ORDER BY o.device, o.self_ps DESC, o.op""",
    "gap to the event before": """SELECT line_id, id, start_ps - lag(end_ps) OVER (PARTITION BY line_id ORDER BY id) AS gap_ps FROM event
        WHERE kind IN ('op', 'stream') ORDER BY line_id, id LIMIT 1000""",
    "longest event of each line": """SELECT line_id, name, dur_ps FROM (SELECT line_id, name, dur_ps, row_number() OVER (PARTITION BY line_id ORDER BY dur_ps DESC, id) AS place
        FROM event) t WHERE place = 1 ORDER BY line_id""",
    "running time on a line": "SELECT line_id, id, sum(dur_ps) OVER (PARTITION BY line_id ORDER BY id) AS so_far_ps FROM event WHERE kind = 'module' ORDER BY line_id, id",
    "steps by device": "SELECT device, count(*) AS n, min(dur_ps) AS least, max(dur_ps) AS most, sum(dur_ps) AS ps FROM step GROUP BY device ORDER BY device",
    "steps beyond the mean": "SELECT device, step, dur_ps FROM step WHERE dur_ps > (SELECT avg(dur_ps) FROM step) ORDER BY device, step",
    "programs in a step": """SELECT s.device, s.step, l.module, count(*) AS n FROM step s JOIN launch l
        ON l.device = s.device AND l.start_ps >= s.start_ps AND l.start_ps < s.end_ps GROUP BY s.device, s.step, l.module ORDER BY s.device, s.step, l.module""",
    "lines without events": "SELECT l.line_id, l.line FROM line l LEFT JOIN (SELECT DISTINCT line_id FROM event) e ON e.line_id = l.line_id WHERE e.line_id IS NULL ORDER BY l.line_id",
    "devices and their hosts": "SELECT h.host, h.devices, d.device, d.kind, d.type, d.peak_flops FROM host h JOIN device d ON d.host = h.host ORDER BY h.host, d.device",
    "time by class": "SELECT device, class_group, sum(time_ps) AS ps FROM account GROUP BY device, class_group ORDER BY device, class_group",
    "classes that all devices have": """SELECT class, count(*) AS n FROM account WHERE time_ps > 0 GROUP BY class
        HAVING count(*) = (SELECT count(DISTINCT device) FROM account) ORDER BY class""",
    "longest gaps": "SELECT device, class, start_ps, dur_ps FROM gap ORDER BY dur_ps DESC, device, start_ps LIMIT 20",
    "exposed by collective": "SELECT kind, op, count(*) AS n, sum(exposed_ps) AS exposed_ps, sum(bytes) AS bytes FROM collective GROUP BY kind, op ORDER BY kind NULLS FIRST, op",
    "instructions by opcode": "SELECT host, module, opcode, count(*) AS n, sum(flops) AS flops FROM instruction GROUP BY host, module, opcode ORDER BY host, module, opcode",
    "names by pattern and case": """SELECT upper(substr(name, 1, 6)) AS start, count(*) AS n, sum(CASE WHEN dur_ps = 0 THEN 1 ELSE 0 END) AS instants FROM event
        WHERE name LIKE '%a%' AND name NOT LIKE '%:%' GROUP BY 1 ORDER BY 1""",
    "what is unknown": """SELECT count(*) AS n, count(device) AS devices, count(step) AS steps, count(flops) AS flops, count(source) AS sources,
        count(DISTINCT name) AS names FROM event""",
}


def install():
    """Runs this file again in the environment that has DuckDB."""
    python = PEERS / "venv/bin/python"
    if not (PEERS / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", PEERS / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", DUCKDB], check=True)
        (PEERS / "ready").write_text("")
    if Path(sys.prefix) != PEERS / "venv":
        os.execv(python, [str(python), *sys.argv])


def ask(program: str, run: Path, *words: str) -> str:
    done = subprocess.run([program, str(run), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (run.name, words, done.stderr)
    return done.stdout


def plain(value: object) -> object:
    """A number as both write it: sums of DuckDB are of 128 bits, and whole floats are whole."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if value is None or isinstance(value, (bool, str)):
        return value
    return int(value)


def same(own: list[dict], other: list[dict]) -> bool:
    def key(rows: list[dict]) -> list[list[object]]:
        return [[(name, plain(value)) for name, value in row.items()] for row in rows]

    return key(own) == key(other)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--query", required=True)
    args = parser.parse_args()
    program = str(Path(args.query).resolve())
    install()
    import duckdb

    assert len(QUESTIONS) == 20
    failed, empty = [], set(QUESTIONS)
    for name in RUNS:
        run = ROOT / "fixtures/runs" / name
        with tempfile.TemporaryDirectory() as folder:
            other = duckdb.connect()
            for table in TABLES:
                file = Path(folder, f"{table}.parquet")
                columns = "* EXCEPT (args)" if table == "event" else "*"
                ask(program, run, f"SELECT {columns} FROM {table}", "--format", "parquet", "-o", str(file))
                other.execute(f"CREATE VIEW {table} AS SELECT * FROM '{file}'")
            for what, sql in QUESTIONS.items():
                own = json.loads(ask(program, run, sql, "--format", "json"))
                asked = other.execute(sql)
                names = [column[0] for column in asked.description]
                rows = [dict(zip(names, row)) for row in asked.fetchall()]
                holds = same(own, rows)
                print(f"{'ok  ' if holds else 'FAIL'}  {name}: {what}: {len(own)} rows", flush=True)
                if own:
                    empty.discard(what)
                if not holds:
                    failed.append((name, what))
                    for one, two in [pair for pair in zip(own, rows) if not same([pair[0]], [pair[1]])][:2]:
                        print(f"      {one}\n      {two}")
    if empty:
        print(f"FAIL  no run has rows of: {', '.join(sorted(empty))}")
    return 1 if failed or empty else 0


if __name__ == "__main__":
    sys.exit(main())
