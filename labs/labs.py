#!/usr/bin/env python3
"""Labs: kernels with holes.   ./lulab lab list | start N | check N | hint N | reveal N | reset N | grade FOLDER

A lab is a file NN_name.json beside this one. Its lines stand in a real source between `// lab: NAME begin` and
`// lab: NAME end`. `start` writes that source with holes into the student's folder; `check` compiles the student's file
in its place, links it in front of the built libraries, and runs the checks, each in a process of its own.
"""
import argparse
import csv
import hashlib
import json
import os
import re
import resource
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PROGRAM = "labs_simt_test"
NOT_IMPLEMENTED, HANGS, RACED = 71, 70, 66  # exit codes: not_implemented.h, the simulator's watchdog, ThreadSanitizer
STAGES = ["builds", "implemented", "survives", "caught", "finite", "small_exact", "properties", "schedules", "races",
          "accuracy", "speed"]
BEFORE_RACES = ["finite", "small_exact", "properties", "schedules"]
CHECKS = {"finite": "FactorsLab.Finite", "small_exact": "FactorsLab.SmallExact", "properties": "FactorsLab.Properties",
          "schedules": "FactorsLab.Schedules", "races": "FactorsLab.SmallExact:FactorsLab.Schedules",
          "accuracy": "FactorsLab.Conformance"}
POINTS = {"builds": 0, "implemented": 1, "survives": 2, "caught": 3, "finite": 1, "small_exact": 2, "properties": 2,
          "schedules": 2, "races": 1, "accuracy": 1, "speed": 1}
# Memory accesses as a multiple of the reference's: more is slow; less than it can be is no work, but a way around the
# counting.
SPEED = {"least": 0.6, "most": 2.0}
COUNTED = ["-fsanitize=thread", "-U__SANITIZE_THREAD__"]  # the calls of that sanitizer end in count_accesses.cpp
# Only the unit is watched, and no stack: the libraries switch stacks without telling the sanitizer.
WATCHED = ["-fsanitize=address", "--param=asan-stack=0", "--param=asan-globals=0", "-g1"]
SECONDS = {"compile": 120, "races": 300, "others": 60}  # the last two for one stage
BYTES = {"address space": 2 << 30, "files": 16 << 20}
CRASHES = {signal.SIGSEGV: "SIGSEGV, memory outside of all arrays was used: a wrong index",
           signal.SIGABRT: "SIGABRT, memory outside an array was written, or there was no memory left",
           signal.SIGXFSZ: f"SIGXFSZ, it wrote more than {BYTES['files'] >> 20} MB",
           signal.SIGXCPU: "SIGXCPU, it took too much time"}


class LabError(Exception):
    """What a user must know; no traceback."""


# --- descriptions, holes ----------------------------------------------------------------------------------------------

class Lab:
    def __init__(self, path):
        self.id = path.stem  # "03_publish"
        self.name = self.id[3:]
        self.__dict__.update(json.loads(path.read_text(encoding="utf-8")))
        self.checks = {stage: test for stage, test in {**CHECKS, **getattr(self, "checks", {})}.items() if test}
        self.points = {**POINTS, **getattr(self, "points", {})}
        self.unit = getattr(self, "unit", self.file)  # what is compiled: the file, or the source that includes it
        self.breaks = getattr(self, "breaks", False)  # a solution is wrong, and only the stage `caught` sees it

    def next(self, command, option=""):
        """The next command, for a message."""
        why = {"start": "to begin: ", "reset": "to begin anew (your file is kept): "}.get(command, "")
        return f"{why}./lulab lab {command} {int(self.id[:2])} {option}".rstrip()

    def reference(self):
        return (ROOT / self.file).read_text(encoding="utf-8")

    def split(self, text, where):
        """[outside, hole, outside, hole, ..., outside]; the markers belong to the outside."""
        parts, lines, inside = [], [], False
        for number, line in enumerate(text.splitlines(keepends=True), 1):
            marker = re.fullmatch(rf"\s*// lab: {self.name} (begin|end)\s*", line)
            if marker and (marker[1] == "end") != inside:
                raise LabError(f"{where}:{number}: an unexpected marker; {self.next('reset', '--force')}")
            if marker and inside:
                parts.append("".join(lines))
                lines = []
            lines.append(line)
            if marker and not inside:
                parts.append("".join(lines))
                lines = []
            inside = inside != bool(marker)
        if inside or not parts:
            raise LabError(f"{where}: a marker `// lab: {self.name} begin` or `end` is missing; "
                           f"{self.next('reset', '--force')}")
        return parts + ["".join(lines)]

    def solution_holes(self):
        return self.split(self.reference(), self.file)[1::2]

    def changed_holes(self, replacements):
        """The reference's holes with (old, new) replaced; each old text stands in them exactly once."""
        holes = self.solution_holes()
        for old, new in replacements:
            if sum(hole.count(old) for hole in holes) != 1:
                raise LabError(f"{self.id}.json: not once in the holes: {old}")
            holes = [hole.replace(old, new) for hole in holes]
        return holes

    def solutions(self):
        """[(name, holes)]: the reference's own, or of a lab that breaks a kernel those of its description."""
        if not self.breaks:
            return [("reference", self.solution_holes())]
        return [(solution["name"], self.changed_holes(solution["replace"])) for solution in self.wrong]

    def filled(self, holes):
        """The reference with these holes."""
        parts = self.split(self.reference(), self.file)
        parts[1::2] = holes
        return "".join(parts)

    def skeleton(self):
        parts = self.split(self.reference(), self.file)
        holes = []
        if len(parts) // 2 != len(self.write):
            raise LabError(f"{self.id}.json: `write` has {len(self.write)} texts for {len(parts) // 2} holes")
        for before, lines, hole in zip(parts[0::2], parts[1::2], self.write):
            marker = before.splitlines()[-1]
            indent = marker[:len(marker) - len(marker.lstrip())]
            comment = textwrap.wrap("WRITE: " + hole["say"], 116 - len(indent))
            code = hole.get("code", [f'LULAB_NOT_IMPLEMENTED("{self.id}");'])
            holes.append("".join(f"{indent}{line}\n" for line in [*("// " + c for c in comment), *code]) +
                         (lines if hole.get("keeps") else ""))
        return self.filled(holes)

    def outside_difference(self, text, where):
        """The first line outside the holes that is not the reference's; None when there is none."""
        mine, theirs = self.split(text, where), self.split(self.reference(), self.file)
        if len(mine) != len(theirs):
            return f"{where}: {len(mine) // 2} holes, but the lab has {len(theirs) // 2}"
        number = 1
        for index, (m, t) in enumerate(zip(mine, theirs)):
            if index % 2 == 0 and m != t:
                m_lines, t_lines = m.splitlines(), t.splitlines()
                for k in range(max(len(m_lines), len(t_lines))):
                    has, wants = (lines[k] if k < len(lines) else "(nothing)" for lines in (m_lines, t_lines))
                    if has != wants:
                        return (f"{where}:{number + k}: outside the holes the file must stay as it is\n"
                                f"  expected: {wants}\n  actual:   {has}")
                return f"{where}: its end has another number of line breaks than {self.file}"
            number += m.count("\n")
        return None


def all_labs():
    return [Lab(path) for path in sorted(HERE.glob("[0-9][0-9]_*.json"))]


def find_lab(name):
    for lab in all_labs():
        if name in (lab.id, lab.name, lab.id[:2]) or (name.isdigit() and int(name) == int(lab.id[:2])):
            return lab
    raise LabError(f"no lab '{name}'; there are {', '.join(lab.id for lab in all_labs())}")


# --- compile and link -------------------------------------------------------------------------------------------------

class Build:
    """A configured build folder with the check program; compiles and links one file in front of its libraries."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.preset = self.folder.name
        self.has_races = self.preset == "sim-tsan"

    def exists(self):
        return (self.folder / "bin" / PROGRAM).exists()

    def compile_command(self, lab):
        """Of the unit; where it compiles in a group, that of a group of its room."""
        room = lab.unit.split("/")[0]
        best = None
        for entry in json.loads((self.folder / "compile_commands.json").read_text(encoding="utf-8")):
            if Path(entry["file"]) == ROOT / lab.unit:
                best = entry
                break
            if f"CMakeFiles/lulab_{room}.dir/" in entry["command"]:
                best = entry
        if best is None:
            raise LabError(f"{self.folder} does not compile {lab.unit}; build it: ./lulab --preset {self.preset} build")
        words = shlex.split(best["command"])
        del words[words.index("-c"):]
        del words[words.index("-o"):words.index("-o") + 2]
        return [word for word in words if word not in ("-Werror", "-c")], best["directory"]

    def compiler_cache(self):
        cache = (self.folder / "CMakeCache.txt").read_text(encoding="utf-8")
        found = re.search(r"^LULAB_CCACHE:FILEPATH=(.*ccache)$", cache, re.MULTILINE)
        return [found[1]] if found else []

    def build(self, lab, text, shown_as, scratch, also=()):
        """The program, or the text of the first error.   Returns (path, error).

        also: for the compiler. COUNTED: the program counts the memory accesses of the unit; WATCHED: it ends with a
        report where the unit uses memory outside of all arrays.
        """
        overlay = scratch / "overlay"
        own = overlay / lab.file
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(f'#line 1 "{shown_as}"\n{text}', encoding="utf-8", errors="surrogateescape")
        words, folder = self.compile_command(lab)
        unit = own if lab.unit == lab.file else ROOT / lab.unit
        name = self.preset + "".join(also[:1])
        compiled = scratch / f"{name}.o"
        # -O1: the checks are about what the kernel does; half of the time to compile.
        words = [words[0], f"-I{overlay}", *words[1:], "-include", str(HERE / "not_implemented.h"), "-O1",
                 *also, "-fmax-errors=3", "-fdiagnostics-color=never", "-x", "c++", "-c",
                 str(unit), "-o", str(compiled)]
        try:
            done = subprocess.run([*self.compiler_cache(), *words], cwd=folder, capture_output=True, text=True,
                                  errors="backslashreplace", timeout=SECONDS["compile"],
                                  env={**os.environ, "CCACHE_SLOPPINESS": "pch_defines,time_macros"})
        except subprocess.TimeoutExpired:
            return None, f"{shown_as} did not compile within {SECONDS['compile']} s"
        if done.returncode != 0:
            return None, first_error(done.stderr, "error:")
        program = scratch / f"{name}.check"
        commands = ["ninja", "-C", str(self.folder), "-t", "commands", PROGRAM]
        steps = subprocess.run(commands, capture_output=True, text=True, check=True).stdout.splitlines()
        link = shlex.split(steps[-1].split("&&")[1])
        link[link.index("-o") + 1] = str(program)
        # The first definition counts: the student's, before those of its room.
        library = next(k for k, word in enumerate(link) if word.endswith(f"lulab_{lab.unit.split('/')[0]}.a"))
        link[library:library] = ["-Wl,--allow-multiple-definition", str(compiled)]
        if also is WATCHED:
            link.append(WATCHED[0])
        done = subprocess.run(link, cwd=self.folder, capture_output=True, text=True, errors="backslashreplace")
        if done.returncode != 0:
            return None, first_error(done.stderr, "undefined reference")
        return program, None


def first_error(text, what):
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if what in line:
            return "\n".join(lines[number:number + 4])
    return "\n".join(lines[-8:])


# --- run --------------------------------------------------------------------------------------------------------------

def fixed_layout(build):
    """ThreadSanitizer of GCC 12 needs a fixed memory layout."""
    command = ["setarch", os.uname().machine, "-R"]
    if not build.has_races:
        return []
    try:
        return command if subprocess.run([*command, "true"], capture_output=True).returncode == 0 else []
    except FileNotFoundError:
        return []


def limit_resources(seconds, address_space):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (BYTES["files"], BYTES["files"]))
        resource.setrlimit(resource.RLIMIT_CPU, (2 * seconds, 2 * seconds))
        if address_space:
            resource.setrlimit(resource.RLIMIT_AS, (BYTES["address space"], BYTES["address space"]))
    return set_limits


def run_checks(lab, build, program, tests, seed, verdicts_told=None, watched=False):
    """Runs the tests, `Suite.Name:Suite.Name`, in one process.   Returns None, or the first failure: message, facts.

    verdicts_told: a dict that gets the verdict of each test.   watched: the program was built with WATCHED.
    """
    seconds = SECONDS["races" if build.has_races else "others"]
    token = secrets.token_hex(16)
    # A pipe: the process cannot read back the token of a verdict that it has written.
    verdicts, for_verdicts = os.pipe()
    with tempfile.TemporaryFile() as output, open(verdicts, "rb", buffering=0) as verdicts:
        command = [*fixed_layout(build), str(program), f"--gtest_filter={tests}", "--rung", lab.rung,
                   "--seed", str(seed), "--verdicts", str(for_verdicts)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT,
                                   pass_fds=[for_verdicts], start_new_session=True,
                                   # The sanitizers map terabytes.
                                   preexec_fn=limit_resources(seconds, not (build.has_races or watched)),
                                   env={**os.environ, "LULAB_CALIBRATION": "off", "ASAN_OPTIONS":
                                        f"detect_leaks=0:hard_rss_limit_mb={BYTES['address space'] >> 20}"})
        os.close(for_verdicts)
        os.set_blocking(verdicts.fileno(), False)  # something that outlives the process may hold its end
        timed_out = False
        try:
            process.communicate((token + "\n").encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
        try:
            os.killpg(process.pid, signal.SIGKILL)  # what the tested code may have started
        except ProcessLookupError:
            pass
        code = process.wait()
        verdict_of = read_verdicts(verdicts.read(1 << 20) or b"", token)
        if verdicts_told is not None:
            verdicts_told.update(verdict_of)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    failure = judge(tests.split(":"), verdict_of, code, timed_out, seconds, text,
                    Path(lab.file).name if watched else None)
    if failure and "report" in failure["facts"]:
        failure["facts"]["report"] = with_lines(race_of(text) or failure["facts"]["report"], text, program)
    printed = [line[:200] for line in text.splitlines() if not line.startswith(("replay: ", "lulab: ", "simulator: "))]
    if failure and printed and not build.has_races and not watched:  # there reports of the sanitizers
        failure["facts"]["it printed"] = "\n".join(["..."] * (len(printed) > 10) + printed[-10:])
    return failure


def read_verdicts(told, token):
    """test: verdict, of the lines with the token."""
    verdict_of = {}
    for line in told.splitlines():
        try:
            verdict = json.loads(line)
        except ValueError:
            continue
        if isinstance(verdict, dict) and verdict.get("token") == token:
            verdict_of[verdict["test"]] = verdict
    return verdict_of


def race_of(output):
    """What the simulator tells of the first race, but how to repeat it."""
    lines = output.splitlines()
    at = next((k for k, line in enumerate(lines) if line.startswith("race in kernel")), None)
    return None if at is None else "\n".join(lines[at:at + 4])


def with_lines(report, output, program):
    """The report with the lines of a race, where ThreadSanitizer found none: GCC 12's misses some that are there."""
    for offset in re.findall(r"^    #0 .* <null> \(.*\+(0x[0-9a-f]+)\)$", output, re.MULTILINE):
        if "<null>:0" not in report:
            break
        found = subprocess.run(["addr2line", "-e", str(program), offset], capture_output=True, text=True).stdout
        report = report.replace("<null>:0", Path(found.strip()).name or "an unknown line", 1)
    return report


def outside_all_arrays(text, file):
    """What AddressSanitizer reports, in one line, at the innermost line of the file where one is on the stack; None
    where it reports nothing of that kind."""
    access = re.search(r"(READ|WRITE) (?:of size (\d+)|memory access)", text)
    stack = text[access.end():].split("\n\n")[0] if access else ""
    frames = re.findall(r"^ +#\d+ \S+ in (.*) (?:[^\s:]*/)?([^\s:/]+):(\d+)(?::\d+)?$", stack, re.MULTILINE)
    if not frames:
        return None
    name, where, line = next((frame for frame in frames if frame[1] == file), frames[0])
    function = re.search(r"(\w+)(?:<[^()]*>)?(?:\(|$)", name.replace("(anonymous namespace)::", ""))
    what = f"a {access[1].lower()}" + f" of {access[2]} bytes" * bool(access[2])
    what += f" at {where}:{line}" + (f" in {function[1]}" if function else "")
    place = re.search(r"^0x\w+ is located (\d+) bytes (before|after|to the left of|to the right of) (\d+)-byte region",
                      text, re.MULTILINE)  # two words since GCC 13
    if place is None:
        return what
    side = {"to the left of": "before", "to the right of": "after"}.get(place[2], place[2])
    return f"{what}, {place[1]} bytes {side} an array of {place[3]} bytes"


def judge(tests, verdict_of, code, timed_out, seconds, text, watched_file=None):
    def failure(message, facts=None, stage=None, crashed=False, hangs=False):
        return {"message": message, "facts": facts or {}, "stage": stage, "crashed": crashed, "hangs": hangs}

    outside = watched_file and outside_all_arrays(text, watched_file)
    if outside:
        return failure("memory outside of all arrays is used: a wrong index, or a value read before it was written",
                       {"report": outside})

    for line in text.splitlines():
        if code == NOT_IMPLEMENTED and line.startswith("lulab: lab ") and " is not implemented: " in line:
            return failure(line.removeprefix("lulab: "), stage="implemented")
    for test in tests:
        verdict = verdict_of.get(test)
        if verdict is not None and verdict["passed"]:
            continue
        if verdict is not None:
            facts = verdict.get("facts", {})
            return failure("" if facts else verdict.get("message", "skipped: it cannot run here"), facts)
        if timed_out:
            return failure(f"{test} did not end within {seconds} s: it hangs, or does far too much", hangs=True)
        if code == HANGS:
            line = next((line for line in text.splitlines() if line.startswith("simulator: ")), "")
            return failure("the kernel hangs: a loop without an atomic access lets no other thread run",
                           {"report": line}, hangs=True)
        if code == 0:
            return failure(f"the process ended inside {test} with exit code 0, before the verdict: the lines of a lab "
                           "must not end the process")
        what = CRASHES.get(-code, signal.Signals(-code).name) if code < 0 else f"exit code {code}"
        return failure(f"the process ended inside {test}: {what}", crashed=code in (-signal.SIGSEGV, -signal.SIGABRT))
    if code == RACED:
        return failure("two threads use the same memory and nothing orders them", {"report": race_of(text) or ""})
    if code != 0:
        return failure(f"every test passed, but the process ended with {code}")
    return None


def count_accesses(lab, build, text, shown_as, scratch, seed):
    """Memory accesses of the test of the stage `speed`.   Returns (of all, of the longest thread), failure."""
    program, error = build.build(lab, text, shown_as, scratch, COUNTED)
    if error:
        return None, {"message": error, "facts": {}, "stage": None}
    told = {}
    failure = run_checks(lab, build, program, lab.checks["speed"], seed, told)
    return (sum(v["accesses"] for v in told.values()), sum(v["longest"] for v in told.values())), failure


def reference_accesses(lab, build, scratch, seed):
    """Those of the reference; counted once for each reference, program and seed."""
    program = build.folder / "bin" / PROGRAM
    known = [lab.reference(), lab.checks["speed"], str(program.stat().st_mtime_ns), str(seed)]
    kept = build.folder / "labs" / f"accesses_{hashlib.sha256(chr(0).join(known).encode()).hexdigest()[:16]}.json"
    if kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    counts, failure = count_accesses(lab, build, lab.reference(), lab.file, scratch / "reference", seed)
    if failure:
        raise LabError(f"{lab.file} itself fails: {failure['message']} {failure['facts']}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
    partial.write_text(json.dumps(counts), encoding="utf-8")
    partial.replace(kept)
    return counts


def check_speed(lab, build, text, shown_as, scratch, seed):
    """None, or the failure: it does more than the reference, or less than can be."""
    mine, failure = count_accesses(lab, build, text, shown_as, scratch, seed)
    if failure:
        return failure
    reference = reference_accesses(lab, build, scratch, seed)
    for what, m, r in zip(("memory accesses of all threads", "memory accesses of the longest thread"), mine, reference):
        if m > SPEED["most"] * r:
            return {"message": "it is right, but slow", "stage": None, "facts": {
                "expected": f"at most {SPEED['most']:g} times the reference's {what}, {r}",
                "actual": f"{m / r:.1f} times: {m}"}}
    if mine[0] < SPEED["least"] * reference[0]:
        return {"message": "faster than can be: this is no record, but a way around the counting", "stage": None,
                "facts": {"expected": f"at least {SPEED['least']:g} times the reference's memory accesses, "
                                      f"{reference[0]}", "actual": str(mine[0])}}
    return None


def look_closer(lab, stage, failure, text, shown_as, sim, tsan, programs, scratch, seed):
    """Adds to the failure of a stage what the sanitizers see: the line that left an array, two threads that race."""
    if failure.get("crashed"):
        program, error = sim.build(lab, text, shown_as, scratch, WATCHED)
        seen = None if error else run_checks(lab, sim, program, lab.checks[stage], seed, watched=True)
        if seen and "report" in seen["facts"]:
            failure = {**seen, "facts": {**seen["facts"], **failure["facts"]}}
    if tsan in programs and stage in BEFORE_RACES and not failure.get("hangs"):
        seen = run_checks(lab, tsan, programs[tsan], lab.checks[stage], seed)
        if seen and seen["facts"].get("report", "").startswith("race in kernel"):
            failure["facts"]["race"] = seen["facts"]["report"]
    return failure


def must_be_caught(failure):
    """Of a kernel that is to be wrong and to look right: None when the verifier says that its factors are wrong."""
    if failure is None:
        return {"message": "the verifier finds nothing wrong with it", "facts": {}, "stage": None}
    if failure["stage"] is not None or "verifier" in failure["facts"]:
        return failure if failure["stage"] else None
    return {**failure, "message": "everybody sees that it is wrong: it must give factors, and look right. "
                                  f"{failure['message']}".strip()}


def stage_report(lab, stage, passed, failure=None):
    failure = failure or {"message": "", "facts": {}}
    of = lab.points[stage]
    return {"stage": stage, "passed": passed, "points": of if passed else 0, "of": of, "message": failure["message"],
            "facts": failure["facts"]}


def check(lab, text, shown_as, builds, seed, scratch, first_only=True, stages=STAGES, closer=False):
    """Compiles the text and puts it through the stages.   Returns a list of stage reports, in order.

    closer: the sanitizers look at the first failure, for somebody who waits to read it.

    A report: stage, passed (None: not run), points, of, message, facts. After "builds" or "implemented" nothing runs.
    """
    reports = []

    def report(stage, passed, failure=None):
        reports.append(stage_report(lab, stage, passed, failure))
        return passed is not False

    scratch.mkdir(parents=True, exist_ok=True)
    wanted = [s for s in stages if s in lab.checks]
    sim, tsan = (next((b for b in builds if b.has_races == races), None) for races in (False, True))
    difference = lab.outside_difference(text, shown_as)
    if difference:
        report("builds", False, {"message": difference, "facts": {}})
        return reports
    programs, error = {}, None
    if sim:
        programs[sim], error = sim.build(lab, text, shown_as, scratch)
    if tsan and "races" in wanted and not error:
        programs[tsan], error = tsan.build(lab, text, shown_as, scratch)
    if not report("builds", error is None, error and {"message": error, "facts": {}}):
        return reports
    for stage in wanted:
        build = tsan if stage == "races" else sim
        failure = None
        if build and stage == "speed":
            failure = check_speed(lab, build, text, shown_as, scratch, seed)
        elif build:
            failure = run_checks(lab, build, programs[build], lab.checks[stage], seed)
            if failure and closer and not failure["stage"]:
                failure = look_closer(lab, stage, failure, text, shown_as, sim, tsan, programs, scratch, seed)
            if stage == "caught":
                failure = must_be_caught(failure)
        if len(reports) == 1:  # the first that runs tells whether all is written
            missing = failure if failure and failure["stage"] else None
            if not report("implemented", missing is None, missing):
                return reports
        elif failure and failure["stage"]:
            reports[1].update(passed=False, points=0, message=failure["message"])
            return reports
        if not build:
            report(stage, None, {"message": "needs a build with ThreadSanitizer", "facts": {}})
        elif not report(stage, failure is None, failure) and first_only:
            return reports
    return reports


# --- commands ---------------------------------------------------------------------------------------------------------

def student_file(lab, arguments):
    return Path(arguments.dir) / lab.id / Path(lab.file).name


def list_labs(arguments):
    for lab in all_labs():
        began = "started" if student_file(lab, arguments).exists() else ""
        print(f"{lab.id:22s} {lab.minutes:3d} min  {lab.stage:20s} {lab.title}  {began}".rstrip())
    print("next: ./lulab lab start 1")


def description(lab):
    write = "\n".join(textwrap.fill(f"{k}. {hole['say']}", 100, subsequent_indent="   ")
                      for k, hole in enumerate(lab.write, 1))
    return (f"# Lab {lab.id}: {lab.title}\n\n{textwrap.fill(lab.question, 100)}\n\nWrite, between the markers of "
            f"`{Path(lab.file).name}`:\n\n{write}\n\nRead first: {', '.join(lab.read)}. About {lab.minutes} "
            f"minutes.\n\n    {lab.next('check')}\n    {lab.next('hint')}\n")


def keep_copy(path):
    copy = path.with_name(f"{path.name}.{time.strftime('%Y-%m-%d_%H%M%S')}")
    number = 1
    while copy.exists():
        copy = copy.with_name(f"{path.name}.{time.strftime('%Y-%m-%d_%H%M%S')}_{number}")
        number += 1
    path.rename(copy)
    print(f"your file is kept as {copy}")


def start(arguments, again=False):
    lab = find_lab(arguments.lab)
    path = student_file(lab, arguments)
    if path.exists() and not arguments.force:
        raise LabError(f"{path} exists; {lab.next('reset', '--force')}")
    if again and not path.exists():
        raise LabError(f"{path} does not exist; {lab.next('start')}")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        keep_copy(path)
    path.write_text(lab.skeleton(), encoding="utf-8")
    (path.parent / "README.md").write_text(description(lab), encoding="utf-8")
    print(description(lab))
    begins = [str(k) for k, line in enumerate(lab.skeleton().splitlines(), 1)
              if line.endswith(f"// lab: {lab.name} begin")]
    print(f"edit: {path}, below line{'s' * (len(begins) > 1)} {', '.join(begins)}")


def show_report(lab, path, reports, seed, with_races):
    print(f"lab {lab.id}: {path}, seed {seed}")
    for r in reports:
        result = {True: "passed", False: "FAILED", None: "not run"}[r["passed"]]
        points = f"{r['points']} of {r['of']}" if r["of"] else ""
        print(f"  {r['stage']:12s} {result:8s} {r['message'] if r['passed'] is None else points}".rstrip())
    failed = next((r for r in reports if r["passed"] is False), None)
    races = lab.next("check", "--races")
    not_run = any(r["passed"] is None for r in reports)
    if failed is None:
        of = sum(r["of"] for r in reports if r["passed"])
        if not_run:
            print(f"passed what ran: {of} of {of} points. To look for races: {races} "
                  "(builds for some minutes, once)")
        else:
            print(f"passed: {of} of {of} points. Compare with the reference: {lab.next('reveal')}")
        return 0
    print()
    for line in failed["message"].splitlines():
        print(f"  {line}")
    for what, value in failed["facts"].items():
        print(f"  {what + ':':20s} " + value.replace("\n", "\n" + " " * 23))
    again = lab.next("check", "" if seed == 1 else f"--seed {seed}")
    hint = f"edit, then {again}; a hint: {lab.next('hint')}"
    if failed["stage"] in BEFORE_RACES and "races" in lab.checks and not with_races:
        hint += f"; is it a race? {races}"
    more = {"builds": f"edit that line, then {again}",
            "implemented": f"write it, then {again}; for a start: {lab.next('hint')}"}
    print(f"\nnext: {more.get(failed['stage'], hint)}")
    return 1


def builds_for(arguments):
    """The build of the simulator and, where it is wanted and there, that with ThreadSanitizer."""
    build = Build(arguments.build)
    tsan = Build(build.folder.parent / "sim-tsan")
    wanted = [build] + [tsan] * (arguments.races or (tsan.exists() and not arguments.no_races))
    for one in wanted:
        if not one.exists():
            raise LabError(f"{one.folder} has no {PROGRAM}; build it: ./lulab --preset {one.preset} build {PROGRAM}")
    return wanted


def check_file(lab, path, builds, arguments, first_only):
    scratch = builds[0].folder / "labs" / hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise LabError(f"{path} is no text in UTF-8") from None
    except OSError as error:
        raise LabError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return check(lab, text, str(path), builds, arguments.seed, scratch, first_only, closer=first_only)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def summary_of(lab, path, reports, builds, seed):
    """`of` counts what could have run, so that it is the same for every submission."""
    can_run = ["builds", "implemented", *(s for s in lab.checks if s != "races" or len(builds) > 1)]
    return {"lab": lab.id, "file": str(path), "seed": seed, "passed": all(r["passed"] is not False for r in reports),
            "points": sum(r["points"] for r in reports), "of": sum(lab.points[s] for s in can_run), "stages": reports}


def row_of(verdict):
    """For a table: student, lab, points, of, the stage that failed first, and why in a few words."""
    failed = next((r for r in verdict["stages"] if r["passed"] is False), None)
    why = failed and " ".join((failed["message"] or str(failed["facts"])).split())[:150]
    return [verdict["student"], verdict["lab"], verdict["points"], verdict["of"], failed and failed["stage"], why]


def check_command(arguments):
    lab = find_lab(arguments.lab)
    path = student_file(lab, arguments)
    if not path.exists():
        raise LabError(f"{path} does not exist; {lab.next('start')}")
    if arguments.only_look:
        return 0
    builds = builds_for(arguments)
    reports = check_file(lab, path, builds, arguments, first_only=not arguments.json)
    if arguments.json:
        verdict = summary_of(lab, path, reports, builds, arguments.seed)
        print(json.dumps(verdict))
        return 0 if verdict["passed"] else 1
    return show_report(lab, path, reports, arguments.seed, with_races=len(builds) > 1)


def submitted(lab, folder):
    """(path of the file, None), wherever it lies in the folder; or (what there is instead, what is wrong).

    A symbolic link is no file: it may lead to somebody else's.
    """
    name = Path(lab.file).name
    files = sorted(p for p in Path(folder).rglob("*") if os.path.isfile(p) and not os.path.islink(p))
    named = [p for p in files if p.name == name]
    own = [p for p in named if p.parent.name == lab.id] or named
    if len(own) == 1:
        return own[0], None
    instead = own or [p for p in files if p.parent.name == lab.id]
    there = f"; there is {', '.join(str(p.relative_to(folder)) for p in instead[:4])}" if instead else ""
    return instead, f"{len(own)} files {name} in the submission, where one is needed{there}"


def grade(arguments):
    """A line for each file of a lab in each folder; for the labs of --labs also where it is missing."""
    folder = Path(arguments.folder)
    if not folder.is_dir():
        raise LabError(f"{folder} is no folder")
    wanted = [find_lab(name.strip()) for name in (arguments.labs or "").split(",") if name.strip()]
    found, without = [], []
    for student in sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith((".", "__"))):
        any_file = False
        for lab in wanted or all_labs():
            there, wrong = submitted(lab, student)
            if there or wanted:
                path = student / lab.id / Path(lab.file).name if wrong else there
                found.append((student.name, lab, path, wrong))
            any_file = any_file or bool(there)
        if not any_file:
            without.append(student)
    if not found:
        raise LabError(f"no {folder}/NAME/{all_labs()[0].id}/... here: a folder for each student, with the folders of "
                       "my_labs in it")
    if arguments.only_look:
        return
    for student in without:
        print(f"lulab: no file of {'these labs' if wanted else 'any lab'} in {student}", file=sys.stderr)
    builds = builds_for(arguments)
    table = csv.writer(sys.stdout)
    if arguments.csv:
        table.writerow(["student", "lab", "points", "of", "failed", "why"])
    for student, lab, path, wrong in found:
        try:
            if wrong:
                raise LabError(wrong)
            reports = check_file(lab, path, builds, arguments, first_only=False)
        except LabError as error:
            reports = [stage_report(lab, "builds", False, {"message": str(error), "facts": {}})]
        verdict = {"student": student, **summary_of(lab, path, reports, builds, arguments.seed)}
        if arguments.csv:
            table.writerow(row_of(verdict))
        else:
            print(json.dumps(verdict))
        sys.stdout.flush()


def hint(arguments):
    lab = find_lab(arguments.lab)
    for level in range(1, arguments.level + 1):
        print(textwrap.fill(f"hint {level} of {len(lab.hints)}: {lab.hints[level - 1]}", 100))
    if arguments.level < len(lab.hints):
        print(f"more: {lab.next('hint', f'--level {arguments.level + 1}')}")


def reveal(arguments):
    lab = find_lab(arguments.lab)
    if lab.breaks:
        for name, holes in lab.solutions():
            print(f"{name}:\n{''.join(holes)}")
        return
    parts, line = lab.split(lab.reference(), lab.file), 1
    for index, part in enumerate(parts):
        if index % 2 == 1:
            print(f"{lab.file}:{line}\n{part}")
        line += part.count("\n")


def parse(argv):
    parser = argparse.ArgumentParser(prog="./lulab lab", description="Kernels with holes: write the lines, check them.")
    parser.add_argument("--build", default=str(ROOT / "build" / "sim"), help=argparse.SUPPRESS)
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name, help, run, takes_lab=True):
        command = commands.add_parser(name, help=help)
        command.set_defaults(run=run)
        command.add_argument("--dir", default="my_labs", help="folder of your files (default: my_labs)")
        if takes_lab:
            command.add_argument("lab", help="number or name")
        return command

    add("list", "the labs", list_labs, takes_lab=False)
    for name, help, run in (("start", "write the file with holes", start),
                            ("reset", "begin anew; keeps your file under the date", lambda a: start(a, again=True))):
        add(name, help, run).add_argument("--force", action="store_true", help="although the file exists")
    checker = add("check", "compile and check your file", check_command)
    checker.add_argument("--json", action="store_true", help="one line of JSON, every stage with its points")
    grader = commands.add_parser("grade", help="check the files of many students: a line of JSON for each")
    grader.set_defaults(run=grade)
    grader.add_argument("folder", help="a folder for each student, with the folders of my_labs in it")
    grader.add_argument("--labs", help="numbers or names, with commas between them: a line for each of these, also "
                        "where the file is missing; default: for each file that is there")
    grader.add_argument("--csv", action="store_true", help="a table for a spreadsheet in place of JSON")
    for command in (checker, grader):
        command.add_argument("--only-look", action="store_true", help=argparse.SUPPRESS)  # before the build
        command.add_argument("--seed", type=int, default=1, help="of the random inputs")
        command.add_argument("--races", action="store_true", help="build with ThreadSanitizer, too, and look for races")
        command.add_argument("--no-races", action="store_true", help="do not look for races")
    add("hint", "a hint", hint).add_argument("--level", type=int, default=1, choices=(1, 2, 3))
    add("reveal", "the reference's lines", reveal)
    return parser.parse_args(argv)


def main(argv):
    arguments = parse(argv)
    try:
        return arguments.run(arguments) or 0
    except LabError as error:
        print(f"lulab: error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # a file name can be any bytes
    sys.exit(main(sys.argv[1:]))
