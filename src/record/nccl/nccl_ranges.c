/* What NVTX tells of NCCL: its ranges, and what their payloads say. */
#include <string.h>

#include "base/text/strings.h"
#include "record/names/dictionary.h"
#include "record/nccl/collectives.h"

#include "base/poison.h"

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
        op->told = true;
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

void op_ranges_take(struct collectives *collectives, const struct mp_nvtx_event *event)
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
