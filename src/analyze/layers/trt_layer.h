/* What TensorRT says of a layer in the text of its NVTX range.
 *
 * By default the text is the layer's name. Of an engine built with ProfilingVerbosity::kDETAILED it
 * can be a JSON object with the members of IEngineInspector::getLayerInformation (TensorRT's
 * documentation, "Engine Inspector"):
 *
 *     {"Name": "conv1 + relu1", "LayerType": "CaskConvolution",
 *      "Inputs": [{"Name": "x", "Dimensions": [1,3,224,224],
 *                  "Format/Datatype": "Row major linear FP16 format"}],
 *      "Outputs": [{...}], "ParameterType": "Convolution", ...,
 *      "TacticName": "sm80_xmma_fprop_...", "TacticValue": "0x11bde0e1d9f2f35d", "Metadata": "..."}
 *
 * What is no such object, cut or malformed, is a name and nothing more.
 */
#ifndef MP_ANALYZE_LAYERS_TRT_LAYER_H
#define MP_ANALYZE_LAYERS_TRT_LAYER_H

#include <stdbool.h>

/* Texts are "" where the object does not say. Longer ones are cut. */
struct trt_layer {
    char name[1024];
    char type[64];             /* LayerType, else ParameterType */
    char precision[16];        /* FP32, FP16, BF16, FP8, INT8, ...: from the first output's
                                  Format/Datatype, else the first input's; "" when neither says */
    char tactic[256];          /* TacticName, else TacticValue */
    char dimensions[96];       /* of the first output: 1x64x112x112 */
    char input_dimensions[96]; /* of the first input */
};

/* Whether `text` is a JSON object with a Name or a LayerType. Nothing is allocated. */
bool trt_layer_read(const char *text, struct trt_layer *layer);

/* What a layer does besides computing: it moves or rearranges data. */
enum trt_mark {
    TRT_COMPUTES, /* or it is not known */
    TRT_REFORMAT, /* another layout or precision */
    TRT_SHUFFLE,  /* transposes, reshapes */
    TRT_NOOP,
    TRT_COPY,
    TRT_MARKS
};

/* Which it is. From the type, if there is one: `Reformat`, `Shuffle`, `NoOp` (any case, also with
 * more around them), any with `copy` in it. Else from the name: `Reformatting CopyNode` and other
 * names with `reformat` in them; `[Shuffle]`, `[NoOp]` as TensorRT calls layers without a name; a
 * last word `copy`. `type` may be NULL or "". */
enum trt_mark trt_layer_mark(const char *name, const char *type);

/* "reformat", "shuffle", "noop", "copy"; NULL for TRT_COMPUTES. */
const char *trt_mark_name(enum trt_mark mark);

#endif
