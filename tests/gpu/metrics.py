#!/usr/bin/env python3
"""What tests/gpu/metrics.sh computes.

metrics.py names TRUTH              the metrics of which TRUTH (the output of samples/metrics) has
                                    values, separated by commas
metrics.py compare TRUTH CSV        a line for each value: metric, kernel, the truth, what `miniprof
                                    metrics --csv` says on average, and the error of that launch
                                    which is furthest off. Exit status 1 if an error is above
                                    TOLERANCE (0.02), a value is missing, or a kernel was not
                                    measured as often as it was launched
"""
import csv
import os
import sys

# HBM has room for the bits of ECC beside the data; other memory has not.
ECC = "ECC is on: memory other than HBM moves more bytes than the kernels read and write"


def read_truth(path):
    """({(kernel, metric): value}, {setting: value}) in the order of the file."""
    values, settings = {}, {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            name, equals, value = line.strip().partition("=")
            if not equals:
                continue
            kernel, dot, metric = name.partition(".")
            if dot:
                values[kernel, metric] = float(value)
            else:
                settings[name] = float(value)
    return values, settings


def number(text):
    """Percentages are in percent on both sides; nothing stands for no value."""
    return float(text.strip().rstrip("%") or "nan")


def read_measured(path):
    """{(kernel, metric): (launches, least, greatest, average)} of the first device."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["kernel"], row["metric"]):
            (int(row["invocations"]), number(row["min"]), number(row["max"]), number(row["mean"]))
            for row in rows if row["device_name"] == rows[0]["device_name"]}


def compare_one(truth, found, launches, tolerance):
    """(average, error, what is wrong) as texts."""
    if found is None:
        return "-", "-", "not measured"
    count, least, greatest, average = found
    error = max((least / truth - 1, greatest / truth - 1), key=abs)
    wrong = ""
    if not abs(error) <= tolerance:  # not a number is wrong too
        wrong = "wrong"
    elif count != launches:
        wrong = f"{count} launches, not {launches:.0f}"
    return f"{average:.10g}", f"{error:+.3%}", wrong


def compare(truth_path, csv_path):
    tolerance = float(os.environ.get("TOLERANCE", "0.02"))
    values, settings = read_truth(truth_path)
    measured = read_measured(csv_path)
    failed = set()
    for (kernel, metric), truth in values.items():
        average, error, wrong = compare_one(truth, measured.get((kernel, metric)),
                                            settings["launches"], tolerance)
        print(f"{metric:<30} {kernel:<26} {truth:>14.10g} {average:>14} {error:>9}  {wrong}"
              .rstrip())
        if wrong:
            failed.add(metric)
    if settings.get("ecc") and any(metric.startswith("dram_") for metric in failed):
        print(f"note: {ECC}")
    return 1 if failed or not values else 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "names":
        names = dict.fromkeys(metric for _, metric in read_truth(sys.argv[2])[0])
        print(",".join(names))
        return 0
    if len(sys.argv) == 4 and sys.argv[1] == "compare":
        return compare(sys.argv[2], sys.argv[3])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main())
