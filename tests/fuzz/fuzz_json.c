/* JSON that other programs wrote, any bytes: reading a text value by value and passing over it
 * agree on whether it is JSON, values fit into their room, and what is JSON for us is so for
 * SQLite. TensorRT's layers, which the command reads that way, are read too. The same bytes as a
 * name are written so that nothing in them acts, and JSON is exact. */
#include <sqlite3.h>
#include <string.h>

#include "target.h"

#include "base/text/foreign.h"
#include "base/text/json.h"
#include "base/text/strings.h"
#include "reports/layers/trt_layer.h"

/* ---- Value by value ---- */

/* A key or another text, in memory of exactly this size. */
static void expect_text(const char *text, size_t room)
{
    expect(memchr(text, '\0', room) != NULL);
}

static void read_value(struct json_reader *reader, size_t room)
{
    enum json_read_kind kind = json_read_next(reader);
    char *text = malloc(room);

    if (kind == JSON_READ_OBJECT && json_read_open(reader)) {
        while (json_read_member(reader, text, room)) {
            expect_text(text, room);
            read_value(reader, room);
        }
    } else if (kind == JSON_READ_ARRAY && json_read_open(reader)) {
        while (json_read_element(reader))
            read_value(reader, room);
    } else if (json_read_text(reader, text, room)) {
        expect_text(text, room);
    }
    free(text);
}

static bool is_read(const char *text, size_t bytes, size_t room)
{
    struct json_reader reader;

    json_read_begin(&reader, text, bytes);
    read_value(&reader, room);
    return json_read_end(&reader);
}

static bool is_skipped(const char *text, size_t bytes)
{
    struct json_reader reader;

    json_read_begin(&reader, text, bytes);
    json_read_skip(&reader);
    return json_read_end(&reader);
}

/* ---- Another reader ---- */

static bool is_json_for_sqlite(const char *text, size_t bytes)
{
    static sqlite3_stmt *valid;
    sqlite3 *db;
    bool answer;

    if (!valid) {
        expect(sqlite3_open(":memory:", &db) == SQLITE_OK);
        expect(sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &valid, NULL) == SQLITE_OK);
    }
    sqlite3_bind_text(valid, 1, text, (int)bytes, SQLITE_STATIC);
    expect(sqlite3_step(valid) == SQLITE_ROW);
    answer = sqlite3_column_int(valid, 0) == 1;
    sqlite3_reset(valid);
    return answer;
}

/* ---- TensorRT's layers ---- */

static void expect_layer(const char *text, bool is_json)
{
    struct trt_layer layer;

    if (!trt_layer_read(text, &layer))
        return;
    expect(is_json && (*layer.name || *layer.type));
    expect_text(layer.name, sizeof layer.name);
    expect_text(layer.type, sizeof layer.type);
    expect_text(layer.tactic, sizeof layer.tactic);
    expect_text(layer.dimensions, sizeof layer.dimensions);
    expect_text(layer.input_dimensions, sizeof layer.input_dimensions);
    expect(trt_layer_mark(layer.name, layer.type) < TRT_MARKS);
}

/* ---- What we write ---- */

/* Any bytes, as a name: nothing acts, and JSON has what is UTF-8 of them. */
static void expect_written(const char *name, size_t bytes)
{
    struct mp_buffer valid = {.data = NULL};
    struct json_writer json;
    struct json_reader reader;
    char *text = NULL;
    char *read;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    foreign_put(out, name, bytes);
    foreign_put_csv(out, name, bytes);
    fflush(out);
    expect(foreign_is_harmless(text) && strlen(text) == size);
    rewind(out);
    json_begin(&json, out, 0);
    json_bytes(&json, name, bytes);
    fclose(out);
    expect(foreign_harmless(text, size) == size);
    expect(utf8_append_valid(&valid, name, bytes) == MP_OK);
    expect(mp_buffer_append_byte(&valid, '\0') == MP_OK);
    read = malloc(valid.size);
    json_read_begin(&reader, text, size);
    expect(json_read_text(&reader, read, valid.size));
    expect(!strcmp(read, (const char *)valid.data) || memchr(name, '\0', bytes));
    mp_buffer_free(&valid);
    free(read);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* so that a read beyond the end is seen */
    char *name = strndup((const char *)data, size);
    bool is_json;

    memcpy(text, data, size);
    text = realloc(text, size ? size : 1);
    is_json = is_read(text, size, 1 + size % 40);
    expect(is_json == is_skipped(text, size));
    expect(!is_json || is_json_for_sqlite(text, size));
    expect_layer(name, is_skipped(name, strlen(name)));
    expect_written(text, size);
    free(name);
    free(text);
    return 0;
}
