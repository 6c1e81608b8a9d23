#!/usr/bin/env python3
"""Breaks a room in one place at a time and counts how often its tests notice.   ./lulab mutate ROOM|FILE ...

Each source and header of the room is copied into the build folder with a switch at every place that can be mutated
(places.py, switches.h). The room's tests are built once against the copies; for a room of rungs those of verify/, too,
of which the tests with one of its rungs in their name count. Then each test runs alone and writes down which places it
reaches, and for each mutant the tests that reach it run, the fastest first, until one fails: by a failed expectation, a
crash, a report of a sanitizer, or several times its usual time. Mutants that nobody can notice stand with a reason in
equivalent.json, bugs that were real in known_bugs.json.
"""
import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import places

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ROOMS = ("core preprocess symbolic model dense sparse_leftlooking sparse_hybrid sparse_syncfree solve driver verify "
         "bench app").split()
ROOMS_OF_RUNGS = "dense sparse_leftlooking sparse_hybrid sparse_syncfree".split()
SOURCES = {".h", ".cpp", ".cu"}
NO_PRODUCT = re.compile(r"_test\.\w+$|/(cuda|mpi|results)/|/main\.cpp$")


class MutateError(Exception):
    pass


def sources_of(room, root):
    return sorted(str(f.relative_to(root)) for f in (root / room).rglob("*")
                  if f.suffix in SOURCES and not NO_PRODUCT.search("/" + str(f.relative_to(root))))


def write_if_changed(path, text):
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def load(path, otherwise):
    return json.loads(path.read_text()) if path.exists() else otherwise


def save(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(value, indent=1))
    temporary.replace(path)


# --- mutants ----------------------------------------------------------------------------------------------------------

def find_in_file(task):
    root, file, arguments, bugs, bad_lines, only_bugs, kept = task
    key = places.key_of(json.dumps([(root / file).read_text(), (HERE / "places.py").read_text(), bugs, bad_lines,
                                    only_bugs]))
    stored = kept / f"{key}.json"
    if not stored.exists():
        found = places.find_places(root, file, arguments, bugs, bad_lines, only_bugs)
        count = {}
        for m in found["mutants"]:
            name = f"{m['in']}: {m['old']} -> {m['new']}" if m["new"] else f"{m['in']}: without {m['old']}"
            count[name] = count.get(name, 0) + 1
            m["id"] = name if count[name] == 1 else f"{name} ({count[name]})"
            m["file"] = file
        save(stored, found)
    return load(stored, None)


# What the simulator never does, or no test reads word by word.
LEFT_OUT = [(lambda m: m["kind"] == "unchecked" and re.search(r"(copy|fill)\w*\(|upload\(|download\(", m["old"]),
             "error of a copy"),
            (lambda m: m["kind"] == "arguments" and re.match(r"(fmt::format|fail|\w*[eE]rror)\(", m["old"]),
             "words of a message")]


def is_to_find(program, test, bug):
    return fnmatch.fnmatch(f"{program.split('.')[0]}:{test}", bug["killed_by"])


class Room:
    """The instrumented build of a room: its copies, their objects, and its test programs."""

    def __init__(self, root, room, build, jobs, bugs, only_bugs=False):
        self.root, self.name, self.build, self.jobs, self.only_bugs = root, room, build, jobs, only_bugs
        self.folder = build / "mutants" / (f"{room}.bugs" if only_bugs else room)
        self.copies = self.folder / "src"
        self.bugs = [b for b in bugs if b["file"].startswith(f"{room}/")]
        self.files = sources_of(room, root)
        if not self.files:
            raise MutateError(f"there is no room {room}; rooms: {', '.join(ROOMS)}")
        if only_bugs:
            self.files = sorted({b["file"] for b in self.bugs})
        kept = load(self.folder / "lines_left_out.json", {})  # of files that are as they were then
        self.bad_lines = {f: kept[f]["lines"] for f in self.files if kept.get(f, {}).get("of") == self.state_of(f)}

    def state_of(self, file):
        return [places.VERSION, digest([self.root / file])]

    def find(self):
        arguments = [f"-I{p}" for p in ("/usr/include/suitesparse", "/usr/include/eigen3") if Path(p).exists()]
        tasks = [(self.root, f, [*arguments, "-DFMT_SHARED"], [b for b in self.bugs if b["file"] == f],
                  self.bad_lines.get(f, []), self.only_bugs, self.folder / "places") for f in self.files]
        with concurrent.futures.ProcessPoolExecutor(self.jobs) as pool:
            found = dict(zip(self.files, pool.map(find_in_file, tasks)))
        for file, places_of_file in found.items():
            if places_of_file["errors"]:
                raise MutateError(f"libclang cannot read {file}: {places_of_file['errors'][0]}")
        self.found = found
        self.mutants = []
        for file in self.files:
            for m in found[file]["mutants"]:
                reason = next((name for rule, name in LEFT_OUT if rule(m)), None)
                if reason:
                    found[file]["left_out"][reason] = found[file]["left_out"].get(reason, 0) + 1
                else:
                    self.mutants.append(m)
        return self.mutants

    def ninja(self, *arguments, **options):
        return subprocess.run(["ninja", "-C", str(self.build), *arguments], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, **options)

    def commands(self, program):
        """The commands that compile the room and its tests, and the one that links: [(command, object, source)],
        link."""
        answer = self.ninja("-t", "commands", f"bin/{program}")
        compiles, link = [], None
        for line in answer.stdout.splitlines():
            made = re.search(r" -o (\S+) -c (\S+)$", line)
            if made and re.match(rf"CMakeFiles/(lulab_{self.name}|{program})\.dir/", made[1]):
                compiles.append((line, made[1], made[2]))
            elif f" -o bin/{program} " in line:
                link = re.sub(r" && (?:cd \S+ && )?/\S*cmake .*$", "", line.removeprefix(": && "))
        if link is None:
            raise MutateError(f"{self.build} does not know how to link {program}")
        return compiles, link

    def programs(self):
        known = self.ninja("-t", "targets", "all").stdout
        programs = [f"{self.name}_cpu_test", f"{self.name}_simt_test"]
        if self.name in ROOMS_OF_RUNGS:
            programs += ["verify_cpu_test", "verify_simt_test"]
        if self.only_bugs:
            programs = sorted({b["killed_by"].split(":")[0] for b in self.bugs})
        return [p for p in programs if f"\nbin/{p}: " in known]

    def is_counted(self, program, test):
        if self.only_bugs:
            return any(is_to_find(program.name, test, bug) for bug in self.bugs)
        return program.name.startswith(f"{self.name}_") or f"/{self.name}_" in test

    def includes_a_copy(self, made):
        lines = self.ninja("-t", "deps", made).stdout
        return any(str(self.root / f) in lines or f"/{f}" in lines for f in self.files if f.endswith(".h"))

    def write_ninja(self):
        shutil.copytree(HERE, self.folder / "src" / "testing" / "mutants", dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("*.py", "*.json", "__pycache__"))
        for file in self.files:
            write_if_changed(self.copies / file, self.found[file]["text"])
        relative = self.folder.relative_to(self.build)
        text = [f"builddir = {relative}", "rule compile", "  command = $c", "  deps = gcc", "  depfile = $out.d",
                "rule link", "  command = $c"]
        made_here, self.executables = set(), []
        for program in self.programs():
            compiles, link = self.commands(program)
            objects = {}
            for command, made, source in compiles:
                of_room = made.startswith(f"CMakeFiles/lulab_{self.name}.dir/")
                copy = source
                if "/Unity/" in made or "/groups/" in made:  # a file that includes those of a group
                    original = Path(source).read_text()
                    group = re.sub(rf'#include "{re.escape(str(self.root))}/([^"]+)"', lambda m: self.include(m[1]),
                                   original)
                    if group != original:
                        copy = str(self.folder / "groups" / made.replace("/", "_").removesuffix(".o"))
                        write_if_changed(Path(copy), group)
                elif os.path.relpath(source, self.root) in self.files:
                    copy = str(self.copies / os.path.relpath(source, self.root))
                if copy == source and not self.includes_a_copy(made):
                    if of_room:
                        objects[made] = made
                    continue
                here = f"{relative}/obj/{made}"
                objects[made] = here
                if here in made_here:
                    continue
                made_here.add(here)
                own = command.replace(f" -o {made} -c {source}", f" -I{self.root} -w -o {here} -c {copy}")
                own = re.sub(r" -M[TF] \S+", "", own).replace(" -MD", f" -MD -MT {here} -MF {here}.d")
                own = re.sub(r" (-I|-isystem )", rf" -I{self.copies} \1", own, count=1)
                text += [f"build {here}: compile {copy}", f"  c = {own.replace('$', '$$')}"]
            library = f"liblulab_{self.name}.a"
            of_room = [o for m, o in objects.items() if m.startswith(f"CMakeFiles/lulab_{self.name}.dir/")]
            out = f"bin/{program}.{self.folder.name}"
            words = link.replace(f" -o bin/{program} ", f" -o {out} ")
            for made, here in objects.items():
                words = words.replace(f" {made} ", f" {here} ")
            words = words.replace(f" {library} ", f" {' '.join(of_room)} ", 1).replace(f" {library} ", " ")
            inputs = [w for w in words.split() if w.endswith((".o", ".a")) and not w.startswith("/")]
            text += [f"build {out}: link {' '.join(inputs)}", f"  c = {words.replace('$', '$$')}"]
            self.executables.append(self.build / out)
        if not self.executables:
            raise MutateError(f"{self.name} has no tests in {self.build}")
        write_if_changed(self.folder / "build.ninja", "\n".join(text) + "\n")

    def include(self, file):
        return f'#include "{self.copies / file if file in self.files else self.root / file}"'

    def compile(self, say):
        """Lines whose copies do not compile are left out, a few at a time."""
        answer = self.ninja("-j", str(self.jobs), *[f"bin/{p}" for p in self.programs()])
        if answer.returncode != 0:
            raise MutateError(f"the tests of {self.name} do not build:\n{answer.stdout[-2000:]}")
        for _ in range(12):
            self.write_ninja()
            answer = self.ninja("-f", str(self.folder / "build.ninja"), "-j", str(self.jobs), "-k", "0",
                                *[str(e.relative_to(self.build)) for e in self.executables])
            (self.folder / "build.log").write_text(answer.stdout)
            if answer.returncode == 0:
                return
            bad = self.lines_of_errors(answer.stdout)
            new = sum(len(set(lines) - set(self.bad_lines.get(f, []))) for f, lines in bad.items())
            if not new:
                tail = "\n".join(answer.stdout.splitlines()[-15:])
                raise MutateError(f"the copies do not build; {self.folder}/build.log ends with\n{tail}")
            for file, lines in bad.items():
                self.bad_lines[file] = sorted({*self.bad_lines.get(file, []), *lines})
            save(self.folder / "lines_left_out.json",
                 {f: {"of": self.state_of(f), "lines": lines} for f, lines in self.bad_lines.items()})
            say(f"{new} lines cannot have switches; building again without them")
            self.find()
        raise MutateError("the copies do not build after twelve attempts")

    def lines_of_errors(self, log):
        """{file: lines}: the first place in a copy that each error, or the way to it, names."""
        bad, waiting, last = {}, False, None
        copy = re.compile(rf"{re.escape(str(self.copies))}/(\S+?):(\d+)(?::\d+)?:")
        relative = re.compile(rf"{re.escape(str(self.copies.relative_to(self.build)))}/(\S+?):(\d+)(?::\d+)?:")
        for line in log.splitlines():
            place = copy.search(line) or relative.search(line)
            place = place if place and place[1] in self.files else None
            if " error: " in line:
                waiting = False
                chosen = place or last
                if chosen:
                    bad.setdefault(chosen[1], set()).add(int(chosen[2]))
                else:
                    waiting = True
                last = None
            elif place and ("required from" in line or "expansion of" in line or "note:" in line):
                if waiting:
                    bad.setdefault(place[1], set()).add(int(place[2]))
                elif "note:" not in line:
                    last = last or place  # the nearest of the way
                waiting = False
            elif re.search(r": (In |At global scope)", line):
                last = None
        return {f: sorted(lines) for f, lines in bad.items()}


# --- running ----------------------------------------------------------------------------------------------------------

TOO_LONG = (-24, -9)  # what RLIMIT_CPU ends with


class Runner:
    def __init__(self, build, jobs, races, budget):
        self.build, self.jobs, self.races, self.budget = build, jobs, races, budget

    def run(self, program, tests, seconds, environment):
        """(exit code or None after too long, output, seconds of a core)"""
        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            if not self.races and "asan" not in str(self.build):
                resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "out", "w+b") as out:
            process = subprocess.Popen(
                [str(program), f"--gtest_filter={':'.join(tests)}"], cwd=self.build, stdout=out,
                stderr=subprocess.DEVNULL, preexec_fn=limit, start_new_session=True,
                env={**os.environ, "LULAB_CALIBRATION": "off", "LULAB_EVERY_REQUEST": "1", "GTEST_FAIL_FAST": "1",
                     "TMPDIR": folder, **environment})
            code, used = None, seconds
            while time.monotonic() - start < 10 * seconds + 5:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid != 0:
                    code, used = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
                    process.returncode = code
                    break
                time.sleep(0.004)
            try:
                os.killpg(process.pid, 9)
            except ProcessLookupError:
                pass
            if code is None:
                process.wait()
            out.seek(0)
            text = out.read(1 << 20).decode(errors="replace")
        return code, text, used

    def tests_of(self, program):
        """Name and file of each."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tests.json"
            subprocess.run([str(program), "--gtest_list_tests", f"--gtest_output=json:{path}"],
                           stdout=subprocess.DEVNULL, check=True, cwd=self.build)
            suites = json.loads(path.read_text())["testsuites"]
        tests = [(f"{s['name']}.{t['name']}", t["file"]) for s in suites for t in s["testsuite"]]
        return [(name, file) for name, file in tests if "DISABLED_" not in name]

    def record(self, task):
        program, test, file = task
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "record"
            code, _, seconds = self.run(program, [test], 2 * self.budget, {"LULAB_MUTANT_RECORD": str(path)})
            lines = path.read_text().splitlines() if path.exists() else []
        result = "passes" if code == 0 else "is too slow" if code in (None, *TOO_LONG) else "fails"
        return {"program": program.name, "test": test, "file": Path(file).stem, "result": result, "seconds": seconds,
                "seen": sorted(set(lines))}

    def judge(self, mutant, tests):
        """killed by which test, or None. Tests of the mutant's own file run first."""
        own = f"{Path(mutant['file']).stem}_test"
        waiting = sorted(tests, key=lambda t: (t["file"] != own, t["seconds"]))
        done, spent = 0, 0.0
        for share in (0.1, 0.5, *[2.0] * 100):
            if spent >= self.budget:
                break
            batch, total = {}, 0.0
            while done < len(waiting) and (total < share or not batch):
                t = waiting[done]
                batch.setdefault(t["program"], []).append(t)
                total += t["seconds"]
                done += 1
            for program, chosen in batch.items():
                usual = sum(t["seconds"] for t in chosen)
                spent += usual
                code, text, _ = self.run(self.build / "bin" / program, [t["test"] for t in chosen], 1 + 4 * usual,
                                         {"LULAB_MUTANT": f"{mutant['file']}:{mutant['number']}"})
                if code != 0:
                    failed = re.search(r"^\[  FAILED  \] ([\w./]+)", text, re.M)
                    started = re.findall(r"^\[ RUN      \] ([\w./]+)", text, re.M)
                    how = "fails" if failed else "takes too long" if code in (None, *TOO_LONG) else "crashes"
                    return {"by": failed[1] if failed else started[-1] if started else chosen[0]["test"], "how": how}
        return None


def digest(paths):
    h = hashlib.sha256()
    for path in paths:
        h.update(Path(path).read_bytes())
    return h.hexdigest()


def coverage_of(room, runner, say):
    """What each test reaches, kept until a program changes. For known bugs, those that must find them."""
    stored = room.folder / "coverage.json"
    key = [places.VERSION, digest([*room.executables, Path(__file__)]), runner.budget]
    kept = load(stored, {})
    if kept.get("key") == key:
        return kept["tests"]
    tasks = [(program, test, file) for program in room.executables for test, file in runner.tests_of(program)
             if room.is_counted(program, test)]
    say(f"recording what each of {len(tasks)} tests reaches")
    with concurrent.futures.ThreadPoolExecutor(runner.jobs) as pool:
        tests = list(pool.map(runner.record, tasks))
    save(stored, {"key": key, "tests": tests})
    return tests


def short(text, width=150):
    return text if len(text) <= width else text[:width - 3] + "..."


def chosen_mutants(mutants, wanted, options):
    kinds = {"known bug", "race"} if options.races else None
    chosen = [m for m in mutants if (wanted is None or m["file"] == wanted) and (kinds is None or m["kind"] in kinds)]
    sample, seed = options.sample, options.seed
    if sample and sample < len(chosen):
        chosen = sorted(random.Random(seed).sample(chosen, sample), key=lambda m: (m["file"], m["number"]))
    return chosen


def run_room(root, name, wanted, options, equivalents, bugs, say):
    """The mutants of a room, each with `state`: killed, survived, unreached, equivalent, inapplicable, other build."""
    room = Room(root, name, options.build, options.jobs, bugs, options.known_bugs)
    if not room.files:
        return room, []
    mutants = room.find()
    if options.list:
        return room, chosen_mutants(mutants, wanted, options)
    say(f"{name}: {len(mutants)} mutants in {len(room.files)} files; building its tests with them")
    room.compile(say)
    mutants = room.mutants
    chosen = chosen_mutants(mutants, wanted, options)
    runner = Runner(options.build, options.jobs, options.races, options.budget)
    tests = coverage_of(room, runner, say)
    for t in tests:
        if t["result"] == "fails":
            say(f"left out: {t['test']} of {t['program']} fails without a mutant")
    slow = sum(t["result"] == "is too slow" for t in tests)
    if slow:
        say(f"left out: {slow} tests that take more than {2 * options.budget:g} s")
    reaching, inapplicable = {}, set()
    for t in tests:
        for line in t["seen"] if t["result"] == "passes" else ():
            file, number, *rest = line.split()
            if rest:
                inapplicable.add((file, int(number)))
            else:
                reaching.setdefault((file, int(number)), []).append(t)
    # A killed mutant stays killed until its file changes: tests are added, seldom taken away. A clean build asks again.
    stored = room.folder / "results.json"
    kept = load(stored, {})
    key = digest(room.executables)
    copies = {file: digest([room.copies / file]) for file in room.files}
    results, kept_results = {}, kept.get("results", {})
    for one, result in kept_results.items():
        file = one.split(":")[0]
        if kept.get("copies", {}).get(file) == copies.get(file) and \
                (result["state"] == "killed" or kept["key"] == key and kept["budget"] >= options.budget):
            results[one] = result
    kept = {"key": key, "copies": copies, "budget": options.budget, "results": results}

    def judge(m):
        at = (m["file"], m["number"])
        tests = reaching.get(at, [])
        if m["kind"] == "known bug":
            tests = [t for t in tests if is_to_find(t["program"], t["test"], m)]
        if not tests:
            return {"state": "inapplicable" if at in inapplicable else "unreached"}
        killed = runner.judge(m, tests)
        return {"state": "killed", **killed} if killed else {"state": "survived", "tests": len(tests)}

    todo = [m for m in chosen if m["kind"] == "known bug" or f"{m['file']}:{m['number']}" not in results]
    alive_before = {one for one, r in kept_results.items() if r["state"] != "killed"}
    todo.sort(key=lambda m: f"{m['file']}:{m['number']}" in alive_before)  # what is not known yet comes first
    start = last = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = {pool.submit(judge, m): m for m in todo}
        for count, future in enumerate(concurrent.futures.as_completed(futures), 1):
            m = futures[future]
            results[f"{m['file']}:{m['number']}"] = future.result()
            if time.monotonic() - last > 15:
                last = time.monotonic()
                alive = sum(r["state"] in ("survived", "unreached") for r in results.values())
                say(f"{count} of {len(todo)} mutants after {last - start:.0f} s, {alive} not killed so far")
                save(stored, kept)
    save(stored, kept)
    for m in chosen:
        m.update(results[f"{m['file']}:{m['number']}"])
        reason = equivalents.get((m["file"], m["id"]))
        if reason is not None:
            m["reason"] = reason
            m["state"] = "equivalent" if m["state"] in ("survived", "unreached") else f"{m['state']}, but listed"
        elif (m["kind"] == "race" or m.get("races")) and not options.races and m["state"] in ("survived", "unreached"):
            m["state"] = "only sim-tsan"
    return room, chosen


# --- report -----------------------------------------------------------------------------------------------------------

def table(mutants):
    rows = [("file", "mutants", "killed", "equivalent", "survivors", "score")]
    files = sorted({m["file"] for m in mutants})
    for file in [*files, None]:
        chosen = [m for m in mutants if (file is None or m["file"] == file) and
                  m["state"] not in ("inapplicable", "only sim-tsan")]
        killed = sum(m["state"].startswith("killed") for m in chosen)
        equivalent = sum(m["state"] == "equivalent" for m in chosen)
        alive = len(chosen) - killed - equivalent
        score = f"{100 * killed / (killed + alive):.1f} %" if killed + alive else "-"
        rows.append((file or "all", len(chosen), killed, equivalent, alive, score))
    lines = [f"{'':2}{r[0]:40} {r[1]:>8} {r[2]:>8} {r[3]:>11} {r[4]:>10} {r[5]:>8}" for r in rows]
    return "\n".join(lines)


def describe(m):
    change = f"`{short(m['old'])}` -> `{short(m['new'])}`" if m["new"] else f"without `{short(m['old'])}`"
    where = f"{m['file']}:{m['line']}: in {m['in']}: {change}" if m["in"] else f"{m['file']}:{m['line']}: {change}"
    if m.get("name"):
        where += f"  [{m['name']}]"
    return where + ("  (no test reaches it)" if m.get("state") == "unreached" else "")


def read_lists(root):
    folder = root / "testing" / "mutants"
    equivalents = {}
    for file, entries in load(folder / "equivalent.json", {}).items():
        for reason, ids in entries.items():
            for one in ids:
                if (file, one) in equivalents:
                    raise MutateError(f"equivalent.json names twice: {file}: {one}")
                equivalents[file, one] = reason
    return equivalents, load(folder / "known_bugs.json", [])


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="lulab mutate", description=__doc__.split("\n\n")[0],
                                     epilog="Exit code 1: a mutant survived that equivalent.json does not explain.")
    parser.add_argument("where", nargs="*", metavar="ROOM|FILE", help="all rooms if left out")
    parser.add_argument("--sample", type=int, help="this many mutants of each room or file, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=3, metavar="SECONDS",
                        help="of the tests that reach a mutant the fastest run, for so long on a core (default: 3)")
    parser.add_argument("--known-bugs", action="store_true", help="only the bugs of known_bugs.json")
    parser.add_argument("--list", action="store_true", help="print the mutants; build and run nothing")
    parser.add_argument("--json", metavar="FILE", help="write every mutant and its fate")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--build", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.build = options.build.resolve()
    options.races = "tsan" in options.build.name
    root = options.root.resolve()
    if places.clang is None:
        raise MutateError("python3-clang-14 is missing; fix: apt-get install python3-clang-14")

    def say(text):
        print(f"mutate: {text}", file=sys.stderr, flush=True)

    equivalents, bugs = read_lists(root)
    wheres = options.where or ROOMS
    everything, stale, left_out = [], [], {}
    for where in wheres:
        name = Path(where).parts[0]
        wanted = str(Path(where)) if len(Path(where).parts) > 1 else None
        if wanted and not (root / wanted).is_file():
            raise MutateError(f"there is no file {wanted}")
        room, chosen = run_room(root, name, wanted, options, equivalents, bugs, say)
        everything += chosen
        for found in getattr(room, "found", {}).values():
            for reason, count in found["left_out"].items():
                left_out[reason] = left_out.get(reason, 0) + count
        if options.known_bugs:
            continue
        ids = {(m["file"], m["id"]) for m in room.mutants}
        stale += [f"{file}: {one}" for file, one in equivalents
                  if file.startswith(f"{name}/") and (file, one) not in ids]
    if options.json:
        Path(options.json).write_text(json.dumps(everything, indent=1))
    if options.list:
        for m in everything:
            print(describe(m))
        return 0
    print(table(everything))
    if left_out:
        reasons = (f"{count} {reason}" for reason, count in sorted(left_out.items()))
        print("places left out: " + ", ".join(reasons))
    hidden = sum(m["state"] == "only sim-tsan" for m in everything)
    if hidden:
        print(f"{hidden} orders of memory, barriers and fences that these tests do not miss; "
              "the preset sim-tsan may: ./lulab --preset sim-tsan mutate " + " ".join(options.where))
    bad = [m for m in everything if m["state"] in ("survived", "unreached")]
    for m in bad:
        print("survived: " + describe(m))
    listed = [m for m in everything if m["state"].endswith("but listed")]
    for m in listed:
        print(f"{m['state']} in equivalent.json: {describe(m)}" + (f"  by {m['by']}" if "by" in m else ""))
    for one in stale:
        print(f"equivalent.json names a mutant that is not there: {one}")
    return 1 if bad or listed or stale else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MutateError as error:
        print(f"lulab: error: {error}", file=sys.stderr)
        sys.exit(2)
