/* The processes of a set of traces as a table. Of each GPU's UUID it shows as much as is needed to
 * tell the GPUs apart.
 */
#include "reports/summary/processes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/data/buffer.h"
#include "base/text/units.h"
#include "reports/common/set.h"
#include "reports/ranks/print.h"

#include "base/poison.h"

#define WARNING_BYTES 320
#define UUID_BYTES    48

/* The part of a UUID that is shown: nvidia-smi's first group if that is enough. */
enum uuid_part { UUID_HEAD, UUID_TAIL, UUID_WHOLE };

static const struct report_column columns[] = {
    {.title = "File", .kind = REPORT_CELL_TEXT, .left = true, .width = 8, .name = true},
    {.title = "Host", .kind = REPORT_CELL_TEXT, .left = true, .width = 4},
    {.title = "Rank", .kind = REPORT_CELL_ID, .width = 4},
    {.title = "Pid", .kind = REPORT_CELL_ID, .width = 7},
    {.title = "First", .kind = REPORT_CELL_TIME, .width = 8, .moment = true, .drop = 1},
    {.title = "Last", .kind = REPORT_CELL_TIME, .width = 8, .moment = true, .drop = 1},
    {.title = "Records", .kind = REPORT_CELL_COUNT, .width = 9},
    {.title = "Dropped", .kind = REPORT_CELL_COUNT, .width = 7},
    {.title = "Bytes", .kind = REPORT_CELL_COUNT, .unit = "B", .width = 9, .drop = 2},
    {.title = "Devices", .kind = REPORT_CELL_TEXT, .left = true, .width = 7, .drop = 3},
};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

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

static int compare_shown(const void *left, const void *right)
{
    const struct shown *a = left;
    const struct shown *b = right;

    if (a->part != b->part)
        return a->part < b->part ? -1 : 1;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return (a->low > b->low) - (a->low < b->low);
}

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

struct listing {
    const struct trace_set *set;
    const struct ranks *ranks; /* NULL: nothing bounds the clocks */
    struct report_table table;
    struct mp_buffer line;
    enum uuid_part part;
};

static struct report_cell known_cell(uint64_t number)
{
    return number == TRACE_SET_UNKNOWN ? report_absent_cell() : report_number_cell(number);
}

static struct report_cell time_cell(const struct trace_set *set,
                                    const struct trace_process *process, uint64_t time)
{
    if (!process->first_time)
        return report_absent_cell();
    return report_number_cell(time + process->offset - set->first_time);
}

static enum mp_status processes_fill_cells(struct listing *listing,
                                           const struct trace_process *process,
                                           struct report_cell cells[COLUMN_COUNT])
{
    MP_TRY(list_devices(process, listing->part, &listing->line));
    cells[0] = report_text_cell(process->path);
    cells[1] = report_text_cell(process->host);
    cells[2] = known_cell(process->rank);
    cells[3] = known_cell(process->pid);
    cells[4] = time_cell(listing->set, process, process->first_time);
    cells[5] = time_cell(listing->set, process, process->last_time);
    cells[6] = report_number_cell(process->records);
    cells[7] = report_number_cell(process->dropped);
    cells[8] = report_number_cell(process->bytes);
    cells[9] = report_text_cell(process->device_count ? (const char *)listing->line.data : NULL);
    return MP_OK;
}

static enum mp_status processes_each_row(struct listing *listing,
                                         void (*take)(struct report_table *,
                                                      const struct report_cell *))
{
    struct report_cell cells[COLUMN_COUNT];

    for (size_t i = 0; i < listing->set->count; i++) {
        MP_TRY(processes_fill_cells(listing, &listing->set->processes[i], cells));
        take(&listing->table, cells);
    }
    return MP_OK;
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

static enum mp_status processes_print_table(const struct report_out *out, struct listing *listing)
{
    const struct trace_set *set = listing->set;
    char text[WARNING_BYTES];

    for (size_t i = 0; i < set->count; i++) {
        if (*describe(&set->processes[i], text))
            print_process_warning(out, &set->processes[i], text);
    }
    if (set->count > 1)
        print_set_clocks(out, set);
    if (listing->ranks)
        print_clock_offsets(out, set, listing->ranks);
    report_begin(&listing->table, out, columns, COLUMN_COUNT);
    MP_TRY(processes_each_row(listing, report_measure));
    report_header(&listing->table);
    MP_TRY(processes_each_row(listing, report_row));
    report_end(&listing->table);
    return MP_OK;
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
    struct listing listing = {.set = set, .ranks = ranks};
    enum mp_status status;

    if (out->format == REPORT_JSON) {
        processes_print_json(out, set, ranks);
        return MP_OK;
    }
    status = choose_part(set, &listing.part);
    if (status == MP_OK)
        status = processes_print_table(out, &listing);
    mp_buffer_free(&listing.line);
    return status;
}
