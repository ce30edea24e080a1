/* The layout of Python's objects: as Python 3.13 describes it, and the table of older versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "record/stacks/python_walk.h"

static uint64_t offsets[LAYOUT_DEBUG_BYTES / 8];

#define VERSION 0x030d00f0u

static void forge_offsets(void)
{
    static const uint64_t state[] = {616, 0, 8, 16, 72, 152, 160, 232, 32};
    static const uint64_t frame[] = {88, 8, 0, 56, 72, 70};
    static const uint64_t code[] = {208, 112, 120, 128, 136, 68, 52, 96, 104, 200};
    static const uint64_t object[] = {16, 8};

    memset(offsets, 0, sizeof(offsets));
    memcpy(offsets, "xdebugpy", 8);
    offsets[1] = VERSION;
    memcpy(offsets + 19, state, sizeof(state));
    memcpy(offsets + 28, frame, sizeof(frame));
    memcpy(offsets + 34, code, sizeof(code));
    memcpy(offsets + 44, object, sizeof(object));
}

static bool told(uint32_t version, struct python_layout *layout)
{
    const char *why;

    return layout_from_offsets(layout, offsets, sizeof(offsets), version, &why);
}

static void python_tells_its_layout(void **state)
{
    struct python_layout layout;
    const char *why;

    (void)state;
    forge_offsets();
    assert_true(told(VERSION, &layout));
    assert_int_equal(layout.state_frame, 72);
    assert_int_equal(layout.previous, 8);
    assert_int_equal(layout.instruction, 56);
    assert_int_equal(layout.owner, 70);
    assert_int_equal(layout.name, 128);
    assert_int_equal(layout.first_line, 68);
    assert_int_equal(layout.version, 92);
    assert_int_equal(layout.traceable, 184);
    assert_false(told(VERSION + 0x100, &layout));
    assert_false(told(0x030d00a1, &layout));
    offsets[1] = 0x030f00f0;
    assert_false(told(0x030f00f0, &layout)); /* later than what is known */
    forge_offsets();
    offsets[45] = 16;
    assert_false(told(VERSION, &layout));
    forge_offsets();
    offsets[43] = 1u << 20;
    assert_false(told(VERSION, &layout));
    forge_offsets();
    offsets[2] = 1;
    assert_false(layout_from_offsets(&layout, offsets, sizeof(offsets), VERSION, &why));
    assert_string_equal(why, "is free-threaded");
    forge_offsets();
    assert_false(layout_from_offsets(&layout, offsets, 256, VERSION, &why));
}

/* Whether it is believed when one word is another. */
static bool told_with(size_t word, uint64_t value)
{
    struct python_layout layout;

    forge_offsets();
    offsets[word] = value;
    return told(VERSION, &layout);
}

/* A field whose end is not shown to be mapped is refused: in 128 bytes of a thread state, 112 of a
 * frame, and the bytes of a code object, of which there are 256 at most. */
static void fields_lie_in_what_is_shown(void **state)
{
    static const struct {
        size_t word;
        uint64_t max;
    } fields[] = {{23, 120}, {29, 104}, {30, 104}, {31, 104}, {33, 111},
                  {35, 192}, {37, 192}, {38, 192}, {39, 196}, {43, 256}};

    (void)state;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        assert_true(told_with(fields[i].word, fields[i].max));
        assert_false(told_with(fields[i].word, fields[i].max + 1));
    }
    assert_false(told_with(43, 15));
    assert_false(told_with(43, 140)); /* the name and the table end behind it */
}

/* The version stands before the names of variables: here the last four bytes, and beyond. */
static void a_version_lies_in_the_code_object(void **state)
{
    struct python_layout layout;

    (void)state;
    for (uint64_t beyond = 0; beyond <= 4; beyond += 4) {
        forge_offsets();
        offsets[39] = 172 + beyond;
        offsets[41] = 172 + beyond + 28;
        assert_int_equal(told(VERSION, &layout), beyond == 0);
    }
}

/* And so it is with the tables of old versions. */
static void fields_of_old_versions_lie_in_what_is_shown(void **state)
{
    (void)state;
    for (unsigned minor = 8; minor <= 12; minor++) {
        const struct python_layout *of = layout_of(minor);

        assert_in_range(of->bytes, 0, 256);
        assert_in_range(of->table, 0, of->bytes - 8u);
        assert_in_range(of->state_frame, 0, 128 - 8);
        assert_in_range(of->previous, 0, 112 - 8);
        assert_in_range(of->instruction, 0, of->objects ? 112 - 4 : 112 - 8);
        assert_true(of->version == LAYOUT_NONE || of->version + 4u <= of->bytes);
        assert_true(of->owner == LAYOUT_NONE || of->owner < 112);
    }
}

static void old_versions_have_a_table(void **state)
{
    (void)state;
    assert_null(layout_of(7));
    assert_true(layout_of(8)->objects);
    assert_int_equal(layout_of(10)->lines, LINE_TABLE_RANGES);
    assert_int_equal(layout_of(12)->version, 92);
    assert_null(layout_of(13));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_tells_its_layout),
        cmocka_unit_test(fields_lie_in_what_is_shown),
        cmocka_unit_test(a_version_lies_in_the_code_object),
        cmocka_unit_test(old_versions_have_a_table),
        cmocka_unit_test(fields_of_old_versions_lie_in_what_is_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
