/* The files of the flight recorder. A file gets its name when it is complete, so that whoever
 * watches the folder sees complete files only.
 */
#include "record/process/flight.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text/strings.h"
#include "record/process/output.h"

#include "base/poison.h"

#define PART ".part"

/* The folder, and the names of the files in it. */
struct place {
    int folder;           /* a descriptor or AT_FDCWD */
    char first[PATH_MAX]; /* the name of the first file, from there */
    char part[PATH_MAX];
};

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool folder_is_ours(const struct trace_file *output)
{
    struct stat about;

    return output->folder >= 0 && fstat(output->folder, &about) == 0 &&
           about.st_ino == output->folder_inode && about.st_dev == output->folder_device &&
           about.st_nlink > 0;
}

static void open_folder(struct trace_file *output)
{
    char folder[PATH_MAX];
    struct stat about;

    snprintf(folder, sizeof(folder), "%.*s", (int)(base_of(output->place) - output->place),
             output->place);
    output->folder = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);
    if (output->folder >= 0)
        output->folder = mp_move_descriptor(output->folder);
    if (output->folder < 0 || fstat(output->folder, &about) != 0)
        return;
    output->folder_device = about.st_dev;
    output->folder_inode = about.st_ino;
}

void flight_file_close(struct trace_file *output)
{
    if (folder_is_ours(output))
        close(output->folder);
    output->folder = -1;
}

/* Through the folder that is held open; through the absolute path if the program has closed the
 * folder, or somebody has removed it. */
static void find_place(struct trace_file *output, struct place *place)
{
    if (!folder_is_ours(output))
        open_folder(output);
    bool held = folder_is_ours(output);
    place->folder = held ? output->folder : AT_FDCWD;
    mp_text_copy(place->first, sizeof(place->first), held ? base_of(output->place) : output->place);
    snprintf(place->part, sizeof(place->part), "%.*s" PART,
             (int)(sizeof(place->part) - sizeof(PART)), place->first);
}

/* Creates the .part file. Replaces one that a killed process with our id has left. */
static enum mp_status create(const struct place *place, int *fd, struct mp_error *error)
{
    if (mp_create_exclusive_at(place->folder, place->part, fd, error) == MP_OK)
        return MP_OK;
    if (errno != EEXIST || !output_is_from_this_pid(place->folder, place->part) ||
        unlinkat(place->folder, place->part, 0) != 0)
        return error->status;
    return mp_create_exclusive_at(place->folder, place->part, fd, error);
}

enum mp_status flight_file_begin(struct trace_file *output, struct mp_error *error)
{
    struct place place;
    struct stat about;

    find_place(output, &place);
    if (create(&place, &output->fd, error) != MP_OK) {
        output->fd = -1;
        if (errno != EMFILE && errno != ENFILE)
            return error->status;
        flight_file_close(output); /* so that its number is free */
        mp_text_copy(place.first, sizeof(place.first), output->place);
        place.folder = AT_FDCWD;
        snprintf(place.part, sizeof(place.part), "%.*s" PART,
                 (int)(sizeof(place.part) - sizeof(PART)), place.first);
        MP_TRY(create(&place, &output->fd, error));
    }
    if (fstat(output->fd, &about) == 0) {
        output->device = about.st_dev;
        output->inode = about.st_ino;
    }
    return MP_OK;
}

/* Some file systems do not support RENAME_NOREPLACE: then a hard link is made instead, which also
 * fails if the name exists. */
static int rename_new(int folder, const char *from, const char *to)
{
    if (renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (linkat(folder, from, folder, to, 0) != 0)
        return -1;
    unlinkat(folder, from, 0);
    return 0;
}

enum mp_status flight_file_publish(struct trace_file *output, char *path, size_t size,
                                   struct mp_error *error)
{
    struct place place;
    bool ours = output_is_open(output);
    bool closed = ours && close(output->fd) == 0;

    output->fd = -1;
    if (!closed)
        return mp_error_set(error, MP_ERR_IO, "%s",
                            ours ? "cannot close the file" : "the program has closed the file");
    find_place(output, &place);
    for (; output->number < MP_PATTERN_LAST_NUMBER; output->number++) {
        unsigned number = output->number + 1;
        char name[PATH_MAX];

        mp_text_copy(name, sizeof(name), place.first);
        mp_text_copy(path, size, output->path);
        if (number > 1 && (!mp_pattern_number(place.first, number, name, sizeof(name)) ||
                           !mp_pattern_number(output->path, number, path, size)))
            break;
        if (rename_new(place.folder, place.part, name) == 0) {
            output->number++;
            return MP_OK;
        }
        if (errno != EEXIST || !output_is_from_this_pid(place.folder, name))
            return mp_error_set(error, MP_ERR_IO, "cannot create '%.150s': %m", path);
    }
    return mp_error_set(error, MP_ERR_IO, "no number is left for '%.150s'", output->path);
}

void flight_file_discard(struct trace_file *output)
{
    struct place place;

    if (output_is_open(output))
        close(output->fd);
    output->fd = -1;
    find_place(output, &place);
    unlinkat(place.folder, place.part, 0);
}

enum mp_status flight_file_prepare(struct trace_file *output, struct mp_error *error)
{
    struct place place;
    struct stat about;

    if (strlen(output->place) + sizeof(PART) + 4 > sizeof(place.part))
        return mp_error_set(error, MP_ERR_LIMIT, "the name is too long");
    output->folder = -1;
    MP_TRY(flight_file_begin(output, error));
    flight_file_discard(output);
    find_place(output, &place);
    if (fstatat(place.folder, place.first, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        !output_is_from_this_pid(place.folder, place.first)) {
        errno = EEXIST;
        return mp_error_set(error, MP_ERR_IO, "cannot create '%.150s': %m", output->path);
    }
    return MP_OK;
}
