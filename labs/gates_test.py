#!/usr/bin/env python3
"""Tests of the labs.   python3 labs/gates_test.py BUILD LAB

Of one lab, with the compiler and the libraries of the build folder: the skeleton fails as not implemented and as
nothing else, the reference's own lines pass, and the first two mutants of the description that fail in different stages
do so, for their reason. grading.py takes the others, too. A build with ThreadSanitizer takes the stage
`races` alone, another all others.
"""
import sys
import time
from pathlib import Path

import labs

MUTANTS_PER_LAB = 4


def chosen(mutants, stages):
    """The first two of different stages."""
    first = {}
    for mutant in mutants:
        if mutant["fails"] in stages:
            first.setdefault(mutant["fails"], mutant)
    return list(first.values())[:2]


def expect(lab, what, reports, stage, says):
    """The stage fails, and its text has `says`; stage None: nothing fails."""
    failed = next((r for r in reports if r["passed"] is False), None)
    where, text = (failed["stage"], f"{failed['message']} {failed['facts']}") if failed else (None, "")
    if where == stage and says in text:
        return []
    return [f"{lab.id}, {what}: expected to fail in {stage} with '{says}', but in {where}: {text}"]


def main(folder, lab_id):
    lab, build = labs.find_lab(lab_id), labs.Build(folder)
    stages = ["races"] if build.has_races else [s for s in labs.STAGES if s != "races"]
    scratch = build.folder / "labs" / f"gate_{lab.id}"
    shown_as = f"{lab.id}/{Path(lab.file).name}"
    broken, seconds = [], []

    def check(text, what, stage, says):
        start = time.monotonic()
        # The stage `speed` compiles again: for what is to reach it.
        wanted = stages if stage in (None, "speed") else [s for s in stages if s != "speed"]
        reports = labs.check(lab, text, shown_as, [build], 1, scratch, stages=wanted)
        seconds.append(time.monotonic() - start)
        print(f"{what}: {seconds[-1]:.1f} s, " + ", ".join(f"{r['stage']} {r['passed']}" for r in reports))
        broken.extend(expect(lab, what, reports, stage, says))

    if len(lab.mutants) < MUTANTS_PER_LAB or len(lab.hints) != 3:
        broken.append(f"{lab.id}: {len(lab.mutants)} mutants, {len(lab.hints)} hints")
    if not build.has_races:
        check(lab.skeleton(), "skeleton", "implemented", f"lab {lab.id} is not implemented: {shown_as}:")
    for name, holes in lab.solutions():
        check(lab.filled(holes), f"solution '{name}'", None, "")
    for mutant in chosen(lab.mutants, stages):
        text = lab.filled(lab.changed_holes(mutant["replace"]))
        check(text, f"mutant '{mutant['name']}'", mutant["fails"], mutant["says"])
    for line in broken:
        print("FAILED:", line)
    print(f"{len(seconds)} checks, the longest {max(seconds, default=0):.1f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
