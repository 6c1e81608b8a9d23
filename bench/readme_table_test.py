#!/usr/bin/env python3
"""Published figures stand beside the committed ones as both say; what changed, or is missing, fails the check."""
import contextlib
import io
import json
import pathlib
import tempfile
import unittest
from unittest import mock

import readme_table
from readme_table import papers

PAPER = {"paper": "A 2020", "hardware": "GPU X", "faults": {"bad": "one triangle"}, "quantities": [
    {"what": "time, ms", "where": "Table 1", "values": {"a": 6.5, "bad": 8, "absent": 7},
     "ours": ["g/one:room/01|*|refactor|f64"], "best": ["g/one:room/*|*|refactor|f64", "g/two:auto|*|step|f64"]},
    {"what": "levels", "where": "Table 2", "values": {"a": 147},
     "ours": ["g/two:levels|*#rules.1.levels+rules.0.levels"]},
    {"what": "time, whole ms", "where": "Table 3", "values": {"a": 4, "b": 5, "c": 0}, "rounding": 0.5,
     "ours": ["g/one:room/01|*|refactor|f64"]},
    {"what": "gain", "where": "Fig. 1", "values": {"least": 1, "mean": 2, "most": 3}, "matrices": ["a", "b"],
     "ours": ["g/one:room/01|*|refactor|f64 / g/one:room/02|*|refactor|f64"]}]}
ROWS = [("room/01|a", 2.0), ("room/02|a", 1.0), ("room/01|b", 6.0), ("room/02|b", 1.0), ("room/01|c", 9.0),
        ("room/02|c", 1.0), ("room/90_library|a", 0.1), ("room/03|a", None)]


def row(name, ms):
    return {"name": f"{name}|refactor|f64"} | ({"real_time": ms} if ms else {"error_occurred": True, "real_time": 0.01})


class Published(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write(ROWS)
        self.page("")
        self.put({"p": PAPER})
        path = mock.patch.object(papers, "PATH", self.folder / "published.json")
        path.start()
        self.addCleanup(path.stop)

    def put(self, published):
        (self.folder / "published.json").write_text(json.dumps(published), encoding="utf-8")

    def write(self, rows):
        (self.folder / "results/g").mkdir(parents=True, exist_ok=True)
        context = {"gpu": "GPU Y", "cpu": "C", "git_hash": "abc"}
        step = {"name": "auto|bad|step|f64", "real_time": 4.0, "chosen_rung": "room/02"}
        for name, more in (("one", {"benchmarks": [row(*r) for r in rows]}),
                           ("two", {"benchmarks": [step], "levels": [
                               {"matrix": "a", "rules": [{"levels": 3}, {"levels": 144}]}]})):
            path = self.folder / f"results/g/{name}.json"
            path.write_text(json.dumps({"context": context} | more), encoding="utf-8")

    def page(self, table):
        mark = "<!-- generated: published | of: p -->\n"
        (self.folder / "page.md").write_text(f"{mark}{table}<!-- end of generated -->\n", encoding="utf-8")

    def made(self, *options):
        """Exit code, the page, and errors."""
        err, page = io.StringIO(), self.folder / "page.md"
        with contextlib.redirect_stderr(err):
            code = readme_table.main(["--results", str(self.folder / "results"), str(page), *options])
        return code, page.read_text(encoding="utf-8"), err.getvalue()

    def test_published_and_ours_stand_side_by_side(self):
        code, text, said = self.made()
        self.assertEqual(code, 0, said)
        for line in (
                "| quantity | of | published | ours | by | published / ours | our best | by | published / our best |",
                # Of several rungs the least; neither a library of others nor a run that failed.
                "| time, ms (Table 1) | a | 6.5 | 2 | 01, refactor f64 | 3.25 | 1 | 02, refactor f64 | 6.5 |",
                "| levels (Table 2) | a | 147 | 147 | two.json: rules.1.levels + rules.0.levels | 1 | – | – | – |",
                "Published: A 2020; GPU X.",
                "Ours: GPU Y, C; `bench/results/g/one.json` (source abc), `bench/results/g/two.json` (source abc).",
                "Published, and not measured here: absent."):
            self.assertIn(line + "\n", text)

    def test_a_faulty_row_is_marked_and_has_no_ratio(self):
        text = self.made()[1]
        self.assertIn("| time, ms (Table 1) | bad * | 8 | – | – | – | 4 | 02, step f64 | – |\n", text)
        self.assertIn("\\* bad: one triangle.\n", text)

    def test_what_rounding_decides_has_no_ratio(self):
        text = self.made()[1]
        for cells in ("a | 4 | 2 | 01, refactor f64 | –", "b | 5 | 6 | 01, refactor f64 | 0.833",
                      "c | < 0.5 | 9 | 01, refactor f64 | –"):
            self.assertIn(f"| time, whole ms (Table 3) | {cells} | – | – | – |\n", text)

    def test_least_mean_and_most_are_over_the_named_matrices(self):
        text = self.made()[1]
        for name, published, ours in (("least", 1, 2), ("mean", 2, 4), ("most", 3, 6)):
            self.assertIn(f"| gain (Fig. 1) | {name} | {published} | {ours} | 02, refactor f64; 2 matrices | – |", text)

    def test_other_results_or_figures_make_the_page_stale(self):
        self.made()
        self.assertEqual(self.made("--check")[0], 0)
        self.write([("room/01|a", 2.5)] + ROWS[1:])
        code, _, said = self.made("--check")
        self.assertEqual((code, "stale" in said), (1, True))
        self.made()
        self.put({"p": PAPER | {"faults": {}}})
        self.assertEqual(self.made("--check")[0], 1)

    def test_a_pattern_without_a_row_is_a_mistake(self):
        self.write(ROWS[1:2])
        code, _, said = self.made()
        self.assertEqual(code, 2)
        self.assertIn("no result has a figure for 'g/one:room/01|*|refactor|f64'", said)
        self.put({"q": PAPER})
        self.assertEqual(self.made()[0], 2)


if __name__ == "__main__":
    unittest.main()
