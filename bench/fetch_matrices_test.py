#!/usr/bin/env python3
"""`lulab fetch` downloads, goes on, checks and finds stand-ins. A server on this machine is the collection."""
import contextlib
import gzip
import http.server
import io
import os
import pathlib
import tarfile
import tempfile
import threading
import unittest
import unittest.mock

import fetch_matrices as fetch


def matrix_market(order, entries, symmetric=False, missing=0):
    kind = "symmetric" if symmetric else "general"
    lines = [f"{k % order + 1} {1 if symmetric else k // order + 1} {k + 1.5}" for k in range(entries - missing)]
    head = [f"%%MatrixMarket matrix coordinate real {kind}", "% text", f"{order} {order} {entries}"]
    return "\n".join([*head, *lines, ""])


def archive(name, text, right_side=None):
    """What the collection has of one matrix."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for file, content in ((f"{name}/{name}.mtx", text), (f"{name}/{name}_b.mtx", right_side)):
            if content is not None:
                member = tarfile.TarInfo(file)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content.encode()))
    return out.getvalue()


class Collection(http.server.BaseHTTPRequestHandler):
    files, asked, cut_after = {}, [], None

    def do_GET(self):  # pylint: disable=invalid-name
        body, start = self.files.get(self.path), 0
        self.asked.append((self.path, self.headers.get("Range")))
        if body is None:
            self.send_error(404)
            return
        if asked := self.headers.get("Range"):
            start = int(asked[6:-1])
            self.send_response(206)
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        cut, Collection.cut_after = Collection.cut_after, None
        self.wfile.write(body[start:cut])

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Fetch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        server = http.server.HTTPServer(("127.0.0.1", 0), Collection)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        patch = unittest.mock.patch.multiple(fetch, COLLECTION=f"http://127.0.0.1:{server.server_port}",
                                             SECONDS_TO_RETRY=0)
        patch.start()
        self.addCleanup(patch.stop)
        Collection.asked, Collection.cut_after = [], None
        self.rajat11 = matrix_market(135, 812)
        Collection.files = {"/Rajat/rajat11.tar.gz": archive("rajat11", self.rajat11, "1\n2\n"),
                            "/A/other.tar.gz": archive("other", matrix_market(3, 4))}

    def run_on(self, *arguments):
        """Exit code, and what it says."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = fetch.main([*arguments, "--to", str(self.folder / "to"), "--programs", str(self.folder)])
        return code, out.getvalue()

    def text(self, name):
        return gzip.decompress((self.folder / "to" / name).read_bytes()).decode()

    def left(self):
        return sorted(path.name for path in (self.folder / "to").iterdir())

    def test_a_matrix_comes_with_its_right_side_and_is_kept(self):
        self.assertEqual(self.run_on("rajat11", "A/other")[0], 0)
        self.assertEqual(self.text("rajat11.mtx.gz"), self.rajat11)
        self.assertEqual(self.text("rajat11_b.mtx.gz"), "1\n2\n")
        self.assertEqual(self.left(), ["other.mtx.gz", "rajat11.mtx.gz", "rajat11_b.mtx.gz"])
        code, said = self.run_on("rajat11")
        self.assertEqual((code, len(Collection.asked)), (0, 2))
        self.assertIn("already here", said)

    def test_a_download_that_ended_early_goes_on(self):
        Collection.cut_after = 100
        self.assertEqual(self.run_on("rajat11")[0], 0)
        self.assertEqual([asked for _, asked in Collection.asked], [None, "bytes=100-"])
        self.assertEqual(self.text("rajat11.mtx.gz"), self.rajat11)

    def test_another_matrix_and_an_incomplete_one_are_refused(self):
        for text, because in ((matrix_market(134, 812), "another matrix: 134 x 134 with 812"),
                              (matrix_market(135, 811), "another matrix: 135 x 135 with 811"),
                              (matrix_market(135, 812, missing=1), "ends after 811 of 812 entries"),
                              (matrix_market(135, 300, symmetric=True), "another matrix"), ("% no\n", "ends after 0")):
            Collection.files["/Rajat/rajat11.tar.gz"] = archive("rajat11", text)
            code, said = self.run_on("rajat11")
            self.assertEqual(code, 1, said)
            self.assertIn(because, said)
            self.assertEqual(self.left(), [])

    def test_a_damaged_archive_is_refused_and_the_next_one_comes(self):
        good = Collection.files["/Rajat/rajat11.tar.gz"]
        for place in range(20, len(good) - 20, len(good) // 40):
            Collection.files["/Rajat/rajat11.tar.gz"] = good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1:]
            code, said = self.run_on("rajat11", "A/other")
            if code:  # else the bit was in what nobody reads
                self.assertIn("1 of 2 could not be had", said)
            self.assertEqual(self.left()[0], "other.mtx.gz", said)
            self.assertEqual([name for name in self.left() if "partial" in name or "tar" in name], [])
            for path in (self.folder / "to").iterdir():
                path.unlink()

    def test_an_archive_that_was_not_unpacked_is_not_asked_for_again(self):
        (self.folder / "to").mkdir()
        (self.folder / "to/Rajat-rajat11.tar.gz").write_bytes(Collection.files["/Rajat/rajat11.tar.gz"])
        self.assertEqual(self.run_on("rajat11")[0], 0)
        self.assertEqual((Collection.asked, self.left()), ([], ["rajat11.mtx.gz", "rajat11_b.mtx.gz"]))

    def test_it_puts_them_where_lulab_looks(self):
        (self.folder / "a/b").mkdir(parents=True)
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("LULAB_MATRICES", None)
            self.assertEqual(fetch.default_folder(self.folder / "a/b"), self.folder / "a/b/shared/matrices")
            (self.folder / "shared/matrices").mkdir(parents=True)
            self.assertEqual(fetch.default_folder(self.folder / "a/b"), self.folder / "shared/matrices")
            os.environ["LULAB_MATRICES"] = "/given"
            self.assertEqual(fetch.default_folder(self.folder / "a/b"), pathlib.Path("/given"))

    def test_of_a_symmetric_one_a_triangle_is_stored(self):
        for entries in (406, (812 + 135) // 2):
            Collection.files["/Rajat/rajat11.tar.gz"] = archive("rajat11", matrix_market(135, entries, symmetric=True))
            self.assertEqual(self.run_on("rajat11")[0], 0)
            (self.folder / "to/rajat11.mtx.gz").unlink()

    def test_a_folder_takes_the_place_of_the_network(self):
        source = self.folder / "from/below"
        source.mkdir(parents=True)
        for name, content in (("rajat11.mtx", self.rajat11.encode()),
                              ("rajat11.mtx.gz", gzip.compress(self.rajat11.encode())),
                              ("rajat11.tar.gz", archive("rajat11", self.rajat11))):
            (source / name).write_bytes(content)
            code, said = self.run_on("rajat11", "--from", str(source.parent))
            self.assertEqual(code, 0, said)
            self.assertEqual(self.text("rajat11.mtx.gz"), self.rajat11)
            (source / name).unlink()
            (self.folder / "to/rajat11.mtx.gz").unlink()
        code, said = self.run_on("rajat11", "--from", str(source.parent))
        self.assertEqual((code, Collection.asked), (1, []))
        self.assertIn("hold no rajat11", said)

    def test_what_cannot_be_had_has_a_stand_in_with_its_name(self):
        program = self.folder / "lulab"
        program.write_text('#!/bin/sh\necho "$*" >"$6"\n', encoding="utf-8")
        program.chmod(0o755)
        code, said = self.run_on("bcsstk18", "--stand-ins")
        self.assertEqual(code, 0, said)
        self.assertIn("404", said)
        made = self.folder / "to/bcsstk18_stand_in.mtx.gz"
        self.assertEqual(made.read_text(encoding="utf-8"), f"gen grid3d -n 11948 -o {made}\n")
        self.assertEqual(self.run_on("A/none", "--stand-ins")[0], 1, "nothing is known of it")

    def test_what_is_wrong_is_told(self):
        for arguments, code, because in ((["nothing"], 2, "neither a set"), (["B/rajat11"], 1, "404"),
                                         (["rajat11", "--from", "/nowhere"], 2, "no such folder"),
                                         (["rajat12"], 1, "1 of 1 could not be had")):
            found, said = self.run_on(*arguments)
            self.assertEqual(found, code, said)
            self.assertIn(because, said)

    def test_the_list_has_every_matrix_once_and_the_papers_sets(self):
        names = [line.split()[1] for line in fetch.TABLE.split("\n") if line]
        self.assertEqual(len(names), len(set(names)))
        sets = [len(fetch.wanted([name], fetch.known())) for name in fetch.PAPERS]
        self.assertEqual(sets, [23, 15, 8, 13])
        self.assertEqual(self.run_on()[1].count("\n"), len(names) + 1)


if __name__ == "__main__":
    unittest.main()
