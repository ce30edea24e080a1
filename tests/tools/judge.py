"""Runs Python for a script of tests/cli, which would start one for each check without it (cli.sh).

stdin: for each request the folder, a word and code, each with a NUL behind it. stdout: for each a
line with a number. `json` is an expression of `d`, the document in .stdout; 0: it is true. `holds`
is one without `d`. `define` is code whose names stay for later requests. `number` is an expression
of type int, which is the answer.
"""
import json
import os
import sys
import traceback


def load(path):
    """The JSON document in a file."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def answer(names, word, code):
    if word == "define":
        exec(code, names)
        return 0
    if word == "json":
        names["d"] = load(".stdout")
    value = eval(f"({code})", names)
    return value if word == "number" else int(not value)


def main():
    names = {"json": json, "sys": sys, "os": os, "load": load}
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the code prints belongs into the log
    read = b""
    while data := os.read(0, 65536):
        read += data
        while read.count(b"\0") >= 3:
            folder, word, code, read = read.split(b"\0", 3)
            try:
                os.chdir(folder)
                number = answer(names, word.decode(), code.decode())
            except (Exception, SystemExit):  # whatever the code raises
                traceback.print_exc()
                number = 1
            print(number, file=answers, flush=True)


if __name__ == "__main__":
    main()
