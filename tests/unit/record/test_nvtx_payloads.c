/* Extended payloads of NVTX: what is kept of them, and what applications may do wrong. */
#include "unit/record/test_nvtx.h"

#include <pthread.h>
#include <stdbool.h>

#include "record/names/dictionary.h"
#include "record/names/payloads.h"
#include "record/nvtx/nvtx.h"
#include "trace/schema.h"
#include "unit/trace_fixture.h"

#include "base/poison.h"

/* ---- What was drained, as text: "kind name=value name=value; kind ..." ---- */

static char shown[64 * 1024];
static size_t shown_bytes;

__attribute__((format(printf, 1, 2))) static void show(const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(shown + shown_bytes, sizeof(shown) - shown_bytes, format, arguments);
    va_end(arguments);
    shown_bytes += (size_t)length;
    assert_true(shown_bytes < sizeof(shown));
}

static const char *enum_name(const struct mp_nvtx_enum *enumeration, uint64_t value)
{
    for (uint32_t i = 0; enumeration && i < enumeration->count; i++)
        if (enumeration->names[i].value == value)
            return enumeration->names[i].name;
    return NULL;
}

static void show_value(const struct mp_nvtx_field *field, uint64_t bits, const char *text)
{
    const char *name = enum_name(field->enumeration, bits);
    double real;

    memcpy(&real, &bits, sizeof(real));
    if (text)
        show(" %s='%s'", field->name, text);
    else if (name)
        show(" %s=%s", field->name, name);
    else if (field->type == MP_field_type_real)
        show(" %s=%g", field->name, real);
    else if (field->type == MP_field_type_signed)
        show(" %s=%lld", field->name, (long long)bits);
    else
        show(" %s=%llu", field->name, (unsigned long long)bits);
}

static void take_event(void *context, const struct mp_nvtx_event *event)
{
    static const char *const kinds[] = {"mark", "push", "pop", "start", "end"};
    const struct mp_nvtx_payload *payload = NULL;

    (void)context;
    show("%s%s", shown_bytes ? "; " : "", event->kind < 5 ? kinds[event->kind] : "other");
    while ((payload = mp_nvtx_payload_next(event, payload)) != NULL) {
        for (uint32_t i = 0; i < payload->schema->field_count; i++) {
            const char *text;
            uint64_t bits;

            if (mp_nvtx_payload_value(payload, i, &bits, &text))
                show_value(&payload->schema->fields[i], bits, text);
        }
    }
}

static void expect_shown(const char *expected)
{
    const struct mp_nvtx_sink sink = {NULL, take_event, keep_name, NULL, false};

    shown_bytes = 0;
    shown[0] = '\0';
    mp_nvtx_drain(&sink);
    assert_string_equal(shown, expected);
}

/* ---- Schemas ---- */

static nvtxDomainHandle_t domain;

static uint64_t schema_of(uint64_t id, const nvtxPayloadSchemaEntry_t *entries, size_t count,
                          size_t size)
{
    const nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
                     (id ? NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID : 0),
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = count,
        .payloadStaticSize = size,
        .schemaId = id,
    };

    return nvtxPayloadSchemaRegister(domain, &schema);
}

static void mark(uint64_t schema, const void *data, size_t size)
{
    const nvtxPayloadData_t payload = {schema, size, data};

    nvtxMarkPayload(domain, &payload, 1);
}

#define FIELD(type_, name_, offset_)                                                               \
    {                                                                                              \
        .type = (type_), .name = (name_), .offset = (offset_)                                      \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct reduce {
    uint64_t comm;
    size_t bytes;
    int op;
};

static uint64_t reduce_schema(void)
{
    static const nvtxPayloadEnum_t names[] = {{"Sum", 0, 0}, {"Max", 2, 0}};
    const nvtxPayloadEnumAttr_t operations = {
        .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
        .entries = names,
        .numEntries = 2,
        .sizeOfEnum = sizeof(int),
        .schemaId = (1 << 24) + 24,
    };
    const nvtxPayloadSchemaEntry_t entries[] = {FIELD(NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "comm", 0),
                                                FIELD(NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "bytes", 8),
                                                FIELD((1 << 24) + 24, "op", 16)};

    nvtxPayloadEnumRegister(domain, &operations);
    return schema_of((1 << 24) + 5, entries, 3, sizeof(struct reduce));
}

/* ---- Tests ---- */

static void every_event_brings_its_payload(void **state)
{
    const uint64_t schema = reduce_schema();
    const struct reduce data = {7, 4096, 2};
    const nvtxPayloadData_t payload = {schema, sizeof(data), &data};
    nvtxEventAttributes_t attributes = attributes_of("ncclAllReduce");
    nvtxRangeId_t range;

    (void)state;
    attributes.payloadType = (int32_t)0xDFBD0009;
    attributes.reserved0 = 1;
    attributes.payload.ullValue = (uint64_t)(uintptr_t)&payload;
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxRangePopPayload(domain, &payload, 1);
    nvtxDomainMarkEx(domain, &attributes);
    range = nvtxRangeStartPayload(domain, &payload, 1);
    nvtxRangeEndPayload(domain, range, &payload, 1);
    nvtxRangePushPayload(domain, &payload, 1);
    nvtxDomainRangePop(domain);
    expect_shown("push comm=7 bytes=4096 op=Max; pop comm=7 bytes=4096 op=Max; "
                 "mark comm=7 bytes=4096 op=Max; start comm=7 bytes=4096 op=Max; "
                 "end comm=7 bytes=4096 op=Max; push comm=7 bytes=4096 op=Max; pop");
}

static void several_payloads_of_one_event_are_kept(void **state)
{
    const uint64_t schema = reduce_schema();
    const struct reduce one = {1, 10, 0}, two = {2, 20, 2};
    const nvtxPayloadData_t payloads[] = {{schema, sizeof(one), &one}, {schema, sizeof(two), &two}};

    (void)state;
    nvtxMarkPayload(domain, payloads, 2);
    expect_shown("mark comm=1 bytes=10 op=Sum comm=2 bytes=20 op=Max");
}

/* The layouts of NCCL 2.18 and of 2.25, under one id. */
static void the_size_tells_layouts_of_one_id_apart(void **state)
{
    const nvtxPayloadSchemaEntry_t old[] = {FIELD(NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "bytes", 0),
                                            FIELD(NVTX_PAYLOAD_ENTRY_TYPE_INT, "op", 8)};
    const struct {
        size_t bytes;
        int op;
    } small = {8192, 1};
    const struct reduce large = {7, 4096, 0};
    const uint64_t id = reduce_schema();

    (void)state;
    assert_int_equal(schema_of(id, old, 2, sizeof(small)), id);
    mark(id, &small, sizeof(small));
    mark(id, &large, sizeof(large));
    expect_shown("mark bytes=8192 op=1; mark comm=7 bytes=4096 op=Sum");
}

static void numbers_have_their_signs_and_widths(void **state)
{
    const struct {
        signed char a;
        unsigned char b;
        int16_t c;
        float d;
        double e;
        void *f;
        int64_t g;
    } data = {-1, 255, -300, 1.5f, -2.25, (void *)(uintptr_t)16, INT64_MIN};
    /* Without offsets: as C lays them out. */
    const nvtxPayloadSchemaEntry_t entries[] = {FIELD(NVTX_PAYLOAD_ENTRY_TYPE_CHAR, "a", 0),
                                                FIELD(NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "b", 0),
                                                FIELD(NVTX_PAYLOAD_ENTRY_TYPE_INT16, "c", 0),
                                                FIELD(NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "d", 0),
                                                FIELD(NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "e", 0),
                                                FIELD(NVTX_PAYLOAD_ENTRY_TYPE_ADDRESS, "f", 0),
                                                FIELD(NVTX_PAYLOAD_ENTRY_TYPE_LONGLONG, "g", 0)};

    (void)state;
    mark(schema_of(0, entries, COUNT(entries), sizeof(data)), &data, sizeof(data));
    expect_shown("mark a=-1 b=255 c=-300 d=1.5 e=-2.25 f=16 g=-9223372036854775808");
}

struct texts {
    char inside[4];
    const char *pointer;
    nvtxStringHandle_t registered;
};

static uint64_t text_schema(void)
{
    const nvtxPayloadSchemaEntry_t entries[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, .name = "inside", .arrayOrUnionDetail = 4},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8,
         .flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER,
         .name = "pointer",
         .offset = 8},
        FIELD(NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "registered", 16)};

    return schema_of(0, entries, COUNT(entries), sizeof(struct texts));
}

static void texts_are_copied_in_the_call(void **state)
{
    char passing[] = "passing";
    struct texts data = {{'f', 'u', 'l', 'l'}, passing, nvtxDomainRegisterStringA(domain, "kept")};
    const uint64_t schema = text_schema();
    char *longest = malloc(65537);

    (void)state;
    memset(longest, 'x', 65536);
    longest[65536] = '\0';
    mark(schema, &data, sizeof(data));
    memset(passing, '-', sizeof(passing) - 1);
    data = (struct texts){{'n', 'o', '\0', '!'}, NULL, NULL};
    mark(schema, &data, sizeof(data));
    expect_shown("mark inside='full' pointer='passing' registered='kept'; "
                 "mark inside='no' pointer=''");
    data.pointer = longest;
    mark(schema, &data, sizeof(data));
    longest[255] = '\0';
    shown_bytes = 0;
    {
        char expected[400];

        snprintf(expected, sizeof(expected), "mark inside='no' pointer='%s'", longest);
        expect_shown(expected);
    }
    free(longest);
}

/* ---- What applications may do wrong ---- */

static void a_short_payload_has_its_first_fields(void **state)
{
    const uint64_t schema = reduce_schema();
    const struct reduce data = {7, 4096, 2};
    struct texts text = {{'a', 'b', 'c', '\0'}, "never read", NULL};
    /* On the heap: the address sanitizer sees every byte beyond. */
    void *exact = malloc(17), *little = malloc(12);

    (void)state;
    memcpy(exact, &data, 17);
    memcpy(little, &text, 12);
    mark(schema, exact, 17);
    mark(schema, exact, 3);
    mark(schema, exact, 0);
    mark(text_schema(), little, 12);
    expect_shown("mark comm=7 bytes=4096; mark; mark; mark inside='abc'");
    free(exact);
    free(little);
}

static void entries_that_cannot_be_read_are_left_out(void **state)
{
    const uint64_t far = (uint64_t)1 << 40;
    const nvtxPayloadSchemaEntry_t entries[] = {
        FIELD(NVTX_PAYLOAD_ENTRY_TYPE_INT, "first", 0),
        FIELD(NVTX_PAYLOAD_ENTRY_TYPE_INT, "far", far),
        FIELD(NVTX_PAYLOAD_ENTRY_TYPE_INT, "wraps", UINT64_MAX - 1),
        FIELD(12345, "unknown", 4),
        FIELD(NVTX_PAYLOAD_ENTRY_TYPE_INT, "behind unknown", 0),
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT,
         .flags = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
         .name = "array",
         .arrayOrUnionDetail = 2,
         .offset = 4},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, .name = "long", .arrayOrUnionDetail = far},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT, .name = NULL, .offset = 8},
        FIELD(0, "invalid", 4),
        FIELD(UINT64_MAX, "greatest", 4)};
    const int data[] = {1, 2, 3};

    (void)state;
    mark(schema_of(0, entries, COUNT(entries), sizeof(data)), data, sizeof(data));
    expect_shown("mark first=1 =3");
}

static void missing_things_are_no_payload(void **state)
{
    const struct reduce data = {7, 4096, 2};
    const uint64_t unknown = mp_nvtx_payloads_unknown();
    const nvtxPayloadSchemaAttr_t nothing = {.fieldMask = 0};
    const nvtxPayloadEnumAttr_t empty = {.fieldMask = 0};

    (void)state;
    mark(999999, &data, sizeof(data)); /* never registered: not guessed */
    mark(reduce_schema(), NULL, sizeof(data));
    nvtxMarkPayload(domain, NULL, 3);
    nvtxRangePushPayload(domain, NULL, 0);
    nvtxRangePopPayload(domain, NULL, 1);
    assert_int_equal(nvtxPayloadSchemaRegister(domain, NULL), 0);
    assert_int_equal(nvtxPayloadEnumRegister(domain, NULL), 0);
    mark(nvtxPayloadSchemaRegister(domain, &nothing), &data, sizeof(data));
    nvtxPayloadEnumRegister(domain, &empty);
    expect_shown("mark; mark; mark; push; pop; mark");
    assert_int_equal(mp_nvtx_payloads_unknown() - unknown, 3);
}

static void a_payload_without_room_is_counted_and_its_event_kept(void **state)
{
    enum { TEXTS = 9 };
    nvtxPayloadSchemaEntry_t entries[TEXTS];
    const char *data[TEXTS];
    char text[255];
    const uint64_t dropped = mp_nvtx_payloads_dropped();

    (void)state;
    memset(text, 't', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < TEXTS; i++) {
        data[i] = text;
        entries[i] = (nvtxPayloadSchemaEntry_t){.type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
                                                .flags = NVTX_PAYLOAD_ENTRY_FLAG_POINTER,
                                                .name = "text",
                                                .offset = (uint64_t)i * sizeof(char *)};
    }
    mark(schema_of(0, entries, TEXTS, sizeof(data)), data, sizeof(data));
    expect_shown("mark");
    assert_int_equal(mp_nvtx_payloads_dropped() - dropped, 1);
}

static void nothing_is_copied_while_recording_is_off(void **state)
{
    const struct reduce data = {7, 4096, 2};

    (void)state;
    mp_nvtx_set_recording(false);
    mark(reduce_schema(), &data, sizeof(data));
    assert_false(mp_nvtx_note(&data, sizeof(data)));
    assert_int_equal(mp_nvtx_number(), 0);
    expect_shown("");
}

/* The room of a pop is kept, that of its payload is not. */
static void a_pop_comes_when_its_payload_finds_no_room(void **state)
{
    const uint64_t schema = reduce_schema();
    const struct reduce data = {7, 4096, 2};
    const nvtxPayloadData_t payload = {schema, sizeof(data), &data};
    const struct mp_nvtx_sink sink = {NULL, keep_event, keep_name, NULL, false};
    uint64_t dropped;

    (void)state;
    nvtxRangePushA("outer");
    for (dropped = mp_nvtx_dropped(); mp_nvtx_dropped() == dropped;)
        nvtxMarkA("fills the buffers");
    nvtxRangePopPayload(NULL, &payload, 1);
    seen_count = 0;
    mp_nvtx_drain(&sink);
    assert_int_equal(seen[(seen_count - 1) % KEPT].event.kind, POP);
}

/* ---- Rows ---- */

struct rows {
    struct payloads payloads;
    struct dictionary dictionary;
};

/* What recording.c does with an event, but for the row of `nvtx`. */
static void write_payloads(void *context, const struct mp_nvtx_event *event)
{
    struct rows *rows = context;
    struct payload_mark mark = payloads_mark(&rows->payloads, &rows->dictionary, event);

    show("%u/%u ", (unsigned)mark.schema, (unsigned)mark.number);
    payloads_append(&rows->payloads, &rows->dictionary, event, mark);
}

/* Shows the rows: "field ID of SCHEMA", "name ENUMERATION:VALUE" and "FIELD/NUMBER=VALUE". */
static void show_rows(const struct mp_batch *batch)
{
#define CELL(table, column) (unsigned)batch->columns[MP_COLUMN_##table##_##column][row]
    for (uint32_t row = 0; row < batch->rows; row++) {
        if (batch->table->id == MP_TABLE_payload_field)
            show("field %u of %u, ", CELL(payload_field, id), CELL(payload_field, payload_schema));
        if (batch->table->id == MP_TABLE_payload_name)
            show("name %u:%u, ", CELL(payload_name, enumeration), CELL(payload_name, value));
        if (batch->table->id == MP_TABLE_payload)
            show("%u/%u=%u, ", CELL(payload, field), CELL(payload, number), CELL(payload, value));
    }
#undef CELL
}

static void show_trace(int fd)
{
    struct mp_trace *trace;
    struct mp_cursor *cursor;
    struct mp_batch batch;

    assert_int_equal(mp_trace_open(fixture_path(fd), &trace, NULL), MP_OK);
    assert_int_equal(mp_cursor_open(trace, &cursor, NULL), MP_OK);
    while (mp_cursor_next(cursor, &batch) == MP_OK)
        show_rows(&batch);
    mp_cursor_close(cursor);
    mp_trace_close(trace);
}

/* Fields and names once, values with each event; an event without a payload has none. */
static void payloads_become_rows(void **state)
{
    static const struct api_set api;
    const uint64_t schema = reduce_schema();
    const struct reduce first = {7, 4096, 2}, second = {8, 512, 0};
    struct rows rows;
    const struct mp_nvtx_sink sink = {&rows, write_payloads, keep_name, NULL, false};
    int fd = fixture_file(NULL, 0);
    struct mp_writer *writer = fixture_writer(fd, "", 0);

    (void)state;
    memset(&rows, 0, sizeof(rows));
    assert_int_equal(dictionary_open(&rows.dictionary, writer, &api), MP_OK);
    nvtxMarkA("before");
    mark(schema, &first, sizeof(first));
    nvtxMarkA("between");
    mark(schema, &second, sizeof(second));
    shown_bytes = 0;
    mp_nvtx_drain(&sink);
    assert_int_equal(mp_writer_close(writer, NULL), MP_OK);
    show_trace(fd);
    assert_string_equal(shown, "0/0 1/1 0/0 1/2 field 1 of 1, field 2 of 1, field 3 of 1, "
                               "name 1:0, name 1:2, 1/1=7, 2/1=4096, 3/1=2, 1/2=8, 2/2=512, "
                               "3/2=0, ");
    payloads_close(&rows.payloads);
    dictionary_close(&rows.dictionary);
    close(fd);
}

static void *register_many(void *first)
{
    const nvtxPayloadSchemaEntry_t entry = FIELD(NVTX_PAYLOAD_ENTRY_TYPE_INT, "number", 0);

    for (uint64_t i = 0; i < 5000; i++)
        schema_of((1 << 24) + *(uint64_t *)first + i, &entry, 1, sizeof(int));
    return NULL;
}

/* Last: afterwards there is room for no schema. Two threads register, one uses what it finds. */
static void ten_thousand_schemas_are_bounded(void **state)
{
    uint64_t first[] = {100000, 200000};
    const uint64_t dropped = mp_nvtx_payloads_dropped();
    const struct reduce data = {7, 4096, 2};
    const uint64_t known = reduce_schema();
    pthread_t threads[2];
    const int number = 5;

    (void)state;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, register_many, &first[i]);
    for (int i = 0; i < 2000; i++)
        mark((1 << 24) + first[i % 2] + (uint64_t)i, &number, sizeof(number));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    drain();
    mark(known, &data, sizeof(data));
    expect_shown("mark comm=7 bytes=4096 op=Max");
    assert_true(mp_nvtx_payloads_dropped() - dropped > 5000);
}

static int make_domain(void **state)
{
    (void)state;
    domain = nvtxDomainCreateA("payloads");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_event_brings_its_payload),
        TEST(several_payloads_of_one_event_are_kept),
        TEST(the_size_tells_layouts_of_one_id_apart),
        TEST(numbers_have_their_signs_and_widths),
        TEST(texts_are_copied_in_the_call),
        TEST(a_short_payload_has_its_first_fields),
        TEST(entries_that_cannot_be_read_are_left_out),
        TEST(missing_things_are_no_payload),
        TEST(a_payload_without_room_is_counted_and_its_event_kept),
        TEST(nothing_is_copied_while_recording_is_off),
        TEST(a_pop_comes_when_its_payload_finds_no_room),
        TEST(payloads_become_rows),
        TEST(ten_thousand_schemas_are_bounded),
    };

    return cmocka_run_group_tests(tests, make_domain, NULL);
}
