"""What the tests of exports share: where things are, and a test for each committed trace."""
import glob
import os

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("BUILD", os.path.join(SOURCE, "build"))
MINIPROF = os.path.join(BUILD, "miniprof")
DATA = os.path.join(SOURCE, "tests", "data")
TRACES = sorted(glob.glob(DATA + "/*.mpt") + glob.glob(DATA + "/*/*.mpt"))


def add_tests(case, kinds=(None,), without=()):
    """A method of the test case for each trace but those named in `without`, which calls its method
    `check`, if need be once for each of `kinds`, which have a FORMAT."""
    def test_of(*arguments):
        return lambda self: self.check(*arguments)

    for trace in TRACES:
        if os.path.basename(trace)[:-4] in without:
            continue
        name = "test_" + os.path.relpath(trace, DATA)[:-4].replace("/", "_")
        for kind in kinds:
            if kind:
                setattr(case, f"{name}_{kind.FORMAT}", test_of(trace, kind))
            else:
                setattr(case, name, test_of(trace))
