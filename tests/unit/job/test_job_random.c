/* The critical path of 1,000 random jobs is their longest path, found among all pairs of moments by
 * code of the test alone; and what-if says what the same jobs take when they are played again. The
 * short part has the first 200 jobs.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reports/advise/advise.h"
#include "unit/job/job_fixture.h"
#include "unit/sweep.h"
#include "unit/trace_fixture.h"

#define JOBS sweep(1000, 200)

enum { CHANGES_BYTES = 256 };

static struct play play;
static struct job_scene scene;

static void load(uint64_t seed, enum play_form form)
{
    static const struct play_changes none;
    static const struct ranks_unmatched nothing;

    play_make(&play, seed, form);
    play_run(&play, &none);
    job_scene_load(&scene, &play);
    assert_memory_equal(&scene.ranks.unmatched, &nothing, sizeof nothing);
    assert_int_equal(scene.windows.count, 1);
    assert_int_equal(scene.windows.items[0].begin, play.begin);
    assert_int_equal(scene.windows.items[0].end, play.end);
}

/* ---- The path ---- */

/* What the analysis says of a name. */
static uint64_t critical_of(const struct deps_result *result, uint32_t rank, unsigned what)
{
    const char *name = play_name(rank, what);
    uint32_t id = mp_intern_find(&scene.job.deps.names, name, strlen(name));

    return id ? result->rows[id].critical : 0;
}

static void expect_same_path(const struct deps_result *result, uint64_t length,
                             uint64_t sums[PLAY_RANKS][PLAY_WHATS])
{
    uint64_t host = 0, latency = 0, parts = 0;

    assert_int_equal(length, result->window);
    for (uint32_t rank = 0; rank < play.ranks; rank++) {
        host += sums[rank][PLAY_HOST];
        latency += sums[rank][PLAY_LATENCY];
        for (unsigned what = PLAY_LAUNCHES; what < PLAY_WHATS; what++) {
            if (critical_of(result, rank, what) != sums[rank][what])
                fail_msg("%s: %llu, must be %llu", play_name(rank, what),
                         (unsigned long long)critical_of(result, rank, what),
                         (unsigned long long)sums[rank][what]);
        }
    }
    for (int part = 0; part < DEPS_PARTS; part++)
        parts += result->parts[part];
    assert_int_equal(result->parts[DEPS_HOST_CODE], host);
    assert_int_equal(parts - result->parts[DEPS_HOST_CODE], latency);
}

/* By rank, with the host code and the latencies. */
static void expect_same_ranks(uint64_t sums[PLAY_RANKS][PLAY_WHATS])
{
    struct job_usage usage;

    assert_int_equal(job_use(&scene.job.deps, &scene.windows, &usage), MP_OK);
    for (uint32_t rank = 0; rank < play.ranks; rank++) {
        uint64_t sum = 0;

        for (unsigned what = 0; what < PLAY_WHATS; what++)
            sum += sums[rank][what];
        assert_int_equal(usage.ranks[rank].critical, sum);
    }
    job_usage_free(&usage);
}

static void the_critical_path_is_the_longest_path(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        uint64_t sums[PLAY_RANKS][PLAY_WHATS], length;
        struct deps_result result;

        load(seed, PLAY_ANY);
        length = play_longest(&play, sums);
        assert_int_equal(deps_result_init(&scene.job.deps, &result), MP_OK);
        deps_path(&scene.job.deps, &scene.windows.items[0], &result, NULL);
        expect_same_path(&result, length, sums);
        expect_same_ranks(sums);
        deps_result_free(&result);
        job_scene_free(&scene);
    }
}

/* ---- Waiting ---- */

/* What the sides of one kernel waited: the longest, as they share it. Rows of other ranks follow.
 */
static uint64_t played_waiting(void)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < play.row_count; i++) {
        const struct play_row *row = &play.rows[i];
        uint64_t own = row->begin, last = own;

        for (uint32_t k = 0; k < play.row_count && row->op->kind == PLAY_NCCL; k++) {
            const struct play_row *other = &play.rows[k];
            bool awaited = row->op->function == PLAY_BROADCAST ? other->rank == row->op->root
                           : row->op->function == PLAY_REDUCE  ? row->rank == row->op->root
                                                               : true;

            if (other->op == row->op && awaited && other->begin > last)
                last = other->begin;
        }
        sum += last - own;
    }
    return sum;
}

static void waiting_for_peers_lasts_from_the_own_arrival_to_the_last_one_that_is_needed(
    void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= JOBS / 10; seed++) {
        const struct deps *deps = &scene.job.deps;
        uint64_t waiting = 0;

        load(seed, PLAY_ANY);
        for (uint32_t i = deps->host_count; i < deps->count; i++) {
            if (deps->activities[i].kind == DEPS_TRANSFER)
                waiting += deps_waiting(deps, &deps->activities[i]);
        }
        assert_int_equal(waiting, played_waiting());
        job_scene_free(&scene);
    }
}

/* ---- What if ---- */

/* Changes as the player and the analysis take them. */
struct both {
    struct play_changes played;
    char written[CHANGES_BYTES];
};

static void write_change(struct both *both, const char *name, const char *value)
{
    size_t used = strlen(both->written);

    snprintf(both->written + used, sizeof both->written - used, "%s=%s ", name, value);
}

static bool is_there(const char *name)
{
    return mp_intern_find(&scene.job.deps.names, name, strlen(name));
}

static void change_name(struct both *both, uint64_t dice, uint32_t rank)
{
    unsigned what = PLAY_KERNELS + (unsigned)(dice % (PLAY_WHATS - PLAY_KERNELS));
    bool half = dice & 64;

    if (!is_there(play_name(rank, what)))
        return;
    (half ? both->played.halved : both->played.doubled)[rank][what] = true;
    write_change(both, play_name(rank, what), half ? "0.5x" : "2x");
}

/* Of all ranks. */
static void change_function(struct both *both, unsigned what)
{
    bool any = false;

    for (uint32_t rank = 0; rank < play.ranks; rank++) {
        both->played.halved[rank][what] = true;
        any |= is_there(play_name(rank, what));
    }
    if (any)
        write_change(both, strchr(play_name(0, what), ':') + 1, "0.5x");
}

static void change_rank(struct both *both, const char *part, uint32_t rank)
{
    char name[64];

    snprintf(name, sizeof name, "rank%u:%s", rank, part);
    write_change(both, name, "0");
}

static struct both any_changes(uint64_t seed)
{
    struct both both = {.written = ""};
    uint64_t dice = fixture_random(&seed);
    uint32_t rank = (uint32_t)(dice % play.ranks);

    switch (dice >> 8 & 7) {
    case 0:
        change_function(&both, PLAY_FUNCTIONS + (unsigned)(dice >> 16) % PLAY_FUNCTION_COUNT);
        break;
    case 1:
        both.played.no_host[rank] = true;
        change_rank(&both, "host", rank);
        break;
    case 2:
        both.played.no_launch[rank] = true;
        change_rank(&both, "launch_latency", rank);
        break;
    case 3:
        both.played.no_gap = true;
        write_change(&both, "gap", "0");
        write_change(&both, "dependency", "0");
        break;
    case 4:
        both.played.halved[rank][PLAY_LAUNCHES] = true;
        write_change(&both, play_name(rank, PLAY_LAUNCHES), "0.5x");
        break;
    default:
        change_name(&both, dice >> 16, rank);
        change_name(&both, dice >> 32, (rank + 1) % play.ranks);
    }
    return both;
}

static void what_if_is_the_job_played_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        struct both both;
        uint64_t length;

        load(seed, PLAY_ANY);
        assert_int_equal(job_scene_length(&scene, ""), play.end - play.begin);
        both = any_changes(seed);
        length = job_scene_length(&scene, both.written);
        play_run(&play, &both.played);
        if (length != play.end - play.begin)
            fail_msg("seed %llu, %s: %llu, must be %llu", (unsigned long long)seed, both.written,
                     (unsigned long long)length, (unsigned long long)(play.end - play.begin));
        job_scene_free(&scene);
    }
}

/* ---- Nobody late, or half as late ---- */

static uint64_t length_with(const char *change)
{
    struct deps_changes changes = {.items = NULL};
    uint64_t length;

    assert_int_equal(deps_changes_add(&changes, change, NULL), MP_OK);
    assert_null(job_changes_unmatched(&changes, &scene.job));
    assert_int_equal(job_replay(&scene.job, &changes, &scene.windows, &length, NULL), MP_OK);
    deps_changes_free(&changes);
    return length;
}

static void is_as_played(const char *change, const struct play_changes *played)
{
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        uint64_t length;

        load(seed, PLAY_IN_STEP);
        length = length_with(change);
        play_run(&play, played);
        if (length != play.end - play.begin)
            fail_msg("%s, seed %llu: %llu, must be %llu", change, (unsigned long long)seed,
                     (unsigned long long)length, (unsigned long long)(play.end - play.begin));
        job_scene_free(&scene);
    }
}

static void with_late_0_the_job_takes_what_it_takes_without_what_made_ranks_late(void **state)
{
    (void)state;
    is_as_played("late=0", &(struct play_changes){.no_late = true});
}

static void with_half_the_lateness_the_job_takes_what_it_takes_with_half_of_it(void **state)
{
    (void)state;
    is_as_played("late=0.5x", &(struct play_changes){.half_late = true});
}

/* ---- Which iterations a rank is late to ---- */

enum { QUARTERS = 4 };

/* Four iterations over four fifths of the job: what arrives behind them is in none. */
static void make_iterations(struct deps_window items[QUARTERS])
{
    uint64_t length = (play.end - play.begin) / 5;

    for (uint64_t i = 0; i < QUARTERS; i++) {
        items[i] = scene.windows.items[0];
        items[i].begin = items[i].from = play.begin + i * length;
        items[i].end = items[i].host_end = items[i].until = items[i].begin + length;
    }
}

/* How many of them the rank is late to by a percent of their length. */
static unsigned late_iterations(const struct deps_window items[QUARTERS], uint32_t rank)
{
    const struct job *job = &scene.job;
    uint64_t late[QUARTERS] = {0}, min = (items[0].end - items[0].begin) / 100;
    unsigned count = 0;

    for (size_t i = 0; i < scene.ranks.instance_count; i++) {
        const struct ranks_instance *instance = &scene.ranks.instances[i];

        for (uint32_t side = 0; side < instance->side_count; side++) {
            uint32_t arrival = job->arrivals[instance->first_side + side];
            size_t quarter;

            if (scene.ranks.sides[instance->first_side + side].rank != rank || arrival == DEPS_NONE)
                continue;
            quarter =
                (job->deps.activities[arrival].end - play.begin) / (items[0].end - items[0].begin);
            if (quarter < QUARTERS)
                late[quarter] += job_lateness(job, i, job_first_side(job, i), side);
        }
    }
    for (int i = 0; i < QUARTERS; i++)
        count += late[i] >= (min > DEPS_TOLERANCE_NS ? min : DEPS_TOLERANCE_NS);
    return count;
}

static double number_of(const struct advise_finding *finding, const char *key)
{
    for (size_t i = 0; i < finding->number_count; i++)
        if (!strcmp(finding->numbers[i].key, key))
            return finding->numbers[i].value;
    fail_msg("no %s", key);
    return 0;
}

static void the_advice_counts_the_iterations_that_a_rank_is_late_to(void **state)
{
    unsigned findings = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct deps_window items[QUARTERS];
        const struct deps_windows iterations = {.items = items, .count = QUARTERS};
        struct advice advice;

        load(seed, PLAY_IN_STEP);
        make_iterations(items);
        assert_int_equal(job_advise(&scene.job, &iterations, NULL, &advice), MP_OK);
        for (size_t i = 0; i < advice.count; i++) {
            const struct advise_finding *finding = &advice.findings[i];

            if (finding->rule != ADVISE_LATE_RANK)
                continue;
            assert_int_equal(number_of(finding, "late_iterations"),
                             late_iterations(items, (uint32_t)number_of(finding, "rank")));
            findings++;
        }
        advise_free(&advice);
        job_scene_free(&scene);
    }
    assert_true(findings > 20);
}

/* ---- How fast each rank is ---- */

static const char *name_at(uint32_t activity)
{
    return strchr(deps_name(&scene.job.deps, &scene.job.deps.activities[activity]), ':') + 1;
}

static bool is_of(uint32_t activity, const char *name, uint32_t process)
{
    const struct deps *deps = &scene.job.deps;
    const struct deps_activity *work = &deps->activities[activity];

    return work->kind == DEPS_KERNEL && !(work->flags & DEPS_ARRIVES) &&
           deps->lanes[work->lane].process == process && !strcmp(name_at(activity), name);
}

/* The lower median of values: that which at most half of the others are below. */
static uint64_t median(const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t below = 0, same = 0;

        for (size_t k = 0; k < count; k++) {
            below += values[k] < values[i];
            same += values[k] == values[i];
        }
        if (below <= (count - 1) / 2 && (count - 1) / 2 < below + same)
            return values[i];
    }
    return 0;
}

/* The median time of a name on a rank; UINT64_MAX: it does not run there. */
static uint64_t usual(const char *name, uint32_t process)
{
    const struct deps *deps = &scene.job.deps;
    uint64_t values[PLAY_OPS];
    size_t count = 0;

    for (uint32_t i = deps->host_count; i < deps->count; i++)
        if (is_of(i, name, process))
            values[count++] = deps->activities[i].end - deps->activities[i].begin;
    return count ? median(values, count) : UINT64_MAX;
}

/* What a kernel of the rank should take; UINT64_MAX: no other rank runs it. */
static uint64_t fair(const char *name, uint32_t process)
{
    uint64_t values[PLAY_RANKS];
    size_t count = 0;

    for (uint32_t i = 0; i < play.ranks; i++)
        if (i != process && usual(name, i) != UINT64_MAX)
            values[count++] = usual(name, i);
    return count ? median(values, count) : UINT64_MAX;
}

static void excess_is_what_kernels_take_beyond_the_others_median(void **state)
{
    unsigned found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 25; seed++) {
        const struct deps *deps = &scene.job.deps;
        struct job_paces paces;
        uint64_t sums[PLAY_RANKS] = {0};

        load(seed, PLAY_IN_STEP);
        assert_int_equal(job_find_paces(&scene.job, &scene.windows.items[0], &paces), MP_OK);
        for (uint32_t i = deps->host_count; i < deps->count; i++) {
            const struct deps_activity *work = &deps->activities[i];
            uint32_t process = deps->lanes[work->lane].process;
            uint64_t own = work->end - work->begin, excess = 0;

            if (is_of(i, name_at(i), process) && fair(name_at(i), process) < own)
                excess = own - fair(name_at(i), process);
            assert_int_equal(paces.excess[i], excess);
            sums[process] += excess;
            found += excess > 0;
        }
        for (uint32_t i = 0; i < play.ranks; i++) {
            assert_int_equal(paces.items[i].excess, sums[i]);
            assert_true(isnan(paces.items[i].clock));
            assert_true(paces.items[i].ratio < JOB_SLOWER); /* they are random, not slower */
        }
        job_paces_free(&paces);
        job_scene_free(&scene);
    }
    assert_true(found > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_critical_path_is_the_longest_path),
        cmocka_unit_test(
            waiting_for_peers_lasts_from_the_own_arrival_to_the_last_one_that_is_needed),
        cmocka_unit_test(what_if_is_the_job_played_again),
        cmocka_unit_test(with_late_0_the_job_takes_what_it_takes_without_what_made_ranks_late),
        cmocka_unit_test(with_half_the_lateness_the_job_takes_what_it_takes_with_half_of_it),
        cmocka_unit_test(the_advice_counts_the_iterations_that_a_rank_is_late_to),
        cmocka_unit_test(excess_is_what_kernels_take_beyond_the_others_median),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
