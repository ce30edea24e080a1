#!/usr/bin/env python3
"""What a stack costs a launch: launches with a stack against those without one, block by block.

    stacks_cost.py FILE CSV     FILE: of `stacks.py depths`; CSV: table `call` of its trace
"""
import csv
import json
import statistics
import sys


def costs_of(blocks, stacks):
    """Depth -> (what a stack costs, what a launch takes without one) of each block, in ns."""
    stacks = iter(stacks)
    costs = {}
    for depth, taken in blocks:
        sides = {True: [], False: []}
        for ns in taken:
            sides[next(stacks) != ""].append(ns)
        with_stack, without = (statistics.median(sides[side]) for side in (True, False))
        costs.setdefault(depth, []).append((with_stack - without, without))
    return costs


def main():
    with open(sys.argv[1]) as file:
        blocks = json.load(file)
    with open(sys.argv[2]) as file:
        launches = sorted((int(row["start_ns"]), row["stack"]) for row in csv.DictReader(file)
                          if "Launch" in row["function"])
    if len(launches) != sum(len(taken) for _, taken in blocks):
        sys.exit(f"the trace has {len(launches)} launches")
    for depth, found in costs_of(blocks, (stack for _, stack in launches)).items():
        extra = statistics.quantiles([cost for cost, _ in found], n=10)
        print(f"depth {depth}: {statistics.median(cost for cost, _ in found):.0f} ns "
              f"({extra[0]:.0f} to {extra[-1]:.0f} in eight of ten blocks), a launch without: "
              f"{statistics.median(without for _, without in found):.0f} ns")


if __name__ == "__main__":
    main()
