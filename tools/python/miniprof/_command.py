"""Runs the `miniprof` command and reads its --csv and --json. So what Python shows is what the
command says; docs/fields.md lists the fields of both.
"""
import json
import re
import subprocess
import warnings
from typing import Any, Dict, List, Tuple

import numpy

from ._errors import MiniprofError, MiniprofWarning
from ._library import command
from ._reader import text_of

CELL = re.compile(r'(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)')
FORMULA = re.compile(r"^'('*[=+@-])")
PREFIX = re.compile(r"^(==\d+== |={8} |miniprof [\w-]+: )*(Warning: |Note: )?")


def options_of(values: Dict[str, Any]) -> List[str]:
    """range=2, per_gpu=True become --range=2 --per-gpu."""
    options = []
    for name, value in values.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            options.append(option)
        elif value is not None and value is not False:
            options.append(f"{option}={value}")
    return options


def run(name: str, options: List[str], path: bytes) -> Tuple[str, List[str]]:
    """What it prints, and its notes. Its warnings become Python's, its failure a MiniprofError."""
    result = subprocess.run([command(), name, *options, path], stdin=subprocess.DEVNULL,
                            capture_output=True, check=False)
    said = text_of(result.stderr).splitlines()
    lines = [PREFIX.sub("", line) for line in said]
    if result.returncode not in (0, 1):
        raise MiniprofError(lines[0] if lines else
                            f"miniprof {name} failed with exit code {result.returncode}")
    for line, whole in zip(lines, said):
        if "Warning: " in whole:
            warnings.warn(f"{text_of(path)}: {line}", MiniprofWarning, stacklevel=4)
    return text_of(result.stdout), lines


def column_of(cells: List[Tuple[bool, str]]) -> "numpy.ndarray":
    """Texts with None where a cell is empty; whole numbers; or numbers with NaN for empty cells."""
    if any(quoted for quoted, _ in cells):
        return numpy.array([text if quoted or text else None for quoted, text in cells], object)
    texts = [text for _, text in cells]
    for kind, empty in ((int, ""), (float, "nan")):
        try:
            return numpy.array([kind(text or empty) for text in texts],
                               numpy.int64 if kind is int else numpy.float64)
        except (ValueError, OverflowError):
            pass
    return numpy.array([text or None for text in texts], object)


def parse_csv(text: str) -> "Dict[str, numpy.ndarray]":
    """Columns by name. Quotation marks tell texts from numbers, and an apostrophe stands before a
    text that a spreadsheet would take for a formula."""
    rows: List[List[Tuple[bool, str]]] = [[]]
    for match in CELL.finditer(text):
        quoted, bare, end = match.groups()
        rows[-1].append((False, bare) if quoted is None else
                        (True, FORMULA.sub(r"\1", quoted.replace('""', '"'))))
        if end == "\n":
            rows.append([])
    head, *rest = rows[:-1]
    columns = list(zip(*rest)) if rest else [()] * len(head)
    return {name: column_of(list(column)) for (_, name), column in zip(head, columns)}


def parse_json(text: str) -> Any:
    """A document of the command."""
    return json.loads(text)
