/* NCCL's operations of a job, matched before its processes are exported one by one. What is wrong
 * with a trace is said when it is exported, not here.
 */
#include "export/exports.h"

#include "base/poison.h"

/* Its rank in the job; processes that do not say it are numbered. */
static uint32_t rank_of(const struct trace_set *set, size_t process)
{
    uint64_t rank = set->processes[process].rank;

    return rank < RANKS_NONE ? (uint32_t)rank : (uint32_t)process;
}

static enum mp_status add_process(const struct trace_set *set, size_t process, struct ranks *ranks,
                                  size_t *added)
{
    struct mp_trace *trace;
    struct mp_error error;
    struct quality quality;
    bool has;
    enum mp_status status = mp_trace_open(set->processes[process].path, &trace, &error);

    if (status != MP_OK)
        return status;
    status = ranks_has_calls(trace, &has, &error);
    if (status == MP_OK && has) {
        status =
            ranks_add(ranks, trace, (uint32_t)process, rank_of(set, process), &quality, &error);
        quality_free(&quality);
        *added += status == MP_OK;
    }
    mp_trace_close(trace);
    return status;
}

bool export_match(const struct trace_set *set, struct ranks *ranks)
{
    size_t added = 0;
    enum mp_status status = MP_OK;

    ranks_init(ranks);
    for (size_t i = 0; i < set->count && status != MP_ERR_MEMORY; i++)
        status = add_process(set, i, ranks, &added);
    if (status != MP_ERR_MEMORY && added > 1 && ranks_finish(ranks, set) == MP_OK)
        return true;
    ranks_free(ranks);
    return false;
}
