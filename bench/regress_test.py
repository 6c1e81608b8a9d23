#!/usr/bin/env python3
"""`lulab regress` flags what became slower, not noise, and says what is wrong with its input.

Raw samples are tested where this Python or that of build/report/venv (./lulab report makes it) has scipy.
"""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import regress

CONTEXT = {"gpu": "NVIDIA X", "cpu": "C", "git_hash": "abc"}


def times(median, sigma, runs, seed):
    draw = random.Random(seed)
    return [median * draw.lognormvariate(0, sigma) for _ in range(runs)]


def row(name, ms, raw=False, **more):
    """A row as lulab-bench writes it."""
    ordered = sorted(ms)
    tenth = len(ms) // 10
    entry = {"name": name, "run_type": "iteration", "iterations": len(ms), "time_unit": "ms",
             "real_time": (ordered[(len(ms) - 1) // 2] + ordered[len(ms) // 2]) / 2, "min_ms": ordered[0],
             "max_ms": ordered[-1], "p10_ms": ordered[tenth], "p90_ms": ordered[-1 - tenth]}
    return entry | ({"samples_ms": ms} if raw else {}) | more


class Regress(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.notes = pathlib.Path(folder.name), []

    def write(self, name, rows, context=None):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"context": CONTEXT | (context or {}), "benchmarks": rows}), encoding="utf-8")
        return path

    def run_on(self, old, new, *options):
        """Exit code, rows, and what it says of errors."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = regress.main([str(old), str(new), "--json", *options])
        answer = json.loads(out.getvalue() or '{"rows": [], "notes": []}')
        self.notes = answer["notes"]
        return code, answer["rows"], err.getvalue()

    def compare(self, old, new, *options):
        return self.run_on(self.write("old.json", old), self.write("new.json", new), *options)

    def refused(self, because, old, new, options=()):
        code, rows, said = self.run_on(old, new, *options)
        self.assertEqual((code, rows), (2, []), said)
        self.assertIn(because, said)

    def test_a_slowdown_is_flagged_and_its_neighbours_are_not(self):
        old = [row(f"r{k}", times(1, 0.05, 40, k)) for k in range(9)]
        new = [row(f"r{k}", times(1.15 if k == 4 else 1, 0.05, 40, 100 + k)) for k in range(9)]
        code, rows, _ = self.compare(old, new)
        self.assertEqual((code, [r["name"] for r in rows if r["verdict"] == "slower"]), (1, ["r4"]))
        self.assertAlmostEqual(rows[4]["change"], 0.15, delta=0.05)
        code, rows, _ = self.compare(new, old)
        self.assertEqual((code, [r["name"] for r in rows if r["verdict"] == "faster"]), (0, ["r4"]))

    def test_noise_is_seldom_flagged(self):
        # Without --min-change the test stands alone: 1 % of comparisons may have a false alarm in any of 20 rows.
        def alarms():
            count = 0
            for trial in range(100):
                old, new = ([row(f"r{k}", times(1, 0.2, runs, f"{trial} {k} {runs}")) for k in range(20)]
                            for runs in (30, 31))
                count += any(r["p"] < 0.01 for r in self.compare(old, new, "--min-change", "0")[1])
            return count

        self.assertLessEqual(alarms(), 6)
        with unittest.mock.patch.object(regress, "holm", list):  # without correction the same test has more alarms
            self.assertGreater(alarms(), 6)

    def test_the_spread_is_that_of_the_samples(self):
        for runs in (11, 40, 400):
            ms = times(2, 0.1, runs, runs)
            middle = row("r", ms)
            extremes = {key: value for key, value in middle.items() if key not in ("p10_ms", "p90_ms")}
            for entry in (middle, extremes, row("r", ms, raw=True)):
                self.assertAlmostEqual(regress.Timing([entry]).log_sigma, 0.1, delta=0.045)

    def test_a_change_below_the_smallest_is_not_flagged(self):
        old, new = [row("r", times(1, 0.001, 200, 1))], [row("r", times(1.03, 0.001, 200, 2))]
        self.assertEqual(self.compare(old, new)[0], 0)
        self.assertEqual(self.compare(old, new, "--min-change", "0.02")[0], 1)

    def test_a_change_within_the_spread_is_not_flagged(self):
        old, new = [row("r", times(1, 0.2, 400, 1))], [row("r", times(1.1, 0.2, 400, 2))]
        code, rows, _ = self.compare(old, new)
        self.assertEqual((code, rows[0]["overlap"]), (0, True))
        self.assertLess(rows[0]["p"], 0.01)

    def test_noise_that_was_measured_is_not_flagged(self):
        def rows(*medians):
            return [row(f"r{k}", times(ms, 0.01, 20, f"{k} {ms}")) for k, ms in enumerate(medians)]

        again = self.write("again.json", rows(1, 1.3, *[1.02] * 20))
        old, new = rows(1, 1, *[1] * 20), rows(1.2, 1.2, *[1] * 20)
        code, judged, _ = self.compare(old, new, "--again", str(again))
        self.assertEqual((code, [r["name"] for r in judged if r["verdict"] == "slower"]), (1, ["r0"]))
        self.assertEqual([r["name"] for r in self.compare(old, new)[1] if r["verdict"] == "slower"], ["r0", "r1"])
        again = self.write("again.json", rows(1, *[1.3] * 21))  # most rows are that noisy
        self.assertEqual(self.compare(old, new, "--again", str(again))[0], 0)
        self.refused("no such file", old=self.folder / "old.json", new=self.folder / "new.json",
                     options=["--again", str(self.folder / "none.json")])

    def test_an_outlier_hides_no_slowdown_where_only_the_extremes_are_stored(self):
        def extremes(ms, outlier):
            summary = row("r", [*times(ms, 0.02, 399, ms), outlier])
            return {key: value for key, value in summary.items() if key not in ("p10_ms", "p90_ms")}

        code, rows, _ = self.compare([extremes(1, 3.2)], [extremes(3, 3.2)])
        self.assertEqual((code, rows[0]["verdict"], rows[0]["overlap"]), (1, "slower", False))

    def test_few_runs_are_not_judged(self):
        code, rows, _ = self.compare([row("r", [1.0, 1.0])], [row("r", [9.0, 9.0])])
        self.assertEqual((code, rows[0]["verdict"]), (0, "few runs"))

    def test_iterations_of_another_program_are_no_samples(self):
        plain = {"name": "r", "iterations": 1000, "real_time": 5e6, "time_unit": "ns"}
        code, rows, _ = self.compare([plain], [plain | {"real_time": 9e6}])
        self.assertEqual((code, rows[0]["verdict"], rows[0]["old_ms"]), (0, "few runs", 5))

    def test_a_row_that_fails_now_is_flagged(self):
        fails = {"name": "r", "error_occurred": True, "error_message": "inaccurate"}
        code, rows, _ = self.compare([row("r", times(1, 0.1, 9, 1))], [fails])
        self.assertEqual((code, rows[0]["verdict"], rows[0]["error"]), (1, "fails now", "inaccurate"))
        self.assertEqual(self.compare([fails], [row("r", times(1, 0.1, 9, 1))])[0], 0)

    def test_labels_tell_rows_of_one_name_apart(self):
        old = [row("r", times(1, 0.02, 20, k), label=label) for k, label in enumerate(("a", "b"))]
        new = [row("r", times(ms, 0.02, 20, 9 + ms), label=label) for ms, label in ((3, "b"), (1, "a"))]
        code, rows, _ = self.compare(old, new)
        self.assertEqual((code, [(r["label"], r["verdict"]) for r in rows]), (1, [("a", "same"), ("b", "slower")]))
        self.assertEqual(self.compare([row("r", [1.0] * 9, label="a")], [row("r", [1.0] * 9, label="b")])[0], 0)

    def test_correction_is_holms(self):
        self.assertEqual(regress.holm([0.04, 0.01, 0.03]), [0.06, 0.03, 0.06])

    @unittest.skipUnless(importlib.util.find_spec("scipy"), "no scipy: raw samples are not tested")
    def test_raw_samples_are_compared_by_ranks(self):
        for seed, slower in ((1, 1), (2, 1.2)):
            old, new = times(1, 0.05, 15, seed), times(slower, 0.05, 15, seed + 10)
            new[0] = 1000  # an outlier changes no rank but its own
            code, rows, _ = self.compare([row("r", old, raw=True)], [row("r", new, raw=True)])
            self.assertEqual((code, rows[0]["test"]), (int(slower > 1), "U"))
        repeated = [[{"name": "r", "run_type": "iteration", "iterations": 7, "real_time": x, "time_unit": "us"}
                     for x in times(ms, 0.05, 15, ms)] + [{"name": "r", "run_type": "aggregate", "real_time": 0}]
                    for ms in (1, 2)]
        code, rows, _ = self.compare(*repeated)
        self.assertEqual((code, rows[0]["test"], rows[0]["old_runs"]), (1, "U", 15))

    @unittest.skipUnless(importlib.util.find_spec("scipy"), "no scipy: raw samples are not tested")
    def test_few_samples_of_many_rows_can_be_flagged(self):
        # Nine runs without overlap: p = 4.1e-5 if exact, 4.1e-4 if asymptotic; Holm multiplies it by 60 or 300.
        for count, digits, test in ((60, 9, "U"), (60, 1, "z"), (300, 9, "z")):
            old, new = ([row(f"r{k}", [round(ms, digits) for ms in times(median, 0.05, 9, f"{k} {median}")], raw=True)
                         for k in range(count)] for median in (1, 2))
            code, rows, _ = self.compare(old, new)
            self.assertEqual((code, {r["verdict"] for r in rows}, rows[0]["test"]), (1, {"slower"}, test))

    def test_folders_are_joined_by_file(self):
        self.write("a/x.json", [row("r", times(1, 0.05, 20, 1))])
        self.write("a/y.json", [row("r", times(5, 0.05, 20, 2))])
        self.write("a/gone.json", [row("r", times(5, 0.05, 20, 2))])
        self.write("b/x.json", [row("r", times(1, 0.05, 20, 3))])
        self.write("b/y.json", [row("r", times(9, 0.05, 20, 4))])
        for name in ("a", "b"):
            (self.folder / name / "other.json").write_text('{"levels": []}', encoding="utf-8")
        for more in ([], ["--again", str(self.folder / "a")]):
            code, rows, _ = self.run_on(self.folder / "a", self.folder / "b", *more)
            self.assertEqual((code, {r["file"]: r["verdict"] for r in rows}),
                             (1, {"x.json": "same", "y.json": "slower"}))
        notes = sorted(note.removeprefix(f"{self.folder}/a/").split(":")[0] for note in self.notes if "json: " in note)
        self.assertEqual(notes, ["gone.json", "other.json"], self.notes)

    def test_the_table_names_the_slow_row_first(self):
        old = [row(name, times(1, 0.02, 20, name)) for name in "ab"]
        new = [row("a", times(0.5, 0.02, 20, "c")), row("b", times(1.5, 0.02, 20, "d"))]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            regress.main([str(self.write("old.json", old)), str(self.write("new.json", new, {"cpu": "D"}))])
        lines = out.getvalue().splitlines()
        self.assertTrue(lines[1].startswith("slower") and lines[1].endswith("b"), lines)
        self.assertIn("note: cpu was C, is D", lines)
        self.assertEqual(lines[-1], "2 rows compared: 1 faster, 1 slower")

    def test_bad_input_is_refused_with_the_reason(self):
        good = self.write("good.json", [row("r", [1.0] * 9)])
        self.refused("no such file", self.folder / "none.json", good)
        self.refused("two files or two folders", good, self.folder)
        for name, text, because in [("text.json", "hello", "not JSON"), ("list.json", "[1]", "not a file of Google"),
                                    ("rows.json", '{"context": 3, "benchmarks": []}', "not a file of Google"),
                                    ("no_name.json", '{"context": {}, "benchmarks": [{}]}', "not a file of Google")]:
            (self.folder / name).write_text(text, encoding="utf-8")
            self.refused(because, good, self.folder / name)
        self.refused("GPU NVIDIA X", good, self.write("h100.json", [row("r", [1.0] * 9)], {"gpu": "NVIDIA Y"}))
        self.refused("no row in common", good, self.write("other.json", [row("s", [1.0] * 9)]))
        self.refused("no .json file of the same name", *[self.write(f"{n}/{n}.json", []).parent for n in "cd"])
        for bad in ({"real_time": -1}, {"real_time": "fast"}, {"time_unit": "years"}, {"iterations": None}):
            self.refused("row r", good, self.write("bad.json", [row("r", [1.0] * 9) | bad]))


def use_python_with_scipy():
    python = pathlib.Path(__file__).resolve().parents[1] / "build/report/venv/bin/python"
    if importlib.util.find_spec("scipy") is None and python.is_file() and subprocess.run(
            [python, "-c", "import scipy"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.execv(python, [python, "-B", *sys.argv])


if __name__ == "__main__":
    use_python_with_scipy()
    unittest.main()
