/* The whole way from traces to waiting ranks: each trace is read alone and leaves its operations,
 * then these are matched. Memory is a hundred bytes an operation. */
#include "reports/ranks/ranks_inside.h"

#include <stdlib.h>

#include "base/poison.h"

void ranks_init(struct ranks *ranks)
{
    *ranks = (struct ranks){0};
}

void ranks_free(struct ranks *ranks)
{
    free(ranks->communicators);
    free(ranks->members);
    free(ranks->instances);
    free(ranks->sides);
    free(ranks->groups);
    free(ranks->clocks);
    free(ranks->ops);
    mp_intern_free(&ranks->names);
    *ranks = (struct ranks){0};
}

enum mp_status ranks_add(struct ranks *ranks, struct mp_trace *trace, uint32_t process,
                         uint32_t rank, struct quality *quality, struct mp_error *error)
{
    struct ranks_part part;
    enum mp_status status = ranks_read(trace, &part, quality, error);

    if (status == MP_OK)
        status = ranks_find_launches(trace, &part, error);
    if (status == MP_OK &&
        (ranks_is_told(&part) ? ranks_join(ranks, &part, process)
                              : ranks_join_by_order(ranks, &part, process, rank)) != MP_OK)
        status = mp_error_set(error, MP_ERR_MEMORY, "cannot match the calls: out of memory");
    ranks_part_free(&part);
    return status;
}

/* From the clocks of the files to one axis, as far as the set knows. */
static void put_on_axis(struct ranks *ranks, const struct trace_set *set)
{
    for (size_t i = 0; i < ranks->op_count; i++) {
        struct op *op = &ranks->ops[i];

        op->start += set->processes[op->process].offset;
        op->end += set->processes[op->process].offset;
    }
}

enum mp_status ranks_finish(struct ranks *ranks, const struct trace_set *set)
{
    put_on_axis(ranks, set);
    MP_TRY(ranks_find_members(ranks));
    MP_TRY(ranks_count_jobs(ranks, set->count));
    MP_TRY(ranks_shift(ranks, set));
    ranks_sort(ranks);
    MP_TRY(ranks_align(ranks, set));
    MP_TRY(ranks_make_instances(ranks));
    MP_TRY(ranks_sum_up(ranks));
    free(ranks->ops);
    ranks->ops = NULL;
    ranks->op_count = ranks->op_capacity = 0;
    return MP_OK;
}
