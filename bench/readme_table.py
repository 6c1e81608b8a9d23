#!/usr/bin/env python3
"""Write the measured ladder table of a room's README from the committed benchmark results.

A README marks the place with two comment lines:

    <!-- ladder: sparse_leftlooking | circuit_1 memplus n=512 | refactor | f64 | nvidia-h200/quick -->
    <!-- end of ladder -->

fields: stage (the part of a rung's id before '/'), matrices (columns), phase, scalar type, result file below
bench/results without ".json". Between the two lines this program puts one row a rung: median time in ms, the share of
the bound and what binds, and the speed against klu_refactor on the same matrix in the same run. Where the results are
those of `--set dense` ("dense | n=1024 n=4096 | factor | f64 | nvidia-h200/dense", or columns "batch=10000,n=64"), a cell
is the rate and the speed against cuSOLVER or cuBLAS instead. A rung that was not tried on any of the columns has no row.

Examples:
    bench/readme_table.py sparse_leftlooking/README.md     rewrite the table in place
    bench/readme_table.py --check */README.md              exit 1 when a table is not what the results say
"""
import argparse
import json
import pathlib
import re
import sys

BLOCK = re.compile(r"(<!-- ladder: (?P<fields>[^\n]*?) -->\n)(?P<table>.*?)(<!-- end of ladder -->)", re.DOTALL)
LIBRARIES = {"speed_against_cusolver": "cuSOLVER", "speed_against_cublas": "cuBLAS"}
RESULTS = pathlib.Path(__file__).resolve().parent / "results"


class Mistake(Exception):
    """What is wrong with a README or a result file, for people."""


def number(x):
    return f"{x:.3g}" if x < 1000 else f"{x:.0f}"


def rate(gflops):
    """Three digits, no exponent: 0.0213, 7.4, 683, 41200."""
    return f"{float(f'{gflops:.3g}'):g}"


def cell(row):
    """One figure of the table: "0.52 ms (12% of chain bound, 2.3x KLU)", "41200 GFLOP/s (0.95x cuSOLVER)"."""
    if row is None:
        return "–"
    if row.get("error_occurred"):
        if row.get("error_message", "").startswith("skipped: one factorization would take"):
            return "–"
        return "no time: " + row.get("error_message", "unknown").replace("|", "/").replace("\n", " ")
    if "gflops" in row:
        ratios = [f"{row[key]:.2f}x {library}" for key, library in LIBRARIES.items() if key in row]
        text = f"{rate(row['gflops'])} GFLOP/s"
        return f"{text} ({ratios[0]})" if ratios else text
    notes = []
    if "percent_of_bound" in row:
        notes.append(f"{number(row['percent_of_bound'])}% of {row['bound_by']} bound")
    if "speed_against_klu_refactor" in row:
        notes.append(f"{number(row['speed_against_klu_refactor'])}x KLU")
    if row.get("label"):
        notes.append(row["label"])
    text = f"{number(row['real_time'])} ms"
    return f"{text} ({', '.join(notes)})" if notes else text


def load(name, results):
    path = results / f"{name}.json"
    try:
        data = json.loads(path.read_text())
        rows = {row["name"]: row for row in data["benchmarks"]}
        return data["context"], rows
    except OSError as error:
        raise Mistake(f"{path}: cannot be read ({error.strerror}); run: ./lulab bench --save") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Mistake(f"{path}: not a benchmark result ({error})") from error


def table(fields, results):
    """The lines between the two marks, for the fields of the first one."""
    parts = [part.strip() for part in fields.split("|")]
    if len(parts) != 5:
        raise Mistake(f"'{fields}' is not: stage | matrices | phase | scalar type | result file")
    stage, matrices, phase, scalar, name = parts[0], parts[1].split(), *parts[2:]
    context, rows = load(name, results)
    columns = {f"{matrix}|{phase}|{scalar}" for matrix in matrices}
    rungs = sorted({key.split("|")[0] for key in rows
                    if key.startswith(stage + "/") and key.split("|", 1)[1] in columns})
    if not rungs:
        raise Mistake(f"{name}: no rung of stage '{stage}' was measured on {' '.join(matrices)}")
    lines = ["| rung | " + " | ".join(matrices) + " |", "|---" * (len(matrices) + 1) + "|"]
    for rung in rungs:
        cells = [cell(rows.get(f"{rung}|{matrix}|{phase}|{scalar}")) for matrix in matrices]
        lines.append(f"| `{rung.split('/')[1]}` | " + " | ".join(cells) + " |")
    lines.append("")
    lines.append(f"{phase}, {scalar}, median; {context.get('gpu', '?')}, {context.get('cpu', '?')}; "
                 f"source {context.get('git_hash', '?')[:12]}; `bench/results/{name}.json`.")
    return "\n".join(lines) + "\n"


def rewrite(text, results):
    """The README with every ladder table made anew, and how many there were."""
    count = 0

    def replace(match):
        nonlocal count
        count += 1
        return match.group(1) + table(match.group("fields"), results) + match.group(4)

    return BLOCK.sub(replace, text), count


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readmes", nargs="+", type=pathlib.Path, help="README files; those without a mark are left alone")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a table is stale")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help="folder of the result files")
    options = parser.parse_args(arguments)
    stale = False
    for readme in options.readmes:
        try:
            text = readme.read_text()
            if text.count("<!-- ladder:") != len(BLOCK.findall(text)):
                raise Mistake("a ladder mark lacks its line '<!-- end of ladder -->'")
            fresh, count = rewrite(text, options.results)
        except (Mistake, OSError) as error:
            print(f"{readme}: {error}", file=sys.stderr)
            return 2
        if fresh == text:
            continue
        if options.check:
            print(f"{readme}: {count} table(s), stale; run: bench/readme_table.py {readme}", file=sys.stderr)
            stale = True
        else:
            readme.write_text(fresh)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
