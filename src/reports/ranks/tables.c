/* The tables of the report on ranks as columns and rows. Each is walked twice: first to measure,
 * then to print.
 */
#include "reports/ranks/tables.h"

#include <inttypes.h>

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

static void ranks_print_table(const struct report_out *out, struct json_writer *json,
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

void ranks_print_functions(const struct report_out *out, struct json_writer *json,
                           const struct ranks_report *report)
{
    ranks_print_table(out, json, report, KIND(NULL, function));
}

void ranks_print_members(const struct report_out *out, struct json_writer *json,
                         const struct ranks_report *report)
{
    ranks_print_table(out, json, report, KIND("ranks", member));
}

void ranks_print_causes(const struct report_out *out, struct json_writer *json,
                        const struct ranks_report *report)
{
    ranks_print_table(out, json, report, KIND("causes", cause));
}

void ranks_print_instances(const struct report_out *out, struct json_writer *json,
                           const struct ranks_report *report)
{
    ranks_print_table(out, json, report, KIND(NULL, instance));
}
