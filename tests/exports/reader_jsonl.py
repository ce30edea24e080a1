"""Reads `miniprof export --to jsonl`."""
import json

FORMAT = "jsonl"
KINDS = {"kernel", "copy", "set", "graph", "unified", "call", "range"}


def rows(path):
    """(kind, name, domain, duration in ns) of each row."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if row["kind"] in KINDS:
                yield row["kind"], row["name"], row.get("domain"), row["dur_ns"]
