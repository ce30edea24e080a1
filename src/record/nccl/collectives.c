/* NCCL's operations from two sources: NVTX ranges with their payloads, and the notes of the
 * profiler plugin.
 */
#include "record/nccl/collectives.h"

#include <string.h>

#include "base/text/strings.h"
#include "record/names/dictionary.h"

#include "base/poison.h"

/* ---- Ranges of NVTX, and what their payloads say ---- */

#define NO_FIELD UINT8_MAX

/* Functions that enqueue something; others do when their payload has a message size. */
static const char *const functions[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast",
                                        "Reduce",    "Send",      "Recv",          "AlltoAll",
                                        "Gather",    "Scatter",   "Bcast",         "PutSignal"};

static const char *without_prefix(const char *name)
{
    return strncmp(name, "nccl", 4) == 0 ? name + 4 : name;
}

static bool is_known(const char *function)
{
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(function, functions[i]) == 0)
            return true;
    return false;
}

static bool number_of(const struct mp_nvtx_payload *payload, uint8_t field, uint64_t *bits)
{
    const char *text;

    return field != NO_FIELD && mp_nvtx_payload_value(payload, field, bits, &text) && !text;
}

/* The name of an enumeration's value; NULL if it has none. */
static const char *name_of(const struct mp_nvtx_enum *enumeration, uint64_t value)
{
    const uint64_t mask =
        enumeration && enumeration->bytes < 8 ? (1ull << 8 * enumeration->bytes) - 1 : UINT64_MAX;

    for (uint32_t i = 0; enumeration && i < enumeration->count; i++)
        if ((enumeration->names[i].value & mask) == (value & mask))
            return enumeration->names[i].name;
    return NULL;
}

static void take_payload(struct collectives *collectives, struct op *op,
                         const struct comm_layout *layout, const struct mp_nvtx_payload *payload)
{
    const char *name = NULL;
    uint64_t bits;

    op->comm = comms_learn(collectives, layout, payload);
    if (number_of(payload, layout->bytes, &op->bytes))
        op->described = true;
    if (number_of(payload, layout->operation, &bits))
        name = name_of(payload->schema->fields[layout->operation].enumeration, bits);
    if (name)
        mp_text_copy(op->operation, sizeof(op->operation), name);
    if (number_of(payload, layout->root, &bits) || number_of(payload, layout->peer, &bits))
        op->peer = (uint32_t)bits;
}

static uint32_t begin_call(struct collectives *collectives, struct op_thread *thread,
                           const struct mp_nvtx_event *event, const struct comm_layout *layout,
                           const struct mp_nvtx_payload *payload)
{
    uint32_t number = ops_new(collectives, thread, event->time);
    struct op *op = ops_get(collectives, number);

    if (!op)
        return OP_NONE;
    op->open = true;
    op->by_range = true;
    mp_text_copy(op->function, sizeof(op->function), without_prefix(event->name));
    if (layout)
        take_payload(collectives, op, layout, payload);
    ops_number(collectives, op);
    return number;
}

static void push(struct collectives *collectives, struct op_thread *thread,
                 const struct mp_nvtx_event *event)
{
    const struct mp_nvtx_payload *payload = mp_nvtx_payload_next(event, NULL);
    const struct comm_layout *layout = payload ? comms_layout(collectives, payload->schema) : NULL;
    const char *function = without_prefix(event->name);
    enum op_range range = OP_RANGE_OTHER;
    uint32_t op = OP_NONE;

    if (strcmp(function, "GroupStart") == 0)
        range = OP_RANGE_GROUP_START;
    else if (strcmp(function, "GroupEnd") == 0)
        range = OP_RANGE_GROUP_END;
    else if ((layout && layout->bytes != NO_FIELD) || is_known(function))
        range = OP_RANGE_CALL;
    else if (layout)
        comms_learn(collectives, layout, payload);
    if (range == OP_RANGE_CALL && thread->depth < OPS_NESTED)
        op = begin_call(collectives, thread, event, layout, payload);
    if (thread->depth < OPS_NESTED) {
        thread->ranges[thread->depth] = (uint8_t)range;
        thread->range_ops[thread->depth] = op;
    }
    thread->depth++;
}

static void end_call(struct collectives *collectives, struct op_thread *thread, uint32_t number,
                     uint64_t time)
{
    struct op *op = ops_get(collectives, number);

    if (!op)
        return;
    op->open = false;
    op->end = time;
    ops_finish(collectives, thread, number);
}

static void pop(struct collectives *collectives, struct op_thread *thread,
                const struct mp_nvtx_event *event)
{
    const struct mp_nvtx_payload *payload = mp_nvtx_payload_next(event, NULL);
    const struct comm_layout *layout = payload ? comms_layout(collectives, payload->schema) : NULL;

    if (layout)
        comms_learn(collectives, layout, payload);
    if (!thread->depth || --thread->depth >= OPS_NESTED)
        return;
    switch ((enum op_range)thread->ranges[thread->depth]) {
    case OP_RANGE_GROUP_START:
        thread->groups++;
        break;
    case OP_RANGE_GROUP_END:
        thread->groups -= thread->groups > 0;
        if (!thread->groups)
            ops_finish_group(collectives, thread, 0);
        break;
    case OP_RANGE_CALL:
        end_call(collectives, thread, thread->range_ops[thread->depth], event->time);
        break;
    case OP_RANGE_OTHER:
    default:
        break;
    }
}

/* After a gap nothing is known of the ranges that were open. */
static void forget_ranges(struct collectives *collectives, struct op_thread *thread)
{
    for (uint32_t i = 0; i < thread->depth && i < OPS_NESTED; i++)
        if (thread->ranges[i] == OP_RANGE_CALL && thread->range_ops[i])
            ops_get(collectives, thread->range_ops[i])->open = false;
    thread->depth = 0;
    thread->groups = 0;
    thread->group = 0;
    thread->launch_count = 0;
    thread->in_launch = false;
    ops_finish_group(collectives, thread, 0);
}

/* A push, pop or mark of the domain NCCL. */
static void op_ranges_take(struct collectives *collectives, const struct mp_nvtx_event *event)
{
    struct op_thread *thread = ops_thread(collectives, event->tid);

    if (!thread)
        return;
    if (event->first)
        forget_ranges(collectives, thread);
    if (event->kind == MP_nvtx_kind_push)
        push(collectives, thread, event);
    else if (event->kind == MP_nvtx_kind_pop)
        pop(collectives, thread, event);
}

/* ---- Notes of the plugin ----
 *
 * What NCCL tells the profiler plugin. A call that has an NVTX range too is one operation: the
 * plugin learns of it inside of the range.
 */

/* NCCL's names of types, without "nccl", and their bytes. */
static const struct datatype {
    const char *name;
    uint32_t bytes;
} datatypes[] = {
    {"Int8", 1},    {"Uint8", 1},    {"Int32", 4},      {"Uint32", 4},
    {"Int64", 8},   {"Uint64", 8},   {"Float16", 2},    {"Float32", 4},
    {"Float64", 8}, {"Bfloat16", 2}, {"Float8e4m3", 1}, {"Float8e5m2", 1},
};

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
            (!op->described || op->bytes == bytes) &&
            (note->kind == NCCL_NOTE_COLL || op->peer == NCCL_UNKNOWN || op->peer == note->peer))
            return op;
    }
    return NULL;
}

static uint32_t op_number(const struct collectives *collectives, const struct op *op)
{
    return (uint32_t)(op - collectives->ops) + 1;
}

/* ---- The calls ---- */

static void begin_noted_call(struct collectives *collectives, struct op_thread *thread,
                             const struct nccl_note *note, uint64_t time)
{
    const char *function = without_prefix(note->function);
    struct op *op = op_around(collectives, thread, function);

    if (!op)
        op = ops_get(collectives, ops_new(collectives, thread, time));
    if (!op || mp_map_put(&collectives->by_api, note->id, op_number(collectives, op)) != MP_OK)
        return;
    op->api = note->id;
    op->by_plugin = true;
    op->captured = note->captured;
    op->group = note->parent;
    op->bytes = op->described ? op->bytes : bytes_of(note);
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

static void end_noted_call(struct collectives *collectives, struct op_thread *thread,
                           const struct nccl_note *note, uint64_t time)
{
    struct op *op = op_of(collectives, note->id);

    if (!op || op->by_range)
        return;
    op->end = time;
    ops_finish(collectives, thread, op_number(collectives, op));
}

/* ---- The launches ---- */

static void begin_launch(struct collectives *collectives, struct op_thread *thread,
                         const struct nccl_note *note)
{
    thread->in_launch = true;
    thread->launch = ++collectives->carriers;
    thread->launch_comm = note->comm;
    thread->correlation = 0;
    if (thread->launch_count++ >= OPS_LAUNCHES)
        return;
    struct op_launch *launch = &thread->launches[thread->launch_count - 1];
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

/* True: the thread is one of the driver, and NCCL's host function learns what a kernel carries.
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
    ops_finish(collectives, ops_thread(collectives, op->tid), op_number(collectives, op));
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
        end_noted_call(collectives, thread, note, time);
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
        begin_noted_call(collectives, thread, note, time);
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

static void op_notes_take(struct collectives *collectives, const struct mp_nvtx_event *event)
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

/* ---- Both ---- */

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
