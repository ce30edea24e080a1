/* Inside the family: costs by activity, and how long the run is with them taken out. */
#ifndef MP_ANALYZE_UNDISTURBED_BUILD_H
#define MP_ANALYZE_UNDISTURBED_BUILD_H

#include "analyze/replay/replay.h"
#include "analyze/undisturbed/undisturbed.h"

/* What each activity cost, times `scale`, into `less`; its arrays have deps->count items. */
void undisturbed_lay(const struct deps *deps, const struct costs *costs, const uint32_t *nodes,
                     double scale, struct deps_less *less);

/* Built-in costs on a host of another speed: they are multiplied by what its launches take, divided
 * by what they take on the host that the costs are of. */
enum mp_status undisturbed_scale_host(const struct deps *deps, struct costs *costs);

/* How many nodes of graphs each piece of a call launched; owned by the caller. NULL: no memory. */
uint32_t *undisturbed_count_nodes(const struct deps *deps);

/* P50 of the iterations' latencies in the replayer's last run, or the length of all windows; ns.
 * `values` has room for all iterations. */
uint64_t undisturbed_length(const struct undisturbed_input *input,
                            const struct deps_replayer *replayer, uint64_t *values);

/* An iteration on the host, where it lies in the replayer's last run. */
struct deps_window undisturbed_window(const struct deps_replayer *replayer,
                                      const struct iteration *one);

#endif
