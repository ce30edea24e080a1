/* The arguments of collectives, with torch.profiler's names: on the kernels, and on an event for
 * each call, which torch.profiler calls record_param_comms.
 *
 * What NCCL reported about the calls comes first. Where it reported nothing, the name of the kernel
 * is used, such as ncclDevKernel_AllReduce_Sum_bf16_RING_LL or (before NCCL 2.18)
 * ncclKernel_AllReduce_RING_LL_Sum_float: group, sizes and sequence number are not in a name. */
#include "export/kineto/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reports/ranks/ranks.h"

#include "base/poison.h"

#define HASH_BYTES 24
#define MAX_RANKS  30 /* of a group that are listed, as in torch.profiler */

struct word {
    const char *nccl;
    const char *torch; /* as torch.profiler has it */
    uint8_t bytes;     /* of a type: of an element */
};

static const struct word collectives[] = {
    {"AllReduce", "allreduce", 0},
    {"AllGather", "_allgather_base", 0},
    {"ReduceScatter", "_reduce_scatter_base", 0},
    {"Broadcast", "broadcast", 0},
    {"Reduce", "reduce", 0},
    {"AlltoAll", "all_to_all", 0},
    {"AllToAll", "all_to_all", 0},
    {"Gather", "gather", 0},
    {"Scatter", "scatter", 0},
    {"SendRecv", "send_recv", 0},
    {"Send", "send", 0},
    {"Recv", "recv", 0},
    {NULL, NULL, 0},
};

/* As kernels' names have them, and as calls do. */
static const struct word types[] = {
    {"f16", "Half", 2},
    {"half", "Half", 2},
    {"Float16", "Half", 2},
    {"bf16", "BFloat16", 2},
    {"Bfloat16", "BFloat16", 2},
    {"f32", "Float", 4},
    {"float", "Float", 4},
    {"Float32", "Float", 4},
    {"f64", "Double", 8},
    {"double", "Double", 8},
    {"Float64", "Double", 8},
    {"i8", "Char", 1},
    {"int8_t", "Char", 1},
    {"Int8", "Char", 1},
    {"u8", "Byte", 1},
    {"uint8_t", "Byte", 1},
    {"Uint8", "Byte", 1},
    {"i32", "Int", 4},
    {"int32_t", "Int", 4},
    {"Int32", "Int", 4},
    {"u32", "UInt32", 4},
    {"Uint32", "UInt32", 4},
    {"i64", "Long", 8},
    {"int64_t", "Long", 8},
    {"Int64", "Long", 8},
    {"u64", "UInt64", 8},
    {"Uint64", "UInt64", 8},
    {"f8e4m3", "Float8_e4m3fn", 1},
    {"Float8e4m3", "Float8_e4m3fn", 1},
    {"f8e5m2", "Float8_e5m2", 1},
    {"Float8e5m2", "Float8_e5m2", 1},
    {NULL, NULL, 0},
};

static const struct word *find(const struct word *words, const char *part, size_t bytes)
{
    for (; words->nccl; words++) {
        if (strlen(words->nccl) == bytes && !memcmp(words->nccl, part, bytes))
            return words;
    }
    return NULL;
}

static const struct word *find_text(const struct word *words, const char *text)
{
    return text ? find(words, text, strlen(text)) : NULL;
}

/* ---- By the name of a kernel ---- */

/* What a kernel's name says. */
struct named {
    const struct word *collective, *type; /* NULL: unknown */
};

/* The end of the part at `part`: parts are divided by `_`, and a type's `_t` belongs to it. */
static size_t part_bytes(const char *part)
{
    size_t bytes = strcspn(part, "_(<");

    if (part[bytes] == '_' && part[bytes + 1] == 't' && strcspn(part + bytes + 1, "_(<") == 1)
        bytes += 2;
    return bytes;
}

static struct named read_name(const char *name)
{
    const char *part = name && !strncmp(name, "nccl", 4) ? strchr(name, '_') : NULL;
    struct named named = {NULL, NULL};

    while (part && *part == '_') {
        size_t bytes = part_bytes(++part);

        named.collective = named.collective ? named.collective : find(collectives, part, bytes);
        named.type = named.type ? named.type : find(types, part, bytes);
        part += bytes;
    }
    return named;
}

static void write_named(struct events *events, const struct named *named)
{
    if (!named->collective)
        return;
    event_word(events, "Collective name", named->collective->torch);
    if (named->type)
        event_word(events, "dtype", named->type->torch);
}

/* ---- By its calls ---- */

static bool is_root(const struct ranks_operation *operation)
{
    return operation->rank != RANKS_NONE && operation->rank == operation->peer;
}

/* A rank hands in *in times the bytes that NCCL counts, and gets *out times as many. */
static void find_shares(const struct ranks_operation *operation, uint64_t *in, uint64_t *out)
{
    const char *function = operation->function;
    uint64_t all = operation->ranks ? operation->ranks : 1;

    *in = *out = 1;
    if (!strcmp(function, "AllGather") || (!strcmp(function, "Gather") && is_root(operation)))
        *out = all;
    else if (!strcmp(function, "ReduceScatter") ||
             (!strcmp(function, "Scatter") && is_root(operation)))
        *in = all;
    else if (!strcmp(function, "AlltoAll") || !strcmp(function, "AllToAll"))
        *in = *out = all;
}

static void write_sizes(struct events *events, const struct ranks_operation *operation,
                        const struct word *type)
{
    uint64_t bytes = operation->bytes, in, out;

    find_shares(operation, &in, &out);
    if (type && bytes) {
        event_number(events, "In msg nelems", bytes / type->bytes * in);
        event_number(events, "Out msg nelems", bytes / type->bytes * out);
    }
    if (operation->ranks)
        event_number(events, "Group size", operation->ranks);
    if (type)
        event_word(events, "dtype", type->torch);
    event_word(events, "In split size", "[]");
    event_word(events, "Out split size", "[]");
}

/* The communicator of which all ranks have a trace in this export; NULL: there is none. */
static const struct ranks_communicator *find_communicator(const struct ranks *ranks, uint64_t hash)
{
    for (size_t i = 0; ranks && i < ranks->communicator_count; i++) {
        const struct ranks_communicator *communicator = &ranks->communicators[i];

        if (communicator->hash == hash && !communicator->by_order)
            return communicator->member_count == communicator->ranks ? communicator : NULL;
    }
    return NULL;
}

/* The job's ranks in a group, by their rank in it: "[0, 2]", and "..." before the last of many. A
 * trace knows its own place only, the others' traces have theirs. */
static void write_ranks(struct events *events, const struct export_process *process, uint64_t hash)
{
    const struct ranks_communicator *communicator = find_communicator(process->ranks, hash);
    char text[MAX_RANKS * sizeof "18446744073709551615, " + sizeof "[..., ]"];
    size_t used = 1, count = communicator ? communicator->member_count : 0;

    text[0] = '[';
    for (size_t i = 0; i < count; i++) {
        const struct ranks_member *member =
            &process->ranks->members[communicator->first_member + i];

        if (count > MAX_RANKS && i == MAX_RANKS - 1)
            used += (size_t)snprintf(text + used, sizeof text - used, ", ...");
        if (count <= MAX_RANKS || i < MAX_RANKS - 1 || i == count - 1)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64, i ? ", " : "",
                                     kineto_rank(process->set, member->process));
    }
    snprintf(text + used, sizeof text - used, "]");
    if (count)
        event_word(events, "Process Group Ranks", text);
}

static void write_group(struct events *events, const struct export_process *process,
                        const struct ranks_operation *operation)
{
    char hash[HASH_BYTES];

    if (!operation->hash)
        return;
    snprintf(hash, sizeof hash, "%016" PRIx64, operation->hash);
    event_word(events, "Process Group Name", hash);
    if (operation->name)
        event_text(events, "Process Group Description", operation->name, strlen(operation->name));
    write_ranks(events, process, operation->hash);
    if (operation->rank != RANKS_NONE)
        event_number(events, "Rank", operation->rank);
}

static void write_pair(struct events *events, const struct ranks_operation *operation)
{
    bool sends = !strcmp(operation->function, "Send");

    if ((!sends && strcmp(operation->function, "Recv") != 0) || operation->peer == RANKS_NONE)
        return;
    if (operation->rank != RANKS_NONE)
        event_number(events, sends ? "Src Rank" : "Dst Rank", operation->rank);
    event_number(events, sends ? "Dst Rank" : "Src Rank", operation->peer);
}

static void write_operation(struct kineto *kineto, const struct ranks_operation *operation,
                            const struct named *named)
{
    struct events *events = &kineto->events;
    const struct word *collective = find_text(collectives, operation->function);
    const struct word *type = find_text(types, operation->datatype);

    if (!operation->function)
        return;
    if (collective)
        event_word(events, "Collective name", collective->torch);
    else
        event_text(events, "Collective name", operation->function, strlen(operation->function));
    write_sizes(events, operation, type ? type : named->type);
    write_group(events, kineto->process, operation);
    write_pair(events, operation);
    event_number(events, "Seq", operation->sequence ? operation->sequence : operation->number);
    if (operation->hash)
        event_number(events, "Comms Id", operation->hash);
}

void kineto_write_collective(struct kineto *kineto, const struct export_row *row)
{
    const struct named named = read_name(row->name.text);
    struct events *events = &kineto->events;
    struct ranks_operation sum;
    size_t first, count = ranks_operations_find(kineto->operations, row->correlation, row->graph,
                                                row->graph_node, &first);

    if (count && row->correlation)
        event_number(events, "External id", row->correlation);
    if (ranks_operations_sum(kineto->operations, first, count, &sum))
        write_operation(kineto, &sum, &named);
    else
        write_named(events, &named);
    if (count > 1)
        event_number(events, "operations", count);
}

/* ---- Calls ---- */

enum mp_status kineto_write_call_of_nccl(struct kineto *kineto, const struct export_row *row)
{
    static const struct named nothing;
    struct events *events = &kineto->events;
    const struct ranks_operation operation =
        ranks_operations_of(kineto->operations, row->columns, row->index);

    MP_TRY(kineto_introduce_thread(kineto, row->thread));
    event_begin(events, 'X', "cpu_op");
    event_literal_name(events, "record_param_comms");
    event_place(events, kineto->pid, row->thread ? (int64_t)row->thread->tid : 0);
    event_time(events, row->start);
    event_duration(events, row->duration);
    event_args(events);
    if (row->correlation)
        event_number(events, "External id", row->correlation);
    write_operation(kineto, &operation, &nothing);
    if (export_row_collective(row).captured)
        event_word(events, "captured", "in a graph");
    event_end(events);
    return events->text.status;
}
