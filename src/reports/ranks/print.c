/* The report on ranks: what each trace lacks, what could not be matched and why, how the clocks
 * were joined, then the tables. */
#include "reports/ranks/print.h"

#include <inttypes.h>
#include <math.h>

#include "base/text/foreign.h"
#include "base/text/units.h"
#include "reports/common/quality.h"

#include "base/poison.h"

/* ---- Cells that show the column's value, a number, as something else ---- */

static const struct ranks *ranks_of(const struct report_table *table)
{
    return ((const struct ranks_report *)table->of)->ranks;
}

static const struct ranks_communicator *communicator_of(const void *row, struct report_table *table)
{
    return &ranks_of(table)->communicators[report_value_cell(row, table).number];
}

/* The hash as NCCL logs it: a text, since it is a name. */
static struct report_cell hash_cell(const void *row, struct report_table *table)
{
    const struct ranks_communicator *communicator = communicator_of(row, table);

    if (communicator->by_order)
        return report_absent_cell();
    return report_text_cell(report_say(table, "%016" PRIx64, communicator->hash));
}

static struct report_cell name_cell(const void *row, struct report_table *table)
{
    return report_text_cell(communicator_of(row, table)->name);
}

static struct report_cell size_cell(const void *row, struct report_table *table)
{
    uint32_t ranks = communicator_of(row, table)->ranks;

    return report_number_if(ranks, ranks);
}

static struct report_cell function_cell(const void *row, struct report_table *table)
{
    return report_text_cell(
        ranks_function(ranks_of(table), (uint32_t)report_value_cell(row, table).number));
}

static struct report_cell method_cell(const void *row, struct report_table *table)
{
    return report_value_cell(row, table).number ? function_cell(row, table) : report_absent_cell();
}

static struct report_cell process_cell(const void *row, struct report_table *table)
{
    const struct ranks_report *report = table->of;
    struct report_cell cell = report_value_cell(row, table);

    return cell.absent ? cell : report_text_cell(report->set->processes[cell.number].label);
}

static struct report_cell bandwidth_cell(const void *row, struct report_table *table)
{
    double value = report_value_cell(row, table).real;

    return report_real_if(value > 0, value);
}

static struct report_cell cause_cell(const void *row, struct report_table *table)
{
    return report_text_cell(
        lateness_cause_key((enum lateness_cause)report_value_cell(row, table).number));
}

static struct report_cell activity_cell(const void *row, struct report_table *table)
{
    const struct ranks_report *report = table->of;
    struct report_cell cell = report_value_cell(row, table);

    return cell.absent ? cell
                       : report_text_cell(lateness_name(report->lateness, (uint32_t)cell.number));
}

_Static_assert(RANKS_NONE == UINT32_MAX, "UNLESS_MAX stands for it");

#define COMMUNICATOR_COLUMNS(member)                                                               \
    COLUMN("Communicator", "communicator", TEXT, 16, member, .cell = hash_cell, .left = true,      \
           .drop = 3),                                                                             \
        COLUMN("Name", "name", TEXT, 4, member, .cell = name_cell, .left = true, .drop = 2)
#define METHOD(title, key, width, member)                                                          \
    COLUMN(title, key, TEXT, width, member, .cell = method_cell, .left = true, .drop = 2)
#define CAUSE_COLUMNS(cause, activity, ...)                                                        \
    COLUMN("Cause", "cause", TEXT, 5, cause, .cell = cause_cell, .left = true, __VA_ARGS__),       \
        COLUMN("Activity", "activity", TEXT, 8, activity, .cell = activity_cell, .left = true,     \
               __VA_ARGS__)

/* ---- By function ---- */

#define OF(member) MEMBER(struct ranks_group, member)

static const struct report_column function_columns[] = {
    COMMUNICATOR_COLUMNS(OF(communicator)),
    COLUMN("Function", "function", TEXT, 8, OF(function), .cell = function_cell, .left = true,
           .name = true),
    METHOD("Alg.", "algorithm", 4, OF(algorithm)),
    METHOD("Proto.", "protocol", 6, OF(protocol)),
    COLUMN("Ranks", "ranks", COUNT, 5, OF(communicator), .cell = size_cell),
    COLUMN("Count", "instances", COUNT, 6, OF(instances)),
    COLUMN("Bytes", "bytes", BYTES, 8, OF(bytes), UNLESS_ZERO, .drop = 1),
    COLUMN("Alg.bw", "algorithm_bytes_per_second", THROUGHPUT, 10, OF(algorithm_bandwidth),
           .cell = bandwidth_cell, .drop = 1),
    COLUMN("Bus bw", "bus_bytes_per_second", THROUGHPUT, 10, OF(bus_bandwidth),
           .cell = bandwidth_cell),
    COLUMN("Waiting", "waiting_ns", MEAN, 8, OF(waiting)),
    COLUMN("Transfer", "transfer_ns", MEAN, 8, OF(transfer)),
    COLUMN("Skew P50", "skew_p50_ns", TIME, 8, OF(skew_p50)),
    COLUMN("Skew P99", "skew_p99_ns", TIME, 8, OF(skew_p99)),
    COLUMN("Late", "late_instances", COUNT, 6, OF(late)),
};
#undef OF

/* ---- By rank ---- */

#define OF(member) MEMBER(struct ranks_member, member)

static const struct report_column member_columns[] = {
    COMMUNICATOR_COLUMNS(OF(communicator)),
    COLUMN("Rank", "rank", ID, 4, OF(rank)),
    COLUMN("Process", "process", TEXT, 8, OF(process), .cell = process_cell, .left = true,
           .name = true),
    COLUMN("Count", "instances", COUNT, 6, OF(instances)),
    COLUMN("Waiting", "waiting_ns", MEAN, 8, OF(waiting)),
    COLUMN("Transfer", "transfer_ns", MEAN, 8, OF(transfer)),
    COLUMN("Last", "last_instances", COUNT, 6, OF(last)),
    COLUMN("Late by", "late_ns", TIME, 8, OF(late)),
};
#undef OF

/* ---- By cause ---- */

#define OF(member) MEMBER(struct lateness_row, member)

static const struct report_column cause_columns[] = {
    COMMUNICATOR_COLUMNS(OF(communicator)),
    COLUMN("Rank", "rank", ID, 4, OF(rank), UNLESS_MAX),
    COLUMN("Process", "process", TEXT, 8, OF(process), UNLESS_MAX, .cell = process_cell,
           .left = true),
    COLUMN("Count", "instances", COUNT, 6, OF(instances)),
    COLUMN("Behind", "behind_ns", TIME, 8, OF(behind)),
    CAUSE_COLUMNS(OF(cause), OF(activity)),
};
#undef OF

/* ---- The three of them ---- */

enum ranks_table { BY_FUNCTION, BY_RANK, BY_CAUSE };

/* To `json`, if that is not NULL, as a key with an array of objects. */
static void put_table(const struct report_out *out, struct json_writer *json,
                      const struct ranks_report *report, enum ranks_table which)
{
    const struct ranks *ranks = report->ranks;
    const struct lateness *lateness = report->lateness;
    const struct {
        const char *key;
        struct report_layout layout;
        const void *rows;
        size_t count, size;
    } tables[] = {
        [BY_FUNCTION] = {"functions",
                         {REPORT_COLUMNS(function_columns), .of = report},
                         ranks->groups,
                         ranks->group_count,
                         sizeof *ranks->groups},
        [BY_RANK] = {"ranks",
                     {REPORT_COLUMNS(member_columns), .of = report, .name = "ranks"},
                     ranks->members,
                     ranks->member_count,
                     sizeof *ranks->members},
        [BY_CAUSE] = {"causes",
                      {REPORT_COLUMNS(cause_columns), .of = report, .name = "causes"},
                      lateness->rows,
                      lateness->row_count,
                      sizeof *lateness->rows},
    };

    if (json)
        report_json_array(json, tables[which].key, &tables[which].layout, tables[which].rows,
                          tables[which].count, tables[which].size);
    else
        report_array(out, &tables[which].layout, tables[which].rows, tables[which].count,
                     tables[which].size);
}

/* ---- Each instance ---- */

struct instance_line {
    const struct ranks_instance *instance;
    const struct ranks_side *last;     /* NULL: no rank came last alone */
    const struct lateness_reason *why; /* NULL: nobody was behind */
    bool has_cause;
    uint64_t since;   /* ns from the first time of the set */
    uint64_t waiting; /* of all ranks */
};

#define OF(member)  THROUGH(struct instance_line, instance, member)
#define WHY(member) THROUGH(struct instance_line, why, member)
#define IF_CAUSE    WHEN(struct instance_line, has_cause)

static const struct report_column instance_columns[] = {
    COLUMN("Begin", "begin_ns", TIME, 8, MEMBER(struct instance_line, since), .moment = true),
    COMMUNICATOR_COLUMNS(OF(communicator)),
    COLUMN("Function", "function", TEXT, 8, OF(function), .cell = function_cell, .left = true,
           .name = true),
    COLUMN("Number", "number", ID, 6, OF(number)),
    METHOD("Alg.", "algorithm", 4, OF(algorithm)),
    METHOD("Proto.", "protocol", 6, OF(protocol)),
    COLUMN("Replay", "replay", ID, 6, OF(replay), UNLESS_ZERO, .drop = 1),
    COLUMN("From", "from_rank", ID, 4, OF(from), UNLESS_MAX, .drop = 1),
    COLUMN("To", "to_rank", ID, 4, OF(to), UNLESS_MAX, .drop = 1),
    COLUMN("Bytes", "bytes", BYTES, 8, OF(bytes), UNLESS_ZERO, .drop = 1),
    COLUMN("Last", "last_rank", ID, 4, THROUGH(struct instance_line, last, rank)),
    COLUMN("Process", "process", TEXT, 8, THROUGH(struct instance_line, last, process),
           .cell = process_cell, .left = true),
    COLUMN("Late by", "late_ns", TIME, 8, OF(late)),
    COLUMN("Skew", "skew_ns", TIME, 8, OF(skew), .drop = 1),
    COLUMN("Waiting", "waiting_ns", TIME, 8, MEMBER(struct instance_line, waiting)),
    COLUMN("Transfer", "transfer_ns", TIME, 8, OF(transfer)),
    COLUMN("Behind", "behind_ns", TIME, 8, WHY(behind), .drop = 2),
    CAUSE_COLUMNS(WHY(cause), WHY(activity), IF_CAUSE),
    COLUMN("Of it", "cause_ns", TIME, 8, WHY(share), IF_CAUSE, .drop = 2),
};

static void take_instance(struct report_table *table, report_take *take,
                          const struct ranks_report *report, const struct ranks_instance *instance)
{
    const struct ranks_side *sides = &report->ranks->sides[instance->first_side];
    const struct lateness_reason *why =
        &report->lateness->reasons[instance - report->ranks->instances];
    struct instance_line line = {
        .instance = instance,
        .last = instance->last == RANKS_NONE ? NULL : &sides[instance->last],
        .why = why->last == RANKS_NONE ? NULL : why,
        .has_cause = why->last != RANKS_NONE && why->cause,
        .since = instance->begin - report->set->first_time,
    };

    for (uint32_t i = 0; i < instance->side_count; i++)
        line.waiting += sides[i].waiting;
    take(table, &line);
}

static void each_instance(struct report_table *table, report_take *take)
{
    const struct ranks_report *report = table->of;

    for (size_t i = 0; i < report->ranks->instance_count; i++)
        take_instance(table, take, report, &report->ranks->instances[i]);
}

static void put_instances(const struct report_out *out, struct json_writer *json,
                          const struct ranks_report *report)
{
    const struct report_layout layout = {REPORT_COLUMNS(instance_columns), .of = report};

    if (json)
        report_json_print(json, "trace", &layout, each_instance);
    else
        report_print(out, &layout, each_instance);
}

/* ---- Clocks, also of `info` ---- */

#define MAX_LINES 16 /* clocks of which text says each */

/* To a thousandth: less is rounding. */
static double drift_ppm(const struct ranks_clock *clock)
{
    return rint(clock->drift * 1e9) / 1e3;
}

static void print_clock(const struct report_out *out, const struct ranks_clock *clock,
                        const char *whose)
{
    char offset[MP_FORMATTED_BYTES], bound[MP_FORMATTED_BYTES];

    fputs("======== Note: the clock of ", out->file);
    foreign_put_text(out->file, whose);
    if (!clock->known) {
        fputs(": no collective bounds its offset; it is aligned by the time of day.\n", out->file);
        return;
    }
    if (!clock->possible) {
        fprintf(out->file,
                ": no straight line obeys the bounds of %s collectives; times across "
                "hosts are doubtful.\n",
                mp_count(clock->instances).text);
        return;
    }
    fprintf(out->file, " is %s %s",
            mp_format_time_within(offset, sizeof offset, (uint64_t)llrint(fabs(clock->offset)),
                                  clock->bound),
            clock->offset > 0 ? "behind" : "ahead");
    if (drift_ppm(clock) != 0)
        fprintf(out->file, ", drifts by %.3f ppm", -drift_ppm(clock));
    fprintf(out->file, ", and right within %s, by %s collectives.\n",
            mp_format_time(bound, sizeof bound, (uint64_t)llrint(clock->bound)),
            mp_count(clock->instances).text);
}

/* The first process that has the clock. */
static const struct trace_process *process_of(const struct trace_set *set, size_t clock)
{
    size_t i = 0;

    while (i + 1 < set->count && set->processes[i].clock_number != clock)
        i++;
    return &set->processes[i];
}

void print_clock_offsets(const struct report_out *out, const struct trace_set *set,
                         const struct ranks *ranks)
{
    double worst = 0;
    char bound[MP_FORMATTED_BYTES];

    for (size_t i = 1; i < ranks->clock_count && i <= MAX_LINES; i++)
        print_clock(out, &ranks->clocks[i], process_of(set, i)->label);
    if (ranks->clock_count <= MAX_LINES + 1)
        return;
    for (size_t i = 1; i < ranks->clock_count; i++)
        worst = ranks->clocks[i].bound > worst ? ranks->clocks[i].bound : worst;
    fprintf(out->file,
            "======== Note: %s more clocks: see --json; of all that are known the worst is right "
            "within %s.\n",
            mp_count(ranks->clock_count - 1 - MAX_LINES).text,
            mp_format_time(bound, sizeof bound, (uint64_t)llrint(worst)));
}

void json_clock_offsets(struct json_writer *json, const struct trace_set *set,
                        const struct ranks *ranks)
{
    for (size_t i = 1; i < ranks->clock_count; i++) {
        const struct ranks_clock *clock = &ranks->clocks[i];

        JSON_OBJECT(json, FACT("process", process_of(set, i)->label),
                    FACT("instances", clock->instances), FLAG("possible", clock->possible),
                    FACT_IF("offset_ns", clock->known, clock->offset),
                    FACT_IF("drift_ppm", clock->known, drift_ppm(clock)),
                    FACT_IF("bound_ns", clock->possible, clock->bound));
    }
}

/* ---- What could not be matched ---- */

struct reason {
    const char *key;
    const char *what; /* after the number */
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
    put_table(out, &json, report, BY_FUNCTION);
    put_table(out, &json, report, BY_RANK);
    put_table(out, &json, report, BY_CAUSE);
    if (report->each)
        put_instances(out, &json, report);
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
    put_table(out, NULL, report, BY_FUNCTION);
    if (report_has_titles(out))
        fputc('\n', out->file);
    put_table(out, NULL, report, BY_RANK);
    if (out->format == REPORT_TEXT && !report->lateness->row_count)
        return;
    if (report_has_titles(out))
        fputc('\n', out->file);
    put_table(out, NULL, report, BY_CAUSE);
}
