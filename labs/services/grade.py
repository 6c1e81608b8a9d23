#!/usr/bin/env python3
"""Grades labs for a service: what `lulab lab check --json` says, as Gradescope or GitHub Classroom reads it.

    labs/services/grade.py gradescope --labs 3,8 --submission FOLDER --output results.json
    labs/services/grade.py classroom  --labs 3,8 --submission my_labs >> "$GITHUB_OUTPUT"

Of each lab the submission has its file, anywhere in the folder: services flatten folders. A lab without one gets 0.
"""
import argparse
import base64
import json
import subprocess
import sys
import tempfile
from pathlib import Path

LABS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(LABS))
sys.dont_write_bytecode = True
import labs  # noqa: E402


def text_of(stage):
    lines = [stage["message"]] if stage["message"] else []
    return "\n".join(lines + [f"{what}: {value}" for what, value in stage["facts"].items()])


def stages_of(lab, submission, options):
    """The reports of all stages, one of them where there is no such file, or no verdict."""
    path, wrong = labs.submitted(lab, submission)
    if wrong:
        return [labs.stage_report(lab, "builds", False, {"message": wrong, "facts": {}})]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / lab.id / path.name
        copy.parent.mkdir()
        copy.write_bytes(path.read_bytes())
        command = [sys.executable, "-B", str(LABS / "labs.py"), *options[0], "check", lab.id, "--dir", folder, "--json",
                   *options[1]]
        done = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)["stages"]
    except ValueError:
        return [labs.stage_report(lab, "builds", False, {"message": done.stderr.strip(), "facts": {}})]


def tests_of(lab, stages, with_races):
    """(name, passed, points, of, text) of each stage that has points; one that did not run gets 0 of them."""
    by_name = {s["stage"]: s for s in stages}
    for stage in ["builds", "implemented", *lab.checks]:
        if stage == "races" and not with_races:
            continue
        s = by_name.get(stage)
        if s is None:
            s = {"passed": False, "points": 0, "message": "not run: an earlier stage failed", "facts": {}}
        if lab.points[stage] > 0 or not s["passed"]:
            yield f"{lab.id}, {stage}", bool(s["passed"]), s["points"], lab.points[stage], text_of(s)


def gradescope(tests):
    return {"stdout_visibility": "hidden",
            "tests": [{"name": name, "score": points, "max_score": of, "status": "passed" if passed else "failed",
                       "output": text, "output_format": "text", "visibility": "visible"}
                      for name, passed, points, of, text in tests]}


def classroom(tests):
    return {"version": 1, "status": "pass" if all(t[1] for t in tests) else "fail",
            "max_score": sum(t[3] for t in tests),
            "tests": [{"name": name, "status": "pass" if passed else "fail", "score": points, "message": text}
                      for name, passed, points, of, text in tests]}


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("service", choices=("gradescope", "classroom"))
    parser.add_argument("--labs", required=True, help="numbers or names, with commas between them")
    parser.add_argument("--submission", required=True, help="a folder with the files")
    parser.add_argument("--output", help="a file; default: what is printed")
    parser.add_argument("--seed", type=int, default=1, help="of the random inputs")
    parser.add_argument("--build", help="default: build/sim of this checkout")
    arguments = parser.parse_args(argv)
    build = labs.Build(arguments.build or labs.ROOT / "build" / "sim")
    with_races = labs.Build(build.folder.parent / "sim-tsan").exists()
    options = ["--build", str(build.folder)], ["--seed", str(arguments.seed)]
    chosen = [labs.find_lab(name) for name in arguments.labs.split(",")]
    tests = [test for lab in chosen
             for test in tests_of(lab, stages_of(lab, arguments.submission, options), with_races)]
    if arguments.service == "gradescope":
        text = json.dumps(gradescope(tests), indent=1) + "\n"
    else:
        text = "result=" + base64.b64encode(json.dumps(classroom(tests)).encode()).decode() + "\n"
    if arguments.output:
        Path(arguments.output).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
