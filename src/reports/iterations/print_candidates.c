/* Prints what repeats in a trace and could be its iterations, the best first. The first column is
 * what --iterations takes.
 */
#include "reports/iterations/print.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/common/summary_table.h"

#include "base/poison.h"

#define BY_BYTES 320

static const struct report_column columns[] = {
    {.title = "By", .key = "by", .kind = REPORT_CELL_TEXT, .width = 24, .left = true},
    {.title = "Count", .key = "count", .kind = REPORT_CELL_COUNT, .width = 8},
    {.title = "Threads", .key = "threads", .kind = REPORT_CELL_COUNT, .width = 7},
    {.title = "Coverage", .key = "coverage_percent", .kind = REPORT_CELL_PERCENT, .width = 8},
    {.title = "Regular", .key = "regularity_percent", .kind = REPORT_CELL_PERCENT, .width = 8},
    {.title = "Score", .key = "score_percent", .kind = REPORT_CELL_PERCENT, .width = 8},
    {.title = "Chosen", .key = "chosen", .kind = REPORT_CELL_BOOL, .width = 6},
};

#define COLUMNS (sizeof columns / sizeof *columns)

static const char *by_of(const struct iterations_report *report,
                         const struct iterations_candidate *candidate, char *text)
{
    const char *key = iterations_way_key(candidate->way);

    if (candidate->way == ITERATIONS_NVTX)
        snprintf(text, BY_BYTES, "%s:%.200s%s%.80s", key, candidate->name,
                 candidate->domain ? "@" : "", candidate->domain ? candidate->domain : "");
    else if (candidate->way == ITERATIONS_GRAPH)
        snprintf(text, BY_BYTES, "%s:%" PRIu64, key, candidate->graph);
    else if ((candidate->way == ITERATIONS_SYNCS || candidate->way == ITERATIONS_KERNELS) &&
             candidate->thread != DEPS_NONE)
        snprintf(text, BY_BYTES, "%s:%" PRIu64, key, report->deps->lanes[candidate->thread].tid);
    else
        snprintf(text, BY_BYTES, "%s", key);
    return text;
}

static void each_candidate(struct report_table *table, const struct iterations_report *report,
                           void (*take)(struct report_table *, const struct report_cell *))
{
    const struct iterations *found = report->iterations;

    for (size_t i = 0; i < found->candidate_count; i++) {
        const struct iterations_candidate *candidate = &found->candidates[i];
        char by[BY_BYTES];
        const struct report_cell cells[COLUMNS] = {
            report_text_cell(by_of(report, candidate, by)),
            report_number_cell(candidate->count),
            report_number_cell(candidate->threads),
            report_real_cell(100 * candidate->coverage),
            report_real_cell(100 * candidate->regularity),
            candidate->score > 0 ? report_real_cell(100 * candidate->score) : report_absent_cell(),
            report_number_cell(i == found->chosen),
        };

        take(table, cells);
    }
}

static void candidates_print_notes(const struct report_out *out,
                                   const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;
    size_t libraries = 0;

    for (size_t i = 0; i < found->candidate_count; i++)
        libraries += found->candidates[i].library;
    if (libraries) {
        print_prefix(out, report->trace);
        fprintf(out->file,
                "Note: %s without a score %s of a library's NVTX domain, which does not compete "
                "with the program's own.\n",
                mp_count(libraries).text, libraries == 1 ? "is" : "are");
    }
    if (found->candidates_left) {
        print_prefix(out, report->trace);
        fprintf(out->file, "%s more score less.\n", mp_count(found->candidates_left).text);
    }
}

void print_iterations_candidates(const struct report_out *out,
                                 const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;
    struct report_table table;

    if (report_has_titles(out) || !found->candidate_count)
        print_prefix(out, report->trace);
    if (!found->candidate_count)
        fprintf(out->file, "Nothing repeats: %s\n", found->why_whole);
    else if (report_has_titles(out))
        fputs("What repeats, and how much of the GPU work it covers:\n", out->file);
    if (!found->candidate_count && out->format == REPORT_TEXT)
        return;
    report_begin(&table, out, columns, COLUMNS);
    each_candidate(&table, report, report_measure);
    report_header(&table);
    each_candidate(&table, report, report_row);
    report_end(&table);
    if (out->format == REPORT_TEXT)
        candidates_print_notes(out, report);
}

void json_iterations_candidates(struct json_writer *json, const struct iterations_report *report)
{
    struct report_table table;

    json_key_array(json, "candidates");
    report_begin_json(&table, json, columns, COLUMNS);
    each_candidate(&table, report, report_row);
    report_end(&table);
    json_close_array(json);
}
