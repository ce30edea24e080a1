"""Reads miniprof's traces as DataFrames, and marks the parts of a program that is recorded.

    import miniprof
    trace = miniprof.open("run.mpt")
    trace.kernels.groupby("name").duration_ns.sum()
    trace.iterations()

docs/python.md is the manual. Marking (range, mark_layers, profile) needs nothing but Python, so the
library and numpy are loaded when a trace is opened.
"""
import os
from typing import TYPE_CHECKING, Union

from ._errors import MiniprofError, MiniprofWarning
from ._marking import mark_layers, profile, range  # pylint: disable=redefined-builtin

if TYPE_CHECKING:
    from ._trace import Trace

__all__ = ["MiniprofError", "MiniprofWarning", "mark_layers", "open", "profile", "range"]


def open(path: Union[str, "os.PathLike[str]"]) -> "Trace":  # pylint: disable=redefined-builtin
    """Opens a trace. Raises MiniprofError if it cannot be read; damage is a MiniprofWarning."""
    try:
        from ._trace import Trace  # pylint: disable=import-outside-toplevel
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise MiniprofError("miniprof.open needs numpy: pip install numpy, or Debian's "
                            "python3-numpy") from None
    return Trace(path)
