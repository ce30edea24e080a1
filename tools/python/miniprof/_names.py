"""What the numbers in rows stand for: names, streams, threads, launch shapes.

A column of numbers is reduced to its different values, each of these is looked up once, and the
rows refer to the results. So ten million rows with seventy names cost seventy look-ups.
"""
import ctypes
import functools
import re
import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy

from ._errors import MiniprofWarning
from ._library import BOOL, ENUM, SIGNED, Column, library, tables
from ._reader import Reader, text_of

# What nvprof leaves out of the names of CUDA's functions (docs/nvprof.md).
SUFFIXES = re.compile(r"(_v\d+|_ptsz|_ptds)+$")
LONGEST_MANGLED = 65536

# Fields of docs/fields.md, and the columns of `shape` that they are.
SHAPE_FIELDS = {
    "grid_x": "grid_x", "grid_y": "grid_y", "grid_z": "grid_z", "block_x": "block_x",
    "block_y": "block_y", "block_z": "block_z", "registers": "registers",
    "static_shared_bytes": "static_shared_memory_bytes",
    "dynamic_shared_bytes": "dynamic_shared_memory_bytes",
}


def reduce(values: "numpy.ndarray") -> "Tuple[numpy.ndarray, numpy.ndarray]":
    """The different values, and for each row the index of its value in them."""
    if len(values) and int(values.max()) < max(1 << 16, 2 * len(values)):
        present = numpy.flatnonzero(numpy.bincount(values.view(numpy.int64)))
        places = numpy.zeros(int(values.max()) + 1, numpy.int32)
        places[present] = numpy.arange(len(present), dtype=numpy.int32)
        return present, places[values.view(numpy.int64)]
    present, rows = numpy.unique(values, return_inverse=True)
    return present, rows.astype(numpy.int32)


class Words:
    """Texts of rows: `codes` index `names`; -1 is no text."""

    def __init__(self, reduced: "Tuple[numpy.ndarray, numpy.ndarray]",
                 name_of: Callable[[int], Optional[str]]):
        present, rows = reduced
        numbers: Dict[str, int] = {}
        codes = numpy.full(len(present), -1, numpy.int32)
        for i, value in enumerate(present.tolist()):
            name = name_of(value)
            if name is not None:
                codes[i] = numbers.setdefault(name, len(numbers))
        self.names: List[str] = list(numbers)
        self.codes = codes[rows] if len(present) else rows


class Demangler:
    """C++ names as c++filt prints them, by libstdc++'s function, which the command uses too."""

    def __init__(self) -> None:
        self.function: Any = None
        self.loaded = False

    def _load(self) -> None:
        self.loaded = True
        try:
            self.function = ctypes.CDLL("libstdc++.so.6")["__cxa_demangle"]
            self.function.restype = ctypes.c_void_p
            self.function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p,
                                      ctypes.POINTER(ctypes.c_int)]
            self.free = ctypes.CDLL(None).free
            self.free.argtypes = [ctypes.c_void_p]
        except (OSError, AttributeError):
            warnings.warn("no libstdc++.so.6: names of C++ kernels stay mangled", MiniprofWarning)

    def __call__(self, name: str) -> str:
        if not name.startswith("_Z") or len(name) >= LONGEST_MANGLED or "\0" in name:
            return name
        if not self.loaded:
            self._load()
        status = ctypes.c_int(-1)
        text = self.function and self.function(name.encode(), None, None, ctypes.byref(status))
        if not text:
            return name
        readable = text_of(ctypes.string_at(text))
        self.free(text)
        return readable


class Definitions:
    """The definition tables of a trace, each read when it is first needed."""

    def __init__(self, reader: Reader):
        self.reader = reader
        self.demangle = Demangler()
        self.read: Dict[str, Dict[int, Dict[str, Any]]] = {}

    def row(self, table: str, number: int) -> Optional[Dict[str, Any]]:
        """The row of a definition table with this id; the last one holds."""
        if table not in self.read:
            info = tables()[table]
            columns = {name: array.tolist()
                       for name, array in self.reader.columns(info, info.columns).items()}
            self.read[table] = {row[0]: dict(zip(columns, row)) for row in zip(*columns.values())}
        return self.read[table].get(number)

    def number(self, table: str, number: int, column: str) -> int:
        """A column of that row; 0 if there is none."""
        row = self.row(table, number)
        return row[column] if row else 0

    def text(self, number: int) -> Optional[str]:
        """The text of a string; #7 where its definition is lost."""
        row = self.row("string", number)
        return row["text"] if row else f"#{number}" if number else None

    def name(self, table: str, number: int, kernel: bool = False) -> Optional[str]:
        """The name of a row of `string` (`kernel`: of one), `shape`, `function` or `metric`."""
        if table == "string":
            text = self.text(number)
            return self.demangle(text) if text and kernel else text
        row = self.row(table, number)
        if not row:
            return f"#{number}" if number else None
        if table == "shape":
            return self.name("string", row["kernel"], True)
        name = self.text(row["name"])
        return SUFFIXES.sub("", name) if table == "function" and name else name


def cuda(what: str) -> str:
    """The name of work that is no kernel, as nvprof and the reports give it."""
    return f"[CUDA {what}]"


def fields_of(definitions: Definitions, table: str, column: Column,
              values: "Callable[[], numpy.ndarray]") -> Dict[str, Callable[[], Any]]:
    """The fields that a column becomes, each with a function that makes it: names for numbers,
    several fields for a stream or a launch shape, signed numbers for times."""
    reference = column.reference
    reduced = functools.lru_cache(maxsize=None)(lambda: reduce(values()))

    def words(name_of: Callable[[int], Optional[str]]) -> Callable[[], Words]:
        return lambda: Words(reduced(), name_of)

    def numbers(source: str) -> "Callable[[], numpy.ndarray]":
        def make() -> "numpy.ndarray":
            present, rows = reduced()
            found = [definitions.number(str(reference), one, source) for one in present.tolist()]
            return numpy.array(found, numpy.uint64)[rows]
        return make

    def enumerated(value: int) -> str:
        name = library().mp_enum_name(str(reference).encode(), value)
        return text_of(name) if name else f"#{value}"

    if column.type in SIGNED:
        return {column.name: lambda: values().view(numpy.int64)}
    if column.type == BOOL:
        return {column.name: lambda: values() != 0}
    if column.type == ENUM:
        found: Dict[str, Callable[[], Any]] = {column.name: words(enumerated)}
        if reference == "copy_kind":
            found["name"] = words(lambda value: cuda(f"memcpy {enumerated(value).lstrip('#')}"))
        return found
    if reference == "shape":
        return {"name": words(lambda one: definitions.name("shape", one)),
                **{field: numbers(source) for field, source in SHAPE_FIELDS.items()}}
    if reference == "stream":
        found = {name: numbers(name) for name in ("device", "context", "stream")}
        if table == "set":
            found["name"] = words(lambda _: cuda("memset"))
        return found
    if reference == "node":
        return {name: numbers(name) for name in ("graph", "graph_node")}
    if reference == "thread":
        return {column.name: numbers("tid")}
    if reference == "function":
        return {"name": words(lambda one: definitions.name("function", one))}
    if reference in ("string", "metric"):
        kernel = column.plain == "kernel"
        return {column.name: words(lambda one: definitions.name(str(reference), one, kernel))}
    return {column.name: values}  # counts, addresses, a device's ordinal
