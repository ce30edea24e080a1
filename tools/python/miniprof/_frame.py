"""Tables for people: DataFrames where pandas is installed, else a small class of numpy columns.

Texts are categories: a kernel's name stands once in memory, whatever the number of its rows.
"""
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Tuple

import numpy

from ._names import Words
from ._shown import harmless, markup

if TYPE_CHECKING:
    from pandas import DataFrame

MAX_ROWS_SHOWN = 20


class Table:
    """Columns by name, as a DataFrame has them: table["name"], table.name, len(table)."""

    def __init__(self, data: "Dict[str, numpy.ndarray]"):
        self._data = data
        self.attrs: Dict[str, Any] = {}

    @property
    def columns(self) -> List[str]:
        """The names of the columns."""
        return list(self._data)

    @property
    def shape(self) -> Tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self._data)

    def head(self, count: int = 5) -> "Table":
        """The first rows."""
        return self[:count]

    def __len__(self) -> int:
        return len(next(iter(self._data.values()), ()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._data[key]
        if isinstance(key, list) and all(isinstance(one, str) for one in key):
            return Table({one: self._data[one] for one in key})
        return Table({name: column[key] for name, column in self._data.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._data:
            raise AttributeError(f"no column '{name}'")
        return self._data[name]

    def _cells(self) -> List[List[str]]:
        rows = zip(*(column[:MAX_ROWS_SHOWN].tolist() for column in self._data.values()))
        return [["" if cell is None else harmless(str(cell)) for cell in row] for row in rows]

    def _more(self) -> str:
        return f"{len(self)} rows, {len(self._data)} columns; pandas shows more, if installed"

    def __repr__(self) -> str:
        lines = ["  ".join(row) for row in [self.columns] + self._cells()]
        return "\n".join(lines + [self._more()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{markup(name)}</th>" for name in self._data)
        rows = "".join("<tr>" + "".join(f"<td>{markup(cell)}</td>" for cell in row) + "</tr>"
                       for row in self._cells())
        return f"<table><tr>{head}</tr>{rows}</table><p>{self._more()}</p>"


def make_frame(columns: Dict[str, Any]) -> "DataFrame":
    """A DataFrame of arrays, which it does not copy, and of Words; without pandas a Table."""
    try:
        import pandas  # pylint: disable=import-outside-toplevel
    except ImportError:
        return Table({name: plain(column)  # type: ignore[return-value]
                      for name, column in columns.items()})
    return pandas.DataFrame({name: pandas.Categorical.from_codes(column.codes, column.names)
                             if isinstance(column, Words) else column
                             for name, column in columns.items()}, copy=False)


def plain(column: Any) -> "numpy.ndarray":
    """Words as an array of texts, None where there is none."""
    if not isinstance(column, Words):
        return column
    names = numpy.empty(len(column.names) + 1, object)
    names[:-1] = column.names
    return names[column.codes]
