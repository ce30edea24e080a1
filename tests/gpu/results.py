#!/usr/bin/env python3
"""The numbers that the scripts of this folder measure, and tables of them.

    results.py FILE GROUP...        a table for each kind of thing measured: sides by phases
    results.py FILE --less SIDE GROUP PHASE     kinds by sides: how much more than SIDE's number of
                                the same round
    results.py FILE --over SIDE GROUP PHASE     kinds by sides: how many times SIDE's number of the
                                same round

A line of FILE is GROUP|ROUND|SIDE|PHASE|KIND|NUMBER: what a side measured in one round of all
sides. Phases "not measured" and "failed" have the reason instead of a kind. Any other line is
passed over.
"""
import collections
import operator
import statistics
import sys

NOT_MEASURED = ("not measured", "failed")
# How the numbers of a group or one of its phases are shown: factor, decimals, unit.
SHOWN = {("torch", "model"): (1, 3, "ms an iteration"), ("ranks", None): (1, 3, "ms"),
         ("watch", "model"): (1, 3, "ms an iteration"),
         ("memory", None): (2.0 ** -20, 1, "MiB"),
         ("start", None): (1e-6, 1, "ms"), ("nodes", None): (1, 0, ""),
         ("sigkill", None): (1, 0, ""),
         ("soak", "all"): (1, 2, ""), ("soak", "growth a kernel"): (1, 2, "B"),
         ("soak", None): (2.0 ** -20, 2, "MiB"),
         **{("close", what): (1, 3, "") for what in ("the call, s", "complete file, s")},
         ("close", "MB"): (1, 1, ""), ("close", "kernels in it"): (1, 0, ""),
         **{(group, f"CPU {what}{part}"): (1, 1, unit) for group in ("memory", "soak")
            for what, unit in (("", "%"), ("a kernel ", "ns")) for part in ("begin", "end")}}


MANY = 9  # numbers of which the quartiles are shown, rather than the least and greatest
QUARTILES = ("bare",)  # groups in which they are shown of FEW numbers, too
FEW = 4


def with_spread(values, form="{:,.0f}", many=None):
    """Median (least to greatest); of so many the quartiles."""
    ends = (min(values), max(values))
    if many and len(values) >= many:
        ends = statistics.quantiles(values, n=4)[::2]
    shown = [form.format(x) for x in (statistics.median(values), *ends)]
    if len(values) == 1 or len(set(shown)) == 1:
        return shown[0]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


class Results:
    def __init__(self, lines):
        self.values = collections.defaultdict(dict)  # (group, side, phase, kind): {round: number}
        self.reasons = collections.defaultdict(list)  # group: why something was not measured
        for line in lines:
            fields = line.rstrip("\n").split("|")
            if len(fields) != 6:
                continue
            group, number, side, phase, kind, value = fields
            if phase in NOT_MEASURED:
                self.reasons[group].append(kind)
                continue
            try:
                self.values[group, side, phase, kind][int(number)] = float(value)
            except ValueError:
                continue

    @classmethod
    def read(cls, path):
        with open(path, encoding="utf-8", errors="replace") as file:
            return cls(file)

    def rounds(self, group, side, phase, kind):
        """The side's numbers by round; empty where it was not measured."""
        return self.values.get((group, side, phase, kind), {})

    def list(self, group, side, phase, kind):
        return list(self.rounds(group, side, phase, kind).values())

    def paired(self, group, side, other, phase, kind, combine):
        """combine(side's, other's number) of each round that both measured."""
        left = self.rounds(group, side, phase, kind)
        right = self.rounds(group, other, phase, kind)
        return [combine(left[n], right[n]) for n in sorted(left.keys() & right.keys())]

    def sides(self, group):
        return list(dict.fromkeys(side for g, side, _, _ in self.values if g == group))

    def kinds(self, group, phase):
        return list(dict.fromkeys(k for g, _, p, k in self.values if (g, p) == (group, phase)))


def shown(group, phase):
    """How the numbers are shown: factor, format, unit."""
    group = group.split("_")[0]
    factor, decimals, unit = SHOWN.get((group, phase)) or SHOWN.get((group, None)) or (1, 0, "ns")
    return factor, f"{{:,.{decimals}f}}", unit


def cell(results, key):
    values = results.values.get(key)
    if not values:
        return "-"
    factor, form, _ = shown(key[0], key[2])
    return with_spread([x * factor for x in values.values()], form,
                       FEW if key[0] in QUARTILES else None)


def print_row(cells):
    print("| " + " | ".join(cells) + " |")


def print_group(results, group):
    keys = [key for key in results.values if key[0] == group]
    for kind in dict.fromkeys(key[3] for key in keys):
        phases = list(dict.fromkeys(key[2] for key in keys if key[3] == kind))
        sides = list(dict.fromkeys(key[1] for key in keys if key[3] == kind))
        print()
        unit = shown(group, phases[0])[2]
        print_row([f"{kind}, {unit}" if unit else kind, *phases])
        print("|---" * (len(phases) + 1) + "|")
        for side in sides:
            print_row([side, *(cell(results, (group, side, phase, kind)) for phase in phases)])


def print_wide_group(results, group):
    """One table: sides and their phases by kinds."""
    keys = [key for key in results.values if key[0] == group]
    kinds = list(dict.fromkeys(key[3] for key in keys))
    print()
    print_row(["", "", *kinds])
    print("|---" * (len(kinds) + 2) + "|")
    for side, phase in dict.fromkeys(key[1:3] for key in keys):
        print_row([side, phase, *(cell(results, (group, side, phase, kind)) for kind in kinds)])


def print_small_group(results, group):
    """Numbers of one run: a line for each."""
    for key in results.values:
        if key[0] == group:
            where = "" if key[2] == "all" else f" ({key[2]}, {shown(*key[:3:2])[2]})"
            print(f"  {key[1]}: {key[3]}{where} {cell(results, key)}")


COMPARED = {"--over": ("times", operator.truediv, "{:.3f}"),
            "--less": ("more than", operator.sub, "{:+.1f}")}


def print_compared(results, how, side, group, phase):
    words, combine, form = COMPARED[how]
    kinds = results.kinds(group, phase)
    many = FEW if group in QUARTILES else MANY
    print()
    print_row([f"{words} {side}", *kinds])
    print("|---" * (len(kinds) + 1) + "|")
    for other in results.sides(group):
        found = [results.paired(group, other, side, phase, kind, combine) for kind in kinds]
        if other != side and any(found):
            print_row([other, *(with_spread(x, form, many) if x else "-" for x in found)])


def main():
    results = Results.read(sys.argv[1])
    if sys.argv[2] in COMPARED:
        print_compared(results, *sys.argv[2:6])
        return
    for group in sys.argv[2:]:
        if group in ("soak", "sigkill"):
            print_small_group(results, group)
        elif group == "nodes":
            print_wide_group(results, group)
        else:
            print_group(results, group)


if __name__ == "__main__":
    main()
