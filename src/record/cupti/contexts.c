/* The contexts that exist: CUPTI's callbacks report them, or attach.c finds them. This file also
 * does what CUPTI allows only once CUDA has started, or the first context is made, and looks for
 * modules whose kernels launch kernels.
 */
#include "record/cupti/contexts.h"

#include <cupti.h>
#include <elf.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/settings/config.h"
#include "record/core/clock.h"
#include "record/cupti/attach.h"
#include "record/cupti/gpu.h"

#include "base/poison.h"

/* Returns how many there are then. */
static uint32_t hold_context(struct context_list *contexts, CUcontext context)
{
    uint32_t i = 0, count;

    pthread_mutex_lock(&contexts->lock);
    while (i < contexts->count && contexts->items[i] != context)
        i++;
    if (i == contexts->count && i < MAX_CONTEXTS_HELD)
        contexts->items[contexts->count++] = context;
    count = contexts->count;
    pthread_mutex_unlock(&contexts->lock);
    return count;
}

void contexts_forget(struct context_list *contexts, CUcontext context)
{
    pthread_mutex_lock(&contexts->lock);
    for (uint32_t i = 0; i < contexts->count; i++)
        if (contexts->items[i] == context)
            contexts->items[i--] = contexts->items[--contexts->count];
    pthread_mutex_unlock(&contexts->lock);
}

void contexts_forget_all(struct context_list *contexts)
{
    pthread_mutex_lock(&contexts->lock);
    contexts->count = 0;
    pthread_mutex_unlock(&contexts->lock);
}

void contexts_cuda_is_ready(struct gpu *gpu)
{
    atomic_store(&gpu->cuda.ready, true);
    atomic_store(&gpu->cuda.exit_again, true);
    activity_configure_unified(gpu);
}

void contexts_hold(struct gpu *gpu, CUcontext context)
{
    if (hold_context(&gpu->cuda.contexts, context) > 1 &&
        !atomic_exchange(&gpu->cuda.several_contexts, true))
        activity_expect_peer_copies(gpu);
    if (atomic_exchange(&gpu->cuda.context_made, true))
        return;
    atomic_store(&gpu->cuda.exit_again, true);
    activity_configure_unified(gpu);
}

uint32_t contexts_count(struct context_list *contexts)
{
    pthread_mutex_lock(&contexts->lock);
    uint32_t count = contexts->count;
    pthread_mutex_unlock(&contexts->lock);
    return count;
}

uint32_t contexts_copy(struct context_list *contexts, CUcontext items[MAX_CONTEXTS_HELD])
{
    pthread_mutex_lock(&contexts->lock);
    uint32_t count = contexts->count;
    memcpy(items, contexts->items, sizeof(contexts->items));
    pthread_mutex_unlock(&contexts->lock);
    return count;
}

/* ---- Captures ---- */

static bool is_captured(const struct cuda_state *cuda)
{
    return atomic_load(&cuda->capture_begins) > 0 || atomic_load(&cuda->stream_captures) > 0 ||
           atomic_load(&cuda->captures_reported) > 0;
}

bool contexts_may_be_captured(const struct gpu *gpu)
{
    bool has_callbacks = attach_is_done(gpu) && !atomic_load(&gpu->cupti_state.callbacks_taken);

    return (!has_callbacks && !gpu->attach.preload) || is_captured(&gpu->cuda);
}

void contexts_capture_begins(struct gpu *gpu)
{
    struct call_log *log = call_log_mine(&gpu->core.logs);

    if (log && !log->begins_capture) {
        log->begins_capture = true;
        atomic_fetch_add(&gpu->cuda.capture_begins, 1);
    }
    contexts_await_breakers(gpu);
}

void contexts_capture_began(struct gpu *gpu)
{
    struct call_log *log = call_log_mine(&gpu->core.logs);

    if (log && log->begins_capture) {
        log->begins_capture = false;
        atomic_fetch_sub(&gpu->cuda.capture_begins, 1);
    }
}

void contexts_await_breakers(const struct gpu *gpu)
{
    uint64_t until = mp_monotonic_ns() + mp_time_limit_ns(MP_TIME_CAPTURE_WAIT);

    while (atomic_load(&gpu->cuda.capture_breakers) && mp_monotonic_ns() < until)
        sched_yield();
}

/* Counted first: then either this sees the capture, or contexts_await_breakers sees this. */
static bool begin_breaking(struct gpu *gpu)
{
    atomic_fetch_add(&gpu->cuda.capture_breakers, 1);
    return !is_captured(&gpu->cuda);
}

static void end_breaking(struct gpu *gpu)
{
    atomic_fetch_sub(&gpu->cuda.capture_breakers, 1);
}

/* ---- Idle ---- */

bool contexts_can_be_watched(const struct driver_api *driver)
{
    return driver->push_context && driver->pop_context && driver->create_event &&
           driver->destroy_event && driver->query_event && driver->record_context;
}

/* Polls, since cuEventSynchronize and cuCtxSynchronize have no limit. With one it looks twice at
 * least, however late the thread gets its processor. */
static bool event_completes(const struct driver_api *driver, CUevent event, uint64_t limit)
{
    const struct timespec pause = mp_time_limit_timespec(MP_TIME_IDLE_LOOK);
    uint64_t until = mp_monotonic_ns() + limit;
    CUresult result = driver->query_event(event);

    for (bool goes_on = limit > 0; goes_on && result == CUDA_ERROR_NOT_READY;
         goes_on = mp_monotonic_ns() < until) {
        nanosleep(&pause, NULL);
        result = driver->query_event(event);
    }
    return result == CUDA_SUCCESS;
}

/* What a thread was in before it calls the driver for the recorder. */
struct before_calls {
    struct call_log *log;
    bool busy;
    int cancel;
    CUresult relaxed; /* CUDA_SUCCESS: the capture mode is to be put back */
    CUstreamCaptureMode mode;
};

/* Callbacks of this thread's calls are not the program's from here on. A thread that is cancelled
 * while it sleeps would stay so. While any thread captures in global mode, cuEventQuery breaks the
 * capture unless the calling thread's mode is relaxed. */
static struct before_calls begin_own_calls(struct gpu *gpu)
{
    struct before_calls calls = {.log = call_log_mine(&gpu->core.logs),
                                 .relaxed = CUDA_ERROR_NOT_SUPPORTED,
                                 .mode = CU_STREAM_CAPTURE_MODE_RELAXED};

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &calls.cancel);
    calls.busy = calls.log && calls.log->busy;
    if (calls.log)
        calls.log->busy = true;
    if (gpu->driver.exchange_capture_mode)
        calls.relaxed = gpu->driver.exchange_capture_mode(&calls.mode);
    return calls;
}

static void end_own_calls(const struct gpu *gpu, struct before_calls *calls)
{
    if (calls->relaxed == CUDA_SUCCESS)
        gpu->driver.exchange_capture_mode(&calls->mode);
    if (calls->log)
        calls->log->busy = calls->busy;
    pthread_setcancelstate(calls->cancel, NULL);
}

/* An event stands for all that the context, which is current, has been given so far, in all of its
 * streams. NULL if there can be none. */
static CUevent watch(struct gpu *gpu, CUcontext context)
{
    const struct driver_api *driver = &gpu->driver;
    CUevent event;

    if (driver->create_event(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return NULL;
    bool recorded = begin_breaking(gpu) && driver->record_context(context, event) == CUDA_SUCCESS;
    end_breaking(gpu);
    if (recorded)
        return event;
    driver->destroy_event(event);
    return NULL;
}

/* The driver destroys an event that has not completed without waiting for it. */
static bool becomes_idle(struct gpu *gpu, CUcontext context, uint64_t limit)
{
    const struct driver_api *driver = &gpu->driver;
    CUcontext popped;
    bool idle = false;

    if (driver->push_context(context) != CUDA_SUCCESS)
        return false;
    CUevent event = watch(gpu, context);
    if (event) {
        idle = event_completes(driver, event, limit);
        driver->destroy_event(event);
    }
    driver->pop_context(&popped);
    return idle;
}

bool contexts_become_idle(struct gpu *gpu, const CUcontext *items, uint32_t count, uint64_t limit)
{
    struct before_calls calls = begin_own_calls(gpu);
    bool idle = contexts_can_be_watched(&gpu->driver);

    for (uint32_t i = 0; idle && i < count; i++)
        idle = becomes_idle(gpu, items[i], limit);
    end_own_calls(gpu, &calls);
    return idle;
}

CUevent contexts_watch_current(struct gpu *gpu, CUcontext *context)
{
    const struct driver_api *driver = &gpu->driver;
    CUevent event = NULL;

    *context = NULL;
    if (!contexts_can_be_watched(driver) || contexts_may_be_captured(gpu))
        return NULL;
    struct before_calls calls = begin_own_calls(gpu);
    if (driver->get_current && driver->get_current(context) == CUDA_SUCCESS && *context)
        event = watch(gpu, *context);
    end_own_calls(gpu, &calls);
    return event;
}

/* Whether the event is complete, or will never be; then it is destroyed. Without waiting. */
static bool watched_is_idle(struct gpu *gpu, CUcontext context, CUevent event)
{
    const struct driver_api *driver = &gpu->driver;
    struct before_calls calls = begin_own_calls(gpu);
    CUcontext popped;
    bool idle = true;

    if (driver->push_context(context) == CUDA_SUCCESS) {
        idle = driver->query_event(event) != CUDA_ERROR_NOT_READY;
        if (idle)
            driver->destroy_event(event);
        driver->pop_context(&popped);
    }
    end_own_calls(gpu, &calls);
    return idle;
}

bool contexts_current_becomes_idle(struct gpu *gpu, uint64_t limit)
{
    CUcontext context = NULL;

    if (gpu->driver.get_current && !contexts_may_be_captured(gpu))
        gpu->driver.get_current(&context);
    return context && contexts_become_idle(gpu, &context, 1, limit);
}

/* ---- Work from before: one event, kept until a range ends after it ---- */

/* If the context was destroyed meanwhile, its event was too. */
static void keep(struct earlier_work *earlier, CUcontext context, CUevent event)
{
    pthread_mutex_lock(&earlier->lock);
    if (!earlier->forgotten || context != earlier->context) {
        earlier->context = context;
        earlier->event = event;
    }
    pthread_mutex_unlock(&earlier->lock);
}

/* The event that is there, which the caller then has alone. */
static CUevent take(struct earlier_work *earlier, CUcontext *context)
{
    pthread_mutex_lock(&earlier->lock);
    *context = earlier->context;
    CUevent event = earlier->event;
    earlier->event = NULL;
    earlier->forgotten = false;
    pthread_mutex_unlock(&earlier->lock);
    return event;
}

void earlier_begin(struct gpu *gpu)
{
    struct earlier_work *earlier = &gpu->cuda.earlier;
    CUcontext context;
    CUevent event = take(earlier, &context);

    if (!event && !atomic_load(&earlier->mixed))
        event = contexts_watch_current(gpu, &context);
    keep(earlier, context, event);
}

void earlier_end(struct gpu *gpu)
{
    CUcontext context;
    CUevent event = take(&gpu->cuda.earlier, &context);

    if (!event || watched_is_idle(gpu, context, event))
        return;
    keep(&gpu->cuda.earlier, context, event);
    work_put(&gpu->core.work, &(struct work){.kind = WORK_EARLIER, .time = mp_clock_now()});
}

void earlier_forget(struct gpu *gpu, CUcontext context)
{
    struct earlier_work *earlier = &gpu->cuda.earlier;

    pthread_mutex_lock(&earlier->lock);
    if (earlier->context == context) {
        earlier->event = NULL;
        earlier->forgotten = true;
    }
    pthread_mutex_unlock(&earlier->lock);
}

/* ---- Device code that launches kernels ---- */

/* Of __cudaCDP2LaunchDeviceV2, and of cudaLaunchDeviceV2 before CUDA 12. */
static const char launch_name[] = "LaunchDeviceV2";

static bool names_launch(const void *bytes, size_t count)
{
    return memmem(bytes, count, launch_name, sizeof(launch_name) - 1) != NULL;
}

/* Whether the string table `number` names it. */
static bool section_names_launch(const char *cubin, size_t bytes, const Elf64_Ehdr *header,
                                 unsigned number)
{
    Elf64_Shdr section;

    memcpy(&section, cubin + header->e_shoff + number * sizeof(section), sizeof(section));
    return section.sh_type == SHT_STRTAB && section.sh_offset <= bytes &&
           section.sh_size <= bytes - section.sh_offset &&
           names_launch(cubin + section.sh_offset, section.sh_size);
}

bool device_code_launches(const void *cubin, size_t bytes)
{
    Elf64_Ehdr header;

    if (bytes < sizeof(header))
        return false;
    memcpy(&header, cubin, sizeof(header));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_shoff > bytes || header.e_shnum > (bytes - header.e_shoff) / sizeof(Elf64_Shdr))
        return false;
    for (unsigned i = 0; i < header.e_shnum; i++)
        if (section_names_launch(cubin, bytes, &header, i))
            return true;
    return false;
}

void device_code_loaded(_Atomic uint64_t *launchers, const void *descriptor)
{
    const CUpti_ModuleResourceData *module = descriptor;

    if (module && module->pCubin && device_code_launches(module->pCubin, module->cubinSize))
        atomic_fetch_add(launchers, 1);
}

/* The first object is the program. Only what is mapped without write permission can be code. */
static int look_into_program(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum && !*(bool *)found; i++) {
        const Elf64_Phdr *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) && !(segment->p_flags & PF_W))
            *(bool *)found =
                names_launch((const void *)(info->dlpi_addr + segment->p_vaddr), segment->p_filesz);
    }
    return 1;
}

void device_code_find(_Atomic uint64_t *launchers)
{
    bool found = false;

    dl_iterate_phdr(look_into_program, &found);
    if (found)
        atomic_fetch_add(launchers, 1);
}
