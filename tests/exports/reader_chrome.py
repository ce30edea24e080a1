"""Reads `miniprof export --to chrome`: the events of Kineto's file in an array."""
import reader_kineto

FORMAT = "chrome"
KINDS = reader_kineto.KINDS


def rows(path):
    """(kind, name, domain, duration in ns) of each row."""
    return reader_kineto.rows_of(reader_kineto.load(path))
