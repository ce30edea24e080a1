/* Which NVTX ranges are open for a call, when the events and calls of a trace are read in order of
 * time.
 *
 * A thread has its own open ranges, of all domains, in the order in which they began: what it
 * pushed and has not popped, and what it started (nvtxRangeStart) and nobody has ended. A pop
 * removes the newest push of its domain, an end removes the range with its id, wherever in the
 * order these stand:
 *
 *     push A, start s, push B     A > s > B
 *     end s                       A > B
 *
 * A range that another thread started is open for a call too, under two conditions: the calling
 * thread has no open push of that domain, and of all threads exactly one start/end range of the
 * domain is open. The range is placed among the thread's own ranges by its begin. At most
 * LAYER_MAX_SHARED such ranges are known at the same time; further ones are left out.
 *
 * If a range around another one ends first, the inner range changes its path. It then has an
 * instance in each path. Many ranges that overlap without nesting could make far more instances
 * than there are ranges. After LAYER_MAX_OTHERS such instances a range stays in its first path.
 *
 * Memory: 40 bytes an open range and what nvtx/match.h takes for it, and 22 to 43 bytes in a map
 * for each thread, each domain, and each range that is in more than one path.
 */
#ifndef MP_REPORTS_LAYERS_OPEN_H
#define MP_REPORTS_LAYERS_OPEN_H

#include <miniprof/trace.h>

#include "base/data/map.h"
#include "base/status.h"
#include "profile/definitions.h"
#include "profile/nvtx/match.h"
#include "profile/quality.h"
#include "profile/ranges.h"
#include "reports/layers/tree.h"

#define LAYER_MAX_SHARED 64
#define LAYER_MAX_OTHERS (1u << 22)

struct layer_range;
struct layer_thread;
struct layer_domain;

/* The caller sets the members of the first block; the others are zero. */
struct layer_open {
    struct layer_tree *tree;               /* not owned, as the others */
    const struct definitions *definitions; /* of strings */
    struct quality *quality;               /* names that are missing */
    const struct capture_range *range;     /* instances that begin in it count; NULL: all */
    const char *domain;                    /* the only one that is looked at; NULL: all */

    struct layer_range *ranges; /* open ones, and free items */
    size_t range_count, range_capacity;
    uint32_t free_range; /* plus 1; 0: none */
    size_t unfinished;   /* open now */
    uint64_t kept;     /* times that a range stayed in its first path because of LAYER_MAX_OTHERS */
    uint64_t sequence; /* ranges begun */
    struct layer_thread *threads;
    size_t thread_count, thread_capacity;
    struct mp_map thread_index; /* by number */
    struct layer_domain *domains;
    size_t domain_count, domain_capacity;
    struct mp_map domain_index; /* by string id */
    struct nvtx_match match;    /* items: ranges */
    struct mp_map labels;       /* string ids of domain and name -> label */
    struct mp_map others;       /* first instance of a range and the one around it -> instance */
    uint32_t shared[LAYER_MAX_SHARED]; /* ranges, by begin: alone in their domain */
    size_t shared_count;
    uint64_t generation; /* of `shared` */
};

/* Takes an event; they must come in order of time. MP_ERR_MEMORY, MP_ERR_LIMIT. */
enum mp_status layer_open_take(struct layer_open *open, const struct nvtx_event *event);

/* The domains of the events, in order of appearance; NULL is the default one. `index` is less than
 * open->domain_count. */
const char *layer_open_domain(const struct layer_open *open, size_t index);

/* The instance of the innermost range that is open for a call of a thread; 0: none. MP_ERR_MEMORY,
 * MP_ERR_LIMIT. */
enum mp_status layer_open_find(struct layer_open *open, uint64_t thread, uint32_t *instance);

void layer_open_free(struct layer_open *open);

#endif
