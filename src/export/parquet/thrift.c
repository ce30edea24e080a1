/* Thrift's compact protocol: a field's id is a step from the one before, numbers are zigzagged
 * varints, and a struct ends with a zero. */
#include "export/parquet/thrift.h"

#include "base/data/varint.h"

#include "base/poison.h"

#define STOP          0
#define GREATEST_STEP 15 /* of ids, in the byte of the type */
#define MIN_LONG_LIST 15 /* elements that do not fit into the byte of the type */

void thrift_open(struct thrift *thrift, struct mp_buffer *out)
{
    thrift->out = out;
    thrift->depth = 0;
    thrift->last[0] = 0;
}

static void put_field(struct thrift *thrift, int id, enum thrift_type type)
{
    int *last = &thrift->last[thrift->depth];
    int step = id - *last;

    if (step > 0 && step <= GREATEST_STEP) {
        mp_buffer_append_byte(thrift->out, (uint8_t)(step << 4 | (int)type));
    } else {
        mp_buffer_append_byte(thrift->out, (uint8_t)type);
        mp_buffer_append_varint(thrift->out, mp_zigzag_encode(id));
    }
    *last = id;
}

void thrift_open_element(struct thrift *thrift)
{
    thrift->last[++thrift->depth] = 0;
}

void thrift_open_field(struct thrift *thrift, int id)
{
    put_field(thrift, id, THRIFT_STRUCT);
    thrift_open_element(thrift);
}

void thrift_close(struct thrift *thrift)
{
    mp_buffer_append_byte(thrift->out, STOP);
    if (thrift->depth)
        thrift->depth--;
}

void thrift_empty(struct thrift *thrift, int id)
{
    thrift_open_field(thrift, id);
    thrift_close(thrift);
}

void thrift_bool(struct thrift *thrift, int id, bool value)
{
    put_field(thrift, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_element_i32(struct thrift *thrift, int32_t value)
{
    mp_buffer_append_varint(thrift->out, mp_zigzag_encode(value));
}

void thrift_i32(struct thrift *thrift, int id, int32_t value)
{
    put_field(thrift, id, THRIFT_I32);
    thrift_element_i32(thrift, value);
}

void thrift_i64(struct thrift *thrift, int id, int64_t value)
{
    put_field(thrift, id, THRIFT_I64);
    mp_buffer_append_varint(thrift->out, mp_zigzag_encode(value));
}

void thrift_element_binary(struct thrift *thrift, const void *data, size_t bytes)
{
    mp_buffer_append_varint(thrift->out, bytes);
    mp_buffer_append(thrift->out, data, bytes);
}

void thrift_binary(struct thrift *thrift, int id, const void *data, size_t bytes)
{
    put_field(thrift, id, THRIFT_BINARY);
    thrift_element_binary(thrift, data, bytes);
}

void thrift_list(struct thrift *thrift, int id, enum thrift_type type, uint32_t count)
{
    put_field(thrift, id, THRIFT_LIST);
    if (count < MIN_LONG_LIST) {
        mp_buffer_append_byte(thrift->out, (uint8_t)(count << 4 | type));
        return;
    }
    mp_buffer_append_byte(thrift->out, (uint8_t)(MIN_LONG_LIST << 4 | type));
    mp_buffer_append_varint(thrift->out, count);
}
