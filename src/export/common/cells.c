/* Rows as named cells. Which keys a kind has is worked out once, from the table of the kind; rows
 * of one kind come together, so this is rare.
 */
#include "export/common/cells.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace/codec/schema.h"

#include "base/poison.h"

#define NO_DEVICE 0xffffffffu /* as in the trace: no device, no stream */

/* ---- Keys ---- */

#define ALL    ((1u << EXPORT_KINDS) - 1)
#define KERNEL (1u << EXPORT_KERNEL)
#define RANGE  (1u << EXPORT_RANGE)
#define NVTX   (RANGE | 1u << EXPORT_MARK)
#define NODES  (KERNEL | 1u << EXPORT_COPY | 1u << EXPORT_SET | 1u << EXPORT_HOST_FUNCTION)
#define GRAPH  (1u << EXPORT_GRAPH)
#define WORK   (NODES | GRAPH | 1u << EXPORT_METRIC)
#define MOMENT (1u << EXPORT_MARK | 1u << EXPORT_MEMORY | 1u << EXPORT_POOL | 1u << EXPORT_METRIC)
#define HOST                                                                                       \
    (NVTX | 1u << EXPORT_CALL | 1u << EXPORT_SYNC | 1u << EXPORT_WAIT | 1u << EXPORT_OVERHEAD |    \
     1u << EXPORT_HOST_FUNCTION | 1u << EXPORT_COLLECTIVE)
#define UNRELATED (NVTX | 1u << EXPORT_WAIT | 1u << EXPORT_UNIFIED)
#define ACTIVE    (NODES | GRAPH | 1u << EXPORT_CALL | 1u << EXPORT_WAIT)

enum fixed {
    KIND,
    PROCESS,
    START,
    DURATION,
    NAME,
    RAW_NAME,
    DOMAIN,
    DEVICE,
    CONTEXT,
    STREAM,
    THREAD,
    THREAD_NAME,
    CORRELATION,
    GRAPH_ID,
    GRAPH_NODE,
    CAPTURE_RANGE,
    ITERATION,
    CRITICAL,
    DEPTH,
    PUSHED,
    OPEN,
    CUT,
    GRID_X,
    GRID_Y,
    GRID_Z,
    BLOCK_X,
    BLOCK_Y,
    BLOCK_Z,
    CLUSTER_X,
    CLUSTER_Y,
    CLUSTER_Z,
    REGISTERS,
    STATIC_SHARED,
    DYNAMIC_SHARED,
    CONFIGURED_SHARED,
    LOCAL_MEMORY,
    FIXED
};

static const struct {
    const char *key;
    unsigned kinds;
} fixed[FIXED] = {
    [KIND] = {"kind", ALL},
    [PROCESS] = {"process", ALL},
    [START] = {"start_ns", ALL},
    [DURATION] = {"dur_ns", ALL & ~MOMENT},
    [NAME] = {"name", ALL},
    [RAW_NAME] = {"raw_name", KERNEL | 1u << EXPORT_CALL},
    [DOMAIN] = {"domain", NVTX},
    [DEVICE] = {"device", WORK},
    [CONTEXT] = {"context", WORK},
    [STREAM] = {"stream", WORK},
    [THREAD] = {"thread", HOST},
    [THREAD_NAME] = {"thread_name", HOST},
    [CORRELATION] = {"correlation", ALL & ~UNRELATED},
    [GRAPH_ID] = {"graph", NODES | GRAPH},
    [GRAPH_NODE] = {"graph_node", NODES},
    [CAPTURE_RANGE] = {"capture_range", ALL},
    [ITERATION] = {"iteration", ALL},
    [CRITICAL] = {"critical_ns", ACTIVE},
    [DEPTH] = {"depth", RANGE},
    [PUSHED] = {"pushed", RANGE},
    [OPEN] = {"open", RANGE},
    [CUT] = {"cut", RANGE},
    [GRID_X] = {"grid_x", KERNEL},
    [GRID_Y] = {"grid_y", KERNEL},
    [GRID_Z] = {"grid_z", KERNEL},
    [BLOCK_X] = {"block_x", KERNEL},
    [BLOCK_Y] = {"block_y", KERNEL},
    [BLOCK_Z] = {"block_z", KERNEL},
    [CLUSTER_X] = {"cluster_x", KERNEL},
    [CLUSTER_Y] = {"cluster_y", KERNEL},
    [CLUSTER_Z] = {"cluster_z", KERNEL},
    [REGISTERS] = {"registers", KERNEL},
    [STATIC_SHARED] = {"static_shared_bytes", KERNEL},
    [DYNAMIC_SHARED] = {"dynamic_shared_bytes", KERNEL},
    [CONFIGURED_SHARED] = {"configured_shared_bytes", KERNEL},
    [LOCAL_MEMORY] = {"local_memory_bytes", KERNEL},
};

static const struct mp_table_info *table_of(enum export_kind kind)
{
    if (kind == EXPORT_RANGE || kind == EXPORT_MARK)
        return mp_table_by_id(MP_TABLE_nvtx);
    if (kind == EXPORT_METRIC)
        return mp_table_by_id(MP_TABLE_metric_value);
    return mp_table_by_name(export_kind_key(kind));
}

/* Whether a fixed cell says what the column says. */
static bool is_told(const struct mp_table_info *table, const struct mp_column_info *column)
{
    static const char *const told[] = {"start",  "time",        "duration", "name", "domain",
                                       "thread", "correlation", "shape",    "node", "function",
                                       "graph",  "metric",      "cut"};
    bool reference = column->type == MP_TYPE_REF && !strcmp(column->reference, "stream");

    if (reference || (table->id == MP_TABLE_nvtx && !strcmp(column->name, "kind")))
        return true;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        if (!strcmp(column->name, told[i]))
            return true;
    }
    return false;
}

/* `kind` of `copy` is `copy_kind`, `woken` is `woken_ns`, `pool_size` is `pool_size_bytes`. */
static void make_key(const struct mp_table_info *table, const struct mp_column_info *column,
                     char key[EXPORT_CELL_BYTES])
{
    bool prefix = !strcmp(column->name, "kind") || !strcmp(column->name, "range");
    const char *unit = "";

    if (column->unit == MP_UNIT_NS)
        unit = "_ns";
    if (column->unit == MP_UNIT_BYTES && !strstr(column->name, "bytes"))
        unit = "_bytes";
    snprintf(key, EXPORT_CELL_BYTES, "%s%s%s%s", prefix ? table->name : "", prefix ? "_" : "",
             column->name, unit);
}

static void add(struct export_cells *cells, const char *key)
{
    cells->items[cells->count++] = (struct export_cell){.key = key};
}

void export_cells_of(struct export_cells *cells, enum export_kind kind)
{
    const struct mp_table_info *table = table_of(kind);
    size_t made = 0;

    memset(cells, 0, sizeof *cells);
    cells->table = table;
    cells->kind = kind;
    for (size_t i = 0; i < FIXED; i++) {
        if (fixed[i].kinds >> kind & 1)
            add(cells, fixed[i].key);
    }
    cells->fixed = cells->count;
    for (size_t i = 0; i < table->column_count; i++) {
        if (is_told(table, &table->columns[i]))
            continue;
        make_key(table, &table->columns[i], cells->keys[made]);
        cells->columns[cells->count] = (uint8_t)i;
        add(cells, cells->keys[made++]);
    }
}

const struct export_cell *export_cells_find(const struct export_cells *cells, const char *key)
{
    for (size_t i = 0; i < cells->count; i++) {
        if (!strcmp(cells->items[i].key, key))
            return &cells->items[i];
    }
    return NULL;
}

/* ---- Values ---- */

static void put_number(struct export_cell *cell, bool known, uint64_t number)
{
    cell->type = known ? EXPORT_CELL_NUMBER : EXPORT_CELL_NONE;
    cell->number = number;
}

static void put_bool(struct export_cell *cell, bool value)
{
    cell->type = EXPORT_CELL_BOOL;
    cell->number = value;
}

static void put_text(struct export_cell *cell, const char *text, size_t bytes)
{
    cell->type = text ? EXPORT_CELL_TEXT : EXPORT_CELL_NONE;
    cell->text = text;
    cell->bytes = bytes;
}

static void put_words(struct export_cell *cell, const char *text)
{
    put_text(cell, text, text ? strlen(text) : 0);
}

static void put_hex(struct export_cell *cell, uint64_t value)
{
    int bytes = snprintf(cell->buffer, sizeof cell->buffer, "0x%" PRIx64, value);

    cell->type = value ? EXPORT_CELL_TEXT : EXPORT_CELL_NONE;
    cell->text = cell->buffer;
    cell->bytes = (size_t)bytes;
}

static void fill_shape(struct export_cell *cell, enum fixed what, const struct launch_shape *shape)
{
    const uint32_t numbers[] = {
        shape->grid[0],           shape->grid[1],     shape->grid[2],       shape->block[0],
        shape->block[1],          shape->block[2],    shape->cluster[0],    shape->cluster[1],
        shape->cluster[2],        shape->registers,   shape->static_shared, shape->dynamic_shared,
        shape->configured_shared, shape->local_memory};

    put_number(cell, true, numbers[what - GRID_X]);
}

static void fill_row(struct export_cell *cell, enum fixed what,
                     const struct export_process *process, const struct export_row *row)
{
    if (what == KIND)
        put_words(cell, export_kind_key(row->kind));
    else if (what == PROCESS)
        put_words(cell, process->who->label);
    else if (what == START)
        put_number(cell, true, row->start + process->who->offset);
    else if (what == DURATION)
        put_number(cell, true, row->duration);
    else if (what == NAME)
        put_text(cell, row->name.text, row->name.bytes);
    else if (what == RAW_NAME)
        put_text(cell, row->raw_name.text, row->raw_name.bytes);
    else
        put_text(cell, row->domain.text, row->domain.bytes);
}

static void fill_place(struct export_cell *cell, enum fixed what, const struct export_place *place)
{
    put_number(cell, true,
               what == DEVICE    ? place->device
               : what == CONTEXT ? place->context
                                 : place->stream);
}

static void fill_thread(struct export_cell *cell, enum fixed what,
                        const struct export_thread *thread)
{
    if (what == THREAD)
        put_number(cell, true, thread->tid);
    else
        put_text(cell, thread->name.text, thread->name.bytes);
}

/* What relates the row to others; 0 is none. */
static void fill_relation(struct export_cell *cell, enum fixed what, const struct export_row *row)
{
    uint64_t number = what == CORRELATION     ? row->correlation
                      : what == GRAPH_ID      ? row->graph
                      : what == CAPTURE_RANGE ? row->capture_range
                                              : row->iteration;

    if (what == GRAPH_NODE)
        put_hex(cell, row->graph_node);
    else
        put_number(cell, number, number);
}

static void fill_critical(struct export_cell *cell, const struct export_analyses *analyses,
                          const struct export_row *row)
{
    if (analyses->known && row->activity != DEPS_NONE)
        put_number(cell, true, analyses->critical[row->activity]);
}

static void fill_range(struct export_cell *cell, enum fixed what, const struct export_row *row)
{
    if (what == DEPTH)
        put_number(cell, row->pushed, row->depth);
    else
        put_bool(cell, what == PUSHED ? row->pushed : what == OPEN ? row->open : row->cut);
}

/* A cell stays NONE where the row does not know. */
static void fill_fixed(struct export_cell *cell, enum fixed what,
                       const struct export_process *process, const struct export_row *row)
{
    if (what <= DOMAIN)
        fill_row(cell, what, process, row);
    else if (what <= STREAM && row->place)
        fill_place(cell, what, row->place);
    else if ((what == THREAD || what == THREAD_NAME) && row->thread)
        fill_thread(cell, what, row->thread);
    else if (what >= CORRELATION && what <= ITERATION)
        fill_relation(cell, what, row);
    else if (what == CRITICAL)
        fill_critical(cell, export_rows_analyses(process->rows), row);
    else if (what >= DEPTH && what <= CUT)
        fill_range(cell, what, row);
    else if (what >= GRID_X && row->shape)
        fill_shape(cell, what, row->shape);
}

/* The name of a value, looked up once where it is small. */
static void fill_enum(struct export_cells *cells, struct export_cell *cell, const char *enumeration,
                      uint64_t value)
{
    const char **known =
        value < EXPORT_CELL_BYTES ? &cells->names[cell - cells->items][value] : NULL;
    const char *name = known ? *known : NULL;

    if (!name)
        name = mp_enum_name(enumeration, value);
    if (known)
        *known = name;
    if (name)
        put_words(cell, name);
    else
        put_number(cell, true, value);
}

static enum mp_status fill_reference(struct export_cell *cell, struct export_rows *rows,
                                     const char *table, uint64_t value)
{
    const struct export_thread *thread;
    struct export_text text;

    if (!strcmp(table, "thread")) {
        MP_TRY(export_rows_thread(rows, value, &thread));
        put_number(cell, thread, thread ? thread->tid : 0);
        return MP_OK;
    }
    if (strcmp(table, "string") != 0) {
        put_number(cell, strcmp(table, "device") != 0 ? value : value != NO_DEVICE, value);
        return MP_OK;
    }
    MP_TRY(export_rows_string(rows, value, &text));
    put_text(cell, text.text, text.bytes);
    return MP_OK;
}

/* Columns of numbers in which NO_DEVICE is none. */
static bool is_absent_by_value(const char *column)
{
    return !strcmp(column, "stream") || !strcmp(column, "peer");
}

static enum mp_status fill_column(struct export_cells *cells, struct export_cell *cell,
                                  const struct export_process *process,
                                  const struct mp_column_info *column, uint64_t value)
{
    switch (column->type) {
    case MP_TYPE_ENUM:
        fill_enum(cells, cell, column->reference, value);
        return MP_OK;
    case MP_TYPE_REF:
        return fill_reference(cell, process->rows, column->reference, value);
    case MP_TYPE_BOOL:
        put_bool(cell, value);
        return MP_OK;
    case MP_TYPE_HEX:
        put_hex(cell, value);
        if (!value && !strcmp(column->name, "value"))
            put_words(cell, "0x0"); /* what a set writes; elsewhere 0 is none */
        return MP_OK;
    case MP_TYPE_UINT:
    case MP_TYPE_INT:
    case MP_TYPE_TIME:
    case MP_TYPE_DURATION:
    case MP_TYPE_TEXT:
        break;
    }
    put_number(cell, value != NO_DEVICE || !is_absent_by_value(column->name), value);
    return MP_OK;
}

/* What the bits of a column are, where the trace keeps those of another type. */
static void put_real(struct export_cell *cell, uint64_t bits)
{
    memcpy(&cell->real, &bits, sizeof bits);
    cell->type = EXPORT_CELL_REAL;
}

enum mp_status export_cells_fill(struct export_cells *cells, const struct export_process *process,
                                 const struct export_row *row)
{
    struct export_cell *cell = cells->items;

    if (!cells->table || cells->kind != row->kind)
        export_cells_of(cells, row->kind);
    for (size_t i = 0; i < FIXED; i++) {
        if (!(fixed[i].kinds >> row->kind & 1))
            continue;
        cell->type = EXPORT_CELL_NONE;
        fill_fixed(cell++, (enum fixed)i, process, row);
    }
    for (size_t i = cells->fixed; i < cells->count; i++) {
        size_t column = cells->columns[i];
        uint64_t value = row->columns[column][row->index];

        if (row->kind == EXPORT_METRIC && column == MP_COLUMN_metric_value_value)
            put_real(&cells->items[i], value);
        else
            MP_TRY(fill_column(cells, &cells->items[i], process, &cells->table->columns[column],
                               value));
    }
    return MP_OK;
}
