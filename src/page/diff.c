/* The page of a comparison. Percentiles are shown in steps that get finer towards the tail,
 * because the slowest iterations are rare and matter most.
 */
#include "page/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "base/text/json.h"
#include "page/page.h"

#include "base/poison.h"

#define JSON_LINES 1
#define WHOLE      100000 /* shares are counted in thousandths of a percent */
#define MIN_STEP   1

static const char *const side_keys[DIFF_SIDES] = {"a", "b"};

/* ---- Percentiles ---- */

/* Tails are rare, so from P99 on steps are a tenth as wide, from P99.9 on a hundredth, and so on.
 */
static uint64_t step_after(uint64_t share)
{
    uint64_t step = WHOLE / 100;

    while (step > MIN_STEP && WHOLE - share <= step)
        step /= 10;
    return step;
}

/* The next share that is shown; steps into which no iteration can fall are left out. */
static uint64_t share_after(uint64_t share, size_t iterations)
{
    uint64_t next = share + step_after(share);

    return (WHOLE - next) * iterations < WHOLE ? WHOLE : next;
}

static size_t longest_run(const struct diff *diff)
{
    size_t a = diff->sides[DIFF_A].iterations;
    size_t b = diff->sides[DIFF_B].iterations;

    return a > b ? a : b;
}

static void json_percents(struct json_writer *json, const struct diff *diff)
{
    size_t max = longest_run(diff);

    json_key_array(json, "percents");
    for (uint64_t share = 0; share < WHOLE; share = share_after(share, max))
        json_real(json, (double)share * 100 / WHOLE);
    json_real(json, 100);
    json_close_array(json);
}

/* Nearest rank: the smallest value that this share of the values does not exceed. */
static uint64_t value_at(const uint64_t *sorted, size_t count, uint64_t share)
{
    uint64_t rank = ((uint64_t)count * share + WHOLE - 1) / WHOLE;

    return sorted[rank ? rank - 1 : 0];
}

static enum mp_status json_percentiles(struct json_writer *json, const struct diff *diff,
                                       const struct diff_side *side)
{
    size_t max = longest_run(diff);
    uint64_t *sorted = malloc((side->iterations + 1) * sizeof *sorted);

    if (!sorted)
        return MP_ERR_MEMORY;
    if (side->iterations)
        memcpy(sorted, side->latencies, side->iterations * sizeof *sorted);
    statistics_of(sorted, side->iterations); /* sorts them */
    json_key_array(json, "percentiles_ns");
    for (uint64_t share = 0; side->iterations && share < WHOLE; share = share_after(share, max))
        json_number(json, value_at(sorted, side->iterations, share));
    if (side->iterations)
        json_number(json, sorted[side->iterations - 1]);
    json_close_array(json);
    free(sorted);
    return MP_OK;
}

/* ---- Iterations ---- */

/* Those that are shown, in order of time. */
struct shown {
    size_t *items; /* owned */
    size_t count;
};

/* Shows the shortest and the longest of a stretch, the earlier one first. */
static void show_extremes(struct shown *shown, const uint64_t *latencies, size_t begin, size_t end)
{
    size_t min = begin, max = begin;

    for (size_t i = begin; i < end; i++) {
        if (latencies[i] < latencies[min])
            min = i;
        if (latencies[i] > latencies[max])
            max = i;
    }
    shown->items[shown->count++] = min < max ? min : max;
    if (min != max)
        shown->items[shown->count++] = min < max ? max : min;
}

static enum mp_status choose_shown(const struct diff_side *side, struct shown *shown)
{
    size_t stretches = HTML_DIFF_ITERATIONS / 2;
    size_t count = side->iterations;

    *shown = (struct shown){.items = malloc((HTML_DIFF_ITERATIONS + 1) * sizeof *shown->items)};
    if (!shown->items)
        return MP_ERR_MEMORY;
    if (count <= HTML_DIFF_ITERATIONS) {
        for (size_t i = 0; i < count; i++)
            shown->items[shown->count++] = i;
        return MP_OK;
    }
    for (size_t i = 0; i < stretches; i++)
        show_extremes(shown, side->latencies, (size_t)((uint64_t)count * i / stretches),
                      (size_t)((uint64_t)count * (i + 1) / stretches));
    return MP_OK;
}

static void json_shown(struct json_writer *json, const struct diff_side *side,
                       const struct shown *shown)
{
    JSON_FACTS(json, FACT("count", side->iterations));
    json_key_array(json, "iterations");
    for (size_t i = 0; i < shown->count; i++)
        json_number(json, (uint64_t)shown->items[i] + 1);
    json_close_array(json);
    json_key_array(json, "latencies_ns");
    for (size_t i = 0; i < shown->count; i++)
        json_number(json, side->latencies[shown->items[i]]);
    json_close_array(json);
}

static enum mp_status json_side(struct json_writer *json, const struct diff *diff, int side)
{
    const struct diff_side *own = &diff->sides[side];
    struct shown shown;

    MP_TRY(choose_shown(own, &shown));
    json_key_object(json, side_keys[side]);
    json_shown(json, own, &shown);
    enum mp_status status = json_percentiles(json, diff, own);
    json_close_object(json);
    free(shown.items);
    return status;
}

enum mp_status html_diff_latencies(FILE *out, const struct diff *diff, size_t positions_left_out)
{
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    json_percents(&json, diff);
    for (int side = 0; side < DIFF_SIDES; side++)
        MP_TRY(json_side(&json, diff, side));
    JSON_FACTS(&json, FACT("positions_left_out", positions_left_out));
    json_close_document(&json);
    return MP_OK;
}

/* ---- The page ---- */

/* Limits the kernels by position: all if they are few, else only what changed, up to a limit.
 * Returns how many of the changes are left out. */
static size_t limit_positions(struct diff_report *report)
{
    const struct diff_positions *positions = &report->diff->positions;
    size_t changed = positions->count - positions->equal;

    if (report->positions)
        return 0;
    report->positions = positions->count <= HTML_DIFF_POSITIONS;
    report->max = HTML_DIFF_POSITIONS;
    return changed > HTML_DIFF_POSITIONS ? changed - HTML_DIFF_POSITIONS : 0;
}

/* Prints both documents, back to back. *first is the length of the first one in bytes. */
static enum mp_status print_documents(FILE *out, const struct diff_report *report, size_t *first)
{
    struct diff_report own = *report;
    size_t left_out = limit_positions(&own);

    print_diff_json(out, &own);
    long place = ftell(out);
    if (place < 0)
        return MP_ERR_MEMORY;
    *first = (size_t)place;
    MP_TRY(html_diff_latencies(out, report->diff, left_out));
    return ferror(out) ? MP_ERR_MEMORY : MP_OK;
}

static enum mp_status write_page(FILE *out, const struct diff_report *report, char **text,
                                 struct mp_error *error)
{
    struct html_page page;
    size_t bytes = 0, first = 0;
    FILE *memory = memory_file_open(text, &bytes);

    if (!memory)
        return MP_ERR_MEMORY;
    enum mp_status status = print_documents(memory, report, &first);
    if (fclose(memory) != 0)
        status = MP_ERR_MEMORY;
    if (status)
        return status;
    MP_TRY(html_page_begin(&page, out, error));
    html_page_json(&page, "diff", "Comparison", *text, first);
    html_page_json(&page, "latencies", "Iterations", *text + first, bytes - first);
    return html_page_end(&page, error);
}

enum mp_status html_diff_write(FILE *out, const struct diff_report *report, struct mp_error *error)
{
    char *text = NULL;

    *error = (struct mp_error){.status = MP_OK};
    enum mp_status status = write_page(out, report, &text, error);
    free(text);
    if (status && !error->status)
        mp_error_set(error, status, "cannot make a page: %s", mp_status_name(status));
    return status;
}
