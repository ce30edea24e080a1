/* Layers of random programs against what follows from the definition, one activity at a time: all
 * ranges that are open at the begin of its call are looked for among all ranges. No code is shared.
 * In every trace the selves of all layers sum to all device time, as the totals of the outermost
 * do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/layers/layers_fixture.h"

#define ROUNDS      300
#define EVENTS      120
#define MAX         1024
#define THREADS     3
#define DEEPEST     64
#define NAME_BYTES  16
#define CHAIN_BYTES 1024
#define FOREVER     UINT64_MAX

/* ---- The program ---- */

struct range {
    uint64_t thread;
    uint64_t begin, end;
    unsigned domain; /* 0 the default one, 1 `d` */
    bool started;
    bool open;
    char label[NAME_BYTES]; /* with the domain */
};

struct activity {
    uint64_t thread;
    uint64_t call;        /* 0: there is none */
    uint64_t correlation; /* also of all nodes of a launch */
    unsigned node;        /* 0: not of a graph */
    uint64_t stream;
    uint64_t begin, end;
};

static struct range ranges[MAX];
static struct activity activities[MAX];
static size_t range_count, activity_count;
static uint64_t random_state, stream_time[2];

static uint64_t any(uint64_t below)
{
    return fixture_random(&random_state) % below;
}

static const char *const names[] = {"a", "b", "c"};
static const char *const domains[] = {NULL, "d"};

/* Captured paths of the nodes 1 to 4 of graph 2, outermost first. */
static const char *const captured[5][3] = {
    {NULL}, {"b", NULL}, {"a", "b", NULL}, {NULL}, {"c@d", "a", NULL}};

static void put_captured_paths(void)
{
    const struct mp_row_path paths[] = {
        {1, 0, 0, put_string("b")}, {2, 0, 0, put_string("a")},
        {3, 2, 0, put_string("b")}, {4, 0, put_string("d"), put_string("c")},
        {5, 4, 0, put_string("a")},
    };
    static const uint64_t of_nodes[5] = {0, 1, 3, 0, 5};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        mp_append_path(scene.writer, &paths[i]);
    for (uint64_t node = 1; node < 5; node++)
        if (of_nodes[node])
            mp_append_captured(scene.writer, &(struct mp_row_captured){.graph = 2,
                                                                       .graph_node = node,
                                                                       .path = of_nodes[node],
                                                                       .thread = 1});
}

static void put_begin(uint64_t at, bool started)
{
    struct range *range = &ranges[range_count++];
    unsigned name = (unsigned)any(3);

    *range = (struct range){.thread = 1 + any(THREADS),
                            .begin = at,
                            .end = FOREVER,
                            .domain = (unsigned)any(2),
                            .started = started,
                            .open = true};
    snprintf(range->label, NAME_BYTES, "%s%s", names[name], range->domain ? "@d" : "");
    put_nvtx(started ? START : PUSH, range->thread, domains[range->domain], names[name], at,
             started ? 1000 + range_count : 0);
}

/* The newest push of a thread and domain, which may have none. */
static void put_pop(uint64_t at)
{
    uint64_t thread = 1 + any(THREADS);
    unsigned domain = (unsigned)any(2);

    put_nvtx(POP, thread, domains[domain], NULL, at, 0);
    for (size_t i = range_count; i-- > 0;) {
        struct range *range = &ranges[i];

        if (range->open && !range->started && range->thread == thread && range->domain == domain) {
            range->open = false;
            range->end = at;
            return;
        }
    }
}

static void put_end(uint64_t at)
{
    size_t i = range_count ? any(range_count) : 0;

    if (!range_count || !ranges[i].started || !ranges[i].open)
        return;
    ranges[i].open = false;
    ranges[i].end = at;
    put_nvtx(END, 1 + any(THREADS), NULL, NULL, at, 1001 + i);
}

static void put_activity(uint64_t thread, uint64_t call, uint64_t correlation, unsigned node)
{
    uint64_t stream = 1 + any(2);
    uint64_t begin = stream_time[stream - 1] + any(6);
    uint64_t end = begin + 1 + any(9);

    activities[activity_count++] =
        (struct activity){thread, call, correlation, node, stream, begin, end};
    if (node)
        put_node(stream, "n", 2, node, begin, end, correlation);
    else
        put_kernel(stream, "k", begin, end, correlation);
    /* Begins go up, but a kernel of a graph may begin before the last one ends. */
    stream_time[stream - 1] = begin + 1 + any(end - begin + (node ? 0 : 5));
}

static void put_work(uint64_t at, uint64_t correlation)
{
    uint64_t thread = 1 + any(THREADS);
    uint64_t nodes = any(4) ? 0 : 1 + any(5);
    bool lost = any(20) == 0;

    if (!lost)
        put_call(thread, nodes ? "cudaGraphLaunch" : "cudaLaunchKernel", at, at + 1, correlation);
    if (!nodes)
        put_activity(thread, lost ? 0 : at, correlation, 0);
    for (uint64_t i = 0; i < nodes; i++)
        put_activity(thread, lost ? 0 : at, correlation, 1 + (unsigned)any(4));
}

static void make_program(uint64_t seed)
{
    random_state = seed;
    range_count = activity_count = 0;
    stream_time[0] = stream_time[1] = 1000;
    scene_begin();
    put_captured_paths();
    for (uint64_t i = 0; i < EVENTS; i++) {
        uint64_t at = 10 + 3 * i;

        switch (any(8)) {
        case 0:
        case 1:
            put_begin(at, false);
            break;
        case 2:
            put_begin(at, any(3) == 0);
            break;
        case 3:
        case 4:
            put_pop(at);
            break;
        case 5:
            put_end(at);
            break;
        default:
            put_work(at, 1 + i);
        }
    }
    put_begin(10000, false); /* there are ranges at any rate, and calls */
    put_call(1, "cudaFree", 9999, 10000, 5000);
}

/* ---- What follows from the definition ---- */

/* The layers around an activity, outermost first: labels, and tags that tell instances apart. */
struct chain {
    size_t depth;
    char labels[DEEPEST][NAME_BYTES];
    char tags[DEEPEST][NAME_BYTES];
};

static bool is_open_at(const struct range *range, uint64_t at)
{
    return range->begin <= at && at < range->end;
}

static bool counts_for(const struct range *range, uint64_t thread, uint64_t at)
{
    unsigned started = 0;

    if (!is_open_at(range, at))
        return false;
    if (range->thread == thread)
        return true;
    if (!range->started)
        return false;
    for (size_t i = 0; i < range_count; i++) {
        const struct range *other = &ranges[i];

        if (!is_open_at(other, at) || other->domain != range->domain)
            continue;
        if (!other->started && other->thread == thread)
            return false;
        started += other->started;
    }
    return started == 1;
}

static void add_link(struct chain *chain, const char *label, const char *tag, uint64_t number)
{
    assert_true(chain->depth < DEEPEST);
    snprintf(chain->labels[chain->depth], NAME_BYTES, "%s", label);
    snprintf(chain->tags[chain->depth], NAME_BYTES, "%s%u", tag, (unsigned)number);
    chain->depth++;
}

/* Ranges stand in the order of their begin. */
static void find_chain(const struct activity *activity, struct chain *chain, bool launch_only)
{
    const char *const *path = captured[activity->node];
    size_t first = 0;

    chain->depth = 0;
    for (size_t i = 0; activity->call && i < range_count; i++) {
        if (counts_for(&ranges[i], activity->thread, activity->call))
            add_link(chain, ranges[i].label, "r", i);
    }
    if (launch_only)
        return;
    while (chain->depth && path[first] && strcmp(path[first], chain->labels[chain->depth - 1]) != 0)
        first++;
    first = chain->depth && path[first] ? first + 1 : 0;
    for (; path[first]; first++)
        add_link(chain, path[first], "l", activity->correlation);
}

/* `a>b@d` of the first `depth` links, or their tags. */
static void join(const struct chain *chain, size_t depth, bool tags, char text[CHAIN_BYTES])
{
    size_t used = 0;

    snprintf(text, CHAIN_BYTES, "-");
    for (size_t i = 0; i < depth; i++)
        used += (size_t)snprintf(text + used, CHAIN_BYTES - used, "%s%s", i ? ">" : "",
                                 tags ? chain->tags[i] : chain->labels[i]);
}

/* Sums by path, or by path and tags. */
struct sum {
    char key[2 * CHAIN_BYTES];
    uint64_t self, total, launches, launch_time, gaps, gap_time;
};

static struct sum *paths, *instances;
static size_t path_count, instance_count;

static struct sum *sum_of(struct sum *sums, size_t *count, const char *key)
{
    for (size_t i = 0; i < *count; i++) {
        if (!strcmp(sums[i].key, key))
            return &sums[i];
    }
    assert_true(*count < MAX);
    sums[*count] = (struct sum){.self = 0};
    snprintf(sums[*count].key, sizeof sums->key, "%s", key);
    return &sums[(*count)++];
}

static struct sum *path_of(const struct chain *chain, size_t depth)
{
    char path[CHAIN_BYTES];

    join(chain, depth, false, path);
    return sum_of(paths, &path_count, path);
}

static struct sum *instance_of(const struct chain *chain, size_t depth)
{
    char path[CHAIN_BYTES], tags[CHAIN_BYTES], key[2 * CHAIN_BYTES];

    join(chain, depth, false, path);
    join(chain, depth, true, tags);
    snprintf(key, sizeof key, "%s %s", path, tags);
    return sum_of(instances, &instance_count, key);
}

static bool is_inside(const struct chain *inner, const struct chain *outer, size_t depth)
{
    char one[CHAIN_BYTES], other[CHAIN_BYTES];

    if (inner->depth < depth)
        return false;
    join(inner, depth, true, one);
    join(outer, depth, true, other);
    if (strcmp(one, other) != 0)
        return false;
    join(inner, depth, false, one);
    join(outer, depth, false, other);
    return !strcmp(one, other);
}

static void add_gap(const struct activity *before, uint64_t end, const struct activity *next)
{
    static struct chain one, other;

    find_chain(before, &one, false);
    find_chain(next, &other, false);
    for (size_t depth = 1; depth <= one.depth; depth++) {
        struct sum *path = path_of(&one, depth);

        if (is_inside(&other, &one, depth))
            continue;
        path->gaps++;
        path->gap_time += next->begin > end ? next->begin - end : 0;
    }
}

static void add_gaps(uint64_t stream)
{
    const struct activity *before = NULL;
    uint64_t end = 0;

    for (size_t i = 0; i < activity_count; i++) { /* begins of a stream go up */
        if (activities[i].stream != stream)
            continue;
        if (before)
            add_gap(before, end, &activities[i]);
        before = &activities[i];
        end = before->end > end ? before->end : end;
    }
}

static void work_out(void)
{
    static struct chain chain;
    uint64_t launched = 0;

    path_count = instance_count = 0;
    for (size_t i = 0; i < activity_count; i++) {
        const struct activity *activity = &activities[i];
        uint64_t duration = activity->end - activity->begin;

        find_chain(activity, &chain, false);
        path_of(&chain, chain.depth)->self += duration;
        if (!chain.depth)
            path_of(&chain, 0)->total += duration;
        for (size_t depth = 1; depth <= chain.depth; depth++) {
            path_of(&chain, depth)->total += duration;
            instance_of(&chain, depth)->total += duration;
        }
        if (activity->call && activity->correlation != launched) {
            find_chain(activity, &chain, true);
            path_of(&chain, chain.depth)->launches++;
            launched = activity->correlation;
        }
    }
    add_gaps(1);
    add_gaps(2);
}

/* ---- The comparison ---- */

static uint64_t calls_of(const char *path, uint64_t *max)
{
    size_t length = strlen(path);
    uint64_t calls = 0;

    *max = 0;
    for (size_t i = 0; i < instance_count; i++) {
        if (strncmp(instances[i].key, path, length) != 0 || instances[i].key[length] != ' ')
            continue;
        calls++;
        if (instances[i].total > *max)
            *max = instances[i].total;
    }
    return calls;
}

static void expect_layer(const struct sum *sum)
{
    const struct layer *layer = layer_called(sum->key);
    uint64_t max;
    uint64_t calls = calls_of(sum->key, &max);

    assert_int_equal(layer->self->device, sum->self * 1000);
    assert_int_equal(layer->total->device, sum->total * 1000);
    assert_int_equal(layer->calls, calls);
    assert_int_equal(layer->device.max, max * 1000);
    assert_int_equal(layer->self->launches, sum->launches);
    assert_int_equal(layer->self->launch_time, sum->launches * 1000);
    assert_int_equal(layer->self->gaps, sum->gaps);
    assert_int_equal(layer->self->gap_time, sum->gap_time * 1000);
}

static void expect_sums(void)
{
    uint64_t selves = 0, outermost = 0, device = 0;

    for (size_t i = 0; i < result.count; i++) {
        const struct layer *layer = &result.layers[i];
        uint64_t kernels = 0;

        selves += layer->self->device;
        outermost += layer->parent == LAYER_NONE ? layer->total->device : 0;
        assert_true(layer->parent == LAYER_NONE || layer->parent < i);
        for (size_t j = 0; j < layer->kernel_count; j++)
            kernels += layer->kernels[j].total;
        assert_int_equal(kernels, layer->total->device);
    }
    for (size_t i = 0; i < activity_count; i++)
        device += 1000 * (activities[i].end - activities[i].begin);
    assert_int_equal(result.device, device);
    assert_int_equal(selves, device);
    assert_int_equal(outermost, device);
}

static void layers_are_what_follows_from_the_definition(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        size_t expected = 0;

        make_program(round);
        layers_load();
        work_out();
        for (size_t i = 0; i < path_count; i++) {
            expected += paths[i].total != 0;
            if (paths[i].total)
                expect_layer(&paths[i]);
        }
        assert_int_equal(result.count, expected);
        expect_sums();
        layers_done();
    }
}

static int set_up(void **state)
{
    (void)state;
    paths = calloc(MAX, sizeof *paths);
    instances = calloc(MAX, sizeof *instances);
    return !paths || !instances;
}

static int tear_down(void **state)
{
    (void)state;
    free(paths);
    free(instances);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_what_follows_from_the_definition),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
