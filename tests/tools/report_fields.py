#!/usr/bin/env python3
"""Checks documents of `miniprof report --json` against the table of fields in docs/report.md.

Every field of a document is in the table, has one of its types, and ends in its unit; every field
of the table is in every document, as far as what it belongs to is there. Notes have keys that the
page lists. With all documents together, every field and every note has been seen with a value,
unless it is named behind --unseen.

usage: report_fields.py PAGE [--unseen FIELD,...] DOCUMENT...
"""
import json
import re
import sys

ROW = re.compile(r"^\| `([^`]+)` \| ([a-z, ]+) \|([^|]*)\|")
TYPES = {str: "text", bool: "boolean", int: "number", float: "number", dict: "object",
         list: "list", type(None): "null"}
ENDINGS = {"ns": "_ns", "%": "_percent", "/s": "_per_second", "bytes": "bytes"}
SHORT = {"hot[].percent"}  # whose key does not end in the unit


def fields_of(page):
    """{path: (types, unit)} and the keys of notes."""
    fields = {}
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for line in text.split("\n"):
        row = ROW.match(line)
        if row:
            fields[row.group(1)] = (set(row.group(2).split(", ")), row.group(3).strip())
    notes = re.search(r"^Keys of notes: (.*?)\.$", text, re.MULTILINE | re.DOTALL).group(1)
    return fields, set(re.findall(r"`(\w+)`", notes))


def walk(value, path, fields, seen, wrong):
    """Checks a value and all that is in it."""
    if path:
        kind = TYPES[type(value)]
        types = fields.get(path, (None,))[0]
        if types is None:
            wrong.append(f"{path} is not in the table")
            return
        if kind != "list" and kind not in types and not (kind == "object" and "list" in types):
            wrong.append(f"{path} is {kind}, not {types}")
        if value is not None:
            seen.add(path)
    if isinstance(value, list):
        for item in value:
            walk(item, path, fields, seen, wrong)
    if not isinstance(value, dict):
        return
    inside = path + "." if path else ""
    children = {name for name in fields if name.startswith(inside) and
                "." not in name[len(inside):]}
    if inside + "*" in fields:
        for item in value.values():
            walk(item, inside + "*", fields, seen, wrong)
        return
    for name in sorted(children):
        if name[len(inside):].removesuffix("[]") not in value:
            wrong.append(f"{name} is missing")
    for key, item in value.items():
        walk(item, inside + key + ("[]" if isinstance(item, list) else ""), fields, seen, wrong)


def main():
    arguments = sys.argv[1:]
    page = arguments.pop(0)
    unseen = set()
    if arguments[0] == "--unseen":
        unseen = set(arguments[1].split(","))
        arguments = arguments[2:]
    fields, notes = fields_of(page)
    seen, wrong = set(), []
    for name, (_, unit) in fields.items():
        if unit and name not in SHORT and not name.endswith(ENDINGS[unit]):
            wrong.append(f"{name} does not end in its unit, {unit}")
    for path in arguments:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        walk(document, "", fields, seen, wrong)
        for note in document["notes"]:
            seen.add(note["note"])
            if note["note"] not in notes:
                wrong.append(f"note {note['note']} is not on the page")
    for name in sorted((set(fields) | notes) - seen - unseen):
        wrong.append(f"{name} has no value in any of {len(arguments)} documents")
    for line in wrong:
        print(line)
    return 1 if wrong or len(fields) < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
