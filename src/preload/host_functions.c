/* Host functions that the driver calls by way of this library: what is known of each, and the
 * functions that time them.
 *
 * A function in a stream runs once, so its record is freed before it runs: it may never return. A
 * function in a graph, and in all copies of the graph, runs with each launch. Nobody tells when the
 * last copy is gone, so its record stays. There are at most HOST_RECORDS_KEPT of them, one for each
 * call that gives a function to a node. Beyond that number the program's own functions go to the
 * driver, and are counted.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "preload/host_calls.h"
#include "preload/slots.h"
#include "preload/waits.h"

#include "base/poison.h"

#define HOST_RECORDS_KEPT 65536u /* 6 MiB */

struct host_record {
    struct mp_preload_host_function about;
    void *function; /* the program's */
    void *data;
    bool kept;
    struct host_record *next; /* of those that are kept */
};

/* In the static TLS block: this library is there from the start. */
static _Thread_local
    __attribute__((tls_model("initial-exec"))) struct mp_preload_host_function *launching;
static struct host_record *_Atomic kept_records;
static struct host_record *_Atomic spare_record; /* a kept one that the driver has refused */
static atomic_uint kept_count;

static struct mp_preload_host_function *get_launching(void)
{
    return launching;
}

__attribute__((constructor)) static void offer(void)
{
    miniprof_preload.launching = get_launching;
}

void host_record_launching(struct host_record *record)
{
    launching = record ? &record->about : NULL;
}

static void keep(struct host_record *record)
{
    record->next = atomic_load(&kept_records);
    while (!atomic_compare_exchange_weak(&kept_records, &record->next, record))
        continue;
}

static struct host_record *make(bool kept)
{
    struct host_record *record = kept ? atomic_exchange(&spare_record, NULL) : NULL;

    if (record)
        return record;
    if (kept && atomic_fetch_add(&kept_count, 1) >= HOST_RECORDS_KEPT) {
        atomic_fetch_sub(&kept_count, 1);
        return NULL;
    }
    record = calloc(1, sizeof(*record));
    if (record && kept)
        keep(record);
    return record;
}

struct host_record *host_record_new(void *function, void *data, bool kept)
{
    struct host_record *record = make(kept);

    if (!record) {
        atomic_fetch_add(&miniprof_preload.host_functions_lost, 1);
        return NULL;
    }
    record->about = (struct mp_preload_host_function){.function = (uintptr_t)function};
    record->function = function;
    record->data = data;
    record->kept = kept;
    return record;
}

void host_record_drop(struct host_record *record)
{
    if (!record->kept)
        free(record);
    else
        atomic_store(&spare_record, record);
}

void *host_record_function(const struct host_record *record)
{
    return record->function;
}

void *host_record_data(const struct host_record *record)
{
    return record->data;
}

void host_record_replaces(struct host_record *record, uint64_t handle)
{
    record->about.handle = handle;
    for (const struct host_record *r = atomic_load(&kept_records); r; r = r->next)
        if (r != record && r->about.handle == handle) {
            record->about.node = r->about.node;
            return;
        }
}

static void report(struct mp_preload_host_function *about)
{
    void (*tell)(const struct mp_preload_host_function *function) =
        atomic_load(&miniprof_preload.host_function);

    about->end = moments_now();
    if (tell)
        tell(about);
}

void host_record_run(void *data)
{
    struct host_record record = *(struct host_record *)data;
    host_function *function = NULL;

    *(void **)&function = record.function;
    if (!record.kept)
        free(data);
    record.about.begin = moments_now();
    function(record.data);
    report(&record.about);
}

void host_record_call_back(void *stream, int status, void *data)
{
    struct host_record record = *(struct host_record *)data;
    host_callback *callback = NULL;

    *(void **)&callback = record.function;
    if (!record.kept)
        free(data);
    record.about.begin = moments_now();
    callback(stream, status, record.data);
    report(&record.about);
}
