/* System calls on files that finish what they begin. Interrupted and short calls are taken up
 * again here, so that callers see success or one error with the reason of the operating system.
 */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/text/units.h"

#include "base/poison.h"

/* Linux transfers at most 0x7ffff000 bytes a call (read(2), write(2)); smaller steps cost nothing.
 */
#define GREATEST_STEP ((size_t)1 << 30)

static size_t step_of(size_t bytes)
{
    return bytes < GREATEST_STEP ? bytes : GREATEST_STEP;
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
    int cause;

    if (mkdir(path, 0700) == 0) {
        chmod(path, 0700); /* a umask may have taken our own rights */
        return MP_OK;
    }
    cause = errno;
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
    size_t at;

    if (!length)
        return MP_OK;
    if (length >= sizeof(folder))
        return mp_error_set(error, MP_ERR_LIMIT, "the name '%.150s' is too long", path);
    memcpy(folder, path, length);
    folder[length] = '\0';
    if (is_folder(folder))
        return MP_OK;
    for (at = 1; at <= length; at++) {
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
    uint64_t at = 0; /* behind the last data */

    while (at < bytes) {
        off_t data = lseek(fd, (off_t)at, SEEK_DATA);
        off_t hole;

        if (data < 0 && errno != ENXIO)
            break;
        if (data < 0 || (uint64_t)data >= bytes)
            return at - holes;
        holes += (uint64_t)data - at;
        hole = lseek(fd, data, SEEK_HOLE);
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
