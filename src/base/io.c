/* Reads, writes and creates files, fills in the placeholders of their names, and finds the user's
 * file of recording costs. Interrupted and short system calls are continued here, so that callers
 * see success or one error with the reason of the operating system.
 */
#include "base/io.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/process.h"
#include "base/text/strings.h"
#include "base/text/units.h"

#include "base/poison.h"

/* Linux transfers at most 0x7ffff000 bytes a call (read(2), write(2)); smaller steps cost nothing.
 */
#define MAX_STEP ((size_t)1 << 30)

static size_t step_of(size_t bytes)
{
    return bytes < MAX_STEP ? bytes : MAX_STEP;
}

enum mp_status mp_write_all(int fd, const void *data, size_t bytes, struct mp_error *error)
{
    const char *at = data;

    while (bytes) {
        ssize_t written = write(fd, at, step_of(bytes));

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            int cause = errno;

            mp_error_set(error, MP_ERR_IO, "cannot write: %m");
            errno = cause;
            return MP_ERR_IO;
        }
        errno = 0;
        if (written == 0)
            return mp_error_set(error, MP_ERR_IO, "cannot write: the system took no bytes");
        at += written;
        bytes -= (size_t)written;
    }
    return MP_OK;
}

/* Both ways to read exactly; `offset` counts only when `positioned`. */
static enum mp_status read_fully(int fd, char *at, size_t bytes, bool positioned, uint64_t offset,
                                 struct mp_error *error)
{
    size_t done = 0;

    while (done < bytes) {
        size_t step = step_of(bytes - done);
        ssize_t got;

        if (positioned)
            got = pread(fd, at + done, step, (off_t)(offset + done));
        else
            got = read(fd, at + done, step);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return mp_error_set(error, MP_ERR_IO, "cannot read: %m");
        if (got == 0 && done == 0)
            return mp_error_set(error, MP_END, "the file has ended");
        if (got == 0)
            return mp_error_set(error, MP_ERR_DAMAGED, "the file ends after %s of %s bytes",
                                mp_count(done).text, mp_count(bytes).text);
        done += (size_t)got;
    }
    return MP_OK;
}

enum mp_status mp_read_exact(int fd, void *data, size_t bytes, struct mp_error *error)
{
    return read_fully(fd, data, bytes, false, 0, error);
}

enum mp_status mp_pread_exact(int fd, void *data, size_t bytes, uint64_t offset,
                              struct mp_error *error)
{
    if (offset > (uint64_t)INT64_MAX - bytes)
        return mp_error_set(error, MP_ERR_ARGUMENT, "offset %llu is beyond any file",
                            (unsigned long long)offset);
    return read_fully(fd, data, bytes, true, offset, error);
}

int mp_move_descriptor(int fd)
{
    int moved = fd;
    int cause;

    if (fd <= STDERR_FILENO) {
        moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        cause = errno;
        close(fd);
        errno = cause;
    }
    return moved;
}

enum mp_status mp_create_exclusive(const char *path, int *fd, struct mp_error *error)
{
    return mp_create_exclusive_at(AT_FDCWD, path, fd, error);
}

enum mp_status mp_create_exclusive_at(int folder, const char *path, int *fd, struct mp_error *error)
{
    int opened;

    do
        opened = openat(folder, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    while (opened < 0 && errno == EINTR);
    if (opened < 0)
        return mp_error_set(error, MP_ERR_IO, "cannot create '%.150s': %m", path);
    opened = mp_move_descriptor(opened);
    if (opened < 0) {
        mp_error_set(error, MP_ERR_IO, "cannot create '%.150s': %m", path);
        unlinkat(folder, path, 0);
        return MP_ERR_IO;
    }
    fchmod(opened, 0600); /* the umask may have taken the owner's rights away; not all file systems
                             have rights */
    *fd = opened;
    return MP_OK;
}

int mp_open_output(const char *path, int flags)
{
    int fd;

    do
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | flags, 0600);
    while (fd < 0 && errno == EINTR);
    return fd;
}

FILE *mp_output_stream(const char *path, int flags)
{
    int fd = mp_open_output(path, flags);
    FILE *stream = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (!stream && fd >= 0)
        close(fd);
    return stream;
}

void mp_keep_mode(int fd, int folder, const char *path)
{
    struct stat old;

    if (fstatat(folder, path, &old, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(old.st_mode) &&
        old.st_uid == geteuid() && fchown(fd, (uid_t)-1, old.st_gid) == 0)
        fchmod(fd, old.st_mode & 0777);
}

static bool is_folder(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Others may make the same one now. */
static enum mp_status make_folder(const char *path, struct mp_error *error)
{
    if (mkdir(path, 0700) == 0) {
        chmod(path, 0700); /* a umask may have taken our own rights */
        return MP_OK;
    }
    int cause = errno;
    if (is_folder(path))
        return MP_OK;
    errno = cause == EEXIST ? ENOTDIR : cause;
    return mp_error_set(error, MP_ERR_IO, "cannot create the folder '%.150s': %m", path);
}

enum mp_status mp_make_folders(const char *path, struct mp_error *error)
{
    char folder[PATH_MAX];
    const char *last = strrchr(path, '/');
    size_t length = last ? (size_t)(last - path) : 0;

    if (!length)
        return MP_OK;
    if (length >= sizeof(folder))
        return mp_error_set(error, MP_ERR_LIMIT, "the name '%.150s' is too long", path);
    memcpy(folder, path, length);
    folder[length] = '\0';
    if (is_folder(folder))
        return MP_OK;
    for (size_t at = 1; at <= length; at++) {
        if (folder[at] && folder[at] != '/')
            continue;
        folder[at] = '\0';
        MP_TRY(make_folder(folder, error));
        folder[at] = '/';
    }
    return MP_OK;
}

uint64_t mp_data_bytes(int fd, uint64_t bytes)
{
    uint64_t holes = 0;
    uint64_t at = 0; /* after the last data */

    while (at < bytes) {
        off_t data = lseek(fd, (off_t)at, SEEK_DATA);

        if (data < 0 && errno != ENXIO)
            break;
        if (data < 0 || (uint64_t)data >= bytes)
            return at - holes;
        holes += (uint64_t)data - at;
        off_t hole = lseek(fd, data, SEEK_HOLE);
        if (hole <= data)
            break;
        at = (uint64_t)hole;
    }
    return bytes - holes;
}

enum mp_status mp_open_file(const char *path, int *fd, uint64_t *bytes, struct mp_error *error)
{
    enum mp_status status = MP_OK;
    struct stat about;
    int opened;

    do /* O_NONBLOCK: opening a FIFO nobody writes to must not hang */
        opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (opened < 0 && errno == EINTR);
    if (opened < 0)
        return mp_error_set(error, MP_ERR_IO, "cannot open '%.150s': %m", path);
    if (fstat(opened, &about) != 0)
        status = mp_error_set(error, MP_ERR_IO, "cannot look at '%s': %m", path);
    else if (S_ISDIR(about.st_mode))
        status = mp_error_set(error, MP_ERR_IO, "cannot read '%s': it is a directory", path);
    else if (!S_ISREG(about.st_mode))
        status = mp_error_set(error, MP_ERR_IO, "cannot read '%s': not a regular file", path);
    if (status != MP_OK) {
        close(opened);
        return status;
    }
    *fd = opened;
    *bytes = (uint64_t)about.st_size;
    return MP_OK;
}

/* ---- Names with placeholders ----
 *
 * File names with nvprof's placeholders %p, %h, %q{NAME} and %r. Launchers hand the rank over in
 * the environment. A rank must be a number: any other text could change the path.
 */

#define MAX_NAME 256u /* of an environment variable */

/* The more specific launcher comes first: Open MPI, MPICH and Intel MPI, MVAPICH2, PMIx, then Slurm
 * and torchrun. Slurm comes late because its variable is also set around mpirun inside an
 * allocation. */
static const char *const rank_variables[] = {
    "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK",
};

/* One part of a pattern: a placeholder, or a character that stands for itself (`kind` 0). */
struct part {
    char kind;           /* 'p' 'h' 'q' 'r' '%' or 0 */
    char character;      /* when kind is 0 */
    char name[MAX_NAME]; /* when kind is 'q' */
};

struct output {
    char *buffer;
    size_t size;
    size_t used;
    bool full;
};

static void pattern_put(struct output *out, const char *text)
{
    size_t length = strlen(text);

    if (out->full || out->size - out->used <= length) {
        out->full = true;
        return;
    }
    memcpy(out->buffer + out->used, text, length + 1);
    out->used += length;
}

/* Reads the {NAME} of a %q at *cursor. */
static enum mp_status parse_name(const char **cursor, struct part *part, struct mp_error *error)
{
    const char *start = *cursor + 1;
    const char *end = **cursor == '{' ? strchr(start, '}') : NULL;
    size_t length = end ? (size_t)(end - start) : 0;

    if (!end || !length || length >= sizeof(part->name))
        return mp_error_set(error, MP_ERR_ARGUMENT,
                            "%%q needs the name of an environment variable: %%q{NAME}");
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)start[i]) && start[i] != '_')
            return mp_error_set(error, MP_ERR_ARGUMENT,
                                "%%q{%.*s} does not name an environment variable", (int)length,
                                start);
    }
    memcpy(part->name, start, length);
    part->name[length] = '\0';
    *cursor = end + 1;
    return MP_OK;
}

/* Takes the next part at *cursor, which is not at the end. */
static enum mp_status parse_part(const char **cursor, struct part *part, struct mp_error *error)
{
    const char *at = *cursor;

    part->kind = 0;
    part->character = *at++;
    if (part->character == '%') {
        if (!*at)
            return mp_error_set(error, MP_ERR_ARGUMENT, "a single %% at the end; write %%%%");
        if (!strchr("phqr%", *at))
            return mp_error_set(error, MP_ERR_ARGUMENT,
                                "%%%c is not known; there are %%p %%h %%r %%q{NAME} and %%%%", *at);
        part->kind = *at++;
    }
    *cursor = at;
    return part->kind == 'q' ? parse_name(cursor, part, error) : MP_OK;
}

static void put_number(struct output *out, long number)
{
    char text[24];

    snprintf(text, sizeof(text), "%ld", number);
    pattern_put(out, text);
}

static void put_host(struct output *out)
{
    char host[256];

    if (gethostname(host, sizeof(host)) != 0)
        mp_text_copy(host, sizeof(host), "localhost");
    host[sizeof(host) - 1] = '\0'; /* POSIX does not promise one when the name is cut */
    pattern_put(out, host);
}

/* The rank as the launcher set it, if it is a number: any other text could change the path. */
static const char *find_rank(void)
{
    for (size_t i = 0; i < sizeof(rank_variables) / sizeof(*rank_variables); i++) {
        const char *value = secure_getenv(rank_variables[i]);
        uint64_t number;

        if (value && mp_text_to_u64(value, 0, UINT32_MAX, &number))
            return value;
    }
    return "0";
}

static enum mp_status put_part(struct output *out, const struct part *part, struct mp_error *error)
{
    char text[2] = {part->character, '\0'};
    const char *value;

    switch (part->kind) {
    case 'p':
        put_number(out, (long)mp_process_id());
        break;
    case 'h':
        put_host(out);
        break;
    case 'r':
        pattern_put(out, find_rank());
        break;
    case 'q':
        value = secure_getenv(part->name);
        if (!value)
            return mp_error_set(error, MP_ERR_ARGUMENT,
                                "cannot find environment variable \"%s\" of %%q{%s}", part->name,
                                part->name);
        pattern_put(out, value);
        break;
    default:
        pattern_put(out, text);
        break;
    }
    return MP_OK;
}

enum mp_status mp_pattern_check(const char *pattern, struct mp_error *error)
{
    struct part part;

    if (!*pattern)
        return mp_error_set(error, MP_ERR_ARGUMENT, "the file name is empty");
    while (*pattern)
        MP_TRY(parse_part(&pattern, &part, error));
    return MP_OK;
}

bool mp_pattern_has_pid(const char *pattern)
{
    struct part part = {.kind = 0};

    while (*pattern && part.kind != 'p' && parse_part(&pattern, &part, NULL) == MP_OK)
        continue;
    return part.kind == 'p';
}

static enum mp_status expand(const char *pattern, struct output *out, struct mp_error *error)
{
    const char *cursor = pattern;
    struct part part;

    MP_TRY(mp_pattern_check(pattern, error));
    while (*cursor) {
        MP_TRY(parse_part(&cursor, &part, error));
        MP_TRY(put_part(out, &part, error));
    }
    if (out->full)
        return mp_error_set(error, MP_ERR_LIMIT, "'%s' gives a file name of over %zu bytes",
                            pattern, out->size - 1);
    return MP_OK;
}

enum mp_status mp_pattern_expand(const char *pattern, char *buffer, size_t size,
                                 struct mp_error *error)
{
    struct output out = {.buffer = buffer, .size = size};

    if (!size)
        return mp_error_set(error, MP_ERR_ARGUMENT, "no room for a file name");
    buffer[0] = '\0';
    enum mp_status status = expand(pattern, &out, error);
    if (status != MP_OK)
        buffer[0] = '\0';
    return status;
}

bool mp_pattern_number(const char *path, unsigned number, char *buffer, size_t size)
{
    static const char suffix[] = ".mpt";
    size_t stem = strlen(path);
    bool has_suffix = stem >= sizeof(suffix) && mp_text_equal(path + stem - 4, suffix);

    if (has_suffix)
        stem -= 4;
    if (stem >= size)
        return false;
    int length =
        snprintf(buffer, size, "%.*s.%u%s", (int)stem, path, number, has_suffix ? suffix : "");
    return length > 0 && (size_t)length < size;
}

/* ---- The user's file of what recording costs ---- */

#define PLACE "miniprof/recording-costs"

static bool compose(char *path, size_t size, const char *variable, const char *below)
{
    const char *folder = secure_getenv(variable);

    if (!folder || *folder != '/')
        return false;
    int length = snprintf(path, size, "%s/%s" PLACE, folder, below);
    return length > 0 && (size_t)length < size;
}

bool mp_costs_path(char *path, size_t size)
{
    return compose(path, size, "XDG_CACHE_HOME", "") || compose(path, size, "HOME", ".cache/");
}

static bool is_plain(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] != '\n' && (text[i] < ' ' || text[i] > '~'))
            return false;
    }
    return true;
}

bool mp_costs_read(char text[MP_COSTS_BYTES + 1])
{
    char path[4096];
    uint64_t bytes = 0;
    int fd = -1;

    if (!mp_costs_path(path, sizeof path) || mp_open_file(path, &fd, &bytes, NULL) != MP_OK)
        return false;
    bool whole = bytes > 0 && bytes <= MP_COSTS_BYTES &&
                 mp_pread_exact(fd, text, (size_t)bytes, 0, NULL) == MP_OK;
    close(fd);
    if (!whole || !is_plain(text, (size_t)bytes))
        return false;
    text[bytes] = '\0';
    return true;
}
