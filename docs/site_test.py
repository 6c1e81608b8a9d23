#!/usr/bin/env python3
"""Builds the site as `./lulab docs` does and checks it. Where MkDocs Material is not installed only its pages are made:
exit code 77, skipped.

usage: site_test.py FOLDER_OF_PROGRAMS
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import pages

NEEDS = "import material, mkdocs, pymdownx"


def python_with_mkdocs():
    for python in (pages.ROOT / "build/docs/venv/bin/python", sys.executable):
        try:
            if subprocess.run([python, "-c", NEEDS], stderr=subprocess.DEVNULL, check=False).returncode == 0:
                return python
        except OSError:
            pass
    return None


def main():
    python = python_with_mkdocs()
    if python is None:
        with tempfile.TemporaryDirectory() as folder:
            mistakes = pages.gather(pages.ROOT, pathlib.Path(folder), pathlib.Path(sys.argv[1]), False)
        print("\n".join(mistakes) or "skipped: MkDocs Material is not installed; ./lulab docs installs it")
        return 1 if mistakes else 77
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        mistakes = pages.gather(pages.ROOT, folder, pathlib.Path(sys.argv[1]), False)
        subprocess.run([python, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", folder / "mkdocs.yml"],
                       env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)
        mistakes += pages.check_site(folder / "site")
        words = (folder / "site/search/search_index.js").read_text(encoding="utf-8")
        mistakes += [f"the search does not find {word}" for word in ("Gilbert", "10_supernode_panels", "acquire")
                     if word not in words]
    print("\n".join(mistakes) or "passed")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
