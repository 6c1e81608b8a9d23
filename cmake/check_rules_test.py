#!/usr/bin/env python3
"""Each rule of check_rules.py accepts what keeps it and refuses what breaks it."""
import tempfile
import unittest
from pathlib import Path

from check_rules import check


def broken(files):
    """What the rules say of a tree of these files: {name: text}."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return check(Path(folder))[0]


class Rules(unittest.TestCase):
    def accepted(self, file, text):
        self.assertEqual(broken({file: text}), [], text)

    def refused(self, file, text, because):
        lines = broken({file: text})
        self.assertEqual(len(lines), 1, f"{text}\n{lines}")
        self.assertTrue(lines[0].startswith(file + ":"), lines)
        self.assertIn(because, lines[0])

    def test_a_room_includes_only_itself_and_rooms_above_it(self):
        self.accepted("symbolic/a.h", '#include "core/plan.h"\n#include "symbolic/b.h"\n')
        self.accepted("examples/b/a.h", '#include "driver/solver.h"\n')
        self.refused("core/a.h", '#include "symbolic/fill.h"\n', "below it")
        self.refused("dense/a.cu", '#include "sparse_hybrid/a.h"\n', "below it")
        self.refused("solve/a.h", '#include "examples/transient_circuit/netlist.h"\n', "below it")
        self.refused("symbolic/a.h", '#include "model/limits.h"\n', "below it")

    def test_a_sparse_stage_includes_no_other(self):
        self.accepted("sparse_syncfree/a.cu", '#include "sparse_syncfree/a.h"\n#include "dense/a.h"\n')
        self.refused("sparse_syncfree/a.cu", '#include "sparse_hybrid/a.h"\n', "includes stage sparse_hybrid")

    def test_only_tests_include_testing(self):
        self.accepted("core/a_test.cpp", '#include "testing/matrices.h"\n')
        self.accepted("core/a_test.cu", '#include "testing/launch.h"\n')
        self.accepted("testing/a.h", '#include "testing/launch.h"\n#include "driver/solver.h"\n')
        self.refused("verify/a.h", '#include "testing/matrices.h"\n', "only tests")
        self.refused("bench/a.cpp", '#include "testing/matrices.h"\n', "only tests")

    def test_judges_use_nothing_that_they_judge(self):
        self.accepted("verify/judge.cpp", '#include "core/plan.h"\n#include "verify/checks.h"\nrebuild::inverse(p);\n')
        self.accepted("verify/verify.cpp", '#include "core/rung.h"\nb = apply(plan, a);\n')
        self.accepted("verify/checks_test.cpp", '#include "core/factors.h"\nb = apply(plan, a);\n')
        self.refused("verify/judge.cpp", '#include "core/factors.h"\n', "plain types")
        self.refused("verify/judge.cpp", '#include "solve/condition.h"\n', "plain types")
        self.refused("verify/judge.cpp", '#include "verify/stable_pivots.h"\n', "runs what is judged")
        self.refused("verify/judge.cpp", "b = apply(plan, a);\n", "a judge calls apply()")
        self.refused("verify/a_new_check.cpp", "multiply<double>(a, x, y);\n", "a judge calls multiply()")

    def test_a_file_includes_what_it_uses_of_the_precompiled_headers(self):
        self.accepted("core/a.h", "#include <vector>\nstd::vector<int> a;\n")
        self.accepted("core/a.h", "// std::vector\nauto a = \"std::vector\";\n")
        self.assertEqual(broken({"core/a.cpp": '#include "core/b.h"\nstd::vector<int> a;\n',
                                 "core/b.h": '#include "core/c.h"\n', "core/c.h": "#include <vector>\n"}), [])
        self.refused("core/a.h", "#include <string>\nstd::vector<int> a;\n", "std::vector without #include <vector>")
        self.refused("core/a.cpp", "#include <vector>\nstd::ranges::sort(a);\n", "#include <algorithm>")
        self.refused("core/a.cpp", "fmt::print(text);\n", "#include <fmt/format.h>")
        self.refused("core/a_test.cpp", "TEST(A, B) {}\n", "#include <gtest/gtest.h>")

    def test_what_settles_a_race_says_so(self):
        self.accepted("dense/a.cu", "  __syncwarp();  // RACE: lanes wrote x\n")
        self.accepted("dense/a.cu", "// RACE: lanes wrote x\n// and read it later\n  __syncwarp();\n")
        self.accepted("dense/a.cu", "  next.store(seen,\n    order);  // RACE: publishes x\n")
        self.accepted("dense/a.cu", "  x = 1;  // unlike atomicAdd(...)\n")
        self.accepted("dense/a.cu", "if (first)  // RACE: no two get one\n  atomicAdd(ticket, 1);\n")
        self.refused("dense/a.cu", "if (first) {  // RACE: no two get one\n  atomicAdd(ticket, 1);\n", "atomicAdd(")
        self.refused("dense/a.cu", "  next.store(seen,\n    order);\n  // RACE: too late\n", ".store(")
        self.refused("dense/a.cu", "// RACE: speaks of the next line only\n  x[i] = 1;\n  __syncthreads();\n",
                     "__syncth")
        for statement in ("__syncwarp()", "atomicAdd(&d[j], -1)", "flag.fetch_add(1)", "spin_wait(flag, done)",
                          "ready.store(1, cuda::std::memory_order_release)", "__threadfence()"):
            self.refused("dense/a.cu", f"  {statement};\n", "without a RACE: comment")

    def test_races_in_headers_with_device_code(self):
        wait = "  __syncwarp();\n"
        self.refused("dense/a.h", "__device__ inline void f() {\n" + wait + "}\n", "RACE:")
        self.refused("solve/a.h", "__global__ void f_kernel() {\n" + wait + "}\n", "RACE:")
        self.accepted("dense/a.h", "__device__ inline void f() {\n  __syncwarp();  // RACE: x\n}\n")
        self.accepted("dense/a.h", "inline void f(std::atomic<int>& x) { x.store(1); }\n")
        self.accepted("core/simt/host/a.h", "__device__ inline void f() {\n" + wait + "}\n")
        self.accepted("core/simt/warp_test.cu", wait)
        self.refused("core/simt/a.cu", wait, "RACE:")

    RUNGS = {"dense/rungs.def": "LULAB_RUNG(reference)  // 00\nLULAB_RUNG(blocked)     // 04\n",
             "dense/00_reference.cpp": '.id = "dense/00_reference"\n',
             "dense/04_blocked.cu": '.id = "dense/04_blocked"\n'}

    def with_rungs(self, changed):
        return broken({**self.RUNGS, **changed})

    def test_file_id_and_list_name_the_same_number(self):
        self.assertEqual(self.with_rungs({}), [])
        self.assertEqual(self.with_rungs({"dense/04_row_swaps.cu": "", "dense/a_test.cpp": '.id = "dense/no"\n'}), [])
        for changed, because in (
            ({"dense/04_blocked.cu": '.id = "dense/05_blocked"\n'}, "belongs into a file named 05_blocked"),
            ({"dense/04_blocked.cu": '.id = "dense/04_tiled"\n'}, "no line of its own"),
            ({"dense/04_blocked.cu": ""}, "no file has the id dense/04_blocked"),
            ({"dense/rungs.def": self.RUNGS["dense/rungs.def"].replace("04", "05")}, "no line of its own"),
            ({"dense/rungs.def": self.RUNGS["dense/rungs.def"].replace("// 04", "")}, "its number is missing"),
            ({"dense/rungs.def": "LULAB_RUNG(reference)  // 00\n"}, "no line of its own"),
            ({"dense/rungs.def": self.RUNGS["dense/rungs.def"] + "LULAB_RUNG(lost)  // 05\n"}, "no file has the id"),
        ):
            self.assertTrue(any(because in line for line in self.with_rungs(changed)), f"{changed}: {because}")

    def test_no_number_twice_but_in_one_file(self):
        both = self.RUNGS["dense/rungs.def"] + "LULAB_RUNG(blocked_twice)  // 04\n"
        pair = '.id = "dense/04_blocked"\n.id = "dense/04_blocked_twice"\n'
        self.assertEqual(self.with_rungs({"dense/rungs.def": both, "dense/04_blocked.cu": pair}), [])
        other = {"dense/rungs.def": both, "dense/04_blocked_twice.cu": '.id = "dense/04_blocked_twice"\n'}
        self.assertTrue(any("is taken by" in line for line in self.with_rungs(other)))

    def test_rungs_are_declared_in_rungs_h(self):
        self.accepted("dense/rungs.h", "#define LULAB_RUNG(name) extern const Rung name;\n")
        self.refused("driver/a.cpp", "extern const Rung klu;\n", "include the rungs.h")

    def test_symbolic_knows_no_times(self):
        self.accepted("symbolic/a.h", "int levels, status, us, entries_s_of;\n")
        self.accepted("model/a.h", "double hop_us = 1;\n")
        for name in ("hop_us", "total_ms", "read_ns", "limit_s", "limit_s_", "hop_microseconds"):
            self.refused("symbolic/a.h", f"double {name} = 1;\n", "times belong to model/")

    def test_lines_and_readmes_have_a_length(self):
        self.accepted("core/a.cpp", "//" + "é" * 118 + "\n")
        self.accepted("core/README.md", "é" * 300 + "\n" + "\n" * 79)
        self.refused("core/a.cpp", "//" + "é" * 119 + "\n", "121 columns")
        self.refused("cmake/a.py", "#" + "x" * 120 + "\n", "121 columns")
        self.refused("core/README.md", "\n" * 81, "81 lines")
        self.accepted("tutorials/05_syncfree/README.md", "\n" * 220)
        self.refused("tutorials/05_syncfree/README.md", "\n" * 221, "at most 220")
        self.refused("tutorials/README.md", "\n" * 81, "at most 80")

    def test_no_notes_to_self_and_no_paths_of_one_machine(self):
        self.refused("core/a.cpp", "// TO" "DO: later\n", "a note to self")
        self.refused("core/README.md", "FIX" "ME\n", "a note to self")
        self.refused("core/a.cpp", 'open("/ho' 'me/me/a.mtx")\n', "a path of one machine")
        self.refused("testing/a.h", 'open("/wo' 'rk/a.mtx")\n', "a path of one machine")


if __name__ == "__main__":
    unittest.main()
