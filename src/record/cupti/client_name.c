/* Who the other CUPTI client may be. CUPTI 13 tells the client's name, if the client gave one.
 * Otherwise only the libraries that the process has loaded give a hint: by their names, or since
 * they call CUPTI themselves. Our own libraries are known by their addresses and symbols, since
 * anybody may have renamed them.
 */
#include "record/cupti/client_name.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/elf_symbols.h"
#include "base/text/strings.h"

#include "base/poison.h"

/* From pull requests: pytorch/pytorch 196066, openxla/xla 47160. */
#define TORCH_VERSION_1 "use torch.profiler without CuspyConfig"
#define XLA_VERSION_1   "set XLA_FLAGS=--xla_gpu_enable_cupti_multi_subscriber=false"

/* Matched with the beginning of a library's file name; the most certain ones first. */
static const struct known_client {
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
    size_t rank;

    (void)size;
    if ((const void *)info->dlpi_addr == search->own)
        return 0;
    rank = rank_of(info, slash ? slash + 1 : path);
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
