/* Dense numbers for what rows refer to: strings, shapes, graph nodes, streams, threads, functions.
 *
 * The writer gives a number at the first use and appends its definition row at once, before the row
 * that uses it. A cut of the file starts all numbers anew. What CUPTI reports only once (devices,
 * contexts, streams) and the names of threads are kept here and defined again.
 *
 * Owned by the writer thread. A function answers 0, "none", when memory is out. The row is then
 * written without the reference, and `failures` counts that.
 */
#ifndef MP_RECORD_NAMES_DICTIONARY_H
#define MP_RECORD_NAMES_DICTIONARY_H

#include <stdint.h>

#include "base/data/map.h"
#include "record/cupti/api_set.h"
#include "record/cupti/layout.h"
#include "record/graphs/edges.h"
#include "trace/writer.h"

#define NAME_CACHE_SLOTS 1024u /* kernel names by address; a power of two */

/* A kernel name that was seen at an address. CUPTI shares one string among all records of a kernel,
 * but may reuse its memory for another name later. So the text is compared at each use. */
struct name_memo {
    const char *address;
    const char *text; /* our copy */
    uint32_t id;
};

/* A launch shape as it is looked up: all of it is the key, so it has no padding. */
struct shape_key {
    uint32_t name;
    int32_t grid[3];
    int32_t block[3];
    uint32_t cluster[3];
    uint32_t registers;
    int32_t static_shared_memory;
    int32_t dynamic_shared_memory;
    uint32_t shared_memory_executed;
    uint32_t local_memory;
    uint32_t launch_type;
    uint32_t programmatic;
};
_Static_assert(sizeof(struct shape_key) == 68, "no padding: compared as bytes");

struct stream_key {
    uint32_t device, context, stream;
};

struct node_key {
    uint64_t node;
    uint64_t graph;
};

struct thread_fact {
    uint32_t tid;
    uint32_t id; /* 0 until used */
    char *name;  /* NULL until named */
    bool given;  /* by NVTX, which counts more than the system's name */
    bool ended;  /* the system knows it no longer */
};

struct kept_definitions; /* rows that have to be defined again after a cut */

struct dictionary {
    struct mp_writer *writer;
    const struct api_set *api;
    struct mp_intern strings, shapes, streams, nodes;
    struct name_memo names[NAME_CACHE_SLOTS];
    uint32_t *followers; /* by shape id: the shape that came after it last time */
    uint32_t follower_capacity;
    uint32_t last_shape;
    struct stream_key last_stream_key;
    uint32_t last_stream;
    struct mp_map thread_index; /* tid -> position in threads */
    struct thread_fact *threads;
    uint32_t thread_count, thread_capacity;
    uint32_t thread_ids; /* given */
    uint32_t last_thread;
    uint32_t functions[API_COUNT][API_CBIDS];
    uint32_t function_ids;
    struct kept_definitions *definitions;
    struct edge_store *edges; /* of graphs; NULL without */
    uint64_t failures;
};

enum mp_status dictionary_open(struct dictionary *dictionary, struct mp_writer *writer,
                               const struct api_set *api);
void dictionary_close(struct dictionary *dictionary);

/* The file was cut: forgets all numbers, then appends again what is known for good. */
void dictionary_restart(struct dictionary *dictionary);

/* Memory that the numbers take, in bytes. */
size_t dictionary_bytes(const struct dictionary *dictionary);

/* The id of `data` in `pool`, and whether it is new. */
uint32_t dictionary_intern(struct dictionary *dictionary, struct mp_intern *pool, const void *data,
                           size_t bytes, bool *is_new);

/* Id of a string; 0 for NULL and "". */
uint32_t dictionary_string(struct dictionary *dictionary, const char *text);

/* The same for a text of `length` bytes without a zero. */
uint32_t dictionary_text(struct dictionary *dictionary, const char *text, size_t length);

/* `programmatic`: the launch may overlap the kernel before it. */
uint32_t dictionary_shape(struct dictionary *dictionary, const struct record_kernel *kernel,
                          bool programmatic);
uint32_t dictionary_stream(struct dictionary *dictionary, uint32_t device, uint32_t context,
                           uint32_t stream);

/* 0 outside graphs, when `node` is 0. The edges of a graph are written before its first node. If
 * two graphs had the same id one after the other, the launch's correlation id tells which one it
 * is. */
uint32_t dictionary_node(struct dictionary *dictionary, uint32_t graph, uint64_t node,
                         uint64_t correlation);
uint32_t dictionary_thread(struct dictionary *dictionary, uint32_t tid);
uint32_t dictionary_function(struct dictionary *dictionary, unsigned api, uint32_t cbid);

/* NVTX gave a thread a name: its definition row is appended again if it was written before. */
void dictionary_name_thread(struct dictionary *dictionary, uint32_t tid, const char *name);

/* Asks the system again for the names of threads, which they may have got since they were first
 * used. Some microseconds a thread, so only when the recording ends. */
void dictionary_refresh_threads(struct dictionary *dictionary);

/* What CUPTI reports once: appended now and after every cut. */
void dictionary_device(struct dictionary *dictionary, const struct record_device *device);
void dictionary_context(struct dictionary *dictionary, const struct record_context *context,
                        uint32_t cupti_version);
void dictionary_stream_info(struct dictionary *dictionary, const struct record_stream *stream);

/* The device of a context that CUPTI has reported; 0 for others. */
uint32_t dictionary_device_of(const struct dictionary *dictionary, uint32_t context);

#endif
