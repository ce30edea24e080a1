/* Reads what TensorRT says of a layer in the text of its NVTX range: type, precision, tensors. The
 * text's form differs by version, so a part that is not understood is left empty.
 */
#include "reports/layers/trt_layer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text/json.h"

#include "base/poison.h"

#define KEY_BYTES    32
#define FORMAT_BYTES 128

/* ---- Precision ---- */

/* Words of Format/Datatype, as engines with and without an execution context spell them. */
static const struct {
    const char *word;
    const char *precision;
} precisions[] = {
    {"FP64", "FP64"},     {"Double", "FP64"},   {"FP32", "FP32"},     {"Float", "FP32"},
    {"TF32", "TF32"},     {"FP16", "FP16"},     {"Half", "FP16"},     {"BF16", "BF16"},
    {"BFloat16", "BF16"}, {"FP8", "FP8"},       {"FP4", "FP4"},       {"Int4", "INT4"},
    {"Int8", "INT8"},     {"Int16", "INT16"},   {"Int32", "INT32"},   {"Int64", "INT64"},
    {"UInt8", "UINT8"},   {"UInt16", "UINT16"}, {"UInt32", "UINT32"}, {"UInt64", "UINT64"},
    {"Bool", "BOOL"},
};

static size_t word_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
}

/* The first word that is a data type; "" when none is. */
static const char *precision_of(const char *format)
{
    while (*format) {
        size_t length = word_length(format);

        for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
            if (length == strlen(precisions[i].word) &&
                !strncasecmp(format, precisions[i].word, length))
                return precisions[i].precision;
        }
        format += length ? length : 1;
    }
    return "";
}

/* ---- Tensors ---- */

struct tensor {
    char format[FORMAT_BYTES];
    char dimensions[96];
};

/* [1,3,224,224] as 1x3x224x224; what does not fit is left out. */
static void read_dimensions(struct json_reader *reader, char *text, size_t size)
{
    size_t used = 0;
    char number[32];

    text[0] = '\0';
    if (json_read_next(reader) != JSON_READ_ARRAY || !json_read_open(reader)) {
        json_read_skip(reader);
        return;
    }
    while (json_read_element(reader)) {
        if (json_read_next(reader) != JSON_READ_NUMBER) {
            json_read_skip(reader);
            continue;
        }
        json_read_text(reader, number, sizeof number);
        size_t length = strlen(number) + (used != 0);
        if (used + length >= size)
            continue;
        snprintf(text + used, size - used, "%s%s", used ? "x" : "", number);
        used += length;
    }
}

/* A value that may be of another kind than expected; "" then. */
static void read_text(struct json_reader *reader, char *text, size_t size)
{
    enum json_read_kind kind = json_read_next(reader);

    text[0] = '\0';
    if (kind == JSON_READ_STRING || kind == JSON_READ_NUMBER)
        (void)json_read_text(reader, text, size);
    else
        json_read_skip(reader);
}

static void read_tensor(struct json_reader *reader, struct tensor *tensor)
{
    char key[KEY_BYTES];

    if (json_read_next(reader) != JSON_READ_OBJECT || !json_read_open(reader)) {
        json_read_skip(reader);
        return;
    }
    while (json_read_member(reader, key, sizeof key)) {
        if (!strcmp(key, "Dimensions"))
            read_dimensions(reader, tensor->dimensions, sizeof tensor->dimensions);
        else if (!strcmp(key, "Format/Datatype"))
            read_text(reader, tensor->format, sizeof tensor->format);
        else
            json_read_skip(reader);
    }
}

/* The first of a list. */
static void read_tensors(struct json_reader *reader, struct tensor *tensor)
{
    bool first = true;

    if (json_read_next(reader) != JSON_READ_ARRAY || !json_read_open(reader)) {
        json_read_skip(reader);
        return;
    }
    for (; json_read_element(reader); first = false) {
        if (first)
            read_tensor(reader, tensor);
        else
            json_read_skip(reader);
    }
}

/* ---- The layer ---- */

struct members {
    struct tensor input, output;
    char parameter_type[64];
    char tactic_value[64];
};

static void read_member(struct json_reader *reader, const char *key, struct trt_layer *layer,
                        struct members *members)
{
    const struct {
        const char *key;
        char *text;
        size_t size;
    } texts[] = {
        {"Name", layer->name, sizeof layer->name},
        {"LayerType", layer->type, sizeof layer->type},
        {"ParameterType", members->parameter_type, sizeof members->parameter_type},
        {"TacticName", layer->tactic, sizeof layer->tactic},
        {"TacticValue", members->tactic_value, sizeof members->tactic_value},
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!strcmp(key, texts[i].key)) {
            read_text(reader, texts[i].text, texts[i].size);
            return;
        }
    }
    if (!strcmp(key, "Inputs"))
        read_tensors(reader, &members->input);
    else if (!strcmp(key, "Outputs"))
        read_tensors(reader, &members->output);
    else
        json_read_skip(reader);
}

bool trt_layer_read(const char *text, struct trt_layer *layer)
{
    struct members members = {.parameter_type = ""};
    struct json_reader reader;
    char key[KEY_BYTES];

    *layer = (struct trt_layer){.name = ""};
    json_read_begin(&reader, text, strlen(text));
    if (json_read_next(&reader) != JSON_READ_OBJECT || !json_read_open(&reader))
        return false;
    while (json_read_member(&reader, key, sizeof key))
        read_member(&reader, key, layer, &members);
    if (!json_read_end(&reader) || (!*layer->name && !*layer->type))
        return false;
    if (!*layer->type)
        snprintf(layer->type, sizeof layer->type, "%s", members.parameter_type);
    if (!*layer->tactic)
        snprintf(layer->tactic, sizeof layer->tactic, "%s", members.tactic_value);
    const char *precision = precision_of(members.output.format);
    if (!*precision)
        precision = precision_of(members.input.format);
    snprintf(layer->precision, sizeof layer->precision, "%s", precision);
    snprintf(layer->dimensions, sizeof layer->dimensions, "%s", members.output.dimensions);
    snprintf(layer->input_dimensions, sizeof layer->input_dimensions, "%s",
             members.input.dimensions);
    return true;
}

/* ---- Marks ---- */

static bool ends_in_copy(const char *name)
{
    size_t length = strlen(name);

    return length >= 4 && !strcasecmp(name + length - 4, "copy") &&
           (length == 4 || name[length - 5] == ' ');
}

enum trt_mark trt_layer_mark(const char *name, const char *type)
{
    if (type && *type) {
        if (strcasestr(type, "reformat"))
            return TRT_REFORMAT;
        if (strcasestr(type, "shuffle"))
            return TRT_SHUFFLE;
        if (strcasestr(type, "noop"))
            return TRT_NOOP;
        return strcasestr(type, "copy") ? TRT_COPY : TRT_COMPUTES;
    }
    if (strcasestr(name, "reformat"))
        return TRT_REFORMAT;
    if (strcasestr(name, "[shuffle]"))
        return TRT_SHUFFLE;
    if (strcasestr(name, "[noop]"))
        return TRT_NOOP;
    return ends_in_copy(name) ? TRT_COPY : TRT_COMPUTES;
}

const char *trt_mark_name(enum trt_mark mark)
{
    static const char *const names[TRT_MARKS] = {NULL, "reformat", "shuffle", "noop", "copy"};

    return names[mark];
}
