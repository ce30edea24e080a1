/* diff of any two traces whose checksums fit: an input is two files, one behind the other; one file
 * alone is both sides. Shifts lie in their intervals, positions add up, and every form of the
 * report can be printed.
 */
#include "mutate.h"
#include "walk.h"

#include <math.h>

#include "base/text/foreign.h"
#include "base/text/json.h"
#include "page/diff.h"
#include "page/page.h"
#include "reports/diff/diff.h"
#include "reports/diff/print.h"

#define MAX_ROWS 4000 /* of a trace; bounds the time of one input */
#define RUNS     3    /* of a side */

/* ---- What holds for any two traces ---- */

static void expect_shift(const struct shift *shift)
{
    expect(isfinite(shift->center));
    if (shift->bounded)
        expect((double)shift->low <= shift->center && shift->center <= (double)shift->high);
    else
        expect(!shift->low && !shift->high);
}

static void expect_rows(const struct diff_rows *rows)
{
    size_t changes = 0;

    for (size_t i = 0; i < rows->count; i++) {
        const struct diff_row *row = &rows->rows[i];

        expect(row->name && (row->calls[DIFF_A] > 0 || row->calls[DIFF_B] > 0));
        expect(isfinite(row->difference) && row->change < DIFF_CHANGES);
        expect_shift(&row->shift);
    }
    for (int change = 0; change < DIFF_CHANGES; change++)
        changes += rows->changes[change];
    expect(changes == rows->count);
}

static void expect_positions(const struct diff_positions *positions)
{
    size_t counts[DIFF_SIDES] = {0, 0};

    for (size_t i = 0; i < positions->count; i++)
        for (int side = 0; side < DIFF_SIDES; side++)
            if (positions->pairs[i].place[side] != ALIGN_NONE)
                expect(positions->pairs[i].place[side] == counts[side]++);
    expect(counts[DIFF_A] == positions->sides[DIFF_A].count);
    expect(counts[DIFF_B] == positions->sides[DIFF_B].count);
    expect(positions->equal + positions->removed + positions->replaced == counts[DIFF_A]);
    expect(positions->equal + positions->added + positions->replaced == counts[DIFF_B]);
}

static void expect_diff(const struct diff *diff)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        size_t iterations = 0;

        for (size_t i = 0; i < diff->sides[side].run_count; i++)
            iterations += diff->sides[side].runs[i].iterations;
        expect(iterations && iterations == diff->sides[side].iterations);
    }
    expect_shift(&diff->latency);
    expect(isfinite(diff_percent(diff)));
    expect_rows(&diff->quantities);
    expect_rows(&diff->kernels);
    expect_rows(&diff->layers);
    expect_positions(&diff->positions);
}

/* ---- Reports ---- */

/* Lines in which nothing acts. */
static void expect_harmless(const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes; at++) {
        at += foreign_harmless(text + at, bytes - at);
        expect(at == bytes || text[at] == '\n');
    }
}

static void expect_printed(const struct diff_report *report, enum report_format format)
{
    struct report_out out = {.format = format};
    struct json_reader reader;
    char *text = NULL;
    size_t bytes = 0;

    out.file = open_memstream(&text, &bytes);
    print_diff(&out, report);
    fclose(out.file);
    json_read_begin(&reader, text, bytes);
    json_read_skip(&reader);
    expect(bytes && (format != REPORT_JSON || json_read_end(&reader)));
    expect_harmless(text, bytes);
    free(text);
}

static void expect_page(const struct diff_report *report)
{
    FILE *page = fopen("/dev/null", "w");
    struct mp_error error;

    expect(html_diff_write(page, report, &error) == MP_OK);
    fclose(page);
}

/* ---- One comparison ---- */

static void compare(const char *a, const char *b, size_t seed)
{
    const char *before[RUNS] = {a, a, a};
    const char *after[RUNS] = {b, b, b};
    const size_t runs = seed % 5 ? 1 : RUNS;
    const struct diff_options options = {.style = NAMES_READABLE, .shapes = seed % 2};
    struct mp_error error = {.text = ""};
    struct diff diff;
    struct diff_report report = {.diff = &diff, .positions = seed / 4 % 2, .all = seed / 8 % 2};
    enum mp_status status = diff_build(before, runs, after, runs, &options, &diff, &error);

    if (status != MP_OK) {
        expect(status != MP_ERR_MEMORY && *error.text);
        return;
    }
    expect_diff(&diff);
    expect_printed(&report, (enum report_format)(seed / 16 % 3));
    if (seed % 32 == 0)
        expect_page(&report);
    diff_free(&diff);
}

/* Where the second file begins; the size if there is none. */
static size_t find_second(const uint8_t *data, size_t size)
{
    const uint32_t skippable = MP_SKIPPABLE_MAGIC;

    for (size_t at = 40; at + 40 <= size; at++)
        if (!memcmp(data + at, &skippable, 4) && !memcmp(data + at + 8, MP_HEADER_MAGIC, 8))
            return at;
    return size;
}

static bool is_small(const char *path)
{
    struct mp_trace *trace;
    bool small = mp_trace_open(path, &trace, NULL) == MP_OK && walk_count(trace) <= MAX_ROWS;

    mp_trace_close(trace);
    return small;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t second = find_second(data, size);
    const char *a = walk_file(0, data, second);
    const char *b = second < size ? walk_file(1, data + second, size - second) : a;

    if (is_small(a) && is_small(b))
        compare(a, b, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return mutate_trace(data, size, max_size, seed);
}

/* The first file of one input, and the first or the second one of the other. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2,
                                 size_t size2, uint8_t *out, size_t max_size, unsigned seed)
{
    size_t first = find_second(data1, size1);
    size_t second = find_second(data2, size2);
    size_t from = seed % 2 && second < size2 ? second : 0;
    size_t bytes = (from ? size2 : second) - from;

    if (first + bytes > max_size)
        return 0;
    memcpy(out, data1, first);
    memcpy(out + first, data2 + from, bytes);
    return first + bytes;
}
