#!/usr/bin/env python3
"""A stranger's first minutes with the built binary: python3 .ci/smoke.py target/release/haloscope"""

import csv
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN = ROOT / "fixtures/runs/cpu-train"
ANALYSES = ("overview", "steps", "ops", "roofline", "inspect")
BINARY = ROOT / "target/release/haloscope"


def haloscope(*arguments: object) -> subprocess.CompletedProcess:
    command = [str(BINARY), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)


class Smoke(unittest.TestCase):
    def test_help_names_every_analysis(self) -> None:
        done = haloscope("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        for analysis in ANALYSES:
            self.assertRegex(done.stdout, rf"(?m)^ +{analysis} ")

    def test_programs_have_memory_and_text(self) -> None:
        peak = haloscope("memory", "peak", RUN, "--format", "json")
        self.assertEqual(peak.returncode, 0, peak.stderr)
        self.assertGreater(json.loads(peak.stdout)["values"]["peak_bytes"]["value"], 0)
        text = haloscope("hlo", "text", RUN)
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertTrue(text.stdout.startswith("HloModule "), text.stdout[:80])
        self.assertEqual(haloscope("hlo", "counters", RUN, "--dots", "999999").returncode, 1)

    def test_reports_are_json_csv_and_tables_and_the_same_every_time(self) -> None:
        for analysis in ANALYSES:
            with self.subTest(analysis):
                done = haloscope(analysis, RUN, "--format", "json")
                if done.returncode == 4:
                    self.assertNotEqual(done.stderr.strip(), "")
                    continue
                self.assertEqual(done.returncode, 0, done.stderr)
                report = json.loads(done.stdout)
                self.assertEqual(report["analysis"], analysis)
                for key in ("version", "scope", "provenance", "quality", "values", "tables", "findings"):
                    self.assertIn(key, report)
                self.assertEqual(done.stdout, haloscope(analysis, RUN, "--format", "json").stdout)
                table = haloscope(analysis, RUN)
                self.assertEqual(table.returncode, 0, table.stderr)
                self.assertNotIn("\x1b", table.stdout)
                rows = haloscope(analysis, RUN, "--format", "csv")
                self.assertEqual(rows.returncode, 0, rows.stderr)
                self.assertGreater(len(list(csv.reader(io.StringIO(rows.stdout)))), 1)

    def test_overview_knows_the_recorded_run(self) -> None:
        values = json.loads(haloscope("overview", RUN, "--format", "json").stdout)["values"]
        self.assertEqual(values["duty_cycle"]["status"], "unknown")
        self.assertIsNone(values["duty_cycle"]["value"])
        self.assertGreater(values["step_count"]["value"], 5)
        self.assertLess(abs(values["step_time_p50_ps"]["value"] - 12e9), 12e9)

    def test_bad_input_is_refused_with_a_reason_and_the_right_code(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            words = pathlib.Path(folder) / "words.xplane.pb"
            words.write_text("not a profile")
            for arguments, code in (
                (("overview", words), 3),
                (("overview", words.parent / "missing"), 3),
                (("overview", RUN, "--no-such-flag"), 2),
                (("no-such-question", RUN), 2),
            ):
                with self.subTest(arguments):
                    done = haloscope(*arguments)
                    self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
                    self.assertNotEqual(done.stderr.strip(), "")

    def test_a_cut_profile_gives_what_came_before_the_cut(self) -> None:
        whole = next(RUN.rglob("*.xplane.pb")).read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            cut = pathlib.Path(folder) / "cut.xplane.pb"
            cut.write_bytes(whole[: len(whole) * 3 // 4])
            done = haloscope("inspect", cut, "--format", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(json.dumps(json.loads(done.stdout)["quality"]), r"byte \d")

    def test_a_closed_pipe_is_no_error(self) -> None:
        read, write = os.pipe()
        os.close(read)
        try:
            done = subprocess.run([str(BINARY), "ops", str(RUN)], stdout=write, stderr=subprocess.PIPE, timeout=60)
        finally:
            os.close(write)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_demo_serves_the_page_and_prints_where(self) -> None:
        command = [str(BINARY), "demo", "--port", "0", "--no-token"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8") as demo:
            try:
                address = None
                while address is None:
                    line = demo.stdout.readline()
                    self.assertNotEqual(line, "", "demo ended without an address")
                    address = re.search(r"http://127\.0\.0\.1:\d+\S*", line)
                with urllib.request.urlopen(address.group(), timeout=30) as page:
                    self.assertEqual(page.status, 200)
                    self.assertIn("<!doctype html", page.read().decode().lower())
            finally:
                demo.send_signal(signal.SIGTERM)
                # What it still says is read, so that it does not wait for a reader.
                demo.communicate(timeout=30)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
