/* Writes the seeds of the fuzzers, tests/fuzz/corpus: small traces with all tables in them. Run
 * again when the format changes:
 *
 *     make build/obj/tests/unit/trace_fixture.o build/obj/libreader.a
 *     gcc -std=gnu17 -D_GNU_SOURCE -Iinclude -Isrc -Itests -o build/make_corpus
 * tests/fuzz/make_corpus.c \ build/obj/tests/unit/trace_fixture.o build/obj/libreader.a -lcmocka
 * -lzstd build/make_corpus tests/fuzz/corpus
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/trace_fixture.h"

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
    fd = create(argv[1], "empty.mpt");
    mp_writer_close(fixture_writer(fd, "", 0), NULL);
    close(fd);
    return 0;
}
