/* Asks which metrics the GPUs have. The question runs in a child process, because the driver must
 * not be loaded into the command itself.
 */
#include "run/query.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <miniprof/trace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/settings/forms.h"
#include "cli/program.h"
#include "nvprof/nvprof.h"
#include "reports/metrics/metrics.h"
#include "run/run.h"

#include "base/poison.h"

#define PATIENCE_S 120 /* the driver alone takes seconds on machines with many GPUs */
#define SAID_BYTES 4096

/* How the child ends. */
enum { CHILD_FINE = 0, CHILD_NO_DRIVER = 3, CHILD_FAILED = 4 };

struct place {
    char folder[SCRATCH_BYTES];
    char file[SCRATCH_BYTES + 16];
    int said; /* the child's stderr; read only if there is no answer */
};

/* ---- The child ---- */

static bool set_environment(const struct launch *launch, const struct query *query,
                            const struct place *place)
{
    return setenv("CUDA_INJECTION64_PATH", launch->library, 1) == 0 &&
           setenv("MINIPROF_OUTPUT", place->file, 1) == 0 &&
           setenv("MINIPROF_QUERY", query->list == METRIC_LIST_SAMPLING ? "sampling" : "metrics",
                  1) == 0 &&
           setenv("MINIPROF_METRICS", query->list == METRIC_LIST_RAW ? "raw" : "all", 1) == 0 &&
           setenv("MINIPROF_DEVICES", query->devices ? query->devices : "all", 1) == 0 &&
           /* set even if a recorded process does not want its children recorded */
           setenv("MINIPROF_CHILDREN", "on", 1) == 0 && setenv("MINIPROF_LOG", "error", 1) == 0;
}

/* The driver's functions that are called; the driver is not linked. Their result is 0 for success.
 */
struct driver {
    int (*initialise)(unsigned flags);
    int (*count)(int *count);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*start)(void);
    int (*stop)(void);
};

static bool load_driver(struct driver *driver)
{
    const struct {
        const char *name;
        void *function; /* where the pointer goes */
    } symbols[] = {
        {"cuInit", &driver->initialise},
        {"cuDeviceGetCount", &driver->count},
        {"cuDevicePrimaryCtxRetain", &driver->retain},
        {"cuCtxSetCurrent", &driver->set_current},
        {"cuProfilerStart", &driver->start},
        {"cuProfilerStop", &driver->stop},
    };
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

    for (size_t i = 0; library && i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol)
            return false;
        memcpy(symbols[i].function, &symbol, sizeof symbol);
    }
    return library != NULL;
}

/* The driver loads the recorder. Whenever the profiler is started, the recorder queries the device
 * of the current context; when it is stopped, the recorder completes its file
 * (record/counters/profiling.h). */
static int ask_devices(const char *list)
{
    struct device_list wanted;
    struct driver driver;
    int count = 0;

    if (!load_driver(&driver) || driver.initialise(0) != 0 || driver.count(&count) != 0)
        return CHILD_NO_DRIVER;
    if (device_list_parse(list, &wanted, NULL) != MP_OK)
        return CHILD_FAILED;
    for (int device = 0; device < count; device++) {
        void *context;
        if (device_list_has(&wanted, (uint64_t)device) && driver.retain(&context, device) == 0 &&
            driver.set_current(context) == 0)
            driver.start();
    }
    driver.stop();
    return CHILD_FINE;
}

__attribute__((noreturn)) static void be_child(const struct launch *launch,
                                               const struct query *query, const struct place *place)
{
    alarm(PATIENCE_S);
    if (dup2(place->said, STDERR_FILENO) < 0 || dup2(place->said, STDOUT_FILENO) < 0 ||
        !set_environment(launch, query, place))
        _exit(CHILD_FAILED);
    _exit(ask_devices(query->devices));
}

/* ---- The parent ---- */

static enum mp_status make_place(struct place *place, struct mp_error *error)
{
    place->said = -1;
    MP_TRY(scratch_make(place->folder, error));
    snprintf(place->file, sizeof place->file, "%s/query.mpt", place->folder);
    place->said = memfd_create("miniprof-query", MFD_CLOEXEC);
    if (place->said < 0)
        return mp_error_set(error, MP_ERR_IO, "cannot make a temporary file: %m");
    return MP_OK;
}

static void remove_place(const struct place *place)
{
    if (place->said >= 0)
        close(place->said);
    if (place->folder[0]) {
        unlink(place->file);
        rmdir(place->folder);
    }
}

/* The first line that the child printed, or a general reason. */
static enum mp_status fail_as_said(const struct place *place, const char *otherwise,
                                   struct mp_error *error)
{
    char said[SAID_BYTES];
    ssize_t length = pread(place->said, said, sizeof said - 1, 0);

    said[length > 0 ? length : 0] = '\0';
    said[strcspn(said, "\n")] = '\0';
    return mp_error_set(error, MP_ERR_IO, "no GPU could be asked for its metrics: %s",
                        *said ? said : otherwise);
}

static enum mp_status wait_for(pid_t pid, struct mp_error *error)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return mp_error_set(error, MP_ERR_IO, "cannot wait for a process: %m");
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_NO_DRIVER)
        return mp_error_set(error, MP_ERR_UNSUPPORTED,
                            "there is no CUDA driver, or no GPU that it can use");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return mp_error_set(error, MP_ERR_IO, "the CUDA driver did not answer in %d s", PATIENCE_S);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != CHILD_FINE)
        return mp_error_set(error, MP_ERR_IO, "the process that asks the driver failed");
    return MP_OK;
}

static enum mp_status ask(const struct launch *launch, const struct query *query,
                          struct place *place, struct mp_error *error)
{
    MP_TRY(make_place(place, error));
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return mp_error_set(error, MP_ERR_IO, "cannot make a process: %m");
    if (pid == 0)
        be_child(launch, query, place);
    return wait_for(pid, error);
}

static enum mp_status print_answer(const struct report_out *out, const struct query *query,
                                   const struct place *place, struct mp_error *error)
{
    struct metrics_options options = {.style = NAMES_MANGLED};
    struct metrics_result result;
    struct mp_trace *trace;

    if (mp_trace_open(place->file, &trace, NULL) != MP_OK)
        return fail_as_said(place, "the recorder wrote nothing", error);
    enum mp_status status = metrics_build(trace, &options, &result, error);
    if (status == MP_OK) {
        if (result.metric_count)
            print_metric_list(out, &result, query->list);
        else
            status = fail_as_said(place, "there is no such device", error);
        metrics_free(&result);
    }
    mp_trace_close(trace);
    return status;
}

enum mp_status query_print(const struct report_out *out, const struct query *query,
                           struct mp_error *error)
{
    struct launch launch = {.library = ""};
    struct device_list devices;
    struct place place = {.folder = "", .said = -1};

    MP_TRY(device_list_parse(query->devices, &devices, error));
    if (!launch_find_library(&launch, query->library))
        return mp_error_set(error, MP_ERR_IO, "cannot find %s",
                            query->library ? query->library : "libminiprof.so");
    enum mp_status status = ask(&launch, query, &place, error);
    if (status == MP_OK)
        status = print_answer(out, query, &place, error);
    remove_place(&place);
    return status;
}

int metrics_query(const struct report_out *out, bool events, const char *devices)
{
    struct query query = {
        .list = events ? METRIC_LIST_EVENTS : METRIC_LIST_METRICS,
        .devices = devices,
    };
    struct mp_error error;
    enum mp_status status = query_print(out, &query, &error);

    if (status == MP_OK)
        return NVPROF_EXIT_FINE;
    nvprof_error(stderr, "%s", error.text);
    return status == MP_ERR_UNSUPPORTED ? NVPROF_EXIT_NO_DRIVER : NVPROF_EXIT_INTERNAL;
}
