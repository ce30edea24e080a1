"""What is wrong with a file by itself: lengths, banned calls and words, guards, heads, prose."""
import os
import re

from house import laws
from house.tree import CODE, Found, git

STYLED = CODE + (".py", ".sh", ".mk", ".map")
STYLED_FOLDERS = ("include/", "src/", "tools/", "tests/", "samples/")
LINTED = ".ci/linted"
OURS = "tools/dev/house/" # has the banned words
# tests/simgpu takes the driver's place and cannot be asked to include our headers.
POISON_FREE = ("tests/", "samples/")

LATER = re.compile(r"\b(" + "TO" + "DO|FIX" + "ME|XX" + "X|HA" + r"CK)\b")
SIZE = re.compile(r"\[(?![\]\s])([^\]\n]*)\]\s*;")
ARRAY = re.compile(r"\s+(?!return|goto|case|else)(?:unsigned |signed |struct |const )*\w+\s+\w+$")
# What may stand in the size of an array: sizeof, upper-case constants, numbers.
CONSTANT = re.compile(r"sizeof\s*\(?[^)]*\)?|\b[A-Z_0-9]+\b|\b\d\w*|MP_\w+")
VARIABLE = re.compile(r"\b[a-z][a-z0-9_]*\b(?!\s*\()")
PUBLIC_FUNCTION = re.compile(r"^(?!typedef|static|#|\s)[\w\s*()]*?\b(mp_\w+)\s*\([^;{]*\)[^;{]*;",
                             re.MULTILINE)
GUARD = re.compile(r"^\s*#ifndef (\w+)\s*\n\s*#define (\w+)", re.MULTILINE)
HEAD = re.compile(r"\s*(/\*.*?\*/|(?://[^\n]*\n)+)", re.DOTALL)


def check_lines(file):
    lines = file.lines
    if lines[-1]:
        yield len(lines), "no newline at the end of the file"
    if file.suffix in CODE and len(lines) - 1 > laws.MAX_FILE:
        yield len(lines), (f"{len(lines) - 1} lines; at most {laws.MAX_FILE}: split it by what it "
                           "knows")
    if "\t" in file.text and file.suffix != ".mk":
        yield from ((number, "a tab") for number, line in enumerate(lines, 1) if "\t" in line)
    if max(map(len, lines)) > laws.MAX_COLUMNS:
        for number, line in enumerate(lines, 1):
            if len(line) > laws.MAX_COLUMNS:
                yield number, f"{len(line)} columns; at most {laws.MAX_COLUMNS}"
    if lines != list(map(str.rstrip, lines)):
        for number, line in enumerate(lines, 1):
            if line != line.rstrip():
                yield number, "space at the end of the line"
    for match in LATER.finditer(file.text):
        yield file.line_of(match.start()), "a note to do something later belongs in an issue"


def calls(file, names):
    """Yields (name, line) of each call of one of these functions."""
    for name in names:
        if name in file.words:
            for match in re.finditer(rf"\b{name}\s*\(", file.code):
                yield name, file.line_of(match.start())


def check_calls(file):
    for name, line in calls(file, laws.BANNED_CALLS):
        yield line, f"{name} is banned; use {laws.BANNED_CALLS[name]}"
    if file.path.startswith(laws.GUEST_FOLDERS):
        for name, line in calls(file, laws.BANNED_IN_GUEST):
            if (file.path, name) != laws.MAY_END:
                yield line, f"{name}: code in the application neither ends nor prints"
    for match in SIZE.finditer(file.text):
        before = file.text[file.text.rfind("\n", 0, match.start()) + 1:match.start()]
        if ARRAY.match(before) and VARIABLE.search(CONSTANT.sub("", match.group(1))) and \
                file.code[match.start()] == "[":
            yield file.line_of(match.start()), f"an array whose length varies: [{match.group(1)}]"


def check_functions(file):
    for function in file.functions:
        if function.lines > laws.MAX_FUNCTION:
            yield function.line, (f"{function.name} has {function.lines} lines; at most "
                                  f"{laws.MAX_FUNCTION}")


def check_guard(file):
    code = file.code
    if "#pragma once" in code:
        yield 1, "#pragma once; this project uses #ifndef guards"
    guard = GUARD.search(code)
    if not guard or guard.group(1) != guard.group(2):
        yield 1, "no #ifndef guard"
        return
    stem = re.sub(r"\W", "_", file.name).upper()
    if not guard.group(1).endswith(stem):
        yield file.line_of(guard.start(1)), f"the guard {guard.group(1)} should end in {stem}"


def check_poison(file):
    names = [name for _, _, name in file.includes if name.endswith(".h")]
    if not names or names[-1] != "base/poison.h":
        yield 1, 'the last header is "base/poison.h"'


def check_public(file):
    """Every function of a public header has a comment right above it."""
    for match in PUBLIC_FUNCTION.finditer(file.code):
        if not file.text[:match.start()].rstrip("\n ").endswith("*/"):
            yield (file.line_of(match.start()),
                   f"{match.group(1)} of a public header has no comment above it")


def check_head(file):
    """A .c file begins with a comment that tells a newcomer what the file knows."""
    head = HEAD.match(file.text)
    if not head:
        yield 1, "no comment at the head of the file: say what it knows, and why it is so"
    elif len(re.findall(r"[A-Za-z]{2,}", head.group(1))) < laws.MIN_HEAD:
        yield 1, f"the comment at the head says too little; at least {laws.MIN_HEAD} words"


def check_code(tree):
    for file in tree.under(STYLED_FOLDERS, STYLED):
        checks = [check_lines]
        if file.suffix in CODE:
            checks.append(check_calls)
        if file.suffix == ".h":
            checks.append(check_guard)
        if file.suffix == ".c":
            checks += [check_head] + [check_poison] * file.path.startswith("src/")
        if file.suffix in (".c", ".h") and not file.path.startswith("include/"):
            checks.append(check_functions)
        if file.path.startswith("include/"):
            checks.append(check_public)
        for check in checks:
            for line, text in check(file):
                yield Found("style", file.path, line, text)


# ---- Documents -----------------------------------------------------------------------------------

# Code, and the comments in which a document says where its numbers are from.
FENCE = re.compile(r"^\s*(```|~~~|<!-- claims$|-->$)")
# What ends a sentence: punctuation and space before a capital, a digit or markup; not "e.g. X".
END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<=[.!?:;])[)\"»*_]*\s+"
                 r"(?=[\"(«*_`\[]*(?:[A-Z0-9-]|miniprof|nvprof|nsys|torch|cu[A-Z]|cuda[A-Z]))")
# A heading, a row of a table, an item of a list and an indented block stand for themselves.
BREAK = re.compile(r"^(\s*$|#|\s*\||\s*[-*+] |\s*\d+\. |    )")
HISTORY = "docs/history/" # keeps old notes, with their long sentences


def paragraphs(lines):
    """Yields (line number, text) of each run of prose; code is left out."""
    fenced, start, text = False, 0, []
    for number, line in enumerate(lines + [""], 1):
        fence = FENCE.match(line)
        if fence or fenced or BREAK.match(line):
            if text:
                yield start, " ".join(text)
            text = []
        if fence:
            fenced = not fenced
        elif not fenced and line.strip() and not line.startswith(("    ", "#")):
            if line.lstrip().startswith("|"):
                for cell in line.strip().strip("|").split("|"):
                    yield number, cell.strip()
            else:
                start = start if text else number
                text.append(line.strip())


def sentences(file):
    """Yields (words, line, sentence); `code` counts as one word, a link as its text."""
    for line, text in paragraphs(file.lines):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "CODE", text))
        for sentence in END.split(text):
            yield sum(1 for word in sentence.split() if re.search(r"\w", word)), line, sentence


def documents(tree):
    return [file for file in tree.files.values() if file.suffix == ".md"]


def check_documents(tree):
    for file in documents(tree):
        for number, line in enumerate(file.lines, 1):
            # A line of a single word, a link, may be longer.
            if len(line) > laws.MAX_COLUMNS and len(line.split()) > 1:
                yield Found("documents", file.path, number,
                            f"{len(line)} columns; at most {laws.MAX_COLUMNS}")
        if file.path.startswith(HISTORY):
            continue
        for words, number, sentence in sentences(file):
            if words > laws.MAX_SENTENCE:
                yield Found("documents", file.path, number,
                            f"a sentence of {words} words, at most {laws.MAX_SENTENCE}: "
                            + " ".join(sentence.split()[:6]) + " ...")


def print_longest(tree):
    line = max((len(text), file.path, at) for file in documents(tree)
               for at, text in enumerate(file.lines, 1))
    sentence = max((words, file.path, at) for file in documents(tree)
                   if not file.path.startswith(HISTORY) for words, at, _ in sentences(file))
    print(f"longest line: {line[0]} columns, {line[1]}:{line[2]}")
    print(f"longest sentence: {sentence[0]} words, {sentence[1]}:{sentence[2]}")


# ---- Words ---------------------------------------------------------------------------------------

# A banned word's rule and what finds it, also where it lies in two lines of a comment. Without \\b
# in front, so that a search goes from one first letter to the next.
WORDS = [("word_" + name.replace(" ", "_"), meant,
          re.compile((pattern or name).replace(" ", r"\s[\s*#/]*") + r"\b"))
         for name, (pattern, meant) in laws.WORDS.items()]
WITHIN = re.compile(r"\w$|\bat[\s*#/]+$") # a longer word, or "at least"
NAME = re.compile(r"(?:\w*_)?(" + "|".join(laws.NAMES) + ")")


def check_words(tree):
    for file in tree.under(("src/", "tools/", "include/", "docs/", "README", "CONTRIB"), ""):
        if file.path.startswith((HISTORY, OURS)) or file.suffix in (".css", ".map"):
            continue
        text = file.text.lower()
        code = file.code if file.suffix in CODE + (".js",) else None
        for rule, meant, pattern in WORDS:
            for match in pattern.finditer(text):
                at = match.start()
                # What is blanked in the code is a comment or a literal.
                if WITHIN.search(text[max(0, at - 20):at]) or code and code[at] != " ":
                    continue
                yield Found(rule, file.path, file.line_of(at),
                            f'"{" ".join(match.group(0).split())}": better {meant}')


def check_names(tree):
    for file in tree.under(("src/", "include/", "tools/"), CODE):
        for word in file.words:
            match = NAME.match(word)
            if match:
                yield Found("name_" + match.group(1).strip("_").lower(), file.path, 0,
                            f"{word}: better {laws.NAMES[match.group(1)]}")
    for file in tree.under("src/", CODE + (".js",)):
        if file.stem in laws.VAGUE_FILES:
            yield Found("vague_files", file.path, 0, "a name that does not say what it holds")


# ---- Commits -------------------------------------------------------------------------------------

def new_commits(root):
    """[(hash, subject)] of the commits since .ci/linted; a text if they cannot be known."""
    try:
        with open(os.path.join(root, LINTED), encoding="utf-8") as file:
            base = file.read().strip()
        log = git(root, "log", "--no-merges", "--format=%h %s", f"{base}..HEAD", encoding="utf-8")
    except FileNotFoundError as missing:
        return f"no {LINTED if missing.filename != 'git' else 'git'}"
    if log.returncode != 0:
        return f"no repository that has commit {base[:10]} of {LINTED}"
    return [line.partition(" ")[::2] for line in log.stdout.splitlines()]


def check_subjects(root):
    commits = new_commits(root)
    if isinstance(commits, str):
        print(f"tidy: subjects of commits are not checked: {commits}")
        return
    for commit, subject in commits:
        if len(subject) > laws.MAX_SUBJECT:
            yield Found("subjects", f"commit {commit}", 0,
                        f"a subject of {len(subject)} characters; at most {laws.MAX_SUBJECT}: "
                        f"{subject}")
