#!/usr/bin/env python3
"""pages.py turns documents into pages of the site, and finds each way in which a link can be wrong."""
import json
import pathlib
import tempfile
import unittest

import pages


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


class Links(Folder):
    def gathered(self, text):
        self.write("README.md", "# lulab\n")
        self.write("dense/README.md", text)
        self.write("solve/README.md", "# solve\n\n## The L & U\n\n```\n## not a heading\n```\n")
        self.write("dense/00_a.cpp", "int a;\n")
        self.write("dense/a.svg", "<svg/>")
        self.write("cmake/install_test/main.cpp", "int main() {}\n")
        gathered = pages.Gathered(self.root, {})
        # The site's first page links to pages that this small tree does not have.
        return gathered, [mistake for mistake in gathered.mistakes if not mistake.startswith("README.md")]

    def test_documents_keep_their_links_to_each_other(self):
        gathered, mistakes = self.gathered("[solve](../solve/README.md#the-l--u) [root](../README.md)")
        self.assertEqual(mistakes, [])
        self.assertIn("[solve](../solve/README.md#the-l--u) [root](../README.md)", gathered.pages["dense/README.md"])

    def test_a_source_file_becomes_a_page(self):
        gathered, mistakes = self.gathered("[`00_a`](00_a.cpp) and [again](../dense/00_a.cpp)")
        self.assertEqual(mistakes, [])
        self.assertIn("[`00_a`](../source/dense/00_a.cpp.md) and [again](../source/dense/00_a.cpp.md)",
                      gathered.pages["dense/README.md"])
        self.assertIn("int a;", gathered.pages["source/dense/00_a.cpp.md"])

    def test_a_hidden_file_becomes_a_page_that_is_not(self):
        self.write(".ci/run", "true\n")
        gathered, mistakes = self.gathered("[`.ci/run`](../.ci/run)")
        self.assertEqual(mistakes, [])
        self.assertIn("](../source/dot-ci/run.md)", gathered.pages["dense/README.md"])
        self.assertIn("# .ci/run", gathered.pages["source/dot-ci/run.md"])

    def test_a_folder_is_its_readme_or_a_list_of_files(self):
        gathered, mistakes = self.gathered("[solve](../solve) [test](../cmake/install_test)")
        self.assertEqual(mistakes, [])
        self.assertIn("[solve](../solve/README.md) [test](../source/cmake/install_test.md)",
                      gathered.pages["dense/README.md"])
        self.assertIn("`main.cpp`", gathered.pages["source/cmake/install_test.md"])

    def test_pictures_come_along(self):
        gathered, mistakes = self.gathered("![a](a.svg)")
        self.assertEqual((mistakes, gathered.pages["dense/a.svg"]), ([], b"<svg/>"))

    def test_a_picture_of_two_themes_is_one_for_each(self):
        dark = '<source media="(prefers-color-scheme: dark)" srcset="%s">'
        gathered, mistakes = self.gathered(f'<picture>{dark % "a.svg"}<img alt="A" src="a.svg"></picture>')
        self.assertEqual((mistakes, gathered.pages["dense/a.svg"]), ([], b"<svg/>"))
        self.assertIn("![A](a.svg#only-light) ![A](a.svg#only-dark)", "".join(map(str, gathered.pages.values())))
        _, mistakes = self.gathered(f'<picture>{dark % "c.svg"}<img alt="A" src="a.svg"></picture>')
        self.assertEqual(len(mistakes), 1)

    def test_what_leads_nowhere_is_found(self):
        for link in ("../solve/MISSING.md", "01_b.cpp", "../../outside.cpp", "../solve/README.md#missing",
                     "#missing", "../solve/README.md#not-a-heading", "c.svg"):
            with self.subTest(link):
                self.assertEqual(len(self.gathered(f"# dense\n\n[x]({link})")[1]), 1)

    def test_code_is_no_link(self):
        gathered, mistakes = self.gathered("`a[i](j)` and ``b`[i](j)``\n\n```cpp\n[](int i) {}\n[x](y)\n```\n")
        self.assertEqual(mistakes, [])
        self.assertIn("[x](y)", gathered.pages["dense/README.md"])

    def test_links_to_the_network_stay(self):
        gathered, mistakes = self.gathered("[x](https://example.org/a.md)")
        self.assertEqual(mistakes, [])
        self.assertIn("https://example.org/a.md", gathered.pages["dense/README.md"])

    def test_what_was_built_is_no_document(self):
        self.write("build/README.md", "[x](missing)")
        self.write("my_labs/01_argmax/README.md", "[x](missing)")
        self.write(".cache/a.md", "[x](missing)")
        self.assertEqual(set(self.gathered("# d")[0].pages), {"README.md", "dense/README.md", "solve/README.md"})


class Markdown(unittest.TestCase):
    def turns_into(self, before, after):
        self.assertEqual(pages.for_mkdocs(before), after)

    def test_a_list_gets_a_blank_line_before(self):
        self.turns_into("More:\n- a\n- b", "More:\n\n- a\n- b")

    def test_a_list_in_a_list_is_indented_by_four(self):
        self.turns_into("1. a\n   b\n   - c\n     d\n2. e", "1. a\n    b\n    - c\n        d\n2. e")

    def test_code_in_a_list_is_indented_by_four(self):
        self.turns_into("3. a:\n   ```cpp\n   int b;\n     c;\n   ```\n4. d",
                        "3. a:\n\n    ```cpp\n    int b;\n      c;\n    ```\n\n4. d")

    def test_an_item_after_a_second_paragraph(self):
        self.turns_into("1. a\n\n   b\n2. c\n3. d", "1. a\n\n    b\n\n2. c\n3. d")

    def test_the_end_of_a_list(self):
        self.turns_into("- a\n\ntext\n\n    code", "- a\n\ntext\n\n    code")

    def test_the_number_at_the_end_of_a_sentence_begins_no_list(self):
        self.turns_into("counts down to\n0. Then", "counts down to\n0. Then")

    def test_code_is_left_alone(self):
        text = "```\ntext\n- a\n| b |\n|---|\n```\n\n    1. code\n    - code"
        self.turns_into(text, text)

    def test_a_table_gets_a_blank_line_before(self):
        self.turns_into("text\n| a | b |\n|---|---|\n| c | d |", "text\n\n| a | b |\n|---|---|\n| c | d |")

    def test_comments_are_left_out(self):
        self.assertEqual(pages.without_comments("a\n<!-- b\nc -->\nd `<!-- e -->`"), "a\n\nd `<!-- e -->`")

    def test_the_anchor_of_a_heading(self):
        self.assertEqual(pages.anchors("# What failed, and why\n\n## `judge` & 10_a\n\n    # code\n"),
                         {"what-failed-and-why", "judge--10_a"})


class Menu(unittest.TestCase):
    def test_each_document_stands_in_it(self):
        nav = pages.menu(["README.md", "tutorials/00_a/README.md", "dense/README.md", "dense/NOTES.md", "source/a.md"])
        for path in ("README.md", "tutorials/00_a/README.md", "dense/NOTES.md"):
            self.assertIn(f'"{path}"', json.dumps(nav))
        self.assertNotIn("source/a.md", json.dumps(nav))

    def test_one_that_does_not_is_found(self):
        with self.assertRaises(pages.Mistake):
            pages.menu(["README.md", "docs/a_new_page.md"])


class Reference(unittest.TestCase):
    def test_a_rung_has_its_facts_and_options(self):
        text = pages.rungs_page([{"id": "dense/00_a", "stage": "dense", "paper": "Author 2026", "idea": "a | b",
                                  "device": "cpu", "scalars": ["f32", "f64"], "refactors": False, "fault": "",
                                  "options": [{"name": "ratio", "default": 0.5, "smallest": 0, "largest": 2,
                                               "meaning": "x | y"}]}])
        for part in ("### 00_a", "| source | Author 2026 |", "| scalars | f32, f64 |", "| refactors | no |",
                     "| `ratio` | 0.5 | 0 | 2 | x \\| y |"):
            self.assertIn(part, text)
        self.assertNotIn("known fault", text)

    def test_a_program_that_is_not_built_is_told(self):
        with self.assertRaises(pages.Mistake):
            pages.output([pathlib.Path("missing") / "lulab"])


class Site(Folder):
    def mistakes(self, text):
        self.write("index.html", text)
        self.write("a/b.html", "<h1 id='here'>b</h1> <a href='../index.html'>up</a>")
        return pages.check_site(self.root)

    def test_a_good_site(self):
        self.assertEqual(self.mistakes("<p id='top'><a href='a/b.html#here'>b</a><a href='#top'>t</a>"
                                       "<a href='https://example.org'>x</a><img src='data:image/png;base64,'>"), [])

    def test_what_leads_nowhere_is_found(self):
        for text in ("<a href='a/c.html'>c</a>", "<a href='a/b.html#there'>b</a>", "<a href='#bottom'>t</a>",
                     "<img src='a.svg'>", "<script src='a.js'></script>", "<a href='a/'>folder</a>"):
            with self.subTest(text):
                self.assertEqual(len(self.mistakes(text)), 1)

    def test_what_comes_from_the_network_is_found(self):
        for text in ("<script src='https://example.org/a.js'></script>", "<script src='//example.org/a.js'></script>",
                     "<link rel='stylesheet' href='https://example.org/a.css'>",
                     "<img src='http://example.org/a.png'>"):
            with self.subTest(text):
                self.assertEqual(len(self.mistakes(text)), 1)
        self.write("a.css", "@font-face { src: url('https://example.org/a.woff') }")
        self.assertEqual(len(self.mistakes("<p>")), 1)

    def test_a_site_without_a_first_page(self):
        self.assertEqual(len(pages.check_site(self.root)), 1)


if __name__ == "__main__":
    unittest.main()
