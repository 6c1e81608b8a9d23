"""Figures as SVG, 344 pixels wide: a phone shows them as they are. Points carry their number as data-p.

matplotlib draws in stand-in colours; the page's style sheet, or `themed`, says what they are in light and in dark.
"""
import io
import math
import re
from xml.etree import ElementTree

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from results import is_peer

INK, GRID, PAPER = "#010203", "#040506", "#070809"
COLOURS = [f"#0a0b{k:02x}" for k in range(8)]  # of solvers
LIGHT = {INK: "#1c2128", GRID: "#d0d7de", PAPER: "#ffffff"} | dict(zip(
    COLOURS, ("#0b66c3", "#c2410c", "#1a7f37", "#8250df", "#9a6700", "#0e7490", "#bf3989", "#57606a")))
DARK = {INK: "#e6edf3", GRID: "#3d444d", PAPER: "#0d1117"} | dict(zip(
    COLOURS, ("#58a6ff", "#ff9b5e", "#56d364", "#bc8cff", "#e3b341", "#39c5cf", "#ff7ab8", "#9198a1")))
VARIABLES = {INK: "var(--ink)", GRID: "var(--line)", PAPER: "var(--card)"} | {
    colour: f"var(--c{k})" for k, colour in enumerate(COLOURS)}
STRIPS = {"percent_of_bound": "Percent of the bound that it reaches", "backward_error": "Backward error of x",
          "peak_device_bytes": "Most device memory, bytes"}
MARKERS = "o^Dvph8"  # squares are libraries
WIDTH, PLOT = 344, 178  # of a figure, and the height of most axes
BINS = 150  # of a line over levels: their means
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SVG = "{http://www.w3.org/2000/svg}"
UNUSED = [SVG + name for name in ("metadata", "style", "clipPath")]

matplotlib.rcParams.update({
    "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9.5, "text.color": INK, "axes.edgecolor": GRID,
    "axes.labelcolor": INK, "xtick.color": GRID, "ytick.color": GRID, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "xtick.major.size": 0, "ytick.major.size": 0, "xtick.labelsize": 9, "ytick.labelsize": 9,
    "grid.color": GRID, "grid.linewidth": 0.6, "axes.axisbelow": True, "lines.markersize": 5, "legend.frameon": False,
    "legend.fontsize": 9, "axes.spines.top": False, "axes.spines.right": False, "figure.facecolor": "none",
    "axes.facecolor": "none", "axes.formatter.useoffset": False, "figure.dpi": 72})


def number(x):
    """Three digits, no exponent."""
    return f"{float(f'{x:.3g}'):.9f}".rstrip("0").rstrip(".")


def power(x, _=None):
    """Of a tick: 0.01, 1, 1000, 10⁶, 10⁻¹⁶."""
    if 1e-4 < x < 1e4:
        return number(x)
    exponent = math.floor(math.log10(x) + 1e-9)
    times = number(x / 10.0**exponent)
    return f"{times}·"[:0 if times == "1" else None] + "10" + str(exponent).translate(SUPERSCRIPTS)


class Drawing:
    """One figure with one pair of axes, and which points its marks are."""

    def __init__(self, name, title, left, plot, legend=0, columns=2, right=10, label=""):
        """`plot`: height of the axes; `left`: width of what stands beside them; `legend`: number of its entries."""
        self.name, self.numbers, self.columns, self.letters = name, {}, columns, int((left - 6) / 5.5)
        self.words = {}  # of marks that say more than their point
        below = 20 + 13 * bool(label) + 13 * math.ceil(legend / columns)
        height = 22 + plot + below
        self.figure = Figure(figsize=(WIDTH / 72, height / 72), layout="none")
        self.axes = self.figure.add_axes((left / WIDTH, below / height, (WIDTH - right - left) / WIDTH, plot / height))
        self.figure.text(4 / WIDTH, 1 - 13 / height, title, weight="bold", size=10)
        self.axes.set_xlabel(label, labelpad=2)
        self.axes.grid(True, axis="x" if left > 60 else "both")

    def marks(self, xs, ys, points, colour, marker="o", words=(), **more):
        """Marks that say on a click which point they are; `words`: what they say on a hover in place of its time."""
        gid = f"marks{len(self.numbers)}"
        self.numbers[gid] = [p.number for p in points]
        self.words[gid] = words
        self.axes.plot(xs, ys, linestyle="none", marker=marker, color=colour, markeredgecolor=PAPER,
                       markeredgewidth=0.5, gid=gid, clip_on=False, **more)

    def log(self, axis):
        getattr(self.axes, f"set_{axis}scale")("log")
        ticks = getattr(self.axes, f"{axis}axis")
        low, high = sorted(getattr(self.axes, f"get_{axis}lim")())
        wide = high / low >= 30
        ticks.set_major_locator(LogLocator(base=10, subs=(1,) if wide else (1, 2, 5), numticks=6))
        ticks.set_major_formatter(FuncFormatter(power))
        ticks.set_minor_locator(NullLocator())

    def rows(self, names):
        self.axes.set_yticks(range(len(names)), [cut_to(self.letters, n) for n in names])
        self.axes.set_ylim(len(names) - 0.5, -0.5)

    def legend(self):
        self.figure.legend(loc="lower left", bbox_to_anchor=(0, 0), ncols=self.columns, borderpad=0.2,
                           handletextpad=0.3, columnspacing=0.8, borderaxespad=0, handlelength=1.4, labelspacing=0.25)

    def svg(self):
        """The figure's SVG, small, with data-p on each mark."""
        stream = io.StringIO()
        with matplotlib.rc_context({"svg.hashsalt": self.name}):
            FigureCanvasSVG(
    self.figure).print_svg(
        stream, metadata=dict.fromkeys(
            ("Date", "Creator", "Format", "Type")))
        root = ElementTree.fromstring(stream.getvalue().encode())
        for parent in [root, *root.iter(SVG + "g")]:
            marks = self.numbers.get(parent.get("id"))
            uses = list(parent.iter(SVG + "use")) if marks else []
            if marks:
                assert len(uses) == len(marks), f"{self.name}: {len(marks)} points have {len(uses)} marks"
                parent.set("style", uses[0].get("style"))
            for use, mark in zip(uses, marks or ()):
                use.attrib.pop("style")
                use.set("data-p", str(mark))
            for use, words in zip(uses, self.words.get(parent.get("id"), ())):
                use.set("data-t", words)
            parent.attrib.pop("id", None)
        for element in root.iter():
            if (link := element.attrib.pop("{http://www.w3.org/1999/xlink}href", None)) is not None:
                element.set("href", link)
            element.attrib.pop("clip-path", None)
            if element.get("transform", "").startswith("rotate(-0 "):
                element.set("x", element.get("transform").split()[1])
                element.set("y", element.attrib.pop("transform").split()[2][:-1])
            for key in ("d", "transform", "x", "y", "style"):
                if key in element.attrib:
                    element.set(key, tidy(element.get(key)))
        flatten(root)
        root.attrib = {"viewBox": root.get("viewBox"), "role": "img"}
        ElementTree.register_namespace("", SVG[1:-1])
        return re.sub(r"\n\s*", "\n", ElementTree.tostring(root, encoding="unicode")).strip()


def tidy(value):
    """An attribute with two decimals, and without the names of fonts."""
    value = re.sub(r"font: (?:(bold|700) )?([\d.]+)px [^;]*",
                   lambda m: ("font-weight: bold; " if m[1] else "") + f"font-size: {m[2]}px", value)
    value = re.sub(r"; stroke-line\w+: \w+|font-family: [^;]*; ", "", value)
    value = re.sub(r"-?\d+\.\d{3,}", lambda x: f"{float(x[0]):.2f}", value)
    return re.sub(r"\s+", " ", value).strip()


def flatten(parent):
    """Without groups that say nothing, invisible frames, and clipping."""
    for child in list(parent):
        flatten(child)
        place = list(parent).index(child)
        nothing = child.tag == SVG + "path" and child.get("style") == "fill: none"
        if child.tag in (SVG + "g", SVG + "defs") and not child.attrib or nothing or child.tag in UNUSED:
            parent.remove(child)
            if child.tag == SVG + "g":
                for grandchild in reversed(list(child)):
                    parent.insert(place, grandchild)
            elif child.tag == SVG + "defs" and len(child):
                parent.insert(place, child)


def themed(svg, colours):
    """The colours in place of their stand-ins."""
    return re.sub("|".join(colours), lambda stand_in: colours[stand_in[0]], svg)


def cut_to(length, name):
    return name if len(name) <= length else name[:length - 1] + "…"


def short(group, solver):
    """A name for an axis or a legend, without the stage where that is clear."""
    name = solver.split("/", 1)[-1]
    alone = sum(s.split("/", 1)[-1] == name for s in group.solvers) == 1
    return cut_to(27, name if alone else solver.removeprefix("sparse_"))


def mark_of(group, solver):
    """Colour and marker: libraries are squares."""
    k = group.solvers.index(solver)
    return COLOURS[k % len(COLOURS)], "s" if is_peer(solver) else MARKERS[k // len(COLOURS) % len(MARKERS)]


def times(name, group):
    """A row for each matrix, a mark for each solver at its time, a line from 10 to 90 % of its runs."""
    d = Drawing(name, "Time, ms; line: 10 to 90 % of the runs", 128, 18 * len(group.matrices), len(group.solvers))
    for solver in group.solvers:
        colour, marker = mark_of(group, solver)
        points = [p for m in group.matrices if (p := group.at.get((solver, m))) and p.ms]
        ys = [group.matrices.index(p.matrix) for p in points]
        lows, highs = ([p.entry.get(f"{a}_ms") or p.entry.get(f"{b}_ms") or p.ms for p in points]
                       for a, b in (("p10", "min"), ("p90", "max")))
        d.axes.hlines(ys, lows, highs, color=colour, linewidth=1.5, alpha=0.6)
        d.marks([p.ms for p in points], ys, points, colour, marker, label=short(group, solver))
    d.log("x")
    d.rows(group.matrices)
    d.legend()
    return d


def against(name, group):
    """A row for each solver, a mark for each matrix at its time over the yardstick's, a bar at the geometric mean."""
    solvers = [s for s in group.solvers if s != group.yardstick and any(True for _ in group.ratios(s))]
    title = f"Time over that of {cut_to(20, short(group, group.yardstick))}: left of 1 is faster"
    d = Drawing(name, title, 138, 16 * len(solvers), label="a mark for each matrix; bar: geometric mean")
    means = {solver: mean for solver, _, mean, _ in group.means()}
    for row, solver in enumerate(solvers):
        points, ratios = zip(*group.ratios(solver))
        d.axes.plot([1 / means[solver]], [row], marker="|", markersize=12, markeredgewidth=2, color=INK)
        colour, marker = (COLOURS[1], "s") if is_peer(solver) else (COLOURS[0], "o")
        d.marks(ratios, [row] * len(points), points, colour, marker, alpha=0.75)
    d.axes.axvline(1, color=INK, linewidth=0.8)
    d.log("x")
    d.rows([short(group, s) for s in solvers])
    return d


def profile(name, group):
    """Dolan and More 2002: the share of matrices that a solver does within a factor of the fastest one's time."""
    matrices = [m for m in group.matrices if any(group.ms(s, m) for s in group.solvers)]
    best = {m: min(t for s in group.solvers if (t := group.ms(s, m))) for m in matrices}
    ratios = {s: sorted(t / best[m] for m in matrices if (t := group.ms(s, m))) for s in group.solvers}
    ranked = sorted(group.solvers, key=lambda s: -sum(1 / r for r in ratios[s]))[:len(COLOURS)]
    d = Drawing(name, "Share of the matrices done within x of the fastest", 34, PLOT, len(ranked))
    end = max(max(r, default=1) for r in ratios.values()) * 1.2
    colours = {s: COLOURS[k] if len(group.solvers) > len(COLOURS) else mark_of(group, s)[0]
                                    for k, s in enumerate(ranked)}
    for solver in sorted(group.solvers, key=lambda s: s in ranked):
        xs = [1] + [x for r in ratios[solver] for x in (r, r)] + [end]
        ys = [k / len(matrices) for k in range(len(ratios[solver]) + 1) for _ in (0, 1)]
        named = solver in ranked
        d.axes.plot(xs, ys, color=colours.get(solver, GRID), linewidth=1.6 if named else 0.8,
                    label=short(group, solver) if named else None, linestyle="--" if is_peer(solver) else "-")
    d.axes.set_xlim(1, end)
    d.axes.set_ylim(-0.02, 1.03)
    d.log("x")
    d.legend()
    return d


def against_size(name, group):
    """Time (dense: rate) against entries of L and U (dense: n)."""
    dense = any("gflops" in p.entry for p in group.points)
    what = "Rate, GFLOP/s, against n" if dense else "Time, ms, against entries of L+U"
    d = Drawing(name, what, 40, PLOT, len(group.solvers))
    for solver in group.solvers:
        colour, marker = mark_of(group, solver)
        points = [p for m in group.matrices if (p := group.at.get((solver, m))) and p.ms and group.size(m)
                  and (p.entry.get("gflops") or not dense)]
        ys = [p.entry["gflops"] if dense else p.ms for p in points]
        d.marks([group.size(p.matrix) for p in points], ys, points, colour, marker, label=short(group, solver))
    d.log("x")
    d.log("y")
    d.legend()
    return d


def strip(name, group, key, title):
    """A row for each solver, a mark for each matrix at a field of its row; the colour says which bound a bound is."""
    of = "bound_by" if key == "percent_of_bound" else None
    shown = [p for p in group.points if p.ms and (p.entry.get(key) or 0) > 0]
    solvers = [s for s in group.solvers if any(p.solver == s for p in shown)]
    kinds = sorted({p.entry.get(of) or "" for p in shown})
    d = Drawing(name, title, 138, 16 * len(solvers), len(kinds) if of else 0, columns=3)
    for k, kind in enumerate(kinds):
        points = [p for p in shown if (p.entry.get(of) or "") == kind]
        d.marks([p.entry[key] for p in points], [solvers.index(p.solver) for p in points], points,
                COLOURS[k % len(COLOURS)], label=kind, alpha=0.8)
    d.log("x")
    d.rows([short(group, s) for s in solvers])
    if of:
        d.legend()
    return d


def traffic(group, point):
    """(flops, bytes that have to move at least) of a factorization: L and U read and written once."""
    facts = group.file.matrices.get(point.matrix, {})
    entries = facts.get("nnz_lu") or (facts.get("n", 0)**2 * facts.get("batch", 1))
    return facts.get("flops"), 2 * entries * (8 if group.scalar == "f64" else 4)


def roofline(name, group):
    """Rate against flops a byte, under the roofs of the device's constants."""
    constants = group.file.context["device_constants"]
    top, bandwidth = constants[f"flops_{group.scalar}_per_s"], constants["bandwidth_bytes_per_s"]
    dense = all("n=" in m for m in group.matrices)
    label = "roof: outside tensor cores" + ("; dashed: with them" if dense and group.scalar == "f64" else "")
    d = Drawing(name, "Roofline: GFLOP/s against flops a byte of L+U", 42, PLOT, len(group.solvers), label=label)
    seen = []
    for solver in group.solvers:
        points = [p for p in group.points if p.solver == solver and p.ms and all(traffic(group, p))]
        at = [(f / b, f / p.ms * 1e-6) for p in points for f, b in [traffic(group, p)]]
        seen += [x for x, _ in at]
        colour, marker = mark_of(group, solver)
        if at:
            d.marks(*zip(*at), points, colour, marker, label=short(group, solver))
    xs = [min(seen) / 2, top / bandwidth, max(max(seen) * 2, 2 * top / bandwidth)]
    d.axes.plot(xs, [min(top, x * bandwidth) * 1e-9 for x in xs], color=INK, linewidth=1.2)
    if dense and group.scalar == "f64":  # they double the rate
        d.axes.plot(xs[1:], [2e-9 * top] * 2, color=INK, linewidth=1, linestyle="--")
    d.log("x")
    d.log("y")
    d.legend()
    return d


def parts(name, group):
    """Which share of its time each part takes; the time itself at the end of the row."""
    points = [p for m in group.matrices for s in group.solvers if (
        p := group.at.get((s, m))) and p.entry.get("split_ms")]
    kinds = list(dict.fromkeys(k for p in points for k, ms in p.entry["split_ms"].items() if ms))
    d = Drawing(name, "Parts of the time; at the end its total, ms", 162, 15 * len(points), len(kinds), 4, right=44)
    lefts = [0.0] * len(points)
    for k, kind in enumerate(kinds):
        shares = [(p.entry["split_ms"].get(kind) or 0) / sum(ms or 0 for ms in p.entry["split_ms"].values())
                  for p in points]
        d.axes.barh(range(len(points)), shares, 0.8, lefts, color=COLOURS[k % len(COLOURS)], label=kind)
        lefts = [a + b for a, b in zip(lefts, shares)]
    d.marks([1.04] * len(points), range(len(points)), points, INK, markersize=4)
    for row, p in enumerate(points):
        d.axes.text(1.09, row, number(p.ms), va="center", size=9)
    d.axes.set_xlim(0, 1)
    d.axes.set_xticks([0, 0.5, 1], ["0", "50 %", "100 %"])
    d.rows([f"{cut_to(15, p.matrix)}  {cut_to(13, short(group, p.solver))}" for p in points])
    d.legend()
    return d


def predicted(name, points):
    """Predicted over measured time, for each model that the entries hold; not where either is not known."""
    models = dict.fromkeys(key for p in points for key, value in p.entry.items()
                           if isinstance(value, dict) and "ms" in value)
    d = Drawing(name, "Predicted against measured, ms", 40, PLOT, len(models))
    ends = []
    for k, model in enumerate(models):
        some = [p for p in points if p.entry.get("measured_ms") and (p.entry.get(model) or {}).get("ms")]
        measured = [p.entry["measured_ms"] for p in some]
        d.marks(measured, [p.entry[model]["ms"] for p in some], some, COLOURS[k], MARKERS[k], label=model)
        ends += measured
    if ends:
        d.axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color=INK, linewidth=0.8)
    d.log("x")
    d.log("y")
    d.legend()
    return d


def levels(name, points):
    """Columns a level on average and in the widest one: what may run at once."""
    rows = [p for p in points if p.entry.get("rules")]
    rules = [rule["rule"] for rule in rows[0].entry["rules"]]
    d = Drawing(name, "Columns of a level, which may run at once", 128, 18 * len(rows), 2 * len(rules))
    for k, rule in enumerate(rules):
        of = [next(r for r in p.entry["rules"] if r["rule"] == rule) for p in rows]
        ys = [row + 0.2 * (k - (len(rules) - 1) / 2) for row in range(len(rows))]
        d.marks([p.entry["n"] / r["levels"] for p, r in zip(rows, of)], ys, rows, COLOURS[k], label=f"{rule}, mean")
        d.marks([r["widest"] for r in of], ys, rows, COLOURS[k], "D", label=f"{rule}, widest")
    d.log("x")
    d.rows([p.matrix.split("/")[0] for p in rows])
    d.legend()
    return d


def densities(name, points):
    """For each matrix three squares whose cells are darker the more entries they have: A, A ordered, L+U."""
    drawn = []
    side, gap, grades = 106, 9, 6  # a darker grade: up to four times the entries; the darkest: a quarter of the cell
    for p in points:
        d = Drawing(f"{name}-{p.matrix}", f"{cut_to(34, p.matrix)}, n = {p.entry['n']}", 4, side, right=4)
        d.axes.set_axis_off()
        d.axes.set_xlim(0, WIDTH - 8)
        d.axes.set_ylim(side, 0)
        for k, (which, caption) in enumerate((("before", f"A: {p.entry['nnz']}"),
                                              ("after", f"ordered: {p.entry['order']}"),
                                              ("filled", f"L+U: {p.entry['nnz_lu']}"))):
            left, cells = k * (side + gap), p.entry[which]
            d.axes.text(left, side + 11, caption, size=9)
            step, full = side / len(cells), (p.entry["n"] / len(cells))**2
            runs = [([], []) for _ in range(grades)]
            for i, row in enumerate(cells):
                y, start = (i + 0.5) * step, 0
                shades = [min(grades, max(1, grades + 1 + math.floor(math.log(c / full, 4)))) if c else 0 for c in row]
                for j in range(1, len(row) + 1):
                    if j == len(row) or shades[j] != shades[start]:
                        if shades[start]:
                            xs, ys = runs[shades[start] - 1]
                            xs += [left + start * step, left + j * step, math.nan]
                            ys += [y, y, math.nan]
                        start = j
            for grade, (xs, ys) in enumerate(runs):
                if xs:
                    d.axes.plot(xs, ys, color=COLOURS[0], linewidth=step, solid_capstyle="butt",
                                alpha=(grade + 1) / grades)
            d.axes.plot([left, left + side, left + side, left, left], [0, 0, side, side, 0], color=GRID, linewidth=0.8)
            d.marks([left + side / 2], [side / 2], [p], INK, "s", markersize=side, alpha=0)
        drawn.append(d)
    return drawn


def columns_of_levels(name, points):
    """For each matrix the columns of its levels by each rule, from the first level to the last, and the widest."""
    drawn = []
    for p in points:
        rules = p.entry["rules"]
        d = Drawing(f"{name}-{p.matrix}", f"{cut_to(34, p.matrix)}: columns of each level", 34, 84, len(rules), 3,
                    label=f"level, from 1; {p.entry['n']} columns, ordering {p.entry['order']}")
        for k, rule in enumerate(rules):
            columns = rule["columns"]
            edges = sorted({round((len(columns) + 1)**(m / BINS)) for m in range(BINS + 1)})  # levels from 1
            ranges = list(zip(edges, edges[1:]))
            means = [sum(columns[a - 1:b - 1]) / (b - a) for a, b in ranges]
            xs = [x for a, b in ranges for x in (a, b)]
            d.axes.plot(xs, [y for y in means for _ in (0, 1)], color=COLOURS[k], linewidth=max(0.8, 3.2 - 1.2 * k))
            widest = columns.index(rule["widest"])
            d.marks([widest + 1.5], [rule["widest"]], [p], COLOURS[k], MARKERS[k], label=rule["rule"], words=[
                f"{rule['rule']}: {rule['levels']} levels, the widest of {rule['widest']} columns, "
                f"on average {number(p.entry['n'] / rule['levels'])}"])
        d.log("x")
        d.log("y")
        d.legend()
        drawn.append(d)
    return drawn


def chain_of(columns):
    """The columns that the last one waited for, the last first: of each the one that let it go on last."""
    at = max(range(len(columns)), key=lambda k: columns[k][2])
    chain = [at]
    while True:
        # A wait that began when the other had finished has held up nothing.
        held = [wait for wait in columns[at][3] if columns[wait[0] - 1][2] > wait[1]]
        if not held:
            return chain
        at = held[-1][0] - 1
        chain.append(at)


def timeline(name, points):
    """For each run the blocks as lines: they work, they wait, and the chain that ended last; then how many did what."""
    drawn = []
    for p in points:
        columns, is_time = p.entry["columns"], p.entry["unit"] == "ns"
        scale, unit = (1e-3, "µs") if is_time else (1, "steps of the simulator, no time")
        height = min(420, max(PLOT, 2 * len(columns)))
        d = Drawing(f"{name}-{p.matrix}", f"{cut_to(28, p.matrix)}: a line for each column's block", 34, height, 3, 3,
                    label=unit)
        lines = {"works": ([], []), "waits": ([], [])}
        changes = {"works": [], "waits": []}

        def add(kind, k, begin, end):
            if end > begin:
                xs, ys = lines[kind]
                xs += [scale * begin, scale * end, math.nan]
                ys += [k + 1, k + 1, math.nan]
                changes[kind] += [(begin, 1), (end, -1)]

        for k, (_, now, end, waits) in enumerate(columns):
            for _, begin, until in waits:
                add("works", k, now, begin)
                add("waits", k, begin, until)
                now = until
            add("works", k, now, end)
        width = min(3, max(0.8, 0.85 * height / len(columns)))
        for kind, colour in (("waits", COLOURS[1]), ("works", COLOURS[0])):
            d.axes.plot(*lines[kind], color=colour, linewidth=width, solid_capstyle="butt", label=kind,
                        alpha=0.4 if kind == "waits" else 1)
        chain = chain_of(columns)
        d.axes.plot([scale * columns[k][2] for k in chain], [k + 1 for k in chain], color=INK, linewidth=1)
        d.marks([scale * columns[k][2] for k in chain], [k + 1 for k in chain], [p] * len(chain), INK, markersize=3.5,
                label=f"last chain of waits, {len(chain)} columns",
                words=[waits_of(k, columns[k], scale, unit) for k in chain])
        d.axes.set_ylim(len(columns) + 1, 0)
        d.legend()
        drawn.append(d)

        d = Drawing(f"{name}-{p.matrix}-blocks", "Blocks that work, and that wait", 34, 84, 2, 2, label=unit)
        for kind, colour in (("waits", COLOURS[1]), ("works", COLOURS[0])):
            count, at = 0, []
            for moment, change in sorted(changes[kind]):
                at.append((scale * moment, count))
                count += change
                at.append((scale * moment, count))
            d.axes.plot(*zip(*thinned(at)), color=colour, linewidth=1)
            top = max(at, key=lambda a: a[1])
            d.marks([top[0]], [top[1]], [p], colour, label=kind, words=[f"most at once: {top[1]}"])
        d.legend()
        drawn.append(d)
    return drawn


def waits_of(k, column, scale, unit):
    """What a block of the chain says on a hover."""
    multiprocessor, begin, end, waits = column
    waited = sum(until - since for _, since, until in waits)
    longest = max(waits, key=lambda wait: wait[2] - wait[1], default=None)
    tells = f"column {k + 1} on multiprocessor {multiprocessor}: {number(scale * (end - begin))} {unit}"
    if longest:
        tells += (f", of it waiting {number(scale * waited)} for {len(waits)} columns, "
                  f"longest for {longest[0]}: {number(scale * (longest[2] - longest[1]))}")
    return tells


def thinned(at, most=400):
    """Some of the corners of a line of stairs, evenly spread, in pairs."""
    every = max(1, len(at) // 2 // most)
    return [corner for k in range(0, len(at) // 2, every) for corner in at[2 * k:2 * k + 2]]


def ranks(name, points):
    """Speedup over one GPU, each raw sample over the mean on one."""
    d = Drawing(name, "Speedup over one GPU, by their number", 30, PLOT, len(points))
    for k, p in enumerate(points):
        raw = {int(n): ms for n, ms in p.entry["raw_ms"].items()}
        one = sum(raw[1]) / len(raw[1])
        at = [(n, one / ms) for n, samples in raw.items() for ms in samples]
        d.marks(*zip(*at), [p] * len(at), COLOURS[k % len(COLOURS)], MARKERS[k // len(COLOURS)], label=p.matrix)
        d.axes.plot(list(raw), [one * len(ms) / sum(ms)
                    for ms in raw.values()], color=COLOURS[k % len(COLOURS)], linewidth=1)
    most = max(int(n) for p in points for n in p.entry["raw_ms"])
    d.axes.plot([1, most], [1, most], color=INK, linewidth=0.8, linestyle=":")
    d.axes.set_xticks(sorted({int(n) for p in points for n in p.entry["raw_ms"]}))
    d.legend()
    return d


def budgets(name, points):
    """Time with less workspace than asked for, over the time with all of it."""
    shares = {"ms": "1", "half_ms": "1/2", "quarter_ms": "1/4", "eighth_ms": "1/8"}
    d = Drawing(name, "With less memory workspace: time over that with all", 30, PLOT, len(points))
    for k, p in enumerate(points):
        at = [(x, p.entry[key] / p.entry["ms"]) for x, key in enumerate(shares) if key in p.entry]
        colour = COLOURS[k % len(COLOURS)]
        d.axes.plot(*zip(*at), color=colour, linewidth=1)
        d.marks(*zip(*at), [p] * len(at), colour, MARKERS[k // len(COLOURS)], label=p.matrix)
    d.axes.set_xticks(range(len(shares)), shares.values())
    d.legend()
    return d


def figures_of(name, group):
    """The figures that a group's rows suffice for."""
    few, several = len(group.solvers) <= 16, len(group.solvers) > 1
    compared = any(s != group.yardstick and any(True for _ in group.ratios(s)) for s in group.solvers)
    has = {key: any(p.ms and (p.entry.get(key) or 0) > 0 for p in group.points) for key in STRIPS}
    split = {part for p in group.points for part, ms in (p.entry.get("split_ms") or {}).items() if ms}
    sized = len([m for m in group.matrices if group.size(m)]) >= 5
    roofed = "factor" in group.phase and "device_constants" in group.file.context
    chosen = [(times, several and len(group.solvers) <= 6), (against, compared),
              (profile, several and len(group.matrices) > 2), (against_size, sized and few),
              (roofline, few and roofed and any(all(traffic(group, p)) for p in group.points if p.ms)),
              (parts, len(split) > 1)]
    drawn = [draw(f"{name}-{draw.__name__}", group) for draw, suits in chosen if suits]
    return drawn + [strip(f"{name}-{key}", group, key, title) for key, title in STRIPS.items() if has[key]]
