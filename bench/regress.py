#!/usr/bin/env python3
"""Tell which times of OLD became slower in NEW, beyond noise.

OLD and NEW are two files that `lulab-bench` (or any Google Benchmark program) wrote, or two folders of such files. Rows
are joined by name, where a file has several of a name also by label, in folders also by the path of the file.

The test. Where both rows hold their raw samples (a list `samples_ms`, or Google Benchmark's repetitions): the two-sided
Mann-Whitney U test, which assumes no distribution (scipy). Where only a summary is stored (median, number of runs,
10 and 90 % of them or the extremes), or the samples are so few for that many rows that no U could be significant: a
two-sided z-test of the logarithms of the two medians. Timings are nearly log-normal in their middle, the spread of the
logarithms follows from two symmetric order statistics (their expected places by Blom's formula), and the standard error
of a median is sqrt(pi/2) of that of a mean. Where only the extremes are stored, one outlier inflates that spread, most
where runs are few. Rows with fewer than --min-samples runs are not judged. P values are corrected for the number of
rows (Holm): with --alpha 0.01, of a hundred comparisons of twenty log-normal rows with themselves one or two flag a row
by the z-test, of rows with nine runs three.

Both tests take the runs as independent. Those of one burst are not: clocks and neighbours change between bursts, and on
a busy host a program differs from itself beyond any p value. A row is therefore flagged only if its median also changed
by --min-change, and if each median lies outside the middle 80 % of the other row's runs (where only the extremes are
known, of a log-normal distribution of that spread). Better than to assume that noise is to measure it: --again OLD2,
another run of the program of OLD. Then a row also has to change by more than it did from OLD to OLD2, and by more than
90 % of all rows did. What differs between the machines is printed. A row that had a time and now fails is flagged, too.

Exit code: 0 none is slower, 1 some are, 2 the input cannot be compared.
"""
import argparse
import json
import math
import pathlib
import statistics
import sys

UNIT_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3}
SAME_MACHINE = ("cpu", "driver", "compiler", "kernel_compiler", "machine_speed")
FLAGGED = ("slower", "fails now")


class Mistake(Exception):
    """Why two results cannot be compared, for people."""


class Timing:
    """All entries of one name: raw samples, or a summary of them, or an error."""

    def __init__(self, entries):
        try:
            timed = [e for e in entries if not e.get("error_occurred")]
            self.error = "" if timed else entries[0].get("error_message", "unknown error")
            if not timed:
                return
            first, unit = timed[0], UNIT_MS[timed[0].get("time_unit", "ns")]
            repeated = [e["real_time"] * unit for e in timed] if len(timed) > 1 else []
            self.samples = first.get("samples_ms") or repeated
            if self.samples:
                ordered = sorted(self.samples)
                self.ms, self.runs, skipped = statistics.median(ordered), len(ordered), len(ordered) // 10
                low, high = ordered[skipped], ordered[-1 - skipped]
            else:
                self.ms = first["real_time"] * unit
                has_spread = "min_ms" in first  # `iterations` of another program are no samples
                self.runs = first["iterations"] if has_spread else 1
                middle = "p10_ms" in first
                low, high = (first[key] for key in ("p10_ms", "p90_ms")) if middle else (
                    first.get("min_ms", self.ms), first.get("max_ms", self.ms))
                skipped = self.runs // 10 if middle else 0
            if not all(x > 0 and math.isfinite(x) for x in (self.ms, low, high, *self.samples)):
                raise ValueError("a time is not positive")
        except (KeyError, TypeError, ValueError) as error:
            raise Mistake(f"row {entries[0].get('name')}: {type(error).__name__} {error}") from error
        place = (self.runs - skipped - 0.375) / (self.runs + 0.25)  # Blom 1958
        self.log_sigma = math.log(high / low) / (2 * statistics.NormalDist().inv_cdf(place)) if self.runs > 1 else None
        tenth = 1.28 * (self.log_sigma or 0)  # standard deviations to 10 and 90 %
        self.middle = (low, high) if skipped else (self.ms * math.exp(-tenth), self.ms * math.exp(tenth))

    def median_error(self):
        return math.sqrt(math.pi / 2 / self.runs) * self.log_sigma


def load(path):
    """The context of a file, and its timings: {(name, label): Timing}."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        context, benchmarks = dict(data["context"]), data["benchmarks"]
        grouped, names = {}, {}
        for entry in benchmarks:
            if entry.get("run_type") != "aggregate":
                grouped.setdefault((entry["name"], entry.get("label", "")), []).append(entry)
    except OSError as error:
        raise Mistake(f"{path}: cannot be read ({error.strerror}); run: ./lulab bench --save") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise Mistake(f"{path}: not JSON ({error})") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Mistake(f"{path}: not a file of Google Benchmark (no context, or no benchmarks with names)") from error
    for name, label in grouped:
        names.setdefault(name, []).append(label)
    try:  # a label may say what a run chose: it is part of the name only where it has to be
        return context, {(name, label if len(names[name]) > 1 else ""): Timing(entries)
                         for (name, label), entries in grouped.items()}
    except Mistake as mistake:
        raise Mistake(f"{path}: {mistake}") from mistake


def pairs_of_files(old, new, notes):
    for path in (old, new):
        if not path.exists():
            raise Mistake(f"{path}: no such file or folder")
    if old.is_dir() != new.is_dir():
        raise Mistake(f"{old} and {new}: compare two files or two folders")
    if not old.is_dir():
        return [("", old, new)]
    of_old = sorted(p.relative_to(old) for p in old.rglob("*.json"))
    names = [name for name in of_old if (new / name).is_file()]
    if not names:
        raise Mistake(f"{old} and {new} have no .json file of the same name")
    notes += [f"{old / name}: passed over, {new} has no such file" for name in of_old if name not in names]
    return [(str(name), old / name, new / name) for name in names]


def need_one_gpu(old_path, old, new_path, new):
    gpus = [context.get("gpu", "none") for context in (old, new)]
    if gpus[0] != gpus[1]:
        raise Mistake(f"{old_path}: GPU {gpus[0]}; {new_path}: GPU {gpus[1]}: times of two GPUs are not compared")


def load_pairs(old, new, notes):
    """(file, context and timings of OLD, those of NEW) of each pair; what is passed over is said in `notes`."""
    for file, old_path, new_path in pairs_of_files(old, new, notes):
        try:
            (old_context, old_timings), (new_context, new_timings) = load(old_path), load(new_path)
        except Mistake as mistake:
            if not file or "not a file of Google Benchmark" not in str(mistake):
                raise
            notes.append(str(mistake))
            continue
        need_one_gpu(old_path, old_context, new_path, new_context)
        yield file, old_context, old_timings, new_context, new_timings


def u_test(old, new, alpha):
    """P value of the Mann-Whitney U test; None where even samples without overlap are not significant."""
    sizes = len(old), len(new)
    exact = sum(sizes) <= 60 and len({*old, *new}) == sum(sizes)
    if exact and 2 / math.comb(sum(sizes), sizes[0]) >= alpha:
        return None
    try:
        from scipy.stats import mannwhitneyu  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        raise Mistake("these files hold raw samples, and their test needs scipy; run: pip install scipy "
                      "(Debian: apt install python3-scipy)") from error
    method = "exact" if exact else "asymptotic"
    if not exact and mannwhitneyu(range(sizes[0]), range(sizes[0], sum(sizes)), method=method).pvalue >= alpha:
        return None
    return float(mannwhitneyu(old, new, alternative="two-sided", method=method).pvalue)


def p_value(old, new, alpha):
    """Name of the test and its p value; `alpha`: what the smallest p of all rows has to be below."""
    if old.samples and new.samples and (p := u_test(old.samples, new.samples, alpha)) is not None:
        return "U", p
    change, error = math.log(new.ms / old.ms), math.hypot(old.median_error(), new.median_error())
    if error == 0:
        return "z", 1.0 if change == 0 else 0.0
    return "z", math.erfc(abs(change) / error / math.sqrt(2))


def holm(p_values):
    """P values corrected for their number (Holm 1979)."""
    corrected, largest = [0.0] * len(p_values), 0.0
    for place, k in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[k]))
        corrected[k] = largest
    return corrected


def is_change(row, options, floor=0):
    """Beyond noise; `floor`: of the logarithm of the change, as measured."""
    return (row["p"] < options.alpha and not row["overlap"]
            and abs(math.log1p(row["change"])) > max(math.log1p(options.min_change), floor))


def floors(options, notes):
    """{(file, name, label): log of the largest change that is noise}, by a second run of OLD; and for other rows."""
    if options.again is None:
        return {}, 0
    changes = {}
    for file, _, old, _, again in load_pairs(options.old, options.again, notes):
        changes |= {(file, *key): abs(math.log(again[key].ms / old[key].ms)) for key in old
                    if key in again and not old[key].error and not again[key].error}
    if not changes:
        raise Mistake(f"{options.old} and {options.again} have no row in common")
    usual = sorted(changes.values())[int(0.9 * (len(changes) - 1))]
    return {key: max(change, usual) for key, change in changes.items()}, usual


def judge(old, new, options, rows=1):
    """Row of the table for one name of `rows`, its p value not yet corrected."""
    if old.error or new.error:
        return {"verdict": "failed" if old.error else "fails now", "error": new.error or old.error}
    row = {"old_ms": old.ms, "new_ms": new.ms, "change": new.ms / old.ms - 1}
    row |= {"old_runs": old.runs, "new_runs": new.runs}
    if min(old.runs, new.runs) < options.min_samples:
        return row | {"verdict": "few runs"}
    row["test"], row["p"] = p_value(old, new, options.alpha / rows)
    faster, slower = sorted((old, new), key=lambda timing: timing.ms)
    row["overlap"] = slower.ms <= faster.middle[1] or faster.ms >= slower.middle[0]
    return row


def compare(options):
    """All rows, and notes for people."""
    pairs, notes, only = [], [], [0, 0]
    for file, old_context, old, new_context, new in load_pairs(options.old, options.new, notes):
        notes += [f"{file or 'note'}: {key} was {old_context.get(key)}, is {new_context.get(key)}"
                  for key in SAME_MACHINE if old_context.get(key) != new_context.get(key)]
        only = [only[0] + len(old.keys() - new.keys()), only[1] + len(new.keys() - old.keys())]
        pairs += [(file, key, old[key], new[key]) for key in old if key in new]
    if not pairs:
        raise Mistake(f"{options.old} and {options.new} have no row in common")
    rows = [{"file": file, "name": key[0], "label": key[1]} | judge(old, new, options, len(pairs))
            for file, key, old, new in pairs]
    noise, usual = floors(options, notes)
    if usual:
        notes.append(f"noise: 90 % of the rows change by {math.expm1(usual):.1%} or less from OLD to {options.again}")
    judged = [row for row in rows if "p" in row]
    for row, p in zip(judged, holm([row["p"] for row in judged])):
        row["p"] = p
        changed = is_change(row, options, noise.get((row["file"], row["name"], row["label"]), usual))
        row["verdict"] = ("slower" if row["change"] > 0 else "faster") if changed else "same"
    notes += [f"{count} rows are only in {path}" for count, path in zip(only, (options.old, options.new)) if count]
    return rows, list(dict.fromkeys(notes))  # what OLD lacks is said once


def print_table(rows, notes, show_all):
    shown = [row for row in rows if show_all or row["verdict"] in FLAGGED + ("faster",)]
    shown.sort(key=lambda row: (row["verdict"] not in FLAGGED, -abs(row.get("change", math.inf))))
    if shown:
        print(f"{'verdict':<10} {'old, ms':>10} {'new, ms':>10} {'change':>8} {'p':>8} {'test':>4} {'runs':>11}  row")
    for row in shown:
        name = " ".join(filter(None, (row["file"], row["name"], row["label"] and f"({row['label']})")))
        if "error" in row:
            print(f"{row['verdict']:<10} {'-':>10} {'-':>10} {'-':>8} {'-':>8} {'-':>4} {'-':>11}  {name}: "
                  f"{row['error']}")
            continue
        p = f"{row['p']:.1g}" if "p" in row else "-"
        print(f"{row['verdict']:<10} {row['old_ms']:>10.4g} {row['new_ms']:>10.4g} {row['change']:>+8.1%} {p:>8} "
              f"{row.get('test', '-'):>4} {row['old_runs']:>5}/{row['new_runs']:<5}  {name}")
    for note in notes:
        print(note)
    counts = {}
    for row in rows:
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    print(f"{len(rows)} rows compared: " + ", ".join(f"{counts[v]} {v}" for v in sorted(counts)))


def add_test_options(parser):
    parser.add_argument("--alpha", type=float, default=0.01, help="chance of a false alarm in all rows (0.01)")
    parser.add_argument("--min-change", type=float, default=0.05, help="smallest change that counts (0.05: 5 %%)")
    parser.add_argument("--min-samples", type=int, default=9, help="fewer runs are not judged (9)")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="lulab regress", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    add_test_options(parser)
    parser.add_argument("--again", type=pathlib.Path, help="another run of the program of OLD: how much is noise")
    parser.add_argument("--all", action="store_true", help="also print the rows that did not change")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if not 0 < options.alpha < 1 or not options.min_change >= 0 or options.min_samples < 2:
        parser.error("needs 0 < alpha < 1, min-change >= 0, min-samples >= 2")
    try:
        rows, notes = compare(options)
    except Mistake as mistake:
        print(f"lulab regress: error: {mistake}", file=sys.stderr)
        return 2
    if options.json:
        json.dump({"rows": rows, "notes": notes}, sys.stdout, indent=1)
        print()
    else:
        print_table(rows, notes, options.all)
    return 1 if any(row["verdict"] in FLAGGED for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
