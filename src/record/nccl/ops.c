/* What is known of NCCL's communicators and operations, as it comes together, and the rows of both.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "record/names/capture.h"
#include "record/names/dictionary.h"
#include "record/nccl/collectives.h"

#include "base/poison.h"

/* ---- Communicators ----
 *
 * They are known by NCCL's hash, and by the plugin's number, which also tells ranks of one process
 * apart. What becomes known later is defined again under the same number.
 */

#define NO_FIELD UINT8_MAX

/* ---- Rows ---- */

static void append_communicator(struct collectives *collectives, const struct comm_fact *fact)
{
    struct dictionary *dictionary = collectives->dictionary;
    const struct nccl_comm *plugin = nccl_comm_get(fact->plugin);

    mp_append_communicator(dictionary->writer,
                           &(struct mp_row_communicator){
                               .id = fact->id,
                               .hash = fact->hash,
                               .name = dictionary_string(dictionary, plugin ? plugin->name : NULL),
                               .ranks = fact->ranks,
                               .rank = fact->rank,
                               .device = fact->device,
                               .parent = fact->parent,
                           });
}

uint32_t comms_define(struct collectives *collectives, uint32_t comm)
{
    struct comm_fact *fact = comm ? &collectives->comms[comm - 1] : NULL;

    if (!fact)
        return 0;
    if (!fact->id) {
        fact->id = ++collectives->comm_ids;
        append_communicator(collectives, fact);
    }
    return fact->id;
}

/* ---- Finding them ---- */

static uint32_t comm_new(struct collectives *collectives, uint64_t hash)
{
    if (!collectives->comms)
        collectives->comms = calloc(COMMS_MAX, sizeof(collectives->comms[0]));
    if (!collectives->comms || collectives->comm_count == COMMS_MAX) {
        collectives->lost++;
        return 0;
    }
    collectives->comms[collectives->comm_count++] =
        (struct comm_fact){.hash = hash, .rank = NCCL_UNKNOWN, .device = NCCL_UNKNOWN};
    if (mp_map_get(&collectives->by_hash, hash) == MP_MAP_ABSENT)
        mp_map_put(&collectives->by_hash, hash, collectives->comm_count - 1);
    return collectives->comm_count;
}

uint32_t comms_by_hash(struct collectives *collectives, uint64_t hash)
{
    uint32_t at = mp_map_get(&collectives->by_hash, hash);

    return at != MP_MAP_ABSENT ? at + 1 : comm_new(collectives, hash);
}

uint32_t comms_by_plugin(struct collectives *collectives, uint32_t number)
{
    const struct nccl_comm *comm = nccl_comm_get(number);
    uint32_t at = mp_map_get(&collectives->by_plugin, number);

    if (at != MP_MAP_ABSENT)
        return at + 1;
    if (!comm)
        return 0;
    at = comms_by_hash(collectives, comm->hash);
    if (at && collectives->comms[at - 1].plugin) /* another rank of this process */
        at = comm_new(collectives, comm->hash);
    if (!at || mp_map_put(&collectives->by_plugin, number, at - 1) != MP_OK)
        return 0;
    struct comm_fact *fact = &collectives->comms[at - 1];
    fact->plugin = number;
    fact->ranks = comm->ranks;
    fact->rank = comm->rank;
    if (comm->device != NCCL_UNKNOWN)
        fact->device = comm->device;
    if (fact->id)
        append_communicator(collectives, fact);
    return at;
}

/* ---- Payloads ---- */

const struct comm_layout *comms_layout(struct collectives *collectives,
                                       const struct mp_nvtx_schema *schema)
{
    static const char *const names[] = {"NCCL communicator ID",
                                        "Message size [bytes]",
                                        "Reduction operation",
                                        "Root",
                                        "Peer rank",
                                        "No. of ranks",
                                        "Rank",
                                        "CUDA device",
                                        "Parent NCCL communicator ID"};

    for (uint32_t i = 0; i < collectives->layout_count; i++)
        if (collectives->layouts[i].schema == schema)
            return &collectives->layouts[i];
    if (collectives->layout_count == COMM_LAYOUTS)
        return NULL;
    struct comm_layout *layout = &collectives->layouts[collectives->layout_count++];
    layout->schema = schema;
    uint8_t *fields = &layout->comm;
    for (uint32_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        fields[n] = NO_FIELD;
        for (uint32_t i = 0; i < schema->field_count; i++)
            if (strcmp(schema->fields[i].name, names[n]) == 0)
                fields[n] = (uint8_t)i;
    }
    return layout;
}
_Static_assert(offsetof(struct comm_layout, parent) == offsetof(struct comm_layout, comm) + 8,
               "comms_layout fills them in this order");

/* Puts the number into *to, if the payload has one and it differs. True if it did. */
static bool learn(const struct mp_nvtx_payload *payload, uint8_t field, uint32_t *to)
{
    const char *text;
    uint64_t bits;

    if (field == NO_FIELD || !mp_nvtx_payload_value(payload, field, &bits, &text) || text ||
        *to == (uint32_t)bits)
        return false;
    *to = (uint32_t)bits;
    return true;
}

uint32_t comms_learn(struct collectives *collectives, const struct comm_layout *layout,
                     const struct mp_nvtx_payload *payload)
{
    const char *text;
    uint64_t hash;
    bool changed = false;

    if (layout->comm == NO_FIELD || !mp_nvtx_payload_value(payload, layout->comm, &hash, &text) ||
        text || !hash)
        return 0;
    uint32_t comm = comms_by_hash(collectives, hash);
    if (!comm)
        return 0;
    struct comm_fact *fact = &collectives->comms[comm - 1];
    if (!fact->plugin) { /* else the plugin has reported it, for each rank */
        changed = learn(payload, layout->ranks, &fact->ranks);
        changed |= learn(payload, layout->rank, &fact->rank);
        changed |= learn(payload, layout->device, &fact->device);
    }
    if (layout->parent != NO_FIELD && !fact->parent)
        changed |= mp_nvtx_payload_value(payload, layout->parent, &fact->parent, &text);
    if (changed && fact->id)
        append_communicator(collectives, fact);
    return comm;
}

/* ---- Pending operations ---- */

void collectives_close(struct collectives *collectives)
{
    free(collectives->ops);
    free(collectives->threads);
    free(collectives->comms);
    free(collectives->counters);
    mp_map_free(&collectives->thread_index);
    mp_map_free(&collectives->by_api);
    mp_map_free(&collectives->origins);
    mp_map_free(&collectives->by_hash);
    mp_map_free(&collectives->by_plugin);
    mp_intern_free(&collectives->counter_keys);
    memset(collectives, 0, sizeof(*collectives));
}

struct op_thread *ops_thread(struct collectives *collectives, uint32_t tid)
{
    uint32_t at = mp_map_get(&collectives->thread_index, tid);

    if (at != MP_MAP_ABSENT)
        return &collectives->threads[at];
    if (!collectives->threads)
        collectives->threads = calloc(OPS_THREADS, sizeof(collectives->threads[0]));
    for (at = 0; collectives->threads && at < OPS_THREADS && collectives->threads[at].tid; at++)
        continue;
    if (!collectives->threads || at == OPS_THREADS ||
        mp_map_put(&collectives->thread_index, tid, at) != MP_OK) {
        collectives->lost++;
        return NULL;
    }
    collectives->threads[at] = (struct op_thread){.tid = tid};
    return &collectives->threads[at];
}

struct op *ops_get(struct collectives *collectives, uint32_t number)
{
    return number ? &collectives->ops[number - 1] : NULL;
}

static bool ops_is_p2p(const struct op *op)
{
    return strcmp(op->function, "Send") == 0 || strcmp(op->function, "Recv") == 0;
}

bool ops_has_root(const struct op *op)
{
    static const char *const functions[] = {"Broadcast", "Reduce", "Gather", "Scatter"};

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(op->function, functions[i]) == 0)
            return true;
    return false;
}

/* ---- Numbers ---- */

struct counter_key {
    uint32_t comm;
    uint32_t kind; /* 0 collectives, 1 sends, 2 receives */
    uint32_t peer;
};
_Static_assert(sizeof(struct counter_key) == 12, "no padding: compared as bytes");

/* The next number; 0 without room. */
static uint64_t count_up(struct collectives *collectives, const struct counter_key *key)
{
    uint32_t id = mp_intern_find(&collectives->counter_keys, key, sizeof(*key));

    if (!id && collectives->counter_keys.count < OPS_ORIGINS)
        id = mp_intern_add(&collectives->counter_keys, key, sizeof(*key));
    if (!id || (id > collectives->counter_capacity &&
                !mp_double(&collectives->counters, &collectives->counter_capacity,
                           sizeof(*collectives->counters))))
        return 0;
    return ++collectives->counters[id - 1];
}

void ops_number(struct collectives *collectives, struct op *op)
{
    struct counter_key key = {.comm = op->comm};

    if (op->number || !op->comm)
        return;
    if (ops_is_p2p(op)) {
        if (op->peer == NCCL_UNKNOWN)
            return;
        key.kind = op->function[0] == 'S' ? 1 : 2;
        key.peer = op->peer;
    }
    op->number = count_up(collectives, &key);
}

/* ---- Rows ---- */

static uint64_t source_of(const struct op *op)
{
    if (op->by_plugin)
        return MP_collective_source_plugin;
    return op->described ? MP_collective_source_nvtx : MP_collective_source_name;
}

static void append(struct collectives *collectives, const struct op *op)
{
    struct dictionary *dictionary = collectives->dictionary;

    mp_append_collective(dictionary->writer,
                         &(struct mp_row_collective){
                             .thread = dictionary_thread(dictionary, op->tid),
                             .function = dictionary_string(dictionary, op->function),
                             .communicator = comms_define(collectives, op->comm),
                             .source = source_of(op),
                             .number = op->number,
                             .sequence = op->sequence,
                             .operation = dictionary_string(dictionary, op->operation),
                             .datatype = dictionary_string(dictionary, op->datatype),
                             .bytes = op->bytes,
                             .peer = op->peer,
                             .algorithm = dictionary_string(dictionary, op->algorithm),
                             .protocol = dictionary_string(dictionary, op->protocol),
                             .channels = op->channels,
                             .captured = op->captured,
                             .carrier = op->carrier,
                             .start = op->start,
                             .duration = op->end ? op->end - op->start : 0,
                             .correlation = op->correlation,
                         });
}

static void leave_thread(struct collectives *collectives, struct op_thread *thread, uint32_t number)
{
    uint32_t before = OP_NONE;
    uint32_t at = thread->first;

    while (at && at != number) {
        before = at;
        at = ops_get(collectives, at)->next;
    }
    if (!at)
        return;
    if (before)
        ops_get(collectives, before)->next = ops_get(collectives, at)->next;
    else
        thread->first = ops_get(collectives, at)->next;
    if (thread->last == number)
        thread->last = before;
}

static void write_and_forget(struct collectives *collectives, struct op_thread *thread,
                             uint32_t number)
{
    struct op *op = ops_get(collectives, number);

    ops_number(collectives, op);
    if (!collectives->capture || capture_keeps_time(collectives->capture, op->start))
        append(collectives, op);
    leave_thread(collectives, thread, number);
    if (op->api)
        mp_map_remove(&collectives->by_api, op->api);
    *op = (struct op){.next = collectives->free};
    collectives->free = number;
}

/* Writes an operation of the thread of which more may come: the oldest one whose call is over. NCCL
 * does not carry calls of no elements, and notes may be lost. */
static void evict(struct collectives *collectives, struct op_thread *thread)
{
    uint32_t at = thread->first;

    while (at && ops_get(collectives, at)->open)
        at = ops_get(collectives, at)->next;
    if (at)
        write_and_forget(collectives, thread, at);
}

uint32_t ops_new(struct collectives *collectives, struct op_thread *thread, uint64_t time)
{
    if (!collectives->ops)
        collectives->ops = calloc(OPS_MAX, sizeof(collectives->ops[0]));
    if (collectives->ops && !collectives->free && collectives->fresh == OPS_MAX)
        evict(collectives, thread);
    uint32_t number = collectives->free;
    if (!collectives->ops || (!number && collectives->fresh == OPS_MAX)) {
        collectives->lost++;
        return OP_NONE;
    }
    if (number)
        collectives->free = ops_get(collectives, number)->next;
    else
        number = ++collectives->fresh;
    *ops_get(collectives, number) =
        (struct op){.tid = thread->tid, .start = time, .used = true, .peer = NCCL_UNKNOWN};
    if (thread->last)
        ops_get(collectives, thread->last)->next = number;
    else
        thread->first = number;
    thread->last = number;
    return number;
}

/* While the range is open, its end is to come. After the plugin has reported the call, it reports
 * the launch and what that carries, in any order, unless a capture turns the launch into a node. */
static bool is_complete(const struct op_thread *thread, const struct op *op)
{
    if (op->open)
        return false;
    if (!op->api)
        return !op->by_range || !thread->groups;
    if (op->captured)
        return op->carried || !thread->group;
    return op->carried && (op->carrier || !thread->group);
}

void ops_finish(struct collectives *collectives, struct op_thread *thread, uint32_t number)
{
    const struct op *op = ops_get(collectives, number);

    if (op && op->used && is_complete(thread, op))
        write_and_forget(collectives, thread, number);
}

/* The launch of the group that carries what was enqueued in this communicator; NULL: not exactly
 * one. */
static const struct op_launch *launch_of(const struct collectives *collectives,
                                         const struct op_thread *thread, const struct op *op)
{
    const struct op_launch *found = NULL;

    if (!op->comm || thread->launch_count > OPS_LAUNCHES)
        return NULL;
    for (uint32_t i = 0; i < thread->launch_count; i++) {
        if (thread->launches[i].comm != collectives->comms[op->comm - 1].plugin)
            continue;
        if (found)
            return NULL;
        found = &thread->launches[i];
    }
    return found;
}

void ops_finish_group(struct collectives *collectives, struct op_thread *thread, uint64_t group)
{
    uint32_t next;

    for (uint32_t at = thread->first; at; at = next) {
        struct op *op = ops_get(collectives, at);
        const struct op_launch *launch = NULL;

        next = op->next;
        if (group && op->group != group)
            continue;
        if (group && !op->carrier)
            launch = launch_of(collectives, thread, op);
        if (launch) {
            op->carrier = launch->carrier;
            op->correlation = op->captured ? 0 : launch->correlation;
        }
        ops_finish(collectives, thread, at);
    }
}

/* ---- From outside ---- */

void collectives_end_thread(struct collectives *collectives, uint32_t tid)
{
    uint32_t at = mp_map_get(&collectives->thread_index, tid);

    if (at == MP_MAP_ABSENT)
        return;
    while (collectives->threads[at].first)
        write_and_forget(collectives, &collectives->threads[at], collectives->threads[at].first);
    mp_map_remove(&collectives->thread_index, tid);
    collectives->threads[at].tid = 0;
}

void collectives_settle(struct collectives *collectives)
{
    for (uint32_t i = 0; collectives->threads && i < OPS_THREADS; i++)
        if (collectives->threads[i].tid)
            collectives_end_thread(collectives, collectives->threads[i].tid);
}

uint32_t collectives_carrier(const struct collectives *collectives, uint32_t origin)
{
    uint32_t carrier = mp_map_get(&collectives->origins, origin);

    return carrier == MP_MAP_ABSENT ? 0 : carrier;
}

void collectives_restart(struct collectives *collectives)
{
    for (uint32_t i = 0; i < collectives->comm_count; i++)
        collectives->comms[i].id = 0;
    collectives->comm_ids = 0;
}
