/* The NVTX handler: many threads, ended threads, no room, signals, fork. */
#include "unit/record/test_nvtx.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "base/poison.h"

/* ---- Start and end, across threads ---- */

static void *end_range(void *range)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)range);
    return NULL;
}

static void ranges_end_on_other_threads(void **state)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("miniprof.test");
    nvtxEventAttributes_t attributes = attributes_of("async");
    nvtxRangeId_t range = nvtxDomainRangeStartEx(domain, &attributes);
    pthread_t thread;

    (void)state;
    assert_true(range != 0);
    assert_int_equal(pthread_create(&thread, NULL, end_range, &range), 0);
    pthread_join(thread, NULL);
    assert_int_equal(drain(), 2);
    expect(0, START, "async");
    assert_int_equal(seen[1].event.kind, END);
    assert_int_not_equal(seen[1].event.tid, gettid());
    assert_true(seen[0].event.range == range && seen[1].event.range == range);
}

#define RANGES_EACH ((size_t)1000)

static void *start_ranges(void *ids)
{
    for (size_t i = 0; i < RANGES_EACH; i++)
        ((nvtxRangeId_t *)ids)[i] = nvtxRangeStartA("unique");
    return NULL;
}

static int compare_ids(const void *one, const void *other)
{
    const nvtxRangeId_t a = *(const nvtxRangeId_t *)one, b = *(const nvtxRangeId_t *)other;
    return (a > b) - (a < b);
}

static void range_ids_are_unique(void **state)
{
    static nvtxRangeId_t ids[8 * RANGES_EACH];
    pthread_t threads[8];

    (void)state;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, start_ranges, &ids[(size_t)i * RANGES_EACH]);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    qsort(ids, 8 * RANGES_EACH, sizeof(ids[0]), compare_ids);
    for (size_t i = 1; i < 8 * RANGES_EACH; i++)
        assert_true(ids[i] != ids[i - 1]);
    assert_true(ids[0] != 0);
}

/* ---- Threads ---- */

#define CROWD  16
#define ROUNDS 50000 /* a push and a pop each */

struct crowd_member {
    uint32_t tid;
    uint64_t next; /* number that the next push must carry */
    uint64_t open;
    uint64_t last_time;
    bool in_order;
};

struct crowd {
    struct crowd_member members[CROWD];
    atomic_ullong sent, received;
    atomic_uint running;
    atomic_uint joined;
};

/* No more than this are in the buffers at any time, so that none is dropped. */
#define BACKLOG 100000

static void *crowd_run(void *context)
{
    struct crowd *crowd = context;
    struct crowd_member *self = &crowd->members[atomic_fetch_add(&crowd->joined, 1)];
    char name[32];

    self->tid = (uint32_t)gettid();
    for (unsigned i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof(name), "%u", i);
        nvtxRangePushA(name);
        nvtxRangePop();
        if (i % 100 == 99) {
            unsigned long long sent = atomic_fetch_add(&crowd->sent, 200) + 200;
            while (sent - atomic_load(&crowd->received) > BACKLOG &&
                   sent > atomic_load(&crowd->received))
                sched_yield();
        }
    }
    atomic_fetch_sub(&crowd->running, 1);
    return NULL;
}

static void crowd_event(void *context, const struct mp_nvtx_event *event)
{
    struct crowd *crowd = context;

    for (int i = 0; i < CROWD; i++) {
        struct crowd_member *member = &crowd->members[i];
        if (member->tid != event->tid)
            continue;
        member->in_order &= event->time >= member->last_time;
        member->last_time = event->time;
        if (event->kind == PUSH) {
            member->in_order &=
                member->open == 0 && strtoull(event->name, NULL, 10) == member->next;
            member->next++;
            member->open++;
        } else {
            member->in_order &= event->kind == POP && member->open == 1;
            member->open--;
        }
        break;
    }
    atomic_fetch_add(&crowd->received, 1);
}

static void many_threads_lose_nothing(void **state)
{
    static struct crowd crowd = {.running = CROWD};
    const struct mp_nvtx_sink sink = {&crowd, crowd_event, keep_name, NULL, false};
    const uint64_t dropped = mp_nvtx_dropped();
    pthread_t threads[CROWD];

    (void)state;
    for (int i = 0; i < CROWD; i++)
        crowd.members[i].in_order = true;
    for (int i = 0; i < CROWD; i++)
        pthread_create(&threads[i], NULL, crowd_run, &crowd);
    while (atomic_load(&crowd.joined) < CROWD)
        sched_yield();
    while (atomic_load(&crowd.running))
        mp_nvtx_drain(&sink);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    mp_nvtx_drain(&sink);
    assert_true(mp_nvtx_dropped() == dropped);
    assert_int_equal(atomic_load(&crowd.received), 2ull * CROWD * ROUNDS);
    for (int i = 0; i < CROWD; i++) {
        assert_true(crowd.members[i].in_order);
        assert_int_equal(crowd.members[i].next, ROUNDS);
        assert_int_equal(crowd.members[i].open, 0);
    }
}

static void *mark_and_end(void *unused)
{
    nvtxMarkA("short");
    return unused;
}

static void ended_threads_give_their_buffers_back(void **state)
{
    const uint64_t dropped = mp_nvtx_dropped();
    unsigned events = 0;

    (void)state;
    for (int i = 0; i < 3000; i++) { /* there is room for 1024 threads */
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, mark_and_end, NULL), 0);
        pthread_join(thread, NULL);
        if (i % 500 == 499)
            events += drain();
    }
    assert_int_equal(events, 3000);
    assert_true(mp_nvtx_dropped() == dropped);
}

static void mark_late(void *unused)
{
    (void)unused;
    nvtxMarkA("late");
}

static void *end_with_late_mark(void *key)
{
    pthread_setspecific(*(pthread_key_t *)key, key);
    nvtxMarkA("in time");
    return NULL;
}

static void calls_of_a_thread_that_has_ended_are_counted(void **state)
{
    const uint64_t dropped = mp_nvtx_dropped();
    pthread_key_t key; /* made after the handler's, its destructor runs after */
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_key_create(&key, mark_late), 0);
    pthread_create(&thread, NULL, end_with_late_mark, &key);
    pthread_join(thread, NULL);
    pthread_key_delete(key);
    assert_int_equal(drain() + (mp_nvtx_dropped() - dropped), 2);
}

/* ---- Without room ---- */

/* Replays pushes and pops; -1 if a pop came without its push. */
static int nesting;
static uint64_t nesting_events;
static bool nesting_broken;

static void nest_event(void *context, const struct mp_nvtx_event *event)
{
    (void)context;
    nesting_events++;
    nesting += event->kind == PUSH ? 1 : event->kind == POP ? -1 : 0;
    nesting_broken |= nesting < 0;
}

static void drops_are_counted_and_leave_nesting_whole(void **state)
{
    const struct mp_nvtx_sink sink = {NULL, nest_event, keep_name, NULL, false};
    const uint64_t dropped = mp_nvtx_dropped();
    uint64_t calls = 0;

    (void)state;
    for (unsigned round = 0; round < 200000; round++) { /* 16 MiB are full after about 100,000 */
        const unsigned depth = round % 7 + 1;
        for (unsigned i = 0; i < depth; i++)
            assert_int_equal(nvtxRangePushA("0123456789 0123456789 0123456789"), i);
        nvtxMarkA("mark");
        for (unsigned i = 0; i < depth; i++)
            assert_int_equal(nvtxRangePop(), depth - i - 1);
        calls += 2 * depth + 1;
    }
    nesting = 0;
    nesting_events = 0;
    mp_nvtx_drain(&sink);
    assert_int_equal(nesting, 0);
    assert_false(nesting_broken);
    assert_true(mp_nvtx_dropped() > dropped);
    assert_int_equal(nesting_events + (mp_nvtx_dropped() - dropped), calls);
    nvtxMarkA("room again");
    assert_int_equal(drain(), 1);
}

static void a_recorded_push_always_gets_its_pop(void **state)
{
    const struct mp_nvtx_sink sink = {NULL, nest_event, keep_name, NULL, false};

    (void)state;
    for (int i = 0; i < 200; i++)
        nvtxRangePushA("open");
    for (int i = 0; i < 1000000; i++)
        nvtxMarkA("0123456789 0123456789 0123456789");
    for (int i = 0; i < 200; i++)
        nvtxRangePop();
    nesting = 0;
    nesting_broken = false;
    mp_nvtx_drain(&sink);
    assert_int_equal(nesting, 0);
    assert_false(nesting_broken);
}

/* ---- Signals ---- */

static volatile sig_atomic_t alarms;

static void mark_in_handler(int number)
{
    (void)number;
    /* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): the very thing that is tested */
    nvtxMarkA("alarm");
    alarms++;
}

static void signal_handlers_do_no_harm(void **state)
{
    const struct mp_nvtx_sink sink = {NULL, nest_event, keep_name, NULL, false};
    const struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    const uint64_t dropped = mp_nvtx_dropped();
    uint64_t calls = 0;

    (void)state;
    nesting = 0;
    nesting_events = 0;
    nesting_broken = false;
    alarms = 0;
    signal(SIGALRM, mark_in_handler);
    setitimer(ITIMER_REAL, &every, NULL);
    while (alarms < 500) {
        for (int i = 0; i < 1000; i++) {
            nvtxRangePushA("main");
            nvtxRangePop();
        }
        calls += 2000;
        mp_nvtx_drain(&sink);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_DFL);
    mp_nvtx_drain(&sink);
    assert_int_equal(nesting, 0);
    assert_false(nesting_broken);
    assert_int_equal(nesting_events + (mp_nvtx_dropped() - dropped), calls + (uint64_t)alarms);
}

/* ---- Fork ---- */

/* 0 if all is as it should be in the child, else the number of what is not. */
static int child_checks(void)
{
    mp_nvtx_child_after_fork();
    mp_nvtx_set_recording(true);
    if (nvtxRangePushA("child") != NVTX_NO_PUSH_POP_TRACKING)
        return 1;
    nvtxNameOsThreadA(1, "child");
    if (nvtxDomainCreateA("miniprof.child") || nvtxDomainRegisterStringA(NULL, "child"))
        return 2;
    if (drain() != 0 || thread_name_count != 0)
        return 3;
    if (initialize_nvtx(NVTX_VERSIONED_IDENTIFIER(nvtxGetExportTable)) != 0)
        return 4;
    return 0;
}

static void a_forked_child_is_inert(void **state)
{
    int status;
    pid_t child;

    (void)state;
    nvtxMarkA("parent's");
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(child_checks());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(drain(), 1);
    expect(0, MARK, "parent's");
}

static void *mark_in_thread(void *text)
{
    nvtxMarkA(text);
    return NULL;
}

/* The same for a child that may record. */
static int fresh_child_checks(nvtxDomainHandle_t domain)
{
    static char text[] = "thread of the child";
    nvtxEventAttributes_t attributes = attributes_of("child");
    pthread_t thread;

    mp_nvtx_child_begins_anew();
    if (drain() != 0 || mp_nvtx_dropped() != 0)
        return 1;
    nvtxDomainMarkEx(domain, &attributes);
    if (pthread_create(&thread, NULL, mark_in_thread, text) != 0)
        return 2;
    pthread_join(thread, NULL);
    if (drain() != 2 || seen[0].event.tid != (uint32_t)getpid())
        return 3;
    if (strcmp(seen[0].event.domain, "miniprof.fork") != 0 || strcmp(seen[0].text, "child") != 0)
        return 4;
    if (strcmp(seen[1].text, text) != 0 || seen[1].event.tid == seen[0].event.tid)
        return 5;
    return nvtxDomainRegisterStringA(domain, "new") ? 0 : 6;
}

static void a_forked_child_that_begins_anew_has_its_own_events_alone(void **state)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("miniprof.fork");
    int status;
    pid_t child;

    (void)state;
    nvtxMarkA("parent's");
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(fresh_child_checks(domain));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(drain(), 1);
    expect(0, MARK, "parent's");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ranges_end_on_other_threads),
        TEST(range_ids_are_unique),
        TEST(many_threads_lose_nothing),
        TEST(ended_threads_give_their_buffers_back),
        TEST(calls_of_a_thread_that_has_ended_are_counted),
        TEST(drops_are_counted_and_leave_nesting_whole),
        TEST(a_recorded_push_always_gets_its_pop),
        TEST(signal_handlers_do_no_harm),
        TEST(a_forked_child_is_inert),
        TEST(a_forked_child_that_begins_anew_has_its_own_events_alone),
    };
    return cmocka_run_group_tests_name("nvtx_threads", tests, NULL, NULL);
}
