/*
 * plugin.c: calls a profiler plugin as NCCL does: NCCL_PROFILER_PLUGIN names the library, whose
 * symbol ncclProfiler_v6, v5 or v4 is taken, in this order (SIMNCCL_PROFILER_VERSION: the newest
 * that is looked for). For a group:
 *
 *   GroupApi start, state 23 | CollApi or P2pApi start, stop | ... | state 24 |
 *       for each kernel: KernelLaunch start, stop | Group start, Coll or P2p start ..., stop ...,
 *       Group stop | GroupApi stop
 *
 * As in NCCL, a Coll event's number counts the calls of its function on its communicator. What a
 * captured kernel carries is not told at its capture, and does not count. With SIMNCCL_PROXY=1 it
 * is told at each replay (launch.c).
 */
#include "plugin.h"
#include "inside.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(offsetof(struct sn_descriptor, coll) == 24, "as NCCL lays it out");
_Static_assert(offsetof(struct sn_descriptor, coll.group) == 24 + 80, "as NCCL lays it out");
_Static_assert(offsetof(struct sn_descriptor, p2p.group) == 24 + 40, "as NCCL lays it out");

enum { CHANNELS = 16, WARPS = 16 };

static struct {
    pthread_mutex_t lock;
    bool tried;
    int version;
    const struct sn_profiler *newer; /* one of the two */
    const struct sn_profiler_v4 *v4;
    int (*start)(void *context, void **event, struct sn_descriptor *descriptor);
    int (*stop)(void *event);
    int (*state)(void *event, int state, void *arguments);
    int mask;
} plugin = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- The library ---- */

static void find_version(void *library)
{
    long newest = env_number("SIMNCCL_PROFILER_VERSION", 6);

    for (int version = newest < 6 ? (int)newest : 6; version >= 4; version--) {
        char name[32];
        void *symbol;

        snprintf(name, sizeof(name), "ncclProfiler_v%d", version);
        symbol = dlsym(library, name);
        if (!symbol)
            continue;
        plugin.version = version;
        if (version == 4)
            plugin.v4 = symbol;
        else
            plugin.newer = symbol;
        return;
    }
    fprintf(stderr, "simnccl: NCCL_PROFILER_PLUGIN: no ncclProfiler_v4 to _v%ld in it\n", newest);
}

static void load(void)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    void *library;

    plugin.tried = true;
    if (!path || !*path || strcmp(path, "none") == 0)
        return;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "simnccl: NCCL_PROFILER_PLUGIN: %s\n", dlerror());
        return;
    }
    find_version(library);
    plugin.start = plugin.v4 ? plugin.v4->start : plugin.newer ? plugin.newer->start : NULL;
    plugin.stop = plugin.v4 ? plugin.v4->stop : plugin.newer ? plugin.newer->stop : NULL;
    plugin.state = plugin.v4 ? plugin.v4->state : plugin.newer ? plugin.newer->state : NULL;
}

static void log_line(int level, unsigned long flags, const char *file, int line, const char *format,
                     ...) __attribute__((format(printf, 5, 6)));
static void log_line(int level, unsigned long flags, const char *file, int line, const char *format,
                     ...)
{
    va_list arguments;

    (void)flags;
    if (level > 2 && !env_number("SIMNCCL_LOG", 0)) /* warnings, as NCCL by default */
        return;
    fprintf(stderr, "simnccl: %s:%d ", file, line);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static int initialize(ncclComm_t comm)
{
    const char *name = *comm->name ? comm->name : NULL;

    return plugin.v4 ? plugin.v4->init(&comm->profiler, &plugin.mask, name, comm->hash, 1,
                                       comm->nranks, comm->rank, log_line)
                     : plugin.newer->init(&comm->profiler, comm->hash, &plugin.mask, name, 1,
                                          comm->nranks, comm->rank, log_line);
}

void sn_pluginOpen(ncclComm_t comm)
{
    pthread_mutex_lock(&plugin.lock);
    if (!plugin.tried)
        load();
    if (plugin.start && initialize(comm)) {
        fprintf(stderr, "simnccl: the profiler plugin's init failed; it goes on without it\n");
        plugin.start = NULL;
    }
    pthread_mutex_unlock(&plugin.lock);
}

void sn_pluginClose(ncclComm_t comm)
{
    if (!plugin.start || !comm->profiler)
        return;
    if (plugin.v4)
        plugin.v4->finalize(comm->profiler);
    else
        plugin.newer->finalize(comm->profiler);
}

/* ---- Events ---- */

/* NULL: it is not wanted. Version 4 has no events of the API. */
static void *start(ncclComm_t comm, int wanted, struct sn_descriptor *descriptor)
{
    void *event = NULL;

    if (!plugin.start || !(plugin.mask & wanted) ||
        (plugin.version == 4 && descriptor->type >= SN_EVENT_GROUP_API))
        return NULL;
    plugin.start(comm->profiler, &event, descriptor);
    return event;
}

void sn_pluginStop(void *event)
{
    if (event)
        plugin.stop(event);
}

static const char *type_name(ncclDataType_t type)
{
    static const char *const names[] = {"ncclInt8",     "ncclUint8",      "ncclInt32",
                                        "ncclUint32",   "ncclInt64",      "ncclUint64",
                                        "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
                                        "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};

    return names[type];
}

void *sn_pluginGroup(const struct sn_op *first, int depth)
{
    struct sn_descriptor descriptor = {.type = SN_EVENT_GROUP_API,
                                       .group_api = {first->captured, depth}};
    void *event = start(first->comm, -1, &descriptor);

    if (event)
        plugin.state(event, SN_STATE_GROUP_START_STOP, NULL);
    return event;
}

void sn_pluginGroupEnds(void *group)
{
    if (group)
        plugin.state(group, SN_STATE_GROUP_END_START, NULL);
}

void sn_pluginGroupStop(void *group)
{
    sn_pluginStop(group);
}

void *sn_pluginApi(const struct sn_op *op, void *group)
{
    struct sn_descriptor descriptor = {.type = SN_EVENT_COLL_API, .parent = group};

    if (sn_isTransfer(op->call)) {
        descriptor.type = SN_EVENT_P2P_API;
        descriptor.p2p_api.function = sn_functionName(op->call);
        descriptor.p2p_api.count = op->count;
        descriptor.p2p_api.type = type_name(op->type);
        descriptor.p2p_api.stream = op->stream;
        descriptor.p2p_api.captured = op->captured;
        return start(op->comm, SN_EVENT_P2P_API | SN_EVENT_P2P, &descriptor);
    }
    descriptor.coll_api.function = sn_functionName(op->call);
    descriptor.coll_api.count = op->count;
    descriptor.coll_api.type = type_name(op->type);
    descriptor.coll_api.root = op->peer < 0 ? 0 : op->peer;
    descriptor.coll_api.stream = op->stream;
    descriptor.coll_api.captured = op->captured;
    return start(op->comm, SN_EVENT_COLL_API | SN_EVENT_COLL, &descriptor);
}

void *sn_pluginLaunch(ncclComm_t comm, CUstream stream, void *group)
{
    struct sn_descriptor descriptor = {
        .type = SN_EVENT_KERNEL_LAUNCH, .parent = group, .launch = {stream}};

    return start(comm, SN_EVENT_KERNEL_LAUNCH, &descriptor);
}

static void *start_collective(const struct sn_op *op, void *group)
{
    ncclComm_t comm = op->comm;
    struct sn_descriptor descriptor = {.type = SN_EVENT_COLL,
                                       .parent = plugin.version == 4 ? group : op->api_event,
                                       .rank = comm->rank};

    descriptor.coll.sequence = comm->sequence[op->call];
    descriptor.coll.function = sn_functionName(op->call);
    descriptor.coll.send = op->send;
    descriptor.coll.recv = op->recv;
    descriptor.coll.count = op->count;
    descriptor.coll.root = op->peer < 0 ? 0 : op->peer;
    descriptor.coll.type = type_name(op->type);
    descriptor.coll.channels = CHANNELS;
    descriptor.coll.warps = WARPS;
    descriptor.coll.algorithm = "RING";
    descriptor.coll.protocol = op->bytes < 65536 ? "LL" : op->bytes < 1 << 20 ? "LL128" : "SIMPLE";
    descriptor.coll.group = group;
    comm->sequence[op->call] += !op->captured;
    return start(comm, SN_EVENT_COLL, &descriptor);
}

static void *start_transfer(const struct sn_op *op, void *group)
{
    struct sn_descriptor descriptor = {.type = SN_EVENT_P2P,
                                       .parent = plugin.version == 4 ? group : op->api_event,
                                       .rank = op->comm->rank};
    union {
        const void *constant;
        void *plain;
    } buffer = {op->send};

    descriptor.p2p.function = sn_functionName(op->call);
    descriptor.p2p.buffer = op->recv ? op->recv : buffer.plain;
    descriptor.p2p.type = type_name(op->type);
    descriptor.p2p.count = op->count;
    descriptor.p2p.peer = op->peer;
    descriptor.p2p.channels = CHANNELS / 2;
    descriptor.p2p.group = group;
    return start(op->comm, SN_EVENT_P2P, &descriptor);
}

void sn_pluginTasks(const struct sn_work *work)
{
    struct sn_descriptor descriptor = {.type = SN_EVENT_GROUP};
    void *group = start(work->comm, SN_EVENT_GROUP | SN_EVENT_COLL | SN_EVENT_P2P, &descriptor);
    void **events = calloc(work->count, sizeof(*events));

    for (size_t i = 0; events && i < work->count; i++)
        events[i] = sn_isTransfer(work->ops[i].call) ? start_transfer(&work->ops[i], group)
                                                     : start_collective(&work->ops[i], group);
    for (size_t i = 0; events && i < work->count; i++)
        sn_pluginStop(events[i]);
    free(events);
    sn_pluginStop(group);
}
