/* Gives dense numbers to what rows refer to. Every kernel record passes through two functions,
 * dictionary_shape and dictionary_stream. They first try what came up last time.
 */
#include "record/names/dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/data/storage.h"
#include "record/core/thread.h"

#include "base/poison.h"

#define MAX_THREADS 65536u /* threads that have numbers; a bound for tids that never repeat */

#define MAX_DEVICES       64u
#define MAX_CONTEXTS      1024u
#define MAX_STREAMS       16384u
#define DEVICE_NAME_BYTES 128u

/* ---- Strings, which all others refer to ---- */

uint32_t dictionary_intern(struct dictionary *dictionary, struct mp_intern *pool, const void *data,
                           size_t bytes, bool *is_new)
{
    uint32_t before = pool->count;
    uint32_t id = mp_intern_add(pool, data, bytes);

    *is_new = id > before;
    dictionary->failures += !id;
    return id;
}

uint32_t dictionary_string(struct dictionary *dictionary, const char *text)
{
    return dictionary_text(dictionary, text, text ? strlen(text) : 0);
}

uint32_t dictionary_text(struct dictionary *dictionary, const char *text, size_t length)
{
    bool is_new;

    if (!length)
        return 0;
    uint32_t id = dictionary_intern(dictionary, &dictionary->strings, text, length, &is_new);
    if (is_new)
        mp_append_string(
            dictionary->writer,
            &(struct mp_row_string){.id = id, .text = {.bytes = text, .length = (uint32_t)length}});
    return id;
}

/* ---- Devices, contexts and streams ----
 *
 * CUPTI reports each of them once, when it is created, and a cut of the file discards their rows
 * too. So they are kept here and appended again after the cut. The store is bounded: rows beyond
 * the bound are written, but not repeated after a cut. */

struct device_fact {
    struct mp_row_device row; /* without its name, a string whose id changes */
    char name[DEVICE_NAME_BYTES];
};

struct kept_definitions {
    struct device_fact devices[MAX_DEVICES];
    struct mp_row_context_info contexts[MAX_CONTEXTS];
    struct mp_row_stream_info streams[MAX_STREAMS];
    uint32_t device_count, context_count, stream_count;
};

static void append_device(struct dictionary *dictionary, const struct device_fact *device)
{
    struct mp_row_device row = device->row;

    row.name = dictionary_string(dictionary, device->name);
    mp_append_device(dictionary->writer, &row);
}

static void append_kept_definitions(struct dictionary *dictionary)
{
    const struct kept_definitions *definitions = dictionary->definitions;

    for (uint32_t i = 0; i < definitions->device_count; i++)
        append_device(dictionary, &definitions->devices[i]);
    for (uint32_t i = 0; i < definitions->context_count; i++)
        mp_append_context_info(dictionary->writer, &definitions->contexts[i]);
    for (uint32_t i = 0; i < definitions->stream_count; i++)
        mp_append_stream_info(dictionary->writer, &definitions->streams[i]);
}

static uint64_t big_endian(const uint8_t *bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < 8; i++)
        value = value << 8 | bytes[i];
    return value;
}

static void note_device(struct device_fact *fact, const struct record_device *device)
{
    fact->row = (struct mp_row_device){
        .id = device->id,
        .uuid_high = big_endian(device->uuid),
        .uuid_low = big_endian(device->uuid + 8),
        .compute_major = device->compute_major,
        .compute_minor = device->compute_minor,
        .multiprocessors = device->multiprocessors,
        .core_clock = device->core_clock,
        .memory = device->memory,
        .memory_bandwidth = device->memory_bandwidth,
        .l2_cache = device->l2_cache,
        .warp_threads = device->warp_threads,
        .sm_warps = device->sm_warps,
        .sm_blocks = device->sm_blocks,
        .sm_shared_memory = device->sm_shared_memory,
        .sm_registers = device->sm_registers,
        .block_shared_memory = device->block_shared_memory,
        .block_registers = device->block_registers,
        .block_threads = device->block_threads,
    };
    if (device->name) {
        size_t length = strnlen(device->name, sizeof(fact->name) - 1);

        memcpy(fact->name, device->name, length);
        fact->name[length] = '\0';
    }
}

void dictionary_device(struct dictionary *dictionary, const struct record_device *device)
{
    struct kept_definitions *definitions = dictionary->definitions;
    struct device_fact fact = {0};

    for (uint32_t i = 0; i < definitions->device_count; i++)
        if (definitions->devices[i].row.id == device->id)
            return; /* CUPTI repeats devices when another context is made */
    note_device(&fact, device);
    if (definitions->device_count < MAX_DEVICES)
        definitions->devices[definitions->device_count++] = fact;
    append_device(dictionary, &fact);
}

/* What this version of CUPTI says of a green context. */
static void note_green(struct mp_row_context_info *row, const struct record_context *context,
                       uint32_t cupti_version)
{
    const struct record_context_2 *record = (const void *)context;

    if (cupti_version < MP_CUPTI_SINCE_GREEN_CONTEXTS || !record->is_green)
        return;
    row->parent = record->parent;
    if (cupti_version >= MP_CUPTI_SINCE_GREEN_SMS)
        row->multiprocessors = record->multiprocessors;
}

void dictionary_context(struct dictionary *dictionary, const struct record_context *context,
                        uint32_t cupti_version)
{
    struct kept_definitions *definitions = dictionary->definitions;
    struct mp_row_context_info row = {
        .context = context->context,
        .device = context->device,
        .null_stream = context->null_stream,
    };

    note_green(&row, context, cupti_version);
    if (definitions->context_count < MAX_CONTEXTS)
        definitions->contexts[definitions->context_count++] = row;
    mp_append_context_info(dictionary->writer, &row);
}

void dictionary_stream_info(struct dictionary *dictionary, const struct record_stream *stream)
{
    struct kept_definitions *definitions = dictionary->definitions;
    struct mp_row_stream_info row = {
        .stream = stream->stream,
        .context = stream->context,
        .priority = (uint64_t)(int64_t)(int32_t)stream->priority,
        .flag = stream->flag,
        .correlation = stream->correlation,
    };

    if (definitions->stream_count < MAX_STREAMS)
        definitions->streams[definitions->stream_count++] = row;
    mp_append_stream_info(dictionary->writer, &row);
}

uint32_t dictionary_device_of(const struct dictionary *dictionary, uint32_t context)
{
    const struct kept_definitions *definitions = dictionary->definitions;

    for (uint32_t i = definitions->context_count; i-- > 0;)
        if (definitions->contexts[i].context == context)
            return (uint32_t)definitions->contexts[i].device;
    return 0;
}

/* ---- Open, close, cut ---- */

enum mp_status dictionary_open(struct dictionary *dictionary, struct mp_writer *writer,
                               const struct api_set *api)
{
    memset(dictionary, 0, sizeof(*dictionary));
    dictionary->writer = writer;
    dictionary->api = api;
    dictionary->definitions = calloc(1, sizeof(*dictionary->definitions));
    return dictionary->definitions ? MP_OK : MP_ERR_MEMORY;
}

void dictionary_close(struct dictionary *dictionary)
{
    for (uint32_t i = 0; i < dictionary->thread_count; i++)
        free(dictionary->threads[i].name);
    free(dictionary->threads);
    free(dictionary->followers);
    mp_map_free(&dictionary->thread_index);
    mp_intern_free(&dictionary->strings);
    mp_intern_free(&dictionary->shapes);
    mp_intern_free(&dictionary->streams);
    mp_intern_free(&dictionary->nodes);
    free(dictionary->definitions);
    memset(dictionary, 0, sizeof(*dictionary));
}

void dictionary_restart(struct dictionary *dictionary)
{
    mp_intern_reset(&dictionary->strings);
    mp_intern_reset(&dictionary->shapes);
    mp_intern_reset(&dictionary->streams);
    mp_intern_reset(&dictionary->nodes);
    memset(dictionary->names, 0, sizeof(dictionary->names));
    memset(dictionary->functions, 0, sizeof(dictionary->functions));
    dictionary->function_ids = 0;
    dictionary->last_shape = 0;
    dictionary->last_stream = 0;
    dictionary->thread_ids = 0;
    for (uint32_t i = 0; i < dictionary->thread_count; i++)
        dictionary->threads[i].id = 0;
    append_kept_definitions(dictionary);
    if (dictionary->edges)
        edges_restart(dictionary->edges);
}

size_t dictionary_bytes(const struct dictionary *dictionary)
{
    return mp_intern_bytes(&dictionary->strings) + mp_intern_bytes(&dictionary->shapes) +
           mp_intern_bytes(&dictionary->streams) + mp_intern_bytes(&dictionary->nodes);
}

static uint32_t kernel_name(struct dictionary *dictionary, const char *name)
{
    struct name_memo *memo = &dictionary->names[mp_mix64((uintptr_t)name) & (NAME_CACHE_SLOTS - 1)];

    if (!name)
        return 0;
    if (memo->address == name && !strcmp(memo->text, name))
        return memo->id;
    memo->id = dictionary_string(dictionary, name);
    memo->text = mp_intern_get(&dictionary->strings, memo->id, NULL);
    memo->address = memo->text ? name : NULL;
    return memo->id;
}

static void define_shape(struct dictionary *dictionary, uint32_t id, const struct shape_key *key)
{
    mp_append_shape(dictionary->writer,
                    &(struct mp_row_shape){
                        .id = id,
                        .kernel = key->name,
                        .grid_x = (uint32_t)key->grid[0],
                        .grid_y = (uint32_t)key->grid[1],
                        .grid_z = (uint32_t)key->grid[2],
                        .block_x = (uint32_t)key->block[0],
                        .block_y = (uint32_t)key->block[1],
                        .block_z = (uint32_t)key->block[2],
                        .cluster_x = key->cluster[0],
                        .cluster_y = key->cluster[1],
                        .cluster_z = key->cluster[2],
                        .registers = key->registers,
                        .static_shared_memory = (uint32_t)key->static_shared_memory,
                        .dynamic_shared_memory = (uint32_t)key->dynamic_shared_memory,
                        .shared_memory_executed = key->shared_memory_executed,
                        .local_memory = key->local_memory,
                        .launch_type = key->launch_type,
                        .programmatic = key->programmatic,
                    });
}

/* Kernels come in sequences that repeat. So this first tries the shape that followed the last one
 * the time before, which saves hashing the key. */
static uint32_t find_shape(struct dictionary *dictionary, const struct shape_key *key)
{
    uint32_t last = dictionary->last_shape;
    uint32_t *guess = last < dictionary->follower_capacity ? &dictionary->followers[last] : NULL;
    const char *known = guess && *guess && *guess <= dictionary->shapes.count
                            ? mp_intern_get(&dictionary->shapes, *guess, NULL)
                            : NULL;
    bool is_new;

    if (known && !memcmp(known, key, sizeof(*key)))
        return *guess;
    uint32_t id = dictionary_intern(dictionary, &dictionary->shapes, key, sizeof(*key), &is_new);
    if (is_new)
        define_shape(dictionary, id, key);
    while (is_new && dictionary->follower_capacity <= id &&
           mp_double(&dictionary->followers, &dictionary->follower_capacity,
                     sizeof(*dictionary->followers)))
        continue;
    if (last < dictionary->follower_capacity)
        dictionary->followers[last] = id;
    return id;
}

uint32_t dictionary_shape(struct dictionary *dictionary, const struct record_kernel *kernel,
                          bool programmatic)
{
    struct shape_key key = {
        .name = kernel_name(dictionary, kernel->name),
        .registers = kernel->registers,
        .static_shared_memory = kernel->static_shared_memory,
        .dynamic_shared_memory = kernel->dynamic_shared_memory,
        .shared_memory_executed = kernel->shared_memory_executed,
        .local_memory = kernel->local_memory_per_thread,
        .launch_type = kernel->launch_type,
        .programmatic = programmatic,
    };

    memcpy(key.grid, kernel->grid, sizeof(key.grid));
    memcpy(key.block, kernel->block, sizeof(key.block));
    memcpy(key.cluster, kernel->cluster, sizeof(key.cluster));
    dictionary->last_shape = find_shape(dictionary, &key);
    return dictionary->last_shape;
}

uint32_t dictionary_stream(struct dictionary *dictionary, uint32_t device, uint32_t context,
                           uint32_t stream)
{
    struct stream_key key = {device, context, stream};
    bool is_new;

    if (dictionary->last_stream && !memcmp(&dictionary->last_stream_key, &key, sizeof(key)))
        return dictionary->last_stream;
    uint32_t id = dictionary_intern(dictionary, &dictionary->streams, &key, sizeof(key), &is_new);
    if (is_new)
        mp_append_stream(dictionary->writer,
                         &(struct mp_row_stream){
                             .id = id, .stream = stream, .context = context, .device = device});
    dictionary->last_stream_key = key;
    dictionary->last_stream = id;
    return id;
}

uint32_t dictionary_node(struct dictionary *dictionary, uint32_t graph, uint64_t node,
                         uint64_t correlation)
{
    struct node_key key = {node, graph};
    bool is_new;

    if (!node)
        return 0;
    if (dictionary->edges)
        key.graph = edges_number(dictionary->edges, graph, correlation);
    uint32_t id = dictionary_intern(dictionary, &dictionary->nodes, &key, sizeof(key), &is_new);
    if (!is_new)
        return id;
    if (dictionary->edges)
        edges_append(dictionary->edges, dictionary->writer, key.graph);
    mp_append_node(dictionary->writer,
                   &(struct mp_row_node){.id = id, .graph = key.graph, .graph_node = node});
    return id;
}

/* The thread with this tid, made if new; NULL without memory. */
static struct thread_fact *find_thread(struct dictionary *dictionary, uint32_t tid)
{
    uint32_t index = mp_map_get(&dictionary->thread_index, tid);

    if (index != MP_MAP_ABSENT)
        return &dictionary->threads[index];
    index = dictionary->thread_count;
    if (index >= MAX_THREADS ||
        (index == dictionary->thread_capacity &&
         !mp_double(&dictionary->threads, &dictionary->thread_capacity,
                    sizeof(*dictionary->threads))) ||
        mp_map_put(&dictionary->thread_index, tid, index) != MP_OK)
        return NULL;
    struct thread_fact *thread = &dictionary->threads[dictionary->thread_count++];
    *thread = (struct thread_fact){.tid = tid};
    return thread;
}

/* Takes the name that the system has for a thread (prctl(2), PR_SET_NAME), which NVTX has given
 * none. Whether it is another one than before. */
static bool ask_for_name(struct thread_fact *thread)
{
    char text[64];

    if (thread->given || thread->ended)
        return false;
    ssize_t length = thread_proc_read(thread->tid, "comm", text, sizeof text);
    thread->ended = length < 0;
    if (length > 0 && text[length - 1] == '\n')
        text[length - 1] = '\0';
    if (length <= 0 || (thread->name && !strcmp(thread->name, text)))
        return false;
    char *name = strdup(text);
    if (!name)
        return false;
    free(thread->name);
    thread->name = name;
    return true;
}

static void define_thread(struct dictionary *dictionary, const struct thread_fact *thread)
{
    uint32_t name = dictionary_string(dictionary, thread->name);

    mp_append_thread(dictionary->writer,
                     &(struct mp_row_thread){.id = thread->id, .tid = thread->tid, .name = name});
}

uint32_t dictionary_thread(struct dictionary *dictionary, uint32_t tid)
{
    struct thread_fact *thread;

    if (dictionary->last_thread < dictionary->thread_count &&
        dictionary->threads[dictionary->last_thread].tid == tid)
        thread = &dictionary->threads[dictionary->last_thread];
    else
        thread = find_thread(dictionary, tid);
    if (!thread) {
        dictionary->failures++;
        return 0;
    }
    dictionary->last_thread = (uint32_t)(thread - dictionary->threads);
    if (!thread->id) {
        thread->id = ++dictionary->thread_ids;
        ask_for_name(thread);
        define_thread(dictionary, thread);
    }
    return thread->id;
}

void dictionary_name_thread(struct dictionary *dictionary, uint32_t tid, const char *name)
{
    struct thread_fact *thread = find_thread(dictionary, tid);
    char *copy = strdup(name);

    if (!thread || !copy) {
        free(copy);
        dictionary->failures++;
        return;
    }
    free(thread->name);
    thread->name = copy;
    thread->given = true;
    if (thread->id)
        define_thread(dictionary, thread);
}

void dictionary_refresh_threads(struct dictionary *dictionary)
{
    for (uint32_t i = 0; i < dictionary->thread_count; i++) {
        struct thread_fact *thread = &dictionary->threads[i];

        if (thread->id && ask_for_name(thread))
            define_thread(dictionary, thread);
    }
}

uint32_t dictionary_function(struct dictionary *dictionary, unsigned api, uint32_t cbid)
{
    if (api >= API_COUNT || cbid >= API_CBIDS)
        return 0;
    uint32_t *id = &dictionary->functions[api][cbid];
    if (*id)
        return *id;
    const char *name = dictionary->api->names[api][cbid];
    *id = ++dictionary->function_ids;
    mp_append_function(
        dictionary->writer,
        &(struct mp_row_function){
            .id = *id, .api = api, .cbid = cbid, .name = dictionary_string(dictionary, name)});
    return *id;
}
