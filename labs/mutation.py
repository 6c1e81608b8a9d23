"""Variants of a lab's lines, made by rules: wrong ones by small faults, right ones that say the same in other words.

A rule looks at code, never at comments or texts, and changes one place. Both functions return [(name, holes)], in the
order of the lines, each variant once.
"""
import re

START = r"(?:(?<=\()|(?<=; )|(?<=&& ))"
ATOM = r"[A-Za-z_][\w.]*(?:\[[\w. +]*\])?(?:\(\))?"

# pattern, replacements: each match gives a variant for each replacement.
FAULTS = [
    (r"(?<![<>=!\-+*/&|])<(?![<=>])(?= )", ["<=", ">"]), (r" <= ", [" < "]),
    (r"(?<![->])>(?![>=])(?= \w|\s\d)", [">=", "<"]),
    (r" >= ", [" > "]), (r" == ", [" != "]), (r" != ", [" == "]), (r" && ", [" || "]), (r" \|\| ", [" && "]),
    (r" \+ ", [" - "]), (r"(?<=\w|\)|\]) - ", [" + "]), (r" \* ", [" + "]), (r" / ", [" * "]), (r" % ", [" / "]),
    (r" \+= ", [" -= ", " = "]), (r" -= ", [" += ", " = "]), (r" /= ", [" *= "]), (r" \*= ", [" /= "]),
    (r"\+\+(?=\w)", ["--"]), (r"(?<=\])\+\+", [""]), (r"(?<=[\[(,{ =])-(?=\w)", [""]),
    (r"\b0\b(?!x)", ["1"]), (r"\b1\b", ["0", "2"]), (r"\b16\b", ["8"]), (r"\b32\b", ["31", "16"]),
    (r"0xffffffffu", ["0xffffu"]),
    (r"memory_order_(acquire|release)", ["memory_order_relaxed"]), (r"_shfl_down_", ["_shfl_up_"]),
    (r"_shfl_xor_", ["_shfl_down_", "_shfl_up_"]), (r"fetch_min", ["fetch_max"]), (r"fetch_sub", ["fetch_add"]),
    (r"std::max", ["std::min"]), (r"std::abs", [""]), (r"!(?=[A-Za-z])", [""]), (r"\bwhile\b", ["if"]),
    (r"\bif \((?=\w)", ["if (!"]), (r"\btrue\b", ["false"]), (r"\bfalse\b", ["true"]), (r"\bbreak\b", ["continue"]),
    (r"\bcontinue\b", ["break"]), (r"\.begin\(\)(?= \+)", [".begin() + 1"]),
    (r"col_ptr", ["diag"]), (r"diag", ["col_ptr"]), (r"first\[", ["last["]), (r"from\[", ["to["]),
    (r"blockDim", ["threadIdx"]), (r"lane\b", ["0"]),
]
SAME = [
    (r"\+\+(\w+)(?=\))", r"\1 += 1"), (r"\b(\w+(?:\[[^;=\]]*\])*) \+= ([^;)]+)(?=[;)])", r"\1 = \1 + (\2)"),
    (r"\b(\w+) /= (\w+)", r"\1 = \1 / \2"), (rf"{START}({ATOM}) < ({ATOM})(?= &&|;|\))", r"\2 > \1"),
    (rf"{START}({ATOM}) >= ({ATOM})(?= &&|;|\))", r"!(\1 < \2)"),
    (rf"(?<=\()({ATOM}) == ({ATOM})(?=\)| &&)", r"\2 == \1"),
    (rf"(?<=\()({ATOM}) <= ({ATOM})(?=\))", r"!(\1 > \2)"), (rf"({ATOM}) != ({ATOM})(?=\)| &&)", r"!(\1 == \2)"),
    (r"\b1 \+ (\w+\[\w+\.\w+\[\w+\]\])", r"\1 + 1"),
    (r"\bif \(([^()]*(?:\([^()]*\)[^()]*)*)\) return false;", r"if (!(\1)) {} else return false;"),
    (r"\bwhile \(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)", r"for (; \1;)"),
]
STATEMENT = re.compile(r"[ \t]*(?!for\b|return\b|const\b|static\b|auto\b|bool\b|std::int|std::vector|double\b|T\b)"
                       r"(?!else\b)[^/{}\n]*;[ \t]*(//.*)?\n")


def code_of(line):
    """The part of a line in front of its comment."""
    return line.split("//")[0]


def each_place(holes, rules):
    """(place, old part, new part, holes with it) for each match of each rule, line by line."""
    number = 0
    for h, hole in enumerate(holes):
        lines = hole.splitlines(keepends=True)
        for k, line in enumerate(lines):
            number += 1
            code = code_of(line)
            for pattern, replacements in rules:
                for match in re.finditer(pattern, code):
                    for replacement in replacements if isinstance(replacements, list) else [replacements]:
                        new = match.expand(replacement)
                        text = line[:match.start()] + new + line[match.end():]
                        changed = "".join(lines[:k] + [text] + lines[k + 1:])
                        place = f"line {number}:{match.start() + 1}"
                        yield place, match[0].strip(), new.strip(), holes[:h] + [changed] + holes[h + 1:]


def without_a_statement(holes):
    number = 0
    for h, hole in enumerate(holes):
        lines = hole.splitlines(keepends=True)
        for k, line in enumerate(lines):
            number += 1
            if STATEMENT.fullmatch(line):
                indent = line[:len(line) - len(line.lstrip())]
                rest = lines[:k] + [f"{indent};\n"] + lines[k + 1:]
                yield f"line {number}", code_of(line).strip(), "", holes[:h] + ["".join(rest)] + holes[h + 1:]


def named(found):
    seen, variants = set(), []
    for place, old, new, holes in found:
        if tuple(holes) in seen:
            continue
        seen.add(tuple(holes))
        variants.append((f"{place}: `{old}` -> `{new}`" if new else f"{place}: without `{old}`", holes))
    return variants


def faults(holes):
    return named([*each_place(holes, FAULTS), *without_a_statement(holes)])


def rewrites(holes):
    return named(each_place(holes, SAME))
