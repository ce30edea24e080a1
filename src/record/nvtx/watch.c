/* Follows the ranges of the watched name.
 *
 * For each thread it counts pushes and pops in the watched domain only, and remembers the depths at
 * which the name was pushed: so it knows which pop ends which range. Ranges of start and end are
 * known by their ids. While nothing is recorded the recorder makes these ids up, since NVTX's 0
 * tells no range from another.
 */
#include "record/nvtx/watch.h"

#include <stdio.h>
#include <string.h>

#include "base/settings/forms.h"
#include "base/text/strings.h"
#include "record/core/clock.h"
#include "record/nvtx/calls.h"

#include "base/poison.h"

enum { NESTED_MAX = 32, STARTED_MAX = 256, HEARD_BYTES = 64 };

struct watch_thread {
    bool busy;      /* a signal handler that calls NVTX must keep out */
    uint32_t depth; /* pushes in the domain */
    uint32_t count; /* pushes of the name, whose depths follow */
    uint32_t at[NESTED_MAX];
    uint64_t since[NESTED_MAX]; /* when they were pushed, if anybody wants to know */
    char heard[HEARD_BYTES];    /* the name of the last push, if any name will do */
};

static struct watch {
    /* Written once, before NVTX is initialised. */
    struct nvtx_watch_calls calls;
    const char *name;
    uint32_t bytes; /* of the name */
    const char *domain;
    bool any;                /* any name will do */
    char plain[HEARD_BYTES]; /* else the name without its domain */

    bool has_ending; /* the next is there: its destructor sees the ends of threads */
    pthread_key_t ending;

    atomic_bool on;
    _Atomic(uint32_t) open; /* ranges of the name */
    _Atomic(uint32_t) started;
    pthread_mutex_t lock; /* of the next */
    nvtxRangeId_t ids[STARTED_MAX];
    uint64_t since[STARTED_MAX];
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The functions of calls.c. */
static struct {
    nvtxRangePushEx_impl_fntype push_ex;
    nvtxRangePushA_impl_fntype push_a;
    nvtxRangePushW_impl_fntype push_w;
    nvtxRangePop_impl_fntype pop;
    nvtxRangeStartEx_impl_fntype start_ex;
    nvtxRangeStartA_impl_fntype start_a;
    nvtxRangeStartW_impl_fntype start_w;
    nvtxRangeEnd_impl_fntype end;
    nvtxDomainRangePushEx_impl_fntype domain_push_ex;
    nvtxDomainRangePop_impl_fntype domain_pop;
    nvtxDomainRangeStartEx_impl_fntype domain_start_ex;
    nvtxDomainRangeEnd_impl_fntype domain_end;
} inner;

static __thread struct watch_thread watch_self;

/* The only place that computes the variable's address: see buffer.c. */
static __attribute__((noinline)) struct watch_thread *self(void)
{
    return &watch_self;
}

bool nvtx_watch_is_wanted(void)
{
    return watch.name != NULL;
}

const char *nvtx_watch_heard(void)
{
    return watch.any ? self()->heard : watch.plain;
}

void nvtx_watch_close(void)
{
    atomic_store(&watch.on, false);
}

void nvtx_watch_child_after_fork(void)
{
    static const pthread_mutex_t open = PTHREAD_MUTEX_INITIALIZER;

    watch.lock = open;
    memset(watch.ids, 0, sizeof(watch.ids));
    atomic_store(&watch.started, 0);
    atomic_store(&watch.open, self()->count);
}

bool nvtx_watch_is_inside(void)
{
    return atomic_load(&watch.open) > 0;
}

/* ---- Names ---- */

static bool is_domain(nvtxDomainHandle_t handle)
{
    const struct nvtx_domain *domain = (const struct nvtx_domain *)(const void *)handle;

    return strcmp(domain ? domain->name : "", watch.domain) == 0;
}

/* Any name will do: keeps it, if the range would be the outermost one. */
static bool hear(const struct nvtx_text *text)
{
    struct watch_thread *thread = self();
    char copy[NVTX_TEXT_BYTES];

    if (text->form == NVTX_NO_TEXT || thread->depth || thread->busy)
        return false;
    if (text->form == NVTX_REGISTERED) {
        mp_text_copy(thread->heard, HEARD_BYTES, text->at.registered->text);
        return true;
    }
    nvtx_text_copy(copy, *text);
    snprintf(thread->heard, HEARD_BYTES, "%.*s", (int)text->bytes, copy);
    return true;
}

static bool is_text(const struct nvtx_text *text)
{
    char copy[NVTX_TEXT_BYTES];

    if (watch.any)
        return hear(text);
    if (text->form == NVTX_REGISTERED)
        return text->at.registered->bytes == watch.bytes &&
               memcmp(text->at.registered->text, watch.name, watch.bytes) == 0;
    if (text->form == NVTX_NO_TEXT || text->bytes != watch.bytes)
        return false;
    nvtx_text_copy(copy, *text);
    return memcmp(copy, watch.name, watch.bytes) == 0;
}

static bool is_narrow(const char *name)
{
    struct nvtx_text text = nvtx_text_narrow(name, NVTX_TEXT_BYTES - 1);

    return is_text(&text);
}

static bool is_wide(const wchar_t *name)
{
    struct nvtx_text text = nvtx_text_wide(name, NVTX_TEXT_BYTES - 1);

    return is_text(&text);
}

static bool is_event(const nvtxEventAttributes_t *attributes)
{
    const struct nvtx_string *registered;
    struct nvtx_text text;

    if (!attributes)
        return false;
    switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
        return is_narrow(attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
        return is_wide(attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
        registered = (const struct nvtx_string *)(const void *)attributes->message.registered;
        text = nvtx_text_registered(registered);
        return is_text(&text);
    default:
        return false;
    }
}

/* ---- Ranges ---- */

/* The thread's counts, now busy. NULL when nothing is watched any more, in a signal handler that
 * interrupted this code, and in a forked child. */
static struct watch_thread *enter(void)
{
    if (!atomic_load_explicit(&watch.on, memory_order_relaxed) ||
        atomic_load_explicit(&nvtx_state()->inert, memory_order_relaxed))
        return NULL;
    struct watch_thread *thread = self();
    if (thread->busy)
        return NULL;
    thread->busy = true;
    atomic_signal_fence(memory_order_seq_cst);
    return thread;
}

static void leave(struct watch_thread *thread)
{
    atomic_signal_fence(memory_order_seq_cst);
    thread->busy = false;
}

/* When the range begins, ns; 1 where nobody needs the time. */
static uint64_t range_begins(void)
{
    atomic_fetch_add(&watch.open, 1);
    if (watch.calls.begin)
        watch.calls.begin(watch.calls.context);
    return watch.calls.lasted ? mp_clock_now() : 1;
}

static void range_ends(uint64_t since)
{
    if (watch.calls.lasted)
        watch.calls.lasted(watch.calls.context, since, mp_clock_now());
    if (atomic_fetch_sub(&watch.open, 1) == 1 && watch.calls.end)
        watch.calls.end(watch.calls.context);
}

/* The ranges that the thread has not popped end with it: nobody else can pop them. A range that
 * ends here makes its last CUDA calls from the destructor. */
static void thread_ends(void *argument)
{
    struct watch_thread *thread = argument;

    if (atomic_load_explicit(&nvtx_state()->inert, memory_order_relaxed))
        return;
    thread->busy = true;
    thread->depth = 0;
    while (thread->count)
        range_ends(thread->since[--thread->count]);
    thread->busy = false;
}

static void note_push(bool matches)
{
    struct watch_thread *thread = enter();

    if (!thread)
        return;
    if (matches && thread->count < NESTED_MAX) {
        if (!thread->count && watch.has_ending)
            pthread_setspecific(watch.ending, thread);
        thread->at[thread->count] = thread->depth;
        thread->since[thread->count++] = range_begins();
    }
    thread->depth++;
    leave(thread);
}

static void note_pop(void)
{
    struct watch_thread *thread = enter();

    if (!thread)
        return;
    if (thread->depth)
        thread->depth--;
    if (thread->count && thread->at[thread->count - 1] == thread->depth) {
        range_ends(thread->since[--thread->count]);
    }
    leave(thread);
}

/* Before the start. Returns when the range begins, if it has the name; the caller then passes its
 * id to keep_id. Returns 0 for other ranges. */
static uint64_t note_start(bool matches)
{
    struct watch_thread *thread = matches && !watch.any ? enter() : NULL;

    if (!thread)
        return 0;
    uint64_t since = range_begins();
    leave(thread);
    return since;
}

/* Remembers the id, or makes one up if there is none. Answers the id that the application gets. */
static nvtxRangeId_t keep_id(nvtxRangeId_t id, uint64_t since)
{
    uint32_t i;

    if (!id)
        id = 1 + atomic_fetch_add_explicit(&nvtx_state()->ranges, 1, memory_order_relaxed);
    pthread_mutex_lock(&watch.lock);
    for (i = 0; i < STARTED_MAX && watch.ids[i]; i++)
        continue;
    if (i < STARTED_MAX) {
        watch.ids[i] = id;
        watch.since[i] = since;
    }
    pthread_mutex_unlock(&watch.lock);
    if (i < STARTED_MAX)
        atomic_fetch_add(&watch.started, 1);
    else
        range_ends(since); /* its end could not be recognised */
    return id;
}

static void note_end(nvtxRangeId_t id)
{
    uint64_t since = 0;

    if (!id || !atomic_load_explicit(&watch.started, memory_order_relaxed))
        return;
    struct watch_thread *thread = enter();
    if (!thread)
        return;
    pthread_mutex_lock(&watch.lock);
    for (uint32_t i = 0; i < STARTED_MAX && !since; i++)
        if (watch.ids[i] == id) {
            watch.ids[i] = 0;
            since = watch.since[i];
        }
    pthread_mutex_unlock(&watch.lock);
    if (since) {
        atomic_fetch_sub(&watch.started, 1);
        range_ends(since);
    }
    leave(thread);
}

/* ---- NVTX's functions ---- */

static int NVTX_API push_ex(const nvtxEventAttributes_t *attributes)
{
    if (!*watch.domain)
        note_push(is_event(attributes));
    return inner.push_ex(attributes);
}

static int NVTX_API push_a(const char *message)
{
    if (!*watch.domain)
        note_push(is_narrow(message));
    return inner.push_a(message);
}

static int NVTX_API push_w(const wchar_t *message)
{
    if (!*watch.domain)
        note_push(is_wide(message));
    return inner.push_w(message);
}

static int NVTX_API watch_pop(void)
{
    int level = inner.pop();

    if (!*watch.domain)
        note_pop();
    return level;
}

static nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t *attributes)
{
    uint64_t since = note_start(!*watch.domain && is_event(attributes));
    nvtxRangeId_t id = inner.start_ex(attributes);

    return since ? keep_id(id, since) : id;
}

static nvtxRangeId_t NVTX_API start_a(const char *message)
{
    uint64_t since = note_start(!*watch.domain && is_narrow(message));
    nvtxRangeId_t id = inner.start_a(message);

    return since ? keep_id(id, since) : id;
}

static nvtxRangeId_t NVTX_API start_w(const wchar_t *message)
{
    uint64_t since = note_start(!*watch.domain && is_wide(message));
    nvtxRangeId_t id = inner.start_w(message);

    return since ? keep_id(id, since) : id;
}

static void NVTX_API watch_end(nvtxRangeId_t range)
{
    inner.end(range);
    note_end(range);
}

static int NVTX_API domain_push_ex(nvtxDomainHandle_t domain,
                                   const nvtxEventAttributes_t *attributes)
{
    if (is_domain(domain))
        note_push(is_event(attributes));
    return inner.domain_push_ex(domain, attributes);
}

static int NVTX_API domain_pop(nvtxDomainHandle_t domain)
{
    int level = inner.domain_pop(domain);

    if (is_domain(domain))
        note_pop();
    return level;
}

static nvtxRangeId_t NVTX_API domain_start_ex(nvtxDomainHandle_t domain,
                                              const nvtxEventAttributes_t *attributes)
{
    uint64_t since = note_start(is_domain(domain) && is_event(attributes));
    nvtxRangeId_t id = inner.domain_start_ex(domain, attributes);

    return since ? keep_id(id, since) : id;
}

static void NVTX_API domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t range)
{
    inner.domain_end(domain, range);
    note_end(range);
}

/* ---- The tables ---- */

/* The conditionals make the compiler compare the functions' types with those that NVTX calls. */
#define SLOT(module_, id_, field, function_)                                                       \
    {                                                                                              \
        .module = NVTX_CB_MODULE_##module_, .id = NVTX_CBID_##module_##_##id_,                     \
        .function = (NvtxFunctionPointer)(1 ? (function_) : inner.field),                          \
        .inner = (NvtxFunctionPointer *)(void *)&inner.field                                       \
    }

static const struct {
    uint32_t module;
    uint32_t id;
    NvtxFunctionPointer function;
    NvtxFunctionPointer *inner;
} slots[] = {
    SLOT(CORE, RangePushEx, push_ex, push_ex),
    SLOT(CORE, RangePushA, push_a, push_a),
    SLOT(CORE, RangePushW, push_w, push_w),
    SLOT(CORE, RangePop, pop, watch_pop),
    SLOT(CORE, RangeStartEx, start_ex, start_ex),
    SLOT(CORE, RangeStartA, start_a, start_a),
    SLOT(CORE, RangeStartW, start_w, start_w),
    SLOT(CORE, RangeEnd, end, watch_end),
    SLOT(CORE2, DomainRangePushEx, domain_push_ex, domain_push_ex),
    SLOT(CORE2, DomainRangePop, domain_pop, domain_pop),
    SLOT(CORE2, DomainRangeStartEx, domain_start_ex, domain_start_ex),
    SLOT(CORE2, DomainRangeEnd, domain_end, domain_end),
};

NvtxFunctionPointer nvtx_watch_find(uint32_t module, uint32_t id)
{
    if (!watch.name)
        return NULL;
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
        if (slots[i].module == module && slots[i].id == id)
            return slots[i].function;
    return NULL;
}

void nvtx_watch_open(const struct nvtx_watch_calls *calls)
{
    watch.calls = *calls;
    watch.any = !calls->name;
    watch.name = watch.any ? "" : calls->name;
    watch.bytes = (uint32_t)mp_range_name_split(watch.name, &watch.domain);
    snprintf(watch.plain, sizeof(watch.plain), "%.*s", (int)watch.bytes, watch.name);
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
        *slots[i].inner = nvtx_calls_find(slots[i].module, slots[i].id);
    watch.has_ending = pthread_key_create(&watch.ending, thread_ends) == 0;
    atomic_store(&watch.on, true);
}
