#!/bin/bash
# `miniprof calibrate` three times: prints the costs of each, and whether the three agree within
# 20 % or 100 ns. Needs the GPU for itself. ROUNDS=n (5) of a calibration.
. "$(dirname "$0")/lib.sh"

export XDG_CACHE_HOME=$WORK/cache
times=3

for ((i = 0; i < times; i++)); do
    began=${EPOCHREALTIME/./}
    "$BUILD/miniprof" calibrate --rounds "${ROUNDS:-5}" --csv >"$WORK/$i.csv" ||
        fail "calibration $i: exit status $?"
    echo "calibration $i took $(((${EPOCHREALTIME/./} - began) / 1000)) ms"
done
ok "three calibrations"

while IFS=, read -r name values; do
    case $(python3 - "$values" <<'END'
import sys
values = [float(v) for v in sys.argv[1].split(",")]
print(max(values) - min(values) <= max(100, 0.2 * max(values)))
END
    ) in
    True) ok "$name: ${values//,/ } ns" ;;
    *)
        failed=$((failed + 1))
        echo "FAILED: $name: ${values//,/ } ns"
        ;;
    esac
done < <(python3 - "$WORK"/*.csv <<'END'
import csv, sys
costs = {}
for path in sys.argv[1:]:
    for row in csv.DictReader(open(path)):
        costs.setdefault(row["name"], []).append(float(row["ns"]))
for name, values in costs.items():
    print(name, *(f"{value:.0f}" for value in values), sep=",")
END
)
[ "$failed" -eq 0 ]
