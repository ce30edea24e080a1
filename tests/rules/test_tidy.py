#!/usr/bin/env python3
"""Shows that each rule of tools/dev/tidy catches what it is for, and nothing else: a small tree has
one violation, and the same tree none. The tree needs no files, but for git and objects."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

DEV = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                    "../../tools/dev"))
sys.path.insert(0, DEV)
from house import layers, laws, names, style # noqa: E402
from house.tree import Tree # noqa: E402

HEAD = "/* What a row is, and why it is stored like that. */\n"
POISON = '#include "base/poison.h"\n'
LAYERS = ("base", "trace", "record", "profile", "table", "cli", "reports", "page", "export",
          "command")
C, H = "src/profile/b.c", "src/profile/b.h"


def guarded(name, text=""):
    return f"#ifndef MP_{name}_H\n#define MP_{name}_H\n{text}#endif\n"


CLEAN = {f"src/{layer}/{layer}.h": guarded(layer.upper()) for layer in LAYERS}
CLEAN["src/trace/a.c"] = HEAD + '#include "base/base.h"\n#include "trace/trace.h"\n\n' + POISON
FAMILY = {f"src/reports/deps/{name}.h": guarded(name.upper()) for name in ("deps", "build")}


def function(text, name="f"):
    return f"{HEAD}{POISON}void {name}(void)\n{{\n    {text}\n}}\n"


def lengthy(lines):
    return ("static int g(void)\n{\n    return 1;\n}\n\nint f(int a,\n      int b)\n{\n"
            + "    a++;\n" * (lines - 2) + "}\n")


# Rule, name of the case, what the tree has in addition, and a part of the message; None: none.
CASES = [
    ("layers", "base sees trace", {"src/base/b.c": '#include "trace/trace.h"\n'},
     "base must not see trace"),
    ("layers", "trace sees record", {"src/trace/b.c": '#include "record/record.h"\n'},
     "trace must not see record"),
    ("layers", "record sees profile", {"src/record/b.c": '#include "profile/profile.h"\n'},
     "record must not see profile"),
    ("layers", "a lower room of the recorder", {
        "src/record/core/b.h": "#ifndef MP_B_H\n#define MP_B_H\n#endif\n",
        "src/record/process/b.c": '#include "record/core/b.h"\n'}, None),
    ("layers", "a higher room of the recorder", {
        "src/record/process/b.h": "#ifndef MP_B_H\n#define MP_B_H\n#endif\n",
        "src/record/core/b.c": '#include "record/process/b.h"\n'},
     '"record/process/b.h" is of a room above'),
    ("layers", "profile sees record", {C: '#include "record/record.h"\n'},
     "profile must not see record"),
    ("layers", "profile sees reports", {H: '#include "reports/reports.h"\n'},
     "profile must not see reports"),
    ("layers", "table sees profile", {"src/table/b.c": '#include "profile/profile.h"\n'},
     "table must not see profile"),
    ("layers", "reports see page", {"src/reports/b.c": '#include "page/page.h"\n'},
     "reports must not see page"),
    ("layers", "page sees export", {"src/page/b.c": '#include "export/export.h"\n'},
     "page must not see export"),
    ("layers", "the command sees record", {"src/command/b.c": '#include "record/record.h"\n'},
     "command must not see record"),
    ("layers", "cli's command.c is of cli", {"src/cli/command.c": '#include "page/page.h"\n'},
     "cli must not see page"),
    ("layers", "a report's command.c is not", {
        "src/reports/deps/command.c": '#include "page/page.h"\n'}, None),
    ("layers", "a folder without a law", {"src/new/b.c": '#include "base/base.h"\n'},
     "src/new is not in the dependency law"),
    ("layers", "CUDA in the reader", {C: "#include <cuda.h>\n"}, "<cuda.h> belongs to"),
    ("layers", "CUPTI in the format", {"src/trace/b.c": "#include <cupti_activity.h>\n"},
     "belongs to"),
    ("layers", "CUDA where it belongs", {
        "src/record/b.c": "#include <cupti.h>\n#include <nvtx3/nvToolsExt.h>\n",
        "samples/b.c": "#include <cuda.h>\n"}, None),
    ("layers", "what a family shows",
     {**FAMILY, "src/reports/replay/a.c": '#include "reports/deps/deps.h"\n',
      "src/reports/deps/a.c": '#include "reports/deps/build.h"\n'}, None),
    ("layers", "a private header",
     {**FAMILY, "src/reports/replay/a.c": '#include "reports/deps/build.h"\n'},
     "is private to reports/deps, which shows deps.h"),
    ("layers", "a crowded folder", {f"src/reports/deps/{number}.c": ""
                                    for number in range(laws.MAX_FOLDER + 1)},
     f"{laws.MAX_FOLDER + 1} source files"),
    ("layers", "a way around by a path", {"src/base/b.c": '#include "../trace/trace.h"\n'},
     "includes start at src/"),
    ("layers", "a public header on src", {"include/miniprof/b.h": '#include "base/base.h"\n'},
     "a public header"),
    ("header_circles", "headers in a circle", {
        "src/base/x.h": '#include "base/y.h"\n', "src/base/y.h": '#include "base/x.h"\n'},
     "in a circle: src/base/x.h src/base/y.h"),
    ("header_circles", "headers in a row", {"src/base/x.h": '#include "base/y.h"\n',
                                            "src/base/y.h": ""}, None),
    ("folder_circles", "folders in a circle", {
        "src/base/x/x.h": '#include "base/y/y.h"\n', "src/base/y/y.h": "",
        "src/base/y/a.c": '#include "base/x/x.h"\n'}, "in a circle with src/base/x: a.c includes"),
    ("folder_circles", "folders in a row", {"src/base/x/x.h": '#include "base/y/y.h"\n',
                                            "src/base/y/y.h": ""}, None),

    *[("style", name, {C: function(f"{name}(x);")}, f"{name} is banned")
      for name in ("sprintf", "strcpy", "strcat", "strtok", "atoi", "gets", "alloca")],
    ("style", "a banned name in a test", {"tests/simgpu/b.c": HEAD + "int x = atoi (y);\n"},
     "atoi is banned"),
    ("style", "exit in the recorder", {"src/record/b.c": function("exit(1);")},
     "neither ends nor prints"),
    ("style", "exit when the program has ended",
     {"src/record/process/lifecycle.c": function("exit(1);")}, None),
    ("style", "assert in base", {"src/base/b.c": function("assert(x);")},
     "neither ends nor prints"),
    ("style", "a tab", {C: function("\tx();")}, "a tab"),
    ("style", "a tab in a makefile", {"tests/b.mk": "x:\n\ty\n"}, None),
    ("style", "a long line", {C: function("x(); // " + "0" * 90)}, "102 columns"),
    ("style", "space at the end", {C: function("x(); ")}, "space at the end"),
    ("style", "a VLA", {C: function("char text[n + 1];")}, "whose length varies: [n + 1]"),
    ("style", "no comment at the head", {C: POISON + "int x;\n"}, "no comment at the head"),
    ("style", "a head that says nothing", {C: "/* See b.h. */\n" + POISON}, "says too little"),
    ("style", "a note for later", {C: function("/* TO" "DO: more */")}, "belongs in an issue"),
    ("style", "no guard", {H: "int f(void);\n"}, "no #ifndef guard"),
    ("style", "#pragma once", {H: "#pragma once\n"}, "uses #ifndef guards"),
    ("style", "another file's guard", {H: guarded("A")}, "should end in B_H"),
    ("style", "no poison", {C: HEAD + '#include "base/base.h"\n'}, "base/poison.h"),
    ("style", "poison not last", {C: HEAD + POISON + "#include <stdio.h>\n"}, "the last header"),
    ("style", "no comment", {"include/miniprof/b.h": guarded(
        "B", "/* Good. */\nint mp_a(void);\n\nint mp_b(int x);\n")}, "mp_b of a public header"),
    ("style", "no newline at the end", {C: HEAD + POISON + "int x;"}, "no newline"),
    ("style", "a long file", {C: HEAD + POISON + "\n" * laws.MAX_FILE},
     f"at most {laws.MAX_FILE}"),
    ("style", "a function of 80 lines", {C: HEAD + POISON + lengthy(laws.MAX_FUNCTION)}, None),
    ("style", "a function of 81 lines", {C: HEAD + POISON + lengthy(laws.MAX_FUNCTION + 1)},
     f"f has {laws.MAX_FUNCTION + 1} lines"),
    ("style", "names that look like banned ones", {C: """\
/* Names that look like banned ones and are not: strcpy(a, b). */
#include "base/poison.h"
/* strcpy(a, b) in a comment */
const char *a = "gets(x)";
int my_atoi(void);
void f(void)
{
    char b[sizeof(struct x) + SIZE];
    char c[MP_FORMATTED_BYTES];
    return levels[config->log];
}
"""}, None),

    ("documents", "as they should be", {
        "docs/a.md": f"# A title\n\nOne idea. Then another: `{'x ' * 32}`.\n\n"
                     f"<!-- claims\n{'word ' * 16}\n{'word ' * 16}\n-->\n",
        "docs/history/a.md": f"{'word ' * 19}.\n{'word ' * 19}.\n"}, None),
    ("documents", "a wide line", {"docs/a.md": "a " + "0" * 99 + "\n"}, "101 columns"),
    ("documents", "a wide link", {"docs/a.md": "0" * 101 + "\n"}, None),
    ("documents", "a wide row of a table", {"README.md": "| " + "0" * 98 + " |\n"}, "102 columns"),
    ("documents", "a wide line of history", {"docs/history/a.md": "a " + "0" * 99 + "\n"},
     "101 columns"),
    ("documents", "a long sentence", {"docs/a.md": f"{'word ' * 16}\n{'word ' * 15}.\n"},
     "a sentence of 31 words"),

    ("word_so_many", "a word in a comment", {C: function("/* so many\n     * rows */")},
     '"so many": better N'),
    ("word_told", "a word in a message", {C: function('print("what was told");')}, '"told"'),
    ("word_told", "a word in a document", {"docs/a.md": "It was told.\n"}, '"told"'),
    ("word_told", "a part of a word, a name", {C: function("/* untold */ told();")}, None),
    ("word_least", "at least", {"docs/a.md": "At least one, at\n  least.\n"}, None),
    ("word_least", "the least", {"docs/a.md": "The least one.\n"}, '"least": better min'),
    ("name_most", "a banned name", {C: function("x = MOST_ROWS;")}, "MOST_ROWS: better MAX_"),
    ("name_most", "the word inside of a name", {C: function("x = ALMOST_ALL;")}, None),
    ("vague_files", "a file's name", {"src/profile/pieces.c": ""}, "does not say"),

    ("dead", "a function", {C: function("f();", "g")}, "nothing uses function g"),
    ("dead", "a function that is declared", {
        C: function(""), H: guarded("B", "void f(void);\n")}, "nothing uses function f"),
    ("dead", "a function in a table", {
        C: function("") + "struct a table[] = {{f}};\nint x = sizeof table + x;\n"}, None),
    ("dead", "a macro", {C: "#define SIZE 5\n"}, "nothing uses macro SIZE"),
    ("dead", "a constant", {C: "enum a {\n    ONE = 1,\n    TWO = 2,\n    THREE,\n};\nint x(void)\n"
                               "{\n    return ONE + x();\n}\n"}, "nothing uses constant TWO"),
    ("dead", "a constant that holds a place", {
        C: "enum {\n    ONE,\n    TWO = 2,\n};\nint x(void)\n{\n    return TWO + x();\n}\n"}, None),
    ("dead", "a type", {H: "struct row {\n    int a;\n};\n"}, "nothing uses type row"),
    ("dead", "a variable", {C: "static const int sizes[] = {1};\n"}, "nothing uses variable sizes"),
    ("dead", "a function of a script", {"src/page/html/a.js": "function draw(x) {\n}\n"},
     "nothing uses function draw"),
    ("dead", "a name that ## makes", {C: "#define CALL(x) make_##x()\n" + function("", "make_a")
                                         + "int x(void)\n{\n    return x() + CALL(a);\n}\n"}, None),
    ("dead", "a name that ## could make of no word", {
        C: "#define CALL(x) make_##x()\n" + function("CALL(a);", "make_b")},
     "nothing uses function make_b"),
    ("dead", "a name of the library's exports",
     {C: function(""), "src/record/exports.map": "f;\n"}, None),
    ("dead", "a public function",
     {C: function("", "mp_a"), "include/miniprof/b.h": "void mp_a(void);\n"}, None),
    ("dead", "a name that assembler calls",
     {C: function('__asm__("call g");') + "void g(void)\n{\n    f();\n}\n"}, None),
    ("test_only", "a function of tests", {C: function(""), "tests/unit/a.c": "f();\n"},
     "used by tests only"),
    ("crumbs", "a short file that one uses", {
        C: function(""), H: "void f(void);\n", "src/cli/a.c": '#include "profile/b.h"\n'},
     "which only src/cli/a uses"),
    ("crumbs", "a short file that two use", {
        C: function(""), H: "void f(void);\n", "src/cli/a.c": '#include "profile/b.h"\n',
        "src/cli/c.c": '#include "profile/b.h"\n'}, None),
    ("crumbs", "a short file without a header", {C: function(""), "src/profile/c.c": "f();\n"},
     "which only src/profile/c uses"),
    ("crumbs", "a long file that one uses", {
        C: function("") + "\n" * 120, H: "void f(void);\n",
        "src/cli/a.c": '#include "profile/b.h"\n'}, None),
    ("shared_tags", "a type defined twice", {
        "src/base/x/a.c": "struct row {\n", "src/base/y/a.c": "struct row {\n"}, "2 types"),
    ("shared_tags", "a type used twice", {
        "src/base/x/a.c": "struct row {\n", "src/base/y/a.c": "struct row *x;\n"}, None),
    ("shared_statics", "a function name in five files", {
        f"src/base/x{number}/a.c": "static int take(void)\n{\n}\n" for number in range(5)},
     "5 static functions"),
    ("shared_files", "a file name in three folders", {
        f"src/base/x{number}/queue.c": "" for number in range(3)}, "3 files"),
    ("aliased_bits", "a bit with two meanings",
     {H: "enum a_flag {\n    ONE = 1,\n    TWO = 1,\n};\n"}, "TWO is ONE"),
    ("aliased_bits", "a number with two names",
     {H: "enum a {\n    ONE = 1,\n    TWO = 1,\n};\n"}, None),
]
CHECKS = {
    "layers": (layers.check_includes, layers.check_folders),
    "header_circles": (layers.check_circles,), "folder_circles": (layers.check_circles,),
    "style": (style.check_code,), "documents": (style.check_documents,),
    "word": (style.check_words,), "name": (style.check_names,), "vague_files": (style.check_names,),
    "dead": (names.check_dead,), "test_only": (names.check_dead,), "crumbs": (names.check_crumbs,),
    "shared": (names.check_shared_names,), "aliased_bits": (names.check_aliases,),
}


def checks_for(rule):
    return CHECKS.get(rule) or CHECKS[rule.split("_")[0]]


class Rules(unittest.TestCase):
    """One test a case."""


def add(number, rule, name, files, wanted):
    def test(self):
        def places(texts):
            return [one.text for check in checks_for(rule) for one in check(Tree(texts))
                    if one.rule == rule]
        usual = places(CLEAN)
        found = [text for text in places({**CLEAN, **files}) if text not in usual]
        if rule in ("style", "layers", "documents"):
            self.assertEqual(usual, [])
        if wanted is None:
            self.assertEqual(found, [])
        else:
            self.assertTrue(any(wanted in text for text in found), found)
    test.__doc__ = f"{rule}: {name}"
    setattr(Rules, f"test_{number:03}", test)


for _number, _case in enumerate(CASES):
    add(_number, *_case)


class Program(unittest.TestCase):
    """The program itself, in a folder of its own."""

    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)
        self.tree = os.path.join(self.root, "tree")
        for path, text in {**CLEAN, "tools/dev/house/limits": "# as it is\ncrumbs 4\n"}.items():
            self.write(path, text)
        # Nobody's own hooks and signatures.
        self.environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null",
                            "GIT_CONFIG_SYSTEM": "/dev/null"}

    def write(self, path, text):
        path = os.path.join(self.tree, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, path):
        with open(os.path.join(self.tree, path), encoding="utf-8") as file:
            return file.read()

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.tree, "-c", "user.name=a", "-c", "user.email=a@b",
                               *arguments], env=self.environment, check=True, capture_output=True,
                              text=True).stdout.strip()

    def tidy(self, status, wanted, *arguments):
        done = subprocess.run([os.path.join(DEV, "tidy"), *arguments], env=self.environment,
                              capture_output=True, text=True, check=False)
        self.assertIn(wanted, done.stdout + done.stderr)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def history(self, *subjects):
        self.git("init", "-q")
        for subject in subjects:
            self.git("commit", "-q", "--allow-empty", "-m", subject)
            if not os.path.exists(os.path.join(self.tree, ".ci/linted")):
                self.write(".ci/linted", self.git("rev-parse", "HEAD"))

    def test_clean(self):
        self.tidy(0, " 0 violations", self.tree)

    def test_one_violation(self):
        self.write(C, function("x(); "))
        self.tidy(1, f"{C}:5: space at the end of the line\n", self.tree)

    def test_limits(self):
        self.write("tools/dev/house/limits", "crumbs 1\nword_told 0\n")
        self.tidy(1, "limits: crumbs: 2, at most 1; tools/dev/tidy --list crumbs", self.tree)
        self.assertEqual(self.tidy(0, "", "--list", "crumbs", self.tree).count("fold them in"), 2)

    def test_limits_become_lower(self):
        self.write("tools/dev/house/limits", "# what is left\ncrumbs  9\nword_told  0\n")
        self.tidy(0, "", "--lower", self.tree)
        self.assertEqual(self.read("tools/dev/house/limits").split(),
                         ["#", "what", "is", "left", "crumbs", "2", "word_told", "0"])

    def test_only_what_is_new_is_shown(self):
        self.write("tools/dev/house/limits", "crumbs 4\nword_told 1\n")
        self.write("docs/a.md", "It was told.\n")
        self.history("one")
        self.git("add", "-A")
        self.git("commit", "-qm", "a")
        self.write("docs/b.md", "It was told.\n")
        shown = self.tidy(1, "docs/b.md:1:", self.tree)
        self.assertNotIn("docs/a.md", shown)

    def test_staged(self):
        self.history("one")
        self.git("add", "-A")
        self.write(C, function("x(); "))
        self.tidy(0, " 0 violations", "--staged", self.tree)
        self.git("add", "-A")
        self.write(C, function("x();"))
        self.tidy(1, f"{C}:5: space at the end", "--staged", self.tree)

    def test_table(self):
        self.tidy(0, "lines                     37   goal", "--table", self.tree)

    def test_longest(self):
        self.write(C, lengthy(80))
        self.write("docs/a.md", "One, two, three.\n")
        self.tidy(0, f"80  {C}:8  f\n", "--longest", self.tree)
        self.tidy(0, "sentence: 3 words, docs/a.md:1\n", "--longest", self.tree)

    def test_no_repository(self):
        self.write(".ci/linted", "0123456789")
        self.tidy(0, "are not checked: no repository", self.tree)

    def test_subjects(self):
        long = "é" * 73
        self.history(long, "one", long[1:])
        self.tidy(0, "files, 0 violations", self.tree)
        self.git("commit", "-q", "--allow-empty", "-m", long)
        self.tidy(1, "a subject of 73 characters", self.tree)
        shallow = os.path.join(self.root, "shallow")
        self.git("clone", "-q", "--depth", "1", f"file://{self.tree}", shallow)
        os.mkdir(os.path.join(shallow, ".ci"))
        shutil.copy(os.path.join(self.tree, ".ci/linted"), os.path.join(shallow, ".ci"))
        self.tidy(0, "are not checked", shallow)
        shutil.rmtree(os.path.join(self.tree, ".git/objects"))
        self.tidy(0, "are not checked", self.tree)

    def test_no_git(self):
        self.history("one")
        os.mkdir(os.path.join(self.root, "bin"))
        os.symlink(sys.executable, os.path.join(self.root, "bin/python3"))
        self.environment["PATH"] = os.path.join(self.root, "bin")
        self.tidy(0, "are not checked: no git", self.tree)

    # ---- Objects and libraries

    def unit(self, path, text, source=None):
        """An object from a line of C, and its source, which may be more."""
        self.write(f"src/{path}.c", source or text)
        os.makedirs(os.path.join(self.tree, "obj/src", os.path.dirname(path)), exist_ok=True)
        self.write("unit.c", text)
        subprocess.run([os.environ.get("CC", "gcc"), "-c", "-o",
                        os.path.join(self.tree, f"obj/src/{path}.o"),
                        os.path.join(self.tree, "unit.c")], check=True)

    def objects(self, status, wanted):
        return self.tidy(status, wanted, "--objects", os.path.join(self.tree, "obj"), self.tree)

    def test_circle(self):
        self.objects(1, "no objects")
        self.unit("base/one", "int two(void);\nint one(void) { return two(); }\n")
        self.unit("base/two", "int two(void) { return 2; }\n")
        self.objects(0, " 0 violations")
        self.unit("base/two", "int one(void);\nint two(void) { return one(); }\n")
        self.objects(1, "src/base/one src/base/two: a circle (one -> two: two; two -> one: one)")
        self.unit("base/two", "int three(void);\nint two(void) { return three(); }\n")
        self.unit("base/three", "extern int *const one_of;\nint three(void) { return *one_of; }\n")
        self.unit("base/one", "int two(void);\nint *const one_of;\n"
                              "int one(void) { return two(); }\n")
        self.objects(1, "src/base/one src/base/three src/base/two: a circle")
        os.remove(os.path.join(self.tree, "src/base/three.c"))
        self.objects(0, " 0 violations")

    def test_up_in_the_layers(self):
        self.unit("base/one", "int two(void);\nint one(void) { return two(); }\n")
        self.unit("cli/two", "int two(void) { return 2; }\n")
        self.objects(1, "src/base/one: needs src/cli/two, which is above it: two")
        self.unit("preload/two", "int two(void) { return 2; }\n")
        os.remove(os.path.join(self.tree, "obj/src/cli/two.o"))
        self.objects(0, " 0 violations")

    def test_up_in_record(self):
        self.unit("record/core/one", "int two(void);\nint one(void) { return two(); }\n")
        self.unit("record/rows/two", "int two(void) { return 2; }\n")
        self.objects(1, "core/one: needs src/record/rows/two, which is above it: two")
        os.rename(os.path.join(self.tree, "src/record/rows"),
                  os.path.join(self.tree, "src/record/cupti"))
        os.rename(os.path.join(self.tree, "obj/src/record/rows"),
                  os.path.join(self.tree, "obj/src/record/cupti"))
        os.rename(os.path.join(self.tree, "src/record/core"),
                  os.path.join(self.tree, "src/record/process"))
        os.rename(os.path.join(self.tree, "obj/src/record/core"),
                  os.path.join(self.tree, "obj/src/record/process"))
        self.objects(0, " 0 violations")

    def test_circle_through_an_inline_function(self):
        self.unit("base/one", "int two(void);\nint one(void) { return two(); }\n")
        self.unit("base/two", "int two(void) { return 2; }\n")
        self.write("src/base/two.h", "static inline int early(void)\n{\n    return one();\n}\n")
        self.objects(1, "a circle through inline functions (one -> two: two; "
                        "two -> one: one in early)")

    def test_circle_through_a_pointer(self):
        self.unit("base/one", "int two(void);\nint one(void) { return two(); }\n",
                  "struct jobs jobs = {.job = one};\n")
        self.unit("base/two", "int two(void) { return 2; }\n", "int two(void)\n{\n    jobs->job();")
        self.write("src/base/jobs.h", "struct jobs {\n    int (*job)(void);\n};\n")
        self.objects(1, "a circle through pointers with one value (one -> two: two; "
                        "two -> one: one by ->job)")
        self.write("src/base/more.c", "jobs->job = other;\n")
        self.objects(0, " 0 violations")

    def test_up_through_a_pointer(self):
        self.unit("record/rows/one", "int one(void) { return 1; }\n", "jobs.job = one;\n")
        self.unit("record/core/two", "int two(void) { return 2; }\n", "jobs->job();\n")
        self.write("src/base/jobs.h", "struct jobs {\n    int (*job)(void);\n};\n")
        self.objects(1, "core/two: needs src/record/rows/one, which is above it: one by ->job")

    def exports(self, status, wanted, text, *flags):
        library = os.path.join(self.root, "library.so")
        with open(os.path.join(self.root, "library.c"), "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-o", library,
                        os.path.join(self.root, "library.c"), *flags], check=True)
        self.tidy(status, wanted, "--exports", library)

    def test_exports(self):
        entries = ("#include <stdlib.h>\n" + "".join(
            f"int {name}(void) {{ return getenv(\"A\") != 0; }}\n" for name in laws.ENTRY_POINTS))
        self.exports(0, " 0 violations", entries)
        self.exports(1, "exports ZSTD_compress", entries + "int ZSTD_compress;\n")
        self.exports(1, "does not export InitializeInjectionNvtx2",
                     "int InitializeInjection(void) { return 1; }\n")
        self.exports(1, "but needs: libm.so.6", entries, "-Wl,--no-as-needed", "-lm")
        self.exports(1, "RUNPATH", entries, "-Wl,-rpath,/tmp")
        self.tidy(1, "no such library", "--exports", os.path.join(self.root, "none.so"))


if __name__ == "__main__":
    unittest.main()
