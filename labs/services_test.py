#!/usr/bin/env python3
"""Tests of the recipes for Gradescope and GitHub Classroom.   python3 labs/services_test.py BUILD

Each runs as the service runs it, in folders laid out as there; setup.sh with a program that notes how it is called in
the place of the project.
"""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

import labs

BUILD = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else labs.ROOT / "build" / "sim"
SERVICES = labs.HERE / "services"
LAB = labs.find_lab("levels")
WRONG = LAB.filled(LAB.changed_holes([["1 + level_of[f.row_idx[p]]", "level_of[f.row_idx[p]]"]]))


class ServiceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def run_in(self, folder, *command, **variables):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **variables})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout


class Gradescope(ServiceTest):
    def setUp(self):
        super().setUp()
        (self.root / "source").mkdir()
        (self.root / "submission").mkdir()
        for name in ("setup.sh", "run_autograder"):
            shutil.copy(SERVICES / name, self.root / "source")

    def results(self, *files):
        (self.root / "source" / "lulab.conf").write_text("labs=8\nseed=4711\n")
        shutil.copy(self.root / "source" / "run_autograder", self.root)  # as the service does
        (self.root / "lulab" / "labs").mkdir(parents=True, exist_ok=True)
        grade = self.root / "lulab" / "labs" / "services" / "grade.py"
        grade.parent.mkdir(exist_ok=True)
        command = f"[sys.executable, '-B', {str(SERVICES / 'grade.py')!r}, *sys.argv[1:], '--build', {str(BUILD)!r}]"
        grade.write_text(f"import os, sys\nos.execv(sys.executable, {command})\n")
        for path, text in files:
            path = self.root / "submission" / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self.run_in(self.root, str(self.root / "run_autograder"), AUTOGRADER=str(self.root))
        results = json.loads((self.root / "results" / "results.json").read_text(encoding="utf-8"))
        for test in results["tests"]:
            self.assertEqual({k: type(v) for k, v in test.items()},
                             {"name": str, "score": int, "max_score": int, "status": str, "output": str,
                              "output_format": str, "visibility": str})
            self.assertTrue(0 <= test["score"] <= test["max_score"])
        return results, [(t["name"].split(", ")[1], t["status"], t["score"]) for t in results["tests"]]

    def test_a_right_submission_has_all_points(self):
        results, tests = self.results((Path(LAB.file).name, LAB.reference()))
        self.assertEqual(sum(t["score"] for t in results["tests"]), sum(t["max_score"] for t in results["tests"]))
        self.assertEqual({status for _, status, _ in tests}, {"passed"})

    def test_a_wrong_submission_has_some_and_says_why(self):
        results, tests = self.results((f"{LAB.id}/{Path(LAB.file).name}", WRONG))
        self.assertIn(("implemented", "passed", 1), tests)
        self.assertIn(("small_exact", "failed", 0), tests)
        self.assertIn("level", next(t["output"] for t in results["tests"] if "small_exact" in t["name"]))

    def test_the_points_are_out_of_the_same_sum_where_nothing_ran(self):
        right, _ = self.results((Path(LAB.file).name, LAB.reference()))
        of = sum(t["max_score"] for t in right["tests"])
        (self.root / "submission" / Path(LAB.file).name).unlink()
        results, tests = self.results(("notes.txt", "nothing"))
        self.assertEqual(sum(t["max_score"] for t in results["tests"]), of)
        self.assertEqual({(status, score) for _, status, score in tests}, {("failed", 0)})
        self.assertIn("0 files levels.cpp", results["tests"][0]["output"])

    def test_setup_unpacks_and_builds(self):
        called = self.root / "called"
        program = self.root / "program"
        program.write_text(f'#!/usr/bin/env bash\necho "$PWD $*" > {called}\n')
        program.chmod(0o755)
        with tarfile.open(self.root / "source" / "lulab.tar.gz", "w:gz") as archive:
            archive.add(program, "lulab")
        (self.root / "source" / "lulab.conf").write_text("labs=8\nseed=4711\n")
        self.run_in("/", "bash", str(self.root / "source" / "setup.sh"), AUTOGRADER=str(self.root))
        self.assertEqual(called.read_text(), f"{self.root}/lulab --preset sim build labs_simt_test\n")
        self.assertEqual((self.root / "source" / "lulab.conf").stat().st_mode & 0o777, 0o600)

    @unittest.skipUnless((labs.ROOT / ".git").exists() and shutil.which("git"), "needs a git checkout")
    def test_the_archive_has_what_the_service_asks_for(self):
        path = self.root / "autograder.zip"
        self.run_in(self.root, str(SERVICES / "make_gradescope.sh"), "3,8", "4711", str(path))
        with zipfile.ZipFile(path) as archive:
            self.assertEqual(sorted(archive.namelist()), ["lulab.conf", "lulab.tar.gz", "run_autograder", "setup.sh"])
            self.assertEqual(archive.read("lulab.conf"), b"labs=3\\,8\nseed=4711\n")
            self.assertEqual(archive.getinfo("run_autograder").external_attr >> 16 & 0o111, 0o111)


class Classroom(ServiceTest):
    def result(self, text):
        workflow = (SERVICES / "classroom.yml").read_text(encoding="utf-8")
        command = re.search(r"- name: Grade\n\s+id: (\w+)\n\s+run: (.*)\n", workflow)
        self.assertIn(f"{command[1].upper()}_RESULTS: ${{{{ steps.{command[1]}.outputs.result }}}}", workflow)
        self.assertIn(f"runners: {command[1]}\n", workflow)
        path = self.root / "my_labs" / LAB.id / Path(LAB.file).name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        (self.root / "lulab").symlink_to(labs.ROOT)
        output = self.root / "output"
        command = command[2].replace("grade.py classroom", f"grade.py classroom --build '{BUILD}'")
        self.run_in(self.root, "bash", "-eo", "pipefail", "-c", command, GITHUB_OUTPUT=str(output))
        name, _, value = output.read_text().rstrip("\n").partition("=")
        self.assertEqual(name, "result")
        result = json.loads(base64.b64decode(value, validate=True))
        self.assertEqual(result["version"], 1)
        for test in result["tests"]:
            self.assertEqual({k: type(v) for k, v in test.items()},
                             {"name": str, "status": str, "score": int, "message": str})
        return result

    def test_a_right_submission_passes(self):
        result = self.result(LAB.reference())
        self.assertEqual(result["status"], "pass")
        self.assertEqual(sum(t["score"] for t in result["tests"]), result["max_score"])

    def test_a_wrong_submission_fails_with_some_points(self):
        result = self.result(WRONG)
        self.assertEqual(result["status"], "fail")
        self.assertTrue(0 < sum(t["score"] for t in result["tests"]) < result["max_score"])
        self.assertIn("level", " ".join(t["message"] for t in result["tests"]))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
