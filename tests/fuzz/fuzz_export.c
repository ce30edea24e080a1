/* Exports of files whose checksums fit, whatever they say: rows have names and places, each row is
 * of a kind that was asked for, and every format takes them. nvprof's files can be read again.
 */
#include <ftw.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mutate.h"
#include "walk.h"

#include "export/format.h"
#include "export/nvvp/nvvp.h"

#define MAX_ROWS 20000 /* of a trace; bounds the time of one input */

static void expect_row(const struct export_process *process, const struct export_row *row)
{
    const struct export_analyses *analyses = export_rows_analyses(process->rows);

    expect(row->kind < EXPORT_KINDS && row->start && (int64_t)row->duration >= 0);
    expect(row->name.text && row->name.id && strlen(row->name.text) == row->name.bytes);
    expect(row->raw_name.text && (!row->place || row->place->id) &&
           (!row->thread || row->thread->id));
    expect(analyses->known || (row->activity == DEPS_NONE && !row->iteration));
    expect(row->activity == DEPS_NONE || row->activity < analyses->deps.count);
    expect(row->iteration <= analyses->iterations.count);
}

/* ---- Where exports go ---- */

static char folder[] = "/tmp/fuzz-export-XXXXXX";

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type;
    return at->level ? remove(path) : 0;
}

static void empty_folder(void)
{
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void remove_folder(void)
{
    empty_folder();
    rmdir(folder);
}

static void make_folder(void)
{
    static bool made;

    if (made)
        return;
    made = true;
    expect(mkdtemp(folder) != NULL);
    atexit(remove_folder);
}

/* ---- One export ---- */

static void write_rows(const struct export_format *format, void *state,
                       const struct export_process *process)
{
    struct export_row row;
    enum mp_status status;

    while ((status = export_rows_next(process->rows, &row)) == MP_OK) {
        expect_row(process, &row);
        expect(format->row(state, &row) == MP_OK);
    }
    expect(status == MP_END);
}

static void export_to(const struct export_format *format, struct mp_trace *trace,
                      const struct export_options *options)
{
    char path[sizeof folder + sizeof "/out"];
    struct trace_process who = {.label = "pid 1", .pid = 1, .rank = TRACE_SET_UNKNOWN};
    const struct trace_set set = {.processes = &who, .count = 1};
    struct export_process process = {
        .trace = trace, .options = options, .set = &set, .who = &who, .count = 1};
    void *state = calloc(1, format->state_bytes);
    FILE *out = NULL;

    snprintf(path, sizeof path, "%s%s", folder, format->folder ? "" : "/out");
    if (!format->folder)
        expect((out = fopen(path, "w+")) != NULL);
    if (export_rows_open(trace, options, &process.rows, NULL) == MP_OK) {
        expect(!format->begin || format->begin(state, out, path, 1, NULL) == MP_OK);
        expect(!format->process || format->process(state, &process, NULL) == MP_OK);
        write_rows(format, state, &process);
        expect(!format->process_end || format->process_end(state, NULL) == MP_OK);
        expect(!format->end || format->end(state, NULL) == MP_OK);
        if (format->release)
            format->release(state);
    }
    export_rows_close(process.rows);
    free(state);
    if (out)
        fclose(out);
    empty_folder();
}

/* What nvprof's -o makes of a trace -i reads. */
static void write_nvprof(struct mp_trace *trace)
{
    char path[sizeof folder + sizeof "/out"];
    struct mp_error error = {.text = ""};
    int fd = memfd_create("read", MFD_CLOEXEC);

    snprintf(path, sizeof path, "%s/out", folder);
    if (nvvp_write(trace, path, &error) == MP_OK)
        expect(nvvp_read(path, fd, &error) == MP_OK);
    else
        expect(error.status == MP_ERR_UNSUPPORTED);
    close(fd);
    empty_folder();
}

/* ---- The fuzzer ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mp_trace *trace = walk_open(data, size, NULL);
    const struct export_options options[] = {
        {.style = NAMES_READABLE},
        {.style = NAMES_NVPROF, .analyses = true},
        {.style = NAMES_MANGLED, .devices = 1, .range = 1},
    };
    size_t count;
    const struct export_format *const *formats = export_formats(&count);

    make_folder();
    for (size_t i = 0; trace && walk_count(trace) <= MAX_ROWS && i < count; i++)
        export_to(formats[i], trace, &options[(i + size) % 3]);
    if (trace && walk_count(trace) <= MAX_ROWS / 10)
        write_nvprof(trace);
    mp_trace_close(trace);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return mutate_trace(data, size, max_size, seed);
}
