"""NVTX as a library has it: by the package of this project."""
from miniprof import _nvtx


def push(name):
    _nvtx.push(name)


def pop():
    _nvtx.pop()
