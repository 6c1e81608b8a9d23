#!/usr/bin/env python3
"""The report compares rows of one file alone, shows what is new by itself, and says what it leaves out.

What needs matplotlib is skipped where neither build/report/venv nor this or the system's Python has it.
"""
import base64
import contextlib
import gzip
import io
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import make
import results

NEEDS = "import matplotlib"


def python_with_matplotlib():
    for python in (results.ROOT / "build/report/venv/bin/python", sys.executable, "/usr/bin/python3"):
        with contextlib.suppress(OSError):
            if subprocess.run([python, "-c", NEEDS], stderr=subprocess.DEVNULL, check=False).returncode == 0:
                return python
    return None


def row(name, ms, **more):
    if ms is None:
        return {"name": name, "error_occurred": True, "error_message": "inaccurate"} | more
    return {"name": name, "real_time": ms, "iterations": 9,
        "min_ms": ms, "max_ms": 2 * ms, "run_type": "iteration"} | more


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for gpu, speed in (("h100", 1), ("h200", 2)):
            self.write(f"{gpu}/step.json", [row(f"{solver}|{matrix}|step|f64", ms / speed) for solver, matrix, ms in
                                            [("auto", "a", 1), ("auto", "b", 2), ("peers/klu", "a", 4)]] +
                       [row("peers/klu|b|step|f64", None)], gpu.upper())

    def write(self, name, rows, gpu="H200", **more):
        path = self.folder / "results" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        context = {"gpu": gpu, "cpu": "C", "git_hash": "abcdef", "date": "2026",
                   "matrices": {m: {"n": 9, "nnz_lu": n} for m, n in (("a", 50), ("b", 20))}}
        path.write_text(json.dumps({"context": context, "benchmarks": rows} | more), encoding="utf-8")

    def groups(self):
        return results.groups_of(results.load(self.folder / "results")[1])

    def made(self, *options):
        """Exit code, output and errors."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = make.main(["--results", str(self.folder / "results"),
                             "--output", str(self.folder / "r.html"), *options])
        return code, out.getvalue(), err.getvalue()

    def test_a_comparison_has_one_file_and_so_one_gpu(self):
        groups = self.groups()
        self.assertEqual([g.file.gpu for g in groups], ["H200", "H100"])
        for group in groups:
            self.assertEqual({p.file for p in group.points}, {group.file})
            self.assertEqual(group.matrices, ["b", "a"])  # by entries of L and U

    def test_means_say_over_what_they_are_and_failures_have_no_rank(self):
        group = self.groups()[0]
        self.assertEqual((group.yardstick, group.common()), ("peers/klu", ["a"]))
        self.assertEqual(make.means_of(group)[1], [["auto", "4", "4", "1 of 2"], ["peers/klu", "1", "1", "1 of 2"]])
        self.assertEqual(make.left_out(group), ["peers/klu on b: inaccurate"])
        self.assertIn(f'<td data-p="{group.at["peers/klu", "b"].number}">–</td>', make.heat(group))

    def test_runs_with_other_options_are_other_solvers(self):
        self.write("h200/options.json", [row("a/1|a|refactor|f64", ms, label=label)
                   for ms, label in ((1, "x"), (2, "y"))])
        group = next(g for g in self.groups() if g.phase == "refactor")
        self.assertEqual(group.solvers, ["a/1 [x]", "a/1 [y]"])

    def test_solves_of_other_kinds_are_not_compared(self):
        self.write("h200/solve.json", [row(f"solve/1{kind}|a|solve|f64", 1) for kind in ("", "_x32", "_transposed")])
        groups = [g for g in self.groups() if g.file.name == "h200/solve"]
        self.assertEqual([g.phase for g in groups], ["solve", "solve, x32", "solve, transposed"])
        self.assertEqual({make.section_of(g) for g in groups}, {"solve"})

    def test_new_phases_and_peers_appear_by_themselves(self):
        self.write("h200/new.json", [row("peers/new_solver|a|energy|f64", 3.5)])
        group = next(g for g in self.groups() if g.phase == "energy")
        self.assertEqual(make.section_of(group), "other")
        self.assertTrue(results.is_peer("peers/new_solver") and results.is_peer("dense/90_x"))
        self.assertFalse(results.is_peer("auto") or results.is_peer("sparse_syncfree/10_supernode_panels"))
        code, markdown, _ = self.made("--markdown")
        self.assertIn("| peers/new_solver | 3.5 |", markdown)
        self.assertEqual(code, 0)

    def test_our_figures_beside_published_ones_open_their_rows(self):
        quantity = {"what": "a step", "where": "Table 1", "values": {"a": 4, "x": 1, "least": 3}}
        paper = {"paper": "A & B", "hardware": "GPU X",
                 "quantities": [quantity | {"ours": ["h200/step:auto|*|step|f64"]}]}
        other = paper | {"quantities": [quantity | {"ours": ["h200/none:auto|*|step|f64"]}]}
        absent = paper | {"quantities": [quantity | {"ours": ["h200/step:auto|*|step|f64"], "values": {"x": 1}}]}
        points = results.load(self.folder / "results")[1]
        ours = next(p for p in points if p.id == "h200/step:auto|a|step|f64")
        with mock.patch.object(make.published, "papers", return_value={"p": paper, "other": other, "absent": absent}):
            cards = list(make.paper_cards(points))
            code, markdown, _ = self.made("--markdown")
        self.assertEqual(len(cards), 1)
        self.assertIn("<b>A &amp; B</b>", cards[0])
        self.assertIn(f'<th>a step (Table 1)</th><td>a</td><td>4</td><td data-p="{ours.number}">0.5</td>', cards[0])
        self.assertIn("<td>least</td><td>3</td><td>0.5</td>", cards[0])  # of several rows, so none to open
        self.assertIn("not measured here: x.", cards[0])
        self.assertEqual(code, 0)
        self.assertEqual(markdown.count("## A & B, published and measured here"), 1)
        self.assertIn("\n| a step (Table 1) | a | 4 | 0.5 |", markdown)
        self.assertIn("not measured here: x.", markdown)
        self.assertIn("\n| auto | 1 | 0.5 |", markdown)

    def test_csv_has_every_row(self):
        code, text, _ = self.made("--csv")
        self.assertEqual((code, len(text.splitlines())), (0, 9))
        self.assertIn("H200,,C,bench/results/h200/step.json,abcdef,2026,auto,a,step,f64,0.5,,", text)
        self.assertIn(",inaccurate,./lulab bench --matrix b.mtx.gz --phase step --precision f64", text)

    def test_bad_results_are_refused(self):
        (self.folder / "results/bad.json").write_text("{}", encoding="utf-8")
        code, _, said = self.made("--csv")
        self.assertEqual(code, 2)
        self.assertIn("bad.json: not a result of lulab-bench", said)
        (self.folder / "results/bad.json").unlink()
        for bad, because in ((row("BM_x/3", 1), "no name rung|matrix|phase|scalar"),
                             ({"real_time": 1}, "no name rung|matrix|phase|scalar"),
                             (row("a/1|a|step|f64", math.nan), "NaN is not JSON")):
            self.write("bad.json", [bad])
            code, _, said = self.made("--csv")
            self.assertEqual(code, 2, said)
            self.assertIn("bad", said)
            self.assertIn(because, said)
        (self.folder / "results/bad.json").unlink()
        self.assertIn("no .json file", self.made("--csv", "--results", str(self.folder / "none"))[2])

    def test_aggregates_are_no_rows(self):
        self.write("h200/step.json", [row("auto|a|step|f64", 1), row("auto|a|step|f64_mean", 1, run_type="aggregate")])
        self.assertEqual([g.scalar for g in self.groups() if g.file.name == "h200/step"], ["f64"])

    def test_a_page_older_than_its_results_is_stale(self):
        digest = results.digest_of_inputs(self.folder / "results")
        (self.folder / "pictures").mkdir()
        for name in ["r.html"] + [f"pictures/{p}_{t}.svg" for p, *_ in make.PICTURES for t in ("light", "dark")]:
            self.assertEqual(self.made("--check")[0], 1)
            (self.folder / name).write_text(digest, encoding="utf-8")
        self.assertEqual(self.made("--check")[0], 0)
        self.write("h200/step.json", [])
        code, _, said = self.made("--check")
        self.assertEqual((code, said.count("the results in this folder; run: ./lulab report")), (1, 5))

    def test_each_mark_is_its_point_and_the_page_is_made_alike(self):
        python = python_with_matplotlib()
        if python is None:
            self.skipTest("no matplotlib; ./lulab report installs it")
        null = dict.fromkeys(("min_ms", "max_ms", "backward_error", "peak_device_bytes", "gflops", "split_ms"))
        self.write("nvidia-h200/peers.json", [row("auto|a|step|f64", 1, **null), row("peers/klu|a|step|f64", 2)])
        self.write("nvidia-h200/rungs.json", [row("a/1|a|refactor|f64", 1),
                   row("sparse_leftlooking/90_klu|a|refactor|f64", 2)])
        def column(begin, end, *waits):
            return [7, begin, end, list(waits)]

        self.write("h200/pictures.json", [], patterns=[{
            "matrix": "a", "n": 8, "nnz": 3, "nnz_lu": 4, "order": "amd", "command": "./lulab draw a.mtx",
            "before": [[4, 0], [1, 0]], "after": [[0, 0], [0, 3]], "filled": [[1, 1], [1, 1]]}], level_columns=[{
                "matrix": "a", "n": 8, "order": "amd",
                "rules": [{"rule": "relaxed", "levels": 3, "widest": 5, "columns": [2, 5, 1]}]}], timelines=[{
                    "matrix": "a", "unit": "ns",
                    # Column 3 waits long for 1, which was late; then for 2, which was not.
                    "columns": [column(0, 4000), column(0, 500), column(100, 6000, [1, 200, 4200], [2, 4300, 4400])]}])
        # A model that gives no number for a matrix, or none at all, has no mark there.
        self.write("h200/model.json", [], matrices=[
            {"matrix": m, "measured_ms": measured, "published": {"ms": 3}, "extended": extended}
            for m, measured, extended in (("a", 2, {"ms": None}), ("b", 4, {"ms": 5}), ("c", None, None))])
        texts = []
        for name in ("x/r.html", "y/r.html"):
            subprocess.run([python, "-B", results.ROOT / "bench/page/make.py", "--results", self.folder / "results",
                            "--output", self.folder / name], stdout=subprocess.DEVNULL, check=True)
            texts.append([(self.folder / name).read_text(encoding="utf-8")] + [
                p.read_text(encoding="utf-8") for p in sorted((self.folder / name).parent.glob("pictures/*"))])
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(len(texts[0]), 5)
        page = texts[0][0]
        data = json.loads(gzip.decompress(base64.urlsafe_b64decode(re.search(r'id="data">(.*?)</script>', page)[1])))
        shown = page + "".join(data["cards"])
        marks = {int(n) for n in re.findall(r'<use [^>]*data-p="(\d+)"', shown)}
        timed = {k for k, values in enumerate(data["rows"]) if "real_time" in data["shapes"][values[4]]}

        def rows_of(name):
            return [k for k, values in enumerate(data["rows"]) if data["files"][values[0]]["name"] == name]

        pictures, models = rows_of("h200/pictures"), rows_of("h200/model")
        self.assertEqual((len(pictures), len(models)), (3, 3))
        self.assertEqual(marks, timed | {*pictures, *models[:2]})
        self.assertEqual(re.findall(r'data-t="([^"]*)"', shown), [
            "relaxed: 3 levels, the widest of 5 columns, on average 2.67",
            "column 3 on multiprocessor 7: 5.9 µs, of it waiting 4.1 for 2 columns, longest for 1: 4",
            "column 1 on multiprocessor 7: 4 µs", "most at once: 1", "most at once: 3"])
        # Of a cell's 16 places 1 and 3 have one shade, 4 the darkest; 2 x 2 cells in 106 pixels.
        self.assertEqual(re.findall(r"stroke: var\(--c0\);(?: stroke-opacity: ([\d.]+);)? stroke-width: 53", shown),
                         ["0.83", "", "0.83", "0.83"])
        self.assertFalse([text for text in texts[0][1:] if "data-p" in text or "var(" in text or "#0a0b" in text])


if __name__ == "__main__":
    unittest.main()
