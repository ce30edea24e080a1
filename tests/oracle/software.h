/* software.h: what programs use of the software GPU besides the driver's API. */
#ifndef ORACLE_SOFTWARE_H
#define ORACLE_SOFTWARE_H

#include <cuda.h>
#include <stdint.h>

/* hooks.h: the clock of the calling thread, a wait that costs nothing else, and order that no
 * record tells. */
uint64_t simgpu_clock_ns(void);
void simgpu_wait_until_ns(uint64_t when);
void simgpu_hold(CUstream stream);

/* Kernels that the software GPU plays: they take as long as their last argument says. */
static const char oracle_ptx[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".visible .entry spin(.param .u32 p_us)\n{\n    ret;\n}\n"
    ".visible .entry other_layer(.param .u64 p_in, .param .u64 p_out, .param .u32 p_n,"
    " .param .u32 p_salt, .param .u32 p_us)\n{\n    ret;\n}\n";

#endif
