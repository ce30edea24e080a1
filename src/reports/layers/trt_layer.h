/* What TensorRT says about a layer in the text of its NVTX range.
 *
 * By default the text is the layer's name. If an engine was built with
 * ProfilingVerbosity::kDETAILED, the text can be a JSON object with the members of
 * IEngineInspector::getLayerInformation (TensorRT's documentation, "Engine Inspector"):
 *
 *     {"Name": "conv1 + relu1", "LayerType": "CaskConvolution",
 *      "Inputs": [{"Name": "x", "Dimensions": [1,3,224,224],
 *                  "Format/Datatype": "Row major linear FP16 format"}],
 *      "Outputs": [{...}], "ParameterType": "Convolution", ...,
 *      "TacticName": "sm80_xmma_fprop_...", "TacticValue": "0x11bde0e1d9f2f35d", "Metadata": "..."}
 *
 * A text that is no such object, or a cut or malformed one, is taken as a name only.
 */
#ifndef MP_REPORTS_LAYERS_TRT_LAYER_H
#define MP_REPORTS_LAYERS_TRT_LAYER_H

#include <stdbool.h>

/* A text is "" if the object does not give it. Longer ones are cut. */
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

/* Finds the mark; case does not matter. If there is a type, the type decides: it contains
 * `Reformat`, `Shuffle`, `NoOp` or `copy`. Otherwise the name decides: it contains `reformat` (as
 * in `Reformatting CopyNode`), `[Shuffle]` or `[NoOp]` (TensorRT's names for unnamed layers), or
 * its last word is `copy`. `type` may be NULL or "". */
enum trt_mark trt_layer_mark(const char *name, const char *type);

/* "reformat", "shuffle", "noop", "copy"; NULL for TRT_COMPUTES. */
const char *trt_mark_name(enum trt_mark mark);

#endif
