/* Writes what stacks stand for. A stack is written after the stack of its caller, so the rows form
 * a tree whose branches are shared.
 */
#include "record/rows/stack_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "record/stacks/python.h"
#include "record/stacks/python_walk.h"

#include "base/poison.h"

struct frame_key {
    uint32_t kind, code, line, module;
    uint64_t address;
};

struct chain_key {
    uint32_t caller, frame;
};

/* The item of an array that grows; NULL without memory. */
static uint32_t *item(uint32_t **items, uint32_t *capacity, uint32_t at)
{
    while (*capacity <= at)
        if (!mp_double(items, capacity, sizeof(**items)))
            return NULL;
    return &(*items)[at];
}

/* ---- Functions and lines ---- */

static uint32_t define_code(struct stack_rows *rows, const struct stored_code *code)
{
    struct dictionary *dictionary = rows->dictionary;
    const char *name = (const char *)(code + 1);
    uint32_t id = ++rows->code_count;
    uint32_t name_id = dictionary_text(dictionary, name, code->name_bytes);
    uint32_t file_id = dictionary_text(dictionary, name + code->name_bytes, code->file_bytes);

    mp_append_code(dictionary->writer,
                   &(struct mp_row_code){
                       .id = id, .name = name_id, .file = file_id, .first_line = code->first_line});
    return id;
}

static uint32_t code_id(struct stack_rows *rows, uint32_t number, const struct stored_code *code)
{
    uint32_t *id = item(&rows->code_ids, &rows->code_capacity, number);

    if (!id)
        return 0;
    if (!*id)
        *id = define_code(rows, code);
    return *id;
}

static uint32_t define_module(struct stack_rows *rows, const struct stored_module *module)
{
    const char *path = (const char *)(module + 1);
    const uint8_t *build_id = (const uint8_t *)path + module->path_bytes;
    uint32_t id = ++rows->module_count;
    char hex[2 * 64 + 1] = "";

    for (uint32_t i = 0; i < module->build_id_bytes && i < 64; i++)
        snprintf(hex + (size_t)2 * i, 3, "%02x", build_id[i]);
    mp_append_module(
        rows->dictionary->writer,
        &(struct mp_row_module){
            .id = id,
            .path = dictionary_text(rows->dictionary, path, module->path_bytes),
            .build_id = *hex ? dictionary_text(rows->dictionary, hex, strlen(hex)) : 0});
    return id;
}

static uint32_t module_id(struct stack_rows *rows, uint32_t number)
{
    const struct stored_module *module =
        number ? store_module_get(&rows->stacks->store, number) : NULL;
    uint32_t *id = module ? item(&rows->module_ids, &rows->module_capacity, number) : NULL;

    if (!id)
        return 0;
    if (!*id)
        *id = define_module(rows, module);
    return *id;
}

static struct frame_key frame_of(struct stack_rows *rows, uint64_t place)
{
    const struct stored_code *code = NULL;

    if (PLACE_CODE(place) == CODE_CUT)
        return (struct frame_key){.kind = MP_frame_kind_cut};
    if (PLACE_IS_NATIVE(place))
        return (struct frame_key){.kind = MP_frame_kind_native,
                                  .module = module_id(rows, PLACE_MODULE(place)),
                                  .address = PLACE_ADDRESS(place)};
    if (PLACE_CODE(place))
        code = store_code_get(&rows->stacks->store, PLACE_CODE(place));
    if (!code)
        return (struct frame_key){.kind = MP_frame_kind_python};
    const char *texts = (const char *)(code + 1);
    return (struct frame_key){
        .kind = MP_frame_kind_python,
        .code = code_id(rows, PLACE_CODE(place), code),
        .line = lines_of((enum line_table)code->lines,
                         (const uint8_t *)texts + code->name_bytes + code->file_bytes,
                         code->table_bytes, code->first_line, PLACE_OFFSET(place)),
    };
}

static uint32_t frame_id(struct stack_rows *rows, uint64_t place)
{
    struct frame_key key = frame_of(rows, place);
    bool is_new;
    uint32_t id = dictionary_intern(rows->dictionary, &rows->frames, &key, sizeof(key), &is_new);

    if (is_new)
        mp_append_frame(rows->dictionary->writer, &(struct mp_row_frame){.id = id,
                                                                         .kind = key.kind,
                                                                         .code = key.code,
                                                                         .line = key.line,
                                                                         .module = key.module,
                                                                         .address = key.address});
    return id;
}

/* ---- Stacks ---- */

static uint32_t chain_id(struct stack_rows *rows, uint32_t caller, uint64_t place)
{
    struct chain_key key = {caller, frame_id(rows, place)};
    bool is_new;
    uint32_t id = dictionary_intern(rows->dictionary, &rows->chains, &key, sizeof(key), &is_new);

    if (is_new)
        mp_append_stack(rows->dictionary->writer,
                        &(struct mp_row_stack){.id = id, .caller = key.caller, .frame = key.frame});
    return id;
}

/* The stack's number in the file; 0 without memory. */
static uint32_t define(struct stack_rows *rows, uint32_t stack)
{
    struct stored_stack chain[STACK_DEPTH];
    uint32_t numbers[STACK_DEPTH];
    uint32_t count = 0;
    uint32_t id = 0;
    uint32_t *known;

    for (; stack && count < STACK_DEPTH; stack = chain[count++].caller) {
        known = item(&rows->stack_ids, &rows->stack_capacity, stack);
        if (!known)
            return 0;
        if (*known) {
            id = *known;
            break;
        }
        numbers[count] = stack;
        chain[count] = store_stack_get(&rows->stacks->store, stack);
    }
    while (count--) {
        id = chain_id(rows, id, store_place_get(&rows->stacks->store, chain[count].place));
        if (!id)
            return 0;
        rows->stack_ids[numbers[count]] = id;
    }
    return id;
}

static uint32_t id_of(struct stack_rows *rows, uint32_t stack)
{
    uint32_t id = stack < rows->stack_capacity && rows->stack_ids[stack] ? rows->stack_ids[stack]
                                                                         : define(rows, stack);

    rows->lost += !id;
    return id;
}

static uint32_t find(struct stack_rows *rows, const struct stack_slots *slots, uint32_t number)
{
    bool lost;
    uint32_t stack = slots_get(slots, number, &lost);

    rows->lost += lost;
    return stack ? id_of(rows, stack) : 0;
}

/* A handler numbers functions by its arena. */
static uint64_t place_of_sample(struct stack_rows *rows, struct gaps *gaps, uint64_t place)
{
    uint32_t number = PLACE_CODE(place);

    if (number == CODE_CUT || !(number & CODE_ARENA_NUMBER))
        return place;
    number = code_arena_number(&gaps->arena, &rows->stacks->store, number);
    return (uint64_t)number << 32 | (uint32_t)place;
}

uint32_t stack_rows_of_sample(struct stack_rows *rows, struct gaps *gaps,
                              const struct gap_sample *sample)
{
    uint64_t places[GAP_DEPTH + 1];

    if (!sample->count)
        return 0;
    for (uint32_t i = 0; i < sample->count; i++)
        places[i] = place_of_sample(rows, gaps, sample->places[i]);
    uint32_t stack = store_stack(&rows->stacks->store, places, sample->count);
    return stack ? id_of(rows, stack) : 0;
}

uint32_t stack_rows_of_call(struct stack_rows *rows, uint32_t correlation)
{
    return rows && rows->stacks ? find(rows, &rows->stacks->calls, correlation) : 0;
}

uint32_t stack_rows_of_node(struct stack_rows *rows, uint32_t number)
{
    return rows && rows->stacks ? find(rows, &rows->stacks->nodes, number) : 0;
}

void stack_rows_restart(struct stack_rows *rows)
{
    if (rows->stack_ids)
        memset(rows->stack_ids, 0, rows->stack_capacity * sizeof(*rows->stack_ids));
    if (rows->code_ids)
        memset(rows->code_ids, 0, rows->code_capacity * sizeof(*rows->code_ids));
    if (rows->module_ids)
        memset(rows->module_ids, 0, rows->module_capacity * sizeof(*rows->module_ids));
    mp_intern_reset(&rows->frames);
    mp_intern_reset(&rows->chains);
    rows->code_count = 0;
    rows->module_count = 0;
}

uint64_t stack_rows_lost(const struct stack_rows *rows)
{
    if (!rows->stacks)
        return 0;
    return rows->lost + atomic_load(&rows->stacks->store.lost) + atomic_load(&rows->stacks->broken);
}

void stack_rows_close(struct stack_rows *rows)
{
    free(rows->stack_ids);
    free(rows->code_ids);
    free(rows->module_ids);
    mp_intern_free(&rows->frames);
    mp_intern_free(&rows->chains);
    memset(rows, 0, sizeof(*rows));
}
