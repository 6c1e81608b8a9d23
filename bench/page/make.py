#!/usr/bin/env python3
"""Make docs/report.html, one page with every committed result, and the two pictures of the README.

The page needs no network. A comparison holds rows of one file alone, so of one run on one machine. The same results
give the same bytes. New phases, rungs, peers and files appear by themselves. --csv, --markdown and --check need Python
alone, the page also matplotlib (requirements.txt; ./lulab report installs it into build/report/venv).
"""
import argparse
import base64
import collections
import contextlib
import copy
import csv
import gzip
import html
import json
import math
import pathlib
import re
import signal
import string
import sys

import published
from results import NOTHING_TIMED, RESULTS, ROOT, Group, Mistake, command_of, digest_of_inputs, groups_of, load

HERE = pathlib.Path(__file__).resolve().parent
PAGE = ROOT / "docs" / "report.html"
# Pictures of the README: name, file, phase, and which figure.
PICTURES = [("step", "nvidia-h200/peers", "step", "against"), ("ladder", "nvidia-h200/rungs", "refactor", "against")]
SECTIONS = [
    ("step", "The step beside every peer", "A user's waits: new values and b to x (step, step_device), a matrix "
     "never seen to x (first). Squares and dashed lines are other libraries."),
    ("ladder", "The ladder", "Numeric factorization by every rung, its bound, and the roofs of the device."),
    ("batch", "Batches", "Many systems of one pattern, or many small matrices; time of one where the row says so."),
    ("dense", "Dense", "Dense matrices made on the device."),
    ("solve", "Triangular solves and alternatives", "With factors that are there; also iterative solvers."),
    ("symbolic", "Symbolic phase", "The pattern of L+U: rungs, workspace, several GPUs."),
    ("levels", "Patterns, levels, waits", "Where the entries are before and after ordering, how much may run at once, "
     "a run block by block, and what the performance model expects."),
    ("papers", "The five papers, published and ours", "Published figures of other machines beside ours, in this "
     "section alone. A row with a known fault has a star; least, mean and most are over the matrices of each side."),
    ("other", "Other phases", ""),
]
PHASES = ["step", "step_device", "first", "run", "refactor", "factor", "end_to_end", "solve", "symbolic",
          "symbolic_device"]
# Lists that are no benchmarks: the section, title and figure of each.
SPECIAL = {"patterns": ("levels", "Entries before and after ordering", "densities",
                        "Numbers: entries. 64 × 64 cells each; a darker shade has four times the entries."),
           "level_columns": ("levels", "Columns of each level", "columns_of_levels",
                             "Lines: means of up to 150 ranges of levels. Marks: the widest level. Logarithmic axes."),
           "levels": ("levels", "Levels", "levels"),
           "timelines": ("levels", "One sync-free run", "timeline",
                         "A block waits from its first look at the counter of a column that it needs until all its "
                         "threads go on: a load and a barrier, also where that column is finished. The chain: the "
                         "column that ended last, the last column that held it up, and so on; hover over its dots."),
           "matrices": ("levels", "Performance model", "predicted"),
           "ranks": ("symbolic", "Several GPUs", "ranks"), "budgets": ("symbolic", "Budgets of memory", "budgets")}
STORED = {key: key for key in ("label", "min_ms", "p10_ms", "p90_ms", "max_ms", "threads", "backward_error", "bound_ms",
                               "bound_by", "percent_of_bound", "gflops", "peak_device_bytes", "solver_host_bytes",
                               "solver_device_bytes", "gpu_energy_mj", "gpu_watts")}
STORED |= {"runs": "iterations", "error": "error_message"}
COLUMNS = ["gpu", "driver", "cpu", "file", "commit", "date", "rung", "matrix", "phase", "precision", "ms", *STORED,
           "command"]


def section_of(group):
    if group.phase.startswith("batch") or ", batch" in group.phase:
        return "batch"
    if all(m.startswith("n=") for m in group.matrices):
        return "dense"
    phases = {"step": "step", "step_device": "step", "first": "step", "run": "step", "factor": "ladder",
              "refactor": "ladder", "end_to_end": "ladder", "solve": "solve", "schedule": "solve"}
    return "symbolic" if group.phase.startswith("symbolic") else phases.get(group.phase.split(",")[0], "other")


def number(x):
    return "–" if x is None else f"{float(f'{x:.3g}'):.9f}".rstrip("0").rstrip(".")


# --- tables -----------------------------------------------------------------------------------------------------------

def means_of(group):
    """Header and rows: geometric means of speed over the yardstick, and over how many matrices."""
    common = len(group.common())
    header = ["mean speed (geometric)", f"× {group.yardstick.split('/')[-1]}, {common} matrices that all did",
              "all that both did", "matrices"]
    return header, [[solver, number(mean), number(own), f"{count} of {len(group.matrices)}"]
                    for solver, mean, own, count in group.means()]


def left_out(group):
    return [f"{', '.join(sorted(who)[:8])}{f' and {len(who) - 8} more' if len(who) > 8 else ''}: {why}"
            for why, who in group.left_out().items()]


def heat(group):
    """The times, the fastest of a matrix marked, slower ones redder: the table as HTML."""
    head = "".join(f'<th title="{html.escape(m)}">{html.escape(m)}</th>' for m in group.matrices)
    best = {m: min((t for s in group.solvers if (t := group.ms(s, m))), default=None) for m in group.matrices}
    rows = []
    for solver in group.solvers:
        cells = []
        for matrix in group.matrices:
            point, ms = group.at.get((solver, matrix)), group.ms(solver, matrix)
            decades = min(math.log10(ms / best[matrix]) / 2, 1) if ms else 0
            kind = ' class="best"' if ms and ms == best[matrix] and len(group.solvers) > 1 else ""
            style = f' style="--h:{decades:.2f}"' if decades >= 0.005 else ""
            cells.append(f'<td data-p="{point.number}"{kind}{style}>{number(ms)}</td>' if point else "<td></td>")
        rows.append(f'<tr><th title="{html.escape(solver)}">{html.escape(solver)}</th>{"".join(cells)}</tr>')
    return table("heat", f"<th>{html.escape(group.title())}, ms</th>{head}", "".join(rows))


def table(kind, head, body):
    return f'<div class="wide"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def plain_table(header, rows):
    def cells(name, row):
        return "".join(f"<{name}>{html.escape(cell)}</{name}>" for cell in row)

    return table("means", cells("th", header),
                 "".join(f"<tr>{cells('th', row[:1])}{cells('td', row[1:])}</tr>" for row in rows))


def papers_of(points):
    """(paper, rows, absent); not of a paper whose rows in `published.json` these results do not have."""
    for paper in published.papers().values():
        with contextlib.suppress(Mistake):
            rows, absent = published.rows_of(paper, points)
            if rows:
                yield paper, rows, absent


def markdown_of(groups, points):
    """All tables of the page for people who paste them elsewhere."""
    def line(cells):
        return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"

    lines = []
    for paper, rows, absent in papers_of(points):
        header, cells = published.table_of(rows)
        lines += [f"## {paper['paper']}, published and measured here", "", line(header), "|---" * len(header) + "|"]
        lines += [line(text for text, _ in row) for row in cells] + [""]
        lines += [note for text in published.notes_of(paper, rows, absent) for note in (text, "")]
    for group in groups:
        lines += [f"## {group.title()}, `bench/results/{group.file.name}.json`", "",
                  f"{group.file.source()}. Median, ms.", "", line(["solver"] + group.matrices),
                  "|---" * (len(group.matrices) + 1) + "|"]
        lines += [line([solver] + [number(group.ms(solver, m)) for m in group.matrices]) for solver in group.solvers]
        if len(group.solvers) > 1:
            header, rows = means_of(group)
            lines += ["", line(header), "|---" * len(header) + "|"] + [line(row) for row in rows]
        lines += [""] + [f"Left out: {text.replace('|', '/')}." for text in left_out(group)] + [""]
    return "\n".join(lines)


def csv_rows(points):
    for p in points:
        if p.scalar:
            c = p.file.context
            yield [c["gpu"], c.get("driver"), c.get("cpu"), f"bench/results/{p.file.name}.json", c.get("git_hash"),
                   c.get("date"), p.rung, p.matrix, p.phase, p.scalar, p.ms, *map(p.entry.get, STORED.values()),
                   command_of(p)]


# --- page -------------------------------------------------------------------------------------------------------------

def beside_refactor(group, groups):
    """A batch and the refactorization of one system by the same rung, from the same file."""
    single = [p for g in groups if g.file is group.file and g.scalar == group.scalar and g.phase == "refactor"
              for p in g.points if p.solver in group.solvers]
    if group.phase != "batch" or not single:
        return group
    members = []
    for p in single + group.points:
        members.append(copy.copy(p))
        members[-1].solver = f"{p.phase}: {p.solver.split('/')[-1]}"
    return Group(group.file, "batch", group.scalar, members)


def source_line(file):
    return (f"{html.escape(file.source())}, {html.escape(file.context.get('date', 'no date'))}; "
            f"<code>bench/results/{html.escape(file.name)}.json</code>")


def card(title, file, size, figures, tables, is_open):
    constants = file.context.get("device_constants", {}).get("device", "")
    roof = f" Bounds: constants of {html.escape(constants)}." if constants else ""
    return (f'<details class="card"{" open" if is_open else ""}><summary><b>{html.escape(title)}</b> '
            f'<span class="gpu">{html.escape(file.gpu)}</span> <span class="note">{html.escape(size)} · '
            f'{html.escape(file.name)}</span></summary><p class="source">{source_line(file)}.{roof}</p>'
            f'<div class="figures">{"".join(figures)}</div>{tables}</details>')


def group_card(k, group, is_open):
    import figures  # pylint: disable=import-outside-toplevel
    drawn = [figures.themed(d.svg(), figures.VARIABLES) for d in figures.figures_of(f"g{k}", group)]
    tables = plain_table(*means_of(group)) if len(group.solvers) > 1 else ""
    notes = "".join(f"<li>{html.escape(text)}</li>" for text in left_out(group))
    tables += heat(group) + (f'<p class="note">Left out:</p><ul class="note">{notes}</ul>' if notes else "")
    count = (f"{len(group.solvers)} solver{'s' * (len(group.solvers) > 1)} × {len(group.matrices)} "
             f"{'matrices' if len(group.matrices) > 1 else 'matrix'}")
    return card(group.title(), group.file, count, drawn, tables, is_open)


def special_cards(points, section):
    import figures  # pylint: disable=import-outside-toplevel
    found = {}
    for p in points:
        if not p.scalar and SPECIAL.get(p.rung, [""])[0] == section:
            found.setdefault((p.file.name, p.rung), []).append(p)
    for (name, rung), members in found.items():
        _, title, draw, *note = SPECIAL[rung]
        drawn = getattr(figures, draw)(f"{name}-{rung}", members)
        svgs = [figures.themed(d.svg(), figures.VARIABLES) for d in (drawn if isinstance(drawn, list) else [drawn])]
        count = f"{len(members)} matri{'ces' if len(members) > 1 else 'x'}"
        yield card(title, members[0].file, count, svgs, "".join(f'<p class="note">{text}</p>' for text in note), True)


def paper_cards(points):
    """A box a paper."""
    for paper, rows, absent in papers_of(points):
        header, cells = published.table_of(rows)
        body = "".join(f"<tr><th>{html.escape(row[0][0])}</th>" + "".join(
            f'<td data-p="{point.number}">{text}</td>' if point else f"<td>{html.escape(text)}</td>"
            for text, point in row[1:]) + "</tr>" for row in cells)
        notes = "".join(f'<p class="source">{html.escape(note)}</p>'.replace("\\*", "*").replace("`", "")
                        for note in published.notes_of(paper, rows, absent))
        yield (f'<details class="card"><summary><b>{html.escape(paper["paper"])}</b> <span class="note">'
               f'{html.escape(paper["hardware"])}</span></summary>{notes}'
               f'{table("papers", "".join(f"<th>{cell}</th>" for cell in header), body)}</details>')


LEFT_OUT = ("matrices", "device_constants")  # of a context


def packed(files, points, cards):
    """What the page's script reads: rows, those with the same fields as lists, and closed boxes; gzip in the base64 of
    URLs, whose digits have no slash, so that nothing in it looks like a path."""
    places, shapes, rows = {file.name: k for k, file in enumerate(files)}, {}, []
    contexts = [{"name": file.name, "matrices": file.matrices, "context": {
        key: value for key, value in file.context.items() if key not in LEFT_OUT}} for file in files]
    for p in points:
        shape = shapes.setdefault(tuple(p.entry), len(shapes))
        rows.append([places[p.file.name], p.name, p.label, command_of(p) if p.scalar else "", shape, *p.entry.values()])
    text = json.dumps({"files": contexts, "shapes": list(shapes), "rows": rows, "cards": cards}, separators=(",", ":"),
                      ensure_ascii=False, allow_nan=False)
    return base64.urlsafe_b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def put_away(sections):
    """The sections with closed boxes empty, and what was in them."""
    cards = []

    def take(match):
        cards.append(match[2])
        return f'<details class="card" data-card="{len(cards) - 1}">{match[1]}</details>'

    box = re.compile(r'<details class="card">(<summary>.*?</summary>)(.*?)</details>', re.DOTALL)
    return box.sub(take, sections), cards


def share_styles(text):
    """The text with a class for each frequent style of a mark or a word, and the rules of these classes."""
    counts = collections.Counter(re.findall(r' style="((?:fill|font|stroke)[^"]*)"', text))
    names = {style: f"s{k}" for k, (style, count) in enumerate(counts.most_common()) if count > 9}
    shared = re.sub(r' style="((?:fill|font|stroke)[^"]*)"',
                    lambda m: f' class="{names[m[1]]}"' if m[1] in names else m[0], text)
    return shared, "\n".join(f".{name} {{ {style} }}" for style, name in names.items())


def page(files, points, groups, digest):
    parts, links = [], []
    for name, title, intro in SECTIONS:
        mine = [g for g in groups if section_of(g) == name]
        # Newest first within a phase, as the groups are.
        mine.sort(key=lambda g: PHASES.index(g.phase) if g.phase in PHASES else len(PHASES))
        rungs = {g: len({p.rung for p in g.points}) for g in mine}
        shown = next((g for g in mine if rungs[g] > 2), mine[0] if mine else None)
        if max(rungs.values(), default=0) > 6:
            shown = max((g for g in mine if g.phase == mine[0].phase), key=rungs.get)
        cards = [group_card(groups.index(g), beside_refactor(g, groups), g is shown) for g in mine]
        cards += special_cards(points, name)
        cards += paper_cards(points) if name == "papers" else []
        if cards:
            links.append(f'<a href="#{name}">{html.escape(title)}</a>')
            parts.append(f'<section id="{name}"><h2>{html.escape(title)}</h2><p class="note">{html.escape(intro)}</p>'
                         f'{"".join(cards)}</section>')
    sections, styles = share_styles("".join(parts))
    sections, cards = put_away(sections)
    gpus = ", ".join(dict.fromkeys(f.gpu for f in files if f.gpu != NOTHING_TIMED))
    links.append('<a href="#all">Every number</a>')
    css, template, script = ((HERE / f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "html", "js"))
    return string.Template(template).substitute(
        digest=digest, css=css + styles, js=script, rows=len(points), files=len(files), gpus=html.escape(gpus),
        links="".join(links), sections=sections, data=packed(files, points, cards))


def pictures(groups, digest):
    """{file name: SVG} of the README's pictures, light and dark."""
    import figures  # pylint: disable=import-outside-toplevel
    made = {}
    for name, file, phase, figure in PICTURES:
        group = next((g for g in groups if (g.file.name, g.phase, g.scalar) == (file, phase, "f64")), None)
        if group is None:
            raise Mistake(
                f"no {phase}, f64 in {file}: say in PICTURES of bench/page/make.py which file the README shows")
        drawing = getattr(figures, figure if len(group.solvers) <= 6 else "against")(f"readme-{name}", group)
        commit = group.file.context.get("git_hash", "?")[:7]
        source = f"{group.title()}; {group.file.gpu}, source {commit}, {group.file.name}.json"
        height = int(drawing.figure.bbox.height)
        svg = re.sub(r' data-p="\d+"| viewBox="[^"]*"', "", drawing.svg())
        svg = svg.replace("<svg ", f'<svg width="{figures.WIDTH * 1.6:.0f}" height="{(height + 14) * 1.6:.0f}" '
                          f'viewBox="0 0 {figures.WIDTH} {height + 14}" font-family="system-ui, sans-serif" ', 1)
        svg = svg.replace("</svg>", f'<text x="4" y="{height + 10}" font-size="7" fill="{figures.INK}">'
                          f"{html.escape(source)}</text></svg>")
        for theme in ("light", "dark"):
            colours = getattr(figures, theme.upper())
            made[f"{name}_{theme}.svg"] = f"<!-- inputs {digest} -->\n{figures.themed(svg, colours)}\n"
    return made


def stale(target, digest):
    """What was not made from these inputs."""
    wanted = [target] + [target.parent / "pictures" / f"{name}_{theme}.svg" for name, *_ in PICTURES
                         for theme in ("light", "dark")]
    return [path for path in wanted if not path.is_file() or digest not in path.read_text(encoding="utf-8")]


def run(options):
    digest = digest_of_inputs(options.results)
    if options.check:
        old = stale(options.output, digest)
        for path in old:
            print(f"{path}: not made from the results in this folder; run: ./lulab report", file=sys.stderr)
        return 1 if old else 0
    files, points = load(options.results)
    groups = groups_of(points)
    if options.csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(csv_rows(points))
        return 0
    if options.markdown:
        print(markdown_of(groups, points))
        return 0
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel,unused-import  # noqa: F401
    except ImportError as error:
        raise Mistake(
            "figures need matplotlib; run ./lulab report, or: pip install -r bench/page/requirements.txt") from error
    made = {options.output: page(files, points, groups, digest)}
    made |= {options.output.parent / "pictures" / name: svg for name, svg in pictures(groups, digest).items()}
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for path, text in made.items():
        print(f"{path}: {len(text.encode()) / 1e3:.0f} kB")
    return 0


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="lulab report", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=PAGE, help="the page (docs/report.html)")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help="folder of the result files")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--csv", action="store_true", help="print all rows as CSV instead")
    action.add_argument("--markdown", action="store_true", help="print the tables in Markdown instead")
    action.add_argument(
    "--check",
    action="store_true",
     help="exit 1 if page or pictures are older than results or program")
    try:
        return run(parser.parse_args(arguments))
    except Mistake as mistake:
        print(f"lulab report: error: {mistake}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # of `| head`
    sys.exit(main())
