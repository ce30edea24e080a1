/* The formats that are text, a row a line: JSON lines and CSV.
 *
 * A row is a list of named cells:
 *
 *     kind, process, start_ns, dur_ns, name, ...   what all rows have
 *     device, context, stream                      of work
 *     grid_x, ... local_memory_bytes               of kernels
 *     bytes, copy_kind, ...                        the other columns of the row's table
 *
 * Keys have the unit at their end: ns, bytes. Times are ns since 1970. References are resolved,
 * enumerations are words, handles and addresses are hexadecimal text. Which keys a kind has is
 * worked out once, from the table of the kind; rows of one kind come together, so this is rare.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/io.h"
#include "base/status.h"
#include "base/text/foreign.h"
#include "base/text/json.h"
#include "export/format.h"
#include "trace/schema.h"

#include "base/poison.h"

#define MAX_CELLS  64
#define CELL_BYTES 32

enum cell_type { CELL_NONE, CELL_NUMBER, CELL_REAL, CELL_BOOL, CELL_TEXT };

struct cell {
    const char *key;
    enum cell_type type;
    uint64_t number; /* of a bool too */
    double real;
    const char *text; /* valid UTF-8; of the trace, or in `buffer` */
    size_t bytes;
    char buffer[CELL_BYTES];
};

struct cells {
    struct cell items[MAX_CELLS];
    size_t count;
    const char *names[MAX_CELLS][CELL_BYTES]; /* of enumerations, looked up */
    char keys[MAX_CELLS][CELL_BYTES];
    const struct mp_table_info *table; /* that the keys are of; NULL: none yet */
    size_t fixed;                      /* of the items; the others are these columns: */
    uint8_t columns[MAX_CELLS];
    enum export_kind kind;
};

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
static bool is_fixed(const struct mp_table_info *table, const struct mp_column_info *column)
{
    static const char *const columns[] = {"start",  "time",        "duration", "name", "domain",
                                          "thread", "correlation", "shape",    "node", "function",
                                          "graph",  "metric",      "cut"};
    bool reference = column->type == MP_TYPE_REF && !strcmp(column->reference, "stream");

    if (reference || (table->id == MP_TABLE_nvtx && !strcmp(column->name, "kind")))
        return true;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (!strcmp(column->name, columns[i]))
            return true;
    }
    return false;
}

/* `kind` of `copy` is `copy_kind`, `woken` is `woken_ns`, `pool_size` is `pool_size_bytes`. */
static void make_key(const struct mp_table_info *table, const struct mp_column_info *column,
                     char key[CELL_BYTES])
{
    bool prefix = !strcmp(column->name, "kind") || !strcmp(column->name, "range");
    const char *unit = "";

    if (column->unit == MP_UNIT_NS)
        unit = "_ns";
    if (column->unit == MP_UNIT_BYTES && !strstr(column->name, "bytes"))
        unit = "_bytes";
    snprintf(key, CELL_BYTES, "%s%s%s%s", prefix ? table->name : "", prefix ? "_" : "",
             column->name, unit);
}

static void add(struct cells *cells, const char *key)
{
    cells->items[cells->count++] = (struct cell){.key = key};
}

/* Makes the cells those of a kind, all NONE: only their keys are filled in. */
static void cells_of(struct cells *cells, enum export_kind kind)
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
        if (is_fixed(table, &table->columns[i]))
            continue;
        make_key(table, &table->columns[i], cells->keys[made]);
        cells->columns[cells->count] = (uint8_t)i;
        add(cells, cells->keys[made++]);
    }
}

/* ---- Values ---- */

static void put_number(struct cell *cell, bool known, uint64_t number)
{
    cell->type = known ? CELL_NUMBER : CELL_NONE;
    cell->number = number;
}

static void put_bool(struct cell *cell, bool value)
{
    cell->type = CELL_BOOL;
    cell->number = value;
}

static void put_text(struct cell *cell, const char *text, size_t bytes)
{
    cell->type = text ? CELL_TEXT : CELL_NONE;
    cell->text = text;
    cell->bytes = bytes;
}

static void put_words(struct cell *cell, const char *text)
{
    put_text(cell, text, text ? strlen(text) : 0);
}

static void put_hex(struct cell *cell, uint64_t value)
{
    int bytes = snprintf(cell->buffer, sizeof cell->buffer, "0x%" PRIx64, value);

    cell->type = value ? CELL_TEXT : CELL_NONE;
    cell->text = cell->buffer;
    cell->bytes = (size_t)bytes;
}

static void fill_shape(struct cell *cell, enum fixed what, const struct launch_shape *shape)
{
    const uint32_t numbers[] = {
        shape->grid[0],           shape->grid[1],     shape->grid[2],       shape->block[0],
        shape->block[1],          shape->block[2],    shape->cluster[0],    shape->cluster[1],
        shape->cluster[2],        shape->registers,   shape->static_shared, shape->dynamic_shared,
        shape->configured_shared, shape->local_memory};

    put_number(cell, true, numbers[what - GRID_X]);
}

static void fill_row(struct cell *cell, enum fixed what, const struct export_process *process,
                     const struct export_row *row)
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

static void fill_place(struct cell *cell, enum fixed what, const struct export_place *place)
{
    put_number(cell, true,
               what == DEVICE    ? place->device
               : what == CONTEXT ? place->context
                                 : place->stream);
}

static void fill_thread(struct cell *cell, enum fixed what, const struct export_thread *thread)
{
    if (what == THREAD)
        put_number(cell, true, thread->tid);
    else
        put_text(cell, thread->name.text, thread->name.bytes);
}

/* What relates the row to others; 0 is none. */
static void fill_relation(struct cell *cell, enum fixed what, const struct export_row *row)
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

static void fill_critical(struct cell *cell, const struct export_analyses *analyses,
                          const struct export_row *row)
{
    if (analyses->known && row->activity != DEPS_NONE)
        put_number(cell, true, analyses->critical[row->activity]);
}

static void fill_range(struct cell *cell, enum fixed what, const struct export_row *row)
{
    if (what == DEPTH)
        put_number(cell, row->pushed, row->depth);
    else
        put_bool(cell, what == PUSHED ? row->pushed : what == OPEN ? row->open : row->cut);
}

/* A cell stays NONE where the row does not know. */
static void fill_fixed(struct cell *cell, enum fixed what, const struct export_process *process,
                       const struct export_row *row)
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
static void fill_enum(struct cells *cells, struct cell *cell, const char *enumeration,
                      uint64_t value)
{
    const char **known = value < CELL_BYTES ? &cells->names[cell - cells->items][value] : NULL;
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

static enum mp_status fill_reference(struct cell *cell, struct export_rows *rows, const char *table,
                                     uint64_t value)
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

static enum mp_status fill_column(struct cells *cells, struct cell *cell,
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
static void put_real(struct cell *cell, uint64_t bits)
{
    memcpy(&cell->real, &bits, sizeof bits);
    cell->type = CELL_REAL;
}

/* Fills in the cells of a row. MP_OK, MP_ERR_MEMORY. */
static enum mp_status cells_fill(struct cells *cells, const struct export_process *process,
                                 const struct export_row *row)
{
    struct cell *cell = cells->items;

    if (!cells->table || cells->kind != row->kind)
        cells_of(cells, row->kind);
    for (size_t i = 0; i < FIXED; i++) {
        if (!(fixed[i].kinds >> row->kind & 1))
            continue;
        cell->type = CELL_NONE;
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

/* ---- JSON lines ---- */

/* An object for each row. What a row does not have has no key. */

struct jsonl {
    struct json_writer json;
    const struct export_process *jsonl_process;
    struct cells cells;
};

static enum mp_status jsonl_begin(void *state, FILE *out, const char *path, size_t processes,
                                  struct mp_error *error)
{
    struct jsonl *jsonl = state;

    (void)path, (void)processes, (void)error;
    json_begin(&jsonl->json, out, 0);
    return MP_OK;
}

static enum mp_status jsonl_process(void *state, const struct export_process *jsonl_process,
                                    struct mp_error *error)
{
    struct jsonl *jsonl = state;

    (void)error;
    jsonl->jsonl_process = jsonl_process;
    return MP_OK;
}

static void jsonl_put_cell(struct json_writer *json, const struct cell *cell)
{
    if (cell->type == CELL_NONE)
        return;
    json_key(json, cell->key);
    if (cell->type == CELL_NUMBER)
        json_number(json, cell->number);
    else if (cell->type == CELL_REAL)
        json_real(json, cell->real);
    else if (cell->type == CELL_BOOL)
        json_bool(json, cell->number);
    else
        json_bytes(json, cell->text, cell->bytes);
}

static enum mp_status jsonl_row(void *state, const struct export_row *jsonl_row)
{
    struct jsonl *jsonl = state;

    MP_TRY(cells_fill(&jsonl->cells, jsonl->jsonl_process, jsonl_row));
    json_open_object(&jsonl->json);
    for (size_t i = 0; i < jsonl->cells.count; i++)
        jsonl_put_cell(&jsonl->json, &jsonl->cells.items[i]);
    json_close_object(&jsonl->json);
    json_end(&jsonl->json);
    return MP_OK;
}

const struct export_format export_jsonl = {
    .key = "jsonl",
    .suffix = ".jsonl",
    .help = "a JSON object for each row, one a line",
    .state_bytes = sizeof(struct jsonl),
    .begin = jsonl_begin,
    .process = jsonl_process,
    .row = jsonl_row,
};

/* ---- CSV ---- */

/* A file for each kind of row in a folder, or one file of one kind. Text is quoted, and a cell
 * without a value is empty. Every kind has its file, so that a new export replaces all of an older
 * one. */

struct csv {
    FILE *files[EXPORT_KINDS]; /* of the folder */
    FILE *out;                 /* the one file; NULL: a folder */
    const struct export_process *csv_process;
    struct cells cells;
};

static void put_titles(struct csv *csv, FILE *out, enum export_kind kind)
{
    cells_of(&csv->cells, kind);
    for (size_t i = 0; i < csv->cells.count; i++)
        fprintf(out, "%s\"%s\"", i ? "," : "", csv->cells.items[i].key);
    fputc('\n', out);
}

/* ---- Files ---- */

static enum mp_status open_file(struct csv *csv, const char *folder, enum export_kind kind,
                                struct mp_error *error)
{
    struct mp_buffer path = {.data = NULL};
    enum mp_status status = MP_OK;

    mp_buffer_append_format(&path, "%s/%s.csv", folder, export_kind_key(kind));
    if (mp_buffer_append_byte(&path, '\0') != MP_OK) {
        status = mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    } else {
        csv->files[kind] = mp_output_stream((const char *)path.data, O_EXCL);
        if (!csv->files[kind])
            status =
                mp_error_set(error, MP_ERR_IO, "cannot write '%s.csv': %m", export_kind_key(kind));
    }
    mp_buffer_free(&path);
    return status;
}

static enum mp_status csv_begin(void *state, FILE *out, const char *path, size_t processes,
                                struct mp_error *error)
{
    struct csv *csv = state;

    (void)processes;
    csv->out = out;
    for (unsigned i = 0; i < EXPORT_KINDS && !out; i++) {
        MP_TRY(open_file(csv, path, (enum export_kind)i, error));
        put_titles(csv, csv->files[i], (enum export_kind)i);
    }
    return MP_OK;
}

/* The one file gets its titles when it is known of which kind it is. */
static enum mp_status csv_process(void *state, const struct export_process *csv_process,
                                  struct mp_error *error)
{
    struct csv *csv = state;
    unsigned kinds = export_rows_options(csv_process->rows)->kinds;

    (void)error;
    csv->csv_process = csv_process;
    if (csv->out && !csv_process->number)
        put_titles(csv, csv->out, kinds ? (enum export_kind)__builtin_ctz(kinds) : EXPORT_KERNEL);
    return MP_OK;
}

static enum mp_status csv_process_end(void *state, struct mp_error *error)
{
    struct csv *csv = state;

    (void)error;
    csv->csv_process = NULL;
    return MP_OK;
}

static enum mp_status csv_end(void *state, struct mp_error *error)
{
    struct csv *csv = state;

    for (size_t i = 0; i < EXPORT_KINDS && !csv->out; i++) {
        FILE *file = csv->files[i];
        int failed = ferror(file);

        csv->files[i] = NULL;
        if (fclose(file) != 0 || failed)
            return mp_error_set(error, MP_ERR_IO, "cannot write '%s.csv': %m",
                                export_kind_key((enum export_kind)i));
    }
    return MP_OK;
}

static void csv_release(void *state)
{
    struct csv *csv = state;

    for (size_t i = 0; i < EXPORT_KINDS; i++) {
        if (csv->files[i])
            fclose(csv->files[i]);
    }
}

/* ---- Rows ---- */

static void csv_put_cell(FILE *out, const struct cell *cell)
{
    switch (cell->type) {
    case CELL_NONE:
        break;
    case CELL_NUMBER:
    case CELL_BOOL:
        fprintf(out, "%" PRIu64, cell->number);
        break;
    case CELL_REAL:
        fprintf(out, "%.17g", cell->real);
        break;
    case CELL_TEXT:
        foreign_put_csv(out, cell->text, cell->bytes);
        break;
    }
}

static enum mp_status csv_row(void *state, const struct export_row *csv_row)
{
    struct csv *csv = state;
    FILE *out = csv->out ? csv->out : csv->files[csv_row->kind];

    MP_TRY(cells_fill(&csv->cells, csv->csv_process, csv_row));
    for (size_t i = 0; i < csv->cells.count; i++) {
        if (i)
            fputc(',', out);
        csv_put_cell(out, &csv->cells.items[i]);
    }
    fputc('\n', out);
    return ferror(out) ? MP_ERR_IO : MP_OK;
}

const struct export_format export_csv = {
    .key = "csv",
    .suffix = "-csv",
    .help = "a folder with a CSV file for each kind of row; --table: one file",
    .state_bytes = sizeof(struct csv),
    .folder = true,
    .begin = csv_begin,
    .process = csv_process,
    .row = csv_row,
    .process_end = csv_process_end,
    .end = csv_end,
    .release = csv_release,
};
