"""Reads `miniprof export --to kineto`: JSON, or JSON in gzip."""
import decimal
import gzip
import json
import re

FORMAT = "kineto"
KINDS = {"kernel", "copy", "set", "graph", "call", "range"}
KIND = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "set", "cuda_graph": "graph",
        "cuda_runtime": "call", "cuda_driver": "call", "user_annotation": "range"}


def ns(microseconds):
    """A time of the file; no decimal is lost."""
    value = decimal.Decimal(microseconds) * 1000
    assert value == int(value), microseconds
    return int(value)


def text(path):
    """The file as it is for a reader of JSON."""
    with open(path, "rb") as file:
        data = file.read()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8")


def load(path):
    """The document, with times as exact as they are written."""
    return json.loads(text(path), parse_float=decimal.Decimal)


def is_step(event):
    """Whether the range is an iteration, which no program made."""
    return event["cat"] == "user_annotation" and re.fullmatch(r"ProfilerStep#\d+", event["name"])


def name_of(event):
    """As summary calls it."""
    if event["cat"] == "gpu_memset":
        return "[CUDA memset]"
    if event["cat"] == "gpu_memcpy":
        kind = re.fullmatch(r"Memcpy (\w+) \([\w ]+ -> [\w ]+\)", event["name"])
        return f"[CUDA memcpy {kind.group(1)}]"
    return event["name"]


def rows_of(events):
    """(kind, name, domain, duration in ns) of each row."""
    for event in events:
        kind = KIND.get(event.get("cat"))
        if kind and not is_step(event):
            yield kind, name_of(event), event.get("args", {}).get("domain"), ns(event["dur"])


def rows(path):
    """The rows of a file."""
    return rows_of(load(path)["traceEvents"])
