"""Columns of a trace in numpy's memory.

Opening a trace walks over the headers of its chunks (72 bytes each), so the rows of each table are
known. Reading a column makes one array for all of them. libmptrace then decodes each chunk into its
place in the array (mp_cursor_read_chunk_into), in as many threads as there are processors. So the
numbers are never copied, and an array belongs to who asked for it: it stays when the trace is
closed.
"""
import concurrent.futures
import ctypes
import os
import threading
import warnings
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

import numpy

from ._errors import MiniprofError, MiniprofWarning
from ._library import DAMAGED, END, MEMORY, MAX_COLUMNS, OK, TEXT, Batch, Chunk, Column, Damage, \
    Error, Table, library, tables

Arrays = Dict[str, numpy.ndarray]  # by the column's name
CHUNKS_PER_THREAD = 4
ROOM = numpy.dtype(numpy.uint64).itemsize


def text_of(data: bytes) -> str:
    """A name as the program gave it; bytes that are no UTF-8 become \\xNN."""
    return data.decode("utf-8", "backslashreplace")


def texts_of(batch: Batch) -> List[str]:
    """The texts of a batch, which it has without marks between them."""
    ends = batch.text_end[:batch.rows]
    data = ctypes.string_at(batch.text, ends[-1])
    return [text_of(data[begin:end]) for begin, end in zip([0] + ends, ends)]


class Reader:
    """An open trace. Several threads may use it; one at a time reads."""

    def __init__(self, path: bytes):
        self.path = path
        self.lock = threading.RLock()
        self.handle: Optional[ctypes.c_void_p] = ctypes.c_void_p()
        error = Error()
        if library().mp_trace_open(path, ctypes.byref(self.handle), ctypes.byref(error)) != OK:
            raise MiniprofError(text_of(error.text))
        self.chunks: Dict[str, List[Tuple[int, int]]] = {name: [] for name in tables()}
        try:
            self._walk()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the trace. Arrays that were read stay."""
        with self.lock:
            handle, self.handle = self.handle, None
            if handle:
                library().mp_trace_close(handle)

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.close()

    def properties(self) -> Dict[str, str]:
        """The header's keys and values."""
        key, value = ctypes.c_char_p(), ctypes.c_char_p()
        found: Dict[str, str] = {}
        with self.lock:
            self._check_open()
            while library().mp_trace_property_at(self.handle, len(found), ctypes.byref(key),
                                                 ctypes.byref(value)):
                found[text_of(key.value or b"")] = text_of(value.value or b"")
        return found

    def rows(self, table: Table) -> int:
        """How many rows the table has."""
        return sum(rows for _, rows in self.chunks[table.name])

    def columns(self, table: Table, wanted: Sequence[Column]) -> Arrays:
        """These columns, all rows in file order: numbers as uint64, texts as objects."""
        return self._read(table, wanted, self.chunks[table.name], os.cpu_count() or 1)

    def batches(self, table: Table, wanted: Sequence[Column]) -> Iterator[Arrays]:
        """The same chunk by chunk: memory is bounded by the largest chunk."""
        for chunk in list(self.chunks[table.name]):
            yield self._read(table, wanted, [chunk], 1)

    # ---- Inside ----

    def _check_open(self) -> None:
        if not self.handle:
            raise MiniprofError(f"{text_of(self.path)}: the trace is closed")

    def _warn(self, what: str) -> None:
        warnings.warn(f"{text_of(self.path)}: {what}", MiniprofWarning, stacklevel=2)

    def _cursor(self) -> ctypes.c_void_p:
        cursor, error = ctypes.c_void_p(), Error()
        if library().mp_cursor_open(self.handle, ctypes.byref(cursor), ctypes.byref(error)) != OK:
            raise MiniprofError(text_of(error.text))
        return cursor

    def _walk(self) -> None:
        chunk, damage, text = Chunk(), Damage(), ctypes.create_string_buffer(512)
        names = {table.id: table.name for table in tables().values()}
        cursor = self._cursor()
        while (status := library().mp_cursor_next_chunk(cursor, ctypes.byref(chunk), False)) == OK:
            if chunk.table_id in names:
                self.chunks[names[chunk.table_id]].append((chunk.offset, chunk.rows))
        library().mp_cursor_damage(cursor, ctypes.byref(damage))
        library().mp_cursor_close(cursor)
        if status != END:
            raise MiniprofError(f"cannot read '{text_of(self.path)}'")
        if library().mp_damage_describe(ctypes.byref(damage), text, len(text)):
            self._warn(text_of(text.value))

    def _read(self, table: Table, wanted: Sequence[Column], chunks: List[Tuple[int, int]],
              most_threads: int) -> Arrays:
        """Reads the chunks; those that cannot be decoded are left out from then on."""
        begins = [0]
        for _, rows in chunks:
            begins.append(begins[-1] + rows)
        arrays = {column: numpy.empty(begins[-1], object if column.type == TEXT else numpy.uint64)
                  for column in wanted}
        threads = max(1, min(most_threads, len(chunks) // CHUNKS_PER_THREAD))

        def work(first: int) -> List[int]:
            """Every so many-th chunk; returns those that are bad."""
            batch, rooms = Batch(), (ctypes.c_void_p * MAX_COLUMNS)()
            bad: List[int] = []
            cursor = self._cursor()
            try:
                library().mp_cursor_select(cursor, table.address,
                                           sum(1 << column.index for column in wanted))
                for i in range(first, len(chunks), threads):
                    for column, array in arrays.items():
                        rooms[column.index] = array.ctypes.data + begins[i] * ROOM
                    status = library().mp_cursor_read_chunk_into(
                        cursor, chunks[i][0], rooms, chunks[i][1], ctypes.byref(batch))
                    if status == DAMAGED:
                        bad.append(i)
                    elif status == MEMORY:
                        raise MemoryError
                    elif status != OK:
                        raise MiniprofError(f"cannot read '{text_of(self.path)}': it has changed "
                                            f"since it was opened")
                    for column, array in arrays.items():
                        if column.type == TEXT and status == OK:
                            array[begins[i]:begins[i + 1]] = texts_of(batch)
            finally:
                library().mp_cursor_close(cursor)
            return bad

        with self.lock:
            self._check_open()
            if threads > 1:
                with concurrent.futures.ThreadPoolExecutor(threads) as pool:
                    bad = sorted(sum(pool.map(work, range(threads)), []))
            else:
                bad = work(0)
            if bad:
                self._forget(table, [chunks[i] for i in bad])
        keep = numpy.ones(begins[-1] if bad else 0, bool)
        for i in bad:
            keep[begins[i]:begins[i + 1]] = False
        return {column.name: array[keep] if bad else array for column, array in arrays.items()}

    def _forget(self, table: Table, lost: List[Tuple[int, int]]) -> None:
        self.chunks[table.name] = [one for one in self.chunks[table.name] if one not in lost]
        self._warn(f"{len(lost)} chunks of table {table.name} cannot be decoded; their "
                   f"{sum(rows for _, rows in lost)} rows are left out")
