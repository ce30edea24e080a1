/* Who the other CUPTI client may be. CUPTI 13 tells the client's name, if the client gave one.
 * Before CUPTI 13 only the libraries that the process has loaded give a hint.
 */
#include "record/cupti/client_name.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/text/strings.h"

#include "base/poison.h"

/* Matched with the beginning of a library's file name; the most certain ones first. */
static const struct {
    const char *file;
    const char *name;
} known_clients[] = {
    {"libToolsInjection", "Nsight Systems"},
    {"libcuda-injection", "Nsight Compute"},
    {"libsanitizer-collection", "compute-sanitizer"},
    {"libparcagpucupti", "parcagpu"},
    {"libscorep_adapter_cuda", "Score-P"},
    {"libhpcrun", "HPCToolkit"},
    {"libTAU", "TAU"},
    {"libproton", "Triton's Proton"},
    {"libkineto", "torch.profiler"},
    {"libtorch_cuda", "torch.profiler"},
    {"libtorch_cpu", "torch.profiler"},
};

#define KNOWN_COUNT (sizeof(known_clients) / sizeof(known_clients[0]))

struct name_search {
    const char *own; /* path of this library */
    char *text;      /* what was found, of `size` bytes: the path is the loader's */
    size_t size;
    size_t rank; /* position in known_clients + 1; 0: another copy of this library */
};

static void found_client(struct name_search *search, size_t rank, const char *name,
                         const char *path)
{
    search->rank = rank;
    snprintf(search->text, search->size, "%s ('%s')", name, path);
}

static int find_client(struct dl_phdr_info *info, size_t size, void *context)
{
    struct name_search *search = context;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    size_t i;

    (void)size;
    if (!slash)
        return 0;
    if (mp_text_starts_with(slash + 1, "libminiprof") &&
        !mp_text_equal(info->dlpi_name, search->own)) {
        found_client(search, 0, "another copy of miniprof", info->dlpi_name);
        return 1;
    }
    for (i = 0; i < KNOWN_COUNT && i + 1 < search->rank; i++)
        if (mp_text_starts_with(slash + 1, known_clients[i].file))
            found_client(search, i + 1, known_clients[i].name, info->dlpi_name);
    return 0;
}

const char *client_name(char *text, size_t size)
{
    struct name_search search = {.own = "", .text = text, .size = size, .rank = KNOWN_COUNT + 1};
    Dl_info self;

    *text = '\0';
    if (dladdr((const void *)known_clients, &self) && self.dli_fname)
        search.own = self.dli_fname;
    dl_iterate_phdr(find_client, &search);
    return text;
}
