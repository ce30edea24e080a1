#!/usr/bin/env python3
# Takes 6 s.
"""Bad input of the Python package: what is whole is read, and one clear line says the rest."""
import os
import pathlib
import re
import sys
import tempfile
import unittest
import warnings

import common
import miniprof

sys.path.insert(0, str(common.SOURCE / "tests/readers"))
import test_mpt as forge  # pylint: disable=wrong-import-position

INFERENCE = common.SOURCE / "tests/data/inference.mpt"
TABLE = 1  # of strings
ODD = ['say "hi", <b>x</b>\n&', "\udcff\udc80 not UTF-8", "x" * 65535, "", "ok"]


class Files(unittest.TestCase):
    """Files that are missing, foreign or damaged."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "trace.mpt"

    def tearDown(self):
        self.folder.cleanup()

    def fails(self, path, pattern):
        """Opening it says one line like the pattern."""
        with self.assertRaisesRegex(miniprof.MiniprofError, pattern) as caught:
            miniprof.open(path)
        self.assertNotIn("\n", str(caught.exception))

    def warns(self, path):
        """The trace, and the one warning that opening it gave."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trace = miniprof.open(path)
        self.assertEqual([one.category for one in caught], [miniprof.MiniprofWarning])
        self.assertNotIn("\n", str(caught[0].message))
        return trace, str(caught[0].message)

    def test_missing(self):
        """No such file."""
        self.fails(self.path, f"cannot open '{self.path}': No such file or directory")

    def test_folder_and_other_files(self):
        """A folder, an empty file, a text."""
        self.fails(self.folder.name, self.folder.name)
        self.path.write_bytes(b"")
        self.fails(self.path, "trace.mpt' is empty")
        self.path.write_bytes(b"Dear reader, " * 100)
        self.fails(self.path, "not a miniprof trace")

    def test_cut(self):
        """What is whole is read; the warning says that the end is missing."""
        data = INFERENCE.read_bytes()
        self.path.write_bytes(data[:len(data) * 2 // 3])
        trace, warning = self.warns(self.path)
        self.assertRegex(warning, "trace.mpt: the trace is damaged.*the rest was read")
        self.assertGreater(sum(map(trace.rows, ("kernel", "call", "nvtx"))), 0)
        for table in ("kernel", "call", "nvtx"):
            rows = common.command_rows("dump", "--csv", "--table", table, str(self.path))
            self.assertEqual(len(trace.table(table)), len(rows))

    def test_a_chunk_that_cannot_be_decoded(self):
        """Its rows are left out, of all columns alike, and counted in a warning; the next reading
        does not warn again."""
        with miniprof.open(INFERENCE) as whole:
            (offset, rows), = whole._reader.chunks["kernel"]  # pylint: disable=protected-access
            calls = len(whole.calls)
        data = bytearray(INFERENCE.read_bytes())
        data[offset + 72 + 40] ^= 0xFF
        self.path.write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            trace = miniprof.open(self.path)
        with self.assertWarnsRegex(miniprof.MiniprofWarning,
                                   f"1 chunks of table kernel cannot.*their {rows} rows"):
            self.assertEqual(len(trace.table("kernel")), 0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(len(trace.kernels), 0)
            self.assertEqual(len(trace.calls), calls)
        with self.assertWarnsRegex(miniprof.MiniprofWarning, "the trace is damaged.*1 chunk "):
            trace.summary()

    def test_every_byte_of_a_small_trace(self):
        """Nothing else than these errors and warnings comes of any damage."""
        data = forge.sample()
        for at in range(0, len(data), 3):
            self.path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    with miniprof.open(self.path) as trace:
                        self.assertLessEqual(len(trace.kernels), 6)
                        trace.table("string")
                except miniprof.MiniprofError as error:
                    self.assertNotIn("\n", str(error))

    def made(self, kind):
        """A trace of make_trace."""
        path = os.path.join(self.folder.name, kind + ".mpt")
        self.assertEqual(os.spawnl(os.P_WAIT, common.BUILD / "tests/tools/make_trace",
                                   "make_trace", kind, path), 0)
        return path

    def test_empty(self):
        """A trace without rows has empty tables, and a page."""
        trace = miniprof.open(self.made("empty"))
        self.assertEqual([len(frame) for frame in (trace.kernels, trace.copies, trace.sets,
                                                   trace.nvtx)], [0] * 4)
        self.assertEqual(list(trace.batches("kernel")), [])
        self.assertIn("name", trace.kernels.columns)
        self.assertIn("<p>", trace._repr_html_())  # pylint: disable=protected-access

    def test_rows_without_times(self):
        """They are in the table; the command's warning is Python's."""
        trace = miniprof.open(self.made("doubtful"))
        self.assertEqual(list(trace.kernels.start_ns).count(0)
                         + list(trace.copies.start_ns).count(0), 2)
        with self.assertWarnsRegex(miniprof.MiniprofWarning, "2 rows without a begin time"):
            trace.summary()

    def test_lost_definitions(self):
        """Rows whose names are lost have their numbers, as in dump."""
        path = self.made("undefined")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = set(miniprof.open(path).kernels.name)
        rows = common.command_rows("dump", "--csv", "--table", "kernel", path)
        self.assertEqual(names, {row["shape"] for row in rows})
        self.assertTrue(any(name.startswith("#") for name in names), names)

    def odd_names(self):
        """A trace whose NVTX events have odd names, and these names."""
        texts = [name.encode("utf-8", "surrogateescape") for name in ODD]
        strings = forge.columns(
            ((1, 1, 0, 0, 0, 0, 0), forge.numbers(*range(1, len(texts) + 1))),
            ((2, 4, 0, 0, 0, 0, 0), forge.numbers(*map(len, texts)) + b"".join(texts)))
        events = forge.columns(
            ((2, 1, 0, 0, 0, 0, 0), forge.constant(5)),
            ((4, 1, 0, 0, 0, 0, 0), forge.numbers(*range(1, len(texts) + 1))),
            ((5, 1, 0, 0, 0, 0, 0), forge.numbers(*range(1000, 1000 + len(texts)))))
        data = (forge.header() + forge.chunk(0, TABLE, len(texts), strings)
                + forge.chunk(1, 37, len(texts), events, (1000, 1000 + len(texts))))
        data += forge.index(*forge.mpt.Trace(data, forge.TABLES).chunks)
        self.path.write_bytes(data)
        return [text.decode("utf-8", "backslashreplace") for text in texts]

    def test_odd_names(self):
        """Quotation marks, markup, newlines, bytes that are no UTF-8, 64 KiB: unchanged or as
        \\xNN in the table, and harmless in the command's CSV."""
        wanted = self.odd_names()
        with miniprof.open(self.path) as trace:
            self.assertEqual(trace.nvtx.name.tolist(), wanted)
            self.assertEqual(trace.run("dump", table="nvtx").name.tolist(),
                             [re.sub(r"\n|\\x..", "?", name) for name in wanted])
        self.assertIn("\\xff\\x80 not UTF-8", wanted)

    def test_markup_is_escaped(self):
        """A notebook shows names as text."""
        path = self.made("hostile")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trace = miniprof.open(path)
            page = trace._repr_html_()  # pylint: disable=protected-access
        self.assertIn("<img src=x", " ".join(trace.kernels.name.unique()))
        self.assertNotIn("<img", page)
        self.assertIn("&lt;img src=x", page)
        self.odd_names()
        code, out, _ = common.run_python(
            "import sys; sys.modules['pandas'] = None; import miniprof;"
            "print(miniprof.open(sys.argv[1]).nvtx._repr_html_())", self.path)
        self.assertEqual(code, 0)
        self.assertIn("&lt;b&gt;x&lt;/b&gt;", out)
        self.assertNotIn("<b>", out)

    def test_what_is_shown_cannot_act(self):
        """Controls, bidirectional text and what nobody sees, on a terminal and in a notebook."""
        self.odd_names()
        code, out, _ = common.run_python(
            "import sys; sys.modules['pandas'] = None; import miniprof;"
            "print(miniprof.open(sys.argv[1]).nvtx)", self.path)
        self.assertEqual(code, 0)
        self.assertIn('say "hi", <b>x</b>?&', out)
        self.assertEqual(miniprof._shown.markup( # pylint: disable=protected-access
            "<\x1b\x9b\u202e\u200b\u2028\U000e0041\xe9>"), "&lt;??????\xe9&gt;")

    def test_a_path_that_looks_like_an_option(self):
        """The command gets the whole path."""
        place = os.getcwd()
        os.chdir(self.folder.name)
        try:
            pathlib.Path("--json").write_bytes(INFERENCE.read_bytes())
            self.assertEqual(len(miniprof.open("--json").iterations()), 50)
        finally:
            os.chdir(place)


class Use(unittest.TestCase):
    """Names that do not exist, and closed traces."""

    def test_unknown_names(self):
        """The line lists those that exist."""
        with miniprof.open(INFERENCE) as trace:
            with self.assertRaisesRegex(miniprof.MiniprofError, "no table 'kernels': string, "):
                trace.table("kernels")
            with self.assertRaisesRegex(miniprof.MiniprofError,
                                        "table kernel has no column 'start': stream, shape"):
                trace.column("kernel", "start")
            with self.assertRaisesRegex(miniprof.MiniprofError,
                                        "table kernel has no column 'x': device, "):
                trace.table("kernel", ["name", "x"])

    def test_closed(self):
        """What was read stays, nothing more comes."""
        trace = miniprof.open(INFERENCE)
        kernels = trace.kernels
        trace.close()
        trace.close()
        self.assertEqual(len(trace.kernels), len(kernels))
        with self.assertRaisesRegex(miniprof.MiniprofError, "inference.mpt: the trace is closed"):
            trace.calls  # pylint: disable=pointless-statement
        with self.assertRaisesRegex(miniprof.MiniprofError, "the trace is closed"):
            next(trace.batches("kernel"))


class Parts(unittest.TestCase):
    """Parts of the installation that are missing."""

    OPEN = "import sys, miniprof; print(len(miniprof.open(sys.argv[1]).iterations()))"

    def says(self, line, code=OPEN, **options):
        """The program fails with this as the last line."""
        status, _, said = common.run_python(code, INFERENCE, **options)
        self.assertEqual(status, 1, said)
        self.assertRegex(said.splitlines()[-1], line)

    def test_no_library(self):
        """No libmptrace: the line says what to install."""
        with tempfile.TemporaryDirectory() as folder:
            self.says(r"MiniprofError: cannot load libmptrace\.so\.1 \(.*\): install miniprof's",
                      path=common.stage(folder, library=False))

    def test_no_command(self):
        """Tables are read; reports say what is missing."""
        with tempfile.TemporaryDirectory() as folder:
            path = common.stage(folder)
            (pathlib.Path(path) / "miniprof/bin/miniprof").unlink()
            self.says("MiniprofError: no miniprof command: install miniprof's wheel", path=path,
                      PATH="/nonexistent")

    def test_no_numpy(self):
        """One line; marking works without it."""
        self.says("MiniprofError: miniprof.open needs numpy: pip install numpy",
                  "import sys; sys.modules['numpy'] = None\n" + self.OPEN)
        code, out, err = common.run_python("""if True:
            import sys; sys.modules["numpy"] = None
            import miniprof
            with miniprof.range("a"): print("inside")""")
        self.assertEqual((code, out, err), (0, "inside\n", ""))

    def test_the_command_fails(self):
        """Its own line is the error."""
        self.says("MiniprofError: .*there is no NVTX range 'nothing'", self.OPEN.replace(
            "iterations()", "iterations(iterations='nvtx:nothing')"))


if __name__ == "__main__":
    sys.exit(unittest.main())
