#!/usr/bin/env python3
"""The rules of the house that no compiler checks.   python3 cmake/check_rules.py [folder]

  includes      a room includes only itself and rooms above it; no sparse stage includes another
  testing       only *_test.* files, and testing/ itself, include testing/
  judges        the files of verify/ that judge (all but those that run rungs) include plain types only and call none
                of core's functions that rungs call
  headers       a file includes, itself or through headers of the project, the precompiled headers that it uses: with
                nvcc and in the preset sim-debug there are none, and in groups of files another file's #include serves
  races         in a file with device code, every atomic, fence, barrier and spin says on its line, or in the comment
                above it, what race it settles (RACE:). The simulator and the tests of the primitives are exempt.
  numbers       number of a rung's file = number in its id = number in rungs.def; no number twice, except in one file
  rung lists    `extern const Rung` stands in rungs.h only
  times         symbolic/ has no name with a unit of time: what a factorization takes is the business of model/
  lines         code has at most 120 columns; the README of a room has at most 80 lines, a chapter of tutorials/ 220
  notes, paths  no notes to self, no absolute paths of one machine
"""
import re
import sys
from pathlib import Path

ROOMS = ("core preprocess symbolic model dense sparse_leftlooking sparse_hybrid sparse_syncfree solve "
         "driver verify capi dropin bench app tutorials examples labs").split()
SPARSE_STAGES = {"sparse_leftlooking", "sparse_hybrid", "sparse_syncfree"}
COLUMNS = 120
README_LINES = 80
CHAPTER_LINES = 220
CHAPTER = re.compile(r"tutorials/\d\d_\w+/README\.md")
SOURCE = {".h", ".cuh", ".cpp", ".cu"}
SEARCHED = SOURCE | {".def", ".cmake", ".py", ".md", ".txt", ".in"}

# In verify/, what runs rungs and compares with them; every other file judges.
NO_JUDGES = re.compile(r"verify/(batch_probe|conformance|dense_entry|dense_probe|klu_oracle|metamorphic|shrink|"
                       r"stable_pivots|verify)\.")
JUDGES_INCLUDE = ("core/matrix/csc.h core/matrix/number_text.h core/plan.h core/status.h").split()
JUDGED_CALL = re.compile(r"(?<![\w:.>])((?:lulab::)?(?:apply|permute|inverse|compose|transpose|scale|multiply|"
                         r"extract_[lu]|join_factors|max_abs_\w+))(?:<\w+>)?\(")
INCLUDE = re.compile(r'\s*#include "([a-z_]+)/')
ANY_INCLUDE = re.compile(r'^\s*#\s*include (?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r"//.*|\"(?:\\.|[^\"\\\n])*\"")
STANDARD_NAME = re.compile(r"\bstd::(?:ranges::)?(\w+)")
HEADER_OF = {name: header for header, names in {  # of lulab_common_headers in LulabRooms.cmake: what is used most
    "algorithm": "all_of any_of copy count_if fill lower_bound max_element sort stable_sort upper_bound",
    "cmath": "abs exp2 isfinite isnan ldexp log2 sqrt",
    "cstdint": "int32_t int64_t uint32_t uint64_t uint8_t",
    "functional": "function",
    "limits": "numeric_limits",
    "map": "map",
    "memory": "make_shared make_unique shared_ptr unique_ptr",
    "numeric": "accumulate iota",
    "optional": "nullopt optional",
    "random": "mt19937 mt19937_64 uniform_int_distribution uniform_real_distribution",
    "span": "span",
    "string": "string to_string",
    "string_view": "string_view",
    "utility": "exchange",
    "vector": "vector",
}.items() for name in names.split()}
DEVICE_CODE = re.compile(r"__(global|device)__")
SIMULATOR = re.compile(r"core/simt/((host|cuda)/|\w+_test\.cu$)")
SETTLES_RACE = re.compile(
    r"(atomic[A-Z][A-Za-z]*\(|\.(?:load|store|fetch_[a-z]+|exchange|compare_exchange[a-z_]*)\("
    r"|__sync(?:warp|threads)[a-z_]*\(|__threadfence[a-z_]*\(|atomic_thread_fence\(|[a-z_]+\.sync\("
    r"|memory_order_[a-z]+|transfer_wait\(|spin_wait(?:<[^;]*>)?\()")
DEFINES = re.compile(r"^\s*(template|__device__|inline|static|using|#define)\b")
STATEMENT_HAS_NO_END = re.compile(r"[^;{}\s]\s*$")
STATEMENT_GOES_ON = re.compile(r"[,(=]\s*$")
UNIT_OF_TIME = re.compile(r"\b(\w+_(?:us|ms|ns|s)_?|\w*(?:micro|milli|nano)?seconds\w*)\b")
NOTE_TO_SELF = re.compile("TO" "DO|FIX" "ME")
MACHINE_PATH = re.compile("[\"'( =](/(?:wo" "rk|ho" "me|ro" "ot|Us" "ers|m" "nt)/)")
RUNG_ID = re.compile(r'\bid = "(\w+)/([^"]*)"')
RUNG_LINE = re.compile(r"LULAB_RUNG\((\w+)\)(?:\s*//\s*(\d\d)\b)?")



def is_test(file):
    return "_test." in file


def check_includes(file, lines, report):
    room = file.split("/")[0]
    if room not in ROOMS:
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        included = match[1]
        if included == "testing" and not is_test(file):
            report(file, number, "only tests include testing/")
        elif included in ROOMS and ROOMS.index(included) > ROOMS.index(room):
            report(file, number, f"{room} includes {included}, which is below it")
        elif room != included and room in SPARSE_STAGES and included in SPARSE_STAGES:
            report(file, number, f"stage {room} includes stage {included}; what both need moves up")


def check_judges(file, lines, report):
    if not file.startswith("verify/") or is_test(file) or NO_JUDGES.match(file):
        return
    for number, line in enumerate(lines, 1):
        if match := re.match(r'\s*#include "([^"]+)"', line):
            included = match[1]
            if included.startswith("verify/") and NO_JUDGES.match(included):
                report(file, number, f"a judge includes {included}, which runs what is judged")
            elif not included.startswith(("verify/", "testing/")) and included not in JUDGES_INCLUDE:
                report(file, number, f"a judge includes {included}; plain types are {', '.join(JUDGES_INCLUDE)}")
        elif file.startswith("verify/rebuild."):
            continue  # the judges' own versions
        elif match := JUDGED_CALL.search(line.split("//")[0]):
            report(file, number, f"a judge calls {match[1]}(), which rungs call, too; verify/rebuild.h has its own")


def check_headers(texts, report):
    includes = {file: ANY_INCLUDE.findall(text) for file, text in texts.items()}

    def standard_headers(file):
        found, seen, pending = set(), set(), [file]
        while pending:
            if (current := pending.pop()) in seen:
                continue
            seen.add(current)
            for own, standard in includes.get(current, ()):
                found.add(standard)
                pending.append(own)
        return found

    for file, text in texts.items():
        code = COMMENT_OR_TEXT.sub("", text)
        needs = {HEADER_OF[name]: f"std::{name}" for name in STANDARD_NAME.findall(code) if name in HEADER_OF}
        if "fmt::" in code:
            needs["fmt/format.h"] = "fmt"
        if is_test(file) and "TEST(" in code:
            needs["gtest/gtest.h"] = "TEST"
        if needs:
            there = standard_headers(file)
            for header in sorted(needs.keys() - there):
                report(file, 1, f"uses {needs[header]} without #include <{header}>")


def check_races(file, lines, report):
    has_device_code = file.endswith(".cu") or any(DEVICE_CODE.search(line) for line in lines)
    if not has_device_code or SIMULATOR.match(file):
        return
    explained = False  # by the comment above
    access = None
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("//"):
            explained = explained or "RACE:" in line
            continue
        code = line.split("//")[0]
        match = SETTLES_RACE.search(code)
        if match and not DEFINES.match(code):
            access = match[1]
        if explained or "RACE:" in line:
            access = None
        elif access and not STATEMENT_GOES_ON.search(line):  # else its comment stands at its end
            report(file, number, f"{access} without a RACE: comment")
            access = None
        # The comment at `if (...)` speaks of the statement below it, too.
        explained = (explained or "RACE:" in line) and bool(STATEMENT_HAS_NO_END.search(code))


def check_text(file, lines, report):
    room = file.split("/")[0]
    for number, line in enumerate(lines, 1):
        if NOTE_TO_SELF.search(line):
            report(file, number, "a note to self")
        if match := MACHINE_PATH.search(line):
            report(file, number, f"a path of one machine ({match[1]})")
        if not file.endswith(".md") and len(line) > COLUMNS:
            report(file, number, f"{len(line)} columns; at most {COLUMNS}")
        if room == "symbolic" and not file.endswith(".md"):
            if match := UNIT_OF_TIME.search(line):
                report(file, number, f"{match[1]}: a time; times belong to model/")
        if "extern const Rung" in line and Path(file).suffix in SOURCE and not file.endswith("/rungs.h"):
            report(file, number, "declares a rung; include the rungs.h of its stage")
    allowed = CHAPTER_LINES if CHAPTER.fullmatch(file) else README_LINES
    if file.endswith("/README.md") and room in ROOMS and len(lines) > allowed:
        report(file, len(lines), f"{len(lines)} lines; at most {allowed}, the rest belongs to the sources or docs")


def check_numbers(sources, report):
    """Every stage: the folders that hold a rungs.def."""
    for stage in sorted(file.split("/")[0] for file in sources if file.endswith("/rungs.def")):
        listed = {}  # "01_sflu": line
        for line, text in enumerate(sources[f"{stage}/rungs.def"], 1):
            if not (match := RUNG_LINE.match(text)):
                continue
            if match[2]:
                listed[f"{match[2]}_{match[1]}"] = line
            else:
                report(f"{stage}/rungs.def", line, f"{match[1]}: its number is missing; write // NN after it")
        file_of_number = {}
        for file, lines in sources.items():
            if not file.startswith(stage + "/") or is_test(file) or Path(file).suffix not in SOURCE:
                continue
            for number, line in enumerate(lines, 1):
                if not (match := RUNG_ID.search(line)) or match[1] != stage:
                    continue
                name = match[2]
                if not name.startswith(Path(file).stem):
                    report(file, number, f"the id {stage}/{name} belongs into a file named {name}.*")
                if listed.pop(name, None) is None:
                    report(file, number, f"{stage}/{name} has no line of its own in {stage}/rungs.def")
                if file_of_number.setdefault(name[:2], file) != file:
                    report(file, number, f"the number {name[:2]} is taken by {file_of_number[name[:2]]}")
        for name, line in listed.items():
            report(f"{stage}/rungs.def", line, f"no file has the id {stage}/{name}")


def check(root):
    """The broken rules as lines of text, and the number of files."""
    broken = []

    def report(file, line, text):
        broken.append(f"{file}:{line}: {text}")

    sources = {}
    for path in sorted(p for room in [*ROOMS, "testing", "cmake"] for p in (root / room).rglob("*")):
        if path.suffix in SEARCHED and path.is_file() and "results" not in path.parts:
            sources[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8").split("\n")
    for file, lines in sources.items():
        if lines[-1] == "":
            lines.pop()
        check_text(file, lines, report)
        if Path(file).suffix in SOURCE:
            check_includes(file, lines, report)
            check_judges(file, lines, report)
            check_races(file, lines, report)
    check_headers({f: "\n".join(lines) for f, lines in sources.items() if Path(f).suffix in SOURCE}, report)
    check_numbers(sources, report)
    return broken, len(sources)


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    broken, files = check(root)
    for line in broken:
        print(line)
    if broken:
        sys.exit(f"{len(broken)} rules broken")
    print(f"the rules hold in {files} files")


if __name__ == "__main__":
    main()
