#!/usr/bin/env python3
"""Measure a committed row again and say whether it agrees: ./lulab rerun POINT, as docs/report.html calls it.

POINT is the name of a row, or words that only one has: "nvidia-h200/step_f64:auto|memplus|step|f64", "step_f64 auto
memplus step|". Options of `./lulab bench` that the row's label names go behind it: ./lulab rerun POINT -- --threads 1.
A matrix is looked for in LULAB_MATRICES, or in shared/matrices of this folder or one above it.

Exit code: 0 it agrees (the test of ./lulab regress finds no change beyond noise), 1 it does not, 2 it cannot be
compared: no such row, another GPU, another matrix, no time.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import fetch_matrices
import regress

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "page"))
import results  # noqa: E402  pylint: disable=wrong-import-position


def find_point(words, folder):
    points = [p for p in results.load(folder)[1] if p.scalar]
    exact = [p for p in points if p.id == words]
    found = exact or [p for p in points if all(word in p.id for word in words.split())]
    if len(found) == 1:
        return found[0]
    if not found:
        raise regress.Mistake(f"no row has '{words}'; docs/report.html lists all")
    names = "".join(f"\n  {p.id}" for p in found[:10])
    raise regress.Mistake(f"{len(found)} rows have '{words}'; say which:{names}")


def path_of(matrix, lulab):
    """File of a matrix: of the collection, or made now."""
    if made := results.GENERATED.match(matrix):
        path = pathlib.Path(tempfile.gettempdir()) / f"{matrix}.mtx"
        subprocess.run([lulab, "gen", made[1], "-n", made[2], "-o", path], stdout=subprocess.DEVNULL, check=True)
        return path
    file = results.file_of(matrix)
    folder = fetch_matrices.default_folder(results.ROOT)
    for path in (folder / file, folder / file.removesuffix(".gz")):
        if path.is_file():
            return path
    hint = f"run: ./lulab fetch {matrix}" if matrix in fetch_matrices.known() else "./lulab fetch does not know it"
    raise regress.Mistake(f"no {file} in {folder}; {hint}")


def entry_of(path, point):
    """Context and row of the new run."""
    data = json.loads(path.read_text(encoding="utf-8"))
    rows = [row for row in data["benchmarks"] if row["name"] == point.name and (
        not point.label or row.get("label", results.NO_LABEL) == point.label)]
    if not rows:
        raise regress.Mistake(f"the run has no row {point.name} {point.label}; give the options of its label behind --")
    return data["context"], rows[0]


def told(name, entry, context):
    if entry.get("error_occurred"):
        return f"{name}  no time: {entry.get('error_message')}"
    low, high = (entry.get(key, entry.get(other)) for key, other in (("p10_ms", "min_ms"), ("p90_ms", "max_ms")))
    return (f"{name}  {entry['real_time']:.4g} ms ({low:.4g} to {high:.4g}), {entry['iterations']} runs; "
            f"{context['gpu']}, {context.get('cpu')}, source {context.get('git_hash', '?')[:12]}")


def compare(point, context, entry, options):
    """Prints both; whether they agree."""
    print(told("stored", point.entry, point.file.context), told("now   ", entry, context), sep="\n")
    if context["gpu"] != point.file.gpu:
        raise regress.Mistake(f"stored on {point.file.gpu}, measured on {context['gpu']}: they need not agree")
    hashes = [c.get("matrices", {}).get(point.matrix, {}).get("hash") for c in (point.file.context, context)]
    if all(hashes) and hashes[0] != hashes[1]:
        raise regress.Mistake(f"{point.matrix} is another matrix here: its hash is {hashes[1]}, was {hashes[0]}")
    # results.Point keeps one unit, that of lulab-bench.
    old, new = (regress.Timing([e | {"time_unit": "ms"}]) for e in (point.entry, entry))
    row = regress.judge(old, new, options)
    if "p" not in row:
        raise regress.Mistake(f"they cannot be compared: {row['verdict']}")
    agree = not regress.is_change(row, options)
    print(f"{'agrees' if agree else 'differs'}: {row['change']:+.1%}, p = {row['p']:.2g} ({row['test']} test)")
    return agree


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="lulab rerun", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("point", help="name of the row, or words that only it has")
    parser.add_argument("more", nargs="*", metavar="-- OPTIONS", help="options of ./lulab bench")
    parser.add_argument("--only-look", action="store_true", help="only find the row and its matrix")
    parser.add_argument("--programs", type=pathlib.Path, help="folder of lulab-bench and lulab")
    parser.add_argument("--results", type=pathlib.Path, default=results.RESULTS, help="folder of the stored results")
    regress.add_test_options(parser)
    options = parser.parse_args(arguments)
    try:
        point = find_point(options.point, options.results)
        if options.only_look or options.programs is None:
            print(f"{point.id}\n{results.command_of(point)}")
            return 0
        file = "" if point.matrix.startswith(("n=", "batch=")) else path_of(point.matrix, options.programs / "lulab")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "now.json"
            command = [options.programs / "lulab-bench", *results.arguments_of(point, file), *options.more]
            command += ["--json", path]
            print(" ".join(map(str, command)), file=sys.stderr)
            if subprocess.run(command, check=False).returncode or not path.is_file():
                raise regress.Mistake("lulab-bench failed; its words are above")
            return 0 if compare(point, *entry_of(path, point), options) else 1
    except (regress.Mistake, results.Mistake, OSError, subprocess.CalledProcessError) as mistake:
        print(f"lulab rerun: error: {mistake}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
