/* The NVTX handler: the tables of other NVTX versions, and the payload extension. */
#include "unit/record/test_nvtx.h"

#include <nvtx3/nvToolsExtCounters.h>

#include <pthread.h>

#include "base/poison.h"

/* ---- Tables of other NVTX versions ---- */

static void untouched(void)
{
}

#define SLOTS 32

static NvtxFunctionPointer slots[SLOTS];
static NvtxFunctionPointer *old_table[SLOTS];
static unsigned old_size;

static int old_module_table(NvtxCallbackModule module, NvtxFunctionTable *table, unsigned *size)
{
    if (module != NVTX_CB_MODULE_CORE)
        return 0; /* NVTX 1 had no domains */
    *table = old_table;
    *size = old_size;
    return 1;
}

static NvtxExportTableCallbacks old_callbacks = {sizeof(old_callbacks), old_module_table};

static const void *old_get_table(uint32_t id)
{
    return id == NVTX_ETID_CALLBACKS ? &old_callbacks : NULL;
}

static void no_slot_beyond_a_table_is_touched(void **state)
{
    (void)state;
    for (old_size = 0; old_size <= NVTX_CBID_CORE_SIZE; old_size++) {
        for (int i = 0; i < SLOTS; i++) {
            slots[i] = untouched;
            old_table[i] = &slots[i];
        }
        old_table[NVTX_CBID_CORE_MarkA] = NULL;
        assert_int_equal(mp_nvtx_initialize(1, (void *)old_get_table), 1);
        assert_true(slots[0] == untouched && slots[NVTX_CBID_CORE_MarkA] == untouched);
        for (unsigned i = old_size; i < SLOTS; i++)
            assert_true(slots[i] == untouched);
        assert_int_equal(slots[NVTX_CBID_CORE_RangePushA] != untouched,
                         old_size > NVTX_CBID_CORE_RangePushA);
    }
}

static void functions_in_an_old_table_record(void **state)
{
    (void)state;
    for (int i = 0; i < SLOTS; i++)
        old_table[i] = &slots[i];
    old_size = NVTX_CBID_CORE_SIZE;
    assert_int_equal(mp_nvtx_initialize(1, (void *)old_get_table), 1);
    ((nvtxMarkA_impl_fntype)slots[NVTX_CBID_CORE_MarkA])("old");
    assert_int_equal(drain(), 1);
    expect(0, MARK, "old");
}

static const void *no_table(uint32_t id)
{
    (void)id;
    return NULL;
}

static void unusable_instances_are_refused(void **state)
{
    (void)state;
    assert_int_equal(mp_nvtx_initialize(2, NULL), 0);
    assert_int_equal(mp_nvtx_initialize(2, (void *)no_table), 0);
    old_callbacks.struct_size = sizeof(size_t);
    assert_int_equal(mp_nvtx_initialize(2, (void *)old_get_table), 0);
    old_callbacks.struct_size = sizeof(old_callbacks);
}

static void *initialize_often(void *unused)
{
    for (int i = 0; i < 1000; i++)
        if (mp_nvtx_initialize(1, (void *)old_get_table) != 1)
            return &slots;
    return unused;
}

static void initialisation_may_race(void **state)
{
    pthread_t threads[4];
    void *failed;

    (void)state;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, initialize_often, NULL);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

/* ---- The payload extension ---- */

struct request {
    uint64_t id;
    nvtxStringHandle_t title;
    const char *text;
    char fixed[8];
};

static uint64_t register_schema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaEntry_t *entry)
{
    const nvtxPayloadSchemaEntry_t entries[] = {{.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64}, *entry};
    const nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = 2,
        .payloadStaticSize = sizeof(struct request)};

    return nvtxPayloadSchemaRegister(domain, &schema);
}

static void payload_events_bear_their_message(void **state)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("miniprof.payload");
    const nvtxPayloadSchemaEntry_t title = {
        .flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
        .type = NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE,
        .offset = offsetof(struct request, title)};
    const nvtxPayloadSchemaEntry_t text = {.flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE |
                                                    NVTX_PAYLOAD_ENTRY_FLAG_POINTER,
                                           .type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
                                           .offset = offsetof(struct request, text)};
    const nvtxPayloadSchemaEntry_t fixed = {.flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
                                            .type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8,
                                            .arrayOrUnionDetail = 8,
                                            .offset = offsetof(struct request, fixed)};
    const struct request request = {1,
                                    nvtxDomainRegisterStringA(domain, "title"),
                                    "text",
                                    {'e', 'i', 'g', 'h', 't', '!', '!', '!'}};
    nvtxPayloadData_t data = {register_schema(domain, &title), sizeof(request), &request};

    (void)state;
    assert_true(data.schemaId >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
    nvtxMarkPayload(domain, &data, 1);
    data.schemaId = register_schema(domain, &text);
    assert_int_equal(nvtxRangePushPayload(domain, &data, 1), 0);
    assert_int_equal(nvtxRangePopPayload(domain, NULL, 0), 0);
    data.schemaId = register_schema(domain, &fixed);
    nvtxRangeEndPayload(domain, nvtxRangeStartPayload(domain, &data, 1), NULL, 0);
    data.size = 8; /* too short for any of them */
    nvtxMarkPayload(domain, &data, 1);
    assert_int_equal(drain(), 6);
    expect(0, MARK, "title");
    assert_string_equal(seen[0].event.domain, "miniprof.payload");
    expect(1, PUSH, "text");
    expect(2, POP, NULL);
    expect(3, START, "eight!!!");
    expect(4, END, NULL);
    assert_true(seen[3].event.range == seen[4].event.range);
    expect(5, MARK, "");
}

static void attributes_with_payload_are_ordinary_events(void **state)
{
    nvtxEventAttributes_t attributes = attributes_of("own message");
    const uint64_t number = 5;
    const nvtxPayloadData_t data[] = {{NVTX_PAYLOAD_ENTRY_TYPE_UINT64, sizeof(number), &number}};

    (void)state;
    /* NVTX's own macro for this has a parenthesis too few in C. */
    attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    attributes.reserved0 = 1;
    attributes.payload.ullValue = (uint64_t)(uintptr_t)data;
    nvtxMarkEx(&attributes);
    attributes.messageType = NVTX_MESSAGE_UNKNOWN;
    nvtxMarkEx(&attributes);
    attributes.payload.ullValue = 0;
    nvtxMarkEx(&attributes);
    assert_int_equal(drain(), 3);
    expect(0, MARK, "own message");
    assert_int_equal(seen[0].event.payload_type, 0);
    expect(1, MARK, "");
    expect(2, MARK, "");
}

static void ids_are_the_applications_or_new(void **state)
{
    const nvtxPayloadSchemaAttr_t schema = {.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
                                            .schemaId = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 3};
    const nvtxPayloadEnumAttr_t enumeration = {.sizeOfEnum = 4};
    const nvtxScopeAttr_t scope = {.structSize = sizeof(scope), .path = "a/b"};
    const uint64_t first = nvtxPayloadEnumRegister(NULL, &enumeration);

    (void)state;
    assert_int_equal(nvtxPayloadSchemaRegister(NULL, &schema), schema.schemaId);
    assert_true(first >= NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);
    assert_true(first != nvtxPayloadEnumRegister(NULL, &enumeration));
    assert_true(nvtxScopeRegister(NULL, &scope) >= NVTX_SCOPE_ID_DYNAMIC_START);
    assert_int_equal(nvtxDomainIsEnabled(NULL), 1);
    assert_int_equal(nvtxTimestampGet(), 0);
}

static void more_schemas_than_are_remembered(void **state)
{
    const nvtxPayloadSchemaEntry_t text = {.flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
                                           .type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING,
                                           .offset = offsetof(struct request, text)};
    const struct request request = {.text = "text"};
    nvtxPayloadData_t data = {0, sizeof(request), &request};

    (void)state;
    for (int i = 0; i < 4000; i++) {
        data.schemaId = register_schema(NULL, &text);
        nvtxMarkPayload(NULL, &data, 1);
    }
    assert_int_equal(drain(), 4000);
    expect(0, MARK, "text");
    expect(3999, MARK, "");
}

static void other_extensions_and_small_tables(void **state)
{
    intptr_t functions[4] = {0, 0, 0, 99};
    nvtxExtModuleSegment_t segment = {0, 3, functions};
    nvtxExtModuleInfo_t info = {.moduleId = NVTX_EXT_PAYLOAD_MODULEID,
                                .compatId = NVTX_EXT_PAYLOAD_COMPATID,
                                .segmentsCount = 1,
                                .segments = &segment};

    (void)state;
    assert_int_equal(mp_nvtx_initialize_extension(NULL), 0);
    assert_int_equal(mp_nvtx_initialize_extension(&info), 1);
    assert_true(functions[NVTX3EXT_CBID_nvtxMarkPayload] != 0);
    assert_int_equal(functions[3], 99);
    info.compatId = 0x0201;
    assert_int_equal(mp_nvtx_initialize_extension(&info), 0);
    info.compatId = NVTX_EXT_PAYLOAD_COMPATID;
    info.segmentsCount = 0;
    assert_int_equal(mp_nvtx_initialize_extension(&info), 0);
    info.moduleId = NVTX_EXT_COUNTERS_MODULEID;
    assert_int_equal(mp_nvtx_initialize_extension(&info), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_slot_beyond_a_table_is_touched), TEST(functions_in_an_old_table_record),
        TEST(unusable_instances_are_refused),    TEST(initialisation_may_race),
        TEST(payload_events_bear_their_message), TEST(attributes_with_payload_are_ordinary_events),
        TEST(ids_are_the_applications_or_new),   TEST(more_schemas_than_are_remembered),
        TEST(other_extensions_and_small_tables),
    };
    return cmocka_run_group_tests_name("nvtx_tables", tests, NULL, NULL);
}
