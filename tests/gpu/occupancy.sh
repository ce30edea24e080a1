#!/bin/bash
# `miniprof kernels` against cudaOccupancyMaxActiveBlocksPerMultiprocessor: blocks on an SM, of some
# thousand combinations of registers, block size, shared memory and preferred carve-out. The runtime
# reckons with the carve-out that is preferred, miniprof with the one that the driver then set up;
# with the default one and the greatest they must agree.
. "$(dirname "$0")/lib.sh"

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
[ -n "$nvcc" ] || skip "no nvcc"
cd "$WORK" || exit 1
"$nvcc" -arch=native -o occupancy "$SOURCE/tests/gpu/occupancy.cu" >nvcc.txt 2>&1 ||
    skip "occupancy.cu does not compile here: $(head -n 3 nvcc.txt)"
traced trace.mpt ./occupancy >runtime.txt 2>err.txt || fail "exit code $?: $(head -n 3 err.txt)"
"$BUILD/miniprof" kernels --json trace.mpt >kernels.json || fail "miniprof kernels: exit code $?"
python3 - >said.txt <<'END'
import json, sys

kernels = {row["grid_x"]: row for row in json.load(open("kernels.json"))["kernels"]}
agree, differ, registers = {}, {}, set()
for line in open("runtime.txt"):
    grid, carveout, blocks = map(int, line.split())
    row = kernels.get(grid)
    found = row["blocks_per_sm"] if row else None
    registers.add(row["registers"] if row else None)
    if found == blocks:
        agree[carveout] = agree.get(carveout, 0) + 1
    else:
        differ.setdefault(carveout, []).append((blocks, found, row))
for carveout in sorted({*agree, *differ}):
    wrong = differ.get(carveout, [])
    print(f"carve-out {carveout}: {agree.get(carveout, 0)} agree, {len(wrong)} differ")
    for blocks, found, row in wrong[:5]:
        shown = {key: row[key] for key in row if key in
                 ("block_x", "registers", "static_shared_bytes", "dynamic_shared_bytes",
                  "configured_shared_bytes") or key.startswith("blocks_by")} if row else None
        print(f"    the runtime says {blocks}, miniprof {found}: {shown}")
print(f"registers: {sorted(registers, key=str)}")
sys.exit(bool(differ.get(-1) or differ.get(100) or not agree))
END
status=$?
cat said.txt
[ $status -eq 0 ] || fail "blocks on an SM differ"
ok "blocks on an SM are those of the runtime"
