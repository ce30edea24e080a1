/* preload/objects: the table of waited objects, links between files, stamps. Expected values follow
 * from who entered, stamped and left.
 */
#include "preload/objects.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload/channels.h"

#include "base/poison.h"

static void start_anew(void)
{
    memset(object_buckets, 0, sizeof object_buckets);
    memset(channels, 0, sizeof channels);
}

static uint64_t waiting(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < OBJECT_BUCKETS; i++)
        sum += object_buckets[i].waiting;
    return sum;
}

static bool is_empty(void)
{
    for (unsigned i = 0; i < OBJECT_BUCKETS; i++)
        for (unsigned p = 0; p < OBJECT_PLACES; p++)
            if (object_buckets[i].places[p].object)
                return false;
    return waiting() == 0;
}

/* Another object of the same bucket, the `number`th. */
static uint64_t neighbour(uint64_t object, unsigned number)
{
    for (uint64_t other = object + 8;; other += 8)
        if (objects_bucket(other) == objects_bucket(object) && number-- == 0)
            return other;
}

/* ---- Stamps ---- */

static void stamps_keep_moment_and_thread(void **state)
{
    static const uint64_t minutes = UINT64_C(60000000000);
    static const uint64_t moments[] = {1,
                                       999,
                                       UINT64_C(1) << 42,
                                       (UINT64_C(1) << 42) - 1,
                                       UINT64_C(123456789012345),
                                       UINT64_C(1700000000000000000)};
    static const uint64_t after[] = {0, 1, 2000, UINT64_C(1000000000), 70 * minutes};
    static const uint32_t threads[] = {1, 4242, (1u << 22) - 1};

    (void)state;
    for (size_t m = 0; m < sizeof moments / sizeof *moments; m++)
        for (size_t a = 0; a < sizeof after / sizeof *after; a++)
            for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
                uint64_t stamp = moments_pack(moments[m], threads[t]);

                assert_int_equal(moments_thread_of(stamp), threads[t]);
                assert_true(moments_time_of(stamp, moments[m] + after[a]) == moments[m]);
            }
}

static void stamps_are_of_this_thread(void **state)
{
    uint64_t stamp, before, after;

    (void)state;
    assert_int_equal(moments_thread(), gettid());
    before = moments_now();
    stamp = moments_stamp();
    after = moments_now();
    assert_int_equal(moments_thread_of(stamp), gettid());
    assert_in_range(moments_time_of(stamp, after), before, after);
}

/* ---- Times of calls ---- */

/* A counter of 2 GHz, in a process that began at count 1000 and time 5 s. */
static const struct moments_pair born = {1000, UINT64_C(5000000000)};

static struct moments_pair pair_at(uint64_t ns)
{
    return (struct moments_pair){born.count + 2 * ns, born.ns + ns};
}

static void counts_become_times(void **state)
{
    const struct moments_mark mark = {pair_at(3000000).count, true};
    uint64_t begin = 0, end = 0;

    (void)state;
    assert_true(moments_convert_at(mark, born, pair_at(8000000), &begin, &end));
    assert_int_equal(begin, born.ns + 3000000);
    assert_int_equal(end, born.ns + 8000000);
    assert_int_equal(moments_min, 3800); /* 95 % of 2 us */
}

static void times_of_the_clock_stay_as_they_are(void **state)
{
    const struct moments_mark mark = {pair_at(3000000).ns, false};
    uint64_t begin = 0, end = 0;

    (void)state;
    assert_true(moments_convert_at(mark, born, pair_at(8000000), &begin, &end));
    assert_int_equal(begin, born.ns + 3000000);
    assert_int_equal(end, born.ns + 8000000);
}

static void short_calls_are_no_waits(void **state)
{
    uint64_t begin, end;

    (void)state;
    for (int counted = 0; counted < 2; counted++) {
        const struct moments_pair from = pair_at(3000000);
        const struct moments_mark mark = {counted ? from.count : from.ns, counted};

        assert_false(moments_convert_at(mark, born, from, &begin, &end));
        assert_false(moments_convert_at(mark, born, pair_at(3002000), &begin, &end));
        assert_true(moments_convert_at(mark, born, pair_at(3002001), &begin, &end));
    }
}

/* A counter that went back, or a call from before there was a rate. */
static void counts_without_a_rate_give_no_time(void **state)
{
    const struct moments_mark mark = {pair_at(3000000).count, true};
    const struct moments_mark before = {born.count - 1, true};
    const struct moments_pair none = {0, 0};
    uint64_t begin, end;

    (void)state;
    assert_false(moments_convert_at(mark, none, pair_at(8000000), &begin, &end));
    assert_false(moments_convert_at(mark, born, born, &begin, &end));
    assert_false(moments_convert_at(before, born, pair_at(8000000), &begin, &end));
}

/* On this machine's counter and clock. The call ends between two readings of the clock. */
static void a_call_ends_now(void **state)
{
    (void)state;
    for (int counted = 0; counted < 2; counted++) {
        uint64_t before, begin = 0, end = 0;
        struct moments_mark mark;

        atomic_store(&miniprof_preload.counter_is_even, counted);
        mark = moments_mark();
        assert_int_equal(mark.counted, counted);
        usleep(5000);
        before = moments_now();
        assert_true(moments_waited(mark, &begin, &end));
        assert_in_range(end, before, moments_now());
        assert_true(begin < end);
    }
}

/* ---- Objects ---- */

static void a_waker_is_found(void **state)
{
    const uint64_t object = 0x7ffd12345678, other = neighbour(object, 0);
    struct waited_object *place, *beside;

    (void)state;
    start_anew();
    objects_wake(object); /* nobody waits: leaves nothing */
    assert_true(is_empty());
    place = objects_enter(object);
    beside = objects_enter(other);
    assert_non_null(place);
    objects_wake(object);
    assert_int_equal(objects_leave(other, beside), 0);
    assert_int_equal(moments_thread_of(objects_leave(object, place)), gettid());
    place = objects_enter(object);
    assert_int_equal(objects_leave(object, place), 0); /* not the one before */
    assert_true(is_empty());
}

static void two_share_a_place(void **state)
{
    const uint64_t object = 0x1000;
    struct waited_object *one = NULL, *two = NULL;

    (void)state;
    start_anew();
    one = objects_enter(object);
    two = objects_enter(object);
    assert_ptr_equal(one, two);
    objects_leave_stamp(object, 77);
    assert_int_equal(objects_leave(object, one), 77);
    objects_leave_stamp(object, 78);
    assert_int_equal(objects_leave(object, two), 78);
    assert_true(is_empty());
}

static void a_full_bucket_refuses(void **state)
{
    const uint64_t object = 0x2000;
    struct waited_object *places[OBJECT_PLACES];

    (void)state;
    start_anew();
    for (unsigned i = 0; i < OBJECT_PLACES; i++)
        assert_non_null(places[i] = objects_enter(neighbour(object, i)));
    assert_null(objects_enter(object));
    assert_int_equal(waiting(), OBJECT_PLACES);
    objects_wake(object);
    assert_int_equal(objects_leave(object, NULL), 0);
    for (unsigned i = 0; i < OBJECT_PLACES; i++)
        assert_int_equal(objects_leave(neighbour(object, i), places[i]), 0);
    assert_true(is_empty());
}

/* As siglongjmp out of a wait does. */
static void places_never_left_are_bounded(void **state)
{
    const uint64_t object = 0x3000, elsewhere = 0x4000;
    struct waited_object *place;
    unsigned refused = 0;

    (void)state;
    start_anew();
    assert_ptr_not_equal(objects_bucket(object), objects_bucket(elsewhere));
    for (unsigned i = 0; i < 300000; i++)
        refused += objects_enter(object) == NULL;
    assert_int_equal(refused, 300000 - OBJECT_PLACES * 65535);
    objects_wake(object);
    place = objects_enter(elsewhere);
    objects_wake(elsewhere);
    assert_int_equal(moments_thread_of(objects_leave(elsewhere, place)), gettid());
}

/* Each object is stamped with a thread number of its own, so a stamp of another one is noticed. */
#define THREADS 4
#define OBJECTS 600
#define ROUNDS  100000

static _Atomic unsigned mistaken, stamped;

static void *crowd_main(void *argument)
{
    uint64_t random = (uint64_t)(uintptr_t)argument;

    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t waited, woken, stamp;
        struct waited_object *place;

        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        waited = (random >> 33) % OBJECTS + 1;
        woken = (random >> 48) % 8 ? (random >> 20) % OBJECTS + 1 : waited;
        place = objects_enter(waited * 40);
        objects_leave_stamp(woken * 40, moments_pack(i + 1, (uint32_t)woken));
        stamp = objects_leave(waited * 40, place);
        stamped += stamp != 0;
        mistaken += stamp && moments_thread_of(stamp) != waited;
    }
    return NULL;
}

static void threads_do_not_mix_objects(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    start_anew();
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_main, (void *)(i + 1)), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    /* A place may be left and taken by another object between a waker's look and its stamp. */
    assert_in_range(mistaken, 0, stamped / 1000);
    assert_in_range(stamped, THREADS * ROUNDS / 16, THREADS * ROUNDS);
    assert_true(is_empty());
}

/* ---- Files ---- */

static void writers_wake_readers(void **state)
{
    (void)state;
    start_anew();
    channels_link(5, 5); /* an eventfd */
    channels_link(7, 6); /* a pipe, in an epoll instance */
    channels_watch(6, 9);
    channels_wake(5);
    channels_wake(7);
    assert_int_equal(channels_waker(5) | channels_waker(6) | channels_waker(9), 0);
    channels_enter(5);
    channels_enter(9);
    channels_wake(5);
    channels_wake(7);
    channels_wake(6); /* not an end that is written to */
    assert_int_equal(moments_thread_of(channels_waker(5)), gettid());
    assert_int_equal(channels_waker(6), 0);
    assert_int_equal(moments_thread_of(channels_waker(9)), gettid());
}

static void closing_breaks_links(void **state)
{
    (void)state;
    start_anew();
    channels_link(7, 6);
    channels_link(5, 5);
    channels_watch(5, 9);
    channels_forget(6); /* the read end: its number may be another file's */
    channels_forget(5);
    for (int file = 0; file < 16; file++)
        channels_enter(file);
    channels_wake(7);
    channels_wake(5);
    for (int file = 0; file < 16; file++)
        assert_int_equal(channels_waker(file), 0);
}

static bool is_woken(int writer, int reader)
{
    channels_enter(reader);
    channels_wake(writer);
    channels_leave(reader);
    return channels_waker(reader) != 0;
}

/* A pipe's write end is closed, and its number is an eventfd's when the read end is closed. */
static void closing_keeps_links_of_others(void **state)
{
    (void)state;
    start_anew();
    channels_link(4, 3);
    channels_forget(4);
    channels_link(4, 4);
    channels_forget(3);
    assert_true(is_woken(4, 4));
    start_anew();
    channels_link(4, 3);
    channels_forget(3);
    channels_link(5, 3);
    channels_forget(4);
    assert_true(is_woken(5, 3));
    assert_int_equal(channels[3].writer, 5 + 1);
}

static void closing_an_epoll_instance_unlinks_its_files(void **state)
{
    (void)state;
    start_anew();
    channels_link(7, 6);
    channels_link(5, 5);
    channels_watch(6, 9);
    channels_watch(5, 10);
    assert_true(is_woken(7, 9));
    channels[9].waker = 0;
    channels_forget(9); /* from here on another file's number */
    assert_false(is_woken(7, 9));
    assert_true(is_woken(5, 10));
    channels_forget_range(5, UINT32_MAX);
    for (unsigned i = 0; i < CHANNELS; i++)
        assert_int_equal(channels[i].reader | channels[i].writer | channels[i].epoll, 0);
}

static void numbers_out_of_range_are_left_out(void **state)
{
    static const int bad[] = {-1, CHANNELS, 1 << 30, INT32_MIN};

    (void)state;
    start_anew();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        channels_link(bad[i], 3);
        channels_link(3, bad[i]);
        channels_watch(bad[i], 3);
        channels_watch(3, bad[i]);
        channels_enter(bad[i]);
        channels_wake(bad[i]);
        channels_wake(3);
        channels_leave(bad[i]);
        channels_forget(bad[i]);
        assert_int_equal(channels_waker(bad[i]), 0);
    }
    assert_int_equal(channels[3].reader | channels[3].writer | channels[3].epoll, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_keep_moment_and_thread),
        cmocka_unit_test(stamps_are_of_this_thread),
        cmocka_unit_test(counts_become_times),
        cmocka_unit_test(times_of_the_clock_stay_as_they_are),
        cmocka_unit_test(short_calls_are_no_waits),
        cmocka_unit_test(counts_without_a_rate_give_no_time),
        cmocka_unit_test(a_call_ends_now),
        cmocka_unit_test(a_waker_is_found),
        cmocka_unit_test(two_share_a_place),
        cmocka_unit_test(a_full_bucket_refuses),
        cmocka_unit_test(places_never_left_are_bounded),
        cmocka_unit_test(threads_do_not_mix_objects),
        cmocka_unit_test(writers_wake_readers),
        cmocka_unit_test(closing_breaks_links),
        cmocka_unit_test(closing_keeps_links_of_others),
        cmocka_unit_test(closing_an_epoll_instance_unlinks_its_files),
        cmocka_unit_test(numbers_out_of_range_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
