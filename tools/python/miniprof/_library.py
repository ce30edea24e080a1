"""libmptrace by ctypes: where it lies, its functions and structs as include/miniprof/trace.h has
them, and where the `miniprof` command is.

A wheel has both in its folders lib and bin. In the source tree they are in build, elsewhere where
the system looks for libraries and commands.
"""
import ctypes
import functools
import os
import pathlib
import shutil
from ctypes import POINTER, Structure, c_char, c_char_p, c_int, c_size_t, c_uint8, c_uint16, \
    c_uint32, c_uint64, c_void_p

from ._errors import MiniprofError

HERE = pathlib.Path(__file__).resolve().parent
BUILT = HERE.parents[2] / "build"
SONAME = "libmptrace.so.1"
MAX_COLUMNS = 32
OK, END = 0, 1
MEMORY, DAMAGED = 3, 7
UINT, INT, TIME, DURATION, HEX, BOOL, ENUM, REF, TEXT = range(9)
SIGNED = (INT, TIME, DURATION)
UNITS = ("", "ns", "bytes", "", "khz", "kilobytes_per_second")


class ColumnInfo(Structure):
    """struct mp_column_info"""
    _fields_ = [("name", c_char_p), ("reference", c_char_p), ("type", c_int), ("unit", c_int),
                ("id", c_uint8)]


class TableInfo(Structure):
    """struct mp_table_info"""
    _fields_ = [("name", c_char_p), ("doc", c_char_p), ("columns", POINTER(ColumnInfo)),
                ("kind", c_int), ("id", c_uint16), ("since", c_uint16), ("column_count", c_uint8)]


class Error(Structure):
    """struct mp_error"""
    _fields_ = [("status", c_int), ("text", c_char * 256)]


class Chunk(Structure):
    """struct mp_chunk"""
    _fields_ = [("table", POINTER(TableInfo)), ("offset", c_uint64), ("sequence", c_uint32),
                ("rows", c_uint32), ("raw_bytes", c_uint32), ("packed_bytes", c_uint32),
                ("file_bytes", c_uint32), ("table_id", c_uint16), ("first_time", c_uint64),
                ("last_time", c_uint64), ("dropped", c_uint64)]


class Batch(Structure):
    """struct mp_batch"""
    _fields_ = [("table", POINTER(TableInfo)), ("rows", c_uint32),
                ("columns", c_void_p * MAX_COLUMNS), ("text", c_void_p),
                ("text_end", POINTER(c_uint32)), ("first_time", c_uint64),
                ("last_time", c_uint64)]


class Damage(Structure):
    """struct mp_damage"""
    _fields_ = [(name, c_uint64) for name in (
        "bytes_skipped", "chunks_damaged", "rows_damaged", "chunks_missing", "chunks_unknown",
        "first_offset")] + [(name, ctypes.c_bool) for name in (
            "truncated", "no_index", "header_lost")]


FUNCTIONS = {
    "mp_tables": (POINTER(TableInfo), [POINTER(c_size_t)]),
    "mp_column_doc": (c_char_p, [POINTER(TableInfo), c_int]),
    "mp_enum_name": (c_char_p, [c_char_p, c_uint64]),
    "mp_trace_open": (c_int, [c_char_p, POINTER(c_void_p), POINTER(Error)]),
    "mp_trace_close": (None, [c_void_p]),
    "mp_trace_property_at": (ctypes.c_bool, [c_void_p, c_size_t, POINTER(c_char_p),
                                             POINTER(c_char_p)]),
    "mp_cursor_open": (c_int, [c_void_p, POINTER(c_void_p), POINTER(Error)]),
    "mp_cursor_close": (None, [c_void_p]),
    "mp_cursor_select": (None, [c_void_p, c_void_p, c_uint32]),
    "mp_cursor_next_chunk": (c_int, [c_void_p, POINTER(Chunk), ctypes.c_bool]),
    "mp_cursor_read_chunk_into": (c_int, [c_void_p, c_uint64, c_void_p, c_uint32,
                                          POINTER(Batch)]),
    "mp_cursor_damage": (None, [c_void_p, POINTER(Damage)]),
    "mp_damage_describe": (ctypes.c_bool, [POINTER(Damage), c_char_p, c_size_t]),
}


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """libmptrace, loaded at the first call."""
    places = [str(folder / SONAME) for folder in (HERE / "lib", BUILT)
              if (folder / SONAME).exists()]
    try:
        loaded = ctypes.CDLL((places + [SONAME])[0])
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise MiniprofError(f"cannot load {SONAME} ({error}): install miniprof's wheel, or "
                            f"'make' in the source tree") from None
    return loaded


def command() -> str:
    """Path of the command that belongs to this package."""
    for path in (HERE / "bin" / "miniprof", BUILT / "miniprof"):
        if os.access(path, os.X_OK):
            return str(path)
    found = shutil.which("miniprof")
    if not found:
        raise MiniprofError("no miniprof command: install miniprof's wheel, or put the command "
                            "into a folder of PATH")
    return found


class Column:
    """A column of a table, with its name as `miniprof dump --csv` prints it."""

    def __init__(self, table: TableInfo, index: int):
        info = table.columns[index]
        self.index = index
        self.type = info.type
        self.doc = library().mp_column_doc(table, index).decode()
        self.reference = info.reference.decode() if info.reference else None
        unit = UNITS[info.unit] if info.unit < len(UNITS) else ""
        self.plain = info.name.decode()
        self.name = self.plain if unit in self.plain else f"{self.plain}_{unit}"


class Table:
    """A table that traces may have."""

    def __init__(self, info: TableInfo):
        self.address = ctypes.addressof(info)
        self.id = info.id
        self.name = info.name.decode()
        self.doc = info.doc.decode()
        self.columns = [Column(info, i) for i in range(info.column_count)]


@functools.lru_cache(maxsize=None)
def tables() -> "dict[str, Table]":
    """All tables by name."""
    count = c_size_t()
    infos = library().mp_tables(ctypes.byref(count))
    return {table.name: table for table in (Table(infos[i]) for i in range(count.value))}
