"""Reads `miniprof export --to perfetto`."""
import perfetto_read

FORMAT = "perfetto"
KINDS = {"kernel", "copy", "set", "graph", "unified", "call", "range"}
STAGES = {"Kernel": "kernel", "Memcpy": "copy", "Memset": "set", "Graph": "graph"}
SLICES = {"cuda": "call", "unified": "unified"}


def domain_of(trace, track):
    """The domain in the name of a track: `NVTX: domain`."""
    return trace.tracks[track]["name"].partition(": ")[2] or None


def rows(path):
    """(kind, name, domain, duration in ns) of each row."""
    trace = perfetto_read.read(path)
    if trace.problems:
        raise ValueError("\n".join(trace.problems))
    for stage in trace.stages:
        if stage.stage in STAGES:
            yield STAGES[stage.stage], stage.name, None, stage.duration
    for piece in trace.slices:
        if piece.category == "nvtx":
            yield "range", piece.name, domain_of(trace, piece.track), piece.duration
        elif piece.category in SLICES:
            yield SLICES[piece.category], piece.name, None, piece.duration
