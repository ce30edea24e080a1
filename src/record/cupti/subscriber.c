/* Becoming CUPTI's subscriber, or naming the client that is, and switching its callbacks on and
 * off. What they do is in process/callbacks.c.
 */
#include "record/cupti/subscriber.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/elf_symbols.h"
#include "base/log.h"
#include "base/text/strings.h"
#include "record/cupti/gpu.h"
#include "record/cupti/layout.h"
#include "record/nvtx/nvtx.h"

#include "base/poison.h"

/* ---- Which client is there ----
 *
 * Who the other CUPTI client may be. CUPTI 13 tells the client's name, if the client gave one.
 * Otherwise only the libraries that the process has loaded give a hint: by their names, or since
 * they call CUPTI themselves. Our own libraries are known by their addresses and symbols, since
 * anybody may have renamed them.
 */

/* From pull requests: pytorch/pytorch 196066, openxla/xla 47160. */
#define TORCH_VERSION_1 "use torch.profiler without CuspyConfig"
#define XLA_VERSION_1   "set XLA_FLAGS=--xla_gpu_enable_cupti_multi_subscriber=false"

/* Matched with the beginning of a library's file name; the most certain ones first. */
static const struct {
    const char *file;
    const char *name;
    enum client_habit habit; /* of pytorch/kineto; openxla/xla, profiler/gpu/cupti_tracer.cc */
    const char *version_1;   /* as in struct client */
} known_clients[] = {
    {"libToolsInjection", "Nsight Systems", CLIENT_UNKNOWN, NULL},
    {"libcuda-injection", "Nsight Compute", CLIENT_UNKNOWN, NULL},
    {"libsanitizer-collection", "compute-sanitizer", CLIENT_UNKNOWN, NULL},
    {"libparcagpucupti", "parcagpu", CLIENT_UNKNOWN, NULL},
    {"libscorep_adapter_cuda", "Score-P", CLIENT_UNKNOWN, NULL},
    {"libhpcrun", "HPCToolkit", CLIENT_UNKNOWN, NULL},
    {"libTAU", "TAU", CLIENT_UNKNOWN, NULL},
    {"libproton", "Triton's Proton", CLIENT_UNKNOWN, NULL},
    {"libkineto", "torch.profiler", CLIENT_STAYS, TORCH_VERSION_1},
    {"libtorch_cuda", "torch.profiler", CLIENT_STAYS, TORCH_VERSION_1},
    {"libtorch_cpu", "torch.profiler", CLIENT_STAYS, TORCH_VERSION_1},
    {"xla_cuda_plugin", "jax.profiler", CLIENT_LEAVES, XLA_VERSION_1},
    {"xla_extension", "jax.profiler", CLIENT_LEAVES, XLA_VERSION_1},
    {"libtensorflow_cc", "TensorFlow's profiler", CLIENT_LEAVES, NULL},
    {"_pywrap_tensorflow_internal", "TensorFlow's profiler", CLIENT_LEAVES, NULL},
};

#define KNOWN_COUNT (sizeof(known_clients) / sizeof(known_clients[0]))

/* Ranks of what is found: a smaller one is more certain. Those of known_clients come after COPY. */
enum { RANK_COPY, RANK_KNOWN, RANK_CALLER = RANK_KNOWN + KNOWN_COUNT, RANK_NONE };

struct name_search {
    const void *own; /* where this library is loaded */
    struct client *client;
    size_t rank;
};

static bool is_known(size_t rank)
{
    return rank >= RANK_KNOWN && rank < RANK_CALLER;
}

static void found_client(struct name_search *search, size_t rank, const char *name,
                         const char *path)
{
    search->rank = rank;
    search->client->version_1 = is_known(rank) ? known_clients[rank - RANK_KNOWN].version_1 : NULL;
    snprintf(search->client->name, sizeof(search->client->name), "%s%s'%s'%s", name,
             *name ? " (" : "", path, *name ? ")" : "");
}

/* The preloaded library has no such function. */
static bool is_copy_of_us(const struct elf_symbols *symbols, const char *file)
{
    const struct elf_name entry = elf_name("InitializeInjection");

    return mp_text_starts_with(file, "libminiprof") && elf_symbols_find(symbols, &entry);
}

static bool calls_cupti(const struct elf_symbols *symbols, const char *file)
{
    return !mp_text_starts_with(file, "libcupti") &&
           (elf_symbols_need(symbols, "cuptiSubscribe") ||
            elf_symbols_need(symbols, "cuptiSubscribe_v2") ||
            elf_symbols_need(symbols, "cuptiActivityRegisterCallbacks"));
}

static size_t rank_of(const struct dl_phdr_info *info, const char *file)
{
    struct elf_symbols symbols;
    bool readable = elf_symbols_open_shown(&symbols, info);

    if (readable && is_copy_of_us(&symbols, file))
        return RANK_COPY;
    for (size_t i = 0; i < KNOWN_COUNT; i++)
        if (mp_text_starts_with(file, known_clients[i].file))
            return RANK_KNOWN + i;
    return readable && calls_cupti(&symbols, file) ? RANK_CALLER : RANK_NONE;
}

static int find_client(struct dl_phdr_info *info, size_t size, void *context)
{
    struct name_search *search = context;
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    const char *slash = strrchr(path, '/');

    (void)size;
    if ((const void *)info->dlpi_addr == search->own)
        return 0;
    size_t rank = rank_of(info, slash ? slash + 1 : path);
    if (is_known(rank) && known_clients[rank - RANK_KNOWN].habit > search->client->habit)
        search->client->habit = known_clients[rank - RANK_KNOWN].habit;
    if (rank < search->rank)
        found_client(search, rank,
                     rank == RANK_COPY     ? "another copy of miniprof"
                     : rank == RANK_CALLER ? ""
                                           : known_clients[rank - RANK_KNOWN].name,
                     *path ? path : "the program");
    return 0;
}

void client_find(struct client *client)
{
    struct name_search search = {.client = client, .rank = RANK_NONE};
    Dl_info self;

    *client = (struct client){.habit = CLIENT_STAYS};
    if (dladdr((const void *)known_clients, &self))
        search.own = self.dli_fbase;
    dl_iterate_phdr(find_client, &search);
    if (!is_known(search.rank))
        client->habit = CLIENT_UNKNOWN;
}

/* ---- Launches that may overlap their predecessor, by the attributes of their calls ---- */

static bool is_overlapping(const CUlaunchConfig *config)
{
    for (unsigned i = 0; config && config->attrs && i < config->numAttrs; i++) {
        const CUlaunchAttribute *attribute = &config->attrs[i];

        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
            attribute->value.programmaticStreamSerializationAllowed)
            return true;
    }
    return false;
}

void overlaps_launch(struct overlaps *overlaps, const CUpti_CallbackData *data)
{
    const cuLaunchKernelEx_params *call = data->functionParams;

    if (!call || !is_overlapping(call->config))
        return;
    atomic_store_explicit(&overlaps->any, true, memory_order_relaxed);
    atomic_store_explicit(&overlaps->ids[data->correlationId % OVERLAPS_SLOTS], data->correlationId,
                          memory_order_relaxed);
}

/* EXIT of it. Whether the callback is of no use (subscriber_overlap_leaves). */
static bool overlaps_leave(struct overlaps *overlaps)
{
    return !atomic_load_explicit(&overlaps->any, memory_order_relaxed) &&
           !atomic_load_explicit(&overlaps->kept, memory_order_relaxed) &&
           atomic_fetch_add_explicit(&overlaps->seen, 1, memory_order_relaxed) >= OVERLAPS_PATIENCE;
}

bool overlaps_stay(struct overlaps *overlaps)
{
    bool gone = overlaps_given_up(overlaps);

    return !atomic_exchange(&overlaps->kept, true) && gone;
}

/* ---- Callbacks ---- */

#define SUBSCRIBER_NAME "miniprof"
#define NAME_PREFIX     "CUPTI for " /* before the name that a client has given */
#define OLD_NAME_BYTES  128          /* CUPTI 13.0 asks for 64 at least */

/* Whether the other client uses CUPTI's subscribers of version 2, of which there may be several.
 * They exclude ours of version 1: cuptiSubscribe is refused as with any client, and the functions
 * for the whole process answer NOT_COMPATIBLE (pytorch/pytorch pull request 192094: "Cannot mix
 * global-scope and subscriber-scope activity APIs"). Not tried: it needs a driver of r610. */
static bool is_of_version_2(const struct cupti_api *cupti, CUptiResult result)
{
    size_t dropped;

    return result == CUPTI_ERROR_NOT_COMPATIBLE ||
           (cupti->version >= MP_CUPTI_SINCE_SEVERAL_CLIENTS &&
            cupti->dropped_records(NULL, 0, &dropped) == CUPTI_ERROR_NOT_COMPATIBLE);
}

static const char *remedy_for(const struct gpu *gpu, const struct client *client, bool named)
{
    if (client->habit == CLIENT_LEAVES && gpu->core.wanted.lazy)
        return "end its session before the range";
    return named ? "run without it" : "run without nsys, ncu, torch.profiler or a debugger";
}

/* `holder`: the other's name as CUPTI tells it, or empty. */
static enum mp_status refuse(const struct gpu *gpu, const char *holder, bool version_2,
                             struct client *client, struct mp_error *error)
{
    bool named = *client->name || *holder;

    if (version_2 && client->habit == CLIENT_STAYS)
        client->habit = CLIENT_LEAVES;
    return mp_error_set(
        error, MP_ERR_UNSUPPORTED, "another CUPTI client is attached%s%s%s%s%s, %s (%s)",
        *holder ? ": '" : "", holder, *holder ? "'" : "", *client->name ? ", probably " : "",
        client->name,
        version_2 ? "by CUPTI's version 2, which excludes ours" : "and CUPTI serves one at a time",
        version_2 && client->version_1 ? client->version_1 : remedy_for(gpu, client, named));
}

enum mp_status subscriber_open(struct gpu *gpu, enum client_habit *other, struct mp_error *error)
{
    struct cupti_api *cupti = &gpu->cupti;
    char holder[OLD_NAME_BYTES] = "";
    struct cupti_subscriber_params params = {
        .struct_size = sizeof(params),
        .name = SUBSCRIBER_NAME,
        .old_name = holder,
        .old_name_size = sizeof(holder),
    };
    struct client client;
    enum mp_status status;
    CUptiResult result =
        cupti->subscribe_v2
            ? cupti->subscribe_v2(&gpu->cupti_state.subscriber, gpu->attach.calls.on_callback,
                                  gpu->attach.calls.userdata, &params)
            : cupti->subscribe(&gpu->cupti_state.subscriber, gpu->attach.calls.on_callback,
                               gpu->attach.calls.userdata);

    *other = CLIENT_UNKNOWN;
    holder[sizeof(holder) - 1] = '\0';
    if (mp_text_equal(holder, NAME_PREFIX))
        *holder = '\0';
    if (result == CUPTI_ERROR_NOT_SUPPORTED && cupti->subscribe_v2)
        result = cupti->subscribe(&gpu->cupti_state.subscriber, gpu->attach.calls.on_callback,
                                  gpu->attach.calls.userdata);
    if (result == CUPTI_SUCCESS)
        return MP_OK;
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ||
        result == CUPTI_ERROR_NOT_COMPATIBLE) {
        client_find(&client);
        status = refuse(gpu, holder, is_of_version_2(cupti, result), &client, error);
        *other = client.habit;
        return status;
    }
    return mp_error_set(error, MP_ERR_UNSUPPORTED, "'%.120s' cannot be used: %s", cupti->path,
                        cupti_result_text(cupti, result));
}

void subscriber_close(struct gpu *gpu)
{
    if (gpu->cupti.unsubscribe && !atomic_load(&gpu->cupti_state.callbacks_taken))
        gpu->cupti.unsubscribe(gpu->cupti_state.subscriber);
}

static void watch(struct gpu *gpu, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, bool on)
{
    if (atomic_load(&gpu->cupti_state.callbacks_taken))
        return;
    CUptiResult result = gpu->cupti.enable_callback(on, gpu->cupti_state.subscriber, domain, cbid);
    if (result != CUPTI_SUCCESS)
        mp_log_debug("no callback for domain %d, id %u: %s", (int)domain, (unsigned)cbid,
                     cupti_result_text(&gpu->cupti, result));
}

/* Those whose callbacks are on only while something is recorded. */
static bool is_in_ranges(const struct api_watch *row)
{
    return row->role == API_ROLE_OVERLAP || row->role == API_ROLE_HOST;
}

/* With metrics every launch counts, whatever else is recorded (profiling.h). */
static bool is_switched(const struct gpu *gpu, const struct api_watch *row)
{
    if (is_in_ranges(row))
        return true;
    if (gpu->core.wanted.baseline && api_watch_steps(row))
        return false;
    if (row->role == API_ROLE_VALUE)
        return true;
    return row->role == API_ROLE_SYNC && !(gpu->core.wanted.metrics && api_watch_launches(row));
}

static bool is_wanted(const struct gpu *gpu, const struct api_watch *row, bool on)
{
    if (row->role == API_ROLE_OVERLAP)
        return !on || !overlaps_given_up(&gpu->overlaps);
    if (row->role == API_ROLE_HOST)
        return gpu->host_functions.preload != NULL;
    return gpu->api.syncs;
}

/* Switches the callbacks of the watched driver functions: those that are on in ranges, or all the
 * others. */
static void watch_driver(struct gpu *gpu, bool syncs, bool on)
{
    for (uint32_t cbid = 0; cbid < API_CBIDS; cbid++) {
        const struct api_watch *row = api_set_watch(&gpu->api, cbid);

        if (row && is_switched(gpu, row) == syncs && (!syncs || is_wanted(gpu, row, on)))
            watch(gpu, CUPTI_CB_DOMAIN_DRIVER_API, cbid, on);
    }
}

/* The callbacks that report nodes of graphs as they are made, and what becomes of them. */
static void watch_making(struct gpu *gpu, bool on)
{
    if (gpu->core.wanted.paths || (gpu->core.wanted.edges && gpu->host_functions.preload))
        watch(gpu, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, on);
    if (!gpu->core.wanted.edges)
        return;
    watch(gpu, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING, on);
    watch(gpu, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING, on);
    watch(gpu, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPH_CREATED, on);
}

void subscriber_watch_base(struct gpu *gpu)
{
    watch_driver(gpu, false, true);
    watch(gpu, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, true);
    watch(gpu, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, true);
    watch(gpu, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, true);
    watch(gpu, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, true);
    if (gpu->core.wanted.edges) {
        watch(gpu, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, true);
        watch(gpu, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING, true);
    }
    watch_making(gpu, true);
    /* The STATE domain came after 11.8; older versions refuse it. */
    watch(gpu, (CUpti_CallbackDomain)SUBSCRIBER_STATE, SUBSCRIBER_FATAL_ERROR, true);
}

void subscriber_watch_ends(struct gpu *gpu)
{
    for (uint32_t cbid = 0; cbid < API_CBIDS; cbid++) {
        const struct api_watch *row = api_set_watch(&gpu->api, cbid);

        if (row && (row->role == API_ROLE_LAUNCH || row->role == API_ROLE_INSTANTIATE))
            watch(gpu, CUPTI_CB_DOMAIN_DRIVER_API, cbid, false);
    }
    if (gpu->core.wanted.edges)
        watch(gpu, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, false);
    watch_making(gpu, false);
    if (gpu->core.wanted.paths)
        mp_nvtx_stop_building();
}

/* Calls whose stacks are taken. The watched ones among them are switched by their role; in ranges
 * all of those are on. */
static void watch_stacks(struct gpu *gpu, bool on)
{
    const struct api_set *api = &gpu->api;

    for (uint32_t cbid = 1; cbid < API_CBIDS; cbid++) {
        if (api->flags[MP_api_runtime][cbid] & API_STACK)
            watch(gpu, CUPTI_CB_DOMAIN_RUNTIME_API, cbid, on);
        if ((api->flags[MP_api_driver][cbid] & API_STACK) &&
            (on || !api_set_watch(api, cbid) || is_in_ranges(api_set_watch(api, cbid))))
            watch(gpu, CUPTI_CB_DOMAIN_DRIVER_API, cbid, on);
    }
}

void subscriber_watch_syncs(struct gpu *gpu, bool on)
{
    watch_driver(gpu, true, on);
    if (gpu->core.wanted.stacks)
        watch_stacks(gpu, on);
}

void subscriber_watch_calls(struct gpu *gpu, bool on)
{
    const struct api_set *api = &gpu->api;

    for (uint32_t cbid = 1; cbid < API_CBIDS; cbid++) {
        if (api->flags[MP_api_runtime][cbid] & API_RECORD)
            watch(gpu, CUPTI_CB_DOMAIN_RUNTIME_API, cbid, on);
        /* Watched ones are switched by their role: they must not be switched off here. */
        if ((api->flags[MP_api_driver][cbid] & API_RECORD) &&
            (!api_set_watch(api, cbid) || is_in_ranges(api_set_watch(api, cbid))))
            watch(gpu, CUPTI_CB_DOMAIN_DRIVER_API, cbid, on);
    }
}

/* ---- Launches that may overlap ---- */

void subscriber_overlap_leaves(struct gpu *gpu, CUpti_CallbackId cbid)
{
    if (overlaps_leave(&gpu->overlaps) && !atomic_load(&gpu->cupti_state.calls_by_callback))
        watch(gpu, CUPTI_CB_DOMAIN_DRIVER_API, cbid, false);
}

void subscriber_keep_overlaps(struct gpu *gpu)
{
    if (!overlaps_stay(&gpu->overlaps) || !atomic_load(&gpu->core.enabled))
        return;
    for (uint32_t cbid = 0; cbid < API_CBIDS; cbid++) {
        const struct api_watch *row = api_set_watch(&gpu->api, cbid);

        if (row && row->role == API_ROLE_OVERLAP)
            watch(gpu, CUPTI_CB_DOMAIN_DRIVER_API, cbid, true);
    }
}
