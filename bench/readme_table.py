#!/usr/bin/env python3
"""Write the generated tables of the READMEs: one table, one committed result file; one cell, one number.

A README marks the place of a table with two comment lines; what is between them is written by this program:

    <!-- generated: times | file: nvidia-h200/leftlooking | phase: refactor f64 | rungs: sparse_leftlooking | ... -->
    <!-- end of generated -->

The first field is the kind of table; `file` is a result file below bench/results without ".json". Kinds:

times    a row for each of `matrices`. With several `rungs` (ids, or a stage for all of its rungs in the file) a column
         for each of them, in ms or what `show` says. With one rung a column for each word of `show`; "batch.ms" takes
         another phase than `phase`. Words: ms, p10, p90, percent, bound, speed (against the yardstick of the run),
         gflops, memory, chosen, threads, error (backward error); of first and run host_memory (of one solver), of step
         energy, watts; of rungs of symbolic/ that search from many columns
         edges (entries read), gteps (10^9 of them a second), bandwidth (share of that of a copy), groups, columns (at
         once), workspace (MB), ratio (to the pattern), six_arrays (that of six arrays of n entries); of the phases
         step and first also klu (its ms) and the parts of the time: upload, refactor, judge, download, solve, analyze,
         factor.
options  a row for each of `matrices`, a column for each "title = label" of `labels` (separated by ';'; no label: the
         run without options) of one `rung`, in ms.
values   a row for each object of the list `list` of the file (only `rows`, if given), named by its field `name`; a
         column
         for each "title = path" of `columns` (separated by ';'): fields and indices joined by '.', or two such paths
         with '/' between.
ladder   all rungs of `stages`: where they run, how they pivot, idea, source (read from the sources that
         */rungs.def lists), and the time on `matrix` (refactor; factor for dense rungs).
published
         the figures of the paper `of` in page/published.json beside ours, which that file names, too.

Examples:
    bench/readme_table.py sparse_leftlooking/README.md     rewrite the tables in place
    bench/readme_table.py --check *.md */*.md              exit 1 when a table is not what the results say, or when a
                                                           file of results is mentioned in none of these READMEs
"""
import argparse
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "page"))
import published as papers  # noqa: E402  pylint: disable=wrong-import-position
import results as page  # noqa: E402  pylint: disable=wrong-import-position

BLOCK = re.compile(r"(<!-- generated: (?P<fields>[^\n]*?) -->\n)(?P<table>.*?)(<!-- end of generated -->)", re.DOTALL)
ROOT = pathlib.Path(__file__).resolve().parent.parent
YARDSTICKS = {"speed_against_klu_refactor": "× KLU", "speed_against_klu_step": "× KLU",
              "speed_against_klu_step_device": "× KLU",
              "speed_against_klu_first": "× KLU", "speed_against_klu_run": "× KLU",
              "speed_against_cusolver": "× cuSOLVER",
              "speed_against_cublas": "× cuBLAS", "speed_against_host_solve": "× host"}
NOTHING = "–"


class Mistake(Exception):
    """What is wrong with a README or a result file, for people."""


number = papers.short


def speed_of(row):
    return next((number(float(row[key])) for key in YARDSTICKS if key in row), NOTHING)


MEASURES = {
    "ms": ("ms", lambda row: number(float(row["real_time"]))),
    "percent": ("% of the bound", lambda row: number(float(row["percent_of_bound"]))),
    "bound": ("bound by", lambda row: row["bound_by"]),
    "speed": (None, speed_of),
    "gflops": ("GFLOP/s", lambda row: number(float(row["gflops"]))),
    "memory": ("device MB", lambda row: number(row["peak_device_bytes"] / 1e6)),
    "chosen": ("rung that ran", lambda row: f"`{row['chosen_rung'].split('/')[1]}`"),
    "p10": ("10 % below, ms", lambda row: number(float(row["p10_ms"]))),
    "p90": ("10 % above, ms", lambda row: number(float(row["p90_ms"]))),
    "threads": ("threads", lambda row: number(row["threads"])),
    "energy": ("GPU energy, mJ", lambda row: number(float(row["gpu_energy_mj"]))),
    "watts": ("GPU, W", lambda row: number(float(row["gpu_watts"]))),
    "host_memory": ("host MB", lambda row: number(row["solver_host_bytes"] / 1e6)),
    "error": ("backward error", lambda row: f"{row['backward_error']:.1e}"),
    "klu": ("KLU, ms", lambda row: number(float(row["klu_ms"]))),
}
MEASURES |= {
    "edges": ("10⁶ entries read", lambda row: number(row["entries_read"] / 1e6)),
    "gteps": ("10⁹ entries read / s", lambda row: number(row["entries_read_per_s"] / 1e9)),
    "bandwidth": ("% of the copy bandwidth", lambda row: number(float(row["percent_of_copy_bandwidth"]))),
    "groups": ("groups", lambda row: number(row["groups"])),
    "columns": ("columns at once", lambda row: number(row["columns_at_once"])),
    "workspace": ("workspace, MB", lambda row: number(row["workspace_bytes"] / 1e6)),
    "ratio": ("workspace / pattern", lambda row: number(float(row["workspace_ratio"]))),
    "six_arrays": ("six arrays / pattern", lambda row: number(float(row["six_arrays_ratio"]))),
}
MEASURES |= {part: (f"{part}, ms", lambda row, part=part: number(float(row["split_ms"][part])))
             for part in ("upload", "refactor", "judge", "download", "solve", "analyze", "factor")}


class Results:
    """One result file."""

    def __init__(self, name, folder):
        self.name, self.path = name, folder / f"{name}.json"
        try:
            self.data = json.loads(self.path.read_text())
            self.context = self.data["context"]
            self.rows = {}
            for row in self.data.get("benchmarks", []):
                self.rows.setdefault(row["name"], []).append(row)
        except OSError as error:
            raise Mistake(f"{self.path}: cannot be read ({error.strerror}); run: ./lulab bench --save") from error
        except (ValueError, KeyError, TypeError) as error:
            raise Mistake(f"{self.path}: not a benchmark result ({error})") from error
        self.without_time, self.without_klu = [], []

    def row(self, rung, matrix, phase, label=None):
        """Of several runs with other options the one with this label; its error is noted."""
        rows = self.rows.get(f"{rung}|{matrix}|{phase}", [])
        row = next((r for r in rows if label is None or r.get("label", "") == label), None)
        if row is not None and row.get("error_occurred"):
            why = row.get("error_message", "unknown").replace("|", "/").replace("\n", " ")
            if not why.startswith("skipped: one factorization would take"):
                self.without_time.append(f"`{rung.split('/')[-1]}` on {matrix}: {why}")
            return None
        if row is not None and "no_klu" in row:
            why = f"{matrix}, {phase.split('|')[0]}: {row['no_klu']}".replace("\n", " ")
            if why not in self.without_klu:
                self.without_klu.append(why)
        return row

    def cell(self, measure, row):
        return NOTHING if row is None else MEASURES[measure][1](row) if self.has(measure, row) else NOTHING

    @staticmethod
    def has(measure, row):
        try:
            MEASURES[measure][1](row)
            return True
        except KeyError:
            return False

    def footer(self, what):
        lines = ["", f"{what}; {self.context.get('gpu', '?')}, {self.context.get('cpu', '?')}; "
                     f"source {self.context.get('git_hash', '?')[:12]}; `bench/results/{self.name}.json`."]
        lines += [f"No time: {line}." for line in self.without_time]
        lines += [f"No time of KLU: {line}." for line in self.without_klu]
        return lines


def markdown(header, rows):
    return ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"] + ["| " + " | ".join(r) + " |" for r in rows]


def phase_of(word, phase, scalar):
    """"batch.ms" with refactor f64: ("batch|f64", "ms")."""
    other, _, measure = word.rpartition(".")
    if measure not in MEASURES:
        raise Mistake(f"no measure '{measure}'; there are: {' '.join(MEASURES)}")
    return f"{other or phase}|{scalar}", measure


def rungs_of(words, results, matrices, phases):
    """Ids ("auto" is one), and for a stage all of its rungs that were measured on one of the matrices."""
    found = []
    for word in words:
        if "/" in word or word == "auto":
            found.append(word)
            continue
        names = (name.split("|", 2) for name in results.rows)
        found += sorted({rung for rung, matrix, phase in names
                         if rung.startswith(word + "/") and matrix in matrices and phase in phases})
    if not found:
        raise Mistake(f"{results.name}: no rung of {' '.join(words)} was measured")
    return found


def times(fields, results):
    phase, scalar = fields["phase"].split()
    show = [phase_of(word, phase, scalar) for word in fields.get("show", "ms").split()]
    matrices = fields["matrices"].split()
    rungs = rungs_of(fields["rungs"].split(), results, matrices, {p for p, _ in show})
    if len(rungs) > 1 and len(show) > 1:
        raise Mistake("several rungs and several measures: one number a cell has no room for both")

    def column(rung, where, measure):
        return [results.cell(measure, results.row(rung, matrix, where)) for matrix in matrices]

    columns = [column(rung, *what) for rung in rungs for what in show]
    if len(rungs) > 1:
        header = [f"`{rung.split('/')[-1]}`" for rung in rungs]
        unit = MEASURES[show[0][1]][0]
        what = f"{phase}, {scalar}, median, {unit}"
    else:
        header = []
        for where, measure in show:
            other = where.split("|")[0]
            title = MEASURES[measure][0] or next((YARDSTICKS[key] for name, rows in results.rows.items()
                                                  for row in rows for key in YARDSTICKS
                                                  if name.endswith(f"|{where}") and key in row), "×")
            header.append(title if other == phase else f"{other}, {title}")
        what = f"`{rungs[0]}`, {phase}, {scalar}, median"
    rows = [[matrix] + [c[k] for c in columns] for k, matrix in enumerate(matrices)]
    return markdown(["matrix"] + header, rows) + results.footer(what)


def options(fields, results):
    phase, scalar = fields["phase"].split()
    columns = [[part.strip() for part in label.partition("=")[::2]] for label in fields["labels"].split(";")]
    rows = []
    for matrix in fields["matrices"].split():
        found = [results.row(fields["rung"], matrix, f"{phase}|{scalar}", label) for _, label in columns]
        rows.append([matrix] + [results.cell("ms", row) for row in found])
    what = f"`{fields['rung']}`, {phase}, {scalar}, median, ms"
    return markdown(["matrix"] + [title for title, _ in columns], rows) + results.footer(what)


def values(fields, results):
    def at(thing, path):
        for step in path.split("."):
            thing = thing[int(step) if isinstance(thing, list) else step]
        return thing

    def cell(entry, formula):
        try:
            parts = [at(entry, part.strip()) for part in formula.split("/")]
        except (KeyError, IndexError) as error:
            raise Mistake(f"{results.name}: no {formula.strip()} in {entry.get(fields['name'])}") from error
        return number(parts[0] / parts[1] if len(parts) == 2 else parts[0])

    columns = [column.split("=", 1) for column in fields["columns"].split(";")]
    # The first step of a sequence stands for it, as in benchmark names: "seq_x/A_00" is seq_x.
    entries = {entry[fields["name"]].split("/")[0]: entry for entry in at(results.data, fields["list"])}
    names = fields["rows"].split() if "rows" in fields else list(entries)
    unknown = [name for name in names if name not in entries]
    if unknown:
        raise Mistake(f"{results.name}: no {' '.join(unknown)} in {fields['list']}")
    rows = [[name] + [cell(entries[name], formula) for _, formula in columns] for name in names]
    what = results.context.get("command", fields["list"])
    return markdown([fields["name"]] + [title.strip() for title, _ in columns], rows) + results.footer(f"`{what}`")


def facts_of(stage):
    """The facts of a stage's rungs, as its sources state them, in the order of rungs.def."""
    sources = [path.read_text() for path in sorted((ROOT / stage).rglob("[0-9][0-9]_*.c[pu]*"))]
    for variable in re.findall(r"^LULAB_RUNG\((\w+)\)", (ROOT / stage / "rungs.def").read_text(), re.MULTILINE):
        start = re.compile(r"\bconst Rung " + variable + r"\b")
        source = next((s[m.start():] for s in sources for m in [start.search(s)] if m), None)
        if source is None:
            raise Mistake(f"{stage}/rungs.def: no numbered source defines 'const Rung {variable}'")
        source = source[:source.index("\n\n")]

        def text(field):
            found = re.search(r"\." + field + r"\s*=\s*((?:\"(?:[^\"\\]|\\.)*\"\s*)+)", source)
            return "".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", found.group(1))) if found else ""

        pivoting = re.search(r"\.pivoting\s*=\s*Pivoting::(\w+)", source)
        yield {"id": text("id"), "paper": text("paper"), "idea": text("idea"),
               "pivoting": pivoting.group(1) if pivoting else "fixed",
               "device": "GPU" if re.search(r"\.device\s*=\s*Device::gpu", source) else "CPU"}


def ladder(fields, results):
    matrix = fields["matrix"]
    rows = []
    for stage in fields["stages"].split():
        for rung in facts_of(stage):
            name = rung["id"].split("/")[1]
            phases = ["factor|f64"] if stage == "dense" else ["refactor|f64"]
            found = next((row for phase in phases if (row := results.row(rung["id"], matrix, phase))), None)
            rows.append([f"`{stage}/{name}`", rung["device"], rung["pivoting"], rung["idea"].replace("|", "/"),
                         rung["paper"].replace("|", "/"), results.cell("ms", found)])
    results.without_time.clear()
    header = ["rung", "runs on", "pivots", "idea", "source", f"{matrix}, ms"]
    return markdown(header, rows) + results.footer("refactor (dense rungs: factor), f64, median")


def published(fields, folder):
    """A paper's figures beside ours, which may come from several files; the footer says from where."""
    known = papers.papers()
    if fields["of"] not in known:
        raise Mistake(f"no paper '{fields['of']}' in published.json; there are: {' '.join(known)}")
    try:
        paper = known[fields["of"]]
        rows, absent = papers.rows_of(paper, page.load(folder)[1])
    except page.Mistake as mistake:
        raise Mistake(str(mistake)) from mistake

    header, cells = papers.table_of(rows)
    return markdown(header, [[text.replace("|", "/") for text, _ in row] for row in cells]) + [""] + papers.notes_of(
        paper, rows, absent)


KINDS = {"times": times, "options": options, "values": values, "ladder": ladder, "published": published}


def table(text, folder):
    """The lines between the two marks, for the fields of the first one."""
    kind, *rest = [part.strip() for part in text.split("|")]
    fields = dict((key.strip(), value.strip()) for key, _, value in (part.partition(":") for part in rest))
    if kind not in KINDS:
        raise Mistake(f"no kind of table '{kind}'; there are: {' '.join(KINDS)}")
    try:
        source = folder if kind == "published" else Results(fields["file"], folder)
        return "\n".join(KINDS[kind](fields, source)) + "\n"
    except KeyError as missing:
        raise Mistake(f"'{text}' lacks the field {missing}") from missing


def rewrite(text, folder):
    """The README with every generated table made anew, and how many there were."""
    count = 0

    def replace(match):
        nonlocal count
        count += 1
        return match.group(1) + table(match.group("fields"), folder) + match.group(4)

    if text.count("<!-- generated:") != len(BLOCK.findall(text)):
        raise Mistake("a mark '<!-- generated: ... -->' lacks its line '<!-- end of generated -->'")
    return BLOCK.sub(replace, text), count


def unmentioned(folder, texts):
    """Result files that no README names."""
    paths = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path for path in paths if not any(str(path) in t or f"file: {path.with_suffix('')}" in t for t in texts)]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readmes", nargs="+", type=pathlib.Path,
                        help="README files; those without a mark are left alone")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a table is stale")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results",
                        help="folder of the result files")
    chosen = parser.parse_args(arguments)
    wrong, texts = False, []
    for readme in chosen.readmes:
        try:
            text = readme.read_text()
            fresh, count = rewrite(text, chosen.results)
        except (Mistake, OSError) as error:
            print(f"{readme}: {error}", file=sys.stderr)
            return 2
        texts.append(fresh)
        if fresh == text:
            continue
        if chosen.check:
            print(f"{readme}: {count} table(s), stale; run: bench/readme_table.py {readme}", file=sys.stderr)
            wrong = True
        else:
            readme.write_text(fresh)
    if chosen.check and len(chosen.readmes) > 1:
        for path in unmentioned(chosen.results, texts):
            print(f"{chosen.results / path}: no README mentions it; generate a table from it or remove it",
                  file=sys.stderr)
            wrong = True
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
