/* Hands what tells of NCCL to the file that knows it: notes, ranges of the domain NCCL, and nodes
 * of graphs.
 */
#include "record/nccl/collectives.h"

#include <string.h>

#include "base/poison.h"

/* A node of a graph was made: inside of a launch, or of a call that NVTX alone tells of. */
static void take_origin(struct collectives *collectives, const struct mp_nvtx_event *event)
{
    uint32_t at = mp_map_get(&collectives->thread_index, event->tid);
    struct op_thread *thread = at == MP_MAP_ABSENT ? NULL : &collectives->threads[at];
    uint32_t carrier = 0;

    if (!thread)
        return;
    if (thread->in_launch) {
        carrier = thread->launch;
    } else if (thread->depth && thread->depth <= OPS_NESTED && !thread->group && !thread->groups &&
               thread->ranges[thread->depth - 1] == OP_RANGE_CALL) {
        struct op *op = ops_get(collectives, thread->range_ops[thread->depth - 1]);

        if (op && !op->carrier)
            op->carrier = ++collectives->carriers;
        if (op)
            op->captured = true;
        carrier = op ? op->carrier : 0;
    }
    if (!carrier)
        return;
    if (collectives->origins.count >= OPS_ORIGINS)
        mp_map_clear(&collectives->origins);
    mp_map_put(&collectives->origins, (uint32_t)event->range, carrier);
}

/* Most events are neither. */
void collectives_take(struct collectives *collectives, const struct mp_nvtx_event *event)
{
    if (collectives->off)
        return;
    if (event->kind == MP_NVTX_NOTE) {
        op_notes_take(collectives, event);
        return;
    }
    if (event->kind == MP_NVTX_ORIGIN) {
        take_origin(collectives, event);
        return;
    }
    if (!event->domain)
        return;
    if (!collectives->domain && strcmp(event->domain, "NCCL") == 0)
        collectives->domain = event->domain;
    if (event->domain == collectives->domain)
        op_ranges_take(collectives, event);
}
