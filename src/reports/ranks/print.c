/* The report on ranks: what each trace lacks, what could not be matched and why, how the clocks
 * were joined, then the tables. */
#include "reports/ranks/print.h"

#include <inttypes.h>

#include "base/text/units.h"
#include "reports/common/set.h"

#include "base/poison.h"

enum { HASH_BYTES = 24 };

/* The hash as NCCL logs it: a text, since it is a name. */
static struct report_cell hash_cell(const struct ranks_communicator *communicator, char *text)
{
    if (communicator->by_order)
        return report_absent_cell();
    snprintf(text, HASH_BYTES, "%016" PRIx64, communicator->hash);
    return report_text_cell(text);
}

static struct report_cell rank_cell(uint32_t rank)
{
    return rank == RANKS_NONE ? report_absent_cell() : report_number_cell(rank);
}

/* Ranges without payloads do not tell the size. */
static struct report_cell bytes_cell(uint64_t bytes)
{
    return bytes ? report_number_cell(bytes) : report_absent_cell();
}

static struct report_cell known_real(double value)
{
    return value > 0 ? report_real_cell(value) : report_absent_cell();
}

static const struct ranks_communicator *communicator_at(const struct ranks *ranks, uint32_t index)
{
    return &ranks->communicators[index];
}

#define COMMUNICATOR_COLUMNS                                                                       \
    {.title = "Communicator",                                                                      \
     .key = "communicator",                                                                        \
     .kind = REPORT_CELL_TEXT,                                                                     \
     .left = true,                                                                                 \
     .width = 16,                                                                                  \
     .drop = 3},                                                                                   \
    {                                                                                              \
        .title = "Name", .key = "name", .kind = REPORT_CELL_TEXT, .left = true, .width = 4,        \
        .drop = 2                                                                                  \
    }

#define METHOD_COLUMNS                                                                             \
    {.title = "Alg.",                                                                              \
     .key = "algorithm",                                                                           \
     .kind = REPORT_CELL_TEXT,                                                                     \
     .left = true,                                                                                 \
     .width = 4,                                                                                   \
     .drop = 2},                                                                                   \
    {                                                                                              \
        .title = "Proto.", .key = "protocol", .kind = REPORT_CELL_TEXT, .left = true, .width = 6,  \
        .drop = 2                                                                                  \
    }

static struct report_cell method_cell(const struct ranks *ranks, uint32_t method)
{
    return method ? report_text_cell(ranks_function(ranks, method)) : report_absent_cell();
}

/* ---- By function ---- */

static const struct report_column function_columns[] = {
    COMMUNICATOR_COLUMNS,
    {.title = "Function",
     .key = "function",
     .kind = REPORT_CELL_TEXT,
     .left = true,
     .width = 8,
     .name = true},
    METHOD_COLUMNS,
    {.title = "Ranks", .key = "ranks", .kind = REPORT_CELL_COUNT, .width = 5},
    {.title = "Count", .key = "instances", .kind = REPORT_CELL_COUNT, .width = 6},
    {.title = "Bytes", .key = "bytes", .kind = REPORT_CELL_BYTES, .width = 8, .drop = 1},
    {.title = "Alg.bw",
     .key = "algorithm_bytes_per_second",
     .kind = REPORT_CELL_THROUGHPUT,
     .width = 10,
     .drop = 1},
    {.title = "Bus bw", .key = "bus_bytes_per_second", .kind = REPORT_CELL_THROUGHPUT, .width = 10},
    {.title = "Waiting", .key = "waiting_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Transfer", .key = "transfer_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Skew P50", .key = "skew_p50_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Skew P99", .key = "skew_p99_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Late", .key = "late_instances", .kind = REPORT_CELL_COUNT, .width = 6},
};

static void function_rows(struct report_table *table, const struct ranks_report *report,
                          void (*take)(struct report_table *, const struct report_cell *))
{
    const struct ranks *ranks = report->ranks;

    for (size_t i = 0; i < ranks->group_count; i++) {
        const struct ranks_group *group = &ranks->groups[i];
        const struct ranks_communicator *communicator = communicator_at(ranks, group->communicator);
        char hash[HASH_BYTES];
        const struct report_cell cells[] = {
            hash_cell(communicator, hash),
            report_text_cell(communicator->name),
            report_text_cell(ranks_function(ranks, group->function)),
            method_cell(ranks, group->algorithm),
            method_cell(ranks, group->protocol),
            communicator->ranks ? report_number_cell(communicator->ranks) : report_absent_cell(),
            report_number_cell(group->instances),
            bytes_cell(group->bytes),
            known_real(group->algorithm_bandwidth),
            known_real(group->bus_bandwidth),
            report_real_cell(group->waiting),
            report_real_cell(group->transfer),
            report_number_cell(group->skew_p50),
            report_number_cell(group->skew_p99),
            report_number_cell(group->late),
        };

        take(table, cells);
    }
}

/* ---- By rank ---- */

static const struct report_column member_columns[] = {
    COMMUNICATOR_COLUMNS,
    {.title = "Rank", .key = "rank", .kind = REPORT_CELL_ID, .width = 4},
    {.title = "Process",
     .key = "process",
     .kind = REPORT_CELL_TEXT,
     .left = true,
     .width = 8,
     .name = true},
    {.title = "Count", .key = "instances", .kind = REPORT_CELL_COUNT, .width = 6},
    {.title = "Waiting", .key = "waiting_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Transfer", .key = "transfer_ns", .kind = REPORT_CELL_MEAN, .width = 8},
    {.title = "Last", .key = "last_instances", .kind = REPORT_CELL_COUNT, .width = 6},
    {.title = "Late by", .key = "late_ns", .kind = REPORT_CELL_TIME, .width = 8},
};

static void member_rows(struct report_table *table, const struct ranks_report *report,
                        void (*take)(struct report_table *, const struct report_cell *))
{
    const struct ranks *ranks = report->ranks;

    for (size_t i = 0; i < ranks->member_count; i++) {
        const struct ranks_member *member = &ranks->members[i];
        const struct ranks_communicator *communicator =
            communicator_at(ranks, member->communicator);
        char hash[HASH_BYTES];
        const struct report_cell cells[] = {
            hash_cell(communicator, hash),
            report_text_cell(communicator->name),
            report_number_cell(member->rank),
            report_text_cell(report->set->processes[member->process].label),
            report_number_cell(member->instances),
            report_real_cell(member->waiting),
            report_real_cell(member->transfer),
            report_number_cell(member->last),
            report_number_cell(member->late),
        };

        take(table, cells);
    }
}

/* ---- By cause ---- */

static struct report_cell cause_cell(uint8_t cause)
{
    static const char *const names[LATENESS_CAUSES] = {[LATENESS_KERNEL] = "kernel",
                                                       [LATENESS_LAUNCH] = "launch",
                                                       [LATENESS_HOST] = "host",
                                                       [LATENESS_BLOCKED] = "blocked",
                                                       [LATENESS_NO_PROCESSOR] = "unscheduled",
                                                       [LATENESS_COPY] = "copy",
                                                       [LATENESS_COLLECTIVE] = "collective",
                                                       [LATENESS_CALL] = "call",
                                                       [LATENESS_OTHER] = "other"};

    return report_text_cell(names[cause]);
}

#define CAUSE_COLUMNS                                                                              \
    {.title = "Cause", .key = "cause", .kind = REPORT_CELL_TEXT, .left = true, .width = 5},        \
    {                                                                                              \
        .title = "Activity", .key = "activity", .kind = REPORT_CELL_TEXT, .left = true, .width = 8 \
    }

static const struct report_column cause_columns[] = {
    COMMUNICATOR_COLUMNS,
    {.title = "Rank", .key = "rank", .kind = REPORT_CELL_ID, .width = 4},
    {.title = "Process", .key = "process", .kind = REPORT_CELL_TEXT, .left = true, .width = 8},
    {.title = "Count", .key = "instances", .kind = REPORT_CELL_COUNT, .width = 6},
    {.title = "Behind", .key = "behind_ns", .kind = REPORT_CELL_TIME, .width = 8},
    CAUSE_COLUMNS,
};

static void cause_rows(struct report_table *table, const struct ranks_report *report,
                       void (*take)(struct report_table *, const struct report_cell *))
{
    const struct lateness *lateness = report->lateness;

    for (size_t i = 0; i < lateness->row_count; i++) {
        const struct lateness_row *row = &lateness->rows[i];
        const struct ranks_communicator *communicator =
            communicator_at(report->ranks, row->communicator);
        char hash[HASH_BYTES];
        const struct report_cell cells[] = {
            hash_cell(communicator, hash),
            report_text_cell(communicator->name),
            rank_cell(row->rank),
            report_text_cell(
                row->process == RANKS_NONE ? NULL : report->set->processes[row->process].label),
            report_number_cell(row->instances),
            report_number_cell(row->behind),
            cause_cell(row->cause),
            report_text_cell(lateness_name(lateness, row->activity)),
        };

        take(table, cells);
    }
}

/* ---- Each instance ---- */

static const struct report_column instance_columns[] = {
    {.title = "Begin", .key = "begin_ns", .kind = REPORT_CELL_TIME, .width = 8, .moment = true},
    COMMUNICATOR_COLUMNS,
    {.title = "Function",
     .key = "function",
     .kind = REPORT_CELL_TEXT,
     .left = true,
     .width = 8,
     .name = true},
    {.title = "Number", .key = "number", .kind = REPORT_CELL_ID, .width = 6},
    METHOD_COLUMNS,
    {.title = "Replay", .key = "replay", .kind = REPORT_CELL_ID, .width = 6, .drop = 1},
    {.title = "From", .key = "from_rank", .kind = REPORT_CELL_ID, .width = 4, .drop = 1},
    {.title = "To", .key = "to_rank", .kind = REPORT_CELL_ID, .width = 4, .drop = 1},
    {.title = "Bytes", .key = "bytes", .kind = REPORT_CELL_BYTES, .width = 8, .drop = 1},
    {.title = "Last", .key = "last_rank", .kind = REPORT_CELL_ID, .width = 4},
    {.title = "Process", .key = "process", .kind = REPORT_CELL_TEXT, .left = true, .width = 8},
    {.title = "Late by", .key = "late_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Skew", .key = "skew_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 1},
    {.title = "Waiting", .key = "waiting_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Transfer", .key = "transfer_ns", .kind = REPORT_CELL_TIME, .width = 8},
    {.title = "Behind", .key = "behind_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 2},
    CAUSE_COLUMNS,
    {.title = "Of it", .key = "cause_ns", .kind = REPORT_CELL_TIME, .width = 8, .drop = 2},
};

static void instance_row(struct report_table *table, const struct ranks_report *report,
                         const struct ranks_instance *instance,
                         void (*take)(struct report_table *, const struct report_cell *))
{
    const struct ranks_communicator *communicator =
        communicator_at(report->ranks, instance->communicator);
    const struct ranks_side *sides = &report->ranks->sides[instance->first_side];
    const struct ranks_side *last = instance->last == RANKS_NONE ? NULL : &sides[instance->last];
    const struct lateness_why *why = &report->lateness->whys[instance - report->ranks->instances];
    bool behind = why->last != RANKS_NONE, caused = behind && why->cause;
    uint64_t waiting = 0;
    char hash[HASH_BYTES];

    for (uint32_t i = 0; i < instance->side_count; i++)
        waiting += sides[i].waiting;
    const struct report_cell cells[] = {
        report_number_cell(instance->begin - report->set->first_time),
        hash_cell(communicator, hash),
        report_text_cell(communicator->name),
        report_text_cell(ranks_function(report->ranks, instance->function)),
        report_number_cell(instance->number),
        method_cell(report->ranks, instance->algorithm),
        method_cell(report->ranks, instance->protocol),
        instance->replay ? report_number_cell(instance->replay) : report_absent_cell(),
        rank_cell(instance->from),
        rank_cell(instance->to),
        bytes_cell(instance->bytes),
        last ? report_number_cell(last->rank) : report_absent_cell(),
        last ? report_text_cell(report->set->processes[last->process].label) : report_absent_cell(),
        report_number_cell(instance->late),
        report_number_cell(instance->skew),
        report_number_cell(waiting),
        report_number_cell(instance->transfer),
        behind ? report_number_cell(why->behind) : report_absent_cell(),
        cause_cell(caused ? why->cause : LATENESS_NONE),
        report_text_cell(caused ? lateness_name(report->lateness, why->activity) : NULL),
        caused ? report_number_cell(why->share) : report_absent_cell(),
    };

    take(table, cells);
}

static void instance_rows(struct report_table *table, const struct ranks_report *report,
                          void (*take)(struct report_table *, const struct report_cell *))
{
    for (size_t i = 0; i < report->ranks->instance_count; i++)
        instance_row(table, report, &report->ranks->instances[i], take);
}

/* ---- All of them ---- */

struct kind {
    const char *name; /* NULL: the main table */
    const struct report_column *columns;
    size_t count;
    void (*rows)(struct report_table *, const struct ranks_report *,
                 void (*take)(struct report_table *, const struct report_cell *));
};

static void put_table(const struct report_out *out, struct json_writer *json,
                      const struct ranks_report *report, const struct kind *kind)
{
    struct report_table table;

    if (json)
        report_begin_json(&table, json, kind->columns, kind->count);
    else
        report_begin(&table, out, kind->columns, kind->count);
    table.name = kind->name;
    if (!json)
        kind->rows(&table, report,
                   out->format == REPORT_TEXT ? report_measure : report_measure_units);
    report_header(&table);
    kind->rows(&table, report, report_row);
    report_end(&table);
}

#define KIND(name_, which)                                                                         \
    &(const struct kind)                                                                           \
    {                                                                                              \
        (name_), which##_columns, sizeof which##_columns / sizeof *which##_columns, which##_rows   \
    }

/* Each prints a table; to `json`, if that is not NULL, objects for an array that is open. */
static void put_functions(const struct report_out *out, struct json_writer *json,
                          const struct ranks_report *report)
{
    put_table(out, json, report, KIND(NULL, function));
}

static void put_members(const struct report_out *out, struct json_writer *json,
                        const struct ranks_report *report)
{
    put_table(out, json, report, KIND("ranks", member));
}

static void put_causes(const struct report_out *out, struct json_writer *json,
                       const struct ranks_report *report)
{
    put_table(out, json, report, KIND("causes", cause));
}

static void put_instances(const struct report_out *out, struct json_writer *json,
                          const struct ranks_report *report)
{
    put_table(out, json, report, KIND(NULL, instance));
}

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

static void put_json(const struct report_out *out, const struct ranks_report *report)
{
    struct json_writer json;

    json_open_document(&json, out->file, 2);
    json_ranks_head(&json, report);
    json_key_array(&json, "functions");
    put_functions(out, &json, report);
    json_close_array(&json);
    json_key_array(&json, "ranks");
    put_members(out, &json, report);
    json_close_array(&json);
    json_key_array(&json, "causes");
    put_causes(out, &json, report);
    json_close_array(&json);
    if (report->each) {
        json_key_array(&json, "trace");
        put_instances(out, &json, report);
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
        put_json(out, report);
        return;
    }
    print_ranks_head(out, report);
    if (!report->ranks->instance_count)
        print_nothing(out, report);
    if (out->format == REPORT_TEXT && !report->ranks->instance_count)
        return;
    if (report->each) {
        put_instances(out, NULL, report);
        return;
    }
    put_functions(out, NULL, report);
    if (report_has_titles(out))
        fputc('\n', out->file);
    put_members(out, NULL, report);
    if (out->format == REPORT_TEXT && !report->lateness->row_count)
        return;
    if (report_has_titles(out))
        fputc('\n', out->file);
    put_causes(out, NULL, report);
}
