/* The format's hooks: one sequence of packets for each process, in one file or each in a member of
 * a .zip, whose manifest says on which machines they ran.
 */
#include "export/perfetto/build.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/data/storage.h"
#include "base/text/json.h"
#include "base/text/strings.h"

#include "base/poison.h"

#define PIDS (UINT64_C(1) << 22) /* Linux's maximum of pid_max */

/* ---- Begin ---- */

static enum mp_status say(const struct perfetto *perfetto, enum mp_status status,
                          struct mp_error *error)
{
    if (status == MP_OK)
        return MP_OK;
    if (perfetto->zip.why)
        return mp_error_set(error, status, "%s", perfetto->zip.why);
    if (status == MP_ERR_IO)
        return mp_error_set(error, status, "cannot write: %m");
    return mp_error_set(error, status, "cannot export: %s", mp_status_name(status));
}

static enum mp_status begin(void *state, FILE *out, const char *path, size_t processes,
                            struct mp_error *error)
{
    struct perfetto *perfetto = state;

    (void)processes;
    perfetto->packets.out = out;
    perfetto->next_event = 1;
    perfetto->zipped = path && mp_text_ends_with(path, ".zip");
    if (!perfetto->zipped)
        return MP_OK;
    perfetto->packets.zip = &perfetto->zip;
    return say(perfetto, zip_begin(&perfetto->zip, out), error);
}

/* ---- A process ---- */

/* Two processes of different hosts may have one pid, but in one file they are one to Perfetto. */
static enum mp_status choose_pid(struct perfetto *perfetto, const struct trace_process *who)
{
    uint64_t pid = who->pid == TRACE_SET_UNKNOWN ? perfetto->process.of->number + 1 : who->pid;
    uint64_t key = pid;

    if (perfetto->zipped && who->host)
        key ^= mp_hash64(who->host, strlen(who->host), 0) << 23;
    uint32_t before = mp_map_get(&perfetto->pids, key);
    before = before == MP_MAP_ABSENT ? 0 : before;
    perfetto->process.pid = (pid + before * PIDS) & INT32_MAX;
    return mp_map_put(&perfetto->pids, key, before + 1);
}

static void choose_name(struct process *process, const struct trace_process *who)
{
    const char *command = who->command ? who->command : who->path ? who->path : "process";

    if (process->of->count > 1 && who->label)
        snprintf(process->name, sizeof process->name, "%s: %s", who->label, command);
    else
        snprintf(process->name, sizeof process->name, "%s", command);
}

/* `rank 3` becomes `0-rank-3.pftrace`. */
static enum mp_status begin_member(struct perfetto *perfetto, const struct trace_process *who)
{
    struct member *member;

    MP_TRY(mp_reserve((void **)&perfetto->members, perfetto->member_count,
                      &perfetto->member_capacity, sizeof *member));
    member = &perfetto->members[perfetto->member_count++];
    int length = snprintf(member->name, sizeof member->name, "%zu-%.96s.pftrace",
                          perfetto->process.of->number, who->label ? who->label : "trace");
    for (int i = 0; i < length; i++) {
        if (!isalnum((unsigned char)member->name[i]) && member->name[i] != '.')
            member->name[i] = '-';
    }
    snprintf(member->machine, sizeof member->machine, "%s",
             who->host && *who->host ? who->host : "unknown host");
    return zip_member(&perfetto->zip, member->name);
}

/* Writes which work a call launched, and which it waited for. */
static void correlate(void *context, uint32_t activity)
{
    struct perfetto *perfetto = context;
    struct links *links = &perfetto->process.links;
    struct mp_buffer *bytes = &perfetto->packets.bytes;
    size_t count;
    const uint32_t *launched = links_launched(links, activity, &count);

    if (links_awaited_by_call(links, activity))
        bytes->status = MP_ERR_MEMORY;
    if (!count && !links->found_count)
        return;
    size_t at = proto_begin(bytes, EVENT_GPU_CORRELATION);
    for (size_t i = 0; i < count; i++)
        proto_uint(bytes, CORRELATION_SUBMITTED, links->first + launched[i]);
    for (size_t i = 0; i < links->found_count; i++)
        proto_uint(bytes, CORRELATION_AWAITED, links->first + links->found[i]);
    proto_end(bytes, at);
}

static enum mp_status set_up(struct perfetto *perfetto, const struct export_process *of,
                             struct mp_error *error)
{
    struct process *process = &perfetto->process;
    const struct trace_process *who = of->who;
    const struct export_analyses *analyses = export_rows_analyses(of->rows);

    perfetto->begun = true;
    *process = (struct process){.of = of,
                                .first_number = of->number * PROCESS_NUMBERS,
                                .free_size = DEPS_NONE,
                                .analyses = analyses && analyses->known ? analyses : NULL};
    process->slices = (struct slices){.packets = &perfetto->packets,
                                      .next_uuid = process->first_number + 1,
                                      .correlate = correlate,
                                      .context = perfetto};
    MP_TRY(choose_pid(perfetto, who));
    choose_name(process, who);
    if (perfetto->zipped)
        MP_TRY(begin_member(perfetto, who));
    MP_TRY(links_init(&process->links, process->analyses ? &analyses->deps : NULL,
                      perfetto->next_event));
    packets_begin(&perfetto->packets, of->number + 1, who->offset,
                  who->clock && !strcmp(who->clock, "monotonic"), who->first_time);
    MP_TRY(gpus_load(perfetto));
    MP_TRY(callers_begin(perfetto, error));
    MP_TRY(ranks_operations_load(of->trace, &process->operations, error));
    host_begin(perfetto);
    gpu_begin(perfetto);
    return perfetto->packets.status;
}

static void free_process(struct perfetto *perfetto)
{
    struct process *process = &perfetto->process;

    if (!perfetto->begun)
        return;
    perfetto->begun = false;
    ranks_operations_free(perfetto->process.operations);
    perfetto->next_event = process->links.next;
    host_free(process);
    counters_free(process);
    callers_free(process);
    links_free(&process->links);
    dense_free(&process->devices);
    free(process->contexts.bits);
    free(process->queues.bits);
    mp_map_free(&process->launches);
    free(process->launch);
    mp_buffer_free(&process->encoded);
    packets_forget(&perfetto->packets);
}

static enum mp_status process(void *state, const struct export_process *of, struct mp_error *error)
{
    struct perfetto *perfetto = state;

    return say(perfetto, set_up(perfetto, of, error), error);
}

static enum mp_status row(void *state, const struct export_row *row)
{
    struct perfetto *perfetto = state;

    switch ((int)row->kind) {
    case EXPORT_KERNEL:
    case EXPORT_COPY:
    case EXPORT_SET:
    case EXPORT_GRAPH:
        return row->place ? gpu_row(perfetto, row) : MP_OK;
    case EXPORT_HOST_FUNCTION:
        MP_TRY(row->place ? gpu_row(perfetto, row) : MP_OK);
        break;
    case EXPORT_MEMORY:
    case EXPORT_METRIC:
        MP_TRY(counters_row(perfetto, row));
        break;
    default:
        break;
    }
    MP_TRY(host_row(perfetto, row));
    return perfetto->packets.status;
}

static enum mp_status process_end(void *state, struct mp_error *error)
{
    struct perfetto *perfetto = state;
    enum mp_status status = host_end(perfetto);

    if (status == MP_OK)
        status = counters_samples(perfetto, error);
    if (status == MP_OK)
        status = insights_write(perfetto, error);
    if (status == MP_OK)
        status = packets_flush(&perfetto->packets);
    free_process(perfetto);
    return say(perfetto, status, error);
}

/* ---- End ---- */

/* Perfetto's page on merging: files of one machine share its clocks; CLOCK_REALTIME is that of all
 * of them. */
static void list_members(const struct perfetto *perfetto, FILE *out)
{
    struct json_writer json;

    json_open_document(&json, out, 3);
    json_key_object(&json, "perfetto_manifest");
    JSON_FACTS(&json, FACT("version", UINT64_C(1)));
    JSON_KEY_OBJECT(&json, "trace_time", FACT("clock", "REALTIME"));
    json_key_array(&json, "files");
    for (size_t i = 0; i < perfetto->member_count; i++) {
        json_open_object(&json);
        JSON_FACTS(&json, FACT("path", (const char *)perfetto->members[i].name));
        JSON_KEY_OBJECT(&json, "machine", FACT("name", (const char *)perfetto->members[i].machine));
        json_close_object(&json);
    }
    json_close_array(&json);
    json_close_object(&json);
    json_close_document(&json);
}

static enum mp_status write_manifest(struct perfetto *perfetto)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = memory_file_open(&text, &bytes);
    enum mp_status status = MP_ERR_MEMORY;

    if (out) {
        list_members(perfetto, out);
        status = fclose(out) ? MP_ERR_MEMORY : zip_member(&perfetto->zip, "perfetto_manifest.json");
    }
    if (status == MP_OK)
        status = zip_write(&perfetto->zip, text, bytes);
    free(text);
    return status;
}

static enum mp_status end(void *state, struct mp_error *error)
{
    struct perfetto *perfetto = state;
    enum mp_status status = packets_flush(&perfetto->packets);

    if (status == MP_OK && perfetto->zipped) {
        status = write_manifest(perfetto);
        if (status == MP_OK)
            status = zip_end(&perfetto->zip);
    }
    return say(perfetto, status, error);
}

static void release(void *state)
{
    struct perfetto *perfetto = state;

    free_process(perfetto);
    packets_free(&perfetto->packets);
    zip_free(&perfetto->zip);
    mp_map_free(&perfetto->pids);
    free(perfetto->gpus);
    free(perfetto->members);
}

const struct export_format export_perfetto = {
    .key = "perfetto",
    .suffix = ".pftrace",
    .help = "Perfetto's UI and trace processor; -o NAME.zip: each process in a file of its own",
    .state_bytes = sizeof(struct perfetto),
    .analyses = true,
    .begin = begin,
    .process = process,
    .row = row,
    .process_end = process_end,
    .end = end,
    .release = release,
};
