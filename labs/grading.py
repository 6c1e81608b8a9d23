#!/usr/bin/env python3
"""How well the labs grade: wrong and right variants of every lab's lines, put through its stages.

    python3 labs/grading.py                              all of them, into labs/GRADING.md; half an hour on two cores
    python3 labs/grading.py --sample 12 --seed 3         a few, drawn at random, as a test: nothing is written

Wrong: faults made by mutation.py, and the mutants of each description. One that passes is a mistake, unless
grading.json lists it with a reason: as equivalent, where it changes nothing, or as unseen, where no stage can see it.
Its `races` are the faults that only that stage sees.
Right: rewrites made by mutation.py, and the solutions of grading.json.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import random
import shutil
import sys
import time
from pathlib import Path

import labs
import mutation

KNOWN = json.loads((labs.HERE / "grading.json").read_text(encoding="utf-8"))
TABLE = labs.HERE / "GRADING.md"


class Variant:
    """kind: generated fault, mutant, rewrite or solution; holes: its lines"""

    def __init__(self, lab, kind, name, holes):
        self.lab, self.kind, self.name, self.holes = lab, kind, name, holes
        self.wrong = kind in ("fault", "mutant")
        self.needs_races = name in KNOWN["races"].get(lab.id, [])
        self.why_equivalent = KNOWN["equivalent"].get(lab.id, {}).get(name)
        self.why_unseen = KNOWN["unseen"].get(lab.id, {}).get(name)
        self.fails = self.says = None  # what the description of a mutant says of that
        self.stage = self.reason = None  # where it failed, and what was said; None: it passed everything that ran
        self.seconds = 0


def variants_of(lab):
    found = []
    for m in lab.mutants:
        found.append(Variant(lab, "mutant", m["name"], lab.changed_holes(m["replace"])))
        found[-1].fails, found[-1].says = m["fails"], m["says"]
    if lab.breaks:  # a fault in its lines is what it asks for
        return found + [Variant(lab, "solution", name, holes) for name, holes in lab.solutions()]
    found += [Variant(lab, "fault", name, holes) for name, holes in mutation.faults(lab.solution_holes())]
    found += [Variant(lab, "rewrite", name, holes) for name, holes in mutation.rewrites(lab.solution_holes())]
    return found + [Variant(lab, "solution", s["name"], lab.changed_holes(s["replace"]))
                    for s in KNOWN["solutions"].get(lab.id, [])]


def unknown_names(lab, variants):
    """Names that grading.json lists for a lab that none of its variants has."""
    listed = {*KNOWN["races"].get(lab.id, []), *KNOWN["equivalent"].get(lab.id, {}), *KNOWN["unseen"].get(lab.id, {})}
    return sorted(listed - {v.name for v in variants})


def reason_of(report):
    facts = report["facts"]
    if "expected" in facts:
        return f"{facts.get('step', '')}: expected {facts['expected']}, actual {facts.get('actual', '')}"
    return facts.get("report") or report["message"] or str(facts)


def measure(variant, builds, scratch):
    """Stages of the simulator; then, where nothing failed, the race detector's."""
    lab, start = variant.lab, time.monotonic()
    shown_as = f"{lab.id}/{Path(lab.file).name}"
    for build in builds:
        stages = ["races"] if build.has_races else [s for s in labs.STAGES if s != "races"]
        if build.has_races and "races" not in lab.checks:
            continue
        reports = labs.check(lab, lab.filled(variant.holes), shown_as, [build], 1, scratch, stages=stages)
        failed = next((r for r in reports if r["passed"] is False), None)
        if failed:
            variant.stage, variant.reason = failed["stage"], " ".join(reason_of(failed).split())[:160]
            if variant.says and variant.says not in f"{failed['message']} {failed['facts']}":
                variant.says = None
            break
    shutil.rmtree(scratch, ignore_errors=True)
    variant.seconds = time.monotonic() - start
    return variant


def run(variants, builds, jobs, log):
    folder = builds[0].folder / "labs"
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(measure, v, builds, folder / f"grading_{os.getpid()}_{k}")
                   for k, v in enumerate(variants)]
        for done in concurrent.futures.as_completed(futures):
            v = done.result()
            line = {"lab": v.lab.id, "kind": v.kind, "name": v.name, "stage": v.stage, "reason": v.reason,
                    "seconds": round(v.seconds, 1)}
            print(json.dumps(line), file=log, flush=True)


def wrongly_graded(variants):
    for v in variants:
        if v.wrong and v.stage is None and not v.why_equivalent and not v.why_unseen:
            yield f"MISSED: {v.lab.id}, {v.kind} {v.name}"
        if v.kind == "mutant" and v.stage is not None and (v.stage != v.fails or v.says is None):
            yield f"FOR ANOTHER REASON: {v.lab.id}, {v.kind} {v.name} fails in {v.stage}: {v.reason}"
        if v.stage is not None and (v.why_equivalent or v.why_unseen):
            yield f"LISTED AS PASSING: {v.lab.id}, {v.name} fails in {v.stage}: {v.reason}"
        if not v.wrong and v.stage is not None:
            yield f"REJECTED: {v.lab.id}, {v.kind} {v.name} fails in {v.stage}: {v.reason}"


def table(variants, with_races):
    stages = [s for s in labs.STAGES if s != "implemented"]
    wrong = [v for v in variants if v.wrong and v.stage != "builds"]
    right = [v for v in variants if not v.wrong]
    equivalent = [v for v in wrong if v.why_equivalent is not None]
    yield f"| lab | wrong variants | `{'` | `'.join(stages[1:])}` | passed | right variants | accepted |"
    yield "|---" * (len(stages) + 4) + "|"
    for lab in [*labs.all_labs(), None]:
        w = [v for v in wrong if v not in equivalent and (lab is None or lab.id == v.lab.id)]
        r = [v for v in right if lab is None or lab.id == v.lab.id]
        if not w and not r:
            continue
        at = collections.Counter(v.stage for v in w)
        cells = [str(len(w)), *(str(at[s] or "") for s in stages[1:]), str(at[None]), str(len(r)),
                 str(sum(v.stage is None for v in r))]
        yield f"| {f'`{lab.id}`' if lab else 'all'} | " + " | ".join(cells) + " |"
    generated = sum(v.kind == "fault" for v in wrong if v not in equivalent)
    unbuilt = sum(v.wrong and v.stage == "builds" for v in variants)
    by_hand = sum(v.kind == "solution" for v in right)
    yield ""
    yield (f"Of the wrong variants {generated} are generated, the others are the mutants of the descriptions. "
           f"{unbuilt} more did not compile, {len(equivalent)} more are right in spite of the fault (below). Of the "
           f"right variants {by_hand} were written by hand." + ("" if with_races else " Without the stage `races`."))
    for heading, listed in (("fault that no stage sees", [v for v in wrong if v.why_unseen]),
                            ("fault that changes nothing", equivalent)):
        yield ""
        yield f"| lab | {heading} | why |"
        yield "|---|---|---|"
        for v in listed:
            yield f"| `{v.lab.id}` | {v.name.replace('|', chr(92) + '|')} | {v.why_equivalent or v.why_unseen} |"


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(labs.ROOT / "build" / "sim"))
    parser.add_argument("--lab", action="append", help="only this one; may be given several times")
    parser.add_argument("--sample", type=int, help="draw so many, wrong and right in turn")
    parser.add_argument("--kind", action="append", help="fault, mutant, rewrite, solution; default: all")
    parser.add_argument("--seed", type=int, default=1, help="of --sample")
    parser.add_argument("--no-races", action="store_true", help="without that stage, and without the faults it finds")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--log", help="a file that gets a line of JSON for each variant; default: what is printed")
    arguments = parser.parse_args(argv)
    builds = [labs.Build(arguments.build)]
    tsan = labs.Build(builds[0].folder.parent / "sim-tsan")
    if tsan.exists() and not arguments.no_races:
        builds.append(tsan)
    chosen = [labs.find_lab(name) for name in arguments.lab] if arguments.lab else labs.all_labs()
    of_lab = {lab: variants_of(lab) for lab in chosen}
    if stale := [f"{lab.id}: {name}" for lab, of in of_lab.items() for name in unknown_names(lab, of)]:
        parser.error("grading.json lists faults that no rule makes: " + "; ".join(stale))
    variants = [v for of in of_lab.values() for v in of if not arguments.kind or v.kind in arguments.kind]
    if len(builds) == 1:
        variants = [v for v in variants if not v.needs_races]
    if arguments.sample:
        draw = random.Random(arguments.seed)
        sides = [[v for v in variants if v.wrong == wrong] for wrong in (True, False)]
        variants = [v for k, side in enumerate(sides)
                    for v in draw.sample(side, min(len(side), (arguments.sample + 1 - k) // 2))]
    labs.SECONDS["others"] = 20  # a fault may loop for ever
    os.environ["CCACHE_DISABLE"] = "1"  # nothing compiles twice
    with open(arguments.log, "w", encoding="utf-8") if arguments.log else os.fdopen(os.dup(1), "w") as log:
        run(variants, builds, arguments.jobs, log)
    mistakes = list(wrongly_graded(variants))
    for line in mistakes:
        print(line)
    print(f"{len(variants)} variants, {len(mistakes)} graded wrongly")
    if not arguments.sample and not arguments.lab and not arguments.kind:
        text = TABLE.read_text(encoding="utf-8")
        head = text[:text.index("<!-- table -->")]
        TABLE.write_text(head + "<!-- table -->\n" + "\n".join(table(variants, len(builds) > 1)) + "\n",
                         encoding="utf-8")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
