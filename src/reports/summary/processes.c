/* The processes of a set of traces as a table. Of each GPU's UUID it shows as much as is needed to
 * tell the GPUs apart.
 */
#include "reports/summary/print.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/ranks/print.h"

#include "base/poison.h"

#define WARNING_BYTES 320
#define UUID_BYTES    48

/* The part of a UUID that is shown: nvidia-smi's first group if that is enough. */
enum uuid_part { UUID_HEAD, UUID_TAIL, UUID_WHOLE };

/* ---- GPUs ---- */

/* `GPU-1234abcd`, `GPU-..1234abcd`, or all of it. */
static const char *format_uuid(const struct trace_set_device *device, enum uuid_part part,
                               char *text)
{
    uint64_t high = device->uuid_high;
    uint64_t low = device->uuid_low;

    if (part == UUID_HEAD)
        snprintf(text, UUID_BYTES, "GPU-%08" PRIx64, high >> 32);
    else if (part == UUID_TAIL)
        snprintf(text, UUID_BYTES, "GPU-..%08" PRIx64, low & 0xffffffffu);
    else
        snprintf(text, UUID_BYTES,
                 "GPU-%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
                 high >> 32, high >> 16 & 0xffff, high & 0xffff, low >> 48, low & 0xffffffffffffu);
    return text;
}

static bool has_uuid(const struct trace_set_device *device)
{
    return device->uuid_high || device->uuid_low;
}

/* A GPU: the part of its UUID that is shown, and the whole UUID. */
struct shown {
    uint64_t part;
    uint64_t high, low;
};

MP_COMPARE(compare_shown, struct shown,
           MP_ORDER(a->part, b->part) ?: MP_ORDER(a->high, b->high) ?: MP_ORDER(a->low, b->low));

/* Whether this part of the UUIDs tells all GPUs of the set apart. */
static bool is_enough(const struct trace_set *set, enum uuid_part part, struct shown *shown)
{
    size_t count = 0;

    for (size_t i = 0; i < set->count; i++) {
        for (size_t k = 0; k < set->processes[i].device_count; k++) {
            const struct trace_set_device *device = &set->processes[i].devices[k];
            uint64_t head = device->uuid_high >> 32;
            uint64_t tail = device->uuid_low & 0xffffffffu;

            shown[count++] = (struct shown){part == UUID_HEAD ? head : tail, device->uuid_high,
                                            device->uuid_low};
        }
    }
    if (count)
        qsort(shown, count, sizeof *shown, compare_shown);
    for (size_t i = 1; i < count; i++) {
        const struct shown *a = &shown[i - 1];
        const struct shown *b = &shown[i];

        if (a->part == b->part && (a->high != b->high || a->low != b->low))
            return false;
    }
    return true;
}

static enum mp_status choose_part(const struct trace_set *set, enum uuid_part *part)
{
    struct shown *shown;
    size_t count = 0;

    for (size_t i = 0; i < set->count; i++)
        count += set->processes[i].device_count;
    shown = calloc(count + 1, sizeof *shown);
    if (!shown)
        return MP_ERR_MEMORY;
    *part = is_enough(set, UUID_HEAD, shown)   ? UUID_HEAD
            : is_enough(set, UUID_TAIL, shown) ? UUID_TAIL
                                               : UUID_WHOLE;
    free(shown);
    return MP_OK;
}

/* `0: NVIDIA H100 (GPU-1234abcd), 1: ...` */
static enum mp_status list_devices(const struct trace_process *process, enum uuid_part part,
                                   struct mp_buffer *line)
{
    char uuid[UUID_BYTES];

    mp_buffer_clear(line);
    for (size_t i = 0; i < process->device_count; i++) {
        const struct trace_set_device *device = &process->devices[i];

        MP_TRY(mp_buffer_append_format(line, "%s%" PRIu64 ": %s", i ? ", " : "", device->ordinal,
                                       device->name ? device->name : "GPU"));
        if (has_uuid(device))
            MP_TRY(mp_buffer_append_format(line, " (%s)", format_uuid(device, part, uuid)));
    }
    return mp_buffer_append_byte(line, '\0');
}

/* ---- The table ---- */

struct process_line {
    const struct trace_process *process;
    const char *devices;
};

#define OF(member) THROUGH(struct process_line, process, member)

/* The column's value is a time of the process; the table is `of` the set. */
static struct report_cell since_cell(const void *at, struct report_table *table)
{
    const struct trace_process *process = ((const struct process_line *)at)->process;
    struct report_cell cell = report_value_cell(at, table);

    cell.number += process->offset - ((const struct trace_set *)table->of)->first_time;
    return process->first_time ? cell : report_absent_cell();
}

static const struct report_column columns[] = {
    COLUMN("File", NULL, TEXT, 8, OF(path), .left = true, .name = true),
    COLUMN("Host", NULL, TEXT, 4, OF(host), .left = true),
    COLUMN("Rank", NULL, ID, 4, OF(rank), UNLESS_MAX),
    COLUMN("Pid", NULL, ID, 7, OF(pid), UNLESS_MAX),
    COLUMN("First", NULL, TIME, 8, OF(first_time), .cell = since_cell, .moment = true, .drop = 1),
    COLUMN("Last", NULL, TIME, 8, OF(last_time), .cell = since_cell, .moment = true, .drop = 1),
    COLUMN("Records", NULL, COUNT, 9, OF(records)),
    COLUMN("Dropped", NULL, COUNT, 7, OF(dropped)),
    COLUMN("Bytes", NULL, COUNT, 9, OF(bytes), .unit = "B", .drop = 2),
    COLUMN("Devices", NULL, TEXT, 7, MEMBER(struct process_line, devices), .left = true, .drop = 3),
};

static enum mp_status each_process(struct report_table *table, report_take *take,
                                   const struct trace_set *set, enum uuid_part part)
{
    struct mp_buffer line = {.data = NULL};
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < set->count && status == MP_OK; i++) {
        const struct trace_process *process = &set->processes[i];

        status = list_devices(process, part, &line);
        if (status == MP_OK)
            take(table, &(struct process_line){
                            process, process->device_count ? (const char *)line.data : NULL});
    }
    mp_buffer_free(&line);
    return status;
}

/* What is missing, in words; an empty text when nothing is. */
static const char *describe(const struct trace_process *process, char text[WARNING_BYTES])
{
    char damage[WARNING_BYTES - 80];
    bool damaged = mp_damage_describe(&process->damage, damage, sizeof damage);

    *text = '\0';
    if (process->dropped)
        snprintf(text, WARNING_BYTES, "%s record%s lost while recording%s%s",
                 mp_count(process->dropped).text, process->dropped == 1 ? " was" : "s were",
                 damaged ? "; " : "", damaged ? damage : "");
    else if (damaged)
        snprintf(text, WARNING_BYTES, "%s", damage);
    return text;
}

static enum mp_status processes_print_table(const struct report_out *out,
                                            const struct trace_set *set, const struct ranks *ranks)
{
    struct report_table table;
    char text[WARNING_BYTES];
    enum uuid_part part;

    MP_TRY(choose_part(set, &part));
    for (size_t i = 0; i < set->count; i++) {
        if (*describe(&set->processes[i], text))
            print_process_warning(out, &set->processes[i], text);
    }
    if (set->count > 1)
        print_set_clocks(out, set);
    if (ranks)
        print_clock_offsets(out, set, ranks);
    report_open(&table, out, &(struct report_layout){REPORT_COLUMNS(columns), .of = set});
    enum mp_status status = each_process(&table, report_survey, set, part);
    report_header(&table);
    if (status == MP_OK)
        status = each_process(&table, report_put, set, part);
    report_end(&table);
    return status;
}

/* ---- JSON ---- */

static void json_devices(struct json_writer *json, const struct trace_process *process)
{
    char uuid[UUID_BYTES];

    json_key_array(json, "devices");
    for (size_t i = 0; i < process->device_count; i++) {
        const struct trace_set_device *device = &process->devices[i];

        JSON_OBJECT(json, FACT("device", device->ordinal), FACT("name", device->name),
                    FACT_IF("uuid", has_uuid(device), format_uuid(device, UUID_WHOLE, uuid)));
    }
    json_close_array(json);
}

static void json_one(struct json_writer *json, const struct trace_process *process)
{
    static const char *const alignments[] = {
        [TRACE_ALIGNED_NOT] = "none",
        [TRACE_ALIGNED_REALTIME] = "realtime",
        [TRACE_ALIGNED_CLOCK] = "clock",
    };
    bool has_times = process->first_time != 0;
    char text[WARNING_BYTES];

    describe(process, text);
    json_open_object(json);
    json_process(json, process);
    json_devices(json, process);
    JSON_FACTS(json, FACT("clock", process->clock), FACT("clock_number", process->clock_number),
               FACT("aligned_by", alignments[process->alignment]),
               FACT_IF("first_ns", has_times, process->first_time + process->offset),
               FACT_IF("last_ns", has_times, process->last_time + process->offset),
               FACT("records", process->records), FACT("dropped", process->dropped),
               FACT("bytes", process->bytes), FLAG("whole", !*text),
               FACT_IF("warning", *text, text));
    json_close_object(json);
}

static void processes_print_json(const struct report_out *out, const struct trace_set *set,
                                 const struct ranks *ranks)
{
    char text[TRACE_SET_CLOCKS_BYTES];
    struct json_writer json;

    json_open_document(&json, out->file, 2);
    JSON_FACTS(&json, FACT("clocks", trace_set_describe_clocks(set, text, sizeof text)),
               FACT("clock_count", set->clock_count), FACT("realtime_spread_ns", set->spread),
               FACT("first_ns", set->first_time));
    json_key_array(&json, "clock_offsets");
    if (ranks)
        json_clock_offsets(&json, set, ranks);
    json_close_array(&json);
    json_key_array(&json, "processes");
    for (size_t i = 0; i < set->count; i++)
        json_one(&json, &set->processes[i]);
    json_close_array(&json);
    json_close_document(&json);
}

enum mp_status print_processes(const struct report_out *out, const struct trace_set *set,
                               const struct ranks *ranks)
{
    if (out->format != REPORT_JSON)
        return processes_print_table(out, set, ranks);
    processes_print_json(out, set, ranks);
    return MP_OK;
}
