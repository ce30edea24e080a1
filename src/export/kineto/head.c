/* What stands around the events: properties of the GPUs, the rank, and where the times begin. HTA
 * looks for `"rank": N` line by line, so it stands near the beginning, with the space. */
#include <string.h>

#include "export/kineto/state.h"

#include "base/poison.h"

#define FILE_LINES 2 /* levels of the document whose items have lines of their own */
#define DAY_NS     (UINT64_C(86400) * 1000000000)

/* The midnight (UTC) before the first record of all processes. */
static uint64_t base_time(const struct export_process *process)
{
    return process->set->first_time - process->set->first_time % DAY_NS;
}

static void write_device(struct json_writer *json, const struct kineto *kineto,
                         const struct mp_row_device *device)
{
    const struct trace_process *who = kineto->process->who;
    const char *name = NULL;

    for (size_t i = 0; i < who->device_count; i++) {
        if (who->devices[i].ordinal == device->id)
            name = who->devices[i].name;
    }
    JSON_OBJECT(
        json, FACT("id", device->id), FACT("name", name), FACT("totalGlobalMem", device->memory),
        FACT("computeMajor", device->compute_major), FACT("computeMinor", device->compute_minor),
        FACT("maxThreadsPerBlock", device->block_threads),
        FACT("maxThreadsPerMultiprocessor", device->sm_warps * device->warp_threads),
        FACT("regsPerBlock", device->block_registers), FACT("warpSize", device->warp_threads),
        FACT("sharedMemPerBlock", device->block_shared_memory),
        FACT("numSms", device->multiprocessors),
        FACT("regsPerMultiprocessor", device->sm_registers),
        FACT("sharedMemPerMultiprocessor", device->sm_shared_memory));
}

static void write_devices(struct json_writer *json, const struct kineto *kineto)
{
    json_key_array(json, "deviceProperties");
    for (size_t i = 0; i < kineto->facts.device_count; i++)
        write_device(json, kineto, &kineto->facts.devices[i]);
    json_close_array(json);
}

uint64_t kineto_rank(const struct trace_set *set, size_t number)
{
    uint64_t rank = set->processes[number].rank;

    return rank == TRACE_SET_UNKNOWN ? number : rank;
}

static void write_facts(struct json_writer *json, const struct kineto *kineto)
{
    const struct export_process *process = kineto->process;
    const struct trace_process *who = process->who;
    uint64_t rank = kineto_rank(process->set, (size_t)(who - process->set->processes));
    uint64_t size = process->set->count > rank ? process->set->count : rank + 1;

    JSON_FACTS(json, FACT("schemaVersion", UINT64_C(1)));
    write_devices(json, kineto);
    JSON_KEY_OBJECT(json, "distributedInfo", FACT("rank", rank), FACT("world_size", size));
    JSON_FACTS(json, FACT("host_name", who->host), FACT("command", who->command),
               FACT("pid", kineto->pid), FACT("miniprof_version", (const char *)MP_VERSION),
               FACT("dropped_records", who->dropped), FACT("displayTimeUnit", (const char *)"ms"),
               FACT("baseTimeNanoseconds", base_time(process)));
}

void kineto_write_head(struct kineto *kineto)
{
    FILE *out = kineto->events.out;

    kineto->events.shift = kineto->process->who->offset - base_time(kineto->process);
    if (kineto->plain) {
        fputc('[', out);
        return;
    }
    json_open_document(&kineto->json, out, FILE_LINES);
    write_facts(&kineto->json, kineto);
    json_key_array(&kineto->json, "traceEvents");
}

void kineto_write_tail(struct kineto *kineto)
{
    events_flush(&kineto->events);
    fputc('\n', kineto->events.out);
    if (kineto->plain) {
        fputs("]\n", kineto->events.out);
        return;
    }
    json_close_array(&kineto->json);
    JSON_FACTS(&kineto->json, FACT("traceName", kineto->process->who->path));
    json_close_document(&kineto->json);
}
