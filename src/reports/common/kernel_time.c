/* The line on kernels that overlap, without which sums of kernel times mislead. */
#include "reports/common/kernel_time.h"

#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

/* Whether kernels overlap by more than 1 % of the time in which they run. */
static bool is_worth_a_line(const struct kernel_time *time)
{
    return time->known && time->total - time->busy > time->busy / 100;
}

/* `62.400ms within streams (...), 0ns between streams` */
static void print_where(FILE *out, const struct kernel_time *time)
{
    char text[MP_FORMATTED_BYTES];
    uint64_t within = time->total - time->streams;
    uint64_t between = time->streams - time->busy;

    if (within)
        fprintf(out, "%s within streams (programmatic dependent launch, branches of CUDA graphs)",
                mp_format_time(text, sizeof text, within));
    if (between)
        fprintf(out, "%s%s between streams", within ? ", " : "",
                mp_format_time(text, sizeof text, between));
}

void print_kernel_time(const struct report_out *out, const struct mp_trace *trace,
                       const struct kernel_time *time)
{
    char total[MP_FORMATTED_BYTES], beyond[MP_FORMATTED_BYTES], busy[MP_FORMATTED_BYTES];

    if (!is_worth_a_line(time))
        return;
    if (trace)
        print_prefix(out, trace);
    else
        fputs("======== ", out->file);
    fprintf(out->file,
            "Note: kernel times add up to %s, %s more than the %s in which %s. Overlap: ",
            mp_format_time(total, sizeof total, time->total),
            mp_format_time(beyond, sizeof beyond, time->total - time->busy),
            mp_format_time(busy, sizeof busy, time->busy),
            time->devices > 1 ? "GPUs ran kernels, added up" : "the GPU ran kernels");
    print_where(out->file, time);
    fputs(".\n", out->file);
}

void json_kernel_time(struct json_writer *json, const struct kernel_time *time)
{
    json_key(json, "kernel_time");
    if (!time->known) {
        json_null(json);
        return;
    }
    JSON_OBJECT(json, FACT("total_ns", time->total), FACT("busy_ns", time->busy),
                FACT("beyond_busy_ns", time->total - time->busy),
                FACT("within_streams_ns", time->total - time->streams),
                FACT("between_streams_ns", time->streams - time->busy));
}
