"""Modules, as far as hooks and names go."""
from . import module
from .module import Linear, Module, Sequential  # noqa: F401
