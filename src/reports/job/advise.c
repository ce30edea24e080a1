/* Findings on a job: its head, then findings as those of a trace.
 */
#include <inttypes.h>

#include "base/text/units.h"
#include "reports/advise/print.h"

#include "base/poison.h"

#define JSON_LINES 2

static void put_job_head(const struct report_out *out, const struct advise_job_report *report)
{
    char step[MP_FORMATTED_BYTES];

    print_job_head(out, report->job);
    if (report_has_titles(out))
        fprintf(out->file, "======== %s iteration%s of rank %" PRIu32 ", mean %s\n",
                mp_count(report->iterations).text, report->iterations == 1 ? "" : "s", report->rank,
                mp_format_time(step, sizeof step, report->advice->step));
}

static void print_job_document(FILE *out, const struct advise_job_report *report)
{
    struct json_writer json;

    json_open_document(&json, out, JSON_LINES);
    json_job_head(&json, report->job);
    JSON_FACTS(&json, FACT("iterations", (uint64_t)report->iterations),
               FACT("step_mean_ns", report->advice->step));
    json_advise_findings(&json, report->advice);
    json_close_document(&json);
}

void print_job_advise(const struct report_out *out, const struct advise_job_report *report)
{
    if (out->format == REPORT_JSON) {
        print_job_document(out->file, report);
        return;
    }
    put_job_head(out, report);
    print_advise_findings(out, report->advice);
}
