/* What NCCL tells the profiler plugin. A call that has an NVTX range too is one operation: the
 * plugin is told of it inside of the range.
 */
#include <string.h>

#include "base/text/strings.h"
#include "record/nccl/collectives.h"

#include "base/poison.h"

/* NCCL's names of types, without "nccl", and their bytes. */
static const struct datatype {
    const char *name;
    uint32_t bytes;
} datatypes[] = {
    {"Int8", 1},    {"Uint8", 1},    {"Int32", 4},      {"Uint32", 4},
    {"Int64", 8},   {"Uint64", 8},   {"Float16", 2},    {"Float32", 4},
    {"Float64", 8}, {"Bfloat16", 2}, {"Float8e4m3", 1}, {"Float8e5m2", 1},
};

static const char *without_prefix(const char *name)
{
    return strncmp(name, "nccl", 4) == 0 ? name + 4 : name;
}

/* ---- Finding the operation ---- */

static bool is_free_for(const struct op *op, const char *function)
{
    return op->by_range && !op->by_plugin && strcmp(op->function, function) == 0;
}

/* The call's operation that NVTX has begun: that of the innermost range. */
static struct op *op_around(struct collectives *collectives, const struct op_thread *thread,
                            const char *function)
{
    struct op *op = NULL;

    if (thread->depth && thread->depth <= OPS_NESTED &&
        thread->ranges[thread->depth - 1] == OP_RANGE_CALL)
        op = ops_get(collectives, thread->range_ops[thread->depth - 1]);
    return op && is_free_for(op, function) ? op : NULL;
}

static uint64_t bytes_of(const struct nccl_note *note)
{
    const char *type = without_prefix(note->datatype);

    for (size_t i = 0; i < sizeof(datatypes) / sizeof(datatypes[0]); i++)
        if (strcmp(type, datatypes[i].name) == 0)
            return note->count * datatypes[i].bytes;
    return 0;
}

/* Version 4 tells of no calls: the oldest of the thread that is alike. NCCL changes the order of a
 * group's operations, but not of those alike. */
static struct op *op_alike(struct collectives *collectives, const struct op_thread *thread,
                           const struct nccl_note *note, const char *function)
{
    const uint32_t comm = comms_by_plugin(collectives, note->comm);
    const uint64_t bytes = bytes_of(note);

    for (uint32_t at = thread->first; at; at = ops_get(collectives, at)->next) {
        struct op *op = ops_get(collectives, at);

        if (is_free_for(op, function) && (!op->comm || op->comm == comm) &&
            (!op->told || op->bytes == bytes) &&
            (note->kind == NCCL_NOTE_COLL || op->peer == NCCL_UNKNOWN || op->peer == note->peer))
            return op;
    }
    return NULL;
}

static uint32_t number_of(const struct collectives *collectives, const struct op *op)
{
    return (uint32_t)(op - collectives->ops) + 1;
}

/* ---- The calls ---- */

static void begin_call(struct collectives *collectives, struct op_thread *thread,
                       const struct nccl_note *note, uint64_t time)
{
    const char *function = without_prefix(note->function);
    struct op *op = op_around(collectives, thread, function);

    if (!op)
        op = ops_get(collectives, ops_new(collectives, thread, time));
    if (!op || mp_map_put(&collectives->by_api, note->id, number_of(collectives, op)) != MP_OK)
        return;
    op->api = note->id;
    op->by_plugin = true;
    op->captured = note->captured;
    op->group = note->parent;
    op->bytes = op->told ? op->bytes : bytes_of(note);
    op->comm = comms_by_plugin(collectives, note->comm);
    mp_text_copy(op->function, sizeof(op->function), function);
    mp_text_copy(op->datatype, sizeof(op->datatype), without_prefix(note->datatype));
    ops_number(collectives, op);
}

static struct op *op_of(struct collectives *collectives, uint64_t api)
{
    uint32_t number = api ? mp_map_get(&collectives->by_api, api) : MP_MAP_ABSENT;

    return number == MP_MAP_ABSENT ? NULL : ops_get(collectives, number);
}

static void end_call(struct collectives *collectives, struct op_thread *thread,
                     const struct nccl_note *note, uint64_t time)
{
    struct op *op = op_of(collectives, note->id);

    if (!op || op->by_range)
        return;
    op->end = time;
    ops_finish(collectives, thread, number_of(collectives, op));
}

/* ---- The launches ---- */

static void begin_launch(struct collectives *collectives, struct op_thread *thread,
                         const struct nccl_note *note)
{
    struct op_launch *launch;

    thread->in_launch = true;
    thread->launch = ++collectives->carriers;
    thread->launch_comm = note->comm;
    thread->correlation = 0;
    if (thread->launch_count++ >= OPS_LAUNCHES)
        return;
    launch = &thread->launches[thread->launch_count - 1];
    *launch = (struct op_launch){.carrier = thread->launch, .comm = note->comm};
}

/* The first one: NCCL launches one kernel. */
static void take_correlation(struct op_thread *thread, const struct nccl_note *note)
{
    if (!thread->in_launch || thread->correlation)
        return;
    thread->correlation = note->id;
    if (thread->launch_count <= OPS_LAUNCHES)
        thread->launches[thread->launch_count - 1].correlation = note->id;
}

/* True: the thread is one of the driver, and NCCL's host function is told of what a kernel carries.
 * If NCCL needs its proxy thread, it enqueues that function before each kernel of a graph. While it
 * keeps graphs, it does so before other kernels too (seen with NCCL 2.28.9; src/enqueue.cc). */
static bool is_host_function(const struct collectives *collectives, const struct op_thread *thread,
                             const struct nccl_note *note)
{
    const struct nccl_comm *comm = nccl_comm_get(note->comm);
    enum op_range range = OP_RANGE_OTHER;

    if (thread->launch || thread->group)
        return false;
    if (thread->depth && thread->depth <= OPS_NESTED)
        range = (enum op_range)thread->ranges[thread->depth - 1];
    return range == OP_RANGE_OTHER && (collectives->domain || (comm && comm->version >= 5));
}

/* The thread's last launch carries it, if it was one of the same communicator. NCCL counts the root
 * of a collective without one as 0. A replay's operation is not pending: its graph tells of it. */
static void take_carried(struct collectives *collectives, struct op_thread *thread,
                         const struct nccl_note *note, uint64_t time)
{
    const char *function = without_prefix(note->function);
    struct op *op = op_of(collectives, note->parent);

    if (!op)
        op = op_alike(collectives, thread, note, function);
    if (!op && is_host_function(collectives, thread, note))
        return;
    if (!op) {
        op = ops_get(collectives, ops_new(collectives, thread, time));
        if (!op)
            return;
        op->bytes = bytes_of(note);
        mp_text_copy(op->function, sizeof(op->function), function);
    }
    op->by_plugin = true;
    op->carried = true;
    op->comm = comms_by_plugin(collectives, note->comm);
    op->sequence = note->sequence;
    op->channels = note->channels;
    if (!*op->datatype)
        mp_text_copy(op->datatype, sizeof(op->datatype), without_prefix(note->datatype));
    mp_text_copy(op->algorithm, sizeof(op->algorithm), note->algorithm);
    mp_text_copy(op->protocol, sizeof(op->protocol), note->protocol);
    if (op->peer == NCCL_UNKNOWN && (note->kind == NCCL_NOTE_P2P || ops_has_root(op)))
        op->peer = note->peer;
    if (thread->launch && thread->launch_comm == note->comm) {
        op->carrier = thread->launch;
        op->correlation = op->captured ? 0 : thread->correlation;
    }
    ops_finish(collectives, ops_thread(collectives, op->tid), number_of(collectives, op));
}

/* ---- All of them ---- */

static void end_group(struct collectives *collectives, struct op_thread *thread, uint64_t id)
{
    if (thread->group == id)
        thread->group = 0;
    ops_finish_group(collectives, thread, id);
    thread->launch_count = 0;
}

static void take_end(struct collectives *collectives, struct op_thread *thread,
                     const struct nccl_note *note, uint64_t time)
{
    switch (note->kind) {
    case NCCL_NOTE_GROUP_API:
        end_group(collectives, thread, note->id);
        break;
    case NCCL_NOTE_COLL_API:
    case NCCL_NOTE_P2P_API:
        end_call(collectives, thread, note, time);
        break;
    case NCCL_NOTE_LAUNCH:
        thread->in_launch = false;
        break;
    default:
        break;
    }
}

static void take_begin(struct collectives *collectives, struct op_thread *thread,
                       const struct nccl_note *note, uint64_t time)
{
    switch (note->kind) {
    case NCCL_NOTE_GROUP_API:
        thread->group = note->id;
        thread->launch_count = 0;
        break;
    case NCCL_NOTE_COLL_API:
    case NCCL_NOTE_P2P_API:
        begin_call(collectives, thread, note, time);
        break;
    case NCCL_NOTE_LAUNCH:
        begin_launch(collectives, thread, note);
        break;
    case NCCL_NOTE_CORRELATION:
        take_correlation(thread, note);
        break;
    case NCCL_NOTE_COLL:
    case NCCL_NOTE_P2P:
        take_carried(collectives, thread, note, time);
        break;
    default:
        break;
    }
}

void op_notes_take(struct collectives *collectives, const struct mp_nvtx_event *event)
{
    struct op_thread *thread = ops_thread(collectives, event->tid);
    struct nccl_note note = {.kind = 0};

    if (!thread || event->blob_bytes > sizeof(note))
        return;
    memcpy(&note, event->blob, event->blob_bytes);
    if (note.ends)
        take_end(collectives, thread, &note, event->time);
    else
        take_begin(collectives, thread, &note, event->time);
}
