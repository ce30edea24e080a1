#!/usr/bin/env python3
"""Each option that a document or a man page names exists.

In a command, `miniprof NAME --option`, it is an option of that command. On its own, `--option`, it
is one of any command, or of nvprof's command line. Other programs' options are in OTHERS: the
paragraph has to name the program.

usage: doc_options.py MINIPROF SOURCE
"""
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"(?<![\w-])--([A-Za-z][\w-]*)")
COMMAND = re.compile(r"\bminiprof ([a-z][a-z-]*) ([^`|;&>#()\n]*)")
SPAN = re.compile(r"[`*](--[^`*]+)[`*]")
OTHERS = {
    "nsys": {"cuda-graph-trace", "python-backtrace"},
    "trtexec": {"profilingVerbosity", "useCudaGraph", "dumpProfile"},
    "vLLM": {"profiler-config", "enable-layerwise-nvtx-tracing"},
    "builds": {"enable-nvtx"},
    "XLA": {"xla_gpu_enable_cupti_multi_subscriber"},
    "program": {"pinned", "graph", "mode"},  # the tutorial's
}


def help_of(miniprof, *words):
    """The options that a help lists, and whether they want a value."""
    done = subprocess.run([miniprof, *words, "--help"], stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.DEVNULL, check=False)
    found = re.findall(r"^ +(?:-\w, )?--([\w-]+)(=?)", done.stdout, re.MULTILINE)
    return {name: bool(value) for name, value in found}


def of_command(known, words):
    """The options of a command line, without those of a program that follows."""
    value = False
    for word in words.split():
        if word == "--" or not (word.startswith("-") or value or known.get("", True)):
            return
        name = OPTION.match(word)
        if name:
            yield name.group(1)
        value = bool(name) and known.get(name.group(1), False) and "=" not in word or \
            word in ("-o", "-O")


def paragraphs(text):
    """(number of the first line, text) of what stands between blank lines and at items."""
    start, lines = 1, []
    for number, line in enumerate(text.split("\n") + [""], 1):
        if not line.strip() or re.match(r"\s*[-*] ", line):
            if lines:
                yield start, "\n".join(lines)
            start, lines = number, []
        lines.append(line)


def check(text, known, every):
    """(line, what is wrong) of a document."""
    for start, paragraph in paragraphs(text):
        joined = re.sub(r"\\\n\s*>?", " ", paragraph)
        joined = re.sub(r"(?<!`)`[^`]+`(?!`)", lambda span: span.group().replace("\n", " "), joined)
        for name, words in COMMAND.findall(joined):
            for option in of_command(known.get(name, {}), words) if name in known else ():
                if option not in known[name] and option != "help":
                    yield start, f"miniprof {name} has no option --{option}"
        for span in SPAN.findall(re.sub(r"\s+", " ", paragraph)):
            option = OPTION.match(span)
            if option and option.group(1) not in every and not any(
                    option.group(1) in options and program in paragraph
                    for program, options in OTHERS.items()):
                yield start, f"no command has the option --{option.group(1)}"


def main():
    miniprof, source = sys.argv[1], pathlib.Path(sys.argv[2])
    listed = subprocess.run([miniprof, "help"], stdout=subprocess.PIPE, text=True, check=True)
    known = {name: help_of(miniprof, name)
             for name in re.findall(r"^  ([a-z][a-z-]*) ", listed.stdout, re.MULTILINE)}
    known["run"][""] = known["nvprof"][""] = False  # a program follows
    every = set().union({"help", "version"}, *known.values())
    wrong = 0
    for path in [source / "README.md", *sorted((source / "docs").rglob("*.md")),
                 *sorted((source / "docs/man").glob("*.scd"))]:
        if "history" in path.parts:
            continue
        for line, what in check(path.read_text(encoding="utf-8"), known, every):
            print(f"{path.relative_to(source)}:{line}: {what}")
            wrong += 1
    return 1 if wrong else 0


sys.exit(main())
