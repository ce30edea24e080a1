#!/usr/bin/env python3
"""Tests of what tests/gpu makes of measured numbers: the tables, what became of the aims, the
checks of the soak, what a killed program lost. The numbers are made up, so all is known.
"""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "gpu"))
import aims      # pylint: disable=wrong-import-position
import growth    # pylint: disable=wrong-import-position
import results   # pylint: disable=wrong-import-position
import sigkill   # pylint: disable=wrong-import-position
import soak      # pylint: disable=wrong-import-position
import stamps    # pylint: disable=wrong-import-position

GRAPH = "graph of 100 kernels"
CHEAP = "3,000 cheap calls"


def lines(group, side, phase, kind, *numbers):
    return [f"{group}|{n}|{side}|{phase}|{kind}|{number}" for n, number in enumerate(numbers)]


def calls(side, kind, *numbers, phase="inside"):
    return lines("calls", side, phase, kind, *numbers)


def table(text):
    return results.Results(text)


def judged(row, text, reasons=()):
    """What the row says was measured, and its verdict."""
    parts = row(table(text))
    return "; ".join(p.text for p in parts if p.text), aims.verdict(parts, reasons)


class TestResults(unittest.TestCase):
    def test_median_least_and_greatest(self):
        self.assertEqual(results.with_spread([3, 1, 2]), "2 (1 to 3)")
        self.assertEqual(results.with_spread([1.0, 1.01], "{:.2f}"), "1.00 (1.00 to 1.01)")

    def test_one_value_or_equal_ones_have_no_spread(self):
        self.assertEqual(results.with_spread([1234]), "1,234")
        self.assertEqual(results.with_spread([5, 5, 5]), "5")

    def test_lines_of_another_form_are_passed_over(self):
        found = table(["Generating '/tmp/n.qdstrm'", "a|b|c", "calls|0|bare|inside|launch|x",
                       "calls|0|bare|inside|launch|7"])
        self.assertEqual(found.list("calls", "bare", "inside", "launch"), [7])

    def test_sides_are_compared_round_by_round(self):
        found = table(["c|0|a|p|k|10", "c|1|a|p|k|20", "c|2|a|p|k|40",
                       "c|1|b|p|k|5", "c|2|b|p|k|6", "c|3|b|p|k|7"])
        self.assertEqual(found.paired("c", "a", "b", "p", "k", aims.difference), [15, 34])

    def test_table_of_sides_by_phases(self):
        text = calls("bare", "launch", 10) + calls("nsys", "launch", 30) + \
            calls("nsys", "launch", 20, phase="after")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            results.print_group(table(text), "calls")
        self.assertEqual(out.getvalue().split("\n"),
                         ["", "| launch, ns | inside | after |", "|---|---|---|",
                          "| bare | 10 | - |", "| nsys | 30 | 20 |", ""])


    def test_groups_with_quartiles_and_how_much_more_than_a_side(self):
        found = table(lines("bare", "alone", "call", "launch", *range(1, 8)) +
                      lines("bare", "bare", "call", "launch", *range(11, 25, 2)))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            results.print_group(found, "bare")
            results.print_compared(found, "--less", "alone", "bare", "call")
        self.assertEqual(out.getvalue().split("\n"),
                         ["", "| launch, ns | call |", "|---|---|", "| alone | 4 (2 to 6) |",
                          "| bare | 17 (13 to 21) |",
                          "", "| more than alone | launch |", "|---|---|",
                          "| bare | +13.0 (+11.0 to +15.0) |", ""])


class TestLaunch(unittest.TestCase):
    def measured(self, ours, cupti=1000, nsys=1500, python=1100, torch=1200):
        return calls("bare", "launch", 3000, 3000) + \
            calls("miniprof", "launch", 3000 + ours, 3000 + ours) + \
            calls("CUPTI", "launch", 3000 + cupti, 3000 + cupti) + \
            calls("nsys", "launch", 3000 + nsys, 3000 + nsys) + \
            lines("torch", "bare", "inside", "launch", 3100) + \
            lines("torch", "miniprof", "inside", "launch", 3100 + python) + \
            lines("torch", "torch.profiler", "inside", "launch", 3100 + torch)

    def test_all_parts_hold(self):
        text, verdict = judged(aims.launch_row, self.measured(1030))
        self.assertEqual(verdict, "reached")
        self.assertEqual(text, "1,030 ns of 3,000; bare CUPTI 1,000: 1.03 x (of the whole launch "
                         "1.008 x); nsys 1,500; inside Python 1,100; torch.profiler 1,200")

    def test_each_part_can_fail(self):
        for numbers in ({"ours": 1031}, {"ours": 1000, "nsys": 1000},
                        {"ours": 1000, "python": 1200}):
            with self.subTest(numbers):
                self.assertEqual(judged(aims.launch_row, self.measured(**numbers))[1],
                                 "not reached")

    def test_a_peer_that_is_not_there_is_named(self):
        text = [line for line in self.measured(1000) if "nsys" not in line]
        self.assertEqual(judged(aims.launch_row, text)[1], "reached; not measured: nsys")

    def test_nothing_measured_has_the_reason(self):
        self.assertEqual(judged(aims.launch_row, [], ["no NVIDIA GPU"])[1],
                         "not measured: no NVIDIA GPU")


class TestRows(unittest.TestCase):
    def test_model_against_both_peers(self):
        text = lines("torch", "bare", "model", "BERT eager", 4, 5) + \
            lines("torch", "miniprof", "model", "BERT eager", 4.4, 5.5) + \
            lines("torch", "torch.profiler", "model", "BERT eager", 6, 7.5) + \
            lines("torch", "nsys", "model", "BERT eager", 4.8, 6)
        row = aims.model_row("BERT eager")
        self.assertEqual(judged(row, text), (
            "1.100 x of 4.50 (4.00 to 5.00) ms; torch.profiler 1.500; nsys 1.200", "reached"))
        slower = [line.replace("|4.8", "|4.2").replace("|6", "|5.25") for line in text]
        self.assertEqual(judged(row, slower)[1], "not reached")

    def test_graph_level_and_node_level(self):
        text = calls("bare", GRAPH, 80000) + calls("miniprof", GRAPH, 100000) + \
            calls("nsys", GRAPH, 100001)
        for ours, verdict in ((84800, "reached"), (84900, "not reached")):
            self.assertEqual(judged(aims.graph_level_row, text +
                                    calls("miniprof, graph level", GRAPH, ours))[1], verdict)
        self.assertEqual(judged(aims.graph_node_row, text)[1], "reached")
        self.assertEqual(judged(aims.graph_node_row, text[:2] + calls("nsys", GRAPH, 99999))[1],
                         "not reached")

    def test_nvtx_has_three_bounds(self):
        kind = "NVTX push+pop"
        for ours, cupti, nsys, verdict in ((30, 90, 300, "reached"), (61, 900, 900, "not reached"),
                                           (31, 90, 900, "not reached"),
                                           (31, 900, 300, "not reached")):
            text = calls("miniprof", kind, ours) + calls("CUPTI, NVTX", kind, cupti) + \
                calls("nsys", kind, nsys)
            self.assertEqual(judged(aims.nvtx_row, text)[1], verdict, ours)

    def test_no_measurable_cost(self):
        self.assertTrue(aims.nothing_to_measure([0.9, 0.8, 1.1]))   # small
        self.assertTrue(aims.nothing_to_measure([-0.1, 2, 3]))      # not in each round
        self.assertFalse(aims.nothing_to_measure([1.5, 1.2, 1.8]))

    def test_what_the_median_is_surely_above(self):
        self.assertEqual(aims.surely_above([4, 2, 3]), 2)
        for count, place in ((5, 0), (6, 0), (8, 0), (9, 1), (12, 2), (15, 3)):  # sign test, 97 %
            self.assertEqual(aims.surely_above(range(count)), place, count)

    def test_a_spread_that_hides_the_difference_decides_nothing(self):
        self.assertIs(aims.at_most([0.4, 0.5, 9], 0.5), True)
        self.assertIs(aims.at_most([0.4, 0.6, 9], 0.5), aims.UNDECIDED)
        self.assertIs(aims.at_most([0.51, 0.6, 9], 0.5), False)
        undecided, well, bad = (aims.Part("", holds) for holds in (aims.UNDECIDED, True, False))
        self.assertTrue(aims.verdict([undecided, well], []).startswith("not decided"))
        self.assertEqual(aims.verdict([undecided, bad], []), "not reached")

    def test_ranges_have_six_bounds(self):
        side = "miniprof, range"
        text = []
        for kind in ("launch", GRAPH):
            for phase in ("before", "between", "after"):
                text += calls("bare", kind, 1000, phase=phase) + \
                    calls(side, kind, 1005, phase=phase)
        row = aims.range_row(side)
        measured, verdict = judged(row, text)
        self.assertEqual(verdict, "reached")
        self.assertEqual(measured.count("+0.5 %"), 6)
        for at in range(1, len(text), 2):
            slow = text[:at] + [text[at].replace("|1005", "|1006")] + text[at + 1:]
            self.assertEqual(judged(row, slow)[1], "not reached", slow[at])

    def test_an_option_that_is_not_there(self):
        row = aims.range_row("miniprof run, attach range")
        self.assertIn("not measured: miniprof run has no --attach", judged(row, [])[1])

    def test_cheap_calls_show_peers(self):
        text = lines("torch", "bare", "inside", CHEAP, 100000) + \
            lines("torch", "miniprof", "inside", CHEAP, 100500) + \
            lines("torch", "nsys", "inside", CHEAP, 700000)
        self.assertEqual(judged(aims.cheap_row, text), (
            "+0.5 us an iteration (+0.5 %); nsys +600.0 us",
            "reached; not measured: torch.profiler"))

    def test_start(self):
        text = lines("start", "bare", "start", "cuInit", 100e6, 90e6, 101e6)
        for added, verdict in ((15e6, "reached"), (16e6, "not reached")):
            ours = lines("start", "miniprof", "start", "cuInit", 100e6 + added, 90e6 + added, 200e6)
            self.assertEqual(judged(aims.start_row, text + ours)[1], verdict)

    def memory(self, ours, shared=0, device=100):
        def most(side, private, common, gpu):
            return [line for kind, mib in (("host, private", private), ("host, shared", common),
                                           ("GPU", gpu))
                    for line in lines("memory", side, "most", kind, mib * 2 ** 20)]
        return most("bare", 40, 1, 90) + most("CUPTI", 60, 65, 100) + \
            most("miniprof", ours, shared + 1, device)

    def test_memory_beyond_cupti(self):
        measured, verdict = judged(aims.memory_row, self.memory(124))
        self.assertEqual(verdict, "reached")
        self.assertEqual(measured, "host +84.0 MiB; CUPTI's own +20.0: 64.0 beyond; "
                         "GPU +10.0, CUPTI's +10.0")
        for wrong in (self.memory(125), self.memory(100, shared=25), self.memory(100, device=103)):
            self.assertEqual(judged(aims.memory_row, wrong)[1], "not reached")


class TestSoakRow(unittest.TestCase):
    GOOD = {"kernels": 360e6, "seconds": 1800, "kernels/s": 200000, "launch calls/s": 150000,
            "counts that differ": 0, "dropped": 0, "invalid times": 0, "whole": 1}

    def measured(self, growth=1, **changed):
        numbers = dict(self.GOOD, **{key.replace("_", " "): n for key, n in changed.items()})
        return [f"soak|0|miniprof|all|{kind}|{n}" for kind, n in numbers.items()] + \
            [f"soak|0|miniprof|growth|{kind}|{growth * 2 ** 20}"
             for kind in ("host, private", "host, shared", "GPU")]

    def test_good(self):
        self.assertEqual(judged(aims.soak_row, self.measured())[1], "reached")
        self.assertFalse(aims.certain_failure(table(self.measured())))

    def test_each_part_can_fail(self):
        for changed in ({"dropped": 1}, {"invalid_times": 1}, {"counts_that_differ": 1},
                        {"whole": 0}, {"kernels/s": 199999}, {"growth": 2.1}):
            with self.subTest(changed):
                self.assertEqual(judged(aims.soak_row, self.measured(**changed))[1], "not reached")

    def test_a_shorter_one_says_what_is_missing(self):
        self.assertEqual(judged(aims.soak_row, self.measured(seconds=640.01))[1],
                         "reached; not measured: 1160 more seconds")
        self.assertEqual(judged(aims.soak_row, self.measured(seconds=640, dropped=1))[1],
                         "not reached; not measured: 1160 more seconds")

    def test_kernels_without_times_are_told(self):
        def text(again):
            return judged(aims.soak_row, self.measured(
                clock_given_again=again, without_times_for_that=7821))[0]
        self.assertIn("; clock given again 5 times, 7,821 kernels without times for it;", text(5))
        self.assertNotIn("clock", text(0))

    def test_growth_is_no_more_than_that_of_cupti_alone(self):
        def lines(ours, alone):
            return self.measured(growth=500) + \
                [f"soak|0|{side}|growth a kernel|{what}|{number}"
                 for what in ("host, private", "host, shared", "GPU")
                 for side, number in (("miniprof", ours), ("CUPTI initialised", alone))]
        self.assertEqual(judged(aims.soak_row, lines(21.3, 21.3))[1], "reached")
        self.assertEqual(judged(aims.soak_row, lines(21.6, 21.3))[1], "not reached")

    def test_lost_records_are_a_failure_whatever_the_machine(self):
        self.assertTrue(aims.certain_failure(table(self.measured(dropped=1))))
        self.assertFalse(aims.certain_failure(table(self.measured(**{"kernels/s": 1}))))


class TestSigkill(unittest.TestCase):
    def test_row(self):
        good = {"kills": 200, "unreadable": 0, "late": 0, "no trace yet": 9, "median ms lost": 80,
                "most ms lost": 199, "limit": 200}
        for changed, verdict in (({}, "reached"), ({"unreadable": 1}, "not reached"),
                                 ({"late": 1}, "not reached"),
                                 ({"kills": 150}, "reached; not measured: 50 more kills")):
            text = [f"sigkill|0|miniprof|all|{kind}|{n}" for kind, n in {**good, **changed}.items()]
            self.assertEqual(judged(aims.sigkill_row, text)[1], verdict)
            self.assertEqual(aims.certain_failure(table(text)), verdict == "not reached")

    def test_what_is_lost_is_dated_by_the_first_kernel_that_is_missing(self):
        times = [1_000_000, 2_000_000, 3_000_000]
        self.assertEqual(sigkill.lost_ms(times, 3, 9_000_000), 0)
        self.assertEqual(sigkill.lost_ms(times, 4, 9_000_000), 0)  # launched, not yet noted
        self.assertEqual(sigkill.lost_ms(times, 1, 9_000_000), 7)
        self.assertEqual(sigkill.lost_ms(times, 0, 2_500_000), 2)  # it ran on after that look
        self.assertEqual(sigkill.lost_ms([], 0, 9_000_000), 0)

    def test_progress_that_was_not_written_yet(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "p"
            self.assertEqual(sigkill.Progress(path).times(), [])
            path.write_bytes(b"")
            self.assertEqual(sigkill.Progress(path).times(), [])
            path.write_bytes(bytes(24))
            self.assertEqual(sigkill.Progress(path).times(), [])
            path.write_bytes((2).to_bytes(8, sys.byteorder) + (7).to_bytes(8, sys.byteorder) +
                             (8).to_bytes(8, sys.byteorder) + bytes(8))
            self.assertEqual(sigkill.Progress(path).times(), [7, 8])

    def test_report(self):
        for kills, well in (([(10, True, None)], True), ([(201, True, None)], False),
                            ([(0, True, "damaged")], False), ([], False)):
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(sigkill.report(kills, 200), well)


class TestSoakCheck(unittest.TestCase):
    # As `miniprof info` and `summary` have them: rows are looked at by the second alone.
    INFO = {"quality": {"whole": True, "dropped": 0, "unknown_times": 0, "reversed_times": 0,
                        "counters": {"writer_cpu_ns": 1}},
            "tables": [{"table": "kernel", "rows": 300}, {"table": "nvtx", "rows": 4}],
            "ranges": [{"begin_ns": 1000, "end_ns": 9000}], "first_ns": 1000, "last_ns": 9000,
            "records": 600, "bytes_per_record": 2}
    SUMMARY = {"quality": {"unknown_times": 0, "reversed_times": 0}, "groups": [
        {"name": "gpu_activities", "rows": [{"name": "soak", "calls": 300, "min_ns": 900}]},
        {"name": "api_calls", "rows": [{"name": "cuLaunchKernel", "calls": 200},
                                       {"name": "cuGraphLaunch", "calls": 1}]}]}
    MADE = "made|kernel|300\nmade|cuLaunchKernel|200\nmade|cuGraphLaunch|1\nmade|nvtx|2\n"

    def check(self, output, info=None, summary=None):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file, \
                contextlib.redirect_stdout(io.StringIO()):
            file.write(output)
            file.flush()
            return soak.check(file.name, info or self.INFO, summary or self.SUMMARY)

    def test_all_is_there(self):
        self.assertTrue(self.check(self.MADE + "took|3\n"))

    def test_each_count_can_differ(self):
        for line in self.MADE.splitlines():
            self.assertFalse(self.check(self.MADE.replace(line, line + "0") + "took|3\n"), line)

    def test_a_program_that_did_not_end(self):
        self.assertFalse(self.check(self.MADE))
        self.assertFalse(self.check("took|3\n"))

    def test_quality_and_times(self):
        changes = [{"quality": dict(self.INFO["quality"], **{key: value})}
                   for key, value in (("whole", False), ("dropped", 1))]
        changes += [{"first_ns": 1000 - soak.LATE_NS - 1}, {"last_ns": 9001 + soak.LATE_NS},
                    {"ranges": []}]
        for change in changes:
            with self.subTest(change):
                self.assertFalse(self.check(self.MADE + "took|3\n", info={**self.INFO, **change}))
        zero = json.loads(json.dumps(self.SUMMARY).replace("900", "0"))
        self.assertFalse(self.check(self.MADE + "took|3\n", summary=zero))
        for what in "unknown_times", "reversed_times":
            wrong = {**self.SUMMARY, "quality": {**self.SUMMARY["quality"], what: 1}}
            self.assertFalse(self.check(self.MADE + "took|3\n", summary=wrong), what)

    def unread(self, missing, **counters):
        """Whether 20,000 kernels of which so many have no times are well."""
        info = json.loads(json.dumps(self.INFO).replace("300", "20000"))
        info["quality"]["counters"] = counters
        summary = {**self.SUMMARY, "quality": {"unknown_times": missing, "reversed_times": 0}}
        return self.check(self.MADE.replace("300", "20000") + "took|3\n", info, summary)

    def test_kernels_under_way_when_the_clock_was_given_again(self):
        self.assertTrue(self.unread(0))
        self.assertTrue(self.unread(2, clock_renewals=1, zero_timestamps=2))
        self.assertFalse(self.unread(3, clock_renewals=1, zero_timestamps=3))  # of 10,000 one
        self.assertFalse(self.unread(2, clock_renewals=1, zero_timestamps=1))  # not all counted
        self.assertFalse(self.unread(2, clock_renewals=1))
        self.assertFalse(self.unread(2, zero_timestamps=2))

    def test_growth_is_a_line_through_the_last_two_thirds(self):
        flat = [(1000.0 * n, 500.0 if n > 2 else 100.0 * n) for n in range(12)]
        self.assertAlmostEqual(soak.growth(flat, 1)[0], 0)
        rising = [(1000.0 * n, 7.0 * n) for n in range(12)]
        self.assertAlmostEqual(soak.growth(rising, 1)[0], 7 * 7)  # from the 5th to the 12th
        self.assertIsNone(soak.growth(rising[:2], 1))
        by_kernel = [(1000.0 * n, 50.0 * n * n, 0.0, 0.0, 10.0 * n * n) for n in range(12)]
        self.assertAlmostEqual(soak.growth(by_kernel, 1, soak.KERNELS)[1], 5)


# An H100 that does little else.
IN_USE = 700 << 20


class TestSoakSeconds(unittest.TestCase):
    """What is made of the looks that soak.c took, one a second."""

    def seconds(self, count, device=lambda t: IN_USE, cpu=lambda t: (0, 0, 0, 0)):
        """The lines of looks at t = 0, 1, ... s; 1,000 kernels a second."""
        rows = [(1000 * t, 5 << 20, 0, device(t), 1000 * t, *cpu(t)) for t in range(count)]
        return "".join(f"second|{'|'.join(f'{x:.0f}' for x in row)}\n" for row in rows)

    def said(self, function, output, *arguments):
        """The lines that the function prints of a file of these lines."""
        out = io.StringIO()
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file, \
                contextlib.redirect_stdout(out):
            file.write(output)
            file.flush()
            function(*(file.name if x is None else x for x in arguments))
        return out.getvalue().splitlines()

    def memory(self, output):
        said = self.said(soak.print_memory, output, "soak", 0, "miniprof", None)
        return {tuple(fields[3:5]): float(fields[5]) for fields in (x.split("|") for x in said)}

    def check(self, output):
        """What a good run says of its buffers."""
        made = TestSoakCheck.MADE + "took|3\n"
        said = self.said(soak.check, output + made, None, TestSoakCheck.INFO,
                         TestSoakCheck.SUMMARY)
        return [line for line in said if "behind" in line]

    def test_cpu_of_each_group_early_and_late(self):
        # A fifth of a core each; CUPTI's own threads 1 % more with every second.
        def cpu(t):
            return 200 * t, 100 * t, 50 * t, 5 * t * t
        found = self.memory(self.seconds(101, cpu=cpu))
        shares = {key: n for key, n in found.items() if key[0] in ("CPU begin", "CPU end")}
        self.assertEqual(shares, {
            ("CPU begin", "application"): 20, ("CPU end", "application"): 20,
            ("CPU begin", "miniprof"): 10, ("CPU end", "miniprof"): 10,
            ("CPU begin", "flush"): 5, ("CPU end", "flush"): 5,
            ("CPU begin", "others"): 20, ("CPU end", "others"): 90})  # of 10 to 30, 80 to 100 s
        self.assertEqual([found[f"CPU a kernel {part}", "flush + others"]
                          for part in ("begin", "end")], [250000, 950000])

    def test_no_cpu_of_short_runs_and_old_ones(self):
        old = self.seconds(101).replace("|0|0|0|0\n", "\n")
        for output in (self.seconds(4), old):
            found = self.memory(output)
            self.assertEqual(found["most", "GPU"], IN_USE)
            self.assertFalse([key for key in found if "CPU" in key[0]])

    def test_no_cpu_a_kernel_without_kernels(self):
        still = "".join("|".join([*line.split("|")[:5], "7", "0|0|0|0\n"])
                        for line in self.seconds(101).splitlines())
        found = self.memory(still)
        self.assertIn(("CPU end", "others"), found)
        self.assertFalse([key for key in found if "CPU a kernel" in key[0]])

    def test_the_second_from_which_on_buffers_do_not_come_back(self):
        # 4 MiB a second more after 120 s: beyond 64 MiB after 17 of them.
        def device(t):
            return IN_USE + max(t - 120, 0) * (4 << 20)
        self.assertEqual(self.check(self.seconds(201, device)), [
            "CUPTI fell behind at 137 s (137,000 kernels): its buffers on the GPU are not "
            "returned any more", "soak|0|miniprof|all|fell behind at s|137"])

    def test_memory_that_came_back_or_was_there_early_is_no_falling_behind(self):
        for device in (lambda t: IN_USE, lambda t: IN_USE + (100 << 20) * (50 < t < 90),
                       lambda t: IN_USE + (t >= 5) * (200 << 20), lambda t: IN_USE + (t << 19)):
            self.assertEqual(self.check(self.seconds(101, device)), [])
        self.assertEqual(self.check(""), [])

    def test_table_of_growth(self):
        # 40 bytes a kernel, 1 MiB on the GPU and CPU as above with every second.
        output = "".join(f"second|{1000 * t}|{40000 * t}|0|{IN_USE + (t << 20)}|{1000 * t}|0|"
                         f"{100 * t}|{50 * t}|{5 * t * t}\n" for t in range(101))
        output += "made|kernel|99999\ntook|100000\n"
        said = self.said(growth.print_lines, output, "miniprof", None)
        said.insert(0, "growth|0|alone|failed|bare CUPTI: no libcupti|0")
        said += ["growth|0|short|all|kernels|5", "other|0|other|all|kernels|7"]
        rows = self.said(growth.print_table, "\n".join(said), None)[2:]
        self.assertEqual(rows, [
            "| alone | failed: bare CUPTI: no libcupti | - | - | - | - | - | - |",
            "| miniprof | 99,999 | 40.0 | +70.0 | 5.0 -> 5.0 | 20.0 -> 90.0 | 10.0 -> 10.0 | "
            "250,000.0 -> 950,000.0 |",  # the GPU's: at 90 s less at 20 s
            "| short | 5 | - | - | - | - | - | - |"])

    def test_a_program_that_did_not_end_has_no_growth(self):
        with self.assertRaises(SystemExit):
            self.said(growth.print_lines, self.seconds(101), "miniprof", None)


class Stamps(unittest.TestCase):
    """What passed since the stamp before; what the stamp itself took does not count."""

    def test_each_name_has_the_time_since_the_stamp_before(self):
        spans = stamps.passed(["start|3|5|0", "-|9|10|1", "start|110|112|3", "stop|114|115|3",
                               "other line", "-|990|1000|50", "start|1400|1400|70",
                               "start|1500|1501|71"])
        self.assertEqual(spans, {"start": [[100, 2], [400, 20], [100, 1]], "stop": [[2, 0]]})


if __name__ == "__main__":
    unittest.main()
