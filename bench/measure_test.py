#!/usr/bin/env python3
"""`lulab measure` runs what is missing, keeps what is of this source, joins parts. Stand-ins are the programs."""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import unittest.mock

import measure
from measure import Part

# Writes a row for each matrix, or "n=1" without, from what it is told; fails where "fail" lies beside it.
BENCH = """#!/usr/bin/env python3
import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
given = sys.argv[1:]
with open(here / "told", "a") as told: told.write(" ".join(given) + "\\n")
if (here / "fail").exists(): sys.exit(3)
label = " ".join(given[i + 1] for i, word in enumerate(given) if word == "--option")
files = given[given.index("--matrix") + 1:] if "--matrix" in given else []
names = [f.split("/")[-1].split(".")[0] for f in files if ".mtx" in f] or ["n=1"]
ms = float((here / "ms").read_text()) if (here / "ms").exists() else 1.0
rows = [{"name": f"{rung}|{m}|refactor|f64", "real_time": ms, "label": label}
        for m in names for rung in ("sparse_leftlooking/90_klu", "r")]
context = json.loads((here / "context").read_text()) | {
    "git_hash": os.environ["LULAB_GIT_HASH"], "matrices": {m: {"n": 1} for m in names}}
pathlib.Path(given[given.index("--json") + 1]).write_text(json.dumps({"context": context, "benchmarks": rows}))
"""
LULAB = """#!/usr/bin/env python3
import pathlib, sys
if sys.argv[1] == "gen": pathlib.Path(sys.argv[-1]).touch()
else: print('{"status": "ok", "matrix": "A"}')
"""


class Measure(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("lulab-bench", BENCH), ("lulab", LULAB)):
            (self.folder / name).write_text(text, encoding="utf-8")
            (self.folder / name).chmod(0o755)
        for name in ("a", "b"):
            (self.folder / f"{name}.mtx.gz").touch()
        self.here(gpu="NVIDIA X1", cpu="C", compute_capability=90)
        old = os.environ.copy()
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(old)))
        os.environ |= {"LULAB_MATRICES": str(self.folder), "LULAB_MEASURE": str(self.folder / "pieces"),
                       "LULAB_GIT_HASH": "abc"}
        runs = {"one": (60, [Part("--phase step", ["a", "nowhere"])]), "set": (5, [Part("--set dense")]),
                "modes": (5, measure.options_of(["a", "b"], "r", ["x=1", ""])),
                "gone": (5, [Part("", ["nowhere"])]),
                "levels": (5, [Part("levels --order amd", [m], "lulab") for m in ("a", "b")])}
        before = measure.RUNS
        measure.RUNS = runs
        self.addCleanup(lambda: setattr(measure, "RUNS", before))

    def here(self, **context):
        (self.folder / "context").write_text(json.dumps(context), encoding="utf-8")

    def run_on(self, *arguments):
        """Exit code, and what it says."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = measure.main(["--programs", str(self.folder), "--out", str(self.folder / "out"), *arguments])
        return code, out.getvalue()

    def result(self, name):
        return json.loads((self.folder / f"out/nvidia-x1/{name}.json").read_text(encoding="utf-8"))

    def told(self):
        return (self.folder / "told").read_text(encoding="utf-8")

    def test_every_file_is_measured_and_says_how(self):
        code, said = self.run_on()
        self.assertEqual(code, 0, said)
        self.assertEqual(self.result("one")["context"]["command"], "./lulab bench --matrix a.mtx.gz --phase step")
        self.assertIn(f"--matrix {self.folder}/a.mtx.gz --phase step --json", self.told())
        self.assertEqual(self.result("set")["context"]["command"], "./lulab bench --set dense")
        self.assertIn("left out: no nowhere.mtx.gz", said)
        self.assertFalse((self.folder / "out/nvidia-x1/gone.json").exists())
        self.assertEqual([entry["matrix"] for entry in self.result("levels")["levels"]], ["a", "b"])
        self.assertEqual(list((self.folder / "pieces").glob("*.?.json")), [])

    def test_parts_are_joined_without_their_yardsticks(self):
        self.run_on("modes")
        rows = [(row["name"], row["label"], "--option" in row["command"]) for row in self.result("modes")["benchmarks"]]
        self.assertEqual(rows, [("r|a|refactor|f64", "x=1", True), ("r|b|refactor|f64", "x=1", True),
                                ("r|a|refactor|f64", "", False), ("r|b|refactor|f64", "", False)])
        self.assertEqual(list(self.result("modes")["context"]["matrices"]), ["a", "b"])

    def test_what_is_of_this_source_is_kept(self):
        self.run_on("set")
        for more, source, times in (((), "abc", 1), (("--again",), "abc", 2), ((), "def", 3), ((), "def", 3),
                                    ((), "def-dirty", 4), ((), "def-dirty", 5), ((), "unknown", 6)):
            os.environ["LULAB_GIT_HASH"] = source
            self.assertEqual(self.run_on("set", *more)[0], 0)
            self.assertEqual(self.told().count("--set dense"), times)

    def test_what_other_commands_made_is_measured_again(self):
        for times in (1, 1):
            self.run_on("set", "modes", "levels")
            self.assertEqual(self.told().count("--set dense"), times)
            self.assertEqual(self.told().count("--option x=1"), times)
        measure.RUNS |= {"set": (5, [Part("--set dense --cold")]), "modes": (5, measure.RUNS["modes"][1][:1]),
                         "levels": (5, measure.RUNS["levels"][1][:1])}
        self.run_on("set", "modes", "levels")
        self.assertEqual(self.told().count("--set dense"), 2)
        self.assertEqual(self.told().count("--option x=1"), 2)
        self.assertEqual([entry["matrix"] for entry in self.result("levels")["levels"]], ["a"])

    def test_a_slow_host_is_told(self):
        self.run_on("modes")
        for ms, is_slow in ((1.0, False), (1.2, False), (1.3, True)):
            (self.folder / "ms").write_text(str(ms), encoding="utf-8")
            code, said = self.run_on("set", "--again")
            self.assertEqual(code, 0, said)
            self.assertEqual(self.result("set")["context"]["host_klu_ms"], [ms, ms])
            self.assertEqual(f"took {ms} ms before this file and {ms} after it" in said, is_slow, said)

    def test_a_file_that_lacks_a_matrix_is_measured_again(self):
        self.run_on("one")
        self.assertEqual(self.result("one")["context"]["left_out"], ["nowhere"])
        (self.folder / "nowhere.mtx.gz").touch()
        for _ in range(2):
            self.assertEqual(self.run_on("one")[0], 0)
            self.assertEqual(self.told().count("--phase step"), 2)
        self.assertNotIn("left_out", self.result("one")["context"])

    def test_it_goes_on_where_the_same_run_was_stopped(self):
        piece = self.folder / "pieces/set.0.json"
        same = {"gpu": "NVIDIA X1", "cpu": "C", "git_hash": "abc",
                "command": f"./lulab bench --set dense --json {piece} --resume"}
        for context, resumed in ((same, True), (same | {"git_hash": "other"}, False), (same | {"cpu": "D"}, False),
                                 (same | {"command": "./lulab bench --set gsofa"}, False)):
            (self.folder / "pieces").mkdir(exist_ok=True)
            piece.write_text(json.dumps({"context": context}), encoding="utf-8")
            (self.folder / "told").unlink(missing_ok=True)
            self.assertEqual(self.run_on("set", "--again")[0], 0)
            self.assertEqual("--resume" in self.told(), resumed)

    def test_what_is_wrong_is_told(self):
        for because, arguments, prepare in (
                ("no file 'unknown'; there are one set", ["unknown"], lambda: None),
                ("no GPU to time", ["set"], lambda: self.here(gpu="none")),
                ("lulab-bench failed; its words are above", ["set"], (self.folder / "fail").touch)):
            prepare()
            code, said = self.run_on(*arguments)
            self.assertEqual(code, 2, said)
            self.assertIn(because, said)

    def test_the_list_runs_nothing(self):
        code, said = self.run_on("--list", "one")
        command = "./lulab bench --matrix a.mtx.gz nowhere.mtx.gz --phase step"
        self.assertEqual((code, said), (0, f"one: 60 s\n    {command}\n"))
        self.assertFalse((self.folder / "told").exists())

    def test_work_that_is_a_difference_of_two_large_times_is_left_out(self):
        def times(factor, refactor):
            return [{"name": f"{rung}|a|{phase}|f64", "real_time": ms} for rung, phase, ms in (
                ("sparse_leftlooking/90_klu", "factor", factor), ("sparse_leftlooking/90_klu", "refactor", refactor),
                ("symbolic/01_gilbert_peierls", "symbolic", 2))]
        self.assertEqual(measure.symbolic_work(times(5, 1))[0]["ratio"], 0.5)
        self.assertEqual(measure.symbolic_work(times(100, 90)), [])


class Commit(unittest.TestCase):
    def test_it_is_the_last_one_that_changed_a_program(self):
        with tempfile.TemporaryDirectory() as name, unittest.mock.patch.object(measure.results, "ROOT", name), \
                unittest.mock.patch.dict(os.environ):
            os.environ.pop("LULAB_GIT_HASH", None)
            self.assertEqual(measure.commit(), "unknown")
            folder = pathlib.Path(name)

            def change(*files):
                for file in files:
                    (folder / file).parent.mkdir(parents=True, exist_ok=True)
                    with open(folder / file, "a", encoding="utf-8") as appended:
                        appended.write("1")

            def commit():
                for words in ("add .", "-c user.name=a -c user.email=b commit -qm a"):
                    subprocess.run(["git", "-C", name, *words.split()], check=True)

            subprocess.run(["git", "-C", name, "init", "-q"], check=True)
            change("a.md")
            commit()
            self.assertEqual(measure.commit(), "unknown")
            others = ("bench/results/a.json", "a.md", "core/a_test.cpp", "testing/a.h", "labs/a.cu")
            change("core/a.cpp", *others)
            commit()
            first = measure.commit()
            self.assertRegex(first, "^[0-9a-f]{40}$")
            change(*others)
            self.assertEqual(measure.commit(), first)
            commit()
            self.assertEqual(measure.commit(), first)
            change("core/a.cpp")
            self.assertEqual(measure.commit(), first + "-dirty")
            commit()
            self.assertNotIn(measure.commit(), (first, first + "-dirty"))


class Committed(unittest.TestCase):
    def test_every_result_of_the_h200_is_measured_by_it(self):
        files = {path.stem for path in (measure.results.RESULTS / "nvidia-h200").glob("*.json")}
        self.assertEqual(files, set(measure.RUNS) | set(measure.BY_HAND))

    def test_every_result_of_the_h200_was_made_as_the_list_says(self):
        def plain(command):
            """Older files name a grid's file packed, and a word before each of its values."""
            words = command.replace("/A_", " A_").replace(".mtx.gz", ".mtx").split()
            return [word for k, word in enumerate(words) if word not in words[:k] or not word.startswith("--")]

        for name, (_, parts) in measure.RUNS.items():
            path = measure.results.RESULTS / f"nvidia-h200/{name}.json"
            made_by = measure.commands_of(json.loads(path.read_text(encoding="utf-8"))) - {None}
            self.assertEqual(sorted(map(plain, made_by)), sorted(plain(part.command()) for part in parts), name)


if __name__ == "__main__":
    unittest.main()
