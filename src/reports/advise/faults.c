/* Unified memory: what migrates and faults while iterations run. */
#include <stdlib.h>

#include "base/data/reserve.h"
#include "base/text/units.h"
#include "profile/reading.h"
#include "reports/advise/build.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

/* A migration or the handling of faults, as far as it lies in an iteration. 16 bytes each. */
struct span {
    uint64_t begin;
    uint64_t end;
};

struct pass {
    const struct advise *advise;
    struct span *spans; /* owned */
    size_t count, capacity;
    uint64_t migrations;
    uint64_t bytes;
    uint64_t fault_groups; /* of GPUs */
    uint64_t cpu_faults;
};

/* The first iteration that counts and is open at that time; NULL: none. Iterations are in order of
 * begin. */
static const struct iteration *open_at(const struct advise *advise, uint64_t time)
{
    const struct iteration *items = advise->iterations->items;
    size_t low = 0;
    size_t high = advise->iterations->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (items[middle].begin <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low && advise->regular[low - 1] && items[low - 1].end > time ? &items[low - 1] : NULL;
}

static enum mp_status add_span(struct pass *pass, uint64_t begin, uint64_t end, uint64_t stop)
{
    if (end > stop)
        end = stop;
    if (end <= begin)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&pass->spans, pass->count, &pass->capacity, sizeof *pass->spans));
    pass->spans[pass->count++] = (struct span){begin, end};
    return MP_OK;
}

static enum mp_status faults_take_row(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct pass *pass = context;
    const struct mp_unified_columns unified = mp_unified_columns(batch->columns);
    uint64_t kind = unified.kind[row];
    uint64_t begin = unified.start[row];
    const struct iteration *iteration = open_at(pass->advise, begin);

    if (!iteration || !begin || unified.duration[row] > INT64_MAX - begin)
        return MP_OK;
    if (kind == MP_unified_kind_bytes_HtoD || kind == MP_unified_kind_bytes_DtoH ||
        kind == MP_unified_kind_bytes_DtoD) {
        pass->migrations++;
        pass->bytes += unified.value[row];
    } else if (kind == MP_unified_kind_gpu_page_fault) {
        pass->fault_groups++;
    } else if (kind == MP_unified_kind_cpu_page_fault) {
        pass->cpu_faults++;
    } else {
        return MP_OK;
    }
    return add_span(pass, begin, begin + unified.duration[row], iteration->end);
}

static int compare_spans(const void *left, const void *right)
{
    const struct span *a = left;
    const struct span *b = right;

    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Time that the spans cover together. */
static uint64_t covered(struct pass *pass)
{
    uint64_t total = 0;
    uint64_t to = 0;

    if (pass->count)
        qsort(pass->spans, pass->count, sizeof *pass->spans, compare_spans);
    for (size_t i = 0; i < pass->count; i++) {
        uint64_t begin = pass->spans[i].begin > to ? pass->spans[i].begin : to;

        if (pass->spans[i].end <= begin)
            continue;
        total += pass->spans[i].end - begin;
        to = pass->spans[i].end;
    }
    return total;
}

static void tell(const struct advise *advise, const struct pass *pass, uint64_t time,
                 struct advise_finding *finding)
{
    char bytes[MP_FORMATTED_BYTES];

    finding->method = ADVISE_BY_TIMES;
    finding->gain = time / advise->judged;
    finding->assumes = "at best: all of it happens before, while something else runs";
    mp_format_size(bytes, sizeof bytes, (uint64_t)advise_mean(advise, pass->bytes));
    advise_evidence(finding,
                    "an iteration has %s migrations of %s, %s groups of page faults of the "
                    "GPU and %s of the CPU; their time is %s",
                    mp_figure(advise_mean(advise, pass->migrations)).text, bytes,
                    mp_figure(advise_mean(advise, pass->fault_groups)).text,
                    mp_figure(advise_mean(advise, pass->cpu_faults)).text,
                    advise_time(advise_mean(advise, time)).text);
    advise_number(finding, "migrations", advise_mean(advise, pass->migrations));
    advise_number(finding, "migrated_bytes", advise_mean(advise, pass->bytes));
    advise_number(finding, "gpu_fault_groups", advise_mean(advise, pass->fault_groups));
    advise_number(finding, "cpu_faults", advise_mean(advise, pass->cpu_faults));
    advise_number(finding, "time_ns", advise_mean(advise, time));
}

static const struct reading_table tables[] = {
    {MP_TABLE_unified, MP_MASK(unified, kind, value, start, duration), .take_row = faults_take_row},
};

enum mp_status advise_page_faults(struct advise *advise, struct advise_finding *finding)
{
    struct pass pass = {.advise = advise};
    const struct reading reading = {
        .trace = advise->trace,
        .what = "what happened to unified memory",
        .context = &pass,
        READING_TABLES(tables),
    };
    enum mp_status status = reading_run(&reading, advise->error);
    uint64_t time = status ? 0 : covered(&pass);

    if (time)
        tell(advise, &pass, time, finding);
    free(pass.spans);
    return status;
}
