/* What is read of TensorRT's description of a layer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "reports/layers/trt_layer.h"

static void an_object_is_read(void **state)
{
    struct trt_layer layer;

    (void)state;
    assert_true(trt_layer_read(
        "{\"Name\": \"conv1 + relu1\", \"LayerType\": \"CaskConvolution\", \"Inputs\": [{\"Name\": "
        "\"x\", \"Location\": \"Device\", \"Dimensions\": [1,3,224,224], \"Format/Datatype\": "
        "\"Row major linear FP32\"}, {\"Dimensions\": [9], \"Format/Datatype\": \"Int8\"}], "
        "\"Outputs\": [{\"Name\": \"y\", \"Dimensions\": [1,64,112,112], \"Format/Datatype\": "
        "\"Channel major FP16 format where channel % 8 == 0\"}], \"ParameterType\": "
        "\"Convolution\", \"Kernel\": [7,7], \"Weights\": {\"Type\": \"Half\", \"Count\": 9408}, "
        "\"HasBias\": 1, \"TacticName\": \"sm80_xmma_fprop\", \"TacticValue\": \"0x11b\", "
        "\"StreamId\": 0, \"Metadata\": \"[ONNX Layer: /conv1]\\u001e[ONNX Layer: /relu1]\"}",
        &layer));
    assert_string_equal(layer.name, "conv1 + relu1");
    assert_string_equal(layer.type, "CaskConvolution");
    assert_string_equal(layer.precision, "FP16");
    assert_string_equal(layer.tactic, "sm80_xmma_fprop");
    assert_string_equal(layer.dimensions, "1x64x112x112");
    assert_string_equal(layer.input_dimensions, "1x3x224x224");
}

static void what_it_does_not_say_is_empty(void **state)
{
    struct trt_layer layer;

    (void)state;
    assert_true(trt_layer_read(" {\"Name\":\"a\",\"ParameterType\":\"Reformat\",\"Inputs\":[],"
                               "\"Outputs\":null,\"TacticValue\":17}\n",
                               &layer));
    assert_string_equal(layer.type, "Reformat");
    assert_string_equal(layer.precision, "");
    assert_string_equal(layer.tactic, "17");
    assert_string_equal(layer.dimensions, "");
    assert_true(trt_layer_read("{\"LayerType\":\"NoOp\"}", &layer));
    assert_string_equal(layer.name, "");
}

static void members_of_another_kind_are_passed_over(void **state)
{
    struct trt_layer layer;

    (void)state;
    assert_true(trt_layer_read("{\"Name\":\"a\",\"LayerType\":[1,{}],\"Outputs\":[7],\"Inputs\":"
                               "{\"Dimensions\":[1]},\"TacticName\":null}",
                               &layer));
    assert_string_equal(layer.type, "");
    assert_true(trt_layer_read("{\"Name\":\"a\",\"Outputs\":[{\"Dimensions\":\"no\","
                               "\"Format/Datatype\":3}]}",
                               &layer));
    assert_string_equal(layer.dimensions, "");
    assert_true(
        trt_layer_read("{\"Name\":\"a\",\"Outputs\":[{\"Dimensions\":[1,\"x\",2]}]}", &layer));
    assert_string_equal(layer.dimensions, "1x2");
}

static void anything_else_is_a_name(void **state)
{
    static const char *const names[] = {
        "",
        "conv1",
        "{",
        "{}",
        "{\"Name\":\"a\"",
        "{\"Name\":\"a\"} and more",
        "[{\"Name\":\"a\"}]",
        "{\"name\":\"a\"}",
        "{\"Name\":\"a\",}",
        "{Name: a}",
        "{\"Name\": \"cut because it is lon",
        "{\"Name\":\"a\",\"x\":[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]}",
    };
    struct trt_layer layer;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(trt_layer_read(names[i], &layer));
}

static const char *precision_of(const char *output, const char *input)
{
    static struct trt_layer layer;
    char text[256];

    snprintf(text, sizeof text,
             "{\"Name\":\"a\",\"Outputs\":[{\"Format/Datatype\":\"%s\"}],"
             "\"Inputs\":[{\"Format/Datatype\":\"%s\"}]}",
             output, input);
    assert_true(trt_layer_read(text, &layer));
    return layer.precision;
}

static void the_precision_is_a_word_of_the_format(void **state)
{
    (void)state;
    assert_string_equal(precision_of("Row major linear FP32", "Half"), "FP32");
    assert_string_equal(precision_of("Half", ""), "FP16");
    assert_string_equal(precision_of("Float(150528,50176:1)", ""), "FP32");
    assert_string_equal(
        precision_of("Thirty-two wide channel vectorized row major Int8 format.", ""), "INT8");
    assert_string_equal(precision_of("Row major linear BFloat16 format", ""), "BF16");
    assert_string_equal(precision_of("Row major linear BOOL", ""), "BOOL");
    assert_string_equal(precision_of("Channel major FP8 format", ""), "FP8");
    assert_string_equal(precision_of("N/A due to dynamic shapes", "Half"), "FP16");
    assert_string_equal(precision_of("Halfway", "Unknown format"), "");
}

static void long_texts_are_cut(void **state)
{
    static struct trt_layer layer;
    static char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, "{\"Name\":\"");

    (void)state;
    memset(text + used, 'n', 1500);
    used += 1500;
    used += (size_t)snprintf(text + used, sizeof text - used, "\",\"Outputs\":[{\"Dimensions\":[");
    for (int i = 0; i < 60; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s12345", i ? "," : "");
    snprintf(text + used, sizeof text - used, "]}]}");
    assert_true(trt_layer_read(text, &layer));
    assert_int_equal(strlen(layer.name), sizeof layer.name - 1);
    assert_int_equal(strlen(layer.dimensions), 95);
}

static void layers_that_move_data_are_marked(void **state)
{
    (void)state;
    assert_int_equal(trt_layer_mark("a", "Reformat"), TRT_REFORMAT);
    assert_int_equal(trt_layer_mark("a", "reformat"), TRT_REFORMAT);
    assert_int_equal(trt_layer_mark("a", "Shuffle"), TRT_SHUFFLE);
    assert_int_equal(trt_layer_mark("a", "NoOp"), TRT_NOOP);
    assert_int_equal(trt_layer_mark("a", "CopyNode"), TRT_COPY);
    assert_int_equal(trt_layer_mark("Reformatting CopyNode for x", "CaskConvolution"),
                     TRT_COMPUTES); /* the type decides */
    assert_int_equal(trt_layer_mark("Reformatting CopyNode for Input Tensor 0 to conv1", NULL),
                     TRT_REFORMAT);
    assert_int_equal(trt_layer_mark("(Unnamed Layer* 3) [Shuffle]", ""), TRT_SHUFFLE);
    assert_int_equal(trt_layer_mark("/stem/Conv_output_0 copy", NULL), TRT_COPY);
    assert_int_equal(trt_layer_mark("copy", NULL), TRT_COPY);
    assert_int_equal(trt_layer_mark("photocopy", NULL), TRT_COMPUTES);
    assert_int_equal(trt_layer_mark("", NULL), TRT_COMPUTES);
    assert_null(trt_mark_name(TRT_COMPUTES));
    assert_string_equal(trt_mark_name(TRT_COPY), "copy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_read),
        cmocka_unit_test(what_it_does_not_say_is_empty),
        cmocka_unit_test(members_of_another_kind_are_passed_over),
        cmocka_unit_test(anything_else_is_a_name),
        cmocka_unit_test(the_precision_is_a_word_of_the_format),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(layers_that_move_data_are_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
