/* Host functions of streams and graphs (cuLaunchHostFunc and others), where they are recorded from.
 *
 * The preloaded library, if it is there, puts a function of its own in place of the program's and
 * times it (preload/host_calls.h). It knows the function's address, but no id of CUPTI's. These are
 * filled in here and in graphs/host_nodes.h, in the callbacks inside of the program's call:
 *
 *     in a stream   correlation id, context and stream, at ENTER of the call
 *     in a graph    the id of the node that the call made
 *
 * Without that library CUPTI 13.1 and later tell of host functions, in records without the
 * function's address. Older versions tell nothing.
 */
#ifndef MP_RECORD_CUPTI_HOST_FUNCTIONS_H
#define MP_RECORD_CUPTI_HOST_FUNCTIONS_H

#include <cupti.h>
#include <stdbool.h>
#include <stdint.h>

struct mp_preload;
struct gpu;

struct host_functions {
    struct mp_preload *preload; /* NULL: it is not there, or nobody wants host functions */
};

/* Looks for the library. In InitializeInjection. */
void host_functions_open(struct gpu *gpu);

/* CUPTI is set up: from now on the program's host functions are replaced. */
void host_functions_go(struct gpu *gpu);

/* How many host functions of graphs the library had no room for. */
uint64_t host_functions_lost(const struct gpu *gpu);

/* Whether CUPTI is to tell of them. */
bool host_functions_by_cupti(const struct gpu *gpu);

#endif
