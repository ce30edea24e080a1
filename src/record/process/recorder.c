/* The recorder itself, which the entry points without an argument reach by mp_recorder, and its
 * file: name, header, end.
 */
#include "record/process/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/data/storage.h"
#include "base/io.h"
#include "base/log.h"
#include "base/process.h"
#include "base/text/strings.h"
#include "record/core/clock.h"

#include "base/poison.h"

static struct recorder the_recorder;
struct recorder *const mp_recorder = &the_recorder;

/* ---- The trace file ----
 *
 * The header is "key=value\n" lines, docs/trace-format.md section 3. Of the environment only
 * MINIPROF_ settings go in, and argv only on request: both hold secrets.
 */

#ifndef MP_VERSION
#define MP_VERSION "0.1.0"
#endif

#define MAX_ARGV_BYTES 4096

/* ---- The header ---- */

/* Appends a line; line breaks and other control characters in the value become spaces. */
static void add_text(struct mp_buffer *header, const char *key, const char *value, size_t length)
{
    mp_buffer_append_format(header, "%s=", key);
    for (size_t i = 0; i < length; i++)
        mp_buffer_append_byte(header, (uint8_t)value[i] < ' ' ? ' ' : (uint8_t)value[i]);
    mp_buffer_append_byte(header, '\n');
}

static void output_add(struct mp_buffer *header, const char *key, const char *value)
{
    add_text(header, key, value, strlen(value));
}

static void add_process(struct mp_buffer *header)
{
    char text[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", text, sizeof(text));

    mp_buffer_append_format(header, "pid=%d\nppid=%d\n", (int)mp_process_id(), (int)getppid());
    if (length > 0)
        add_text(header, "executable", text, (size_t)length);
    if (gethostname(text, sizeof(text)) == 0) {
        text[sizeof(text) - 1] = '\0';
        output_add(header, "hostname", text);
    }
}

/* The trace's clock and the time of day, read together, so that reports can say when a trace was
 * taken. */
static void add_clocks(struct mp_buffer *header)
{
    mp_buffer_append_format(header, "clock=%s\nstart_clock_ns=%llu\nstart_realtime_ns=%llu\n",
                            mp_clock_name(), (unsigned long long)mp_clock_now(),
                            (unsigned long long)mp_system_clock_ns(CLOCK_REALTIME));
}

static void add_cuda(struct mp_buffer *header, const struct recorder *recorder)
{
    output_add(header, "cupti_path", recorder->gpu.cupti.path);
    mp_buffer_append_format(header, "cupti_version=%u\ndriver_version=%d\n",
                            recorder->gpu.cupti.version, recorder->gpu.driver.version);
}

/* One key for each setting: MINIPROF_BUFFER_MB=64. */
static void add_settings(struct mp_buffer *header, const struct recorder *recorder)
{
    char *value = malloc(MP_CONFIG_TEXT_BYTES);

    for (size_t i = 0; value && i < mp_setting_count; i++)
        output_add(header, mp_settings[i].name,
                   mp_config_value(&recorder->gpu.core.config, &mp_settings[i], value,
                                   MP_CONFIG_TEXT_BYTES));
    free(value);
}

/* What recording costs on this machine, if somebody has measured it: the lines of the user's file
 * in one. */
static void add_costs(struct mp_buffer *header)
{
    char *text = malloc(MP_COSTS_BYTES + 1);

    if (text && mp_costs_read(text)) {
        for (char *at = text; (at = strchr(at, '\n')) != NULL;)
            *at = ';';
        output_add(header, "recording_costs", text);
    }
    free(text);
}

static void add_argv(struct mp_buffer *header)
{
    char text[MAX_ARGV_BYTES];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text));

    if (fd >= 0)
        close(fd);
    if (length > 0)
        add_text(header, "argv", text, (size_t)length - 1); /* NULs between become spaces */
}

static void add_rank(struct mp_buffer *header)
{
    char rank[64];

    if (mp_pattern_expand("%r", rank, sizeof(rank), NULL) == MP_OK)
        output_add(header, "rank", rank);
}

enum mp_status output_compose_header(struct mp_buffer *header, const struct recorder *recorder)
{
    mp_buffer_append_text(header, "miniprof=" MP_VERSION "\n");
    add_process(header);
    add_rank(header);
    add_clocks(header);
    add_cuda(header, recorder);
    add_settings(header, recorder);
    add_costs(header);
    if (recorder->gpu.core.config.argv == MP_SWITCH_ON)
        add_argv(header);
    return mp_buffer_append_byte(header, '\0');
}

/* ---- The file ---- */

bool output_is_from_this_pid(int folder, const char *path)
{
    struct mp_file_header header;
    char text[512]; /* enough: the process id comes first in a header */
    char wanted[32];
    int fd = openat(folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    ssize_t length = -1;

    if (fd < 0)
        return false;
    if (read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
        memcmp(header.magic, MP_HEADER_MAGIC, sizeof(header.magic)) == 0)
        length = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (length <= 0)
        return false;
    text[length] = '\0';
    snprintf(wanted, sizeof(wanted), "\npid=%d\n", (int)mp_process_id());
    return strncmp(text, "miniprof=", strlen("miniprof=")) == 0 && strstr(text, wanted);
}

static bool is_regular(const char *path)
{
    struct stat about;

    return lstat(path, &about) == 0 && S_ISREG(about.st_mode);
}

/* Creates the first file whose number is free. `own`: this process wrote the file that has the
 * name, and those with lower numbers. */
static enum mp_status create_next(struct trace_file *output, bool *own, struct mp_error *error)
{
    char first[PATH_MAX];
    enum mp_status status;

    mp_text_copy(first, sizeof(first), output->path);
    for (unsigned number = *own ? 2 : 1; number <= MP_PATTERN_LAST_NUMBER; number++) {
        if (!mp_pattern_number(first, number, output->path, sizeof(output->path)))
            return mp_error_set(error, MP_ERR_LIMIT, "the name '%.150s' is too long", first);
        status = mp_create_exclusive(output->path, &output->fd, error);
        if (status == MP_OK || errno != EEXIST)
            return status;
        *own = *own && output_is_from_this_pid(AT_FDCWD, output->path);
    }
    return mp_error_set(error, MP_ERR_LIMIT,
                        "'%.150s' exists, and so do all its names up to number %u", first,
                        MP_PATTERN_LAST_NUMBER);
}

/* Creates `output->path` or, where a file has that name, the next one. */
static enum mp_status create_numbered(struct trace_file *output, struct mp_error *error)
{
    char first[PATH_MAX];
    enum mp_status status = mp_create_exclusive(output->path, &output->fd, error);

    if (status == MP_OK || errno != EEXIST || !is_regular(output->path))
        return status;
    mp_text_copy(first, sizeof(first), output->path);
    bool own = output_is_from_this_pid(AT_FDCWD, first);
    status = create_next(output, &own, error);
    if (status == MP_OK && !own)
        mp_log_warn("'%s' exists: the trace is written to '%s'", first, output->path);
    return status;
}

static void find_place(struct trace_file *output)
{
    mp_text_copy(output->place, sizeof(output->place), output->path);
    if (*output->path == '/' || !getcwd(output->place, sizeof(output->place)))
        return;
    size_t length = strlen(output->place);
    if (length + 1 + strlen(output->path) < sizeof(output->place))
        snprintf(output->place + length, sizeof(output->place) - length, "/%s", output->path);
}

enum mp_status output_expand(struct recorder *recorder, struct mp_error *error)
{
    struct trace_file *output = &recorder->output;
    struct mp_error cause;

    if (mp_pattern_expand(recorder->gpu.core.config.output, output->path, sizeof(output->path),
                          &cause) != MP_OK)
        return mp_error_set(error, cause.status, "MINIPROF_OUTPUT: %s", cause.text);
    find_place(output);
    return MP_OK;
}

static enum mp_status create(struct recorder *recorder, struct mp_error *error)
{
    struct trace_file *output = &recorder->output;
    struct mp_error cause;
    struct stat about;

    MP_TRY(output_expand(recorder, error));
    if (mp_make_folders(output->path, &cause) != MP_OK || create_numbered(output, &cause) != MP_OK)
        return mp_error_set(error, cause.status, "%s (MINIPROF_OUTPUT names the file)", cause.text);
    find_place(output);
    if (fstat(output->fd, &about) == 0) {
        output->device = about.st_dev;
        output->inode = about.st_ino;
    }
    return MP_OK;
}

enum mp_status output_open(struct recorder *recorder, struct mp_writer **writer,
                           struct mp_error *error)
{
    const struct mp_writer_options options = {.level = (int)recorder->gpu.core.config.level,
                                              .wait_for_room = true};
    struct mp_buffer header = {.limit = MP_MAX_HEADER_BYTES};
    struct mp_error cause;
    enum mp_status status = output_compose_header(&header, recorder);

    if (status != MP_OK)
        status = mp_error_set(error, status, "no memory for the header");
    else
        status = create(recorder, error);
    if (status == MP_OK) {
        status = mp_writer_open(recorder->output.fd, (const char *)header.data, &options, writer,
                                &cause);
        if (status != MP_OK) {
            output_remove(&recorder->output);
            mp_error_set(error, status, "'%s': %s", recorder->output.path, cause.text);
        }
    }
    mp_buffer_free(&header);
    return status;
}

static bool is_ours(const struct trace_file *output, const struct stat *about)
{
    return about->st_ino == output->inode && about->st_dev == output->device;
}

void output_remove(const struct trace_file *output)
{
    struct stat about;

    if (*output->place && lstat(output->place, &about) == 0 && is_ours(output, &about))
        unlink(output->place);
}

bool output_is_open(const struct trace_file *output)
{
    struct stat about;

    return output->fd >= 0 && fstat(output->fd, &about) == 0 && is_ours(output, &about);
}

int output_open_again(struct trace_file *output)
{
    output->fd = open(output->place, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (output->fd >= 0)
        output->fd = mp_move_descriptor(output->fd);
    if (output->fd >= 0 && !output_is_open(output)) { /* another file has the name now */
        close(output->fd);
        output->fd = -1;
    }
    return output->fd;
}

int output_hold(const struct trace_file *output)
{
    return output_is_open(output) ? fcntl(output->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
}

uint64_t output_bytes(const struct trace_file *output, int held, bool *is_gone)
{
    struct stat about;
    bool known = held >= 0 && fstat(held, &about) == 0;

    if (held >= 0)
        close(held);
    *is_gone = known && about.st_nlink == 0;
    if (!known) /* no descriptor was left for a second one */
        known = lstat(output->place, &about) == 0 && is_ours(output, &about);
    return known ? (uint64_t)about.st_size : 0;
}
