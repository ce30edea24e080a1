/*
 * costs.c: what being recorded costs a program, for tests of what takes it off.
 *
 * SIMGPU_COST_... says how many ns each time. Without libcupti nothing is recorded, and all is 0.
 */
#include "simgpu.h"

uint64_t sg_recordingCost(enum sg_cost cost)
{
    static const char *const names[SG_COST_COUNT] = {"SIMGPU_COST_IN",    "SIMGPU_COST_AROUND",
                                                     "SIMGPU_COST_NODE",  "SIMGPU_COST_GAP",
                                                     "SIMGPU_COST_START", "SIMGPU_COST_FINISH"};
    static _Atomic long known[SG_COST_COUNT]; /* plus 1 */

    if (!__atomic_load_n(&simgpu_hooks, __ATOMIC_ACQUIRE))
        return 0;
    if (!known[cost]) {
        long ns = env_number(names[cost], 0);
        known[cost] = (ns > 0 ? ns : 0) + 1;
    }
    return (uint64_t)known[cost] - 1;
}
