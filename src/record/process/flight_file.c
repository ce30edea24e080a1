/* The files of the flight recorder. A file gets its name when it is complete, so that whoever
 * watches the folder sees complete files only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text/strings.h"
#include "record/process/flight.h"
#include "record/process/recorder.h"

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

/* ---- What a file holds ----
 *
 * The chunks in memory, a header that says why the file was written, and notes made for it.
 */

uint64_t flight_time_from(const struct flight *flight)
{
    return flight->ring.gone >= flight->begin_time ? flight->ring.gone + 1 : flight->begin_time;
}

/* The counters at `time`, or at the last reading before it: so losses in between count, rather than
 * disappear. Zeroes if `time` is the beginning. */
static const uint64_t *counts_at(const struct flight *flight, uint64_t time)
{
    static const uint64_t none[QUALITY_COUNT];
    uint64_t held =
        flight->notes.counts_taken < FLIGHT_COUNTS ? flight->notes.counts_taken : FLIGHT_COUNTS;
    const uint64_t *found = none;

    if (time <= flight->begin_time)
        return none;
    for (uint64_t i = flight->notes.counts_taken - held; i < flight->notes.counts_taken; i++) {
        const struct flight_counts *counts = &flight->notes.counts[i % FLIGHT_COUNTS];

        if (counts->time > time && found != none)
            break;
        if (counts->time <= time || held == FLIGHT_COUNTS)
            found = counts->values;
    }
    return found;
}

static void append_mark(struct mp_writer *writer, uint64_t number, uint64_t kind, uint64_t reason,
                        uint64_t time, uint64_t correlation)
{
    mp_append_capture(writer, &(struct mp_row_capture){.range = number,
                                                       .kind = kind,
                                                       .time = time,
                                                       .correlation = correlation,
                                                       .reason = reason});
}

/* If the range begins before the file, it begins with the file here; if it is open, it ends with
 * the file. These two moments have no correlation id. */
static void append_range(struct mp_writer *writer, const struct flight_range *range, uint64_t from,
                         uint64_t until)
{
    if (range->end < from)
        return;
    if (range->begin < from)
        append_mark(writer, range->number, MP_capture_kind_begin, MP_capture_reason_flight, from,
                    0);
    else
        append_mark(writer, range->number, MP_capture_kind_begin, range->begin_reason, range->begin,
                    range->begin_correlation);
    if (range->end == UINT64_MAX)
        append_mark(writer, range->number, MP_capture_kind_end, MP_capture_reason_flight, until, 0);
    else
        append_mark(writer, range->number, MP_capture_kind_end, range->end_reason, range->end,
                    range->end_correlation);
}

/* Appends the notes of a file. Answers how many records were lost before the file begins. */
static uint64_t append_notes(struct recorder *recorder, uint64_t from, uint64_t until)
{
    struct flight *flight = &recorder->flight;
    struct recording *recording = &recorder->recording;
    uint64_t held =
        flight->notes.range_count < FLIGHT_RANGES ? flight->notes.range_count : FLIGHT_RANGES;
    const uint64_t *before = counts_at(flight, from);

    for (uint64_t i = flight->notes.range_count - held; i < flight->notes.range_count; i++)
        append_range(recording->writer, &flight->notes.ranges[i % FLIGHT_RANGES], from, until);
    quality_append_since(&recording->quality, before, &recording->dictionary, until);
    return quality_dropped_of(before);
}

/* The settings in the header have the step's name. */
static void compose_header(struct mp_buffer *header, const struct flight *flight,
                           const struct flight_trigger *trigger, uint64_t from, uint64_t until)
{
    mp_buffer_append_text(header, flight->header);
    mp_buffer_append_format(header,
                            "flight_reason=%s\nflight_trigger_ns=%llu\nflight_from_ns=%llu\n"
                            "flight_until_ns=%llu\n",
                            trigger->reason, (unsigned long long)trigger->time,
                            (unsigned long long)from, (unsigned long long)until);
    if (trigger->step)
        mp_buffer_append_format(
            header, "flight_step_start_ns=%llu\nflight_step_ns=%llu\nflight_step_limit_ns=%llu\n",
            (unsigned long long)trigger->step->begin,
            (unsigned long long)(trigger->step->end - trigger->step->begin),
            (unsigned long long)trigger->step->limit);
    mp_buffer_append_byte(header, '\0');
}

/* Writes the whole trace to the open file. */
static enum mp_status write_chunks(struct recorder *recorder, const char *header,
                                   uint64_t lost_before, struct mp_error *error)
{
    uint64_t dropped = quality_dropped(&recorder->recording.quality) - lost_before;
    struct mp_chunk_file file = {.fd = -1};
    enum mp_status status = mp_chunk_file_begin(&file, recorder->output.fd, header, error);

    if (status == MP_OK)
        status = mp_chunk_ring_write(&recorder->flight.ring, &file, lost_before, error);
    if (status == MP_OK)
        status = mp_chunk_file_end(&file, dropped, error);
    mp_chunk_file_free(&file);
    return status;
}

/* Writes a file and gives it its name; on failure removes it. */
static enum mp_status write_file(struct recorder *recorder, const char *header,
                                 uint64_t lost_before, struct flight_path *path,
                                 struct mp_error *error)
{
    MP_TRY(flight_file_begin(&recorder->output, error));
    enum mp_status status = write_chunks(recorder, header, lost_before, error);
    if (status == MP_OK)
        status = flight_file_publish(&recorder->output, path->text, sizeof(path->text), error);
    if (status != MP_OK)
        flight_file_discard(&recorder->output);
    return status;
}

/* Appends the notes and hands all pending rows to the ring. The ring may drop events to make room.
 * Then the file begins later, so the notes are made again. */
static enum mp_status settle_notes(struct recorder *recorder, uint64_t *from, uint64_t until,
                                   uint64_t *lost_before)
{
    struct flight *flight = &recorder->flight;
    enum mp_status status;

    do {
        mp_chunk_ring_drop_notes(&flight->ring);
        *from = flight_time_from(flight);
        *lost_before = append_notes(recorder, *from, until);
        status = mp_writer_flush(recorder->recording.writer);
    } while (status == MP_OK && *from != flight_time_from(flight));
    return status;
}

enum mp_status flight_trace_write(struct recorder *recorder, const struct flight_trigger *trigger,
                                  struct flight_path *path, struct mp_error *error)
{
    struct flight *flight = &recorder->flight;
    struct mp_buffer header = {.limit = 0};
    uint64_t until = flight_time_now(&flight->ring);
    uint64_t from;
    uint64_t lost_before;
    enum mp_status status = settle_notes(recorder, &from, until, &lost_before);

    compose_header(&header, flight, trigger, from, until);
    if (status != MP_OK)
        mp_error_set(error, status, "%s", recorder->recording.writer->failure.text);
    else if (header.status != MP_OK)
        status = mp_error_set(error, MP_ERR_MEMORY, "no memory for the header");
    else
        status = write_file(recorder, (const char *)header.data, lost_before, path, error);
    mp_buffer_free(&header);
    mp_chunk_ring_drop_notes(&flight->ring);
    return status;
}
