#!/usr/bin/env python3
"""chapters.py accepts a chapter that is up to date, and finds each way in which one can be wrong."""
import contextlib
import io
import pathlib
import tempfile
import unittest
import unittest.mock

import chapters

SHAPE = "\n".join(f"## {section}\n" for section in chapters.SECTIONS)
CODE = """// f
int f(int x) {
  if (x) {  // not the end: }
    return '}' + g("}");
  }
  return 1;
}

int h() { return f(2); }
"""


class Chapters(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "tutorials").mkdir()
        (self.root / "core").mkdir()
        (self.root / "core/f.cpp").write_text(CODE, encoding="utf-8")

    def program(self, text, code=0):
        """./lulab prints this text and exits with this code."""
        path = self.root / "lulab"
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n", encoding="utf-8")
        path.chmod(0o755)

    def quoted(self, fields):
        return chapters.rewrite(f"<!-- source: {fields} -->\n<!-- end of source -->\n", self.root, None)

    def ran(self, fields, text=""):
        return chapters.rewrite(f"<!-- runs: {fields} -->\n{text}<!-- end of runs -->\n", self.root, self.root)

    def refused(self, call, because):
        with self.assertRaises(chapters.Mistake) as caught:
            call()
        self.assertIn(because, str(caught.exception))

    def test_code_ends_with_the_brace_of_its_first_line(self):
        body = CODE.split("\n")[1:7]
        self.assertIn("```cpp\n" + "\n".join(body) + "\n```\n", self.quoted("core/f.cpp | from: int f(int x)"))

    def test_code_ends_with_the_text_that_is_named(self):
        self.assertIn("```cpp\nif (x) {  // not the end: }\n  return '}' + g(\"}\");\n```\n",
                      self.quoted("core/f.cpp | from: if (x) { | to: return '}'"))

    def test_marks_in_the_code_are_left_out(self):
        (self.root / "core/f.cpp").write_text("int f() {\n  // lab: f begin\n  return 1;\n}\n", encoding="utf-8")
        self.assertIn("```cpp\nint f() {\n  return 1;\n}\n```\n", self.quoted("core/f.cpp | from: int f()"))

    def test_code_that_changed_is_written_anew(self):
        chapter = self.quoted("core/f.cpp | from: int h()")
        self.assertEqual(chapters.rewrite(chapter, self.root, None), chapter)
        (self.root / "core/f.cpp").write_text(CODE.replace("f(2)", "f(3)"), encoding="utf-8")
        self.assertIn("f(3)", chapters.rewrite(chapter, self.root, None))

    def test_code_that_is_not_there_or_not_alone_is_refused(self):
        self.refused(lambda: self.quoted("core/g.cpp | from: f"), "no file core/g.cpp")
        self.refused(lambda: self.quoted("core/f.cpp | from: nosuch"), "stands on 0 lines")
        self.refused(lambda: self.quoted("core/f.cpp | from: return"), "stands on 3 lines")
        self.refused(lambda: self.quoted("core/f.cpp | from: int h() | to: nosuch"), "no end below")

    def test_output_is_compared_up_to_times_spaces_and_rounding(self):
        self.program("time   12.5 ms  error 3.1e-16\n------")
        chapter = self.ran("./lulab solve A.mtx")
        self.assertIn("$ ./lulab solve A.mtx\ntime         …  error 3.1e-16\n------\n", chapter)
        self.program("time 9.31e-05 ms  error 9.9e-17\n---")
        self.assertEqual(chapters.rewrite(chapter, self.root, self.root), chapter)
        for other in ("time 1 ms  error 3.1e-14", "time 1 ms  growth 3.1e-16", "time 1 ms  error 0"):
            self.program(other + "\n---")
            self.assertNotEqual(chapters.rewrite(chapter, self.root, self.root), chapter, other)

    def test_times_that_are_computed_are_kept(self):
        self.program("bound 0.72 us")
        chapter = self.ran("./lulab limits A.mtx | times: kept")
        self.assertIn("\nbound 0.72 us\n", chapter)
        self.program("bound 0.73 us")
        self.assertNotEqual(chapters.rewrite(chapter, self.root, self.root), chapter)

    def test_only_lines_asked_for_are_shown(self):
        self.program("one\ntwo\nthree")
        self.assertIn("\none\nthree\n", self.ran("./lulab list | show: one thr"))

    def test_several_commands_stand_below_each_other(self):
        self.program("one\ntwo")
        chapter = self.ran("./lulab list && ./lulab info A.mtx | show: two")
        self.assertIn("```\n$ ./lulab list\none\ntwo\n$ ./lulab info A.mtx\ntwo\n```\n", chapter)
        self.assertEqual(chapters.rewrite(chapter, self.root, None), chapter)
        self.assertIn("```\n$ ./lulab list\n$ ./lulab info A.mtx\none\ntwo\n```\n",
                      self.ran("./lulab list && ./lulab info A.mtx | quiet: yes"))

    def test_the_exit_code_is_that_of_the_mark(self):
        self.program("no", 3)
        self.assertIn("\nno\n", self.ran("LULAB_SIM_SEED=2 ./lulab factor A.mtx | exit: 3"))
        self.refused(lambda: self.ran("./lulab factor A.mtx"), "exits with 3, not 0")

    def test_other_programs_are_refused(self):
        self.refused(lambda: self.ran("cat A.mtx"), "no command of ./lulab")
        self.refused(lambda: self.ran("build/sim/bin/nosuch"), "build it")

    def test_a_picture_is_what_the_command_writes(self):
        path = self.root / "lulab"
        path.write_text('#!/bin/sh\necho "<svg>$2</svg>" > "$4"\n', encoding="utf-8")
        path.chmod(0o755)
        mark = "<!-- picture: ./lulab draw A.mtx | file: a.svg -->\n<!-- end of picture -->\n"
        pictures = {}
        chapter = chapters.rewrite(mark, self.root, self.root, pictures)
        self.assertIn("\n![./lulab draw A.mtx](a.svg)\n", chapter)
        self.assertEqual(pictures, {"a.svg": "<svg>A.mtx</svg>\n"})
        self.assertEqual(chapters.rewrite(chapter, self.root, None), chapter)

    def test_without_a_run_the_command_below_a_mark_is_that_of_the_mark(self):
        chapter = "<!-- runs: ./lulab list -->\n```\n$ ./lulab info\n```\n<!-- end of runs -->\n"
        self.refused(lambda: chapters.rewrite(chapter, self.root, None), "not the command below")

    def test_a_chapter_has_its_sections_and_closes_its_marks(self):
        run = "<!-- runs: ./lulab list -->\n<!-- end of runs -->\n"
        chapters.check_shape(SHAPE + run)
        self.refused(lambda: chapters.check_shape(SHAPE), "runs no command")
        self.refused(lambda: chapters.check_shape(SHAPE.replace("## Predict\n", "") + run), "its sections are")
        self.refused(lambda: chapters.check_shape(SHAPE + run + "<!-- source: a | from: b -->\n"), "lacks its line")

    def test_a_stale_chapter_fails_the_check_and_is_written_without_it(self):
        chapter = self.root / "tutorials/README.md"
        mark = "<!-- source: core/f.cpp | from: int h() -->\n<!-- end of source -->\n"
        chapter.write_text(SHAPE + "<!-- runs: ./lulab list -->\n<!-- end of runs -->\n" + mark, encoding="utf-8")
        self.program("one")
        with unittest.mock.patch.object(chapters, "ROOT", self.root), contextlib.redirect_stderr(io.StringIO()) as told:
            with unittest.mock.patch.object(chapters, "check_links"):
                self.assertFalse(chapters.up_to_date(chapter, self.root, check=True))
                self.assertIn("out of date", told.getvalue())
                self.assertNotIn("f(2)", chapter.read_text(encoding="utf-8"))
                self.assertTrue(chapters.up_to_date(chapter, self.root, check=False))
                self.assertIn("f(2)", chapter.read_text(encoding="utf-8"))
                self.assertTrue(chapters.up_to_date(chapter, self.root, check=True))

    def test_links_lead_somewhere(self):
        chapters.check_links("[f](core/f.cpp#f) [web](https://example.org/x) [here](#h)", self.root)
        self.refused(lambda: chapters.check_links("[g](core/g.cpp)", self.root), "core/g.cpp leads nowhere")


if __name__ == "__main__":
    unittest.main()
