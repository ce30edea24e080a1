#!/bin/bash
# The Parquet writer alone: a table of kernels with 15 columns and RECORDS (10,000,000) rows, and a
# tenth of them; processor time on one core, peak memory, bytes a row.
records=${RECORDS:-10000000}
file=$(mktemp --suffix .parquet)
trap 'rm -f "$file"' EXIT
exec python3 - "$BUILD/bench/bench_parquet" "$records" "$file" "${RUNS:-5}" <<'END'
import statistics, subprocess, sys

program, records, path, runs = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])


def run(rows, level):
    """Processor seconds, peak MiB, bytes."""
    return [float(word) for word in subprocess.run(
        [program, str(rows), str(level), path], check=True,
        capture_output=True, text=True).stdout.split()]


print(f"{'rows':>10s}{'zstd':>6s}  million rows/s on one core   peak MiB   bytes a row")
for rows in (records // 10, records):
    for level in (1, 3):
        taken = [run(rows, level) for _ in range(runs)]
        rates = sorted(rows / one[0] / 1e6 for one in taken)
        print(f"{rows:10d}{level:6d}  {statistics.median(rates):5.2f} ({rates[0]:.2f} to"
              f" {rates[-1]:.2f}){max(one[1] for one in taken):17.1f}{taken[0][2] / rows:14.2f}")
END
