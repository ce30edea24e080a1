/* What kernels of NCCL carry: function, communicator, bytes and so on as arguments of the launch,
 * which the UI shows beside the launch's shape. Of several operations in a kernel the bytes are
 * added up, if all are of one function and communicator; otherwise only their number is known.
 */
#include <inttypes.h>
#include <stdio.h>

#include "export/perfetto/build.h"
#include "export/perfetto/fields.h"

#include "base/poison.h"

static void put(struct perfetto *perfetto, enum argument name, uint64_t value)
{
    packets_argument(&perfetto->packets.bytes, LAUNCH_ARGUMENTS, name, value & INT64_MAX);
}

static void write_communicator(struct perfetto *perfetto, const struct ranks_operation *operation)
{
    char hash[24];

    if (!operation->hash)
        return;
    snprintf(hash, sizeof hash, "%016" PRIx64, operation->hash);
    packets_argument_text(&perfetto->packets, LAUNCH_ARGUMENTS, ARGUMENT_COMMUNICATOR, hash);
    if (operation->ranks)
        put(perfetto, ARGUMENT_RANKS, operation->ranks);
    if (operation->rank != RANKS_NONE)
        put(perfetto, ARGUMENT_RANK, operation->rank);
}

void collectives_write(struct perfetto *perfetto, const struct export_row *row)
{
    const struct ranks_operations *operations = perfetto->process.operations;
    struct ranks_operation sum;
    size_t first, count = ranks_operations_find(operations, row->correlation, row->graph,
                                                row->graph_node, &first);

    if (count > 1)
        put(perfetto, ARGUMENT_OPERATIONS, count);
    if (!ranks_operations_sum(operations, first, count, &sum))
        return;
    packets_argument_text(&perfetto->packets, LAUNCH_ARGUMENTS, ARGUMENT_COLLECTIVE, sum.function);
    write_communicator(perfetto, &sum);
    put(perfetto, ARGUMENT_NUMBER, sum.sequence ? sum.sequence : sum.number);
    if (sum.bytes)
        put(perfetto, ARGUMENT_BYTES, sum.bytes);
    if (sum.peer != RANKS_NONE)
        put(perfetto, ARGUMENT_PEER, sum.peer);
}
