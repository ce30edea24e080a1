/* The search for libcupti.
 *
 * Order, first usable one wins:
 *     1. a copy that the process has loaded (PyTorch brings one): two copies would fight, so the
 *        search ends here even when that copy cannot be used
 *     2. MINIPROF_CUPTI
 *     3. next to the loaded libcudart, in the layouts of the toolkit and of NVIDIA's Python
 * packages
 *     4. the sonames, newest first, that are not newer than the driver, by the loader's own rules
 *     5. CUDA_HOME, CUDA_PATH, /usr/local/cuda
 *
 * A candidate that opens but is too old or lacks a function is closed again and remembered for the
 * message, in case nothing better turns up.
 */
#include "record/cupti/cupti_api.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/settings/config.h"
#include "base/text/strings.h"
#include "record/cupti/layout.h"

#include "base/poison.h"

struct soname {
    int major; /* of the CUDA release */
    const char *name;
};

static const struct soname sonames[] = {
    {13, "libcupti.so.13"},
    {12, "libcupti.so.12"},
    {11, "libcupti.so.11.8"},
};

#define SONAME_COUNT (sizeof(sonames) / sizeof(sonames[0]))

struct search {
    struct cupti_api *cupti;
    const struct driver_api *driver;
    struct mp_error failure; /* of the last candidate that existed but could not be used */
};

void driver_api_load(struct driver_api *driver)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);

    memset(driver, 0, sizeof(*driver));
    if (!library) {
        const char *why = dlerror();

        mp_log_warn("cannot call the driver: %s; device names and the edges of CUDA graphs are not "
                    "recorded",
                    why ? why : "libcuda.so.1 is not loaded");
        return;
    }
#define DRIVER_RESOLVE(field, symbol, parameters)                                                  \
    *(void **)&driver->field = dlsym(library, #symbol);
    DRIVER_FUNCTIONS(DRIVER_RESOLVE)
#undef DRIVER_RESOLVE
    if (driver->get_version && driver->get_version(&driver->version) != CUDA_SUCCESS)
        driver->version = 0;
    /* The reference is kept: a program that loaded the driver by dlopen may close it, and the last
     * flush still calls it. */
}

/* The name of a required function that the library lacks; NULL if it has all. */
static const char *resolve(struct cupti_api *cupti, void *library)
{
#define CUPTI_RESOLVE(field, symbol, parameters) *(void **)&cupti->field = dlsym(library, #symbol);
#define CUPTI_CHECK(field, symbol, parameters)                                                     \
    if (!cupti->field)                                                                             \
        return #symbol;
    CUPTI_REQUIRED(CUPTI_RESOLVE)
    CUPTI_OPTIONAL(CUPTI_RESOLVE)
    CUPTI_REQUIRED(CUPTI_CHECK)
    return NULL;
#undef CUPTI_RESOLVE
#undef CUPTI_CHECK
}

static void note_path(struct cupti_api *cupti, const char *opened_as)
{
    Dl_info info;

    if (dladdr(*(void *const *)&cupti->get_version, &info) && info.dli_fname)
        opened_as = info.dli_fname;
    mp_text_copy(cupti->path, sizeof(cupti->path), opened_as);
}

/* Keeps `library` as the one to use, or says why not and closes it. */
static bool adopt(struct search *search, void *library, const char *opened_as)
{
    struct cupti_api *cupti = search->cupti;
    const char *missing = resolve(cupti, library);

    if (cupti->get_version)
        note_path(cupti, opened_as);
    if (cupti->get_version && cupti->get_version(&cupti->version) != CUPTI_SUCCESS)
        cupti->version = 0;
    if (cupti->get_version && cupti->version < MP_CUPTI_MIN)
        mp_error_set(&search->failure, MP_ERR_UNSUPPORTED,
                     "'%s' has CUPTI version %u, older than CUDA 11.8 (version %d)", cupti->path,
                     cupti->version, MP_CUPTI_MIN);
    else if (missing)
        mp_error_set(&search->failure, MP_ERR_UNSUPPORTED, "'%s' has no function %s", opened_as,
                     missing);
    else
        return true;
    memset(cupti, 0, sizeof(*cupti));
    dlclose(library);
    return false;
}

static bool try_path(struct search *search, const char *path, int flags)
{
    void *library = dlopen(path, flags | RTLD_LAZY | RTLD_LOCAL);

    return library && adopt(search, library, path);
}

static bool try_loaded(struct search *search)
{
    for (size_t i = 0; i < SONAME_COUNT; i++)
        if (try_path(search, sonames[i].name, RTLD_NOLOAD))
            return true;
    return try_path(search, "libcupti.so", RTLD_NOLOAD);
}

static bool try_requested(struct search *search, const char *requested)
{
    if (!*requested)
        return false;
    dlerror();
    if (try_path(search, requested, 0))
        return true;
    if (search->failure.status) {
        mp_log_warn("MINIPROF_CUPTI: %s; searching for another", search->failure.text);
    } else {
        const char *reason = dlerror();
        mp_log_warn("MINIPROF_CUPTI='%s' cannot be loaded (%s); searching for another", requested,
                    reason ? reason : "unknown reason");
    }
    return false;
}

static bool newer_than_driver(const struct search *search, const struct soname *soname)
{
    return search->driver->version > 0 && soname->major > search->driver->version / 1000;
}

/* Tries every version in folder/below. */
static bool try_folder(struct search *search, const char *folder, const char *below)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < SONAME_COUNT; i++) {
        if (newer_than_driver(search, &sonames[i]))
            continue;
        if (snprintf(path, sizeof(path), "%s%s/%s", folder, below, sonames[i].name) <
                (int)sizeof(path) &&
            try_path(search, path, 0))
            return true;
    }
    return false;
}

static int find_cudart(struct dl_phdr_info *info, size_t size, void *context)
{
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    char *folder = context;

    (void)size;
    if (!slash || !mp_text_starts_with(slash + 1, "libcudart.so"))
        return 0;
    mp_text_copy(folder, PATH_MAX, info->dlpi_name);
    folder[slash - info->dlpi_name < PATH_MAX ? slash - info->dlpi_name : 0] = '\0';
    return 1;
}

static bool try_beside_cudart(struct search *search)
{
    /* libcudart's folder is lib64 of a toolkit, or nvidia/cuda_runtime/lib in site-packages. */
    static const char *const below[] = {"", "/../extras/CUPTI/lib64", "/../../cuda_cupti/lib"};
    char folder[PATH_MAX] = "";

    if (!dl_iterate_phdr(find_cudart, folder) || !*folder)
        return false;
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++)
        if (try_folder(search, folder, below[i]))
            return true;
    return false;
}

static bool try_sonames(struct search *search)
{
    for (size_t i = 0; i < SONAME_COUNT; i++)
        if (!newer_than_driver(search, &sonames[i]) && try_path(search, sonames[i].name, 0))
            return true;
    return false;
}

static bool try_toolkits(struct search *search)
{
    const char *const homes[] = {secure_getenv("CUDA_HOME"), secure_getenv("CUDA_PATH"),
                                 "/usr/local/cuda"};

    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++)
        if (homes[i] && *homes[i] &&
            (try_folder(search, homes[i], "/lib64") ||
             try_folder(search, homes[i], "/extras/CUPTI/lib64")))
            return true;
    return false;
}

enum mp_status cupti_api_load(struct cupti_api *cupti, const struct driver_api *driver,
                              const char *requested, struct mp_error *error)
{
    struct search search = {.cupti = cupti, .driver = driver};

    memset(cupti, 0, sizeof(*cupti));
    if (try_loaded(&search)) {
        if (*requested)
            mp_log_info("MINIPROF_CUPTI is not used: the process has '%s' loaded", cupti->path);
        return MP_OK;
    }
    if (search.failure.status)
        return mp_error_set(error, search.failure.status, "%s, and the process has it loaded",
                            search.failure.text);
    if (try_requested(&search, requested) || try_beside_cudart(&search) || try_sonames(&search) ||
        try_toolkits(&search))
        return MP_OK;
    if (search.failure.status)
        return mp_error_set(error, search.failure.status, "%s", search.failure.text);
    return mp_error_set(error, MP_ERR_IO,
                        "no libcupti.so was found; set MINIPROF_CUPTI=/path/to/libcupti.so "
                        "(it comes with the CUDA toolkit)");
}

bool cupti_next(const struct cupti_api *cupti, uint8_t *buffer, size_t valid_bytes,
                CUpti_Activity **record)
{
    return valid_bytes && cupti->next_record(buffer, valid_bytes, record) == CUPTI_SUCCESS &&
           *record && (*record)->kind != CUPTI_ACTIVITY_KIND_INVALID;
}

uint32_t cupti_stream_id(const struct cupti_api *cupti, CUcontext context, uintptr_t handle,
                         bool per_thread)
{
    CUstream stream = (CUstream)handle;
    uint32_t id;

    if (stream == CU_STREAM_PER_THREAD || stream == CU_STREAM_LEGACY) {
        per_thread = stream == CU_STREAM_PER_THREAD;
        stream = NULL;
    }
    if (cupti->get_stream_id(context, stream, per_thread, &id) != CUPTI_SUCCESS)
        return CUPTI_NO_STREAM;
    return id;
}

const char *cupti_result_text(const struct cupti_api *cupti, CUptiResult result)
{
    const char *text = NULL;

    if (!cupti->get_result_string || cupti->get_result_string(result, &text) != CUPTI_SUCCESS)
        text = NULL;
    return text ? text : "unknown error";
}

/* ---- Known faults ---- */

enum quirk_answer { VERSION, ALWAYS, TOLD };

static const struct {
    uint32_t first;
    uint32_t fixed;
    enum quirk_answer answer;
    const char *what;
    const char *done;
} quirks[QUIRK_COUNT] = {
#define QUIRK(name, first, fixed, answer, what, done, source)                                      \
    [QUIRK_##name] = {first, fixed, answer, what, done},
#include "record/cupti/quirks.def"
#undef QUIRK
};

#define QUIRK(name, first, fixed, answer, what, done, source)                                      \
    _Static_assert((first) <= MP_CUPTI_NEWEST && (fixed) <= MP_CUPTI_NEWEST,                       \
                   #name ": base/settings/config.h knows no version as new");
#undef QUIRK

bool quirk_is_in(enum quirk quirk, uint32_t version)
{
    return version >= quirks[quirk].first &&
           (!quirks[quirk].fixed || version < quirks[quirk].fixed);
}

void quirks_tell(uint32_t version)
{
    for (size_t i = 0; i < QUIRK_COUNT; i++)
        if (quirks[i].answer == TOLD && quirk_is_in((enum quirk)i, version))
            mp_log_info("CUPTI %u has a known fault: %s (%s)", version, quirks[i].what,
                        quirks[i].done);
}
