/* The extended payloads of NVTX as nsys's jsonText: an object with a key for each field, such as
 * {"NCCL communicator ID":14062,"Message size [bytes]":4096}. They come from a separate pass,
 * since rows of `payload` stand apart from the events that they belong to. Memory: 24 bytes a
 * value.
 */
#include "export/nsys/build.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/hash.h"
#include "base/data/storage.h"
#include "profile/reading.h"

#include "base/poison.h"

/* Of a field, by its number. */
struct field {
    uint64_t schema, name, type, enumeration;
};

struct value {
    uint64_t schema, number; /* of the event */
    uint64_t field, bits;
};

struct nsys_payloads {
    struct dense fields;  /* of struct field */
    struct mp_map names;  /* enumeration and value -> string */
    struct value *values; /* by schema, number and field */
    size_t count, capacity;
};

/* ---- The pass ---- */

static uint64_t name_key(uint64_t enumeration, uint64_t value)
{
    return mp_mix64(enumeration) ^ value;
}

static enum mp_status take_field(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_payload_field_columns columns = mp_payload_field_columns(batch->columns);
    struct nsys_payloads *payloads = context;
    enum mp_status status = dense_reach(&payloads->fields, columns.id[row]);

    if (status != MP_OK)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    *(struct field *)dense_at(&payloads->fields, columns.id[row]) =
        (struct field){columns.payload_schema[row], columns.name[row], columns.type[row],
                       columns.enumeration[row]};
    return MP_OK;
}

static enum mp_status take_value(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_payload_columns columns = mp_payload_columns(batch->columns);
    struct nsys_payloads *payloads = context;
    const struct field *field = dense_at(&payloads->fields, columns.field[row]);

    if (!field || !field->schema)
        return MP_OK;
    MP_TRY(MP_RESERVE(payloads->values, payloads->count, payloads->capacity));
    payloads->values[payloads->count++] =
        (struct value){field->schema, columns.number[row], columns.field[row], columns.value[row]};
    return MP_OK;
}

static enum mp_status take_name(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_payload_name_columns columns = mp_payload_name_columns(batch->columns);
    struct nsys_payloads *payloads = context;

    if (columns.name[row] >= MP_MAP_ABSENT)
        return MP_OK;
    return mp_map_put(&payloads->names, name_key(columns.enumeration[row], columns.value[row]),
                      (uint32_t)columns.name[row]);
}

MP_COMPARE(compare_values, struct value,
           MP_ORDER(a->schema, b->schema) ?: MP_ORDER(a->number, b->number) ?:
           MP_ORDER(a->field, b->field));

enum mp_status nsys_load_payloads(struct nsys *nsys, struct mp_error *error)
{
    struct mp_trace *trace = nsys->process->trace;
    struct nsys_payloads *payloads = calloc(1, sizeof *payloads);
    static const struct reading_table tables[] = {
        {MP_TABLE_payload_field, MP_ALL_COLUMNS, .take_row = take_field},
        {MP_TABLE_payload_name, MP_ALL_COLUMNS, .take_row = take_name},
        {MP_TABLE_payload, MP_ALL_COLUMNS, .take_row = take_value},
    };
    const struct reading reading = {
        .trace = trace, .what = "NVTX's payloads", .context = payloads, READING_TABLES(tables)};

    nsys_forget_payloads(nsys);
    if (!payloads)
        return mp_error_set(error, MP_ERR_MEMORY, "cannot read NVTX's payloads: out of memory");
    nsys->payloads = payloads;
    dense_init(&payloads->fields, sizeof(struct field), definitions_limit(trace));
    MP_TRY(reading_run(&reading, error));
    if (payloads->count)
        qsort(payloads->values, payloads->count, sizeof *payloads->values, compare_values);
    return MP_OK;
}

void nsys_forget_payloads(struct nsys *nsys)
{
    struct nsys_payloads *payloads = nsys->payloads;

    if (!payloads)
        return;
    nsys->payloads = NULL;
    dense_free(&payloads->fields);
    mp_map_free(&payloads->names);
    free(payloads->values);
    free(payloads);
}

/* ---- An event's ---- */

static size_t find_values(const struct nsys_payloads *payloads, uint64_t schema, uint64_t number)
{
    const struct value key = {.schema = schema, .number = number};

    return MP_SEARCH(0, payloads->count, i, compare_values(&payloads->values[i], &key) < 0);
}

static enum mp_status put_text(struct nsys *nsys, uint64_t string)
{
    struct export_text text;

    MP_TRY(export_rows_string(nsys->process->rows, string, &text));
    mp_buffer_append_byte(&nsys->text, '"');
    for (size_t i = 0; i < text.bytes; i++) {
        unsigned char byte = (unsigned char)text.text[i];

        if (byte < ' ')
            mp_buffer_append_format(&nsys->text, "\\u%04x", byte);
        else if (byte == '"' || byte == '\\')
            mp_buffer_append_format(&nsys->text, "\\%c", byte);
        else
            mp_buffer_append_byte(&nsys->text, byte);
    }
    return mp_buffer_append_byte(&nsys->text, '"');
}

static void put_real(struct mp_buffer *text, uint64_t bits)
{
    double real;

    memcpy(&real, &bits, sizeof real);
    if (isfinite(real))
        mp_buffer_append_format(text, "%.17g", real);
    else
        mp_buffer_append_format(text, "null"); /* JSON knows neither infinity nor NaN */
}

static enum mp_status put_value(struct nsys *nsys, const struct field *field, uint64_t bits)
{
    uint32_t name = field->enumeration
                        ? mp_map_get(&nsys->payloads->names, name_key(field->enumeration, bits))
                        : MP_MAP_ABSENT;

    if (name != MP_MAP_ABSENT)
        return put_text(nsys, name);
    if (field->type == MP_field_type_text)
        return put_text(nsys, bits);
    if (field->type == MP_field_type_real)
        put_real(&nsys->text, bits);
    else if (field->type == MP_field_type_signed)
        mp_buffer_append_format(&nsys->text, "%" PRId64, (int64_t)bits);
    else
        mp_buffer_append_format(&nsys->text, "%" PRIu64, bits);
    return nsys->text.status;
}

enum mp_status nsys_put_payload(struct nsys *nsys, const struct export_row *row,
                                struct tables_cell *cell)
{
    const struct mp_row_nvtx nvtx = export_row_nvtx(row);
    const struct nsys_payloads *payloads = nsys->payloads;
    uint64_t schema = nvtx.payload_schema;
    uint64_t number = nvtx.extended;
    size_t first = schema && number ? find_values(payloads, schema, number) : payloads->count;

    mp_buffer_clear(&nsys->text);
    for (size_t i = first; i < payloads->count && payloads->values[i].schema == schema &&
                           payloads->values[i].number == number;
         i++) {
        const struct value *value = &payloads->values[i];
        const struct field *field = dense_at(&payloads->fields, value->field);

        mp_buffer_append_byte(&nsys->text, i == first ? '{' : ',');
        MP_TRY(put_text(nsys, field->name));
        mp_buffer_append_byte(&nsys->text, ':');
        MP_TRY(put_value(nsys, field, value->bits));
    }
    if (nsys->text.size) {
        mp_buffer_append_byte(&nsys->text, '}');
        *cell = TABLES_WORDS((const char *)nsys->text.data, nsys->text.size);
    }
    return nsys->text.status;
}
