"""An open trace: its tables as DataFrames, and what the command says of it."""
import functools
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Union

import numpy

from . import _command
from ._errors import MiniprofError
from ._frame import make_frame
from ._library import SIGNED, Column, Table, tables
from ._names import Definitions, fields_of
from ._notebook import Report, bars
from ._reader import Reader, text_of

if TYPE_CHECKING:
    from pandas import DataFrame


class Trace:
    """A trace. Times are ns of the recorder's clock: `start_clock_ns` of `properties` is when
    recording began, `start_realtime_ns` the same moment in ns since 1970.

    Tables keep the order of the file, which is about that of time. Arrays and DataFrames belong to
    the caller and stay when the trace is closed. Several threads may use a trace.
    """

    def __init__(self, path: "Union[str, bytes, os.PathLike[str]]"):
        self.path = os.path.abspath(os.fsencode(path))
        self._reader = Reader(self.path)
        self._definitions = Definitions(self._reader)

    def close(self) -> None:
        """Closes the trace; what was read stays."""
        self._reader.close()

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<miniprof trace {text_of(self.path)}>"

    # ---- Rows ----

    @functools.cached_property
    def kernels(self) -> "DataFrame":
        """Kernels: name, start_ns, duration_ns, device, context, stream, grid_x, ..."""
        return self.table("kernel")

    @functools.cached_property
    def copies(self) -> "DataFrame":
        """Memory copies: name, kind, bytes, start_ns, duration_ns, ..."""
        return self.table("copy")

    @functools.cached_property
    def sets(self) -> "DataFrame":
        """Memory sets: bytes, start_ns, duration_ns, ..."""
        return self.table("set")

    @functools.cached_property
    def calls(self) -> "DataFrame":
        """CUDA calls: name, thread, start_ns, duration_ns, correlation, result."""
        return self.table("call")

    @functools.cached_property
    def nvtx(self) -> "DataFrame":
        """NVTX events, a row for each push, pop, start, end and mark."""
        return self.table("nvtx")

    def table(self, name: str, columns: Optional[Sequence[str]] = None) -> "DataFrame":
        """A table of docs/trace-format.md with names instead of numbers; `columns`: only these."""
        info = self._table(name)
        return self._frame(info, columns, self._reader.columns(info, self._wanted(info, columns)))

    def batches(self, name: str, columns: Optional[Sequence[str]] = None) \
            -> "Iterator[DataFrame]":
        """The same in parts of at most 65536 rows, for a trace that is larger than memory."""
        info = self._table(name)
        for numbers in self._reader.batches(info, self._wanted(info, columns)):
            yield self._frame(info, columns, numbers)

    def column(self, table: str, column: str) -> "numpy.ndarray":
        """The numbers of one column as the file has them (uint64; times and durations int64)."""
        info = self._table(table)
        for one in info.columns:
            if column == one.name:
                numbers = self._reader.columns(info, [one])[column]
                return numbers.view(numpy.int64) if one.type in SIGNED else numbers
        raise MiniprofError(f"table {table} has no column '{column}': "
                            + ", ".join(one.name for one in info.columns))

    def rows(self, table: str) -> int:
        """How many rows the table has."""
        return self._reader.rows(self._table(table))

    @functools.cached_property
    def properties(self) -> Dict[str, str]:
        """The header: pid, executable, clock, ... (docs/trace-format.md)."""
        return self._reader.properties()

    # ---- What the command says ----

    def run(self, command: str, *, json: bool = False, **options: Any) -> Any:
        """A report of the command as a DataFrame, or with `json` as its document:
        run("deps", table="latencies", parts=True) is `miniprof deps --table=latencies --parts`."""
        words = ["--json" if json else "--csv", *_command.options_of(options)]
        text, notes = _command.run(command, words, self.path)
        if json:
            return _command.parse_json(text)
        frame = make_frame(_command.parse_csv(text))
        frame.attrs["notes"] = notes
        return frame

    def iterations(self, **options: Any) -> "DataFrame":
        """`miniprof iters`: a row for each iteration, or another table (table="outliers")."""
        whole = not {"table", "candidates"} & options.keys()
        return self.run("iters", **{"each": whole, **options})

    def deps(self, **options: Any) -> "DataFrame":
        """`miniprof deps`: what the critical path is made of."""
        return self.run("deps", **options)

    def advise(self, **options: Any) -> "DataFrame":
        """`miniprof advise`: what to change, and what it would gain."""
        return self.run("advise", **options)

    def layers(self, **options: Any) -> "DataFrame":
        """`miniprof layers`: which layer costs what."""
        return self.run("layers", **options)

    def summary(self, **options: Any) -> "DataFrame":
        """`miniprof summary`: where the time goes, by name."""
        return self.run("summary", **options)

    def report(self, **options: Any) -> Report:
        """`miniprof report`: what one should know at first. A notebook shows it as a page."""
        return Report(self.run("report", json=True, **options))

    @functools.cached_property
    def info(self) -> Dict[str, Any]:
        """`miniprof info`: what is in the trace, and what is missing."""
        return self.run("info", json=True)

    def _repr_html_(self) -> str:
        latencies = numpy.asarray(self.iterations()["latency_ns"])
        return self.report()._repr_html_() + bars("latency of each iteration", latencies)

    # ---- Inside ----

    @staticmethod
    def _table(name: str) -> Table:
        if name not in tables():
            raise MiniprofError(f"no table '{name}': " + ", ".join(tables()))
        return tables()[name]

    def _fields(self, info: Table, column: Column, numbers: Any = None) -> Dict[str, Any]:
        """`numbers`: the columns that were read; fields are made from them when they are asked."""
        return fields_of(self._definitions, info.name, column, lambda: numbers[column.name])

    def _wanted(self, info: Table, fields: Optional[Sequence[str]]) -> List[Column]:
        """The columns that these fields are made of."""
        return [column for column in info.columns
                if fields is None or self._fields(info, column).keys() & set(fields)]

    def _frame(self, info: Table, columns: Optional[Sequence[str]], numbers: Any) -> Any:
        makers: Dict[str, Any] = {}
        for column in info.columns:
            makers.update(self._fields(info, column, numbers))
        names: List[str] = list(columns) if columns is not None else \
            sorted(makers, key=lambda name: name != "name")
        for name in names:
            if name not in makers:
                raise MiniprofError(f"table {info.name} has no column '{name}': "
                                    + ", ".join(makers))
        return make_frame({name: makers[name]() for name in names})
