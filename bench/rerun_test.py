#!/usr/bin/env python3
"""`lulab rerun` finds the row, measures it, and says whether it agrees. A stand-in takes the place of lulab-bench."""
import contextlib
import io
import json
import os
import pathlib
import tempfile
import unittest

import rerun
from regress_test import row, times

BENCH = """#!/bin/sh
echo "$*" >"{folder}/told"
while [ "$1" != --json ]; do shift; done
cp "{folder}/now.json" "$2"
"""
NAME = "auto|a|step|f64"


class Rerun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        program = self.folder / "lulab-bench"
        program.write_text(BENCH.format(folder=self.folder), encoding="utf-8")
        program.chmod(0o755)
        (self.folder / "shared/matrices").mkdir(parents=True)
        (self.folder / "shared/matrices/a.mtx.gz").touch()
        (self.folder / "results").mkdir()
        os.environ["LULAB_MATRICES"] = str(self.folder / "shared/matrices")
        self.write("results/step.json", [row(NAME, times(1, 0.05, 30, 1)), row("b|" + NAME[5:], times(1, 0.05, 30, 2)),
                                         row("auto|none|step|f64", times(1, 0.05, 30, 2))])

    def write(self, name, rows, gpu="NVIDIA X", matrix="1"):
        context = {"gpu": gpu, "cpu": "C", "git_hash": "abc", "matrices": {"a": {"n": 9, "hash": matrix}}}
        (self.folder / name).write_text(json.dumps({"context": context, "benchmarks": rows}), encoding="utf-8")

    def run_on(self, *arguments):
        """Exit code and what it says."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = rerun.main(["--results", str(self.folder / "results"), "--programs", str(self.folder), *arguments])
        return code, out.getvalue()

    def test_the_same_program_agrees_and_a_slower_one_does_not(self):
        for ms, code, word in ((1, 0, "agrees"), (1.5, 1, "differs: +5")):
            self.write("now.json", [row(NAME, times(ms, 0.05, 30, 3))])
            found, said = self.run_on("step:auto|a|step|f64", "--", "--threads", "1")
            self.assertEqual(found, code, said)
            self.assertIn(word, said)
        told = (self.folder / "told").read_text(encoding="utf-8")
        self.assertIn(f"--matrix {self.folder}/shared/matrices/a.mtx.gz --rung auto --phase step --precision f64", told)
        self.assertIn(" --threads 1 --json ", told)

    def test_lines_beside_a_rungs_own_are_measured_by_its_name(self):
        for line in ("", "_eighth", "_to_fronts", "_a_to_fronts"):
            name = f"symbolic/08_depth_bitmaps{line}|a|symbolic_device|f64"
            self.write("results/step.json", [row(name, times(1, 0.05, 30, 1))])
            self.write("now.json", [row(name, times(1, 0.05, 30, 3))])
            found, said = self.run_on(f"step:{name}")
            self.assertEqual(found, 0, said)
            told = (self.folder / "told").read_text(encoding="utf-8")
            self.assertIn("--rung symbolic/08_depth_bitmaps --phase symbolic_device", told)

    def test_a_row_without_options_is_found_beside_one_with_options(self):
        plain = row(NAME, times(1, 0.05, 30, 1))
        self.write("results/step.json", [row(NAME, times(2, 0.05, 30, 1), label="x"), plain])
        self.write("now.json", [plain])
        code, said = self.run_on("step:auto|a|step|f64|no options")
        self.assertEqual(code, 0, said)

    def test_what_cannot_be_compared_is_told(self):
        good = row(NAME, times(1, 0.05, 30, 3))
        for because, words, rows, more in [
                ("2 rows have", "a|step", [good], {}), ("no row has", "memplus", [good], {}),
                ("no none.mtx.gz", "auto none", [good], {}), ("no row auto|a|step|f64", "auto|a", [], {}),
                ("stored on NVIDIA X, measured on Y", "auto|a", [good], {"gpu": "Y"}),
                ("another matrix", "auto|a", [good], {"matrix": "2"}),
                ("few runs", "auto|a", [row(NAME, [1.0, 1.0])], {}),
                ("fails now", "auto|a", [{"name": NAME, "error_occurred": True, "error_message": "bad"}], {})]:
            self.write("now.json", rows, **more)
            code, said = self.run_on(words)
            self.assertEqual(code, 2, said)
            self.assertIn(because, said)
        (self.folder / "lulab-bench").write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
        self.assertIn("lulab-bench failed", self.run_on("auto|a")[1])

    def test_only_looking_runs_nothing(self):
        code, said = self.run_on("auto|a", "--only-look")
        self.assertEqual((code, (self.folder / "told").exists()), (0, False))
        self.assertIn("./lulab bench --matrix a.mtx.gz --rung auto --phase step --precision f64", said)


if __name__ == "__main__":
    unittest.main()
