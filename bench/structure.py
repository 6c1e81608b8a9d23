#!/usr/bin/env python3
"""Write bench/results/structure.json: what patterns alone decide, for the pictures of docs/report.html.

Where the entries of a few matrices are before and after ordering, and how many columns each level has. No time is kept:
every machine writes the same numbers.

    bench/structure.py FOLDER [--lulab PROGRAM] [-o FILE]      FOLDER: of the collection (./lulab fetch)
"""
import argparse
import datetime
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench/page"))
from results import NOTHING_TIMED  # noqa: E402  pylint: disable=wrong-import-position

MATRICES = ["circuit_1", "memplus", "seq_nr_case_ACTIVSg10k/A_00", "af23560"]
OF_LEVELS = MATRICES + ["mna5_A"]
FACTS = ("matrix", "n", "nnz", "nnz_lu", "order", "command")
RULE = ("rule", "dependencies", "levels", "widest", "columns")


def answer(program, folder, matrix, *arguments):
    """What a command says, and the command as a reader would call it."""
    command, *options = arguments
    file = f"{matrix}.mtx.gz"
    done = subprocess.run([program, command, folder / file, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"lulab {command} {file}: {done.stderr or done.stdout}")
    return json.loads(done.stdout) | {"matrix": matrix, "command": " ".join(["./lulab", command, file, *options])}


def pattern_of(program, folder, matrix):
    found = answer(program, folder, matrix, "draw", "--what", "density", "--order", "amd", "--json")
    return {key: found[key] for key in FACTS + ("before", "after", "filled")}


def levels_of(program, folder, matrix):
    found = answer(program, folder, matrix, "levels", "--order", "amd", "--plot", "--json")
    return {key: found[key] for key in FACTS} | {
        "rules": [{key: rule[key] for key in RULE} for rule in found["rules"]]}


def text_of(value):
    """JSON, an entry of a list of matrices a line."""
    lists = [f'"{key}": [\n' + ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries) + "\n]"
             for key, entries in value.items() if key != "context"]
    return '{\n"context": ' + json.dumps(value["context"]) + ",\n" + ",\n".join(lists) + "\n}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--lulab", type=pathlib.Path, default=ROOT / "lulab")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=ROOT / "bench/results/structure.json")
    chosen = parser.parse_args()
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True,
                            check=True).stdout.strip()
    made = {"context": {"gpu": NOTHING_TIMED, "cpu": "any CPU", "git_hash": commit,
                        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
                        "command": "python3 bench/structure.py FOLDER"},
            "patterns": [pattern_of(chosen.lulab, chosen.folder, m) for m in MATRICES],
            "level_columns": [levels_of(chosen.lulab, chosen.folder, m) for m in OF_LEVELS]}
    chosen.output.write_text(text_of(made), encoding="utf-8")
    print(f"{chosen.output}: {chosen.output.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
