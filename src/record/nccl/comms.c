/* Communicators: by NCCL's hash, and by the plugin's number, which also tells ranks of one process
 * apart. What becomes known later is defined again under the same number.
 */
#include <stdlib.h>
#include <string.h>

#include "record/names/dictionary.h"
#include "record/nccl/collectives.h"

#include "base/poison.h"

#define NO_FIELD UINT8_MAX

/* ---- Rows ---- */

static void append(struct collectives *collectives, const struct comm_fact *fact)
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
        append(collectives, fact);
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
    struct comm_fact *fact;

    if (at != MP_MAP_ABSENT)
        return at + 1;
    if (!comm)
        return 0;
    at = comms_by_hash(collectives, comm->hash);
    if (at && collectives->comms[at - 1].plugin) /* another rank of this process */
        at = comm_new(collectives, comm->hash);
    if (!at || mp_map_put(&collectives->by_plugin, number, at - 1) != MP_OK)
        return 0;
    fact = &collectives->comms[at - 1];
    fact->plugin = number;
    fact->ranks = comm->ranks;
    fact->rank = comm->rank;
    if (comm->device != NCCL_UNKNOWN)
        fact->device = comm->device;
    if (fact->id)
        append(collectives, fact);
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
    struct comm_layout *layout;
    uint8_t *fields;

    for (uint32_t i = 0; i < collectives->layout_count; i++)
        if (collectives->layouts[i].schema == schema)
            return &collectives->layouts[i];
    if (collectives->layout_count == COMM_LAYOUTS)
        return NULL;
    layout = &collectives->layouts[collectives->layout_count++];
    layout->schema = schema;
    fields = &layout->comm;
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
    struct comm_fact *fact;
    const char *text;
    uint64_t hash;
    uint32_t comm;
    bool changed = false;

    if (layout->comm == NO_FIELD || !mp_nvtx_payload_value(payload, layout->comm, &hash, &text) ||
        text || !hash)
        return 0;
    comm = comms_by_hash(collectives, hash);
    if (!comm)
        return 0;
    fact = &collectives->comms[comm - 1];
    if (!fact->plugin) { /* else the plugin has told, of each rank */
        changed = learn(payload, layout->ranks, &fact->ranks);
        changed |= learn(payload, layout->rank, &fact->rank);
        changed |= learn(payload, layout->device, &fact->device);
    }
    if (layout->parent != NO_FIELD && !fact->parent)
        changed |= mp_nvtx_payload_value(payload, layout->parent, &fact->parent, &text);
    if (changed && fact->id)
        append(collectives, fact);
    return comm;
}
