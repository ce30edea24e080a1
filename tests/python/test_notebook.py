#!/usr/bin/env python3
"""Every cell of docs/python.ipynb runs, in order, and shows something; and so does every example of
docs/python.md that stands below a line `>>> import miniprof`.
"""
import ast
import doctest
import json
import os
import sys
import unittest
import warnings

import common
import numpy
import pandas

DOCS = common.SOURCE / "docs"


def show(value):
    """What a notebook shows of a value."""
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


class Documents(unittest.TestCase):
    """The notebook and the manual."""

    def setUp(self):
        self.place = os.getcwd()
        os.chdir(DOCS)

    def tearDown(self):
        os.chdir(self.place)

    def test_notebook(self):
        """The last expression of a cell has a value that is not empty."""
        with open("python.ipynb", encoding="utf-8") as file:
            cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
        self.assertGreater(len(cells), 8)
        shown, names = [], {}
        for cell in cells:
            self.assertEqual((cell["outputs"], cell["execution_count"]), ([], None))
            body = ast.parse("".join(cell["source"]))
            last = ast.Expression(body.body.pop().value)
            with self.subTest("".join(cell["source"])), warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(compile(body, "cell", "exec"), names)
                value = eval(compile(last, "cell", "eval"), names)
                if isinstance(value, (pandas.DataFrame, pandas.Series)):
                    self.assertGreater(len(value), 0)
                shown.append(show(value))
        self.assertIn("<b>An iteration takes 270.1us", shown[1])
        self.assertIn("<svg", shown[2])
        self.assertIn("gemm_layer", "".join(shown))
        self.assertEqual(shown[-1], "None")

    def test_manual(self):
        """What the examples print is what docs/python.md says."""
        numpy.set_printoptions(legacy="1.13")
        result = doctest.testfile(str(DOCS / "python.md"), module_relative=False,
                                  optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        self.assertGreater(result.attempted, 8)
        self.assertEqual(result.failed, 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
