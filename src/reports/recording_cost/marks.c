/* Reads the files of marks. What is in them was written by the program's process, and may be cut
 * anywhere: every number is checked.
 */
#include "reports/recording_cost/marks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "base/io.h"

#include "base/poison.h"

#define MIN_CLOCK_NS 1000000u /* a shorter stretch does not tell the counter's rate */

/* The processor's counter and the clock. */
struct rate {
    bool counts;
    uint64_t count, ns;
    double ns_per_count;
};

static uint64_t ns_of(const struct rate *rate, uint64_t time)
{
    if (!rate->counts)
        return time;
    double ns = ((double)time - (double)rate->count) * rate->ns_per_count;
    return ns < -(double)rate->ns ? 0 : (uint64_t)((double)rate->ns + ns + 0.5);
}

static enum mp_status find_rate(const struct steps_header *header, struct rate *rate,
                                struct mp_error *error)
{
    uint64_t count = header->last.count - header->first.count;
    uint64_t ns = header->last.ns - header->first.ns;

    *rate = (struct rate){header->counts != 0, header->first.count, header->first.ns, 1};
    if (!rate->counts)
        return MP_OK;
    if (header->last.count <= header->first.count || header->last.ns <= header->first.ns ||
        ns < MIN_CLOCK_NS)
        return mp_error_set(error, MP_ERR_DAMAGED, "the process ended before its clock was known");
    rate->ns_per_count = (double)ns / (double)count;
    return MP_OK;
}

/* ---- Chunks ---- */

struct marks_chunk {
    uint32_t thread;
    uint32_t place; /* in the file: the order of a thread's chunks */
};

struct marks_file {
    int fd;
    struct steps_header header;
    struct marks_chunk *chunks; /* by thread, then place; owned */
    size_t chunk_count;
    struct steps_mark marks[STEPS_CHUNK_MARKS]; /* of the chunk that was read last */
};

MP_COMPARE(compare_chunks, struct marks_chunk,
           MP_ORDER(a->thread, b->thread) ?: MP_ORDER(a->place, b->place));

static enum mp_status read_chunks(struct marks_file *file, struct mp_error *error)
{
    uint32_t taken = atomic_load(&file->header.chunks);
    uint32_t thread;

    if (taken > STEPS_MAX_CHUNKS)
        taken = STEPS_MAX_CHUNKS;
    file->chunks = calloc(taken + (size_t)1, sizeof *file->chunks);
    if (!file->chunks)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    for (uint32_t i = 1; i <= taken; i++) {
        if (mp_pread_exact(file->fd, &thread, sizeof thread, (uint64_t)i * STEPS_CHUNK_BYTES,
                           NULL) != MP_OK)
            break;
        file->chunks[file->chunk_count++] = (struct marks_chunk){thread, i};
    }
    if (file->chunk_count)
        qsort(file->chunks, file->chunk_count, sizeof *file->chunks, compare_chunks);
    return MP_OK;
}

static enum mp_status open_marks(const char *path, struct marks_file *file, struct mp_error *error)
{
    *file = (struct marks_file){.fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
    if (file->fd < 0)
        return mp_error_set(error, MP_ERR_IO, "'%.150s': %m", path);
    if (mp_pread_exact(file->fd, &file->header, sizeof file->header, 0, NULL) != MP_OK ||
        memcmp(file->header.magic, STEPS_MAGIC, sizeof file->header.magic) != 0)
        return mp_error_set(error, MP_ERR_DAMAGED, "'%.150s' has no marks of steps", path);
    return read_chunks(file, error);
}

static enum mp_status read_marks(struct marks_file *file, size_t chunk, struct mp_error *error)
{
    uint64_t offset = (uint64_t)file->chunks[chunk].place * STEPS_CHUNK_BYTES + sizeof *file->marks;

    return mp_pread_exact(file->fd, file->marks, sizeof file->marks, offset, error);
}

static void close_file(struct marks_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    free(file->chunks);
}

static bool has_steps(const struct steps_mark marks[STEPS_CHUNK_MARKS])
{
    for (uint32_t i = 0; i < STEPS_CHUNK_MARKS && marks[i].kind; i++)
        if (marks[i].kind != STEPS_ATTACHED)
            return true;
    return false;
}

bool marks_are_left(const char *path)
{
    struct marks_file file;
    bool left = false;

    if (open_marks(path, &file, NULL) == MP_OK)
        for (size_t i = 0; i < file.chunk_count && !left; i++)
            left = read_marks(&file, i, NULL) == MP_OK && has_steps(file.marks);
    close_file(&file);
    return left;
}

/* ---- Marks ---- */

static enum mp_status read_chunk(struct marks_file *file, size_t chunk, const struct rate *rate,
                                 struct marks *marks, struct mp_error *error)
{
    struct marks_thread *thread = &marks->threads[marks->thread_count - 1];

    MP_TRY(read_marks(file, chunk, error));
    for (uint32_t i = 0; i < STEPS_CHUNK_MARKS && file->marks[i].kind; i++) {
        const struct steps_mark *left = &file->marks[i];
        struct mark *mark = &marks->items[marks->count++];

        thread->count++;
        *mark = (struct mark){ns_of(rate, left->time), left->name, left->domain, left->kind, 0};
        if (mark->kind == STEPS_ATTACHED && mark->time < marks->attached)
            marks->attached = mark->time;
    }
    return MP_OK;
}

static enum mp_status read_threads(struct marks_file *file, const struct rate *rate,
                                   struct marks *marks, struct mp_error *error)
{
    marks->items = calloc(file->chunk_count * STEPS_CHUNK_MARKS + 1, sizeof *marks->items);
    marks->threads = calloc(file->chunk_count + 1, sizeof *marks->threads);
    if (!marks->items || !marks->threads)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < file->chunk_count; i++) {
        const struct marks_chunk *chunk = &file->chunks[i];

        if (!i || chunk->thread != chunk[-1].thread)
            marks->threads[marks->thread_count++] =
                (struct marks_thread){.tid = chunk->thread, .items = &marks->items[marks->count]};
        MP_TRY(read_chunk(file, i, rate, marks, error));
    }
    return MP_OK;
}

/* ---- Ranges ---- */

/* The moments at which ranges of the profiler begin and end, of all threads. */
struct edges {
    struct range_edge {
        uint64_t time;
        bool start;
    } * items;
    size_t count, capacity;
};

MP_COMPARE(compare_edges, struct range_edge, MP_ORDER(a->time, b->time));

static enum mp_status find_edges(const struct marks *marks, struct edges *edges)
{
    for (size_t i = 0; i < marks->count; i++) {
        const struct mark *mark = &marks->items[i];

        if (mark->kind != STEPS_START && mark->kind != STEPS_STOP)
            continue;
        MP_TRY(MP_RESERVE(edges->items, edges->count, edges->capacity));
        edges->items[edges->count++] = (struct range_edge){mark->time, mark->kind == STEPS_START};
    }
    if (edges->count)
        qsort(edges->items, edges->count, sizeof *edges->items, compare_edges);
    return MP_OK;
}

static void set_ranges(struct marks_thread *thread, const struct edges *edges)
{
    uint32_t begun = 0;
    bool inside = false;

    for (size_t i = 0, edge = 0; i < thread->count; i++) {
        struct mark *mark = &thread->items[i];

        for (; edge < edges->count && edges->items[edge].time <= mark->time; edge++) {
            begun += edges->items[edge].start && !inside;
            inside = edges->items[edge].start;
        }
        bool ends = mark->kind == STEPS_STOP && begun;
        mark->range = !edges->count ? 1 : inside || ends ? begun : 0;
    }
}

static enum mp_status number_ranges(struct marks *marks)
{
    struct edges edges = {.items = NULL};
    enum mp_status status = find_edges(marks, &edges);

    for (size_t i = 0; i < marks->thread_count && !status; i++)
        set_ranges(&marks->threads[i], &edges);
    free(edges.items);
    return status;
}

enum mp_status marks_load(const char *path, struct marks *marks, struct mp_error *error)
{
    struct marks_file file;
    struct rate rate;
    enum mp_status status = open_marks(path, &file, error);

    *marks = (struct marks){.attached = UINT64_MAX};
    if (!status)
        status = find_rate(&file.header, &rate, error);
    if (!status) {
        marks->process = file.header.process;
        marks->full = atomic_load(&file.header.chunks) > STEPS_MAX_CHUNKS;
        status = read_threads(&file, &rate, marks, error);
    }
    if (!status && number_ranges(marks) != MP_OK)
        status = mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    close_file(&file);
    return status;
}

void marks_free(struct marks *marks)
{
    free(marks->items);
    free(marks->threads);
    *marks = (struct marks){.attached = UINT64_MAX};
}
