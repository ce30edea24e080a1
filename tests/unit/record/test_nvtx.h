/* What the tests of the NVTX handler share. They call NVTX through its own headers, which are given
 * the handler as a statically linked tool, as any application calls it. */
#ifndef MP_RECORD_TEST_NVTX_H
#define MP_RECORD_TEST_NVTX_H

#include "record/nvtx/nvtx.h"
#include "record/nvtx/time.h"

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MARK, PUSH, POP, START, END }; /* docs/trace-format.md */

/* ---- What NVTX's headers look for ---- */

static inline int initialize_nvtx(NvtxGetExportTableFunc_t get_table)
{
    return mp_nvtx_initialize(2, (void *)get_table);
}

static inline int initialize_extension(nvtxExtModuleInfo_t *info)
{
    return mp_nvtx_initialize_extension(info);
}

/* Runs before any call of NVTX. The variables are NVTX's own, for tools linked statically. */
__attribute__((constructor)) static inline void become_the_tool(void)
{
    unsetenv("NVTX_INJECTION64_PATH");
    InitializeInjectionNvtx2_fnptr = initialize_nvtx;
    InitializeInjectionNvtxExtension_fnptr = initialize_extension;
}

/* ---- What was drained ---- */

#define KEPT 4096

struct seen {
    struct mp_nvtx_event event; /* name points to the text beside it */
    char text[4200];
};

static struct seen seen[KEPT];
static unsigned seen_count; /* may exceed KEPT */
static char thread_names[8][64];
static uint32_t thread_ids[8];
static unsigned thread_name_count;

static inline void keep_event(void *context, const struct mp_nvtx_event *event)
{
    struct seen *to = &seen[seen_count % KEPT];

    (void)context;
    to->event = *event;
    if (event->name) {
        snprintf(to->text, sizeof(to->text), "%s", event->name);
        to->event.name = to->text;
    }
    seen_count++;
}

static inline void keep_name(void *context, uint32_t tid, const char *name)
{
    (void)context;
    thread_ids[thread_name_count % 8] = tid;
    snprintf(thread_names[thread_name_count % 8], sizeof(thread_names[0]), "%s", name);
    thread_name_count++;
}

/* `pair`: counter and clock of that drain; NULL: this machine's. */
static inline unsigned drain_at(const struct nvtx_pair *pair)
{
    const struct mp_nvtx_sink sink = {NULL, keep_event, keep_name, NULL, false};

    seen_count = 0;
    thread_name_count = 0;
    if (pair)
        nvtx_drain_at(&sink, pair);
    else
        mp_nvtx_drain(&sink);
    return seen_count;
}

static inline unsigned drain(void)
{
    return drain_at(NULL);
}

/* Where the time stamp counter can be used it is, once two drains have shown its rate. */
static inline void learn_rate(void)
{
    static bool done;

    if (done)
        return;
    done = true;
    nvtxMarkA("the handler gets ready");
    drain();
    usleep(60000);
    drain();
}

static inline int start_test(void **state)
{
    (void)state;
    mp_nvtx_set_recording(false);
    learn_rate();
    drain();
    mp_nvtx_set_recording(true);
    return 0;
}

static inline nvtxEventAttributes_t attributes_of(const char *message)
{
    nvtxEventAttributes_t attributes = {0};

    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = message;
    return attributes;
}

static inline void expect(unsigned index, unsigned kind, const char *name)
{
    const struct mp_nvtx_event *event = &seen[index].event;

    assert_true(index < seen_count);
    assert_int_equal(event->kind, kind);
    assert_int_equal(event->tid, gettid());
    if (name)
        assert_string_equal(event->name, name);
    else
        assert_null(event->name);
}

#define TEST(function) cmocka_unit_test_setup(function, start_test)

#endif
