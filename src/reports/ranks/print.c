/* The report on ranks: what each trace lacks, what could not be matched and why, how the clocks
 * were joined, then the tables. */
#include "reports/ranks/print.h"

#include <inttypes.h>

#include "base/text/units.h"
#include "reports/common/set.h"
#include "reports/ranks/tables.h"

#include "base/poison.h"

/* ---- What could not be matched ---- */

struct reason {
    const char *key;
    const char *what; /* behind the number */
    size_t offset;    /* in struct ranks_unmatched */
};

#define REASON(field, what_)                                                                       \
    {                                                                                              \
        .key = #field, .what = (what_), .offset = offsetof(struct ranks_unmatched, field)          \
    }

static const struct reason reasons[] = {
    REASON(unnamed, "operations name no communicator, or not their rank in it"),
    REASON(without_kernel, "operations have no kernel in their trace"),
    REASON(unclaimed_kernels, "kernels of NCCL have no operation: nobody told which one"),
    REASON(duplicate_ranks, "operations are of a process whose rank another one has, as of two "
                            "jobs in one folder"),
    REASON(shifted, "operations fit no other rank's at any number: other steps were recorded"),
    REASON(different,
           "instances differ in function, size or root between ranks, or do not overlap"),
    REASON(partial, "instances were not recorded by all of their ranks"),
};

#define REASON_COUNT (sizeof reasons / sizeof *reasons)

static uint64_t count_of(const struct ranks_unmatched *unmatched, const struct reason *reason)
{
    return *(const uint64_t *)(const void *)((const char *)unmatched + reason->offset);
}

static void print_unmatched(const struct report_out *out, const struct ranks *ranks)
{
    for (size_t i = 0; i < REASON_COUNT; i++) {
        uint64_t count = count_of(&ranks->unmatched, &reasons[i]);

        if (count)
            fprintf(out->file, "======== Warning: not matched: %s %s.\n", mp_count(count).text,
                    reasons[i].what);
    }
    if (ranks->by_order)
        fprintf(out->file,
                "======== Note: nobody told the communicators of %s operations: they are "
                "kernels in the order of their stream.\n",
                mp_count(ranks->by_order).text);
    for (size_t i = 0; i < ranks->communicator_count; i++) {
        const struct ranks_communicator *communicator = &ranks->communicators[i];

        if (ranks_missing(communicator))
            fprintf(out->file,
                    "======== Warning: communicator %016" PRIx64 ": %s of %s"
                    " ranks have no trace here; they may have been the last.\n",
                    communicator->hash, mp_count(ranks_missing(communicator)).text,
                    mp_count(communicator->ranks).text);
    }
}

/* ---- What else one should know ---- */

/* Why there is nothing to report, and what to do. */
static void print_nothing(const struct report_out *out, const struct ranks_report *report)
{
    const char *text = "No operation of NCCL was matched across ranks.";

    if (!report->ranks->operations && !report->ranks->unmatched.unclaimed_kernels)
        text = "No operation of NCCL, by which ranks are compared, was recorded: miniprof report "
               "shows "
               "what each process did.";
    else if (report->set->count == 1)
        text = "This is one rank alone: give the folder with the traces of all ranks.";
    fprintf(out->file, "======== %s\n", text);
}

/* ---- JSON ---- */

static void json_unmatched(struct json_writer *json, const struct ranks *ranks)
{
    json_key_object(json, "unmatched");
    for (size_t i = 0; i < REASON_COUNT; i++)
        JSON_FACTS(json, FACT(reasons[i].key, count_of(&ranks->unmatched, &reasons[i])));
    json_close_object(json);
}

static void json_communicators(struct json_writer *json, const struct ranks *ranks)
{
    json_key_array(json, "communicators");
    for (size_t i = 0; i < ranks->communicator_count; i++) {
        const struct ranks_communicator *communicator = &ranks->communicators[i];
        char hash[24];

        snprintf(hash, sizeof hash, "%016" PRIx64, communicator->hash);
        JSON_OBJECT(json, FACT_IF("communicator", !communicator->by_order, (const char *)hash),
                    FACT("name", communicator->name),
                    FACT_IF("ranks", communicator->ranks, communicator->ranks),
                    FACT("missing_ranks", ranks_missing(communicator)));
    }
    json_close_array(json);
}

static void json_processes(struct json_writer *json, const struct ranks_report *report)
{
    json_key_array(json, "processes");
    for (size_t i = 0; i < report->set->count; i++) {
        json_open_object(json);
        json_process(json, &report->set->processes[i]);
        JSON_FACTS(json, FACT("warning", report->warnings[i]));
        json_close_object(json);
    }
    json_close_array(json);
}

void json_ranks_head(struct json_writer *json, const struct ranks_report *report)
{
    json_processes(json, report);
    JSON_FACTS(json, FACT("operations", report->ranks->operations),
               FACT("by_order", report->ranks->by_order),
               FACT("instances", (uint64_t)report->ranks->instance_count),
               FACT("one_clock", report->one_clock));
    json_unmatched(json, report->ranks);
    json_key_array(json, "clocks");
    json_clock_offsets(json, report->set, report->ranks);
    json_close_array(json);
    json_communicators(json, report->ranks);
}

static void ranks_print_json(const struct report_out *out, const struct ranks_report *report)
{
    struct json_writer json;

    json_open_document(&json, out->file, 2);
    json_ranks_head(&json, report);
    json_key_array(&json, "functions");
    ranks_print_functions(out, &json, report);
    json_close_array(&json);
    json_key_array(&json, "ranks");
    ranks_print_members(out, &json, report);
    json_close_array(&json);
    json_key_array(&json, "causes");
    ranks_print_causes(out, &json, report);
    json_close_array(&json);
    if (report->each) {
        json_key_array(&json, "trace");
        ranks_print_instances(out, &json, report);
        json_close_array(&json);
    }
    json_close_document(&json);
}

/* ---- Text and CSV ---- */

void print_ranks_head(const struct report_out *out, const struct ranks_report *report)
{
    for (size_t i = 0; i < report->set->count; i++) {
        if (report->warnings[i])
            print_process_warning(out, &report->set->processes[i], report->warnings[i]);
    }
    print_set_head(out, report->set);
    print_unmatched(out, report->ranks);
    if (report->one_clock)
        fputs("======== Note: all processes are taken to share a clock (--one-clock).\n",
              out->file);
    print_clock_offsets(out, report->set, report->ranks);
    if (report->ranks->jobs > 1)
        fprintf(out->file,
                "======== Note: the processes are %s groups without a communicator in common: as "
                "many jobs? Then give each one its own folder.\n",
                mp_count(report->ranks->jobs).text);
}

void print_ranks(const struct report_out *out, const struct ranks_report *report)
{
    if (out->format == REPORT_JSON) {
        ranks_print_json(out, report);
        return;
    }
    print_ranks_head(out, report);
    if (!report->ranks->instance_count)
        print_nothing(out, report);
    if (out->format == REPORT_TEXT && !report->ranks->instance_count)
        return;
    if (report->each) {
        ranks_print_instances(out, NULL, report);
        return;
    }
    ranks_print_functions(out, NULL, report);
    if (report_has_titles(out))
        fputc('\n', out->file);
    ranks_print_members(out, NULL, report);
    if (out->format == REPORT_TEXT && !report->lateness->row_count)
        return;
    if (report_has_titles(out))
        fputc('\n', out->file);
    ranks_print_causes(out, NULL, report);
}
