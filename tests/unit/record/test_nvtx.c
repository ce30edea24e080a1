/* The NVTX handler: what arrives of each call. */
#include "unit/record/test_nvtx.h"

#include "record/core/clock.h"
#include "record/nvtx/state.h"

#include "base/poison.h"

/* ---- Events ---- */

static void simple_calls_arrive_in_order(void **state)
{
    (void)state;
    assert_int_equal(nvtxRangePushA("outer"), 0);
    assert_int_equal(nvtxRangePushA("inner"), 1);
    nvtxMarkA("here");
    assert_int_equal(nvtxRangePop(), 1);
    assert_int_equal(nvtxRangePop(), 0);
    assert_int_equal(drain(), 5);
    expect(0, PUSH, "outer");
    expect(1, PUSH, "inner");
    expect(2, MARK, "here");
    expect(3, POP, NULL);
    expect(4, POP, NULL);
    for (unsigned i = 0; i < 5; i++) {
        assert_null(seen[i].event.domain);
        assert_int_equal(seen[i].event.category | seen[i].event.color, 0);
        assert_int_equal(seen[i].event.payload_type, 0);
        assert_int_equal(seen[i].event.range, 0);
        assert_true(i == 0 || seen[i].event.time >= seen[i - 1].event.time);
    }
    assert_int_equal(drain(), 0);
}

static void times_are_of_the_recorders_clock(void **state)
{
    const uint64_t before = mp_clock_now(), second = 1000000000; /* other clocks are years off */

    (void)state;
    nvtxMarkA("now");
    assert_int_equal(drain(), 1);
    assert_in_range(seen[0].event.time, before - second, mp_clock_now() + second);
}

static void attributes_are_kept(void **state)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("miniprof.test");
    nvtxEventAttributes_t attributes = attributes_of("with attributes");

    (void)state;
    attributes.category = 7;
    attributes.colorType = NVTX_COLOR_ARGB;
    attributes.color = 0xff112233;
    nvtxDomainMarkEx(domain, &attributes);
    attributes.colorType = NVTX_COLOR_UNKNOWN;
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
    nvtxRangePushEx(&attributes);
    nvtxRangePop();
    assert_int_equal(drain(), 5);
    expect(0, MARK, "with attributes");
    assert_string_equal(seen[0].event.domain, "miniprof.test");
    assert_int_equal(seen[0].event.category, 7);
    assert_int_equal(seen[0].event.color, 0xff112233);
    expect(1, PUSH, "with attributes");
    assert_int_equal(seen[1].event.color, 0);
    expect(2, POP, NULL);
    assert_string_equal(seen[2].event.domain, "miniprof.test");
    assert_null(seen[3].event.domain);
    assert_int_equal(seen[3].event.category, 7);
}

static void missing_messages_are_empty(void **state)
{
    nvtxEventAttributes_t attributes = {0};

    (void)state;
    nvtxMarkEx(&attributes);
    nvtxMarkEx(NULL);
    nvtxMarkA(NULL);
    nvtxMarkW(NULL);
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    nvtxMarkEx(&attributes);
    assert_int_equal(drain(), 5);
    for (unsigned i = 0; i < 5; i++)
        expect(i, MARK, "");
}

static uint64_t payload_through(int32_t type, const void *value, size_t bytes)
{
    nvtxEventAttributes_t attributes = attributes_of("payload");

    memset(&attributes.payload, 0xee, sizeof(attributes.payload));
    memcpy(&attributes.payload, value, bytes);
    attributes.payloadType = type;
    nvtxMarkEx(&attributes);
    assert_int_equal(drain(), 1);
    assert_int_equal(seen[0].event.payload_type, type);
    return seen[0].event.payload;
}

static void payloads_are_bits(void **state)
{
    const uint64_t u64 = UINT64_MAX - 5;
    const int64_t i64 = -3;
    const double f64 = 1.0;
    const uint32_t u32 = 0xfffffff0;
    const int32_t i32 = -2;
    const float f32 = 1.0f;

    (void)state;
    assert_true(payload_through(NVTX_PAYLOAD_TYPE_UNSIGNED_INT64, &u64, 8) == u64);
    assert_true(payload_through(NVTX_PAYLOAD_TYPE_INT64, &i64, 8) == 0xfffffffffffffffd);
    assert_true(payload_through(NVTX_PAYLOAD_TYPE_DOUBLE, &f64, 8) == 0x3ff0000000000000);
    assert_true(payload_through(NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, &u32, 4) == 0xfffffff0);
    assert_true(payload_through(NVTX_PAYLOAD_TYPE_INT32, &i32, 4) == 0xfffffffe);
    assert_true(payload_through(NVTX_PAYLOAD_TYPE_FLOAT, &f32, 4) == 0x3f800000);
}

static void unknown_payload_types_are_none(void **state)
{
    nvtxEventAttributes_t attributes = attributes_of("payload");

    (void)state;
    attributes.payload.ullValue = 1;
    attributes.payloadType = 77;
    nvtxMarkEx(&attributes);
    assert_int_equal(drain(), 1);
    assert_int_equal(seen[0].event.payload_type, 0);
    assert_int_equal(seen[0].event.payload, 0);
}

static void the_message_may_go_after_the_call(void **state)
{
    char message[] = "before";

    (void)state;
    nvtxRangePushA(message);
    memcpy(message, "after!", sizeof(message));
    nvtxRangePop();
    drain();
    expect(0, PUSH, "before");
}

static void registered_strings_have_one_handle(void **state)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("miniprof.test");
    nvtxDomainHandle_t other = nvtxDomainCreateW(L"miniprof.other");
    nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, "registered");
    nvtxEventAttributes_t attributes = attributes_of(NULL);

    (void)state;
    assert_non_null(string);
    assert_ptr_equal(string, nvtxDomainRegisterStringA(domain, "registered"));
    assert_ptr_equal(string, nvtxDomainRegisterStringW(domain, L"registered"));
    assert_ptr_not_equal(string, nvtxDomainRegisterStringA(other, "registered"));
    assert_ptr_equal(domain, nvtxDomainCreateA("miniprof.test"));
    attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    attributes.message.registered = string;
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
    nvtxDomainDestroy(domain);
    drain();
    expect(0, PUSH, "registered");
}

static void wide_messages_become_utf8(void **state)
{
    const wchar_t broken[] = {L'a', (wchar_t)0xd800, (wchar_t)0x110000, L'b', 0};

    (void)state;
    nvtxMarkW(L"gr\u00f6\u00dfe \u65e5\u672c \U0001f680");
    nvtxMarkW(broken);
    nvtxMarkW(L"");
    nvtxRangeEnd(nvtxRangeStartW(L"\u00e9"));
    nvtxRangePushW(L"\u00e8");
    nvtxRangePop();
    assert_int_equal(drain(), 7);
    expect(0, MARK,
           "gr\xc3\xb6\xc3\x9f"
           "e \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x9a\x80");
    expect(1, MARK,
           "a\xef\xbf\xbd\xef\xbf\xbd"
           "b");
    expect(2, MARK, "");
    expect(3, START, "\xc3\xa9");
    expect(5, PUSH, "\xc3\xa8");
}

static void long_messages_are_clipped_between_characters(void **state)
{
    static char narrow[10000];
    static wchar_t wide[5000];

    (void)state;
    memset(narrow, 'x', sizeof(narrow) - 1);
    narrow[4094] = '\xc3'; /* a character of two bytes across the limit of 4095 */
    narrow[4095] = '\xa9';
    for (size_t i = 0; i < 4999; i++)
        wide[i] = 0x65e5;
    nvtxMarkA(narrow);
    nvtxMarkW(wide);
    memset(narrow, '\x80', sizeof(narrow) - 1); /* no UTF-8 at all */
    nvtxMarkA(narrow);
    drain();
    assert_int_equal(strlen(seen[0].text), 4094);
    assert_int_equal(strlen(seen[1].text), 4095);
    assert_int_equal(strlen(seen[2].text), 4092);
}

static void levels_are_per_domain(void **state)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("miniprof.levels");
    nvtxEventAttributes_t attributes = attributes_of("level");

    (void)state;
    assert_int_equal(nvtxRangePushA("a"), 0);
    assert_int_equal(nvtxDomainRangePushEx(domain, &attributes), 0);
    assert_int_equal(nvtxDomainRangePushEx(domain, &attributes), 1);
    assert_int_equal(nvtxRangePushA("b"), 1);
    assert_int_equal(nvtxDomainRangePop(domain), 1);
    assert_int_equal(nvtxRangePop(), 1);
    /* Switched off and on: what was open before is not counted, but its pop recorded. */
    mp_nvtx_set_recording(false);
    mp_nvtx_set_recording(true);
    assert_int_equal(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
    assert_int_equal(nvtxRangePushA("c"), 0);
    assert_int_equal(drain(), 8);
    expect(6, POP, NULL);
}

static void more_domains_than_levels_work(void **state)
{
    nvtxEventAttributes_t attributes = attributes_of("many");
    char name[32];

    (void)state;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "miniprof.many.%d", i);
        nvtxDomainHandle_t domain = nvtxDomainCreateA(name);
        nvtxDomainRangePushEx(domain, &attributes);
        nvtxDomainRangePop(domain);
    }
    assert_int_equal(drain(), 200);
    for (unsigned i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "miniprof.many.%u", i / 2);
        assert_string_equal(seen[i].event.domain, name);
    }
}

static void nothing_is_recorded_while_off(void **state)
{
    nvtxRangeId_t range;

    (void)state;
    mp_nvtx_set_recording(false);
    assert_int_equal(nvtxRangePushA("off"), NVTX_NO_PUSH_POP_TRACKING);
    assert_int_equal(nvtxRangePop(), NVTX_NO_PUSH_POP_TRACKING);
    nvtxMarkA("off");
    range = nvtxRangeStartA("off");
    mp_nvtx_set_recording(true);
    nvtxRangeEnd(range);
    assert_int_equal(drain(), 0);
}

/* Until the last one is built. */
static void while_a_graph_is_built_events_are_recorded(void **state)
{
    (void)state;
    mp_nvtx_set_recording(false);
    mp_nvtx_building(true);
    nvtxMarkA("one is built");
    mp_nvtx_building(true);
    mp_nvtx_building(false);
    nvtxMarkA("still one");
    mp_nvtx_building(false);
    nvtxMarkA("none");
    assert_int_equal(drain(), 2);
    expect(0, MARK, "one is built");
    expect(1, MARK, "still one");
}

/* Pages that a push may need are there before it. */
static void each_drain_prepares_memory(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++)
        nvtxMarkA("takes chunks");
    drain();
    assert_true(atomic_load(&nvtx_state()->ready) >= NVTX_READY_CHUNKS);
}

static void threads_are_named_even_while_off(void **state)
{
    nvtxResourceAttributes_t attributes = {0};

    (void)state;
    mp_nvtx_set_recording(false);
    nvtxNameOsThreadA(4711, "worker");
    nvtxNameOsThreadW(4712, L"\u00fcber");
    nvtxNameOsThreadA(4713, NULL);
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
    attributes.identifierType = (int32_t)NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE;
    attributes.identifier.ullValue = 4714;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "resource";
    assert_non_null(nvtxDomainResourceCreate(NULL, &attributes));
    assert_int_equal(drain(), 0);
    assert_int_equal(thread_name_count, 3);
    assert_int_equal(thread_ids[0], 4711);
    assert_string_equal(thread_names[0], "worker");
    assert_int_equal(thread_ids[1], 4712);
    assert_string_equal(thread_names[1], "\xc3\xbc"
                                         "ber");
    assert_int_equal(thread_ids[2], 4714);
    assert_string_equal(thread_names[2], "resource");
}

static void categories_have_names(void **state)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("categories");

    (void)state;
    mp_nvtx_set_recording(false);
    nvtxNameCategoryA(1, "one");
    nvtxDomainNameCategoryW(domain, 2, L"two");
    nvtxNameCategoryA(3, NULL);
    assert_int_equal(drain(), 2);
    assert_int_equal(seen[0].event.kind, MP_NVTX_CATEGORY);
    assert_int_equal(seen[0].event.category, 1);
    assert_string_equal(seen[0].event.name, "one");
    assert_null(seen[0].event.domain);
    assert_int_equal(seen[1].event.category, 2);
    assert_string_equal(seen[1].event.name, "two");
    assert_string_equal(seen[1].event.domain, "categories");
}

static void other_functions_are_harmless(void **state)
{
    nvtxDomainResourceDestroy(nvtxDomainResourceCreate(NULL, NULL));
    nvtxInitialize(NULL);
    assert_int_equal(drain(), 0);
    (void)state;
}

/* Last: it holds for the rest of the process. */
static void when_recording_has_ended_graphs_do_not_matter(void **state)
{
    (void)state;
    mp_nvtx_set_recording(false);
    mp_nvtx_building(true);
    mp_nvtx_stop_building();
    nvtxMarkA("too late");
    mp_nvtx_building(true);
    nvtxMarkA("too late");
    assert_int_equal(drain(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(simple_calls_arrive_in_order),
        TEST(times_are_of_the_recorders_clock),
        TEST(attributes_are_kept),
        TEST(missing_messages_are_empty),
        TEST(payloads_are_bits),
        TEST(unknown_payload_types_are_none),
        TEST(the_message_may_go_after_the_call),
        TEST(registered_strings_have_one_handle),
        TEST(wide_messages_become_utf8),
        TEST(long_messages_are_clipped_between_characters),
        TEST(levels_are_per_domain),
        TEST(more_domains_than_levels_work),
        TEST(nothing_is_recorded_while_off),
        TEST(while_a_graph_is_built_events_are_recorded),
        TEST(each_drain_prepares_memory),
        TEST(threads_are_named_even_while_off),
        TEST(categories_have_names),
        TEST(other_functions_are_harmless),
        TEST(when_recording_has_ended_graphs_do_not_matter),
    };
    return cmocka_run_group_tests_name("nvtx", tests, NULL, NULL);
}
