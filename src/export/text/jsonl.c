/* JSON lines: an object for each row, with the keys of common/cells.h. What a row does not have has
 * no key. */
#include "base/text/json_write.h"
#include "export/common/cells.h"
#include "export/text/text.h"

#include "base/poison.h"

struct jsonl {
    struct json_writer json;
    const struct export_process *process;
    struct export_cells cells;
};

static enum mp_status begin(void *state, FILE *out, const char *path, size_t processes,
                            struct mp_error *error)
{
    struct jsonl *jsonl = state;

    (void)path, (void)processes, (void)error;
    json_begin(&jsonl->json, out, 0);
    return MP_OK;
}

static enum mp_status process(void *state, const struct export_process *process,
                              struct mp_error *error)
{
    struct jsonl *jsonl = state;

    (void)error;
    jsonl->process = process;
    return MP_OK;
}

static void put_cell(struct json_writer *json, const struct export_cell *cell)
{
    if (cell->type == EXPORT_CELL_NONE)
        return;
    json_key(json, cell->key);
    if (cell->type == EXPORT_CELL_NUMBER)
        json_number(json, cell->number);
    else if (cell->type == EXPORT_CELL_REAL)
        json_real(json, cell->real);
    else if (cell->type == EXPORT_CELL_BOOL)
        json_bool(json, cell->number);
    else
        json_bytes(json, cell->text, cell->bytes);
}

static enum mp_status row(void *state, const struct export_row *row)
{
    struct jsonl *jsonl = state;

    MP_TRY(export_cells_fill(&jsonl->cells, jsonl->process, row));
    json_open_object(&jsonl->json);
    for (size_t i = 0; i < jsonl->cells.count; i++)
        put_cell(&jsonl->json, &jsonl->cells.items[i]);
    json_close_object(&jsonl->json);
    json_end(&jsonl->json);
    return MP_OK;
}

const struct export_format export_jsonl = {
    .key = "jsonl",
    .suffix = ".jsonl",
    .help = "a JSON object for each row, one a line",
    .state_bytes = sizeof(struct jsonl),
    .begin = begin,
    .process = process,
    .row = row,
};
