/* Functions, places and stacks, numbered by their content. */
#include "record/stacks/store.h"

#include <string.h>

#include "record/stacks/python.h"

#include "base/poison.h"

void store_open(struct stack_store *store)
{
    memset(store, 0, sizeof(*store));
    pthread_mutex_init(&store->lock, NULL);
}

void store_close(struct stack_store *store)
{
    mp_intern_free(&store->codes);
    mp_intern_free(&store->modules);
    mp_intern_free(&store->places);
    mp_intern_free(&store->stacks);
}

/* Under the lock. */
static uint32_t number(struct mp_intern *pool, const void *data, size_t bytes, bool has_room)
{
    return has_room ? mp_intern_add(pool, data, bytes) : mp_intern_find(pool, data, bytes);
}

static uint32_t number_code(struct mp_intern *codes, const struct stored_code *code, size_t max)
{
    size_t bytes = sizeof *code + code->name_bytes + code->file_bytes + code->table_bytes;

    return number(codes, code, bytes, mp_intern_bytes(codes) + bytes <= max);
}

uint32_t store_code(struct stack_store *store, struct stored_code *code)
{
    pthread_mutex_lock(&store->lock);
    uint32_t id = number_code(&store->codes, code, STORE_MAX_TABLES);
    if (!id) {
        code->table_bytes = 0;
        code->lines = LINE_TABLE_NONE;
        id = number_code(&store->codes, code, STORE_MAX_CODE);
    }
    pthread_mutex_unlock(&store->lock);
    if (!id)
        atomic_fetch_add_explicit(&store->lost, 1, memory_order_relaxed);
    return id;
}

uint32_t store_module(struct stack_store *store, const void *module, size_t bytes)
{
    pthread_mutex_lock(&store->lock);
    uint32_t id = number(&store->modules, module, bytes, store->modules.count < STORE_MAX_MODULES);
    pthread_mutex_unlock(&store->lock);
    return id;
}

static uint32_t number_stack(struct stack_store *store, uint32_t caller, uint64_t place)
{
    struct stored_stack key = {caller, 0};

    key.place =
        number(&store->places, &place, sizeof(place), store->places.count < STORE_MAX_PLACES);
    return key.place
               ? number(&store->stacks, &key, sizeof(key), store->stacks.count < STORE_MAX_STACKS)
               : 0;
}

uint32_t store_stack(struct stack_store *store, const uint64_t *places, uint32_t count)
{
    uint32_t stack = 0;

    pthread_mutex_lock(&store->lock);
    while (count) {
        stack = number_stack(store, stack, places[--count]);
        if (!stack)
            break;
    }
    pthread_mutex_unlock(&store->lock);
    if (!stack)
        atomic_fetch_add_explicit(&store->lost, 1, memory_order_relaxed);
    return stack;
}

/* Copies what a number stands for; zeroes if there is nothing. */
static void get(struct stack_store *store, const struct mp_intern *pool, uint32_t id, void *to,
                size_t bytes)
{
    memset(to, 0, bytes);
    pthread_mutex_lock(&store->lock);
    const char *data = mp_intern_get(pool, id, NULL);
    if (data)
        memcpy(to, data, bytes);
    pthread_mutex_unlock(&store->lock);
}

struct stored_stack store_stack_get(struct stack_store *store, uint32_t stack)
{
    struct stored_stack found;

    get(store, &store->stacks, stack, &found, sizeof(found));
    return found;
}

uint64_t store_place_get(struct stack_store *store, uint32_t place)
{
    uint64_t found;

    get(store, &store->places, place, &found, sizeof(found));
    return found;
}

static const void *get_in_place(struct stack_store *store, const struct mp_intern *pool,
                                uint32_t id)
{
    pthread_mutex_lock(&store->lock);
    const char *data = mp_intern_get(pool, id, NULL);
    pthread_mutex_unlock(&store->lock);
    return data;
}

const struct stored_code *store_code_get(struct stack_store *store, uint32_t code)
{
    return get_in_place(store, &store->codes, code);
}

const struct stored_module *store_module_get(struct stack_store *store, uint32_t module)
{
    return get_in_place(store, &store->modules, module);
}
