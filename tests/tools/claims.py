#!/usr/bin/env python3
"""Numbers in the prose of documents, made again.

After a paragraph, an item or a table, a comment says where its numbers come from:

    <!-- claims
    eager: miniprof advise --json tests/data/resnet50_eager.mpt
    "7.104 ms" = eager.step_p50_ns
    "1.15 x" in "The aims", ResNet-50, eager; make bench-gpu
    -->

- NAME: COMMAND is a shell command, run in the root of the source, whose JSON has that name from
  there to the end of the document.
- NAME = EXPRESSION: the same of a value, in Python. Times are ns. `one(list, key=value)` is the
  only item of a list with that value.
- "QUOTE" = EXPRESSION: a value for each number of the quote.
- "QUOTE" in "SECTION", TEXT; COMMAND: the claim rests on a run on a GPU. That section of
  docs/measurements.md, or of FILE with "SECTION" of FILE, names the command. Its paragraph,
  item or row of a table with that text has the numbers, with or without a sign.

A quote stands once in the text since the claims before. A number is true if the value rounds to it.
A number that has a decimal point and a unit is a claim, unless it is bold (a threshold) or code.
Each claim is tried with another last digit as well, which has to be noticed.

usage: claims.py [--update] DOCUMENT...   --update writes the digits of expressions anew
"""
import functools
import json
import pathlib
import re
import subprocess
import sys
import textwrap
import types

UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2 ** 10,
         "MiB": 2 ** 20, "GiB": 2 ** 30, "%": 1, "x": 1, "times": 1, "waves": 1}
UNIT = "|".join(sorted(UNITS, key=len, reverse=True))
NUMBER = re.compile(rf"(?<![\w.,/-])(-?\d+(?:,\d{{3}})*(?:\.\d+)?)(?: ?({UNIT})(?![\w/]))?"
                    r"(?!\w|[.,-]\d)")
SHARED_UNIT = re.compile(r" (?:and|of|to|-|=) ")
COMMENT = re.compile(r"^ *<!-- claims\n(.*?)^ *-->\n", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```$|^    .*?$|`[^`\n]*`|\*\*[^*]*\*\*", re.MULTILINE | re.DOTALL)
BLOCK_END = re.compile(r"\n(?=\n|\||\s*[-*] )")
LINE = re.compile(
    r'(?P<name>\w+)(: (?P<command>.+)| = (?P<term>.+))|"(?P<quote>[^"]+)" (= (?P<value>.+)|'
    r'in "(?P<section>[^"]+)"( of (?P<file>\S+))?, (?P<row>.+); (?P<made_by>.+))')
CANNOT = (ArithmeticError, AttributeError, LookupError, NameError, OSError, TypeError,
          ValueError)


def one(items, **wanted):
    """The only item that has these values."""
    [found] = [item for item in items if wanted.items() <= vars(item).items()]
    return found


@functools.lru_cache(None)
def output(command):
    """What a command prints as JSON, its members as attributes."""
    done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout, object_hook=lambda members: types.SimpleNamespace(**members))


@functools.lru_cache(None)
def section_of(path, title):
    """The text of the section whose heading begins so, with those inside of it."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(title)}[^\n]*\n(.*?)(?=^\1 |\Z)", text,
                      re.MULTILINE | re.DOTALL)
    if not found:
        raise ValueError(f"{path} has no section '{title}'")
    return found.group(2)


class Number:
    """A number as it is written: text, decimals, and the factor of its unit."""

    def __init__(self, match, unit=None):
        self.begin, self.end = match.span(1)
        self.text, self.unit = match.group(1), match.group(2) or unit
        self.value = float(self.text.replace(",", ""))
        self.scale = UNITS.get(self.unit, 1)
        self.decimals = len(self.text.partition(".")[2])

    def says(self, value):
        """True if the value, of the unit's base, rounds to this number."""
        return abs(value / self.scale - self.value) <= 0.5 * 10 ** -self.decimals + 1e-9

    def of(self, value):
        """The text that says this value."""
        comma = "," if "," in self.text else ""
        return f"{value / self.scale:{comma}.{self.decimals}f}"


def numbers(quote):
    """Those in a text. One without a unit has that of the next, as in "5.8 and 5.3 us"."""
    made, unit, begin = [], None, None
    for match in reversed(list(NUMBER.finditer(quote))):
        shared = begin and SHARED_UNIT.fullmatch(quote[match.end():begin])
        unit, begin = match.group(2) or (unit if shared else None), match.start()
        made.insert(0, Number(match, unit))
    return made


def complaint_measured(claim, said):
    """What is wrong with numbers that a run on a GPU gave."""
    section = section_of(claim["file"] or "docs/measurements.md", claim["section"])
    if claim["made_by"] not in section:
        return f"that section does not name {claim['made_by']}"
    there = [Number(match) for block in BLOCK_END.split(section)
             if claim["row"] in " ".join(block.split()) for match in NUMBER.finditer(block)]
    for number in said:
        # A number without a unit has that of its column, or is one of bytes.
        bare = {number.scale, 1 if (number.unit or "").endswith("B") else number.scale}
        if not any(number.says(abs(other.value) * scale) for other in there
                   for scale in ({other.scale} if other.unit else bare)):
            return f"{number.text} is in no paragraph or row with '{claim['row']}'"
    return None


class Document:
    """A document, and what is wrong with its claims."""

    def __init__(self, path):
        self.path, self.text = path, pathlib.Path(path).read_text(encoding="utf-8")
        self.names, self.count = {"one": one}, 0
        self.complaints, self.edits = [], [] # an edit: begin, end, text
        since = 0
        for comment in COMMENT.finditer(self.text):
            spans = self.check(comment, since)
            self.find_unclaimed(since, comment.start(), spans)
            since = comment.end()
        self.find_unclaimed(since, len(self.text), [])

    def complain(self, place, text):
        line = self.text.count("\n", 0, place) + 1
        self.complaints.append(f"{self.path}:{line}: {text}")

    def check(self, comment, since):
        """Checks a comment's claims. Returns where the quotes are, which stand above it."""
        spans = []
        lines = textwrap.dedent(comment.group(1)).rstrip().replace("\n    ", " ")
        for line in lines.split("\n"):
            claim = LINE.fullmatch(line)
            if not claim:
                self.complain(comment.start(), f"cannot read the claim: {line}")
                continue
            if claim["name"]:
                self.define(claim, comment.start())
                continue
            quote = re.compile(r"\s+".join(map(re.escape, claim["quote"].split())))
            places = list(quote.finditer(self.text, since, comment.start()))
            if len(places) == 1:
                spans.append(places[0].span())
                self.take(claim, places[0], comment.start())
            else:
                self.complain(comment.start(), f"'{claim['quote']}' is {len(places)} times above")
        return spans

    def define(self, claim, place):
        """Gives a name to what a command prints, or to a value."""
        try:
            self.names[claim["name"]] = output(claim["command"]) if claim["command"] else \
                eval(claim["term"], self.names)
        except CANNOT as error:
            self.complain(place, f"{claim['name']}: {error}")

    def take(self, claim, place, comment):
        """Judges a claim, and whether a wrong last digit of it would be noticed."""
        self.count += 1
        quote = claim["quote"]
        wrong, values = self.judge(claim, quote)
        if wrong:
            self.complain(place.start(), f"'{quote}': {wrong}")
            begin = self.text.index(f'"{quote}"', comment) + 1
            for start, text in ((place.start(), place.group()), (begin, quote)):
                self.edits += [(start + number.begin, start + number.end, number.of(value))
                               for number, value in zip(numbers(text), values)]
            return
        for number in numbers(quote):
            digit = str((int(number.text[-1]) + 1) % 10)
            other = quote[:number.end - 1] + digit + quote[number.end:]
            if not self.judge(claim, other)[0]:
                self.complain(comment, f"'{other}' would be taken for true")

    def judge(self, claim, quote):
        """(None or what is wrong with a quote, the values that it should have)."""
        said = numbers(quote)
        try:
            if not claim["value"]:
                return complaint_measured(claim, said), ()
            values = eval(claim["value"], self.names)
        except CANNOT as error:
            return str(error), ()
        values = values if isinstance(values, tuple) else (values,)
        if not said or len(values) != len(said):
            return f"{len(said)} numbers, {len(values)} values", ()
        if all(number.says(value) for number, value in zip(said, values)):
            return None, values
        return ("is now " + ", ".join(number.of(value) for number, value in zip(said, values)),
                values)

    def find_unclaimed(self, begin, end, spans):
        """Complains of numbers between two comments that nobody claims."""
        text = CODE.sub(lambda match: " " * len(match.group()), self.text[begin:end])
        for match in NUMBER.finditer(text):
            place = begin + match.start()
            if match.group(2) and "." in match.group(1) and \
                    not any(first <= place < last for first, last in spans):
                self.complain(place, f"nothing says where {match.group()} is from")

    def update(self):
        """Writes the document with its edits."""
        for begin, end, text in sorted(self.edits, reverse=True):
            self.text = self.text[:begin] + text + self.text[end:]
        pathlib.Path(self.path).write_text(self.text, encoding="utf-8")


def main(arguments):
    documents = [Document(path) for path in arguments if path != "--update"]
    complaints = [text for document in documents for text in document.complaints]
    if "--update" in arguments:
        for document in documents:
            document.update()
    count = sum(document.count for document in documents)
    print(*complaints, f"{count} claims, {len(complaints)} complaints", sep="\n")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
