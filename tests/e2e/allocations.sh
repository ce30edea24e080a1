#!/bin/bash
# Where there is no memory for a part of the recording, something says what is missing: the edges of
# graphs, NVTX, the driver's functions. Each allocation in these functions and in those that they
# call fails in a run of its own. tests/sweeps/allocations.py does this with all functions.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
python3 "$SOURCE/tests/sweeps/allocations.py" nvtx_chunks_create graphs_enter driver_api_load \
    offer_nvtx
exit
