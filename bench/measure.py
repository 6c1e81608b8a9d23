#!/usr/bin/env python3
"""Measure what bench/results holds of this GPU again, all of it from one source: ./lulab measure [FILE ...]

    ./lulab measure                 what is not there from this source; 75 minutes on an H200
    ./lulab measure dense sflu      these files
    ./lulab measure --list          what each file is measured by, and how long that takes

Where it is stopped it goes on when it is called again; what is not whole is in build/measure. A file that was made
from this source on this GPU by the commands of --list is kept; --again measures it anew. A matrix is looked for in
LULAB_MATRICES, or in shared/matrices of this folder or one above it; one that is nowhere is left out, and the file is
measured anew when it is there. ./lulab fetch gets those of the collection, ./lulab peers two of the libraries. The
source is the last commit that changed a program, not a test, the simulator or a text; where a program has changes that
are not committed every file is measured, and none counts as of that source. Each file has what klu_refactor of a power
grid took before and after it (host_klu_ms), since hosts differ and other programs slow them.
Afterwards ./lulab report makes page and pictures, python3 bench/readme_table.py the tables.

Not here, since it takes several GPUs and processes: what symbolic/NOTES.md says of ranks.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time

import rerun
import regress

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "page"))
import results  # noqa: E402  pylint: disable=wrong-import-position

BY_HAND = ("ranks", "model_ranks")  # several GPUs, and a model of what hundreds would take
CIRCUITS = ("rajat19 add20 add32 circuit_1 mna5_A memplus seq_resolve_ScaleMicrogrid_N1000 seq_nr_case_ACTIVSg10k "
            "seq_nr_case13659pegase").split()
SOLVED = [*CIRCUITS, "seq_hykkt_ACTIVSg2000", "af23560"]
FACTORED = [*SOLVED, "cage10", "grid2d_10000", "grid2d_90000", "grid2d_360000"]
ORDERED = ("rajat19 circuit_1 memplus seq_nr_case_ACTIVSg10k seq_nr_case13659pegase seq_hykkt_ACTIVSg2000 cage10 "
           "af23560 grid2d_360000 G3_circuit").split()
BY_MULTIPLY_ADDS = ("memplus seq_nr_case13659pegase power_grid_10000 seq_hykkt_ACTIVSg2000 bcsstk13 grid3d_4913 "
                    "logic_rent_10000 grid2d_40000 power_grid_20000 bcsstk16 grid3d_8000 random_dominant_2000 "
                    "grid2d_90000 af23560 cage10").split()
FEW = ["memplus", "seq_nr_case13659pegase", "seq_hykkt_ACTIVSg2000"]
MODELLED = ("add20 add32 circuit_1 memplus fpga_dcop_01 oscil_dcop_01 1138_bus bcsstk13 bcsstk16 cryg2500 mna5_A "
            "orsirr_2 orsreg_1 pde900 jpwh_991 watt_2 west0479 af23560 cage10 seq_nr_case_ACTIVSg10k "
            "seq_nr_case13659pegase seq_hykkt_ACTIVSg2000").split()
PARDISO = "--peer peers/pardiso peers/pardiso_improved"
LARGE_PEERS = ["pardiso", "pardiso_improved", *("cudss" + kind for kind in (
    "", "_nd", "_no_matching", "_no_pivoting", "_deterministic"))]
ALL_PEERS = ["eigen", "umfpack", "superlu", *("pardiso" + kind for kind in (
    "", "_two_level", "_no_matching", "_improved", "_improved_no_matching", "_improved_four_threads",
    "_improved_one_thread", "_one_thread")), *("cudss" + kind for kind in (
        "", "_nd", "_amd", "_colamd", "_matching", "_no_matching", "_no_pivoting", "_deterministic"))]
PROGRAMS = ("*.cpp", "*.cu", "*.h", "*.def", "*.in", "*.cmake", "CMakeLists.txt", "CMakePresets.json", ":!*_test.*", *(
    ":!" + folder for folder in "*/host/* capi cmake/install_test dropin examples fuzz labs python testing".split()))
SAME_RUN = ("git_hash", "gpu", "driver", "cpu", "compiler", "kernel_compiler")  # what lulab-bench --resume asks for


@dataclasses.dataclass
class Part:
    """One process: arguments of lulab-bench, or of lulab where `program` says so, for these matrices."""
    arguments: str = ""
    matrices: list = dataclasses.field(default_factory=list)
    program: str = "lulab-bench"

    def command(self, missing=()):
        """As a reader would type it, without the matrices that are missing."""
        files = [f"{m}.mtx" if results.GENERATED.match(m) else results.file_of(m)
                 for m in self.matrices if m not in missing]
        if self.program == "lulab":
            word, *more = self.arguments.split()
            return " ".join(["./lulab", word, *files, *more, "--json"])
        return " ".join(["./lulab bench", *(["--matrix", *files] if files else []), self.arguments]).strip()


def options_of(matrices, rung_names, settings, more=""):
    """One part for each option, "name=1", or none."""
    return [Part(f"--rung {rung_names} --phase refactor --precision f64 {more}"
                 + (f" --option {setting}" if setting else ""), matrices) for setting in settings]


# File, seconds on an H200, parts. Those that most of the pages rest on come first.
RUNS = {
    "step_f64": (95, [Part("--phase step step_device --rung auto --precision f64 --min-time 0.3", SOLVED)]),
    "rungs": (325, [Part("--set all --phase refactor --precision f64")]),
    "quick": (95, [Part()]),
    "peers": (690, [Part("--phase first step step_device --rung auto --precision f64 --min-time 0.15 --peer "
                         + " ".join("peers/" + name for name in ALL_PEERS), SOLVED)]),
    "dense": (190, [Part("--set dense")]),
    "first_run": (160, [Part(f"--phase first run --rung auto --precision f64 --min-time 0.3 {PARDISO}", CIRCUITS)]),
    "first_run_at_once": (80, [Part("--phase first run --rung auto --precision f64 --min-time 0.3 "
                                    "--prepare-at-once", CIRCUITS)]),
    "first_large": (60, [Part(f"--phase first --rung auto --precision f64 --min-time 0.3 {PARDISO}",
                              ["seq_hykkt_ACTIVSg2000", "grid2d_90000", "logic_rent_20000", "logic_rent_40000",
                               "af23560"])]),
    "step_rungs": (100, [Part("--phase step step_device --rung auto 07_threads 10 11 12 --precision f64 "
                             "--min-time 0.1", [*SOLVED, "grid2d_10000", "grid2d_90000"])]),
    "step_f32": (25, [Part("--phase step --rung auto --precision f32 --min-time 0.1", SOLVED)]),
    "energy": (90, [Part("--phase step --rung auto 11 --precision f64 --energy --peer peers/cudss peers/cudss_nd",
                         SOLVED)]),
    "batches": (140, [Part("--phase batch batch_step --rung 10 11 auto --precision f64 --min-time 0.04",
                          [*CIRCUITS, "grid2d_10000", "seq_hykkt_ACTIVSg2000"])]),
    "fan_in_or_fronts": (185, [Part("--rung 11 12 auto --phase schedule refactor step --precision f64 "
                                    "--min-time 0.03", BY_MULTIPLY_ADDS)]),
    "symbolic": (75, [Part("--rung " + " ".join("symbolic/" + name for name in (
        "01_gilbert_peierls", "03_fill2", "04_fill2_threads", "05_gsofa", "06_gsofa_sources", "07_sflu",
        "08_depth_bitmaps", "90_klu")) + " --phase symbolic symbolic_device --min-time 0.3",
                            [*SOLVED, "cage10"])]),
    "bitmaps": (45, [Part("--rung 08_depth_bitmaps --phase symbolic symbolic_device --order metis", ORDERED)]),
    "klu_symbolic": (45, [Part("--rung 01_gilbert_peierls klu --phase symbolic factor refactor "
                               "--precision f64 --order nd --min-time 0.3", ORDERED[:8])]),
    "gsofa": (155, [Part("--set gsofa")]),
    "alternatives": (195, [Part("--set alternatives", SOLVED)]),
    "leftlooking": (250, [Part("--rung 02_pipeline 03_cluster 05_supernode_pipeline 07_threads klu "
                               "--phase refactor end_to_end --precision f64 --order amd", FACTORED)]),
    "leftlooking_options": (125, options_of([*FEW, "af23560"], "02_pipeline", [
        "warps_per_sm=2", "warps_per_sm=8", "warps_per_sm=32", "shuffle_nonzeros=1"], "--order amd") + options_of(
            [*FEW, "af23560"], "04_virtual_groups", [
                "", "group_lanes=1", "group_lanes=32", "group_warps=1", "group_warps=4", "group_warps=8"],
            "--order amd")),
    "hybrid_amd": (230, [Part("--rung 02_glu2 03_glu3 04_glu3_graph 05_persistent --phase refactor "
                              "--precision f32 f64 --order amd", FACTORED)]),
    "hybrid_modes": (85, options_of([*FEW, "grid2d_90000"], "03_glu3 04_glu3_graph", [
        *(f"stream_columns={n}" for n in (1, 4, 8, 16, 32, 64, 128, 256, -1)), "total_warps=1536", "total_warps=-1"],
        "--order amd")),
    "sflu": (15, [Part("--rung 01_sflu --phase symbolic factor refactor --precision f64 --order amd",
                       [m for m in SOLVED if m not in ("seq_nr_case_ACTIVSg10k",
                                                       "seq_resolve_ScaleMicrogrid_N1000")])]),
    "levels": (20, [Part("levels --order amd", [matrix], "lulab") for matrix in
                    [*SOLVED, "cage10", "grid2d_90000"]]),
    "model": (5, [Part("model --measure", MODELLED, "lulab")]),
    "hybrid_g3_circuit": (30, [Part("refactor --rung 05_persistent --order metis", ["G3_circuit"] * 2, "lulab")]),
    "peers_large": (1000, [Part("--phase first step step_device --rung auto --precision f64 --min-time 0.02 --peer "
                               + " ".join("peers/" + name for name in LARGE_PEERS), [matrix])
                          for matrix in ("cage10", "G3_circuit")]),
}


def stored(path):
    """The JSON of a result; an empty one where there is none, or a part."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return data if isinstance(data["context"], dict) else {"context": {}}
    except (OSError, ValueError, KeyError, TypeError):
        return {"context": {}}


class Machine:
    """The programs and the matrices; `missing` says of each that was not found where it was looked for."""

    def __init__(self, programs, pieces):
        self.programs, self.pieces, self.missing, self.klu_ms = programs, pieces, {}, None
        pieces.mkdir(parents=True, exist_ok=True)
        context = self.probe()
        if context.get("simulator") or "compute_capability" not in context:
            raise regress.Mistake(f"no GPU to time ({context['gpu']}); build with --preset cuda where one is")
        self.context = {key: value for key, value in context.items() if key not in ("command", "matrices", "seed")}
        self.source = context["gpu"], context["git_hash"]

    def probe(self):
        """klu_refactor of a power grid says how fast the host is at the moment: klu_ms. Returns the run's context."""
        path = self.pieces / "probe.json"
        matrix = rerun.path_of("power_grid_10000", self.programs / "lulab")
        command = [self.programs / "lulab-bench", "--matrix", matrix, "--rung", "90_klu", "--phase", "refactor",
                   "--precision", "f64", "--json", path]
        if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
            raise regress.Mistake("lulab-bench failed; its words are above")
        data = json.loads(path.read_text(encoding="utf-8"))
        self.klu_ms = next(row["real_time"] for row in data["benchmarks"] if "90_klu|" in row["name"])
        return data["context"]

    def goes_on(self, path, command):
        """Is what is there a part of the run that would be made now?"""
        before = stored(path)["context"]
        return before.get("command", "").replace(" --resume", "") == command and all(
            before.get(key) == self.context.get(key) for key in SAME_RUN)

    def path_of(self, matrix):
        """None, and noted, where there is no such file."""
        try:
            return str(rerun.path_of(matrix, self.programs / "lulab"))
        except regress.Mistake as mistake:
            self.missing[matrix] = str(mistake)
        return None

    def run(self, part, path):
        """The JSON of one process, and its command as a reader would type it. None: it has no matrix here."""
        files = [file for file in map(self.path_of, part.matrices) if file]
        if part.matrices and not files:
            return None
        if part.program == "lulab":
            word, *more = part.arguments.split()
            done = subprocess.run([self.programs / "lulab", word, *files, *more, "--json"], stdout=subprocess.PIPE,
                                  text=True, check=False)
            if done.returncode:
                raise regress.Mistake(f"lulab {word} failed: {done.stdout[-500:]}")
            return json.loads(done.stdout), part.command(self.missing)
        arguments = [*(["--matrix", *files] if files else []), *part.arguments.split(), "--json", str(path)]
        if not self.goes_on(path, " ".join(["./lulab bench", *arguments])):
            path.unlink(missing_ok=True)
        resume = ["--resume"] if path.is_file() else []
        if subprocess.run([self.programs / "lulab-bench", *arguments, *resume], check=False).returncode:
            raise regress.Mistake(f"lulab-bench failed; its words are above. What it had is in {path}")
        return json.loads(path.read_text(encoding="utf-8")), part.command(self.missing)


def joined(name, parts, context):
    """One file of the parts' JSON and commands."""
    if name == "levels":
        entries = [data | {"matrix": command.split()[2].split(".")[0].split("/")[0], "command": command}
                   for data, command in parts]
        return {"context": context | {"command": "./lulab levels A.mtx --order amd --json"}, "levels": entries}
    if name == "hybrid_g3_circuit":
        (data, command), = parts
        return {"context": context | {"command": command}, "refactor": data}
    data, command = parts[0]
    data["context"]["command"] = command
    if len(parts) > 1:
        data["context"].pop("command")
        for other, _ in parts[1:]:
            data["context"].setdefault("matrices", {}).update(other["context"].get("matrices", {}))
        rows = [row | {"command": of} for other, of in parts for row in other["benchmarks"]]
        # Each part times the yardstick again, and labels it by an option that it does not have.
        data["benchmarks"] = [row for row in rows if not row["name"].startswith("sparse_leftlooking/90_klu")]
    if name == "klu_symbolic":
        data["symbolic_work"] = symbolic_work(data["benchmarks"])
    return data


def symbolic_work(rows):
    """What klu_factor does beyond klu_refactor is its symbolic work, beside the rung that does only that.

    Left out where it is less than a quarter of klu_factor, since two single runs differ by as much.
    """
    ms = {row["name"]: row.get("real_time") for row in rows}
    work = []
    for matrix in dict.fromkeys(row["name"].split("|")[1] for row in rows):
        factor, refactor = (ms.get(f"sparse_leftlooking/90_klu|{matrix}|{phase}|f64")
                            for phase in ("factor", "refactor"))
        rung = ms.get(f"symbolic/01_gilbert_peierls|{matrix}|symbolic|f64")
        if factor and refactor and rung and factor - refactor > factor / 4:
            work.append({"matrix": matrix, "klu_factor_ms": factor, "klu_refactor_ms": refactor,
                         "klu_symbolic_ms": factor - refactor, "gilbert_peierls_ms": rung,
                         "ratio": round(rung / (factor - refactor), 2)})
    return work


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.rename(path)


def commands_of(data):
    """All that made this file: those of its entries, or the one of all."""
    of_entries = {entry.get("command") for entry in data.get("benchmarks", []) + data.get("levels", [])} - {None}
    return of_entries or {data["context"].get("command")}


def is_whole(path, source, parts):
    """Is it a result of this (GPU, source) by these parts that lacks no matrix?"""
    data = stored(path)
    context = data["context"]
    return ((context.get("gpu"), context.get("git_hash")) == source and not context.get("left_out")
            and commands_of(data) == {part.command() for part in parts})


def commit():
    """The last one of this folder that changed PROGRAMS, -dirty where they differ; LULAB_GIT_HASH takes its place."""
    if given := os.environ.get("LULAB_GIT_HASH"):
        return given
    git = ["git", "-C", str(results.ROOT)]
    try:
        name, changes = (subprocess.run([*git, *words, "--", *PROGRAMS], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, check=True).stdout.strip()
                         for words in (["log", "-1", "--format=%H"], ["status", "--porcelain"]))
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + ("-dirty" if changes else "") if name else "unknown"


def say_if_slow(host_klu_ms, folder):
    fastest = min(ms for path in folder.glob("*.json") for ms in stored(path)["context"].get("host_klu_ms", []))
    if max(host_klu_ms) > 1.25 * fastest:
        say("the host is slow: klu_refactor of a power grid took {:.3g} ms before this file and {:.3g} after it, but "
            "{:.3g} at best; its CPU figures, and ratios to them, are of a slow host".format(*host_klu_ms, fastest))


def measure(names, machine, out, again):
    folder = out / "-".join("".join(c if c.isalnum() else " " for c in machine.context["gpu"].lower()).split())
    source = machine.source if not machine.source[1].endswith(("-dirty", "unknown")) else None
    left = [name for name in names if again or not is_whole(folder / f"{name}.json", source, RUNS[name][1])]
    for name in names:
        if name not in left:
            say(f"{name}.json is from this source; --again measures it anew")
    for number, name in enumerate(left, 1):
        seconds = [RUNS[other][0] for other in left[number - 1:]]
        say(f"{name}.json, {number} of {len(left)}, about {seconds[0]} s; {sum(seconds) / 60:.0f} minutes are left")
        start = time.monotonic()
        before_ms = machine.klu_ms
        pieces = [machine.pieces / f"{name}.{k}.json" for k in range(len(RUNS[name][1]))]
        parts = [part for part in map(machine.run, RUNS[name][1], pieces) if part]
        if parts:
            data = joined(name, parts, machine.context)
            if left_out := [m for part in RUNS[name][1] for m in part.matrices if m in machine.missing]:
                data["context"]["left_out"] = left_out
            machine.probe()
            data["context"]["host_klu_ms"] = [before_ms, machine.klu_ms]
            write(folder / f"{name}.json", data)
            say_if_slow(data["context"]["host_klu_ms"], folder)
            say(f"{folder.name}/{name}.json in {time.monotonic() - start:.0f} s")
        for piece in pieces:
            piece.unlink(missing_ok=True)
    for words in machine.missing.values():
        say(f"left out: {words}")


def say(words):
    print(f"lulab measure: {words}", file=sys.stderr, flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="lulab measure", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="names of result files; without, all")
    parser.add_argument("--list", action="store_true", help="print commands and seconds, measure nothing")
    parser.add_argument("--again", action="store_true", help="measure files of this source, too")
    parser.add_argument("--programs", type=pathlib.Path, help="folder of lulab-bench and lulab")
    parser.add_argument("--out", type=pathlib.Path, default=results.RESULTS, help="folder of the results")
    options = parser.parse_args(arguments)
    try:
        for name in options.files:
            if name not in RUNS:
                raise regress.Mistake(f"no file '{name}'; there are {' '.join(RUNS)}")
        names = options.files or list(RUNS)
        if options.list or options.programs is None:
            for name in names:
                print(f"{name}: {RUNS[name][0]} s")
                for part in RUNS[name][1]:
                    print(f"    {part.command()}")
            return 0
        os.environ["LULAB_GIT_HASH"] = commit()  # one for all runs, also when a committed result has been written over
        pieces = pathlib.Path(os.environ.get("LULAB_MEASURE", results.ROOT / "build" / "measure"))
        measure(names, Machine(options.programs, pieces), options.out, options.again)
        return 0
    except (regress.Mistake, results.Mistake, OSError, subprocess.CalledProcessError) as mistake:
        say(f"error: {mistake}")
        return 2


if __name__ == "__main__":
    sys.exit(main())
