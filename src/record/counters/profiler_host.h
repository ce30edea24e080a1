/* Objects of CUPTI's host API: names of metrics on one chip, and what the GPU is told to count.
 *
 * An object that refused a name is of no further use, and to free it is dangerous: quirk
 * `refused_name`.
 */
#ifndef MP_RECORD_METRICS_PROFILER_HOST_H
#define MP_RECORD_METRICS_PROFILER_HOST_H

#include <stdbool.h>

#include "record/counters/profiler_api.h"

struct profiler_chip_info {
    const struct profiler_api *api;
    int type; /* PROFILER_RANGE_PROFILING, or that of PM sampling */
    const char *name;
    uint8_t *availability; /* what the GPU can count now, owned; or NULL */
};

/* A new object without metrics; NULL in *host unless it succeeds. */
CUptiResult profiler_host_open(const struct profiler_chip_info *chip, void **host);

/* Frees the object, if there is one, and forgets it. */
void profiler_host_close(const struct profiler_api *api, void **host);

/* Gives the object names. If it refuses one, it is forgotten (*host is NULL) and never freed. */
CUptiResult profiler_host_add(const struct profiler_api *api, void **host, const char **names,
                              size_t count);

/* What CUPTI knows about a metric; false when this chip has no metric of that name. */
bool profiler_host_look_up(const struct profiler_api *api, void *host, const char *name,
                           struct profiler_properties *about);

/* What the GPU is told to count, owned by the caller, and in how many passes it does. */
enum mp_status profiler_host_config(const struct profiler_api *api, void *host, uint8_t **config,
                                    size_t *bytes, size_t *passes, struct mp_error *error);

#endif
