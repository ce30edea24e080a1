/* Which process is which rank of which communicator, by the operations that it ran. Of two
 * processes with one rank, as after two jobs in one folder, the first one stays. */
#include "reports/ranks/ranks_inside.h"

#include <stdlib.h>

#include "base/data/reserve.h"

#include "base/poison.h"

static int compare_owners(const void *left, const void *right)
{
    const struct op *a = left;
    const struct op *b = right;

    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->process > b->process) - (a->process < b->process);
}

static enum mp_status add_communicator(struct ranks *ranks, const struct op *op)
{
    MP_TRY(mp_reserve((void **)&ranks->communicators, ranks->communicator_count,
                      &ranks->communicator_capacity, sizeof *ranks->communicators));
    ranks->communicators[ranks->communicator_count++] =
        (struct ranks_communicator){.hash = op->hash, .first_member = ranks->member_count};
    return MP_OK;
}

static enum mp_status add_member(struct ranks *ranks, const struct op *op)
{
    struct ranks_communicator *communicator = &ranks->communicators[ranks->communicator_count - 1];

    MP_TRY(mp_reserve((void **)&ranks->members, ranks->member_count, &ranks->member_capacity,
                      sizeof *ranks->members));
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

enum mp_status ranks_find_members(struct ranks *ranks)
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
