"""What nothing uses, what only one file uses, and one name for several things."""
import collections
import re

from house import laws
from house.tree import CODE, Found, WORD

# A declaration or definition in column 0: the name after a type and before a parenthesis.
DECLARED = re.compile(r"^(?![#\s}{])[^\n(;={]*?[\s*](\w+)\(", re.MULTILINE)
DEFINE = re.compile(r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", re.MULTILINE)
ENUM = re.compile(r"\benum\b[^;{}()=]*\{([^{}]*)\}")
# Of an enum the constants with a value; one without may hold a place.
CONSTANT = re.compile(r"(?:^|,)\s*([A-Za-z_]\w*)(\s*=)?")
TAG = re.compile(r"\b(?:struct|union|enum)\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)\s*\{")
TYPE = re.compile(r"\b(?:struct|union) (\w+)(?: \{|;$)", re.MULTILINE)
VARIABLE = re.compile(r"^(?!typedef|return)[A-Za-z_][\w \t*]*[ *](\w+)(?:\[[^\]\n]*\])*"
                      r"(?: __attribute__.*)?(?:;| =)", re.MULTILINE)
PASTED = re.compile(r"(\w*)[ \t]*##[ \t]*(\w*)")
FLAGS = re.compile(r"enum \w*flags? ")
VALUE = re.compile(r"(\w+)\s*=\s*(\w+)\s*(?=,|$|\n)")
STATIC = re.compile(r"\s*static\b")
SCRIPT = re.compile(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", re.MULTILINE)


def definitions(file):
    """Yields (kind, name, offset), a name again for each declaration of it."""
    code = file.code
    if file.suffix == ".js":
        for match in SCRIPT.finditer(file.text):
            yield "function", match.group(1), match.start(1)
        return
    if file.suffix != ".def":
        for match in DECLARED.finditer(code):
            yield "function", match.group(1), match.start(1)
        for match in VARIABLE.finditer(code):
            yield "variable", match.group(1), match.start(1)
    for match in DEFINE.finditer(code):
        yield "macro", match.group(1), match.start(1)
    for match in ENUM.finditer(code):
        body = re.sub(r"\([^()]*\)", lambda found: " " * len(found.group(0)), match.group(1))
        for constant in CONSTANT.finditer(re.sub(r"^[ \t]*#.*", "", body, flags=re.MULTILINE)):
            yield "constant" if constant.group(2) else "place", constant.group(1), match.start()
    for match in TYPE.finditer(code):
        yield "type", match.group(1), match.start(1)


class Uses:
    """How often a word stands in src, include and tools, its definitions left out, and in tests."""

    def __init__(self, tree):
        self.product, self.tests = collections.Counter(), set()
        self.defined, pasted = {}, []
        for file in tree.under(("src/", "include/", "tools/"), CODE + (".map", ".js", ".html")):
            self.product.update(file.words)
            if "asm" in file.text: # calls functions by their names in texts
                self.product.update(WORD.findall(file.text))
            if "##" in file.text:
                pasted += PASTED.findall(file.text)
            for kind, name, offset in definitions(file) if file.suffix in CODE + (".js",) else ():
                self.product[name] -= 1
                if file.path.startswith("src/") and kind != "place":
                    self.defined.setdefault((kind, name), (file, offset))
        self.public = set().union(*(file.words for file in tree.under("include/", ".h")), ())
        for file in tree.under(("tests/", "samples/"), CODE):
            self.tests.update(file.words)
        self.begins = {before for before, _ in pasted if before}
        self.ends = {after for _, after in pasted if after}

    def is_pasted(self, name):
        """Whether ## may make the name, of one that a macro has and a word that is given to it."""
        return any(name.startswith(begin) and self.product[name[len(begin):]] > 0
                   for begin in self.begins) or \
            any(name.endswith(end) and self.product[name[:-len(end)]] > 0 for end in self.ends)

    def unused(self):
        for (kind, name), (file, offset) in self.defined.items():
            if self.product[name] <= 0 and name not in self.public and name[0] != "_" and \
                    name not in laws.FOR_OTHERS and not self.is_pasted(name) and \
                    not (kind == "macro" and name.endswith("_H")):
                yield kind, name, file, file.line_of(offset)


def check_dead(tree):
    uses = Uses(tree)
    for kind, name, file, line in uses.unused():
        if name in uses.tests:
            yield Found("test_only", file.path, line, f"{kind} {name} is used by tests only")
        else:
            yield Found("dead", file.path, line, f"nothing uses {kind} {name}")


def check_crumbs(tree):
    """Short units, a .c with its .h or either alone, that one other file uses: it includes the
    header or, where the .c has none, it names one of its functions."""
    users, owners, units = (collections.defaultdict(set) for _ in range(3))
    sources = tree.under("src/", CODE)
    for file in sources:
        unit = file.path[:-2]
        if file.suffix != ".def":
            units[unit].add(file)
        if file.suffix == ".c" and unit + ".h" not in tree.files:
            for function in file.functions:
                if not STATIC.match(function.head):
                    owners[function.name].add(unit)
        for other in tree.includes(file):
            users[other.path[:-2]].add(unit)
    for file in sources:
        for name in (file.words.keys() & owners.keys()) if file.suffix == ".c" else ():
            for unit in owners[name]:
                users[unit].add(file.path[:-2])
    for unit, files in units.items():
        lines = sum(len(file.lines) - 1 for file in files)
        others = users[unit] - {unit}
        if lines < laws.CRUMB * len(files) and len(others) == 1 and not unit.endswith("/command"):
            yield Found("crumbs", unit, 0, f"{lines} lines, which only {next(iter(others))} uses: "
                                           "fold them in")


def check_shared_names(tree):
    tags, statics, stems = (collections.defaultdict(set) for _ in range(3))
    for file in tree.under("src/", (".c", ".h")):
        for match in TAG.finditer(file.code):
            tags[match.group(1)].add(file.path)
        for function in file.functions:
            if STATIC.match(function.head):
                statics[function.name].add(file.path)
        if file.stem not in ("command", "print") and file.stem != file.folder.split("/")[-1]:
            stems[file.stem].add(f"{file.folder}/{file.stem}")
    for rule, names, limit, what in (("shared_tags", tags, 2, "types"),
                                     ("shared_statics", statics, 5, "static functions"),
                                     ("shared_files", stems, 3, "files")):
        for name, paths in sorted(names.items()):
            if len(paths) >= limit and len({path.rsplit("/", 1)[0] for path in paths}) > 1:
                yield Found(rule, name, 0, f"{len(paths)} {what}: {' '.join(sorted(paths))}")


def check_aliases(tree):
    """Two names for one value of an enum of flags: a bit with two meanings."""
    for file in tree.under("src/", (".c", ".h")):
        for match in ENUM.finditer(file.code):
            values = {}
            if not FLAGS.match(match.group(0)):
                continue
            for name, value in VALUE.findall(match.group(1)):
                if values.setdefault(value, name) != name:
                    yield Found("aliased_bits", file.path, file.line_of(match.start()),
                                f"{name} is {values[value]}")
