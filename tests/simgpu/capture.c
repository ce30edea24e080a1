/*
 * capture.c: stream capture.
 *
 * A capturing stream keeps, instead of a time, its *tail*: the nodes that the next node depends
 * on. Recording an event copies the tail into the event; waiting for such an event merges the
 * event's tail into the waiting stream's, which joins the capture if it had none.
 */
#include "simgpu.h"

#include <stdlib.h>

static struct sg_capture *captures;
static uint64_t last_capture_id;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static struct sg_capture *find_capture(uint64_t id)
{
    struct sg_capture *c = captures;

    while (id && c && c->id != id)
        c = c->next;
    return id ? c : NULL;
}

bool sg_eventIsCaptured(CUevent event)
{
    return find_capture(event->capture_id) != NULL;
}

CUresult sg_captureAdd(CUstream stream, struct sg_op *op)
{
    const struct sg_nodes *tail = &stream->tail;
    uint64_t lead = op->type == SG_OP_KERNEL ? op->launch.lead : 0;
    bool overlaps = lead && tail->count == 1 && tail->items[0]->op.type == SG_OP_KERNEL;
    CUgraphNode node;
    CUresult result;

    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    result = sg_graphAdd(stream->capture->graph, tail, overlaps ? &lead : NULL, op, &node);
    if (result)
        return result;
    stream->tail.count = 0;
    return sg_nodesAdd(&stream->tail, node);
}

CUresult sg_captureRecord(CUstream stream, CUevent event)
{
    event->capture_id = stream->capture->id;
    event->recorded = false;
    event->tail.count = 0;
    return sg_nodesMerge(&event->tail, &stream->tail);
}

CUresult sg_captureWait(CUstream stream, CUevent event)
{
    struct sg_capture *capture = find_capture(event->capture_id);

    if (stream == stream->context->null_stream)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (stream->capture && stream->capture != capture)
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (!stream->capture)
        stream->tail.count = 0;
    stream->capture = capture;
    return sg_nodesMerge(&stream->tail, &event->tail);
}

static bool is_capturing(const struct CUstream_st *stream)
{
    return stream->capture && stream->capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
}

CUresult sg_captureForbid(CUcontext context, CUstream stream)
{
    bool all = context || stream == stream->context->null_stream;
    CUcontext of = context ? context : stream->context;
    CUresult result = CUDA_SUCCESS;

    if (stream && stream->capture) {
        stream->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    if (!all)
        return CUDA_SUCCESS;
    for (CUstream s = sg_nextStream(of, NULL); s; s = sg_nextStream(of, s)) {
        bool apart = s->context != of || (s->flags & CU_STREAM_NON_BLOCKING);

        if (!is_capturing(s) || (!context && apart))
            continue;
        s->capture->invalid = true;
        result =
            context ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return result;
}

static bool forbids_unsafe(const struct sg_capture *capture)
{
    bool mine = capture->thread == &thread_mode;

    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (mine)
        return capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult sg_captureForbidUnsafe(void)
{
    CUresult result = CUDA_SUCCESS;

    for (struct sg_capture *c = captures; c; c = c->next) {
        if (!forbids_unsafe(c))
            continue;
        c->invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return result;
}

SG_FUNCTION(cuStreamBeginCapture_v2, (CUstream hStream, CUstreamCaptureMode mode), hStream, mode)
{
    CUstream stream = sg_stream(sg_context(), hStream);
    struct sg_capture *capture;

    if (stream == stream->context->null_stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (stream->held)
        return CUDA_ERROR_NOT_SUPPORTED;
    capture = calloc(1, sizeof(*capture));
    if (!capture || !(capture->graph = sg_graphNew())) {
        free(capture);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    capture->origin = stream;
    capture->mode = mode;
    capture->thread = &thread_mode;
    capture->id = ++last_capture_id;
    capture->next = captures;
    captures = capture;
    stream->capture = capture;
    stream->tail.count = 0;
    return CUDA_SUCCESS;
}

static void mark_ancestors(CUgraphNode node, bool *marked)
{
    if (marked[node->index])
        return;
    marked[node->index] = true;
    for (size_t i = 0; i < node->dep_count; i++)
        mark_ancestors(node->deps[i], marked);
}

/* Every stream that joined must have been joined back: its tail lies before the origin's. */
static bool is_joined(const struct sg_capture *capture)
{
    bool *marked = calloc(capture->graph->nodes.count + 1, sizeof(*marked));
    CUcontext root = sg_contextRoot(capture->origin->context);
    bool joined = marked != NULL;

    for (size_t i = 0; joined && i < capture->origin->tail.count; i++)
        mark_ancestors(capture->origin->tail.items[i], marked);
    for (CUstream s = sg_nextStream(root, NULL); joined && s; s = sg_nextStream(root, s))
        for (size_t i = 0; s->capture == capture && i < s->tail.count; i++)
            joined = joined && marked[s->tail.items[i]->index];
    free(marked);
    return joined;
}

static void capture_end(struct sg_capture *capture)
{
    struct sg_capture **link = &captures;
    CUcontext root = sg_contextRoot(capture->origin->context);

    for (CUstream s = sg_nextStream(root, NULL); s; s = sg_nextStream(root, s))
        if (s->capture == capture)
            s->capture = NULL;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    free(capture);
}

SG_FUNCTION(cuStreamEndCapture, (CUstream hStream, CUgraph *phGraph), hStream, phGraph)
{
    CUstream stream = sg_stream(sg_context(), hStream);
    struct sg_capture *capture = stream->capture;
    CUresult result = CUDA_SUCCESS;
    CUgraph graph;

    if (!phGraph)
        return CUDA_ERROR_INVALID_VALUE;
    *phGraph = NULL;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    graph = capture->graph;
    if (capture->invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(capture))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    capture_end(capture);
    if (result)
        sg_graphFree(graph);
    else
        *phGraph = graph;
    return result;
}

static CUstreamCaptureStatus capture_status(const struct CUstream_st *stream)
{
    if (!stream->capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

SG_FUNCTION(cuStreamIsCapturing, (CUstream hStream, CUstreamCaptureStatus *captureStatus), hStream,
            captureStatus)
{
    if (!captureStatus)
        return CUDA_ERROR_INVALID_VALUE;
    *captureStatus = capture_status(sg_stream(sg_context(), hStream));
    return CUDA_SUCCESS;
}

/* What cuStreamGetCaptureInfo is asked for; each may be NULL. */
struct info_out {
    CUstreamCaptureStatus *status;
    cuuint64_t *id;
    CUgraph *graph;
    const CUgraphNode **dependencies;
    size_t *count;
};

static CUresult capture_info(const struct CUstream_st *stream, const struct info_out *out)
{
    if (!out->status)
        return CUDA_ERROR_INVALID_VALUE;
    *out->status = capture_status(stream);
    if (!stream->capture)
        return CUDA_SUCCESS;
    if (out->id)
        *out->id = stream->capture->id;
    if (out->graph)
        *out->graph = stream->capture->graph;
    if (out->dependencies)
        *out->dependencies = stream->tail.items;
    if (out->count)
        *out->count = stream->tail.count;
    return CUDA_SUCCESS;
}

#ifndef SIMGPU_LACKS_cuStreamGetCaptureInfo_v3
SG_FUNCTION(cuStreamGetCaptureInfo_v3,
            (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
             CUgraph *graph_out, const CUgraphNode **dependencies_out,
             const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out),
            hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out,
            numDependencies_out)
{
    const struct info_out out = {captureStatus_out, id_out, graph_out, dependencies_out,
                                 numDependencies_out};

    if (captureStatus_out && edgeData_out)
        *edgeData_out = NULL;
    return capture_info(sg_stream(sg_context(), hStream), &out);
}
#endif

#if CUDA_VERSION < 13000
SG_FUNCTION(cuStreamGetCaptureInfo_v2,
            (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
             CUgraph *graph_out, const CUgraphNode **dependencies_out, size_t *numDependencies_out),
            hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out)
{
    const struct info_out out = {captureStatus_out, id_out, graph_out, dependencies_out,
                                 numDependencies_out};

    return capture_info(sg_stream(sg_context(), hStream), &out);
}
#endif

SG_FUNCTION(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), mode)
{
    CUstreamCaptureMode previous = thread_mode;

    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    thread_mode = *mode;
    *mode = previous;
    return CUDA_SUCCESS;
}
