/* What of a trace gets into a page: escaping of documents, and the columns of the time line, read
 * back by a reader of their own and compared with what the graph says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/storage.h"
#include "page/page.h"
#include "page/timeline.h"
#include "reports/deps/lookup.h"
#include "unit/deps/deps_fixture.h"

#define MANY 1000000

/* ---- Escaping ---- */

static char *written;
static size_t written_bytes;

static FILE *begin_text(void)
{
    free(written);
    written = NULL;
    return open_memstream(&written, &written_bytes);
}

static const char *json(const char *text)
{
    FILE *out = begin_text();

    html_put_json(out, text, strlen(text));
    fclose(out);
    return written;
}

static void markup_in_documents_is_escaped(void **state)
{
    (void)state;
    assert_string_equal(json("{\"a\": \"</script><img src=x onerror=alert(1)>&amp;\"}"),
                        "{\"a\": \"\\u003c/script\\u003e\\u003cimg src=x onerror=alert(1)\\u003e"
                        "\\u0026amp;\"}");
    assert_string_equal(json("[\"<!--\", \"]]>\"]"), "[\"\\u003c!--\", \"]]\\u003e\"]");
}

/* As they are, and as the printers escape them; what is escaped and harmless stays. */
static void what_acts_is_no_part_of_a_page(void **state)
{
    (void)state;
    assert_string_equal(json("\"\xe2\x80\xa8-\xe2\x80\xae-\xc2\x9b-\xf3\xa0\x81\x81<\""),
                        "\"?-?-?-?\\u003c\"");
    assert_string_equal(json("\"\\u2028-\\u202E-\\u001b-\\udb40\\udc41-\\u007f\""),
                        "\"?-?-?-?-?\"");
    assert_string_equal(json("\"\\n\\t\\u00e9\\ud83d\\ude00\\ufffd\\ud800x\\u12\""),
                        "\"\\n\\t\\u00e9\\ud83d\\ude00\\ufffd\\ud800x\\u12\"");
}

/* What was escaped before stays so, and does not end the string. */
static void quotes_and_backslashes_stay(void **state)
{
    (void)state;
    assert_string_equal(json("{\"a\\\"<\": \"\\\\\", \"b\": \"<\"}"),
                        "{\"a\\\"\\u003c\": \"\\\\\", \"b\": \"\\u003c\"}");
}

/* 2^53 is 9007199254740992, of 16 digits. In strings digits are no numbers. */
static void numbers_that_a_script_cannot_hold_become_strings(void **state)
{
    (void)state;
    assert_string_equal(json("[999999999999999, 1000000000000000, 18446744073709551615]"),
                        "[999999999999999, \"1000000000000000\", \"18446744073709551615\"]");
    assert_string_equal(json("[-12, 0.25, 1e21, 1.5e-07, 12345678901234567.5, -1.5]"),
                        "[-12, 0.25, 1e21, 1.5e-07, 12345678901234567.5, -1.5]");
    assert_string_equal(json("{\"12345678901234567\": \"98765432109876543\"}"),
                        "{\"12345678901234567\": \"98765432109876543\"}");
}

static void indentation_is_left_out_and_blanks_in_strings_stay(void **state)
{
    (void)state;
    assert_string_equal(json("{\n    \"a  b\": true\n}"), "{\n \"a  b\": true\n}");
}

/* No text, however it is cut, may leave a character that a page must not have. */
static void cut_documents_have_no_markup_either(void **state)
{
    static const char text[] = "{\"a\\\\\": [\"<\\\"\xe2\x80\xa8>\", 12345678901234567890, -3]}";

    (void)state;
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        FILE *out = begin_text();

        html_put_json(out, text, bytes);
        fclose(out);
        assert_null(strpbrk(written, "<>&"));
    }
}

static const char *base64(const char *text)
{
    FILE *out = begin_text();

    html_put_base64(out, (const uint8_t *)text, strlen(text));
    fclose(out);
    return written;
}

/* The vectors of RFC 4648, section 10. */
static void bytes_are_base64(void **state)
{
    (void)state;
    assert_string_equal(base64(""), "");
    assert_string_equal(base64("f"), "Zg==");
    assert_string_equal(base64("fo"), "Zm8=");
    assert_string_equal(base64("foo"), "Zm9v");
    assert_string_equal(base64("foob"), "Zm9vYg==");
    assert_string_equal(base64("fooba"), "Zm9vYmE=");
    assert_string_equal(base64("foobar"), "Zm9vYmFy");
    assert_string_equal(base64("\xfb\xff\xbe"), "+/++");
}

/* ---- The columns ---- */

/* An event as a reader of the page sees it. */
struct decoded {
    uint64_t begin, duration, kind, critical, waiting;
    int64_t launch, bound; /* -1: none */
    uint64_t caller;
    unsigned flags;
};

static struct timeline line;
static struct html_kinds kinds;
static struct mp_buffer blob;
static struct deps_result result;
static uint64_t *critical;
static struct decoded *decoded;

static uint64_t next(const uint8_t **at)
{
    uint64_t value = 0;

    assert_true(mp_varint_get(at, blob.data + blob.size, &value));
    return value;
}

static void decode_facts(const uint8_t **at, const struct timeline_track *track)
{
    int64_t before = 0;
    struct decoded *events = decoded + track->first;

    for (uint32_t i = 0; i < track->count; i++)
        events[i].flags = *(*at)++;
    for (uint32_t i = 0; track->kind == TIMELINE_WORK && i < track->count; i++) {
        uint64_t number = next(at);

        if (number)
            events[i].launch = before += mp_zigzag_decode(number - 1);
    }
    for (uint32_t i = 0; i < track->count; i++) {
        unsigned reason = events[i].flags & HTML_REASON;

        if (events[i].flags & HTML_BOUND)
            events[i].bound = track->first + i + mp_zigzag_decode(next(at));
        else if (reason == DEPS_LAUNCH)
            events[i].bound = events[i].launch;
        else if (reason && i)
            events[i].bound = track->first + i - 1;
    }
    for (uint32_t i = 0; i < track->count; i++) {
        if (events[i].flags & HTML_CRITICAL_PART)
            events[i].critical = next(at);
        else if (events[i].flags & HTML_CRITICAL_WHOLE)
            events[i].critical = events[i].duration;
    }
    for (uint32_t i = 0; i < track->count; i++) {
        if (events[i].flags & HTML_WAITS)
            events[i].waiting = next(at);
    }
    for (uint32_t i = 0; line.caller && i < track->count; i++)
        events[i].caller = next(at);
}

static void decode_levels(const uint8_t **at, const struct timeline_track *track)
{
    struct timeline_group groups[512];
    uint64_t *sums = calloc(line.name_count + 1, sizeof *sums);

    for (unsigned level = 1; level <= timeline_levels_of(track->count); level++) {
        uint32_t count = timeline_groups_at(track->count, level);

        assert_true(count <= 512);
        timeline_level_fill(&line, track, level, sums, groups);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(next(at), groups[i].end - groups[i].begin - groups[i].busy);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(next(at), groups[i].name);
    }
    free(sums);
}

static void decode(void)
{
    const uint8_t *at = blob.data;

    decoded = calloc(line.event_count + 1, sizeof *decoded);
    for (size_t i = 0; i < line.event_count; i++)
        decoded[i].launch = decoded[i].bound = -1;
    for (size_t i = 0; i < line.track_count; i++) {
        const struct timeline_track *track = &line.tracks[i];
        struct decoded *events = decoded + track->first;
        uint64_t time = line.origin;

        for (uint32_t event = 0; event < track->count; event++)
            events[event].begin = time += next(&at);
        for (uint32_t event = 0; event < track->count; event++)
            events[event].duration = next(&at);
        for (uint32_t event = 0; event < track->count; event++)
            events[event].kind = next(&at);
        if (track->kind != TIMELINE_RANGES)
            decode_facts(&at, track);
        decode_levels(&at, track);
    }
    assert_ptr_equal(at, blob.data + blob.size);
}

static void load(void)
{
    struct timeline_options options = {.max = MANY};
    struct mp_error error;

    scene_load();
    assert_int_equal(timeline_build(&line, scene.trace, &scene.deps, &options, &error), MP_OK);
    assert_int_equal(html_kinds_build(&kinds, &line), MP_OK);
    assert_int_equal(deps_result_init(&scene.deps, &result), MP_OK);
    critical = calloc((size_t)scene.deps.count + 1, sizeof *critical);
    for (size_t i = 0; i < scene.windows.count; i++)
        deps_path(&scene.deps, &scene.windows.items[i], &result, critical);
    blob = (struct mp_buffer){.data = NULL};
    assert_int_equal(html_timeline_pack(&blob, &line, &scene.deps, &kinds, critical), MP_OK);
    decode();
}

static void end(enum scene_soundness soundness)
{
    free(decoded);
    free(critical);
    mp_buffer_free(&blob);
    deps_result_free(&result);
    html_kinds_free(&kinds);
    timeline_free(&line);
    scene_end(soundness);
}

static const char *name_of(int64_t event)
{
    const struct timeline_kind *kind;

    if (event < 0)
        return "-";
    kind = &line.kinds[kinds.order[decoded[event].kind]];
    return mp_intern_get(&line.texts, line.names[kind->name].text, NULL);
}

/* "name begin+duration launch<bound critical/waiting", times in us. */
static const char *told(const char *name)
{
    static char text[256];

    for (size_t i = 0; i < line.event_count; i++) {
        const struct decoded *event = &decoded[i];

        if (strcmp(name_of((int64_t)i), name) != 0)
            continue;
        snprintf(text, sizeof text, "%d+%d %s<%s %d/%d", (int)(event->begin / 1000),
                 (int)(event->duration / 1000), name_of(event->launch), name_of(event->bound),
                 (int)(event->critical / 1000), (int)(event->waiting / 1000));
        return text;
    }
    return "there is none";
}

/*     thread     |10-15|16-21|22-27|        |sync 40-75|
 *     stream 7      |a 15-30||b 31-60| |c 63-70|
 *
 * The call that synchronises waits for c from 40 to 70; 5 of it are on the path. */
static void launches_causes_and_waits_come_back(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 15, 30, 1);
    put_launch(7, "b", 16, 31, 60, 2);
    put_launch(7, "c", 22, 63, 70, 3);
    put_stream_sync(7, 40, 75, 4);
    load();
    assert_string_equal(told("a"), "15+15 cudaLaunchKernel<cudaLaunchKernel 15/0");
    assert_string_equal(told("b"), "31+29 cudaLaunchKernel<a 29/0");
    assert_string_equal(told("c"), "63+7 cudaLaunchKernel<b 7/0");
    assert_string_equal(told("cudaStreamSynchronize"), "40+35 -<c 0/30");
    end(SOUND);
}

/* b waits for an event that another stream recorded: its cause is in another track. Its launch, 6
 * as that of a, would have let it begin at 28; it was held up to 62. */
static void causes_in_other_streams_come_back(void **state)
{
    (void)state;
    scene_begin();
    put_launch(7, "a", 10, 16, 60, 1);
    put_record(7, 0xe1, 17, 2);
    put_wait(8, 0xe1, 19, 3);
    put_launch(8, "b", 22, 62, 90, 4);
    load();
    assert_string_equal(told("b"), "62+28 cudaLaunchKernel<a 28/34");
    end(UNSOUND);
}

/* As a page finds it: of work that has none, that of its launch. */
static const char *caller_of(const char *name)
{
    for (uint32_t i = 0; i < line.event_count; i++) {
        const struct decoded *event = &decoded[i];

        if (strcmp(name_of(i), name) != 0)
            continue;
        if (!event->caller && event->launch >= 0)
            event = &decoded[event->launch];
        return event->caller ? mp_intern_get(&line.callers.texts, (uint32_t)event->caller, NULL)
                             : "nobody";
    }
    return NULL;
}

/* The graph that step:4 launches has a node that capture:9 made, and one of unknown making. */
static void callers_come_back(void **state)
{
    uint64_t main_line;

    (void)state;
    scene_begin();
    main_line = put_stack(0, "main", 1);
    put_maker(1, 7, put_stack(main_line, "capture", 9));
    use_stack(put_stack(main_line, "step", 4));
    put_launch(7, "a", 10, 15, 30, 1);
    put_call(1, "cudaGraphLaunch", 40, 50, 2);
    put_node(7, "made", 1, 7, 60, 70, 2);
    put_node(7, "unknown", 1, 8, 80, 90, 2);
    use_stack(0);
    put_launch(7, "b", 100, 110, 120, 3);
    load();
    assert_string_equal(caller_of("a"), "step (main.py:4)");
    assert_string_equal(caller_of("cudaGraphLaunch"), "step (main.py:4)");
    assert_string_equal(caller_of("made"), "capture (main.py:9)");
    assert_string_equal(caller_of("unknown"), "step (main.py:4)");
    assert_string_equal(caller_of("b"), "nobody");
    end(UNSOUND);
}

static void expect_event(uint32_t i)
{
    const struct timeline_event *event = &line.events[i];
    const struct deps_activity *activity = &scene.deps.activities[event->activity];
    uint32_t bound = deps_bound_to(&scene.deps, event->activity);
    uint32_t bound_event = timeline_event_of(&line, &scene.deps, bound);

    assert_int_equal(decoded[i].begin, activity->begin);
    assert_int_equal(decoded[i].begin + decoded[i].duration, activity->end);
    assert_int_equal(kinds.order[decoded[i].kind], event->kind);
    assert_int_equal(decoded[i].critical, critical[event->activity]);
    assert_int_equal(decoded[i].waiting, deps_waiting(&scene.deps, activity));
    assert_int_equal(decoded[i].bound, bound_event == TIMELINE_NONE ? -1 : (int64_t)bound_event);
    if (!deps_is_call(activity) && activity->launch != DEPS_NONE)
        assert_int_equal(decoded[i].launch,
                         timeline_event_of(&line, &scene.deps, activity->launch));
    else
        assert_int_equal(decoded[i].launch, -1);
}

/* Calls do not overlap here, so each activity is an event. */
static void random_traces_come_back_event_by_event(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed;
        uint64_t time = 1;

        scene_begin();
        for (uint64_t i = 1; i <= 400; i++) {
            char name[] = "k0";
            uint64_t stream = 7 + fixture_random(&random) % 3;
            uint64_t begin = time + 5 + fixture_random(&random) % 40;

            name[1] = (char)('0' + fixture_random(&random) % 9);
            put_launch(stream, name, time, begin, begin + 1 + fixture_random(&random) % 30, 2 * i);
            time += 6 + fixture_random(&random) % 20;
            if (i % 10)
                continue;
            put_stream_sync(stream, time, time + 60, 2 * i + 1);
            time += 61;
        }
        load();
        assert_int_equal(line.event_count, 840);
        assert_int_equal(scene.deps.count, 840);
        for (uint32_t i = 0; i < line.event_count; i++)
            expect_event(i);
        end(UNSOUND);
    }
}

/* ---- The document ---- */

static void names_in_the_document_are_json(void **state)
{
    FILE *out;

    (void)state;
    scene_begin();
    put_kernel(7, "<img src=x onerror=\"alert(1)\">", 10, 30, 1);
    load();
    out = begin_text();
    html_timeline_json(out, &line, &kinds);
    fclose(out);
    assert_non_null(strstr(written, "[\"kernel\", \"<img src=x onerror=\\\"alert(1)\\\">\"]"));
    assert_non_null(strstr(written, "\"origin_ns\": 10000,"));
    assert_non_null(strstr(written, "\"events\": 1,"));
    end(SOUND);
}

static void the_most_frequent_kind_has_the_lowest_number(void **state)
{
    (void)state;
    scene_begin();
    put_kernel(7, "once", 10, 20, 1);
    put_kernel(7, "twice", 30, 40, 2);
    put_kernel(7, "twice", 50, 60, 3);
    load();
    assert_int_equal(kinds.used, 2);
    assert_int_equal(decoded[0].kind, 1);
    assert_int_equal(decoded[1].kind, 0);
    assert_int_equal(decoded[2].kind, 0);
    end(SOUND);
}

static int free_written(void **state)
{
    (void)state;
    free(written);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_in_documents_is_escaped),
        cmocka_unit_test(what_acts_is_no_part_of_a_page),
        cmocka_unit_test(quotes_and_backslashes_stay),
        cmocka_unit_test(numbers_that_a_script_cannot_hold_become_strings),
        cmocka_unit_test(indentation_is_left_out_and_blanks_in_strings_stay),
        cmocka_unit_test(cut_documents_have_no_markup_either),
        cmocka_unit_test(bytes_are_base64),
        cmocka_unit_test(launches_causes_and_waits_come_back),
        cmocka_unit_test(causes_in_other_streams_come_back),
        cmocka_unit_test(callers_come_back),
        cmocka_unit_test(random_traces_come_back_event_by_event),
        cmocka_unit_test(names_in_the_document_are_json),
        cmocka_unit_test(the_most_frequent_kind_has_the_lowest_number),
    };
    return cmocka_run_group_tests(tests, NULL, free_written);
}
