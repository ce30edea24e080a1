#!/usr/bin/env python3
"""Tests of the tables of tests/gpu/pairs.py and gains.py. The numbers are made up, and what the
tables have to say of them was computed by hand.
"""
import json
import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
import gains    # pylint: disable=wrong-import-position
import pairs    # pylint: disable=wrong-import-position

BESIDE = "one|zoo|graph|100,102,98,101,99|150,153,147,151.5,148.5" \
    "|measured_beside 148.5 104 97 105|built_in 148.5 90 - -|-"
IN_RUN = "two|strangers|memory|200,220,210|210,231,220.5" \
    "|measured_in_run 220.5 214 211 216|built_in 220.5 231 - -|-"
OTHER_UNIT = "three|strangers|graph|50|60|measured_beside 600 500 480 520|built_in 600 400 - -|-"
NOTHING = "four|strangers|graph|10,20|20,20|not_recorded - - - -|built_in 20 18 - -|too few steps"
WIDE = "five|zoo|eager|100,110,120|110,121,132|measured_beside 132 114 113 119|unknown - - - -|-"
BROKEN = "six|zoo|eager|failed|exit status 3"
SKIPPED = "seven|strangers|JAX|not tried|skipped: no flax"


class TestTables(unittest.TestCase):
    def merged(self, *files):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, str(number)) for number in range(len(files))]
            for path, lines in zip(paths, files):
                pathlib.Path(path).write_text("".join(line + "\n" for line in lines),
                                              encoding="ascii")
            return list(pairs.merged(paths))

    def row(self, line):
        name = line.split("|", maxsplit=1)[0]
        return next(row for row in self.merged([line]) if row.startswith(f"| {name} |"))

    def test_a_row_has_the_bare_time_the_line_and_the_model(self):
        self.assertEqual(self.row(BESIDE),
                         "| one | graph | 100.0 (99.0 to 101.0) | 1.500 | 104.0 (97.0 to 105.0), "
                         "measured_beside | +4.0 % | yes | 90.0, built_in | -10.0 % |")
        self.assertEqual(self.row(IN_RUN),
                         "| two | memory | 210.0 (205.0 to 215.0) | 1.050 | 214.0 (211.0 to "
                         "216.0), measured_in_run | +1.9 % | no | 231.0, built_in | +10.0 % |")

    def test_iterations_that_are_not_the_programs_are_compared_by_share(self):
        self.assertEqual(self.row(OTHER_UNIT),
                         "| three | graph | 50.0 (50.0 to 50.0) | 1.200 | 50.0 (48.0 to 52.0), "
                         "measured_beside* | +0.0 % | yes | 40.0, built_in* | -20.0 % |")

    def test_what_is_not_known_is_a_dash(self):
        self.assertEqual(self.row(NOTHING), "| four | graph | 15.0 (12.5 to 17.5) | 1.500 | - | - "
                                            "| - | 18.0, built_in | +20.0 % |")

    def test_the_summary_counts_by_source_and_by_kind(self):
        text = self.merged([BESIDE, IN_RUN, OTHER_UNIT], [NOTHING, WIDE, BROKEN, SKIPPED])
        begin = next(i for i, line in enumerate(text) if line.startswith("5 programs"))
        self.assertEqual(text[begin:], [
            "5 programs. *: iterations are not the program's, so shares are compared.",
            "The line is within 3 % or within the program's own quartiles: 3 of 4 "
            "(measured_beside 2 of 3, measured_in_run 1 of 1)",
            "Its interval holds the truth: 2 of 4 (measured_beside 2 of 3, measured_in_run 0 of 1)",
            "The line says nothing: four: not_recorded, too few steps",
            "",
            "Errors of the model, in %: programs: median, maximum",
            "",
            "| kind | zoo | strangers |",
            "|---|---|---|",
            "| eager | - | - |",
            "| graph | 1: 10.0, 10.0 | 2: 20.0, 20.0 |",
            "| memory | - | 1: 10.0, 10.0 |",
            "| all | 1: 10.0, 10.0 | 3: 20.0, 20.0 |",
            "",
            "failed: six: exit status 3",
            "not tried: seven: skipped: no flax"])

    def test_the_last_line_of_a_program_counts(self):
        text = self.merged(["one|zoo|graph|failed|no GPU"], [BESIDE])
        self.assertIn("1 programs. *: iterations are not the program's, so shares are compared.",
                      text)
        self.assertFalse([line for line in text if line.startswith("failed")])


class TestLines(unittest.TestCase):
    def truths(self, *p50s):
        return [pairs.judge.Truth(f"truth pid=1 unit=iteration count=2 clock=latency p50_us={p50} "
                            "p90_us=9 name=-") for p50 in p50s]

    def test_a_run_of_several_processes_has_their_median(self):
        self.assertEqual(pairs.own_p50s(self.truths(1, 3, 5, 9), 2), [2, 7])

    def test_a_run_without_a_truth_is_an_error(self):
        with self.assertRaises(SystemExit):
            pairs.own_p50s(self.truths(1, 2, 3), 2)

    def test_times_are_us_and_what_is_missing_is_a_dash(self):
        self.assertEqual(pairs.said_text({"source": "measured_beside", "of_ns": 1500,
                                          "without_ns": 1000, "low_ns": None, "high_ns": None}),
                         "measured_beside 1.50 1.00 - -")

    def test_the_truth_of_strangers(self):
        truth = pairs.judge.Truth("TRUTH kernels=-1 iters=40 p50_us=140.2 max_us=9 wall_ms=9 "
                                  "pid=42 note=2 copies = 64 KiB")
        self.assertEqual((truth.pid, truth.count, truth.p50, truth.kernels, truth.unit),
                         (42, 40, 140.2, None, "iteration"))
        self.assertFalse(pairs.judge.Truth.is_one("TRUTH skipped=1 note=no JAX"))


class TestGains(unittest.TestCase):
    """Three rounds. Before 100, 110, 90 us alone, after 80, 88, 72: 20 % are taken. Recorded 200,
    then 150: 25 %."""

    def table(self, how, *said, alphas=()):
        times = {"bare_before": (100, 110, 90), "bare_after": (80, 88, 72),
                 "before": (200, 200, 200), "after": (150, 150, 150)}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for number, report in enumerate(said):
                for side, medians in times.items():
                    (folder / f"one.{number}.{side}.out").write_text(
                        f"gains: case one median_us {medians[number]}.000\n", encoding="ascii")
                for side, ns in zip(("before", "after"), alphas):
                    (folder / f"one.{number}.{side}.csv").write_text(
                        f"shape,duration_ns\nbeta_layer,5\nalpha_layer,{ns}\n", encoding="ascii")
                (folder / f"one.{number}.before.json").write_text(json.dumps(report),
                                                                  encoding="ascii")
            lines, complaints = gains.table(name, len(said), [f"one:{how}"])
        return lines[-1], complaints

    def what_if(self, *windows, basis=None):
        return {"what_if": {"windows": [{"now_ns": now, "new_ns": new} for now, new in windows],
                            "basis": basis}}

    def test_a_what_if_has_the_gain_of_its_median_windows(self):
        said = self.what_if((100, 70), (100, 78), (101, 99), basis="without_recording")
        self.assertEqual(self.table("a*=0.5x;b=0", said, said, said),
                         ("| one | a*=0.5x, b=0 | without recording | 100.0 (90.0 to 110.0) "
                          "| 80.0 (72.0 to 88.0) | 20.0 % | 25.0 % | 22.0 % | +2.0 |", []))

    def test_a_finding_has_its_gain_and_no_finding_none(self):
        said = [{"findings": [{"rule": "other", "gain_percent": 90},
                              {"rule": "needless_wait", "gain_percent": percent}]}
                for percent in (31, 29, 33)]
        row, complaints = self.table("needless_wait", *said)
        self.assertTrue(row.startswith("| one | needless_wait | as recorded |"), row)
        self.assertTrue(row.endswith("| 31.0 % | +11.0 |"), row)
        self.assertEqual(complaints, [])
        row, complaints = self.table("allocation", *said)
        self.assertTrue(row.endswith("| 0.0 % | -20.0 |"), row)

    def test_a_what_if_that_is_too_far_off_fails(self):
        said = self.what_if((100, 74), basis="as_recorded")
        self.assertEqual(self.table("a*=0.5x", said)[1],
                         ["FAILED: one: the gain is +6.0 points off"])

    def test_alpha_has_to_take_half_its_time(self):
        said = [self.what_if((100, 80))] * 3
        self.assertEqual(self.table("alpha*=0.5x", *said, alphas=(200, 101))[1], [])
        self.assertEqual(self.table("alpha*=0.5x", *said, alphas=(200, 103))[1],
                         ["FAILED: one: the experiment is invalid: alpha's second time is +3.0 % "
                          "off half of its first"])


if __name__ == "__main__":
    unittest.main()
