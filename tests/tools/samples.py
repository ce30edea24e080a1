"""Samples of counters against what the software GPU did: every sample is the mean of the kernels
that ran meanwhile, whose counters tests/simgpu/ledger.c states. Prints what is wrong, or how many
samples are right.

usage: samples.py MINIPROF TRACE [DEVICE]
"""
import csv
import struct
import subprocess
import sys

RATES = {  # of kernels with one block of 128 SMs
    "alpha": {"dram_active": 80, "dram_read": 60, "dram_write": 20, "tensor_active": 0,
              "gr_active": 100, "sm_active": 100 / 128, "sm_occupancy": 50 / 128},
    "beta": {"dram_active": 15, "dram_read": 10, "dram_write": 5, "tensor_active": 80 / 128,
             "gr_active": 100, "sm_active": 100 / 128, "sm_occupancy": 25 / 128},
}


def table(miniprof, trace, name):
    text = subprocess.run([miniprof, "dump", "--csv", "--raw", "--table", name, trace], check=True,
                          capture_output=True, text=True).stdout
    rows = list(csv.DictReader(text.splitlines()))
    return [{key.removesuffix("_ns"): value for key, value in row.items()} for row in rows]


def unpacked(packed, step):
    if packed < 512:
        return packed * step
    return (packed % 256 + 256) * 2 ** (packed // 256 - 1) * step


def main():
    miniprof, trace = sys.argv[1:3]
    device = sys.argv[3] if len(sys.argv) > 3 else "0"
    strings = {row["id"]: row["text"] for row in table(miniprof, trace, "string")}
    streams = {row["id"]: row["device"] for row in table(miniprof, trace, "stream")}
    shapes = {row["id"]: strings[row["kernel"]] for row in table(miniprof, trace, "shape")}
    kernels = [(int(row["start"]), int(row["start"]) + int(row["duration"]), shapes[row["shape"]])
               for row in table(miniprof, trace, "kernel") if streams[row["stream"]] == device]
    counters = {row["id"]: row for row in table(miniprof, trace, "counter")
                if row["device"] == device}
    checked = wrong = 0
    for row in table(miniprof, trace, "sample"):
        counter = counters.get(row["counter"])
        name = strings[counter["name"]] if counter else ""
        if name not in RATES["alpha"] or counter["source"] not in ("1", "cupti"):
            continue
        end, length = int(row["time"]), int(row["length"])
        step = struct.unpack("<d", struct.pack("<Q", int(counter["step"], 0)))[0]
        expected = sum(max(0, min(end, stop) - max(end - length, start)) * RATES[kernel][name]
                       for start, stop, kernel in kernels) / length
        value = unpacked(int(row["value"]), step)
        checked += 1
        if abs(value - expected) > max(step, expected * 0.004):
            wrong += 1
            print(f"{name} until {end}: {value}, not {expected}")
    if not wrong:
        print(f"{checked} right")


main()
