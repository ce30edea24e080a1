/* The pass over definitions that rows of an export do not carry. */
#include "export/kineto/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"
#include "profile/definitions.h"
#include "profile/reading.h"

#include "base/poison.h"

#define CELL(table, column) (batch->columns[MP_COLUMN_##table##_##column][row])
#define ALL_COLUMNS         UINT32_MAX

static const char *const wanted[] = {"device", "stream", "context_info", "stream_info", "function"};

static void select_tables(struct mp_cursor *cursor, void *context)
{
    (void)context;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        mp_cursor_select(cursor, mp_table_by_name(wanted[i]), ALL_COLUMNS);
}

static enum mp_status take_device(struct kineto_facts *facts, const struct mp_batch *batch,
                                  uint32_t row)
{
    struct mp_row_device *device;

    if (kineto_facts_device(facts, CELL(device, id)))
        return MP_OK;
    MP_TRY(mp_reserve((void **)&facts->devices, facts->device_count, &facts->device_capacity,
                      sizeof *facts->devices));
    device = &facts->devices[facts->device_count++];
#define TAKE_CELL(table, id, name, type, unit, codec, doc) .name = CELL(table, name),
    *device = (struct mp_row_device){MP_COLUMNS_device(TAKE_CELL)};
#undef TAKE_CELL
    return MP_OK;
}

static uint64_t priority_key(uint64_t context, uint64_t stream)
{
    return context << 32 ^ stream;
}

static enum mp_status take_function(struct kineto_facts *facts, const struct mp_batch *batch,
                                    uint32_t row)
{
    enum mp_status status = dense_reach(&facts->functions, CELL(function, id));

    if (status == MP_OK)
        *(struct kineto_function *)dense_at(&facts->functions, CELL(function, id)) =
            (struct kineto_function){.cbid = (uint32_t)CELL(function, cbid),
                                     .driver = CELL(function, api) == MP_api_driver};
    return status == MP_ERR_LIMIT ? MP_OK : status;
}

static enum mp_status take_row(struct kineto_facts *facts, const struct mp_batch *batch,
                               uint32_t row)
{
    switch (batch->table->id) {
    case MP_TABLE_device:
        return take_device(facts, batch, row);
    case MP_TABLE_stream:
        return mp_map_put(&facts->contexts, CELL(stream, context),
                          (uint32_t)CELL(stream, device) & INT32_MAX);
    case MP_TABLE_context_info:
        return mp_map_put(&facts->contexts, CELL(context_info, context),
                          (uint32_t)CELL(context_info, device) & INT32_MAX);
    case MP_TABLE_stream_info:
        return mp_map_put(
            &facts->priorities, priority_key(CELL(stream_info, context), CELL(stream_info, stream)),
            (uint32_t)(CELL(stream_info, priority) + KINETO_PRIORITY_ZERO) & INT32_MAX);
    default:
        return take_function(facts, batch, row);
    }
}

static enum mp_status take_batch(void *context, const struct mp_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++)
        MP_TRY(take_row(context, batch, row));
    return MP_OK;
}

enum mp_status kineto_facts_load(struct kineto_facts *facts, struct mp_trace *trace,
                                 struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the definitions",
        .context = facts,
        .select = select_tables,
        .take = take_batch,
    };

    dense_init(&facts->functions, sizeof(struct kineto_function), definitions_limit(trace));
    return reading_run(&reading, error);
}

void kineto_facts_free(struct kineto_facts *facts)
{
    free(facts->devices);
    mp_map_free(&facts->contexts);
    mp_map_free(&facts->priorities);
    dense_free(&facts->functions);
}

const struct mp_row_device *kineto_facts_device(const struct kineto_facts *facts, uint64_t ordinal)
{
    for (size_t i = 0; i < facts->device_count; i++) {
        if (facts->devices[i].id == ordinal)
            return &facts->devices[i];
    }
    return NULL;
}

uint64_t kineto_facts_device_of(const struct kineto_facts *facts, uint64_t context)
{
    uint32_t device = mp_map_get(&facts->contexts, context);

    return device == MP_MAP_ABSENT ? 0 : device;
}

bool kineto_facts_priority(const struct kineto_facts *facts, uint64_t context, uint64_t stream,
                           int64_t *priority)
{
    uint32_t found = mp_map_get(&facts->priorities, priority_key(context, stream));

    if (found == MP_MAP_ABSENT)
        return false;
    *priority = (int64_t)found - KINETO_PRIORITY_ZERO;
    return true;
}
