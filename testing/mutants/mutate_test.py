#!/usr/bin/env python3
"""Each fate of a mutant, on a room of one file whose tests are no more than a program that takes a filter."""
import json
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import mutate
import places

ROOM = """#include "tiny/sum.h"
int sum(int n) {
  decltype(n + n) s = 0;
  for (int i = 1; i <= n; ++i) s += i;
  return s;
}
bool both(bool a, bool b) { return a && b; }
int unreached(int x) { return x * 2; }
int same(int a, int b) { return a < b ? b : a; }
"""
HEADER = """#pragma once
int sum(int n);
bool both(bool a, bool b);
int unreached(int x);
int same(int a, int b);
"""
TESTS = """#include <cstdio>
#include <cstring>
#include "tiny/sum.h"
int failures = 0;
void run(const char* name, const char* filter, bool ok) {
  if (std::strcmp(filter, "*") != 0 && std::strstr(filter, name) == nullptr) return;
  std::printf("[ RUN      ] %s\\n", name);
  if (ok) return;
  std::printf("[  FAILED  ] %s\\n", name);
  ++failures;
}
int main(int argc, char** argv) {
  const char* const filter = argc > 1 && std::strchr(argv[1], '=') ? std::strchr(argv[1], '=') + 1 : "*";
  if (argc > 2 && std::strcmp(argv[1], "--gtest_list_tests") == 0) {
    std::FILE* const listed = std::fopen(std::strchr(argv[2], ':') + 1, "w");
    std::fputs(R"({"testsuites": [{"name": "Tiny", "testsuite": [{"name": "Sum", "file": "tiny/sum_test.cpp"},
        {"name": "Both", "file": "tiny/sum_test.cpp"}, {"name": "Same", "file": "tiny/sum_test.cpp"}]}]})", listed);
    return std::fclose(listed);
  }
  if (std::strstr(filter, "Sum")) run("Tiny.Sum", filter, sum(4) == 10);
  if (std::strstr(filter, "Both")) run("Tiny.Both", filter, !both(true, false));
  if (std::strstr(filter, "Same")) run("Tiny.Same", filter, same(1, 2) == 2 && same(2, 1) == 2);
  return failures;
}
"""
NINJA = """rule cxx
  command = c++ -std=c++20 -I{root} -MD -MT $out -MF $out.d -o $out -c $in
  deps = gcc
  depfile = $out.d
rule ar
  command = rm -f $out && ar qc $out $in
rule link
  command = : && c++ $in -o $out liblulab_tiny.a && :
build CMakeFiles/lulab_tiny.dir/sum.cpp.o: cxx {root}/tiny/sum.cpp
build liblulab_tiny.a: ar CMakeFiles/lulab_tiny.dir/sum.cpp.o
build CMakeFiles/tiny_cpu_test.dir/sum_test.cpp.o: cxx {root}/tiny/sum_test.cpp
build bin/tiny_cpu_test: link CMakeFiles/tiny_cpu_test.dir/sum_test.cpp.o | liblulab_tiny.a
"""
BUG = {"name": "counts from 0", "file": "tiny/sum.cpp", "replace": "s += i;", "by": "s += i - 1;",
       "killed_by": "tiny_cpu_test:Tiny.Sum"}
EQUIVALENT = {"tiny/sum.cpp": {"equal numbers are equal": ["same: a < b -> a <= b"]}}
EXPECTED = {  # without those that the two lists name
    "sum: decltype(n + n) s = 0 -> decltype(n + n) s = 1": "killed",
    "sum: i <= n -> i < n": "killed", "sum: i <= n -> i > n": "killed",
    "sum: without s += i;": "killed", "sum: s += i -> s -= i": "killed", "sum: int i = 1 -> int i = 0": "survived",
    "both: a && b -> a || b": "killed", "unreached: x * 2 -> x + 2": "unreached",
    "unreached: x * 2 -> x * 3": "unreached", "same: a < b -> a >= b": "killed"}


class Tree:
    def __init__(self, folder):
        self.root = Path(folder) / "root"
        self.build = Path(folder) / "build"
        for name, text in (("sum.cpp", ROOM), ("sum.h", HEADER), ("sum_test.cpp", TESTS)):
            mutate.write_if_changed(self.root / "tiny" / name, text)
        mutate.write_if_changed(self.build / "build.ninja", NINJA.format(root=self.root))
        for made in ("bin", "CMakeFiles"):
            (self.build / made).mkdir(exist_ok=True)
        self.lists([BUG], EQUIVALENT)

    def lists(self, bugs, equivalents):
        mutate.write_if_changed(self.root / "testing/mutants/known_bugs.json", json.dumps(bugs))
        mutate.write_if_changed(self.root / "testing/mutants/equivalent.json", json.dumps(equivalents))

    def mutate(self, *arguments):
        """(exit code, what it prints, {mutant: state})"""
        out, report = io.StringIO(), self.root / "report.json"
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = mutate.main(["tiny", "--root", str(self.root), "--build", str(self.build), "--json", str(report),
                                "--jobs", "2", *arguments])
        return code, out.getvalue(), {m["id"]: m.get("state") for m in json.loads(report.read_text())}


class Mutate(unittest.TestCase):
    def test_each_mutant_has_its_fate(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = Tree(folder)
            code, out, states = tree.mutate()
            bug, equal = "tiny/sum.cpp", "same: a < b -> a <= b"
            self.assertEqual(states.pop(equal), "equivalent")
            self.assertEqual(states.pop(": s += i; -> s += i - 1;"), "killed")
            self.assertEqual(states, EXPECTED)
            self.assertEqual(code, 1)
            self.assertIn("survived: tiny/sum.cpp:4: in sum: `int i = 1` -> `int i = 0`\n", out)
            self.assertIn("in unreached: `x * 2` -> `x + 2`  (no test reaches it)", out)
            self.assertRegex(out, r"tiny/sum.cpp +12 +8 +1 +3 +72.7 %")

            # What survives is explained, what is explained is there and survives.
            rest = [m for m, state in EXPECTED.items() if state != "killed"]
            tree.lists([BUG], {bug: {"a reason": [equal, *rest]}})
            self.assertEqual(tree.mutate()[0], 0)
            tree.lists([BUG], {bug: {"a reason": [equal, *rest, "sum: i <= n -> i < n"]}})
            code, out, _ = tree.mutate()
            self.assertEqual(code, 1)
            self.assertIn("killed, but listed in equivalent.json: tiny/sum.cpp:4: in sum: `i <= n` -> `i < n`  by ",
                          out)
            tree.lists([BUG], {bug: {"a reason": [equal, *rest, "sum: gone"]}})
            code, out, _ = tree.mutate()
            self.assertEqual(code, 1)
            self.assertIn("equivalent.json names a mutant that is not there: tiny/sum.cpp: sum: gone", out)

            # A known bug must be found by the test that is there for it.
            tree.lists([BUG], {bug: {"a reason": [equal, *rest]}})
            self.assertEqual(tree.mutate("--known-bugs")[2], {": s += i; -> s += i - 1;": "killed"})
            tree.lists([{**BUG, "killed_by": "tiny_cpu_test:Tiny.Both"}], {bug: {"a reason": [equal, *rest]}})
            code, out, _ = tree.mutate("--known-bugs")
            self.assertEqual(code, 1)
            self.assertIn("[counts from 0]  (no test reaches it)", out)
            self.assertEqual(len(tree.mutate("--sample", "3")[2]), 3)

    def test_tests_of_verify_count_for_the_rungs_that_they_name(self):
        room = mutate.Room(mutate.ROOT, "sparse_hybrid", Path("build"), 1, [])
        counted = [room.is_counted(Path(f"bin/{program}.sparse_hybrid"), test) for program, test in (
            ("sparse_hybrid_simt_test", "Glu.AnyTest"), ("verify_simt_test", "C/GpuRung.Conforms/sparse_hybrid_03_f32"),
            ("verify_simt_test", "C/GpuRung.Conforms/sparse_syncfree_11_f32"), ("verify_cpu_test", "Judge.AnyTest"))]
        self.assertEqual(counted, [True, True, False, False])

    def test_a_bug_whose_text_is_gone_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = Tree(folder)
            tree.lists([{**BUG, "replace": "s += j;"}], {})
            with self.assertRaisesRegex(Exception, "s \\+= j;.* 0 times, not once"):
                tree.mutate("--list")

    def test_the_known_bugs_name_texts_and_programs_that_are_there(self):
        for bug in mutate.read_lists(mutate.ROOT)[1]:
            self.assertEqual((mutate.ROOT / bug["file"]).read_text().count(bug["replace"]), 1, bug["name"])
            self.assertRegex(bug["killed_by"], rf"^{Path(bug['file']).parts[0]}_(cpu|simt)_test:", bug["name"])

    def test_what_a_copy_asks_keeps_the_lines_and_the_meaning(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "a.cpp").write_text("""#include <cmath>
#define TWICE(x) ((x) + (x))
constexpr int width = 32;
template <class T> T half(T x) { return x / T(2); }
bool bad(double e) {
  return !(e <= 1.5);
}
void f(int* p, int n) {
  if (n == 0)
    return;
  for (int i = n - 1; i >= 0; --i) {
    p[i] = TWICE(i + 1);
  }
  static_assert(1 + 1 == 2);
}
int g(int, int);
int h(int one, int two) {
  return g(one,  // first
           two);
}
""")
            found = places.find_places(root, "a.cpp", [])
            ids = [(m["line"], m["old"], m["new"]) for m in found["mutants"]]
            self.assertIn((6, "!(e <= 1.5)", "e > 1.5"), ids)  # differs for NaN
            self.assertIn((10, "return;", ""), ids)
            self.assertIn((4, "x / T(2)", "x * T(2)"), ids)
            self.assertIn((11, "i >= 0", "i > 0"), ids)
            self.assertFalse([i for i in ids if i[0] in (3, 14) or "width" in i[1]], ids)
            self.assertFalse([i for i in ids if i[1] == "i + 1"], ids)
            self.assertEqual(found["left_out"], {"argument of a macro": found["left_out"]["argument of a macro"],
                                                 "constexpr variable": 1, "evaluated by the compiler": 1})
            copy = found["text"].split("#line 1\n")[1]
            self.assertIn(18, [i[0] for i in ids])
            self.assertEqual(copy.count("\n"), 20)
            self.assertIn("g(two, one)) : (", copy)
            self.assertEqual(places.on_one_line('f("//", /* a\n b */ x,  // c\n  "a  b")'), 'f("//",   x, "a  b")')

    def test_tests_of_the_own_file_run_first(self):
        runner, order = mutate.Runner(Path("build"), 1, False, 3), []
        runner.run = lambda program, tests, seconds, environment: order.extend(tests) or (0, "", seconds)
        tests = [{"program": "p", "test": f"{file}.{seconds}", "file": file, "seconds": seconds}
                 for file, seconds in (("other_test", 0.1), ("sum_test", 0.6), ("sum_test", 0.3))]
        self.assertIsNone(runner.judge({"file": "tiny/sum.cpp", "number": 1}, tests))
        self.assertEqual(order, ["sum_test.0.3", "sum_test.0.6", "other_test.0.1"])

    def test_an_error_is_of_the_nearest_line_of_a_copy_on_the_way_to_it(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = Tree(folder)
            room = mutate.Room(tree.root, "tiny", tree.root / "build", 1, [])
            copy = f"{room.copies}/tiny/sum.cpp"
            log = f"""{copy}:3:1: error: direct
{copy}:30:1: note: declared here
{copy}: In instantiation of 'f':
{copy}:5:1:   required from 'g'
{copy}:50:1:   required from here
/usr/include/x.h:1:1: error: far away
{copy}: In function 'h':
/usr/include/x.h:2:1: error: too far away
{copy}:7:1: note: in expansion of macro 'M'
{copy}:70:1: note: in expansion of macro 'N'
{copy}: In substitution of 'i':
{copy}:9:1:   required from here
/usr/include/x.h:1:1: error: far away
"""
            self.assertEqual(room.lines_of_errors(log), {"tiny/sum.cpp": [3, 5, 7, 9]})


if __name__ == "__main__":
    if places.clang is None:
        print("skipped: python3-clang-14 is not installed")
        raise SystemExit(77)
    unittest.main()
