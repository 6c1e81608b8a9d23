"""The figures of the five papers (published.json) beside the committed results.

A quantity of published.json has its figure for each matrix, or the least, mean and most over the matrices of the paper.
`ours` (the algorithm of the paper) and `best` are patterns of rows, "FILE:RUNG|*|PHASE|SCALAR" or "FILE:LIST|*#FIELD";
the first pattern with a figure for the matrix counts, of several rungs the least. "A / B" divides on the same matrix,
"#A+B" adds two fields. `rounding`: how far the printed figure may be off.
"""
import collections
import fnmatch
import json
import pathlib
import statistics

from results import Mistake, is_peer

PATH = pathlib.Path(__file__).with_name("published.json")
OVER = {"least": min, "mean": statistics.fmean, "most": max}  # over all matrices of a quantity
NONE = ("–", None)  # a cell

Figure = collections.namedtuple("Figure", "value point by is_own")  # is_own: the point has it, it is not of several


class Row:
    """One published figure, ours and our best, each a Figure or None."""

    def __init__(self, paper, quantity, name, ours, best):
        self.what, self.name = f"{quantity['what']} ({quantity['where']})", name
        self.published = quantity["values"][name]
        self.fault, self.rounding = paper.get("faults", {}).get(name), quantity.get("rounding", 0)
        self.ours, self.best = ours, best

    def printed(self):
        return f"< {self.rounding}" if self.published < self.rounding else f"{self.published}"

    def ratio(self, figure):
        """Published over ours; None where matrices or problems differ, and where rounding would decide it."""
        is_alike = self.name not in OVER and not self.fault and self.published >= 10 * self.rounding
        return self.published / figure.value if figure and figure.value and is_alike else None


def number_at(entry, fields):
    """The sum of fields such as "rules.1.list_ms+rules.1.levels_of_list_ms"; None where one is missing."""
    total = 0
    for path in fields.split("+"):
        at = entry
        for step in path.split("."):
            try:
                at = at[int(step) if isinstance(at, list) else step]
            except (KeyError, IndexError, ValueError, TypeError):
                return None
        if not isinstance(at, (int, float)):
            return None
        total += at
    return total


def text_of(rung, point, field):
    """What gave the figure: rung and phase, or file and field."""
    if not point.phase:
        return f"{point.file.name.split('/')[-1]}.json: {field.replace('+', ' + ')}"
    return f"{rung.split('/')[-1]}, {point.phase} {point.scalar}" + (f", {point.label}" if point.label else "")


def least_of(pattern, points):
    """{matrix: Figure} of the rows that the pattern names; libraries of others only if it names one."""
    names, _, field = pattern.partition("#")
    found = {}
    for p in points:
        if not fnmatch.fnmatchcase(p.id, names) or (is_peer(p.rung) and p.rung not in names):
            continue
        value = number_at(p.entry, field) if field else p.ms
        if value is not None and (p.matrix not in found or value < found[p.matrix].value):
            rung = p.entry.get("chosen_rung", p.rung)
            found[p.matrix] = Figure(value, p, text_of(rung, p, field), True)
    return found


def figures_of(patterns, points):
    """{matrix: Figure}; raises Mistake where a pattern names no row."""
    found = {}
    for pattern in patterns:
        above, *below = (least_of(part, points) for part in pattern.split(" / "))
        if below:
            both = above.keys() & below[0].keys()
            above = {m: below[0][m]._replace(value=above[m].value / below[0][m].value, is_own=False) for m in both}
        if not above:
            raise Mistake(f"no result has a figure for '{pattern}'; correct it in {PATH.name}")
        found = above | found
    return found


def figure_for(name, found, matrices):
    """Of one matrix, or over all."""
    if name not in OVER:
        return found.get(name)
    chosen = [figure for matrix, figure in found.items() if matrices is None or matrix in matrices]
    if not chosen:
        return None
    by = " or ".join(dict.fromkeys(f.by for f in chosen))
    return Figure(OVER[name]([f.value for f in chosen]), chosen[0].point, f"{by}; {len(chosen)} matrices", False)


def papers():
    return json.loads(PATH.read_text(encoding="utf-8"))


def rows_of(paper, points):
    """Rows that have a figure of ours, and the matrices that have none in any quantity."""
    rows, absent, present = [], {}, set()
    for quantity in paper["quantities"]:
        found = [figures_of(quantity.get(kind, []), points) for kind in ("ours", "best")]
        for name in quantity["values"]:
            ours, best = (figure_for(name, figures, quantity.get("matrices")) for figures in found)
            if ours or best:
                rows.append(Row(paper, quantity, name, ours, best))
                present.add(name)
            else:
                absent[name] = None
    return rows, [name for name in absent if name not in present]


def short(x):
    """Three digits, no exponent: 0.0213, 7.4, 683, 41200. Counts as they are."""
    return f"{float(f'{x:.3g}'):.10f}".rstrip("0").rstrip(".") if isinstance(x, float) else str(x)


def table_of(rows):
    """Header, and rows of (text, point that the cell opens or None); columns without an entry are left out."""
    def plain(title, texts):
        return [title] + [(text, None) for text in texts]

    columns = [plain("quantity", [row.what for row in rows]),
               plain("of", [row.name + " *" * bool(row.fault) for row in rows]),
               plain("published", [row.printed() for row in rows])]
    for kind, title in (("ours", "ours"), ("best", "our best")):
        figures = [getattr(row, kind) for row in rows]
        ratios = [row.ratio(figure) for row, figure in zip(rows, figures)]
        columns += [[title] + [(short(f.value), f.point if f.is_own else None) if f else NONE for f in figures],
                    plain("by", [f.by if f else NONE[0] for f in figures]),
                    plain(f"published / {title}", [short(ratio) if ratio else NONE[0] for ratio in ratios])]
    header, *cells = zip(*(column for column in columns if set(column[1:]) - {NONE}))
    return header, cells


def notes_of(paper, rows, absent):
    """What stands below the table: hardware, files, faults, and what has no figure of ours."""
    machines = {}
    for file in {f.point.file.name: f.point.file for r in rows for f in (r.ours, r.best) if f}.values():
        machines.setdefault(f"{file.gpu}, {file.context.get('cpu', 'CPU not stored')}", []).append(
            f"`bench/results/{file.name}.json` (source {file.context.get('git_hash', '?')[:12]})")
    return ([f"Published: {paper['paper']}; {paper['hardware']}."]
            + [f"Ours: {machine}; {', '.join(sorted(names))}." for machine, names in machines.items()]
            + [f"\\* {name}: {why}." for name, why in {r.name: r.fault for r in rows if r.fault}.items()]
            + [f"Published, and not measured here: {', '.join(absent)}."] * bool(absent))
