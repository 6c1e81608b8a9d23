"""Finds the places of a C++ file that can be mutated, and writes a copy of it that has a switch at each.

The syntax comes from libclang, so a mutant changes what the compiler sees: an operator, a constant, a call. The copy
has the same lines. See switches.h for what it calls.
"""
import hashlib
import re
import sys

try:
    import clang.cindex as clang
except ImportError:  # Debian's package is for the system's Python; it is plain Python
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import clang.cindex as clang
    except ImportError:
        clang = None

K = clang.CursorKind if clang else None
VERSION = 5  # of what is found: counts in the key of kept results

BINARY = {"+": ("plus", "-"), "-": ("minus", "+"), "*": ("times", "+"), "/": ("over", "*"), "%": ("modulo", "/"),
          "<<": ("shift_left", ">>"), ">>": ("shift_right", "<<"), "&": ("bit_and", "|"), "|": ("bit_or", "&"),
          "^": ("bit_xor", "&"), "==": ("equal", "!="), "!=": ("unequal", "=="),
          "+=": ("plus_assign", "-="), "-=": ("minus_assign", "+="), "*=": ("times_assign", "/="),
          "/=": ("over_assign", "*="), "|=": ("or_assign", "&="), "&=": ("and_assign", "|="),
          "^=": ("xor_assign", "|="), "<<=": ("left_assign", ">>="), ">>=": ("right_assign", "<<=")}
COMPARISON = {"<": ("less", "<=", ">="), "<=": ("at_most", "<", ">"), ">": ("greater", ">=", "<="),
              ">=": ("at_least", ">", "<")}
LOGICAL = {"&&": "||", "||": "&&"}
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
# A called function, and the one that the mutant calls with the same arguments.
RENAMED = {a: b for pair in (
    "min max", "lower_bound upper_bound", "any_of all_of", "min_element max_element", "front back", "floor ceil",
    "fetch_add fetch_sub", "fetch_min fetch_max", "fetch_or fetch_and", "atomicAdd atomicSub", "atomicMin atomicMax",
    "atomicOr atomicAnd", "__shfl_up_sync __shfl_down_sync", "__any_sync __all_sync", "stable_sort sort",
    ) for a, b in (pair.split(), pair.split()[::-1])} | {"__shfl_xor_sync": "__shfl_down_sync"}
del RENAMED["sort"]  # a stable sort is a sort
SYMMETRIC = {"min", "max", "swap", "exchange", "equal", "fma"}
ORDER = re.compile(r"memory_order(?:::|_)(acquire|release|acq_rel|seq_cst)\b")
RACE = re.compile(r"__sync|__threadfence|atomic_thread_fence|\bsync\(|barrier|fence")
# Statements whose absence nobody can see, or only on a clock.
UNSEEN = re.compile(r"(?:[\w.\[\]>-]+(?:\.|->))?(?:reserve|shrink_to_fit)\(|(?:std::)?setvbuf\(|\(void\)")
CHECKED = re.compile(r"LULAB_RETURN_IF_ERROR\b")


def on_one_line(text):
    """What is inserted adds no line, so that errors name lines of the source."""
    comment_or_break = r"\s*(?://[^\n]*)?\n\s*|/\*.*?\*/"
    return re.sub(rf'("(?:[^"\\]|\\.)*")|{comment_or_break}', lambda m: m[1] or " ", text, flags=re.DOTALL)


def key_of(text):
    return hashlib.sha256(f"{VERSION} {text}".encode()).hexdigest()[:20]


class Finder:
    def __init__(self, root, file, arguments, bad_lines):
        self.file, self.bad_lines = file, set(bad_lines)
        self.bytes = (root / file).read_bytes()
        options = clang.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        self.unit = clang.Index.create().parse(
            str(root / file), args=["-x", "c++", "-std=c++20", f"-I{root}", "-w", "-Wno-everything",
                                    "-frelaxed-template-template-args", *arguments], options=options)
        self.errors = [str(d) for d in self.unit.diagnostics if d.severity >= clang.Diagnostic.Error]
        self.mutants, self.edits, self.left_out = [], [], {}
        self.sequence = 0
        self.macros, self.done_macros = [], set()
        self.function = ""
        self.id = "m" + hashlib.sha256(file.encode()).hexdigest()[:8]

    # --- text ---

    def text(self, start, end):
        return self.bytes[start:end].decode()

    def source(self, cursor):
        return self.text(*self.span(cursor))

    @staticmethod
    def span(cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def in_macro(self, start, end):
        return any(a <= start < b or a < end <= b for a, b in self.macros)

    def before(self, offset):
        return self.bytes[max(0, offset - 200):offset].decode(errors="replace").rstrip()

    def after(self, offset):
        return self.bytes[offset:offset + 200].decode(errors="replace").lstrip()

    def has_bad_line(self, start, end):
        first = self.bytes.count(b"\n", 0, start) + 1
        last = first + self.bytes.count(b"\n", start, end)
        return any(first <= line <= last for line in self.bad_lines)

    # --- results ---

    def leave_out(self, reason):
        self.left_out[reason] = self.left_out.get(reason, 0) + 1

    def add(self, cursor_or_span, old, new, kind):
        start = cursor_or_span[0]
        number = len(self.mutants)
        self.mutants.append({"number": number, "line": self.bytes.count(b"\n", 0, start) + 1, "in": self.function,
                             "old": " ".join(old.split()), "new": " ".join(new.split()), "kind": kind})
        return number

    # An edit: where; 0 ends a span, 1 replaces, 2 begins one; longer spans are around shorter ones; text; end of what
    # it replaces.

    def wrap(self, start, end, prefix, suffix):
        self.sequence += 1
        self.edits.append((start, 2, -end, self.sequence, on_one_line(prefix), start))
        self.edits.append((end, 0, -start, -self.sequence, suffix, end))

    def insert(self, start, text):
        self.sequence += 1
        self.edits.append((start, 2, -len(self.bytes) - 1, self.sequence, on_one_line(text), start))

    def replace(self, start, end, text):
        self.edits.append((start, 1, 0, 0, text, end))

    def switch(self, number):
        return f"lulab::mutants::switches_{self.id}[{number}]"

    def alternative(self, span, new, kind, around=None):
        """The expression becomes another. around: the span of what the mutant's name shows."""
        a, b = around or span
        number = self.add(span, self.text(a, b), self.text(a, span[0]) + new + self.text(span[1], b), kind)
        self.wrap(*span, f"(lulab::mutants::is_on({self.switch(number)}) ? ({new}) : (", "))")

    # --- walk ---

    def find(self):
        top = self.unit.cursor
        for c in top.get_children():
            if c.kind == K.MACRO_INSTANTIATION and self.here(c):
                self.macros.append(self.span(c))
        for c in top.get_children():
            if c.kind not in (K.MACRO_INSTANTIATION, K.MACRO_DEFINITION, K.INCLUSION_DIRECTIVE) and self.here(c):
                self.walk(c, top)
        return self

    def here(self, cursor):
        place = cursor.location.file
        return place is not None and place.name == self.unit.spelling

    FUNCTIONS = {"FUNCTION_DECL", "CXX_METHOD", "CONSTRUCTOR", "DESTRUCTOR", "FUNCTION_TEMPLATE", "CONVERSION_FUNCTION"}
    NO_CODE = {"STATIC_ASSERT", "ENUM_DECL", "TYPE_ALIAS_DECL", "TYPE_ALIAS_TEMPLATE_DECL", "TYPEDEF_DECL",
               "TEMPLATE_NON_TYPE_PARAMETER", "TEMPLATE_TYPE_PARAMETER", "CXX_UNARY_EXPR", "CONCEPT_DECL",
               "USING_DECLARATION", "STRING_LITERAL", "TYPE_REF", "TEMPLATE_REF", "NAMESPACE_REF"}

    def walk(self, c, parent):
        kind = c.kind.name
        if kind in self.NO_CODE:
            if kind in ("STATIC_ASSERT", "ENUM_DECL"):
                self.leave_out("evaluated by the compiler")
            return
        if self.before(c.extent.start.offset).endswith("decltype("):  # another type, not another value
            self.leave_out("evaluated by the compiler")
            return
        outer = self.function
        if kind in self.FUNCTIONS:
            owner = c.semantic_parent
            named = c.spelling.split("<")[0]
            if owner is not None and owner.kind.name in ("CLASS_DECL", "STRUCT_DECL", "CLASS_TEMPLATE",
                                                         "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION"):
                named = f"{owner.spelling}::{named}"
            self.function = named
        if kind == "VAR_DECL" and re.search(r"\bconstexpr\b|\bconstinit\b", self.text(c.extent.start.offset,
                                                                                      c.location.offset)):
            self.leave_out("constexpr variable")
        else:
            start, end = self.span(c)
            if not self.is_template_argument(start, end, kind):
                self.look(c, parent, kind, start, end)
            self.descend(c, kind)
        self.function = outer

    def descend(self, c, kind):
        children = list(c.get_children())
        if kind == "IF_STMT" and re.match(r"if\s+constexpr\b", self.source(c)):
            self.leave_out("if constexpr")
            children = children[1:]
        elif kind == "CASE_STMT":
            children = children[1:]
        for child in children:
            if kind in self.FUNCTIONS and child.kind.name not in ("COMPOUND_STMT", "PARM_DECL", "CXX_TRY_STMT") \
                    and child.extent.start.offset < c.location.offset:
                continue  # its type
            self.walk(child, c)

    def is_template_argument(self, start, end, kind):
        if kind not in ("BINARY_OPERATOR", "INTEGER_LITERAL", "UNARY_OPERATOR", "CXX_BOOL_LITERAL_EXPR", "PAREN_EXPR"):
            return False
        previous, following = self.bytes[start - 1:start], self.bytes[end:end + 1]
        # clang-format puts spaces around the operators < and >, none around template arguments
        if previous == b"<" or following == b">":
            self.leave_out("template argument")
            return True
        return False

    def look(self, c, parent, kind, start, end):
        if end <= start or self.in_macro(start, end) and not any(start < a and b <= end for a, b in self.macros):
            if kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "INTEGER_LITERAL", "UNARY_OPERATOR"):
                self.leave_out("argument of a macro")
            if kind not in ("COMPOUND_STMT", "IF_STMT"):
                return
        if kind != "COMPOUND_STMT" and self.has_bad_line(start, end):
            if self.bytes.count(b"\n", 0, start) + 1 in self.bad_lines:
                self.leave_out("does not compile")
            return
        self.statement(c, parent, kind, start, end)
        if kind in ("BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "CALL_EXPR"):
            if not self.binary(c, kind, start, end) and kind == "CALL_EXPR":
                self.call(c, start, end)
        elif kind == "UNARY_OPERATOR":
            self.unary(c, parent, start, end)
        elif kind in ("INTEGER_LITERAL", "CXX_BOOL_LITERAL_EXPR"):
            self.literal(c, parent, start, end)
        elif kind == "COMPOUND_STMT":
            self.checked_calls(start, end)
        elif kind in ("IF_STMT", "WHILE_STMT", "CONDITIONAL_OPERATOR", "RETURN_STMT"):
            self.condition(c, kind)

    # --- mutants ---

    def statement(self, c, parent, kind, start, end):
        if parent.kind.name in ("TRANSLATION_UNIT", "NAMESPACE", "CLASS_DECL", "STRUCT_DECL"):
            return
        old = self.text(start, end)
        if kind in ("BREAK_STMT", "CONTINUE_STMT") or kind == "RETURN_STMT" and old.strip() == "return":
            number = self.add((start, end), f"{old};", "", "statement")
            self.insert(start, f"if (lulab::mutants::is_on({self.switch(number)})) {{}} else ")
            return
        if kind not in ("CALL_EXPR", "BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR", "UNARY_OPERATOR",
                        "UNEXPOSED_EXPR"):
            return
        if parent.kind.name not in ("COMPOUND_STMT", "IF_STMT", "FOR_STMT", "WHILE_STMT", "DO_STMT", "CASE_STMT",
                                    "DEFAULT_STMT", "CXX_FOR_RANGE_STMT"):
            return
        last = list(parent.get_children())[-1]
        if parent.kind.name in ("FOR_STMT", "WHILE_STMT", "CXX_FOR_RANGE_STMT") and self.span(last) != (start, end):
            return
        before = self.before(start)
        if not self.after(end).startswith(";") or not re.search(r"([{};:)]|\belse|\bdo|//[^\n]*|\*/)$", before):
            return
        if UNSEEN.match(old):
            self.leave_out("only a clock sees it")
            return
        number = self.add((start, end), f"{old};", "", "race" if RACE.search(old) and len(old) < 100 else "statement")
        self.insert(start, f"if (lulab::mutants::is_on({self.switch(number)})) {{}} else ")

    def checked_calls(self, start, end):
        """LULAB_RETURN_IF_ERROR(f()); that becomes f();"""
        for a, b in self.macros:
            if start < a and b < end and CHECKED.match(self.text(a, b)) and a not in self.done_macros:
                self.done_macros.add(a)
                if self.has_bad_line(a, b):
                    continue
                inner = re.fullmatch(r"LULAB_RETURN_IF_ERROR\((.*)\)", self.text(a, b), re.S)
                if inner is None or not self.after(b).startswith(";"):
                    continue
                span = (a, b)
                number = self.add(span, f"{self.text(a, b)};", f"{inner[1]};", "unchecked")
                switch = self.switch(number)
                self.insert(a, f"if (lulab::mutants::is_on({switch})) static_cast<void>({inner[1]}); else ")

    def binary(self, c, kind, start, end):
        children = [x for x in c.get_children() if self.span(x)[1] > self.span(x)[0]]
        if kind == "CALL_EXPR" and not (c.spelling or "").startswith("operator") and len(children) != 3:
            return False
        if len(children) < 2:
            return False
        children.sort(key=lambda x: self.span(x))
        left, right = self.span(children[0]), self.span(children[-1])
        if left[0] != start or right[1] != end or left[1] > right[0]:
            return False
        between = self.text(left[1], right[0])
        operator = re.sub(r"//[^\n]*|/\*.*?\*/|\s+", "", between, flags=re.S)
        if operator not in BINARY and operator not in COMPARISON and operator not in LOGICAL:
            return False
        at = left[1] + len(between[:between.index(operator)].encode())
        if self.in_macro(at, at + 1):
            self.leave_out("argument of a macro")
            return True
        a, b, old = self.text(*left), self.text(*right), self.text(start, end)
        if operator in LOGICAL:
            number = self.add((start, end), old, f"{a} {LOGICAL[operator]} {b}", "operator")
            s = self.switch(number)
            self.wrap(start, end, "((", f") != lulab::mutants::is_on({s}))")
            self.wrap(*left, f"lulab::mutants::flip({s}, ", ")")
            self.wrap(*right, f"lulab::mutants::flip({s}, ", ")")
        elif operator in COMPARISON:
            name, boundary, opposite = COMPARISON[operator]
            number = self.add((start, end), old, f"{a} {boundary} {b}", "operator")
            self.add((start, end), old, f"{a} {opposite} {b}", "operator")
            self.wrap(start, end, f"lulab::mutants::{name}(&{self.switch(number)}, ", ")")
            self.replace(at, at + len(operator), ",")
        else:
            if operator in ("<<", ">>") and not self.is_number(children[0]):
                return True  # a stream
            name, mutated = BINARY[operator]
            number = self.add((start, end), old, f"{a} {mutated} {b}", "operator")
            self.wrap(start, end, f"lulab::mutants::{name}({self.switch(number)}, ", ")")
            self.replace(at, at + len(operator), ",")
        return True

    @staticmethod
    def is_number(c):
        kind = c.type.get_canonical().kind
        return kind in (clang.TypeKind.DEPENDENT, clang.TypeKind.UNEXPOSED, clang.TypeKind.ENUM) or \
            clang.TypeKind.BOOL.value <= kind.value <= clang.TypeKind.LONGDOUBLE.value

    def unary(self, c, parent, start, end):
        old = self.text(start, end)
        child = next(iter(c.get_children()), None)
        if child is None:
            return
        if re.match(r"[!=]=", old):  # the compiler's !(a == b) for a != b
            return
        if old.startswith("!"):
            inner = child
            while inner.kind in (K.UNEXPOSED_EXPR, K.PAREN_EXPR) and len(list(inner.get_children())) == 1:
                inner = next(iter(inner.get_children()))
            number = self.add((start, end), old, old[1:], "operator")
            self.nan_comparison(inner, (start, end))
            self.wrap(start, end, f"lulab::mutants::flip({self.switch(number)}, ", ")")
        elif old.startswith("-") and not old.startswith("--"):
            number = self.add((start, end), old, old[1:], "operator")
            self.wrap(start, end, f"lulab::mutants::negated({self.switch(number)}, ", ")")
        elif ("++" in old[:2] or old.endswith("++")) and parent.kind.name in (
                "ARRAY_SUBSCRIPT_EXPR", "BINARY_OPERATOR", "CALL_EXPR", "UNEXPOSED_EXPR", "VAR_DECL", "RETURN_STMT"):
            if re.fullmatch(r"\+\+[\w.\[\]]+|[\w.\[\]]+\+\+", old) and not self.after(end).startswith(";"):
                self.alternative((start, end), old.replace("++", "--"), "operator")

    def nan_comparison(self, inner, span):
        """!(a <= b), which a NaN fulfils, that becomes a > b."""
        if inner.kind != K.BINARY_OPERATOR:
            return
        children = sorted((self.span(x) for x in inner.get_children()))
        if len(children) != 2:
            return
        (a0, a1), (b0, b1) = children
        operator = self.text(a1, b0).strip()
        types = {x.type.get_canonical().kind for x in inner.get_children()}
        integral = all(clang.TypeKind.BOOL.value <= k.value <= clang.TypeKind.INT128.value for k in types)
        if operator in OPPOSITE and not integral:
            self.alternative(span, f"{self.text(a0, a1)} {OPPOSITE[operator]} {self.text(b0, b1)}", "operator")

    def literal(self, c, parent, start, end):
        old = self.text(start, end)
        if self.before(start).endswith(("[[", "alignas(")):
            return
        if parent.kind.name in ("DECL_REF_EXPR", "MEMBER_REF_EXPR", "OVERLOADED_DECL_REF"):
            self.leave_out("template argument")
            return
        if parent.kind.name in ("VAR_DECL", "FIELD_DECL", "PARM_DECL"):
            if start < parent.location.offset or self.before(start).endswith("[") or \
                    re.search(r":\s*$", self.before(start)):
                self.leave_out("type")
                return
            if parent.kind.name == "VAR_DECL" and parent.type.is_const_qualified():
                self.leave_out("constexpr variable")
                return
        if parent.kind.name in self.FUNCTIONS and start < parent.location.offset:
            return
        around = self.span(parent)
        if not around[0] <= start < end <= around[1] or around[1] - around[0] > 100:
            around = self.bytes.rfind(b"\n", 0, start) + 1, self.bytes.find(b"\n", end)
            around = around[0], max(end, around[0] + len(self.text(*around).split(" //")[0].encode()))
        if old in ("true", "false"):
            self.alternative((start, end), "false" if old == "true" else "true", "constant", around)
            return
        match = re.fullmatch(r"(\d+)([uUlL]*)", old)
        if match is None:
            return
        value = int(match[1])
        self.alternative((start, end), f"{1 if value == 0 else 0 if value == 1 else value + 1}{match[2]}", "constant",
                         around)

    def condition(self, c, kind):
        children = list(c.get_children())
        if not children or kind == "IF_STMT" and re.match(r"if\s+constexpr\b", self.source(c)):
            return
        x = children[0]
        while x.kind in (K.UNEXPOSED_EXPR, K.PAREN_EXPR) and len(list(x.get_children())) == 1 and \
                self.span(next(iter(x.get_children()))) == self.span(x):
            x = next(iter(x.get_children()))
        if x.kind not in (K.CALL_EXPR, K.DECL_REF_EXPR, K.MEMBER_REF_EXPR, K.UNEXPOSED_EXPR):
            return
        start, end = self.span(x)
        old = self.text(start, end)
        if kind == "RETURN_STMT" and x.type.get_canonical().kind != clang.TypeKind.BOOL:
            return
        if self.in_macro(start, end) or re.search(r"\s(?:==|!=|<|>|<=|>=|&&|\|\|)\s", old) or old.startswith("!"):
            return
        if not self.after(end).startswith((")", ";", "?")):
            return
        number = self.add((start, end), old, f"!{old}", "operator")
        self.wrap(start, end, f"lulab::mutants::flip({self.switch(number)}, ", ")")

    def call(self, c, start, end):
        old = self.text(start, end)
        if len(old) > 300 or c.type.get_canonical().kind == clang.TypeKind.INVALID:
            return
        children = list(c.get_children())
        arguments = list(c.get_arguments())
        opening = old.find("(")
        if opening < 0 or not children or not re.match(r"[\w:.>\-\[\]]", old):
            return
        first_argument = min((self.span(x)[0] for x in arguments), default=end)
        head = self.text(start, first_argument) if arguments else old
        name = re.search(r"(\w+)(?:<[^()]*>)?\(\s*$", head) if arguments else re.search(r"(\w+)\(\)$", head)
        if name is not None and RENAMED.get(name[1]) and "{" not in old:
            at = name.start(1)
            self.alternative((start, end), old[:at] + RENAMED[name[1]] + old[at + len(name[1]):], "call")
        elif name is not None and name[1] in ("abs", "fabs") and len(arguments) == 1:
            self.alternative((start, end), self.source(arguments[0]), "call")
        elif ORDER.search(old) and "{" not in old:
            depth = [m for m in ORDER.finditer(old)]
            changed = old
            for m in reversed(depth):
                separator = m[0][len("memory_order"):-len(m[1])]
                changed = f"{changed[:m.start()]}memory_order{separator}relaxed{changed[m.end():]}"
            # the call that has it, not one around that
            if not any(ORDER.search(self.source(x)) and self.span(x) != (start, end) and "(" in self.source(x)
                       for x in children):
                self.alternative((start, end), changed, "race")
        elif name is not None and name[1] not in SYMMETRIC and len(arguments) >= 2:
            for x, y in zip(arguments, arguments[1:]):
                a, b = self.span(x), self.span(y)
                one, two = self.text(*a), self.text(*b)
                types = [t.type.get_canonical().spelling.replace("const ", "").rstrip("& ") for t in (x, y)]
                if a[1] >= b[0] or a[1] <= a[0] or types[0] != types[1] or one == two or "dependent" in types[0] or \
                        not re.fullmatch(r"[\w.\[\]>\-]+", one + two) or re.fullmatch(r"\d+", one + two) or \
                        self.in_macro(*a) or self.in_macro(*b):
                    continue
                new = self.text(start, a[0]) + two + self.text(a[1], b[0]) + one + self.text(b[1], end)
                self.alternative((start, end), new, "arguments")
                break

    # --- known bugs ---

    def plant(self, bug):
        """A bug that the project or another one had: `replace`, found once, becomes `by`."""
        old = bug["replace"].encode()
        if self.bytes.count(old) != 1:
            raise ValueError(f"{self.file}: \"{bug['replace']}\" is there {self.bytes.count(old)} times, not once")
        start = self.bytes.index(old)
        end = start + len(old)
        number = self.add((start, end), bug["replace"], bug["by"], "known bug")
        self.mutants[-1].update(name=bug["name"], killed_by=bug["killed_by"],
                                races=bug.get("races", False))
        if old.rstrip().endswith((b";", b"}")):
            self.insert(start, f"if (lulab::mutants::is_on({self.switch(number)})) {{ {bug['by']} }} else {{ ")
            self.edits.append((end, 0, len(self.bytes), 0, " }", end))
        else:
            self.wrap(start, end, f"(lulab::mutants::is_on({self.switch(number)}) ? ({bug['by']}) : (", "))")

    # --- the copy ---

    def instrumented(self):
        pieces, at = [], 0
        for start, _, _, _, text, end in sorted(self.edits):
            pieces.append(self.bytes[at:start].decode())
            pieces.append(text)
            at = end
        pieces.append(self.bytes[at:].decode())
        if not self.mutants:
            return self.bytes.decode()
        return ('#include "testing/mutants/switches.h"\n'
                f'LULAB_MUTANTS_OF({self.id}, "{self.file}", {len(self.mutants)})\n#line 1\n' + "".join(pieces))


def find_places(root, file, arguments, bugs=(), bad_lines=(), only_bugs=False):
    """{mutants, left_out, text, errors}. Nothing that has one of bad_lines, which do not compile, is mutated."""
    finder = Finder(root, file, arguments, bad_lines)
    for bug in bugs:
        finder.plant(bug)
    if not only_bugs:
        finder.find()
    return {"mutants": finder.mutants, "left_out": finder.left_out, "text": finder.instrumented(),
            "errors": finder.errors}
