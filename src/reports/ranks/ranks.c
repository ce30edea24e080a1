/* The whole way from traces to waiting ranks: each trace is read alone and leaves its operations,
 * then these are matched. Memory is a hundred bytes an operation.
 */
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/ranks/inside.h"

#include "base/poison.h"

/* ---- Which process is which rank of which communicator ---- */

/* By the operations that it ran. Of two processes with one rank, as after two jobs in one folder,
 * the first one stays. */

MP_COMPARE(compare_owners, struct op,
           MP_ORDER(a->hash, b->hash) ?: MP_ORDER(a->rank, b->rank) ?:
           MP_ORDER(a->process, b->process));

static enum mp_status add_communicator(struct ranks *ranks, const struct op *op)
{
    MP_TRY(
        MP_RESERVE(ranks->communicators, ranks->communicator_count, ranks->communicator_capacity));
    ranks->communicators[ranks->communicator_count++] =
        (struct ranks_communicator){.hash = op->hash, .first_member = ranks->member_count};
    return MP_OK;
}

static enum mp_status add_member(struct ranks *ranks, const struct op *op)
{
    struct ranks_communicator *communicator = &ranks->communicators[ranks->communicator_count - 1];

    MP_TRY(MP_RESERVE(ranks->members, ranks->member_count, ranks->member_capacity));
    ranks->members[ranks->member_count++] =
        (struct ranks_member){.communicator = (uint32_t)(ranks->communicator_count - 1),
                              .process = op->process,
                              .rank = op->rank};
    communicator->member_count++;
    communicator->by_order = op->by_order;
    communicator->ranks = op->ranks > communicator->ranks ? op->ranks : communicator->ranks;
    if (op->name)
        communicator->name = mp_intern_get(&ranks->names, op->name, NULL);
    return MP_OK;
}

/* Finds communicators and members in the operations; takes out those of doubled ranks.
 * MP_ERR_MEMORY. */
static enum mp_status find_members(struct ranks *ranks)
{
    size_t kept = 0;

    if (ranks->op_count)
        qsort(ranks->ops, ranks->op_count, sizeof *ranks->ops, compare_owners);
    for (size_t i = 0; i < ranks->op_count; i++) {
        const struct op *op = &ranks->ops[i];
        const struct op *last = kept ? &ranks->ops[kept - 1] : NULL;
        bool is_new = !last || last->hash != op->hash;

        if (is_new)
            MP_TRY(add_communicator(ranks, op));
        if (is_new || last->rank != op->rank)
            MP_TRY(add_member(ranks, op));
        else if (last->process != op->process) {
            ranks->unmatched.duplicate_ranks++;
            continue;
        }
        ranks->ops[kept++] = *op;
    }
    ranks->op_count = kept;
    return MP_OK;
}

/* ---- Which processes belong together ---- */

/* Those that share a communicator, and what shares one with these. Traces of several jobs in one
 * folder fall apart into several groups. */

/* A process of the same group that stands for it. */
static uint32_t leader(uint32_t *next, uint32_t process)
{
    while (next[process] != process) {
        next[process] = next[next[process]];
        process = next[process];
    }
    return process;
}

static void join_members(const struct ranks *ranks, uint32_t *next)
{
    for (size_t i = 1; i < ranks->member_count; i++) {
        const struct ranks_member *member = &ranks->members[i];

        if (member->communicator == member[-1].communicator)
            next[leader(next, member->process)] = leader(next, member[-1].process);
    }
}

/* Counts the jobs. MP_ERR_MEMORY. */
static enum mp_status count_jobs(struct ranks *ranks, size_t process_count)
{
    uint32_t *next = calloc(process_count + 1, sizeof *next);
    bool *is_group = calloc(process_count + 1, sizeof *is_group);

    if (next && is_group) {
        for (uint32_t i = 0; i < process_count; i++)
            next[i] = i;
        join_members(ranks, next);
        for (uint32_t i = 0; i < process_count; i++) {
            if (leader(next, i) != i && !is_group[leader(next, i)]) {
                is_group[leader(next, i)] = true;
                ranks->jobs++;
            }
        }
    }
    free(is_group);
    free(next);
    return next && is_group ? MP_OK : MP_ERR_MEMORY;
}

/* ---- The whole way ---- */

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
    if (status == MP_OK && (ranks_names_communicators(&part)
                                ? ranks_join(ranks, &part, process)
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
    MP_TRY(find_members(ranks));
    MP_TRY(count_jobs(ranks, set->count));
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
