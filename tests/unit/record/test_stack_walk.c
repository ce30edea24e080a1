/* Walks through frames that were forged: in order, and damaged in every way that a layout of
 * another build or an overwritten frame could have. The frames are those of CPython 3.11, where
 * functions have no version, and of 3.12, where they have one. Each test runs as in a call, and as
 * in a signal handler. The short part has the first 2,000 of 20,000 rounds of random words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/stacks/python_walk.h"
#include "unit/sweep.h"

#define FRAMES 5u

/* One page each, with an unmapped one behind, so that a load too far ends the test. */
static char *pages[4];
static struct walk *walk;
static struct python python;
static struct stack_store store;
static struct code_arena arena;
static bool in_handler;
static const struct python_layout *forged; /* of what is in the pages */

enum { PAGE_STATE, PAGE_FRAMES, PAGE_CODES, PAGE_TEXTS };

#define PAGE_BYTES 4096u
#define FRAME_ROOM 128u
#define CODE_ROOM  256u
#define TEXT_ROOM  64u
#define TABLE_AT   1024u
#define CODE_TYPE  0x5550000u

static void put(char *at, size_t offset, uintptr_t value)
{
    memcpy(at + offset, &value, sizeof(value));
}

static char *frame_at(unsigned i)
{
    return pages[PAGE_FRAMES] + (size_t)i * FRAME_ROOM;
}

static char *code_at(unsigned i)
{
    return pages[PAGE_CODES] + (size_t)i * CODE_ROOM;
}

static char *text_at(unsigned i)
{
    return pages[PAGE_TEXTS] + (size_t)i * TEXT_ROOM;
}

/* "f0" and so on, as a compact string of ASCII. */
static void forge_text(char *at, char letter, unsigned number)
{
    memset(at, 0, TEXT_ROOM);
    put(at, LAYOUT_SIZE, 2);
    put(at, LAYOUT_TEXT_STATE, 1u << 2 | 1u << 5 | 1u << 6);
    at[forged->ascii] = letter;
    at[forged->ascii + 1] = (char)('0' + number);
}

static void put_number(char *at, size_t offset, uint32_t value)
{
    memcpy(at + offset, &value, sizeof(value));
}

/* Its version is `i` + 1, if functions have one. */
static void forge_code(unsigned i)
{
    char *code = code_at(i);

    memset(code, 0, CODE_ROOM);
    put(code, LAYOUT_TYPE, CODE_TYPE);
    put_number(code, forged->first_line, 100 * (i + 1));
    put(code, forged->file, (uintptr_t)text_at(FRAMES));
    put(code, forged->name, (uintptr_t)text_at(i));
    put(code, forged->table, (uintptr_t)pages[PAGE_TEXTS] + TABLE_AT);
    if (forged->version != LAYOUT_NONE)
        put_number(code, forged->version, i + 1);
}

/* Frame 0 is the innermost; each stands at the instruction at byte 2 i. */
static void forge_frame(unsigned i)
{
    char *frame = frame_at(i);

    memset(frame, 0, FRAME_ROOM);
    put(frame, forged->code, (uintptr_t)code_at(i));
    put(frame, forged->previous, i + 1 < FRAMES ? (uintptr_t)frame_at(i + 1) : 0);
    put(frame, forged->instruction, (uintptr_t)code_at(i) + forged->bytes + 2 * (uintptr_t)i);
}

static int forge(void **state)
{
    char *table = pages[PAGE_TEXTS] + TABLE_AT;

    (void)state;
    walk = calloc(1, sizeof(*walk));
    walk->pages.pid = getpid();
    if (in_handler) {
        assert_true(code_arena_open(&arena));
        arena.used = 0;
        walk->pages.copies = true;
        walk->codes.arena = &arena;
    }
    store_open(&store);
    python = (struct python){.layout = *forged, .code_type = CODE_TYPE};
    memset(pages[PAGE_STATE], 0, PAGE_BYTES);
    put(pages[PAGE_STATE], forged->state_frame, (uintptr_t)pages[PAGE_STATE] + 512);
    put(pages[PAGE_STATE] + 512, forged->inner_frame, (uintptr_t)frame_at(0));
    put(table, LAYOUT_SIZE, 4);
    memset(table + LAYOUT_BYTES_DATA, 0x8f, 4);
    for (unsigned i = 0; i < FRAMES; i++) {
        forge_text(text_at(i), 'f', i);
        forge_code(i);
        forge_frame(i);
    }
    forge_text(text_at(FRAMES), 'm', 0);
    return 0;
}

static int release(void **state)
{
    (void)state;
    free(walk);
    code_arena_close(&arena);
    store_close(&store);
    return 0;
}

static uint32_t take(void)
{
    return walk_python(walk, &python, in_handler ? NULL : &store, (uintptr_t)pages[PAGE_STATE]);
}

/* The store's number of a function on the stack. */
static uint32_t code_of(unsigned place)
{
    uint32_t number = PLACE_CODE(walk->places[place]);

    return in_handler ? code_arena_number(&arena, &store, number) : number;
}

static void all_frames_are_found(void **state)
{
    (void)state;
    assert_int_equal(take(), FRAMES);
    assert_false(walk->broken);
    for (unsigned i = 0; i < FRAMES; i++) {
        const struct stored_code *code = store_code_get(&store, code_of(i));

        assert_int_equal(PLACE_OFFSET(walk->places[i]), 2 * i);
        assert_int_equal(code->first_line, 100 * (i + 1));
        assert_int_equal(code->table_bytes, 4);
        assert_memory_equal((const char *)(code + 1), text_at(i) + forged->ascii, 2);
        assert_memory_equal((const char *)(code + 1) + 2, "m0", 2);
    }
    assert_int_equal(take(), FRAMES);
}

static void no_frame_is_no_stack(void **state)
{
    (void)state;
    put(pages[PAGE_STATE] + 512, forged->inner_frame, 0);
    assert_int_equal(take(), 0);
    assert_false(walk->broken);
    put(pages[PAGE_STATE], forged->state_frame, 0);
    assert_int_equal(take(), 0);
}

/* Where a pointer leads nowhere, the walk ends as broken, and nothing is loaded from there. */
static void no_wild_pointer_is_followed(void **state)
{
    const uintptr_t wild[] = {8, 0x1001, (uintptr_t)pages[PAGE_FRAMES] + PAGE_BYTES, UINT64_MAX,
                              UINT64_MAX / 2};
    const size_t fields[] = {forged->code, forged->previous};

    (void)state;
    for (size_t i = 0; i < sizeof(wild) / sizeof(wild[0]); i++)
        for (size_t f = 0; f < 2; f++) {
            forge_frame(2);
            take();
            put(frame_at(2), fields[f], wild[i]);
            take();
            assert_true(walk->broken);
        }
    put(frame_at(2), forged->previous,
        (uintptr_t)pages[PAGE_FRAMES] + PAGE_BYTES - 16); /* half a frame */
    take();
    assert_true(walk->broken);
}

static void a_circle_ends(void **state)
{
    (void)state;
    put(frame_at(FRAMES - 1), forged->previous, (uintptr_t)frame_at(0));
    assert_int_equal(take(), WALK_DEPTH + 1);
    assert_int_equal(PLACE_CODE(walk->places[WALK_DEPTH]), CODE_CUT);
    for (unsigned i = 0; i < FRAMES; i++) /* of frames that are no function's */
        frame_at(i)[forged->owner] = 3;
    assert_int_equal(take(), 0);
    assert_true(walk->broken);
}

/* A frame that is being made is not there yet, unless it is a generator's. */
static void a_frame_that_has_not_begun_is_left_out(void **state)
{
    (void)state;
    put_number(code_at(1), forged->traceable, 2);
    assert_int_equal(take(), FRAMES - 1);
    frame_at(1)[forged->owner] = 1;
    assert_int_equal(take(), FRAMES);
}

static void what_is_no_function_is_left_out(void **state)
{
    (void)state;
    put(code_at(1), LAYOUT_TYPE, CODE_TYPE + 64);
    assert_int_equal(take(), FRAMES - 1);
    put(code_at(1), LAYOUT_TYPE, CODE_TYPE);
    assert_int_equal(take(), FRAMES);
}

/* Every part of a function that a stack tells of; the address is the same. */
static void another_function_at_an_address_is_noticed(void **state)
{
    char *table = pages[PAGE_TEXTS] + TABLE_AT;
    uint32_t before;

    (void)state;
    take();
    before = code_of(1);
    put_number(code_at(1), forged->first_line, 77);
    take();
    assert_int_not_equal(code_of(1), before);
    forge_code(1);
    take();
    assert_int_equal(code_of(1), before);
    put(code_at(1), forged->name, (uintptr_t)text_at(3));
    take();
    assert_int_not_equal(code_of(1), before);
    forge_code(1);
    table[LAYOUT_BYTES_DATA + 2] = 1; /* in its middle: same address, same size */
    take();
    assert_int_not_equal(code_of(1), before);
    table[LAYOUT_BYTES_DATA + 2] = (char)0x8f;
    take();
    assert_int_equal(code_of(1), before);
}

/* A function that was freed, and another one that has its memory, and that of its texts and its
 * table: only the version says so. */
static void another_version_at_an_address_is_another_function(void **state)
{
    const struct stored_code *code;
    uint32_t before;

    (void)state;
    take();
    before = code_of(1);
    forge_text(text_at(1), 'g', 7);
    put_number(code_at(1), forged->version, 77);
    assert_int_equal(take(), FRAMES);
    assert_int_not_equal(code_of(1), before);
    code = store_code_get(&store, code_of(1));
    assert_memory_equal((const char *)(code + 1), "g7", 2);
    forge_text(text_at(1), 'f', 1);
    put_number(code_at(1), forged->version, 78);
    take();
    assert_int_equal(code_of(1), before);
}

/* Python has run out of versions: then functions are compared as those without. */
static void functions_without_a_version_are_compared_by_their_parts(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FRAMES; i++)
        put_number(code_at(i), forged->version, 0);
    take();
    put_number(code_at(1), forged->first_line, 77);
    take();
    assert_int_equal(store_code_get(&store, code_of(1))->first_line, 77);
    put(pages[PAGE_TEXTS] + TABLE_AT, LAYOUT_SIZE, 3);
    take();
    assert_int_equal(store_code_get(&store, code_of(1))->table_bytes, 3);
}

/* Another function in its place, if it is by its version that it is known. */
static void renew_code(unsigned i)
{
    if (forged->version != LAYOUT_NONE)
        put_number(code_at(i), forged->version,
                   load_number((uintptr_t)code_at(i) + forged->version) + 100);
}

/* A compact string with so many bytes a character, far from the other texts; its name is that of
 * function 1. */
static void forge_wide_name(const void *characters, size_t count, unsigned size)
{
    char *at = pages[PAGE_TEXTS] + 2048;

    memset(at, 0, 2048);
    put(at, LAYOUT_SIZE, count);
    put(at, LAYOUT_TEXT_STATE, size << 2 | 1u << 5);
    memcpy(at + forged->wide, characters, count * size);
    put(code_at(1), forged->name, (uintptr_t)at);
    put_number(code_at(1), forged->first_line, size); /* another function */
    renew_code(1);
}

static void name_is(const char *expected)
{
    const struct stored_code *code;

    take();
    code = store_code_get(&store, code_of(1));
    assert_int_equal(code->name_bytes, strlen(expected));
    assert_memory_equal((const char *)(code + 1), expected, strlen(expected));
    assert_memory_equal((const char *)(code + 1) + code->name_bytes, "m0", 2);
}

/* The smallest and the largest character of each length. */
static void names_are_stored_as_utf8(void **state)
{
    static const uint8_t one[] = {0x7f, 0x80, 0xff};
    static const uint16_t two[] = {0x7ff, 0x800, 0xffff, 0x80};
    static const uint32_t four[] = {0xffff, 0x10000, 0x10ffff, 0x7f};

    (void)state;
    forge_wide_name(one, 3, 1);
    name_is("\x7f\xc2\x80\xc3\xbf");
    forge_wide_name(two, 4, 2);
    name_is("\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xc2\x80");
    forge_wide_name(four, 4, 4);
    name_is("\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\x7f");
}

/* The end of a long name says more than its beginning. */
static void of_a_long_name_the_end_is_kept(void **state)
{
    char name[1100];

    (void)state;
    memset(name, 'a', sizeof(name));
    memset(name + sizeof(name) - 1023, 'z', 1023);
    forge_wide_name(name, sizeof(name), 1);
    take();
    assert_int_equal(store_code_get(&store, code_of(1))->name_bytes, 1023);
    assert_memory_equal((const char *)(store_code_get(&store, code_of(1)) + 1),
                        name + sizeof(name) - 1023, 1023);
}

/* Sizes that lie: nothing is read beyond what is there, and the function has no such part. */
static void sizes_are_not_believed(void **state)
{
    char *table = pages[PAGE_TEXTS] + TABLE_AT;

    (void)state;
    put(text_at(0), LAYOUT_SIZE, UINT64_MAX);
    assert_int_equal(take(), FRAMES);
    assert_int_equal(store_code_get(&store, code_of(0))->name_bytes, 0);
    put(table, LAYOUT_SIZE, PAGE_BYTES);
    renew_code(0);
    take();
    assert_true(walk->broken);
    put(table, LAYOUT_SIZE, UINT64_MAX);
    take();
    assert_true(walk->broken);
}

/* What was mapped may be unmapped: believed for MEMORY_TRUST walks, and not longer. */
static void pages_are_shown_again(void **state)
{
    char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(page, MAP_FAILED);
    memcpy(page, frame_at(1), FRAME_ROOM);
    put(frame_at(0), forged->previous, (uintptr_t)page);
    assert_int_equal(take(), FRAMES);
    put(frame_at(0), forged->previous, 0);
    munmap(page, PAGE_BYTES);
    while (walk->count % MEMORY_TRUST != MEMORY_TRUST - 1)
        assert_int_equal(take(), 1);
    put(frame_at(0), forged->previous, (uintptr_t)page);
    assert_int_equal(take(), 1);
    assert_true(walk->broken);
}

/* A handler believes nothing: what it meets may be gone at once. */
static void a_handler_sees_that_pages_are_gone(void **state)
{
    char *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *code = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(page != MAP_FAILED && code != MAP_FAILED);
    memcpy(page, frame_at(1), FRAME_ROOM);
    memcpy(code, code_at(1), CODE_ROOM);
    put(page, forged->code, (uintptr_t)code);
    put(page, forged->instruction, (uintptr_t)code + forged->bytes);
    put(frame_at(0), forged->previous, (uintptr_t)page);
    assert_int_equal(take(), FRAMES);
    munmap(code, PAGE_BYTES);
    assert_int_equal(take(), 1);
    assert_true(walk->broken);
    munmap(page, PAGE_BYTES);
    assert_int_equal(take(), 1);
    assert_true(walk->broken);
}

/* Long line tables count with their ends; these are compared, and nothing in between. */
static void a_handler_compares_long_tables(void **state)
{
    const size_t bytes = (size_t)3 * PAGE_BYTES;
    char *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t before;

    (void)state;
    assert_ptr_not_equal(table, MAP_FAILED);
    put(table, LAYOUT_SIZE, bytes - LAYOUT_BYTES_DATA);
    put(code_at(1), forged->table, (uintptr_t)table);
    assert_int_equal(take(), FRAMES);
    before = PLACE_CODE(walk->places[1]);
    take();
    assert_int_equal(PLACE_CODE(walk->places[1]), before);
    table[bytes - 1] = 1;
    take();
    assert_int_not_equal(PLACE_CODE(walk->places[1]), before);
    munmap(table, bytes);
}

static void fewer_frames_may_be_asked_for(void **state)
{
    (void)state;
    walk->max = 2;
    assert_int_equal(take(), 3);
    assert_int_equal(PLACE_CODE(walk->places[2]), CODE_CUT);
    walk->max = FRAMES;
    assert_int_equal(take(), FRAMES);
}

/* Without room a function has no number, and nothing is written. */
static void an_arena_that_is_full_takes_nothing(void **state)
{
    (void)state;
    arena.used = CODE_ARENA_BYTES - 32;
    assert_int_equal(take(), FRAMES);
    for (unsigned i = 0; i < FRAMES; i++)
        assert_int_equal(PLACE_CODE(walk->places[i]), 0);
    assert_int_equal(arena.used, CODE_ARENA_BYTES - 32);
}

/* Puts a function of this number, with a table of so many bytes. Its number; 0: lost. */
static uint32_t store_one(uint32_t i, uint32_t table_bytes)
{
    static struct {
        struct stored_code code;
        char texts[65536];
    } one;

    one.code = (struct stored_code){
        .first_line = i, .name_bytes = 8, .file_bytes = 8, .table_bytes = table_bytes};
    memset(one.texts, 'x', 16 + table_bytes);
    return store_code(&store, &one.code);
}

/* So many functions with great tables have no room: those that come then have no lines, but names.
 * The lines of those that are there stay. When names have no room either, that is counted. */
static void a_full_store_keeps_names_before_it_loses_functions(void **state)
{
    const uint32_t table_bytes = 40000;
    uint32_t with_table = 0, count = 0;

    (void)state;
    while (count < 400) {
        const struct stored_code *code = store_code_get(&store, store_one(++count, table_bytes));

        assert_non_null(code);
        assert_int_equal(code->first_line, count);
        assert_int_equal(code->name_bytes, 8);
        with_table += code->table_bytes == table_bytes;
        assert_int_equal(code->lines, code->table_bytes ? LINE_TABLE_PAIRS : LINE_TABLE_NONE);
    }
    /* What is left over of the blocks of 64 KiB counts too. */
    assert_in_range(with_table, (7u << 20) / 65536, (7u << 20) / table_bytes);
    assert_int_equal(store_one(1, table_bytes), 1);
    assert_int_equal(store_one(400, table_bytes), 400);
    assert_int_equal(store.lost, 0);
    while (store_one(++count, table_bytes))
        assert_in_range(count, 400, 1u << 20);
    assert_int_equal(store.lost, 1);
    assert_int_equal(store_one(400, table_bytes), 400);
    assert_int_equal(store.lost, 1);
}

/* The same numbers each time. */
static uint64_t seed;

static unsigned next(void)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (unsigned)(seed >> 33);
}

/* Random words in all four pages. */
static void any_words_are_survived(void **state)
{
    (void)state;
    seed = 11;
    for (unsigned round = sweep(20000, 2000); round-- > 0;) {
        unsigned damages = 1 + next() % 4;

        release(NULL);
        forge(NULL);
        take();
        while (damages--) {
            char *page = pages[next() % 4];
            uintptr_t value = (uintptr_t)next() << 33 ^ (uintptr_t)next();

            if (next() % 2)
                value = (uintptr_t)pages[next() % 4] + (uintptr_t)next() % PAGE_BYTES;
            put(page, (size_t)next() % (2048 / 8) * 8, value);
        }
        take();
        assert_true(take() <= WALK_DEPTH + 1);
    }
}

static bool map_pages(void)
{
    for (unsigned i = 0; i < 4; i++) {
        pages[i] = mmap(NULL, 2 * (size_t)PAGE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages[i] == MAP_FAILED || munmap(pages[i] + PAGE_BYTES, PAGE_BYTES) != 0)
            return false;
    }
    return true;
}

#define FORGED(test) cmocka_unit_test_setup_teardown(test, forge, release)

#define WALKS                                                                                      \
    FORGED(all_frames_are_found), FORGED(no_frame_is_no_stack),                                    \
        FORGED(no_wild_pointer_is_followed), FORGED(a_circle_ends),                                \
        FORGED(a_frame_that_has_not_begun_is_left_out), FORGED(what_is_no_function_is_left_out),   \
        FORGED(names_are_stored_as_utf8), FORGED(of_a_long_name_the_end_is_kept),                  \
        FORGED(sizes_are_not_believed), FORGED(fewer_frames_may_be_asked_for),                     \
        FORGED(any_words_are_survived)
#define WITHOUT_VERSIONS FORGED(another_function_at_an_address_is_noticed)
#define WITH_VERSIONS                                                                              \
    FORGED(another_version_at_an_address_is_another_function),                                     \
        FORGED(functions_without_a_version_are_compared_by_their_parts)
#define IN_A_CALL                                                                                  \
    FORGED(pages_are_shown_again), FORGED(a_full_store_keeps_names_before_it_loses_functions)
#define IN_A_HANDLER                                                                               \
    FORGED(a_handler_sees_that_pages_are_gone), FORGED(an_arena_that_is_full_takes_nothing)

static int in_a_call(void)
{
    const struct CMUnitTest of_3_11[] = {WALKS, WITHOUT_VERSIONS, IN_A_CALL};
    const struct CMUnitTest of_3_12[] = {WALKS, WITH_VERSIONS, IN_A_CALL};
    int failed;

    forged = layout_of(11);
    failed = cmocka_run_group_tests_name("walks through frames of 3.11", of_3_11, NULL, NULL);
    forged = layout_of(12);
    return failed +
           cmocka_run_group_tests_name("walks through frames of 3.12", of_3_12, NULL, NULL);
}

static int in_a_signal_handler(void)
{
    const struct CMUnitTest of_3_11[] = {WALKS, WITHOUT_VERSIONS, IN_A_HANDLER,
                                         FORGED(a_handler_compares_long_tables)};
    const struct CMUnitTest of_3_12[] = {WALKS, WITH_VERSIONS, IN_A_HANDLER};
    int failed;

    in_handler = true;
    forged = layout_of(11);
    failed = cmocka_run_group_tests_name("in a signal handler, of 3.11", of_3_11, NULL, NULL);
    forged = layout_of(12);
    return failed +
           cmocka_run_group_tests_name("in a signal handler, of 3.12", of_3_12, NULL, NULL);
}

int main(void)
{
    return map_pages() ? in_a_call() + in_a_signal_handler() : 1;
}
