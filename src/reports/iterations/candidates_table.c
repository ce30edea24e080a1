/* Prints what repeats in a trace and could be its iterations, the best first. The first column is
 * what --iterations takes.
 */
#include "reports/iterations/print.h"

#include <inttypes.h>

#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

#define OF(member) MEMBER(struct iterations_candidate, member)

static struct report_cell by_cell(const void *at, struct report_table *table)
{
    const struct iterations_report *report = table->of;
    const struct iterations_candidate *candidate = at;
    const char *key = iterations_way_key(candidate->way);
    const char *text = key;

    if (candidate->way == ITERATIONS_NVTX)
        text = report_say(table, "%s:%.200s%s%.80s", key, candidate->name,
                          candidate->domain ? "@" : "", candidate->domain ? candidate->domain : "");
    else if (candidate->way == ITERATIONS_GRAPH)
        text = report_say(table, "%s:%" PRIu64, key, candidate->graph);
    else if ((candidate->way == ITERATIONS_SYNCS || candidate->way == ITERATIONS_KERNELS) &&
             candidate->thread != DEPS_NONE)
        text = report_say(table, "%s:%" PRIu64, key, report->deps->lanes[candidate->thread].tid);
    return report_text_cell(text);
}

/* The column's value is a share from 0 to 1. */
static struct report_cell percent_cell(const void *at, struct report_table *table)
{
    struct report_cell cell = report_value_cell(at, table);

    cell.real *= 100;
    return cell;
}

static struct report_cell score_cell(const void *at, struct report_table *table)
{
    const struct iterations_candidate *candidate = at;

    (void)table;
    return report_real_if(candidate->score > 0, 100 * candidate->score);
}

static struct report_cell chosen_cell(const void *at, struct report_table *table)
{
    const struct iterations *found = ((const struct iterations_report *)table->of)->iterations;
    const struct iterations_candidate *candidate = at;

    return report_number_cell((size_t)(candidate - found->candidates) == found->chosen);
}

static const struct report_column columns[] = {
    COLUMN("By", "by", TEXT, 24, .cell = by_cell, .left = true),
    COLUMN("Count", "count", COUNT, 8, OF(count)),
    COLUMN("Threads", "threads", COUNT, 7, OF(threads)),
    COLUMN("Coverage", "coverage_percent", PERCENT, 8, OF(coverage), .cell = percent_cell),
    COLUMN("Regular", "regularity_percent", PERCENT, 8, OF(regularity), .cell = percent_cell),
    COLUMN("Score", "score_percent", PERCENT, 8, .cell = score_cell),
    COLUMN("Chosen", "chosen", BOOL, 6, .cell = chosen_cell),
};

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

    if (report_has_titles(out) || !found->candidate_count)
        print_prefix(out, report->trace);
    if (!found->candidate_count)
        fprintf(out->file, "Nothing repeats: %s\n", found->why_whole);
    else if (report_has_titles(out))
        fputs("What repeats, and how much of the GPU work it covers:\n", out->file);
    if (!found->candidate_count && out->format == REPORT_TEXT)
        return;
    report_array(out, &(struct report_layout){REPORT_COLUMNS(columns), .of = report},
                 found->candidates, found->candidate_count, sizeof *found->candidates);
    if (out->format == REPORT_TEXT)
        candidates_print_notes(out, report);
}

void json_iterations_candidates(struct json_writer *json, const struct iterations_report *report)
{
    const struct iterations *found = report->iterations;

    report_json_array(json, "candidates",
                      &(struct report_layout){REPORT_COLUMNS(columns), .of = report},
                      found->candidates, found->candidate_count, sizeof *found->candidates);
}
