#!/bin/bash
# The software GPU against the ABI of CUDA's headers and against its own model of time.
[ -x "$BUILD/simgpu/selftest" ] || { echo "no CUDA headers: no software GPU"; exit 77; }
LD_LIBRARY_PATH=$BUILD/simgpu exec "$BUILD/simgpu/selftest" "$BUILD/simgpu" "$BUILD/samples"
