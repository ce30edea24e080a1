/* waits.c: objects with tokens, and threads whose clocks move to the moment of a post. */
#include "waits.h"

#include <unistd.h>

#include "common.h"
#include "preload.h"
#include "trace/schema.h"

enum {
    MAX_TOKENS = 4096,
    SHORTEST_NS = 2000 /* libminiprof_preload.so tells of longer ones */
};

/* simgpu's (hooks.h). */
uint64_t simgpu_clock_ns(void);
void simgpu_wait_until_ns(uint64_t when);

static struct object {
    struct token {
        uint64_t moment;
        uint32_t thread;
    } tokens[MAX_TOKENS];
    unsigned first, end;
} objects[WAIT_OBJECTS];

static unsigned long count;

void waits_clear(void)
{
    for (int i = 0; i < WAIT_OBJECTS; i++)
        objects[i].first = objects[i].end = 0;
}

void waits_post(long object, long tokens)
{
    struct object *o = &objects[object];
    uint64_t now = simgpu_clock_ns();

    for (long i = 0; i < tokens; i++) {
        if (o->end == MAX_TOKENS)
            fail("run_programs: too many tokens");
        o->tokens[o->end++] = (struct token){now, (uint32_t)gettid()};
    }
}

/* The wait has begun, and ends `wake` ns after `woken`. */
static void wait_for(struct mp_preload_wait *wait, uint64_t wake)
{
    wait->end = wait->woken + wake;
    if (!wait->waker)
        wait->woken = 0;
    wait->thread = (uint32_t)gettid();
    simgpu_wait_until_ns(wait->end);
    if (wait->end - wait->begin <= SHORTEST_NS)
        return;
    count++;
    preload_waited(wait);
}

void waits_await(long object, uint32_t kind, uint64_t wake, uint64_t limit)
{
    struct object *o = &objects[object];
    struct mp_preload_wait wait = {
        .begin = simgpu_clock_ns(), .object = 0x1000u + (uint64_t)object, .kind = kind};

    if (o->first == o->end) {
        wait.woken = wait.begin;
        wait_for(&wait, limit);
        return;
    }
    wait.woken = o->tokens[o->first].moment;
    wait.waker = o->tokens[o->first++].thread;
    if (wait.woken > wait.begin)
        wait_for(&wait, wake);
}

void waits_join(uint32_t waker, uint64_t moment, uint64_t wake)
{
    struct mp_preload_wait wait = {.begin = simgpu_clock_ns(),
                                   .woken = moment,
                                   .waker = waker,
                                   .object = waker,
                                   .kind = MP_wait_kind_join};

    if (moment > wait.begin)
        wait_for(&wait, wake);
}

void waits_sleep(uint64_t ns)
{
    struct mp_preload_wait wait = {.begin = simgpu_clock_ns(), .kind = MP_wait_kind_sleep};

    wait.woken = wait.begin;
    wait_for(&wait, ns);
}

void waits_inside(uint64_t begin, uint64_t end)
{
    struct mp_preload_wait wait = {.begin = begin + (end - begin) / 2,
                                   .end = end + 5000,
                                   .thread = (uint32_t)gettid(),
                                   .kind = MP_wait_kind_futex};

    count++;
    preload_waited(&wait);
}

unsigned long waits_count(void)
{
    return count;
}
