#!/usr/bin/env python3
"""Fill and check the generated parts of the chapters: code from the sources, commands and what they print.

A chapter marks such a part with two comment lines; what is between them is written by this program:

    <!-- source: sparse_syncfree/01_sflu_kernel.h | from: __global__ void eliminate_columns_kernel -->
    <!-- end of source -->
    <!-- runs: ./lulab draw tutorials/example.mtx -->
    <!-- end of runs -->

source   lines of a file. `from` is text that stands on one line of it alone; the part ends with the line of `to`, the
         first below it that has that text, or without `to` with the brace that closes the first one opened. Lines
         "// lab: ..." and "// tutorial: ..." are left out.
runs     commands, joined by " && ", and what they print, in a folder of their own that has tutorials/ in it and is that
         of all commands of the chapter. A program is ./lulab or a test program, build/sim/bin/NAME. Of the last
         command `exit` is the exit code, if not 0, and `show` names words: only lines that have one are shown. With
         `quiet: yes` the others' output is not shown.
         Times are written as … and not compared, unless with `times: kept`, where they are computed. Numbers with an
         exponent may differ by a factor of 10 or so: libraries round differently. The number of spaces and dashes
         between words does not count.
picture  a command of `lulab draw`, without --svg; `file` is the SVG beside the chapter that it writes.

A chapter has the sections of SECTIONS, in that order; every link of these pages leads somewhere. Tables of measured
times are those of bench/readme_table.py.

Examples:
    tutorials/chapters.py                    write the code anew, in all chapters
    tutorials/chapters.py --run              and what the commands print, by build/sim/bin/lulab
    tutorials/chapters.py --check [--run]    write nothing; exit 1 where a chapter is not what it would be
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECTIONS = ["The question", "The idea", "The paper and the code", "A picture", "Predict", "Run it", "Measured",
            "What failed, and why", "Exercises", "What comes next"]
BLOCK = re.compile(r"(<!-- (?P<kind>source|runs|picture): (?P<fields>[^\n]*?) -->\n)(?P<text>.*?)"
                   r"(<!-- end of (?P=kind) -->)", re.DOTALL)
MARK = re.compile(r"<!-- (?:source|runs|picture): ")
TIME = re.compile(r"\d+(?:\.\d+)?(?:e[+-]\d+)? (?:ns|us|µs|ms|s)\b")
EXPONENT = re.compile(r"(\d(?:\.\d+)?)e([+-]\d+)")
MARK_IN_CODE = re.compile(r"\s*// (lab|tutorial): ")
NO_CODE = re.compile(r'//.*|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'')
SECONDS = 60


class Mistake(Exception):
    """What is wrong with a chapter, for people."""


def fields_of(text, first):
    """{first: ..., name: value, ...} of "value | name: value | ..."."""
    head, *rest = [part.strip() for part in text.split(" | ")]
    pairs = (part.partition(":") for part in rest)
    return {first: head, **{key.strip(): value.strip() for key, _, value in pairs}}


def brace_block(lines, start):
    """Index after the line that closes the first brace opened at or below lines[start]."""
    depth, opened = 0, False
    for index in range(start, len(lines)):
        for character in NO_CODE.sub("", lines[index]):
            opened = opened or character == "{"
            depth += (character == "{") - (character == "}")
        if opened and depth == 0:
            return index + 1
    return None


def source_part(fields, root):
    """The fenced code of a mark `source`."""
    path = root / fields["source"]
    if not path.is_file():
        raise Mistake(f"no file {fields['source']}")
    lines = path.read_text(encoding="utf-8").split("\n")
    at = [index for index, line in enumerate(lines) if fields.get("from", "\n") in line]
    if len(at) != 1:
        raise Mistake(f"{fields['source']}: '{fields.get('from')}' stands on {len(at)} lines; one is needed")
    if "to" in fields:
        end = next((index + 1 for index in range(at[0], len(lines)) if fields["to"] in lines[index]), None)
    else:
        end = brace_block(lines, at[0])
    if end is None:
        raise Mistake(f"{fields['source']}: no end below '{fields['from']}'")
    code = textwrap.dedent("\n".join(line for line in lines[at[0]:end] if not MARK_IN_CODE.match(line)))
    language = "python" if path.suffix == ".py" else "cpp"
    return f"[`{fields['source']}`](../../{fields['source']})\n\n```{language}\n{code}\n```\n"


def arguments_of(command, programs):
    """The command as arguments and environment, its program found in the folder `programs`."""
    words, environment = shlex.split(command), {}
    while words and re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if words and (words[0] == "./lulab" or words[0].startswith("build/sim/bin/")):
        return [str(programs / pathlib.Path(words[0]).name), *words[1:]], environment
    raise Mistake(f"'{command}' is no command of ./lulab or build/sim/bin/")


def runs_part(fields, programs, folder):
    """The fenced commands of a mark `runs`, each with what it prints."""
    *others, last = fields["runs"].split(" && ")
    printed = []
    for command in others:
        output = output_of(command, 0, programs, folder)
        printed.append(f"$ {command}" + ("" if fields.get("quiet") == "yes" else f"\n{output}"))
    output = output_of(last, int(fields.get("exit", "0")), programs, folder)
    if "show" in fields:
        output = "\n".join(line for line in output.split("\n") if any(word in line for word in fields["show"].split()))
    printed.append(f"$ {last}\n{output}")
    text = "\n".join(printed)
    if fields.get("times") != "kept":
        text = TIME.sub(lambda time: "…".rjust(len(time[0])), text)
    return f"```\n{text}\n```\n"


def output_of(command, exit_code, programs, folder):
    """What a command prints, without spaces at the ends of lines."""
    arguments, environment = arguments_of(command, programs)
    # As in the tests: choices rest on the shipped constants, not on how fast this machine happens to be.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LULAB_")}
    variables = {**inherited, "LULAB_CALIBRATION": "off", **environment}
    try:
        done = subprocess.run(arguments, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS, encoding="utf-8", check=False)
    except OSError as error:
        raise Mistake(f"{arguments[0]}: {error.strerror}; build it: ./lulab --preset sim build") from error
    except subprocess.TimeoutExpired as error:
        raise Mistake(f"'{command}' takes more than {SECONDS} s") from error
    if done.returncode != exit_code:
        raise Mistake(f"'{command}' exits with {done.returncode}, not {exit_code}:\n{done.stdout}")
    lines = done.stdout.replace(f"{folder}/", "").rstrip("\n").split("\n")
    return "\n".join(line.rstrip() for line in lines)


def comparable(text):
    """What of a printed text is compared: words, and numbers without an exponent."""
    text = re.sub(r"-+", "-", re.sub(r" +", " ", EXPONENT.sub("<number>", text)))
    return "\n".join(line.strip() for line in text.split("\n"))


def same_output(old, new):
    """The same, up to spaces, and to a factor of 10 of numbers with an exponent? Only zero is near zero."""
    if comparable(old) != comparable(new):
        return False
    olds, news = ([float(number[0]) for number in EXPONENT.finditer(text)] for text in (old, new))
    return all(a == b or (a * b > 0 and 0.1 <= a / b <= 10) for a, b in zip(olds, news))


def check_shape(text):
    """Sections in their order; every mark has its end."""
    sections = re.findall(r"^## (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    if sections != SECTIONS:
        raise Mistake(f"its sections are {sections}; they should be {SECTIONS}")
    if len(MARK.findall(text)) != len(BLOCK.findall(text)):
        raise Mistake("a mark lacks its line '<!-- end of source -->', runs or picture")
    if "<!-- runs: " not in text:
        raise Mistake("it runs no command")


def check_links(text, folder):
    """Every relative link leads to a file or folder."""
    for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        if not (folder / link).exists():
            raise Mistake(f"its link to {link} leads nowhere")


def draw(fields, programs, folder):
    """The SVG of a mark `picture`."""
    output_of(f"{fields['picture']} --svg {fields['file']}", 0, programs, folder)
    return (folder / fields["file"]).read_text(encoding="utf-8")


def rewrite(text, root, programs, pictures=None):
    """The chapter with its parts made anew; commands run only where `programs` is a folder. Pictures go to `pictures`,
    {file: SVG}."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "tutorials").symlink_to(root / "tutorials")

        def part(match):
            fields = fields_of(match["fields"], match["kind"])
            if match["kind"] == "source":
                return match[1] + source_part(fields, root) + match[5]
            if match["kind"] == "picture":
                if programs is not None:
                    pictures[fields["file"]] = draw(fields, programs, folder)
                return f"{match[1]}![{fields['picture']}]({fields['file']})\n{match[5]}"
            if programs is None:
                below = " && ".join(re.findall(r"^\$ (.*)$", match["text"], re.MULTILINE))
                if below != fields["runs"]:
                    raise Mistake(f"'{fields['runs']}' is not the command below its mark; "
                                  "run: tutorials/chapters.py --run")
                return match[0]
            new = runs_part(fields, programs, folder)
            return match[0] if same_output(match["text"], new) else match[1] + new + match[5]

        return BLOCK.sub(part, text)


def up_to_date(chapter, programs, check):
    """Writes what is new in a chapter, or with `check` tells. False where something is wrong."""
    text = chapter.read_text(encoding="utf-8")
    check_shape(text)
    pictures = {}
    files = {chapter: rewrite(text, ROOT, programs, pictures)}
    files |= {chapter.parent / name: svg for name, svg in pictures.items()}
    stale = {file: new for file, new in files.items() if not file.is_file() or file.read_text(encoding="utf-8") != new}
    if not check:
        for file, new in stale.items():
            file.write_text(new, encoding="utf-8")
    elif chapter in stale:
        lines = zip(text.split("\n"), stale[chapter].split("\n"))
        old, new = next((pair for pair in lines if pair[0] != pair[1]), ("its end", "more"))
        print(f"{chapter}: it says\n  {old}\nit would say\n  {new}", file=sys.stderr)
    if check:
        for file in stale:
            again = "tutorials/chapters.py" + ("" if programs is None else " --run")
            print(f"{file}: out of date; run: {again}", file=sys.stderr)
    check_links(files[chapter], chapter.parent)
    return not (check and stale)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapters", nargs="*", type=pathlib.Path, help="default: tutorials/NN_*/README.md")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a chapter is not up to date")
    parser.add_argument("--run", action="store_true", help="also run the commands")
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/sim/bin", help="folder of the programs")
    chosen = parser.parse_args()
    programs = chosen.programs.resolve() if chosen.run else None
    chapters = chosen.chapters or sorted(ROOT.glob("tutorials/[0-9][0-9]_*/README.md"))
    right = bool(chapters)
    for page in chapters + sorted(ROOT.glob("tutorials/*.md")):
        try:
            if page in chapters:
                right = up_to_date(page, programs, chosen.check) and right
            else:
                check_links(page.read_text(encoding="utf-8"), page.parent)
        except Mistake as mistake:
            print(f"{page}: {mistake}", file=sys.stderr)
            right = False
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
