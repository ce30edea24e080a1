/* Event ids of GPU work, and what the event graph says of them: which work a call launched, which
 * work a call or other work waited for. docs/dependency-analysis.md has the terms.
 *
 *     id of an activity = first + index in the graph      with the analyses
 *     id of a row       = first + rows of work before it  without
 *
 * Ids are unique in an export. Memory: 4 bytes a call, 4 bytes a device activity, 4 bytes a front.
 */
#ifndef MP_EXPORT_PERFETTO_LINKS_H
#define MP_EXPORT_PERFETTO_LINKS_H

#include "reports/deps/deps.h"

/* Streams of which something is listed, at most. */
#define LINKS_MAX 256

struct links {
    const struct deps *deps;  /* NULL: no analyses */
    uint64_t first;           /* id of activity 0 */
    uint64_t next;            /* of the next row that is no activity */
    uint32_t *launched_first; /* by call: where its list begins; one more at the end */
    uint32_t *launched;       /* activities */
    uint32_t *front_epochs;   /* of fronts: the question that visited each last */
    uint32_t *stack;
    size_t stack_capacity;
    uint32_t epoch;
    uint32_t found[LINKS_MAX];
    size_t found_count;
};

/* `deps` NULL: without analyses. Ids begin at `first`. MP_ERR_MEMORY. */
enum mp_status links_init(struct links *links, const struct deps *deps, uint64_t first);
void links_free(struct links *links);

/* The id of a row of work; `activity` may be DEPS_NONE. */
uint64_t links_id(struct links *links, uint32_t activity);

/* What a call launched: *count activities. */
const uint32_t *links_launched(const struct links *links, uint32_t call, size_t *count);

/* What a call, or work of the GPU, waited for: activities into links->found, the last one of each
 * stream. MP_ERR_MEMORY.
 *
 * Of a call: what had not ended when the call began; what ended last in any case. Of work: what had
 * not ended when the work before it in its stream began, and what binds it; but not that work
 * itself, which stands right before it. Of a graph's nodes: all that edges lead to. */
enum mp_status links_awaited_by_call(struct links *links, uint32_t call);
enum mp_status links_awaited_by_work(struct links *links, uint32_t work);

#endif
