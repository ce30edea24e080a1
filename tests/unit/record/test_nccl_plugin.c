/* The plugin as NCCL calls it: what becomes a note, and what NCCL may do wrong. */
#include "unit/record/test_nvtx.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "record/nccl/plugin.h"

#include "base/poison.h"

extern const struct nccl_profiler_v4 ncclProfiler_v4;
extern const struct nccl_profiler_v5 ncclProfiler_v5;
extern const struct nccl_profiler_v5 ncclProfiler_v6;

static struct nccl_note notes[64];
static unsigned note_count;

static void take_event(void *context, const struct mp_nvtx_event *event)
{
    (void)context;
    if (event->kind != MP_NVTX_NOTE)
        return;
    assert_true(event->blob_bytes <= sizeof(notes[0]));
    notes[note_count % 64] = (struct nccl_note){.kind = 0};
    memcpy(&notes[note_count++ % 64], event->blob, event->blob_bytes);
}

static unsigned take_notes(void)
{
    const struct mp_nvtx_sink sink = {NULL, take_event, keep_name, NULL, false};

    note_count = 0;
    mp_nvtx_drain(&sink);
    return note_count;
}

static void *context_of(uint64_t hash)
{
    void *context = NULL;
    int mask = 0;

    assert_int_equal(ncclProfiler_v6.init(&context, hash, &mask, "world", 1, 8, 3, NULL), 0);
    assert_int_equal(mask, 2 | 4 | 256 | 512 | 1024 | 2048);
    assert_non_null(context);
    return context;
}

static struct nccl_event all_reduce(void *parent)
{
    struct nccl_event event = {.type.wide = NCCL_EVENT_COLL, .parent = parent};

    event.of.coll.sequence = 41;
    event.of.coll.function = "AllReduce";
    event.of.coll.count = 1024;
    event.of.coll.datatype = "ncclBfloat16";
    event.of.coll.channels = 24;
    event.of.coll.algorithm = "NVLS_TREE";
    event.of.coll.protocol = "SIMPLE";
    return event;
}

static void a_collective_is_noted_with_all_that_is_told(void **state)
{
    void *context = context_of(0x1234);
    struct nccl_event event = {.type.wide = NCCL_EVENT_COLL_API};
    void *call, *carried;

    (void)state;
    event.of.coll_api.function = "AllReduce";
    event.of.coll_api.captured = true;
    assert_int_equal(ncclProfiler_v5.start(context, &call, &event), 0);
    assert_int_equal(ncclProfiler_v5.stop(call), 0);
    event = all_reduce(call);
    assert_int_equal(ncclProfiler_v5.start(context, &carried, &event), 0);
    assert_int_equal(ncclProfiler_v5.stop(carried), 0);
    assert_int_equal(take_notes(), 3);
    assert_int_equal(notes[0].kind, NCCL_NOTE_COLL_API);
    assert_true(notes[0].captured);
    assert_true(notes[1].ends);
    assert_int_equal(notes[1].id, notes[0].id);
    assert_int_equal(notes[2].parent, notes[0].id);
    assert_int_equal(notes[2].sequence, 42); /* from 1 */
    assert_int_equal(notes[2].channels, 24);
    assert_string_equal(notes[2].algorithm, "NVLS_TREE");
    assert_string_equal(notes[2].datatype, "ncclBfloat16");
    assert_int_equal(nccl_comm_get(notes[2].comm)->hash, 0x1234);
    assert_int_equal(nccl_comm_get(notes[2].comm)->rank, 3);
    assert_string_equal(nccl_comm_get(notes[2].comm)->name, "world");
    assert_int_equal(ncclProfiler_v5.state(call, 24, NULL), 0);
    assert_int_equal(ncclProfiler_v5.finalize(context), 0);
}

/* The upper bytes of a type of version 4 are padding. */
static void version_4_has_a_type_of_one_byte(void **state)
{
    struct nccl_event event = all_reduce(NULL);
    void *context = NULL, *handle;
    int mask = 0;

    (void)state;
    assert_int_equal(ncclProfiler_v4.init(&context, &mask, NULL, 9, 1, 2, 0, NULL), 0);
    assert_int_equal(nccl_plugin_version(), 4);
    event.type.wide = 0xababababababab00u | NCCL_EVENT_COLL;
    assert_int_equal(ncclProfiler_v4.start(context, &handle, &event), 0);
    assert_non_null(handle);
    assert_int_equal(take_notes(), 1);
    assert_string_equal(notes[0].function, "AllReduce");
}

static void a_launch_takes_the_correlation_of_its_thread(void **state)
{
    struct nccl_event event = {.type.wide = NCCL_EVENT_KERNEL_LAUNCH};
    void *context = context_of(1), *launch;

    (void)state;
    nccl_plugin_launches(6);
    ncclProfiler_v6.start(context, &launch, &event);
    nccl_plugin_launches(7);
    ncclProfiler_v6.stop(launch);
    nccl_plugin_launches(8);
    assert_int_equal(take_notes(), 3);
    assert_int_equal(notes[1].kind, NCCL_NOTE_CORRELATION);
    assert_int_equal(notes[1].id, 7);
}

static void nothing_is_noted_while_recording_is_off(void **state)
{
    void *context = context_of(2), *handle = &context;
    struct nccl_event event = all_reduce(NULL);

    (void)state;
    mp_nvtx_set_recording(false);
    assert_int_equal(ncclProfiler_v6.start(context, &handle, &event), 0);
    assert_null(handle);
    ncclProfiler_v6.stop(handle);
    assert_int_equal(take_notes(), 0);
}

static void what_nccl_may_do_wrong_is_harmless(void **state)
{
    struct nccl_event event = {.type.wide = NCCL_EVENT_COLL}; /* no names at all */
    char longest[65537];
    void *handle = NULL, *context = NULL;
    int mask = 0;

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    ncclProfiler_v6.init(NULL, 1, &mask, "", 1, 1, 0, NULL);
    ncclProfiler_v6.init(&context, 1, NULL, "", 1, 1, 0, NULL);
    ncclProfiler_v6.init(&context, 1, &mask, longest, -1, -1, -1, NULL);
    ncclProfiler_v6.start(NULL, &handle, &event);
    ncclProfiler_v6.start(context, NULL, &event);
    ncclProfiler_v6.start(context, &handle, NULL);
    event.of.coll.function = longest;
    event.of.coll.datatype = longest;
    event.of.coll.root = -1;
    ncclProfiler_v6.start(context, &handle, &event);
    event.type.wide = 32; /* not asked for */
    ncclProfiler_v6.start(context, &handle, &event);
    assert_null(handle);
    ncclProfiler_v6.stop(NULL);
    ncclProfiler_v6.stop((void *)(uintptr_t)7);
    ncclProfiler_v6.finalize(NULL);
    assert_int_equal(take_notes(), 2);
    assert_int_equal(notes[0].comm, 0);
    assert_int_equal(strlen(notes[1].function), NCCL_WORD_BYTES - 1);
    assert_int_equal(notes[1].peer, NCCL_UNKNOWN);
}

enum { THREADS = 4, EACH = 2000 };

static void *make_calls(void *context)
{
    for (int i = 0; i < EACH; i++) {
        struct nccl_event event = {.type.wide = NCCL_EVENT_COLL_API};
        void *handle;

        event.of.coll_api.function = "AllReduce";
        ncclProfiler_v5.start(context, &handle, &event);
        ncclProfiler_v5.stop(handle);
    }
    return NULL;
}

static void threads_note_at_once_and_every_id_is_new(void **state)
{
    const uint64_t dropped = mp_nvtx_dropped();
    void *context = context_of(3);
    pthread_t threads[THREADS];
    unsigned taken = 0;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, make_calls, context);
    for (int i = 0; i < 100; i++)
        taken += take_notes();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    taken += take_notes();
    assert_int_equal(taken + (mp_nvtx_dropped() - dropped), 2 * THREADS * EACH);
    assert_int_equal(mp_nvtx_dropped() - dropped, 0);
}

static void a_forked_child_notes_nothing(void **state)
{
    void *context = context_of(4);
    struct nccl_event event = all_reduce(NULL);
    int status;
    pid_t child;

    (void)state;
    child = fork();
    if (child == 0) {
        void *handle = NULL;

        mp_nvtx_child_after_fork();
        ncclProfiler_v6.start(context, &handle, &event);
        _exit(handle != NULL);
    }
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* Last: afterwards there is room for no communicator. */
static void communicators_are_bounded(void **state)
{
    struct nccl_event event = all_reduce(NULL);
    void *context = NULL, *handle;

    (void)state;
    for (unsigned i = 0; i < NCCL_COMMS + 10; i++)
        context = context_of(i);
    ncclProfiler_v6.start(context, &handle, &event);
    assert_int_equal(take_notes(), 1);
    assert_int_equal(notes[0].comm, 0);
    assert_null(nccl_comm_get(0));
    assert_null(nccl_comm_get(NCCL_COMMS + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_collective_is_noted_with_all_that_is_told),
        TEST(version_4_has_a_type_of_one_byte),
        TEST(a_launch_takes_the_correlation_of_its_thread),
        TEST(nothing_is_noted_while_recording_is_off),
        TEST(what_nccl_may_do_wrong_is_harmless),
        TEST(threads_note_at_once_and_every_id_is_new),
        TEST(a_forked_child_notes_nothing),
        TEST(communicators_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
