#!/usr/bin/env python3
"""Make the documentation site from the documents of this repository.

    gather   copy every document to a folder of pages, in the same tree, so that their links to each other still lead
             there; make a page for every file of source that a document links to, and the reference pages: the rungs
             from `lulab list --json`, the commands from --help of each program; write mkdocs.yml beside them
    check    gather into a folder that is thrown away: a link to a file or heading that does not exist, and a document
             that stands in no menu, are errors
    site     check a built site: every link leads to a file of the site and to a place in it, and no page loads
             anything from the network

GitHub and MkDocs read Markdown a little differently: comments are left out, lists and tables get the blank line and
the indentation that MkDocs needs.

Examples:
    docs/pages.py gather build/docs --programs build/sim/bin
    docs/pages.py check
    docs/pages.py site build/docs/site
"""
import argparse
import html.parser
import json
import os
import pathlib
import posixpath
import re
import subprocess
import sys
import tempfile
import unicodedata
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_DOCUMENTED = {"build", "my_labs"}
ROOMS = ("core core/simt preprocess symbolic model dense sparse_leftlooking sparse_hybrid sparse_syncfree solve driver "
         "verify capi dropin python bench app examples testing fuzz").split()
HOW_TO = ("verify_my_factors add_a_rung add_a_lab teach_a_course breakpoint_in_a_kernel use_from_cmake_and_eigen use_from_c "
          "use_from_python use_under_klu_programs use_under_lapack_programs use_under_lightsim2grid "
          "build_these_pages").split()
PROGRAMS = ["lulab", "lulab-bench", "lulab-transient", "lulab-powerflow"]
ASSETS = ["site.css", "iframe-worker.js"]
COPIED = {".svg", ".png", ".html"}  # as they are, where a document links to them
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".c": "c", ".cu": "cpp", ".def": "cpp", ".py": "python", ".sh": "bash", ".json": "json",
             ".cmake": "cmake"}
SHOWN_BYTES = 60_000
SECONDS = 60

FENCE = re.compile(r"^( *)(```+|~~~+)")
ITEM = re.compile(r"^( *)([-*+]|\d+[.)])( +)(?=\S)")
LINK = re.compile(r"\]\(([^()\s]+)\)")
CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)\1(?!`)", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
TWO_THEMES = re.compile(r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
                        r'<img alt="([^"]*)" src="([^"]+)">\s*</picture>')
HEADING = re.compile(r"^(#{1,6}) +(.*?) *#*$")
TABLE_RULE = re.compile(r"^ *\|?[ :|-]*-[ :|-]*\|[ :|-]*$")

START = """
Where to begin: **learn** from the [tutorials](tutorials/README.md), the [labs](labs/README.md) and the
[map of the five papers](docs/five_papers.md); **do** something by [How do I …](docs/README.md); **look up** the
[rungs](reference/rungs.md), the [commands](reference/commands.md), the [API](reference/api.md) and the words of the
field in the [glossary](tutorials/GLOSSARY.md).
"""


HIDDEN_MENU = "---\nhide:\n  - navigation\n---\n"


class Mistake(Exception):
    """What is wrong with a document, for people."""


# --- Markdown ---------------------------------------------------------------------------------------------------------

def parts(text):
    """(is code, lines) of the fenced code of a document and of what is between."""
    lines, fence, found = [], None, []
    for line in text.split("\n"):
        match = FENCE.match(line)
        if fence is None and match:
            found.append((False, lines))
            lines, fence = [line], match[2]
        elif fence is not None and line.strip() == fence[0] * len(line.strip()) and len(line.strip()) >= len(fence):
            found.append((True, lines + [line]))
            lines, fence = [], None
        else:
            lines.append(line)
    found.append((fence is not None, lines))
    return found


def outside_code(text, change):
    """The document with `change` applied to what is not code; code spans stay as they are, too."""
    def prose(chunk):
        pieces, end = [], 0
        for span in CODE_SPAN.finditer(chunk):
            pieces += [(chunk[end:span.start()], True), (span[0], False)]
            end = span.end()
        pieces.append((chunk[end:], True))
        return "".join(change(piece) if is_prose else piece for piece, is_prose in pieces)
    return "\n".join("\n".join(lines) if is_code else prose("\n".join(lines)) for is_code, lines in parts(text))


def slug(heading):
    """The anchor that GitHub, and this site, give a heading."""
    text = unicodedata.normalize("NFC", re.sub(r"\]\([^)]*\)", "]", heading)).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    """The anchors of all headings of a document."""
    lines = [line for is_code, chunk in parts(text) if not is_code for line in chunk]
    return {slug(match[2]) for match in map(HEADING.match, lines) if match}


def without_comments(text):
    return outside_code(text, lambda prose: COMMENT.sub("", prose))


def for_mkdocs(text):
    """Lists and tables as MkDocs reads them: a blank line before, each level of a list indented by four."""
    lines, levels = [], []  # levels: columns at which the text of the open items begins
    in_code, opening, loose = False, "", False  # loose: a blank line since the last item

    def separate():
        if lines and lines[-1].strip():
            lines.append("")

    source = text.split("\n")
    for number, line in enumerate(source):
        width = len(line) - len(line.lstrip(" "))
        fence = FENCE.match(line)
        if in_code:
            inside = line[min(width, opening[1]):]
            lines.append(" " * 4 * len(levels) + inside if line.strip() else "")
            in_code = not (fence and fence[2].startswith(opening[0]) and line.strip() == fence[2])
            continue
        if not line.strip():
            lines.append("")
            loose = True
            continue
        after_blank = not (lines and lines[-1].strip())
        item = ITEM.match(line)
        if item and item[2][0].isdigit() and item[2] != "1." and not levels and not after_blank:
            item = None  # the number that ends a sentence
        in_list = bool(levels)
        if item or after_blank or fence or HEADING.match(line):
            while levels and width < levels[-1]:
                levels.pop()
        if item and width - (levels[-1] if levels else 0) < 4:
            if not in_list or loose:
                separate()
            loose = False
            lines.append(" " * 4 * len(levels) + item[2] + " " + line[item.end():])
            levels.append(item.end())
            continue
        if fence:
            separate()
            in_code, opening, loose = True, (fence[2], width), True
            lines.append(" " * 4 * len(levels) + line.lstrip(" "))
            continue
        if not levels and number + 1 < len(source) and "|" in line and TABLE_RULE.match(source[number + 1]):
            separate()
        if line.startswith("Test it:") and not after_blank:
            lines[-1] += "  "
        inside = line[min(width, levels[-1]):] if levels else line
        lines.append(" " * 4 * len(levels) + inside)
    return "\n".join(lines)


# --- links ------------------------------------------------------------------------------------------------------------

def documents(root):
    """Paths, from the root, of all documents."""
    found = [path for path in root.glob("*.md")]
    for folder in sorted(root.iterdir()):
        if folder.is_dir() and not folder.name.startswith(".") and folder.name not in NOT_DOCUMENTED:
            found += folder.rglob("*.md")
    return sorted(path.relative_to(root).as_posix() for path in found)


def source_page(path, root):
    """The page of a file, or of a folder, that a document links to."""
    file = root / path
    if file.is_dir():
        names = sorted(entry.name for entry in file.iterdir() if entry.is_file())
        rows = "\n".join(f"- `{name}`" for name in names)
        contents = f"A folder of the repository, with these files:\n\n{rows}\n"
    else:
        text = file.read_bytes()[:SHOWN_BYTES].decode("utf-8", errors="replace").rstrip("\n")
        cut = "" if file.stat().st_size <= SHOWN_BYTES else "The beginning; the rest is in the repository.\n\n"
        longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        language = LANGUAGES.get(file.suffix, "text")
        contents = f'{cut}{fence} {{.{language} linenums="1"}}\n{text}\n{fence}\n'
    return f"---\nsearch:\n  exclude: true\nhide:\n  - navigation\n---\n# {path}\n\n{contents}"


def page_of_source(path):
    return "source/" + re.sub(r"(^|/)\.", r"\1dot-", path) + ".md"  # MkDocs leaves out names that begin with a dot


class Gathered:
    """Pages by their path in the site's folder; text, or bytes of what is copied."""

    def __init__(self, root, generated):
        self.root = root
        self.mistakes = []
        self.pages = {}
        texts = {path: (root / path).read_text(encoding="utf-8") for path in documents(root)}
        if "README.md" in texts:
            title, _, rest = texts["README.md"].partition("\n")
            texts["README.md"] = f"{title}\n{START}{rest}"
        texts |= generated
        self.anchors = {path: anchors(text) for path, text in texts.items()}
        for path, text in texts.items():
            text = TWO_THEMES.sub(r"![\2](\3#only-light) ![\2](\1#only-dark)", without_comments(text))
            text = outside_code(text, lambda prose, path=path: LINK.sub(lambda match: self.link(match, path), prose))
            self.pages[path] = (HIDDEN_MENU if path == "README.md" else "") + for_mkdocs(text)

    def link(self, match, page):
        """The link as it leads from one page of the site to another."""
        target, _, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", match[1]):
            return match[0]
        folder = posixpath.dirname(page)
        path = posixpath.normpath(posixpath.join(folder, urllib.parse.unquote(target))) if target else page
        if path in self.anchors:
            if anchor and anchor not in self.anchors[path]:
                self.mistakes.append(f"{page}: {path} has no heading #{anchor}")
            return match[0]
        file = self.root / path
        if path.startswith("..") or not file.exists():
            self.mistakes.append(f"{page}: its link to {target} leads nowhere")
            return match[0]
        if file.suffix in COPIED:
            self.pages[path] = file.read_bytes()
            return match[0]
        if file.is_dir() and f"{path}/README.md" in self.anchors:
            return f"]({posixpath.relpath(f'{path}/README.md', folder or '.')})"
        self.pages.setdefault(page_of_source(path), source_page(path, self.root))
        return f"]({posixpath.relpath(page_of_source(path), folder or '.')})"


# --- reference pages --------------------------------------------------------------------------------------------------

def output(arguments):
    variables = {name: value for name, value in os.environ.items() if not name.startswith("LULAB_")}
    try:
        done = subprocess.run(arguments, env=variables | {"COLUMNS": "100"}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, timeout=SECONDS, encoding="utf-8", check=False)
    except OSError as error:
        raise Mistake(f"{arguments[0]}: {error.strerror}; build it: ./lulab docs") from error
    if done.returncode:
        raise Mistake(f"{' '.join(map(str, arguments))} exits with {done.returncode}")
    return done.stdout.rstrip("\n")


def cell(text):
    return str(text).replace("|", "\\|") or "–"


def rungs_page(rungs):
    """The rungs of `lulab list --json`, a section for each stage."""
    text = ["# Rungs\n", "Every rung of this build, as `./lulab list --json` prints them. A rung is chosen by "
            "`--rung`, by its whole name or its last part: `--rung 10_supernode_panels`. Where a build has no "
            "CUDA, rungs of the GPU run on the simulator.\n"]
    stages = list(dict.fromkeys(rung["stage"] for rung in rungs))
    for stage in stages:
        text.append(f"\n## {stage}\n\nThe room: [{stage}](../{stage}/README.md).\n")
        for rung in (rung for rung in rungs if rung["stage"] == stage):
            name = rung["id"].partition("/")[2]
            facts = [("source", rung["paper"]), ("runs on", rung["device"]), ("pivots", rung.get("pivoting")),
                     ("scalars", ", ".join(rung.get("scalars", []))),
                     ("refactors", {True: "yes", False: "no"}.get(rung.get("refactors"))),
                     ("same bits in every run", {True: "yes", False: "no"}.get(rung.get("deterministic"))),
                     ("known fault", rung.get("fault")),
                     ("over the ranks of mpirun", "yes" if rung.get("over_ranks") else None)]
            text.append(f"\n### {name}\n\n{rung['idea']}\n\n| fact | value |\n|---|---|")
            text += [f"| {fact} | {cell(value)} |" for fact, value in facts if value]
            if rung.get("options"):
                text.append("\n| `--option` | default | from | to | meaning |\n|---|---|---|---|---|")
                text += [f"| `{o['name']}` | {o['default']:g} | {o['smallest']:g} | {o['largest']:g} | "
                         f"{cell(o['meaning'])} |" for o in rung["options"]]
    return "\n".join(text) + "\n"


def commands_page(helps):
    """helps: (section, command, what it prints); a section without command is a heading."""
    text = ["# Commands\n", "What `--help` prints. `./lulab COMMAND …` builds what is missing and runs it.\n"]
    for level, command, printed in helps:
        text.append(f"\n{'#' * level} {command}\n\n```text\n{printed}\n```")
    return "\n".join(text) + "\n"


def all_helps(root, programs):
    helps = [(2, "./lulab", output([root / "lulab", "--help"]))]
    for program in PROGRAMS:
        printed = output([programs / program, "--help"])
        helps.append((2, program, printed))
        commands = re.search(r"^subcommands:$(.*)", printed, re.MULTILINE | re.DOTALL | re.IGNORECASE)
        names = re.findall(r"^  ([a-z_-]+) ", commands[1], re.MULTILINE) if commands else []
        helps += [(3, f"{program} {name}", output([programs / program, name, "--help"])) for name in names]
    helps.append((2, "labs", output([sys.executable, "-B", root / "labs/labs.py", "--help"])))
    return helps


API = """# API

The classes and functions of the library. [As a library](../README.md#as-a-library) has a program to begin with,
[`driver/`](../driver/README.md) the classes that most programs need.

"""
API_HERE = '<a href="../api/index.html">Open the pages that Doxygen made</a> from the headers of this build.\n'
API_MISSING = """These pages are made by Doxygen, which was not installed when this site was built. On Debian and
Ubuntu:

    sudo apt-get install doxygen
    ./lulab docs
"""


def generated_pages(root, programs, has_api):
    """Reference pages; without programs their text is empty, so that links to them can still be checked."""
    api = API + (API_HERE if has_api else API_MISSING)
    if programs is None:
        return {"reference/rungs.md": "# Rungs\n", "reference/commands.md": "# Commands\n", "reference/api.md": api}
    return {"reference/rungs.md": rungs_page(json.loads(output([programs / "lulab", "list", "--json"]))),
            "reference/commands.md": commands_page(all_helps(root, programs)), "reference/api.md": api}


# --- menu and configuration -------------------------------------------------------------------------------------------

def menu(paths):
    """The nav of mkdocs.yml. Raises Mistake where a document stands in none of its parts."""
    chapters = sorted(path for path in paths if re.fullmatch(r"tutorials/\d\d_\w+/README\.md", path))
    rooms = []
    for room in ROOMS:
        pages = [{name: path} for name, path in (("Overview", f"{room}/README.md"), ("Notes", f"{room}/NOTES.md"))
                 if path in paths]
        rooms += [{room: pages}] if pages else []
    learn = ["tutorials/README.md", *chapters, "tutorials/GLOSSARY.md", "docs/five_papers.md", "docs/reproduction.md",
             "labs/README.md", "labs/GRADING.md"]
    how_to = ["docs/README.md", *(f"docs/{name}.md" for name in HOW_TO)]
    look_up = ["reference/rungs.md", "reference/commands.md", "reference/api.md", "CHANGELOG.md", "CONTRIBUTING.md",
               "SECURITY.md"]
    nav = [{"Home": "README.md"}, {"Learn": [path for path in learn if path in paths]},
           {"How do I": [path for path in how_to if path in paths]}, {"Rooms": rooms},
           {"Reference": [path for path in look_up if path in paths]}]
    listed = set(re.findall(r'"([\w/.]+\.md)"', json.dumps(nav)))
    missing = sorted(path for path in paths if path.endswith(".md") and path not in listed
                     and not path.startswith("source/"))
    if missing:
        raise Mistake(f"in no menu: {', '.join(missing)}; add it to menu() in docs/pages.py")
    return nav


def gather(root, out, programs, has_api):
    """Writes pages/ and mkdocs.yml to the folder `out`; the mistakes that it found."""
    gathered = Gathered(root, generated_pages(root, programs, has_api))
    nav = menu(gathered.pages)
    pages = out / "pages"
    kept = set()
    for path, contents in gathered.pages.items():
        file = pages / path
        kept.add(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    for name in ASSETS:
        kept.add(pages / "assets" / name)
        (pages / "assets").mkdir(exist_ok=True)
        (pages / "assets" / name).write_bytes((root / "docs" / name).read_bytes())
    for old in pages.rglob("*"):
        if old.is_file() and old not in kept:
            old.unlink()
    settings = (root / "docs/mkdocs.yml").read_text(encoding="utf-8")
    (out / "mkdocs.yml").write_text(f"{settings}nav: {json.dumps(nav)}\n", encoding="utf-8")
    return gathered.mistakes


# --- the built site ---------------------------------------------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """Places and links of one page of HTML."""

    def __init__(self, text):
        super().__init__()
        self.places, self.links, self.loads, self.base = {""}, [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.places |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in ("script", "img", "iframe", "source") and values.get("src"):
            self.loads.append(values["src"])
        if tag == "link" and values.get("href") and values.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(values["href"])


def check_site(site):
    """What is wrong with a built site. Pages of Doxygen are not read, only looked for."""
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    pages = {path: Page(file.read_text(encoding="utf-8")) for path, file in files.items()
             if path.endswith(".html") and not path.startswith("api/") and path != "404.html"}
    mistakes = []
    if "index.html" not in pages:
        mistakes.append(f"{site}: no index.html")
    for path, page in pages.items():
        for link in page.links + page.loads:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.loads and url.scheme != "data":
                    mistakes.append(f"{path}: it loads {link} from the network")
                continue
            target = urllib.parse.unquote(url.path)
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
            if name not in files:
                mistakes.append(f"{path}: its link to {link} leads nowhere")
            elif name in pages and urllib.parse.unquote(url.fragment) not in pages[name].places:
                mistakes.append(f"{path}: its link to {link} finds no such place")
    for path, file in files.items():
        if path.endswith(".css") and not path.startswith("api/"):
            for url in re.findall(r"url\(\s*[\"']?(https?:[^)\"']*)", file.read_text(encoding="utf-8")):
                mistakes.append(f"{path}: it loads {url} from the network")
    return mistakes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("gather", help="write pages/ and mkdocs.yml")
    command.add_argument("out", type=pathlib.Path, help="folder to write to")
    command.add_argument("--programs", type=pathlib.Path, required=True, help="folder of the built programs")
    command.add_argument("--api", action="store_true", help="pages of Doxygen will be in site/api")
    command = commands.add_parser("check", help="check links and menu, write nothing")
    command.add_argument("--programs", type=pathlib.Path, help="folder of the built programs: check what they say, too")
    command = commands.add_parser("site", help="check a built site")
    command.add_argument("folder", type=pathlib.Path, help="the site")
    chosen = parser.parse_args()
    try:
        if chosen.command == "gather":
            mistakes = gather(ROOT, chosen.out, chosen.programs.resolve(), chosen.api)
        elif chosen.command == "check":
            with tempfile.TemporaryDirectory() as folder:
                programs = chosen.programs.resolve() if chosen.programs else None
                mistakes = gather(ROOT, pathlib.Path(folder), programs, False)
        else:
            mistakes = check_site(chosen.folder)
    except Mistake as mistake:
        mistakes = [str(mistake)]
    for mistake in mistakes:
        print(f"docs/pages.py: {mistake}", file=sys.stderr)
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
