#!/usr/bin/env python3
"""Compares `miniprof kernels` with sums over the rows that tests/readers/mpt.py reads, and its
occupancy with an SM that is filled block by block. No code is shared with it.

usage: compare_kernels.py MINIPROF TRACE
"""
import math
import re

import sources

PARTITIONS, REGISTER_UNIT, SHARED_UNIT, SHARED_RESERVED = 4, 256, 128, 1024  # from 8.0 on
# What the names in tests/data have that use tensor cores.
TENSOR = re.compile(r"tensorop_|_tensor\d|_warpgroupsize")
SIZES = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "cluster_x", "cluster_y",
         "cluster_z")
RESOURCES = {"registers": "registers", "static_shared_bytes": "static_shared_memory",
             "dynamic_shared_bytes": "dynamic_shared_memory",
             "configured_shared_bytes": "shared_memory_executed",
             "local_memory_bytes": "local_memory"}


def blocks_on_sm(shape, device):
    """Puts blocks on an empty SM, warp by warp on the partition with most room, until one more does
    not fit."""
    threads = shape["block_x"] * shape["block_y"] * shape["block_z"]
    registers = -(-shape["registers"] * 32 // REGISTER_UNIT) * REGISTER_UNIT
    shared = shape["static_shared_memory"] + shape["dynamic_shared_memory"] + SHARED_RESERVED
    shared = -(-shared // SHARED_UNIT) * SHARED_UNIT
    partitions = [device["sm_registers"] // PARTITIONS] * PARTITIONS
    room = shape["shared_memory_executed"] or device["sm_shared_memory"]
    warps, blocks = device["sm_warps"], 0
    while blocks < device["sm_blocks"] and shared <= room:
        for _ in range(-(-threads // device["warp_threads"])):
            most = partitions.index(max(partitions))
            if not warps or partitions[most] < registers:
                return blocks
            partitions[most] -= registers
            warps -= 1
        room -= shared
        blocks += 1
    return blocks


def launches_of(tables):
    """{(device, SMs, shape id): [durations]}; a green context has SMs of its own."""
    devices = {row["id"]: row["multiprocessors"] for row in tables["device"]}
    green = {row["context"]: row["multiprocessors"] for row in tables.get("context_info", [])
             if row.get("parent")}
    places = {row["id"]: (row["device"], green.get(row["context"], devices[row["device"]]))
              for row in tables["stream"]}
    launches = {}
    for row in tables["kernel"]:
        launches.setdefault((*places[row["stream"]], row["shape"]), []).append(row["duration"])
    return launches


def occupancy_of(shape, device, multiprocessors):
    """(percent, waves)"""
    blocks = blocks_on_sm(shape, device)
    threads = shape["block_x"] * shape["block_y"] * shape["block_z"]
    grid = shape["grid_x"] * shape["grid_y"] * shape["grid_z"]
    warps = -(-threads // device["warp_threads"])
    if not blocks or not grid:
        return None, None
    return (100 * blocks * warps / device["sm_warps"],
            grid / (blocks * multiprocessors))


def one_or_none(values):
    """What they all are."""
    return values[0] if len(set(values)) == 1 else None


def mean(pairs):
    """Of (value, weight); None where no value is known."""
    known = [(value, weight) for value, weight in pairs if value is not None]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def row_of(name, device, parts):
    """A row as the command prints it, of parts [(shape, durations, percent, waves, SMs)]."""
    times = [time for part in parts for time in part[1]]
    shapes = [part[0] for part in parts]
    row = {"name": name, "device": device, "calls": len(times), "total_ns": sum(times),
           "min_ns": min(times), "max_ns": max(times), "mean_ns": sum(times) / len(times),
           "multiprocessors": one_or_none([part[4] for part in parts]),
           "shapes": len(parts), "tensor_cores": bool(TENSOR.search(name)),
           "occupancy_percent": mean((part[2], sum(part[1])) for part in parts),
           "waves": mean((part[3], sum(part[1])) for part in parts)}
    for names in (SIZES[:3], SIZES[3:6], SIZES[6:]):
        same = one_or_none([tuple(shape[name] for name in names) for shape in shapes])
        if names == SIZES[6:] and same == (0, 0, 0):
            same = None  # no clusters
        row.update(zip(names, same or (None, None, None)))
    for key, column in RESOURCES.items():
        row[key] = one_or_none([shape[column] for shape in shapes])
    row["configured_shared_bytes"] = row["configured_shared_bytes"] or None
    return row


def expected_of(tables, by_name):
    """The rows that the command should print."""
    strings = {row["id"]: row["text"] for row in tables["string"]}
    shapes = {row["id"]: row for row in tables["shape"]}
    devices = {row["id"]: row for row in tables["device"]}
    groups = {}
    for (device, multiprocessors, identity), durations in launches_of(tables).items():
        shape = shapes[identity]
        name = strings[shape["kernel"]]
        percent, waves = occupancy_of(shape, devices[device], multiprocessors)
        key = (name, device) if by_name else (name, device, multiprocessors, identity)
        groups.setdefault(key, []).append((shape, durations, percent, waves, multiprocessors))
    return [row_of(key[0], key[1], parts) for key, parts in groups.items()]


def is_same(found, expected):
    """Whether two rows are one, but for the last digits of fractions."""
    for key, value in expected.items():
        if isinstance(value, float) and found[key] is not None:
            if not math.isclose(found[key], value, rel_tol=1e-9, abs_tol=1e-9):
                return False
        elif found[key] != value:
            return False
    return True


def order(row):
    """Rows of the same time are told apart by what else they have."""
    return (-row["total_ns"], row["name"], row["device"],
            [row[key] if row[key] is not None else -1 for key in (*SIZES, *RESOURCES)],
            row["calls"], row["min_ns"], row["max_ns"])


def compare_rows(miniprof, path, tables, by_name):
    """Differences as texts."""
    options = ["--by-name"] if by_name else []
    document = sources.document(miniprof, "kernels", "--json", "--demangling=off", *options, path)
    expected = sorted(expected_of(tables, by_name), key=order)
    found = sorted(document["kernels"], key=order)
    differences = []
    if len(found) != len(expected):
        differences.append(f"{len(found)} rows instead of {len(expected)}")
    differences += [f"{dict((key, one[key]) for key in other)}\n    instead of {other}"
                    for one, other in zip(found, expected) if not is_same(one, other)]
    totals = [row["total_ns"] for row in document["kernels"]]
    if totals != sorted(totals, reverse=True):
        differences.append("not in order of time")
    if document["total_ns"] != sum(row["duration"] for row in tables["kernel"]):
        differences.append(f"total {document['total_ns']}")
    tensor = sum(row["total_ns"] for row in expected if row["tensor_cores"])
    if document["tensor_core_ns"] != tensor:
        differences.append(f"tensor cores {document['tensor_core_ns']} instead of {tensor}")
    return differences


def compare(miniprof, path):
    """What differs."""
    return [difference for by_name in (False, True)
            for difference in compare_rows(miniprof, path, sources.tables(path), by_name)]


if __name__ == "__main__":
    sources.main(__doc__, compare)
