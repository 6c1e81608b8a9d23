"""The committed results as points: one time, where it comes from, and what it is compared with."""
import hashlib
import json
import math
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench" / "results"
# What others are told against, the first that a comparison has.
YARDSTICKS = ["peers/klu", "sparse_leftlooking/90_klu", "dense/90_cusolver", "dense/92_cublas_batched",
              "solve/00_reference", "symbolic/01_gilbert_peierls"]
GENERATED = re.compile(r"(grid2d|grid3d|convection2d|power_grid|logic_rent|sram_array|random_dominant)_(\d+)$")
NOTHING_TIMED = "nothing timed"  # stands for the GPU of a file of facts that depend on no machine
NO_LABEL = "no options"  # stands for the label of a row without one, where others of its name have one
REPEATED = {"run_name", "run_type", "cpu_time", "time_unit"}  # constant, or said by another field


class Mistake(Exception):
    """What is wrong with a result file, for people."""


def refuse(constant):
    raise ValueError(f"{constant} is not JSON; write null")


class File:
    """One result file: one run on one machine."""

    def __init__(self, path, folder):
        self.name = path.relative_to(folder).with_suffix("").as_posix()
        try:
            self.data = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
            self.context = self.data["context"]
            self.gpu = self.context["gpu"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Mistake(f"{path}: not a result of lulab-bench ({type(error).__name__}: {error})") from error
        self.matrices = self.context.get("matrices", {})

    def source(self):
        cpu, source = self.context.get("cpu", "CPU not stored"), self.context.get("git_hash", "?")[:12]
        return f"{self.gpu}, {cpu}, source {source}"


class Point:
    """One row of a file. `ms` is None where it failed; `solver` tells runs of one rung with other options apart."""

    def __init__(self, number, file, entry, name, solver, label):
        self.number, self.file, self.entry, self.name = number, file, entry, name
        self.rung, rest = name.split("|", 1)
        self.matrix, self.phase, self.scalar = (rest.rsplit("|", 2) + ["", ""])[:3]
        self.label = label
        self.solver = f"{solver} [{label}]" if label else solver
        self.ms = None if entry.get("error_occurred") else entry.get("real_time")

    @property
    def id(self):
        return f"{self.file.name}:{self.name}" + (f"|{self.label}" if self.label else "")


def rows_of(file):
    """(name, label, entry) of each row of a file; of other lists the list's name stands for the rung."""
    benchmarks = [entry for entry in file.data.get("benchmarks", []) if entry.get("run_type") != "aggregate"]
    if any(str(entry.get("name")).count("|") < 3 for entry in benchmarks):
        raise Mistake(f"{file.name}: a row has no name rung|matrix|phase|scalar")
    names = [entry["name"] for entry in benchmarks]
    several = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    for entry in benchmarks:
        label = entry.get("label", NO_LABEL) if entry["name"] in several else ""
        yield entry["name"], label, {key: value for key, value in entry.items() if key not in REPEATED | {"name"}}
    for key, value in file.data.items():
        for entry in value if key not in ("context", "benchmarks") and isinstance(value, list) else []:
            if isinstance(entry, dict) and "matrix" in entry:
                yield f"{key}|{entry['matrix']}", "", entry


def load(folder=RESULTS):
    """All files, newest first, and all points."""
    paths = sorted(folder.rglob("*.json"))
    if not paths:
        raise Mistake(f"{folder}: no .json file; run: ./lulab bench --save")
    files = [File(path, folder) for path in paths]
    files.sort(key=lambda file: (file.context.get("date", ""), file.name), reverse=True)
    points = []
    for file in files:
        for name, label, entry in rows_of(file):
            points.append(Point(len(points), file, entry, name, name.split("|")[0], label))
    return files, points


def digest_of_inputs(folder=RESULTS):
    """Of all result files and of the programs that make the page: what the page must have been made from."""
    here = pathlib.Path(__file__).parent
    programs = [path for path in here.glob("*.*") if path.suffix != ".txt" and "test" not in path.name]
    digest = hashlib.sha256()
    for base, paths in ((folder, folder.rglob("*.json")), (here, programs)):
        for path in sorted(paths):
            digest.update(
    f"{path.relative_to(base).as_posix()}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def file_of(matrix):
    """Where a row's matrix is in the collection; one step stands for a sequence."""
    steps = dict(re.findall(r'"(seq_\w+)/(A_\d+)"', (ROOT / "bench/problem.cpp").read_text(encoding="utf-8")))
    return f"{matrix}/{steps.get(matrix, 'A_00')}.mtx.gz" if matrix.startswith("seq_") else f"{matrix}.mtx.gz"


def arguments_of(point, file):
    """What lulab-bench is to be told to measure the row; `file`: of its matrix."""
    facts = point.file.matrices.get(point.matrix, {})
    is_other = point.rung.startswith("peers/") and not point.rung.startswith("peers/klu")
    rung = (["--peer", point.rung] if is_other else [] if point.rung.startswith("peers/")
            else ["--rung", re.sub("_(eighth|(a_)?to_fronts)$", "", point.rung)])
    if "gsofa" in point.file.name:
        return ["--set", "gsofa"]
    if "alternatives" in point.file.name:
        return ["--set", "alternatives", "--matrix", file] + rung
    if "batch" in facts:
        return ["--set", "dense", "--n", str(facts["n"]), *rung, "--precision", point.scalar]
    of_phase = rung + ["--phase", point.phase, "--precision", point.scalar]
    if point.matrix.startswith("n="):
        return ["--set", "quick"] + of_phase
    has_order = "order" in facts and point.phase not in ("step", "step_device", "first", "run")
    return ["--matrix", file, *(["--order", facts["order"]] if has_order else []), *of_phase]


def command_of(point):
    """A command that measures the row, with the defaults of today."""
    file, made = file_of(point.matrix), ""
    if found := GENERATED.match(point.matrix):
        file = f"{point.matrix}.mtx"
        made = f"./lulab gen {found[1]} -n {found[2]} -o {file} && "
    return f"{made}./lulab bench {' '.join(arguments_of(point, file))}"


def is_peer(rung):
    """Wraps a library."""
    room, _, name = rung.partition("/")
    return room == "peers" or name.startswith("cusparse") or name[:2].isdigit() and int(name[:2]) >= 90


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


class Group:
    """What may be compared: the solvers of one phase in one file, so on one machine from one source."""

    def __init__(self, file, phase, scalar, points):
        self.file, self.phase, self.scalar, self.points = file, phase, scalar, points
        self.solvers = list(dict.fromkeys(p.solver for p in points))
        self.matrices = list(dict.fromkeys(p.matrix for p in points))
        self.matrices.sort(key=lambda m: (self.size(m) or 0, m))
        self.at = {(p.solver, p.matrix): p for p in points}
        rungs = {p.solver for p in points if p.ms}
        self.yardstick = next((y for y in YARDSTICKS if y in rungs), self.solvers[0])

    def size(self, matrix):
        facts = self.file.matrices.get(matrix, {})
        return facts.get("nnz_lu") or facts.get("n")

    def ms(self, solver, matrix):
        point = self.at.get((solver, matrix))
        return point.ms if point else None

    def ratios(self, solver):
        """(point, its time over the yardstick's) where both have one."""
        for matrix in self.matrices:
            mine, other = self.ms(solver, matrix), self.ms(self.yardstick, matrix)
            if mine and other:
                yield self.at[solver, matrix], mine / other

    def common(self):
        """Matrices on which every solver has a time."""
        return [m for m in self.matrices if all(self.ms(s, m) for s in self.solvers)]

    def means(self):
        """(solver, mean speed on common matrices, mean speed where it and the yardstick have times, how many)."""
        common = set(self.common())
        for solver in self.solvers:
            own = [(point.matrix, 1 / ratio) for point, ratio in self.ratios(solver)]
            on_common = geometric_mean([r for m, r in own if m in common])
            yield solver, on_common, geometric_mean([r for _, r in own]), len(own)

    def left_out(self):
        """Why a solver has no time on a matrix: {reason: [solver on matrix]}."""
        reasons = {}
        for solver in self.solvers:
            for matrix in self.matrices:
                point = self.at.get((solver, matrix))
                if point is None or not point.ms:
                    why = point.entry.get("error_message", "no time") if point else "not measured"
                    reasons.setdefault(why, []).append(f"{solver} on {matrix}")
        return reasons

    def title(self):
        return f"{self.phase}, {self.scalar}"


def groups_of(points):
    """Groups in the order of their files; batches, many right-hand sides and transposed solves each for themselves."""
    found = {}
    for p in points:
        if p.scalar:
            batch = p.matrix.startswith("batch=") and p.matrix.split(",")[0].replace("=", " of ")
            kind = re.search(r"_(x\d+|transposed)$", p.rung)
            phase = ", ".join(filter(None, (p.phase, batch, kind and kind[1])))
            found.setdefault((p.file.name, phase, p.scalar), []).append(p)
    return [Group(members[0].file, phase, scalar, members) for (_, phase, scalar), members in found.items()]
