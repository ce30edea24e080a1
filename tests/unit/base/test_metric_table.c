/* metrics/metrics.h, against the documentation's table (metric_reference.txt), and its lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/metrics/metrics.h"
#include "trace/schema.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Where an expression is not the documentation's, and why. */
static const struct {
    const char *name;
    const char *reason;
} deviations[] = {
    {"achieved_occupancy", "unit: a ratio"},
    {"eligible_warps_per_cycle", "SM: four schedulers each"},
    {"global_hit_rate", "unit: percent"},
    {"inst_executed_shared_atomics", "total: ATOMS.* has the others in it"},
    {"inst_executed_surface_loads", "total: atomics are no loads"},
    {"ipc", "SM"},
    {"issued_ipc", "SM"},
    {"l2_atomic_throughput", "unit: bytes"},
    {"l2_read_throughput", "unit: bytes"},
    {"l2_tex_read_throughput", "unit: bytes"},
    {"l2_tex_write_throughput", "unit: bytes"},
    {"l2_write_throughput", "unit: bytes"},
    {"local_store_throughput", "unit: bytes"},
    {"shared_load_throughput", "unit: bytes"},
    {"shared_store_throughput", "unit: bytes"},
    {"sysmem_read_throughput", "unit: bytes"},
    {"sysmem_write_throughput", "unit: bytes"},
    {"warp_execution_efficiency", "unit: percent"},
    {"warp_nonpred_execution_efficiency", "total: threads whose predicate is true"},
};

static bool deviates(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(deviations); i++) {
        if (!strcmp(deviations[i].name, name))
            return true;
    }
    return false;
}

/* Two expressions are the same when they ask for the same inputs, and give the same value for some
 * values of these that have nothing to do with each other. */
static double value_of(const char *text, uint64_t *inputs)
{
    struct metric_expression expression;
    double values[METRIC_MAX_INPUTS];
    struct mp_error error;

    if (metric_expression_parse(text, &expression, &error) != MP_OK)
        fail_msg("'%s': %s", text, error.text);
    *inputs = 0;
    for (size_t i = 0; i < expression.input_count; i++) {
        uint64_t hash = 14695981039346656037u; /* FNV-1a */
        for (const char *at = expression.names[i]; *at; at++)
            hash = (hash ^ (unsigned char)*at) * 1099511628211u;
        *inputs += hash;
        values[i] = (double)(hash >> 40) + 1;
    }
    return metric_expression_value(&expression, values);
}

static bool same_expression(const char *left, const char *right)
{
    uint64_t left_inputs;
    uint64_t right_inputs;
    double a = value_of(left, &left_inputs);
    double b = value_of(right, &right_inputs);

    return left_inputs == right_inputs && a - b < 1e-9 * a && b - a < 1e-9 * a;
}

/* `reference` is NULL where the documentation has nothing: then all of ours are substitutes. A
 * first candidate with a note is the documentation's, which says something else than the name. */
static void compare_entry(const struct metric_entry *entry, const char *reference)
{
    const char *expression = entry->candidates[0].expression;

    if (!reference) {
        for (size_t i = 0; entry->candidates[i].expression; i++)
            assert_non_null(entry->candidates[i].note);
    } else if (!expression) {
        fail_msg("%s: the documentation has %s", entry->name, reference);
    } else if (same_expression(expression, reference) == deviates(entry->name)) {
        fail_msg("%s: %s and the documentation's %s", entry->name, expression, reference);
    }
}

static FILE *open_reference(void)
{
    const char *source = getenv("SOURCE");
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/tests/unit/base/metric_reference.txt", source ? source : ".");
    file = fopen(path, "r");
    if (!file)
        fail_msg("cannot open '%s'", path);
    return file;
}

static void every_metric_is_what_the_documentation_says(void **state)
{
    FILE *file = open_reference();
    char line[2048];
    size_t found = 0;
    size_t count;

    (void)state;
    while (fgets(line, sizeof line, file)) {
        const struct metric_entry *entry;
        char *value = strstr(line, " = ");

        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || !value)
            continue;
        *value = '\0';
        value += 3;
        entry = metric_find(line);
        if (!entry || entry->kind != METRIC_KIND_METRIC)
            fail_msg("%s is missing", line);
        compare_entry(entry, strcmp(value, "n/a") ? value : NULL);
        found++;
    }
    fclose(file);
    metric_entries(METRIC_KIND_METRIC, &count);
    assert_int_equal(found, count);
    assert_int_equal(count, 181);
}

static void check_entry(const struct metric_entry *entry, enum metric_kind kind)
{
    struct metric_expression expression;
    struct mp_error error;
    size_t i;

    assert_int_equal(entry->kind, kind);
    assert_true(entry->unit != METRIC_UNIT_NONE);
    assert_in_range(strlen(metric_description(kind, entry->name)), 3, 59);
    assert_null(strstr(entry->name, "__"));
    for (i = 0; i < METRIC_MAX_CANDIDATES && entry->candidates[i].expression; i++) {
        if (metric_expression_parse(entry->candidates[i].expression, &expression, &error) != MP_OK)
            fail_msg("%s: %s", entry->name, error.text);
        for (size_t j = 0; j < expression.input_count; j++) {
            if (!metric_is_raw(expression.names[j]) || !strchr(expression.names[j], '.'))
                fail_msg("%s: '%s' is no metric", entry->name, expression.names[j]);
        }
    }
    assert_true(i < METRIC_MAX_CANDIDATES);
}

static void every_entry_is_sound_and_in_its_place(void **state)
{
    static const enum metric_kind kinds[] = {METRIC_KIND_METRIC, METRIC_KIND_EVENT};

    (void)state;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        size_t count;
        const struct metric_entry *entries = metric_entries(kinds[k], &count);

        assert_true(count > 80);
        for (size_t i = 0; i < count; i++) {
            check_entry(&entries[i], kinds[k]);
            assert_true(!i || strcmp(entries[i - 1].name, entries[i].name) < 0);
            assert_string_equal(metric_find(entries[i].name)->name, entries[i].name);
        }
    }
}

static void a_metric_goes_before_an_event_of_the_same_name(void **state)
{
    (void)state;
    assert_int_equal(metric_find("inst_executed")->kind, METRIC_KIND_METRIC);
    assert_int_equal(metric_find("warps_launched")->kind, METRIC_KIND_EVENT);
    assert_null(metric_find("warps_launche"));
    assert_null(metric_find(""));
}

static void substitutes_come_in_their_order_with_a_note(void **state)
{
    const struct metric_entry *entry = metric_find("tensor_precision_fu_utilization");

    (void)state;
    assert_string_equal(entry->candidates[0].expression,
                        "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active");
    assert_null(entry->candidates[0].note);
    assert_null(entry->candidates[1].note);
    assert_string_equal(entry->candidates[2].expression,
                        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active");
    assert_non_null(entry->candidates[2].note);
    assert_string_equal(metric_find("l2_global_load_bytes")->candidates[1].expression,
                        "l1tex__m_xbar2l1tex_read_bytes_mem_lg_op_ld.sum");
    assert_null(metric_find("flop_count_sp_special")->candidates[0].expression);
}

static void the_units_are_those_of_the_trace(void **state)
{
    static const struct {
        enum metric_unit unit;
        const char *name;
    } units[] = {
        {METRIC_UNIT_NONE, "none"},
        {METRIC_UNIT_COUNT, "count"},
        {METRIC_UNIT_PERCENT, "percent"},
        {METRIC_UNIT_RATIO, "ratio"},
        {METRIC_UNIT_BYTES, "bytes"},
        {METRIC_UNIT_BYTES_PER_SECOND, "bytes_per_second"},
        {METRIC_UNIT_NANOSECONDS, "nanoseconds"},
        {METRIC_UNIT_PER_SECOND, "per_second"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(units); i++)
        assert_string_equal(mp_enum_name("metric_unit", units[i].unit), units[i].name);
}

static void names_of_cupti_stand_for_themselves(void **state)
{
    static const struct {
        const char *name;
        enum metric_unit unit;
    } raw[] = {
        {"sm__warps_active.avg.pct_of_peak_sustained_active", METRIC_UNIT_PERCENT},
        {"smsp__warp_issue_stalled_barrier_per_warp_active.pct", METRIC_UNIT_PERCENT},
        {"dram__bytes_read.sum", METRIC_UNIT_BYTES},
        {"dram__bytes_read.sum.per_second", METRIC_UNIT_BYTES_PER_SECOND},
        {"l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum", METRIC_UNIT_BYTES},
        {"l1tex__m_xbar2l1tex_read_bytes.sum.pct_of_peak_sustained_elapsed", METRIC_UNIT_PERCENT},
        {"lts__t_sectors.sum.per_second", METRIC_UNIT_PER_SECOND},
        {"smsp__inst_executed.avg.per_cycle_active", METRIC_UNIT_RATIO},
        {"smsp__average_inst_executed_per_warp.ratio", METRIC_UNIT_RATIO},
        {"gpu__time_duration.sum", METRIC_UNIT_NANOSECONDS},
        {"sm__cycles_active.max", METRIC_UNIT_COUNT},
        {"TPC.TriageCompute.sm__cycles_active.avg", METRIC_UNIT_COUNT},
    };
    struct metric_entry entry;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(raw); i++) {
        assert_true(metric_look_up(raw[i].name, &entry));
        assert_int_equal(entry.kind, METRIC_KIND_RAW);
        if (entry.unit != raw[i].unit)
            fail_msg("%s has unit %d", raw[i].name, (int)entry.unit);
        assert_ptr_equal(entry.candidates[0].expression, raw[i].name);
        assert_null(entry.candidates[1].expression);
    }
    assert_true(metric_look_up("ipc", &entry));
    assert_int_equal(entry.kind, METRIC_KIND_METRIC);
}

static void what_nobody_knows_is_not_looked_up(void **state)
{
    static const char *const unknown[] = {
        "", "ip", "__", "a__", "__a", "sm__x y", "sm__x*2", "sm__x,y", "9__x", "sm_x.sum", "IPC",
    };
    struct metric_entry entry;
    char longest[METRIC_NAME_BYTES + 2];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        if (metric_look_up(unknown[i], &entry))
            fail_msg("'%s' was found", unknown[i]);
    }
    memset(longest, 'a', sizeof longest);
    memcpy(longest, "sm__", 4);
    longest[METRIC_NAME_BYTES - 1] = '\0';
    assert_true(metric_look_up(longest, &entry));
    longest[METRIC_NAME_BYTES - 1] = 'a';
    longest[METRIC_NAME_BYTES] = '\0';
    assert_false(metric_look_up(longest, &entry));
}

static void a_mistaken_name_has_a_nearest_one(void **state)
{
    char longest[4096];

    (void)state;
    assert_string_equal(metric_suggest("achieved_ocupancy"), "achieved_occupancy");
    assert_string_equal(metric_suggest("gld_efficency"), "gld_efficiency");
    assert_string_equal(metric_suggest("ipcs"), "ipc");
    assert_string_equal(metric_suggest("warp_launched"), "warps_launched");
    assert_string_equal(metric_suggest("dram_read_bytes"), "dram_read_bytes");
    assert_null(metric_suggest("completely_different_thing_altogether"));
    assert_null(metric_suggest(""));
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(metric_suggest(longest));
}

/* The names of a list, joined by spaces. */
static const char *names_of(const char *list, size_t *count)
{
    static char text[16384];
    char name[METRIC_NAME_BYTES];
    struct metric_names names;
    size_t used = 0;

    text[0] = '\0';
    *count = 0;
    metric_names_begin(&names, list);
    while (metric_names_next(&names, name)) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", *count ? " " : "", name);
        ++*count;
    }
    return text;
}

static void a_list_hands_out_each_name_once(void **state)
{
    size_t count;

    (void)state;
    assert_string_equal(names_of("ipc, gld_efficiency,a__b.sum", &count),
                        "ipc gld_efficiency a__b.sum");
    assert_string_equal(names_of("ipc,nonsense,ipc,,ipc", &count), "ipc nonsense");
    assert_string_equal(names_of("", &count), "");
    assert_string_equal(names_of(",,, ,", &count), "");
    names_of("all", &count);
    assert_int_equal(count, 181);
    names_of("events", &count);
    assert_int_equal(count, 82);
    names_of("all,events", &count); /* inst_executed is both */
    assert_int_equal(count, 181 + 82 - 1);
    names_of("ipc,all,all,x__y,ipc", &count);
    assert_int_equal(count, 182);
    assert_string_equal(names_of("warps_launched,ipc,warps_launched", &count),
                        "warps_launched ipc");
}

static void an_overlong_name_is_cut_and_known_to_nobody(void **state)
{
    char list[METRIC_NAME_BYTES * 2 + 8];
    struct metric_names names;
    struct metric_entry entry;
    char name[METRIC_NAME_BYTES];

    (void)state;
    memset(list, 'z', sizeof list);
    memcpy(list + sizeof list - 5, ",ipc", 5);
    metric_names_begin(&names, list);
    assert_true(metric_names_next(&names, name));
    assert_int_equal(strlen(name), METRIC_NAME_BYTES - 1);
    assert_false(metric_look_up(name, &entry));
    assert_true(metric_names_next(&names, name));
    assert_string_equal(name, "ipc");
    assert_false(metric_names_next(&names, name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_metric_is_what_the_documentation_says),
        cmocka_unit_test(every_entry_is_sound_and_in_its_place),
        cmocka_unit_test(a_metric_goes_before_an_event_of_the_same_name),
        cmocka_unit_test(substitutes_come_in_their_order_with_a_note),
        cmocka_unit_test(the_units_are_those_of_the_trace),
        cmocka_unit_test(names_of_cupti_stand_for_themselves),
        cmocka_unit_test(what_nobody_knows_is_not_looked_up),
        cmocka_unit_test(a_mistaken_name_has_a_nearest_one),
        cmocka_unit_test(a_list_hands_out_each_name_once),
        cmocka_unit_test(an_overlong_name_is_cut_and_known_to_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
