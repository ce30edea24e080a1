"""Calls before, while and after there is a sub-interpreter."""
import sys

import truth
from truth import launch

try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters


def inside(code):
    try:
        interpreters.run_string(other, code)
    except AttributeError:
        interpreters.exec(other, code)


truth.start()
launch()
sys.stdout.flush()
other = interpreters.create()
launch()
inside("x = 1")
interpreters.destroy(other)
launch()
