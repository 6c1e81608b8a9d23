#!/usr/bin/env python3
"""Tests of labs.py.   python3 labs/driver_test.py BUILD

Files are not lost; a submission that cheats fails; grades are a line of JSON for each file.
"""
import contextlib
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock
from pathlib import Path

import labs

BUILD = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else labs.ROOT / "build" / "sim"
LAB = labs.find_lab("publish")
DECREMENT = "if (threadIdx.x == 0) Degree(degree[k]).fetch_sub(1, Keeps::publish);"


class LabTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.file = Path("my_labs") / LAB.id / Path(LAB.file).name

    def lab(self, *words):
        """(exit code, stdout, stderr)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = labs.main(["--build", str(BUILD), *words])
        return code, out.getvalue(), err.getvalue()

    def submit(self, text):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(text, encoding="utf-8")

    def with_last_hole(self, lines):
        return LAB.filled([*LAB.solution_holes()[:-1], lines + "\n"])

    def verdict(self, text, *words):
        self.submit(text)
        code, out, err = self.lab("check", "publish", "--json", "--no-races", *words)
        self.assertEqual(err, "")
        self.assertEqual(len(out.splitlines()), 1)
        verdict = json.loads(out)
        self.assertEqual(verdict["passed"], code == 0)
        return verdict

    def expect_failure(self, text, stage, says, points):
        verdict = self.verdict(text)
        failed = [s for s in verdict["stages"] if s["passed"] is False]
        self.assertEqual(failed[0]["stage"], stage, verdict)
        self.assertIn(says, f"{failed[0]['message']} {failed[0]['facts']}")
        self.assertEqual(verdict["points"], points, verdict)


class Files(LabTest):
    def test_no_file_is_overwritten_and_each_is_kept(self):
        self.assertEqual(self.lab("start", "3")[0], 0)
        self.assertEqual(self.file.read_text(), LAB.skeleton())
        self.submit("mine")
        for command in ("start", "reset"):
            code, _, err = self.lab(command, "3")
            self.assertEqual(code, 2)
            self.assertIn("--force", err)
            self.assertEqual(self.file.read_text(), "mine")
        for _ in range(3):
            self.assertEqual(self.lab("reset", "3", "--force")[0], 0)
            self.assertEqual(self.file.read_text(), LAB.skeleton())
            self.submit("mine")
        copies = [p.read_text() for p in self.file.parent.glob(f"{self.file.name}.20*")]
        self.assertEqual(copies, ["mine"] * 3)

    def test_wrong_commands_say_what_to_do(self):
        for words, says in ((("check", "3"), "./lulab lab start 3"), (("reset", "3"), "./lulab lab start 3"),
                            (("start", "99"), "03_publish"), (("grade", "."), "a folder for each student"),
                            (("grade", "nowhere"), "nowhere is no folder")):
            code, _, err = self.lab(*words)
            self.assertEqual(code, 2)
            self.assertIn(says, err)

    def test_hints_come_one_level_at_a_time_and_reveal_has_the_lines(self):
        first, all_three = self.lab("hint", "3")[1], self.lab("hint", "3", "--level", "3")[1]
        self.assertIn("--level 2", first)
        self.assertTrue(len(all_three) > 2 * len(first))
        for hole in LAB.solution_holes():
            self.assertIn(hole, self.lab("reveal", "3")[1])


class Submissions(LabTest):
    def test_that_end_the_process(self):
        self.expect_failure(self.with_last_hole("std::_Exit(0);"), "finite", "exit code 0", 1)
        self.expect_failure(self.with_last_hole("std::exit(0);"), "finite", "the process ended inside", 1)

    def test_that_end_it_before_main(self):
        holes = LAB.solution_holes()
        holes[0] += "  static inline const int early = (std::_Exit(0), 0);\n"
        self.expect_failure(LAB.filled(holes), "finite", "exit code 0", 1)

    def test_that_print_a_verdict(self):
        verdict = r'{\"token\": \"0\", \"test\": \"FactorsLab.Finite\", \"passed\": true}\n'
        hole = f'for (int f = 1; f < 64; ++f) dprintf(f, "no JSON\\n[1]\\n{verdict}");\n std::_Exit(0);'
        self.expect_failure(self.with_last_hole(hole), "finite", "exit code 0", 1)

    def test_that_say_they_are_not_written_when_they_fail(self):
        hole = self.with_last_hole('LULAB_NOT_IMPLEMENTED("03_publish");')
        self.expect_failure(hole, "implemented", "not implemented", 0)

    def test_that_take_all_memory(self):
        hole = "static char* volatile kept; for (;;) kept = new char[1 << 24];"
        self.expect_failure(self.with_last_hole(hole), "finite", "bad_alloc", 1)

    def test_that_print_for_ever(self):
        self.expect_failure(self.with_last_hole('for (;;) std::puts("all tests passed");'), "finite", "SIGXFSZ", 1)

    def test_that_print_to_find_their_error(self):
        lines = 'if (threadIdx.x == 0 && k == 0) std::printf("at column %d\\n", k);'
        self.submit(self.with_last_hole(lines))
        code, out, _ = self.lab("check", "3", "--no-races")
        self.assertEqual(code, 1)
        self.assertIn("at column 0\n", out)
        self.assertIn("the kernel hangs", out)
        self.assertNotIn("[ RUN", out)

    def test_that_do_not_compile(self):
        self.submit(self.with_last_hole("Degree(degree[k]).fetch_add(1, no_such_order);"))
        code, out, _ = self.lab("check", "3", "--no-races")
        self.assertEqual(code, 1)
        line = self.file.read_text().splitlines().index("Degree(degree[k]).fetch_add(1, no_such_order);") + 1
        self.assertIn(f"{self.file}:{line}:", out)
        self.assertIn("no_such_order", out)

    def test_that_change_what_is_outside_the_holes(self):
        renamed = LAB.reference().replace("mean_update(", "mean_of_updates(")
        self.expect_failure(renamed, "builds", "outside the holes", 0)
        hole = self.with_last_hole("  // lab: publish end\n int more = 0;\n  // lab: publish begin")
        self.expect_failure(hole, "builds", "holes", 0)

    def test_that_write_outside_an_array_are_told_the_line(self):
        self.submit(self.with_last_hole('std::puts("so far"), std::fflush(stdout);\n'
                                        f"if (threadIdx.x == 0) As[begin - (1 << 24)] = 0;\n  {DECREMENT}"))
        code, out, _ = self.lab("check", "3", "--no-races")
        self.assertEqual(code, 1)
        line = next(k for k, text in enumerate(self.file.read_text().splitlines(), 1) if "1 << 24" in text)
        self.assertRegex(out, f"report: +a write at {self.file.name}:{line} in eliminate_columns_kernel")
        self.assertRegex(out, "it printed:(.*\n)* +so far\n")
        self.assertIn("./lulab lab check 3 --races", out)

    def test_that_read_beside_an_array_are_told_of_the_array(self):
        report = ("==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x62f0 at pc 0x5560\n"
                  "READ of size 8 at 0x62f0 thread T0\n"
                  "    #0 0x555f in __interceptor_memcpy ../../src/sanitizer_common_interceptors.inc:827\n"
                  "    #1 0x5560 in find_pivot_kernel<double> my_labs/01_argmax/03_reduction_panel.cu:121\n"
                  "    #2 0x5561 in main main.cpp:1\n\n"
                  "0x62f0 is located 8 bytes to the left of 2048-byte region [0x62f8,0x6300)\n")
        told = ("a read of 8 bytes at 03_reduction_panel.cu:121 in find_pivot_kernel, 8 bytes before an array of 2048 "
                "bytes")
        file = "03_reduction_panel.cu"
        self.assertEqual(labs.outside_all_arrays(report, file), told)
        self.assertEqual(labs.outside_all_arrays(report.replace("to the left of", "before"), file), told)
        after = told.replace("before", "after")
        for words in ("to the right of", "after"):
            self.assertEqual(labs.outside_all_arrays(report.replace("to the left of", words), file), after)
        self.assertIn("main.cpp:1 in main", labs.outside_all_arrays(report, "main.cpp"))
        # Printed by a submission that is right, it says nothing.
        self.assertIsNone(labs.judge(["Suite.Name"], {"Suite.Name": {"passed": True}}, 0, False, 60, report))

    def test_that_hang_are_not_run_again_to_find_a_race(self):
        hang = labs.judge(["Suite.Name"], {}, -9, True, 60, "")
        tsan = labs.Build("sim-tsan")
        with mock.patch.object(labs, "run_checks", return_value=None) as run:
            for failure, runs in ((hang, 0), ({**hang, "hangs": False}, 1)):
                labs.look_closer(LAB, "finite", failure, "", "mine", None, tsan, {tsan: "program"}, None, 1)
                self.assertEqual(run.call_count, runs)

    def test_that_race_are_told_which_threads_but_not_how_to_repeat_it(self):
        told = "race in kernel k: x[3]\n  now\n  earlier\n  nothing orders them"
        self.assertEqual(labs.race_of(f"replay: ...\n{told}\n  again: LULAB_SIM_SEED=1\n"), told)
        self.assertIsNone(labs.race_of("replay: ...\n"))

    def test_that_have_no_markers(self):
        self.submit("int main() {}\n")
        code, _, err = self.lab("check", "3", "--no-races")
        self.assertEqual(code, 2)
        self.assertIn("./lulab lab reset 3 --force", err)


class Tricks(unittest.TestCase):
    """What submissions to leaderboards of kernels have tried. Inputs are fresh in every call, and what is expected is
    worked out from copies of its own."""

    def expect_caught(self, lab, holes, stage, says):
        lab = labs.find_lab(lab)
        with tempfile.TemporaryDirectory() as scratch:
            reports = labs.check(lab, lab.filled(holes(lab.solution_holes())), "mine", [labs.Build(BUILD)], 1,
                                 Path(scratch), stages=[s for s in labs.STAGES if s != "races"])
        failed = next((r for r in reports if r["passed"] is False), {"stage": None, "message": "", "facts": {}})
        self.assertEqual(failed["stage"], stage, reports)
        self.assertIn(says, f"{failed['message']} {failed['facts']}")

    def test_cached_output(self):
        def cache(holes):
            return [holes[0], "static std::vector<std::vector<std::int32_t>> seen(10000);\n"
                    "if (!seen[f.n].empty()) return group_levels(seen[f.n]);\n" + holes[1] + "seen[f.n] = level_of;\n"]
        self.expect_caught("levels", cache, "small_exact", "level")

    def test_early_return_on_repeated_input(self):
        def remember(holes):
            return ["static const void* last; static double known;\n"
                    "if (last == f.values.data()) { norm = known; continue; }\n" + holes[0] +
                    "if (j + 1 == b.n_cols) last = f.values.data(), known = norm;\n"]
        self.expect_caught("judge", remember, "small_exact", "dense product")

    def test_writing_the_expected_buffer(self):
        def make_the_right_side_fit(_):
            return ["residual_passes().back()(rows(), values.data(), x.data(), 0, b.data(), -1, r_.data());\n"
                    "for (std::size_t i = 0; i < x.size(); ++i) const_cast<double&>(b[i]) -= r_[i];\n"]
        self.expect_caught("refinement", make_the_right_side_fit, "small_exact", "x(0)")

    def test_changing_the_input(self):
        def make_all_columns_independent(holes):
            return [holes[0], "auto& g = const_cast<FilledPattern&>(f);\n"
                    "for (std::int32_t j = 0; j < f.n; ++j) g.col_ptr[j] = g.diag[j];\n"]
        self.expect_caught("levels", make_all_columns_independent, "small_exact", "level")

    def test_patched_timer(self):
        """Nothing is timed: accesses are counted. Code that hides from the counting seems to do too little."""
        lines = """const auto *ptr = f.col_ptr.data(), *diag = f.diag.data();
                   const auto* rows = f.row_idx.data();
                   auto* level = level_of.data();
                   const auto hidden = [&](std::int32_t n) {attribute} {{
                     for (std::int32_t j = 0; j < n; ++j)
                       for (auto p = ptr[j]; p < diag[j]; ++p)
                         if (level[rows[p]] >= level[j]) level[j] = 1 + level[rows[p]];
                   }};
                   hidden(f.n);\n"""
        self.expect_caught("levels", lambda holes: [holes[0], lines.format(attribute="")], None, "")
        hide = '__attribute__((no_sanitize("thread")))'
        self.expect_caught("levels", lambda holes: [holes[0], lines.format(attribute=hide)], "speed",
                           "a way around the counting")

    def test_sleeping(self):
        before = labs.SECONDS["others"]
        self.addCleanup(labs.SECONDS.update, others=before)
        labs.SECONDS["others"] = 2
        self.expect_caught("levels", lambda holes: [holes[0], "for (volatile int i = 0;; i = 1) {}\n"], "small_exact",
                           "did not end within 2 s")


class Grades(LabTest):
    def test_half_right_has_some_points_and_private_seeds_make_other_inputs(self):
        wrong = LAB.reference().replace("  " + DECREMENT, "  if (f.n == 4 || k > 40) " + DECREMENT)
        self.assertEqual(wrong.count("k > 40"), 1)
        verdict = self.verdict(wrong)
        self.assertEqual([s["stage"] for s in verdict["stages"] if s["passed"]], ["builds", "implemented", "finite"])
        self.assertEqual((verdict["points"], verdict["of"]), (2, 9))
        told = {self.random_matrix(self.verdict(wrong, "--seed", seed)) for seed in ("1", "4711")}
        self.assertEqual(len(told), 2)
        self.assertTrue(any("seed 4711" in name for name in told), told)

    def random_matrix(self, verdict):
        return next(s["facts"]["matrix"] for s in verdict["stages"] if s["stage"] == "properties")

    def hand_in(self, path, text=LAB.reference()):
        path = Path("class") / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def test_of_many_students_are_a_line_each(self):
        name = Path(LAB.file).name
        self.hand_in(f"ada/{LAB.id}/{name}")
        self.hand_in(f"bob/{LAB.id}/{name}", LAB.skeleton())
        self.hand_in(f"eve/{LAB.id}/{name}", "int main() {}\n")
        self.hand_in(f"fay/{LAB.id}/my_{name}")
        self.hand_in("gus/notes.txt", "")
        code, out, err = self.lab("grade", "class", "--no-races", "--seed", "7")
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(code, 0)
        self.assertEqual([(line["student"], line["passed"], line["points"], line["of"]) for line in lines],
                         [("ada", True, 9, 9), ("bob", False, 0, 9), ("eve", False, 0, 9), ("fay", False, 0, 9)])
        self.assertIn(f"there is {LAB.id}/my_{name}", lines[3]["stages"][0]["message"])
        self.assertEqual(err, "lulab: no file of any lab in class/gus\n")

    def test_of_given_labs_are_a_row_for_each_student(self):
        self.hand_in(f"bob/{LAB.id}/{Path(LAB.file).name}", "")
        self.hand_in("gus/notes.txt", "")
        code, out, err = self.lab("grade", "class", "--no-races", "--csv", "--labs", "3,levels")
        rows = list(csv.reader(out.splitlines()))
        self.assertEqual(code, 0)
        self.assertEqual([row[:5] for row in rows],
                         [["student", "lab", "points", "of", "failed"], ["bob", LAB.id, "0", "9", "builds"],
                          ["bob", "08_levels", "0", "7", "builds"], ["gus", LAB.id, "0", "9", "builds"],
                          ["gus", "08_levels", "0", "7", "builds"]])
        self.assertIn("a marker", rows[1][5])
        self.assertIn("0 files levels.cpp", rows[4][5])
        self.assertIn("class/gus", err)

    def test_of_names_and_files_that_cannot_be_read_are_rows_too(self):
        name = Path(LAB.file).name
        latin = os.fsdecode(b"Andr\xe9")
        self.hand_in(f"{latin}/{LAB.id}/{name}", LAB.reference().replace("mean_update(", "mean_of_updates("))
        self.hand_in(f"bob/{LAB.id}/{name}", "\ufeff" + LAB.skeleton())
        self.hand_in(f"__MACOSX/{LAB.id}/{name}")
        self.hand_in(f".git/{LAB.id}/{name}")
        Path("class/eve").mkdir()
        Path(f"class/eve/{name}").symlink_to(Path(f"class/bob/{LAB.id}/{name}").resolve())
        command = [sys.executable, "-B", labs.__file__, "--build", str(BUILD), "grade", "class", "--no-races", "--csv"]
        done = subprocess.run([*command, "--labs", " 3 ,"], capture_output=True, text=True, check=True)
        rows = list(csv.reader(done.stdout.splitlines()))[1:]
        self.assertEqual([row[0] for row in rows], ["Andr\\udce9", "bob", "eve"])
        self.assertEqual([row[4] for row in rows], ["builds", "implemented", "builds"])
        self.assertIn("outside the holes", rows[0][5])
        self.assertIn("0 files", rows[2][5])

        self.hand_in(f"{latin}/{LAB.id}/{name}", self.with_last_hole("no_such_name();"))
        read_text = Path.read_text

        def read(path, **how):
            if "bob" in path.parts:
                raise PermissionError(13, "Permission denied")
            return read_text(path, **how)
        with mock.patch.object(Path, "read_text", read):
            _, out, _ = self.lab("grade", "class", "--no-races")
        failed = [json.loads(line)["stages"][0]["message"] for line in out.splitlines()]
        self.assertIn("no_such_name", failed[0])
        self.assertIn("Permission denied", failed[1])

    def test_files_are_found_in_folders_too_many_or_too_few(self):
        name = Path(LAB.file).name
        for path in (f"my_labs/{LAB.id}/{name}", f"{LAB.id}/{LAB.id}/{name}", name):
            with tempfile.TemporaryDirectory() as folder:
                there = Path(folder) / path
                there.parent.mkdir(parents=True, exist_ok=True)
                there.write_text("")
                self.assertEqual(labs.submitted(LAB, folder), (there, None))
                (there.parent / LAB.id).mkdir()
                (there.parent / LAB.id / name).write_text("")
                (Path(folder) / "more" / LAB.id).mkdir(parents=True)
                (Path(folder) / "more" / LAB.id / name).write_text("")
                self.assertIn(" files ", labs.submitted(LAB, folder)[1])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
