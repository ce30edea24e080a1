#!/bin/bash
# What miniprof says of the traces in tests/data/zoo: as many iterations and kernels as the programs
# counted themselves. A truth without a trace fails, and a trace without a truth. ZOO_DATA names
# another folder.
SOURCE=${SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
# Not the user's recording costs.
export XDG_CACHE_HOME=/nonexistent
exec python3 "$SOURCE/tests/zoo/judge.py" --miniprof "${BUILD:-$SOURCE/build}/miniprof" \
    --committed "${ZOO_DATA:-$SOURCE/tests/data/zoo}"
