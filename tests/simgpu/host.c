/*
 * host.c: host functions of streams, on a thread of the driver.
 *
 * As all side effects, they happen when they are enqueued: the launching thread waits in real time
 * until the function has returned. In virtual time the function begins when its stream comes to it.
 * The clock of the driver's thread is set to that moment before the call, so the function, and
 * whoever watches it, reads the times that its record has. It lasts as long as it spends on the
 * clock (simgpu_wait_until_ns). One thread runs all of them, one after the other.
 */
#include "simgpu.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* who may give it work */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct sg_host *work; /* NULL: it has nothing to do */
    struct sg_span span;        /* of the work: from when it may begin, until when it has run */
    uint64_t free_from;         /* the end of the last one */
    _Atomic uint32_t thread;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local bool is_host_thread;

bool sg_isHostThread(void)
{
    return is_host_thread;
}

uint32_t sg_hostThread(void)
{
    return host.thread;
}

static void call(const struct sg_host *work)
{
    if (work->callback)
        work->callback(work->handle, CUDA_SUCCESS, work->data);
    else
        work->function(work->data);
}

/* The lock is free during the call, which may end the process. */
static void *serve(void *unused)
{
    (void)unused;
    is_host_thread = true;
    host.thread = (uint32_t)gettid();
    pthread_mutex_lock(&host.lock);
    for (;;) {
        while (!host.work)
            pthread_cond_wait(&host.changed, &host.lock);
        pthread_mutex_unlock(&host.lock);
        sg_clockPlace(host.span.start);
        call(host.work);
        pthread_mutex_lock(&host.lock);
        host.span.end = sg_now();
        host.work = NULL;
        pthread_cond_broadcast(&host.changed);
    }
    return NULL;
}

/* Signals are for the program's threads. */
static bool start_thread(void)
{
    static bool started;
    sigset_t all, before;
    pthread_t thread;

    if (started)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&thread, NULL, serve, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

static struct sg_span hand_over(const struct sg_host *work, uint64_t start)
{
    struct sg_span span;

    pthread_mutex_lock(&host.lock);
    host.span.start = start > host.free_from ? start : host.free_from;
    host.work = work;
    pthread_cond_broadcast(&host.changed);
    while (host.work)
        pthread_cond_wait(&host.changed, &host.lock);
    span = host.span;
    host.free_from = span.end;
    pthread_mutex_unlock(&host.lock);
    return span;
}

struct sg_span sg_hostRun(const struct sg_host *work, uint64_t start)
{
    struct sg_host copy = *work;
    struct sg_span span = {start, start};

    pthread_mutex_unlock(&sg_lock);
    pthread_mutex_lock(&turn);
    if (start_thread())
        span = hand_over(&copy, start);
    pthread_mutex_unlock(&turn);
    pthread_mutex_lock(&sg_lock);
    return span;
}

static CUresult launch(CUstream handle, const struct sg_host *work)
{
    struct sg_op op = {.type = SG_OP_HOST, .host = *work};
    CUstream stream = sg_stream(sg_context(), handle);

    if (!work->function && !work->callback)
        return CUDA_ERROR_INVALID_VALUE;
    if (work->callback && stream->capture) {
        stream->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return sg_submit(stream, &op, NULL);
}

SG_FUNCTION(cuLaunchHostFunc, (CUstream hStream, CUhostFn fn, void *userData), hStream, fn,
            userData)
{
    return launch(hStream, &(struct sg_host){.function = fn, .data = userData});
}

SG_FUNCTION(cuStreamAddCallback,
            (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags),
            hStream, callback, userData, flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    return launch(hStream,
                  &(struct sg_host){.callback = callback, .handle = hStream, .data = userData});
}
