#!/usr/bin/env python3
"""The rows of `miniprof ranks --trace --csv` against what was played (truth.csv).

    compare.py ROWS.csv TRUTH.csv TOLERANCE_NS

Instances of a communicator and a pair of ranks stand in one order in both, since that is the order
in which they ran. If fewer are reported, as of capture windows, they are those in a row of which
the lateness differs least. Prints how many were compared, how many of them have another last rank,
the greatest difference in lateness or skew: "within", or how much; then of how many a cause was
played, and how many of these are reported with another one. A rank that is late by less than the
tolerance may differ, and has no cause. Nobody waited for the receive of a send that ended before
it came: SIMNCCL_BUFFERED. Rows without a communicator are of the only one.
"""
import collections
import csv
import sys


def played(path):
    lists = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            is_pair = row["function"] == "Send"
            peer = int(row["peer"]) if is_pair else -1
            arrivals = [int(arrival) for arrival in row["arrivals"].split(";")]
            sender = next(i for i, arrival in enumerate(arrivals)
                          if arrival and i != peer) if is_pair else -1
            last, late, cause = int(row["last"]), int(row["late_ns"]), row["cause"]
            last = last - int(row["first_rank"]) if last >= 0 else -1
            if is_pair and arrivals[peer] > int(row["end_ns"]):
                last, late, cause = -1, 0, "-"
            lists[row["communicator"], row["function"], sender, peer].append(
                (int(row["end_ns"]), last, late, int(row["skew_ns"]), cause))
    return {key: [item[1:] for item in sorted(items)] for key, items in lists.items()}


def reported(path):
    lists = collections.defaultdict(list)
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["communicator"], row["function"], int(row["from_rank"] or -1),
                   int(row["to_rank"] or -1))
            lists[key].append((int(row["last_rank"] or -1), int(row["late_ns"]),
                               int(row["skew_ns"]), row["cause"]))
    return lists


def difference(played_item, reported_item):
    return max(abs(played_item[1] - reported_item[1]), abs(played_item[2] - reported_item[2]))


def beside(items, rows):
    """The played instances that the rows are of."""
    places = range(max(len(items) - len(rows), 0) + 1)
    first = min(places, key=lambda place: max(map(difference, items[place:], rows), default=0))
    return items[first:first + len(rows)]


def main():
    rows, truth, tolerance = reported(sys.argv[1]), played(sys.argv[2]), int(sys.argv[3])
    compared = wrong = worst = caused = mistaken = 0
    if len({key[0] for key in truth}) == 1:
        rows = {(key[0] or next(iter(truth))[0], *key[1:]): row for key, row in rows.items()}
    if set(rows) - set(truth):
        print("not played:", sorted(set(rows) - set(truth)))
    for key, items in truth.items():
        for one, other in zip(beside(items, rows.get(key, [])), rows.get(key, [])):
            compared += 1
            wrong += one[0] != other[0] and one[1] >= tolerance
            worst = max(worst, difference(one, other))
            if one[3] != "-" and one[2] >= tolerance:
                caused += 1
                mistaken += one[3] != other[3]
    print(compared, wrong, "within" if worst <= tolerance else worst, caused, mistaken)


if __name__ == "__main__":
    main()
