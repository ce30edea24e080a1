/* Writes tests/fuzz/corpus/traces, with which the fuzzers of traces begin: small traces with all
 * tables in them. Run again when the format changes:
 *
 *     make build/obj/tests/unit/{trace_fixture,deps/deps_fixture}.o build/obj/libreader.a
 *     gcc -std=gnu17 -D_GNU_SOURCE -Iinclude -Isrc -Itests -o build/make_corpus \
 *         tests/fuzz/make_corpus.c build/obj/tests/unit/{trace_fixture,deps/deps_fixture}.o \
 *         build/obj/libreader.a -lcmocka -lzstd -lstdc++ -lm
 *     build/make_corpus tests/fuzz/corpus/traces
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/deps/deps_fixture.h"

static int create(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

/* A chunk of each table with numbers of one kind. */
static void write_all_tables(int fd, enum fixture_shape shape, uint32_t count)
{
    struct mp_writer *writer = fixture_writer(fd, FIXTURE_HEADER, 0);
    size_t table_count;
    const struct mp_table_info *tables = mp_tables(&table_count);
    for (size_t t = 0; t < table_count; t++) {
        struct fixture_rows rows;
        fixture_rows_make(&rows, &tables[t], count, shape, t);
        for (uint32_t i = 0; i < count; i++)
            fixture_append(writer, &rows, i);
        fixture_rows_free(&rows);
    }
    mp_writer_close(writer, NULL);
    close(fd);
}

/* Streams, events, a graph, iterations: what the dependency analysis looks at. */
static void write_dependencies(int fd)
{
    scene_begin();
    put_stream_flag(7, MP_stream_flag_null);
    put_launch(8, "a", 10, 15, 60, 1);
    put_record(8, 0xe1, 16, 2);
    put_wait(9, 0xe1, 18, 3);
    put_launch(9, "b", 20, 63, 90, 4);
    put_copy(7, MP_copy_kind_HtoD, PAGEABLE, 92, 95, 5);
    put_call(1, "cudaMemcpy", 30, 97, 5);
    put_call(1, "cudaGraphLaunch", 100, 110, 6);
    put_sync(MP_sync_kind_graph_launch, 1, 9, 0, 100, 110, 6);
    put_node(9, "n1", 5, 1, 112, 120, 6);
    put_node(10, "n2", 5, 2, 121, 140, 6);
    put_edge(5, 1, 3);
    put_edge(5, 3, 2);
    put_stream_sync(9, 115, 143, 7);
    put_call(2, "cudaFree", 105, 145, 8);
    put_call(2, "cuMemFree", 106, 110, 9);
    put_sync(MP_sync_kind_event_query, 2, NO_STREAM, 0xe1, 150, 160, 10);
    put_graph(8, 6, 155, 170, 11);
    put_nvtx_range("it", 10, 100);
    put_nvtx_range("it", 100, 150);
    put_range(1, 10, 98, 1, 6);
    put_range(2, 99, 165, 6, 12);
    scene_write(fd);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_corpus FOLDER\n");
        return 2;
    }
    int fd = create(argv[1], "small.mpt");
    fixture_small_trace(fd);
    close(fd);
    write_all_tables(create(argv[1], "counting.mpt"), FIXTURE_COUNTING, 7);
    write_all_tables(create(argv[1], "noise.mpt"), FIXTURE_NOISE, 5);
    write_all_tables(create(argv[1], "extreme.mpt"), FIXTURE_EXTREME, 6);
    fd = create(argv[1], "dependencies.mpt");
    write_dependencies(fd);
    close(fd);
    fd = create(argv[1], "empty.mpt");
    mp_writer_close(fixture_writer(fd, "", 0), NULL);
    close(fd);
    return 0;
}
