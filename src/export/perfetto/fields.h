/* Numbers of the messages' fields, as Perfetto's .proto files have them (v58): trace_packet,
 * interned_data, track_descriptor, track_event, debug_annotation, gpu_render_stage_event,
 * gpu_track_event, gpu_info, clock_snapshot. tests/exports/perfetto.proto says the same in protoc's
 * language.
 */
#ifndef MP_EXPORT_PERFETTO_FIELDS_H
#define MP_EXPORT_PERFETTO_FIELDS_H

enum { TRACE_PACKET = 1 };

enum {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_GPU_EVENT = 53,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    PACKET_GPU_INFO = 128
};

enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { CLOCK_OF_REALTIME = 1, CLOCK_OF_MONOTONIC = 3, CLOCK_OF_BOOTTIME = 6 };
enum { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY = 2, SNAPSHOT_ID = 1, SNAPSHOT_TIME = 2 };

enum {
    INTERNED_CATEGORIES = 1,
    INTERNED_NAMES = 2,
    INTERNED_ANNOTATIONS = 3,
    INTERNED_FUNCTIONS = 5,
    INTERNED_FRAMES = 6,
    INTERNED_CALLSTACKS = 7,
    INTERNED_SOURCES = 18,
    INTERNED_CONTEXTS = 23,
    INTERNED_SPECIFICATIONS = 24,
    INTERNED_KERNELS = 1000,
    INTERNED_ARGUMENTS = 1001
};

/* Of everything that is interned; specifications have a description and a category, too. */
enum { IID = 1, IID_NAME = 2, SPECIFICATION_TEXT = 3, SPECIFICATION_CATEGORY = 4 };
enum { CATEGORY_OTHER = 0, CATEGORY_COMPUTE = 2 };
enum { CONTEXT_PID = 2, CONTEXT_API = 3, API_CUDA = 4 };
enum { FRAME_FUNCTION = 2, FRAME_SOURCE = 5, FRAME_LINE = 6, CALLSTACK_FRAMES = 2 };
enum { KERNEL_READABLE = 3, KERNEL_ARCH = 4, KERNEL_ARGUMENTS = 5 };

enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_ORDERING = 11, /* of its children */
    TRACK_RANK = 12
};
enum { ORDER_BY_RANK = 3 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6, THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, UNIT_BYTES = 3 };

enum {
    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_COUNT = 30,
    EVENT_VALUE = 44,
    EVENT_CORRELATION = 52,
    EVENT_CALLSTACK = 56,
    EVENT_GPU_CORRELATION = 3000,
    EVENT_GPU_API = 3001
};
enum { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3, EVENT_COUNTER = 4 };
enum { CORRELATION_SUBMITTED = 1, CORRELATION_AWAITED = 2 };

enum {
    ANNOTATION_NAME = 1,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_TEXT = 6
};

enum {
    STAGE_EVENT_ID = 1,
    STAGE_DURATION = 2,
    STAGE_CONTEXT = 5,
    STAGE_GPU = 11,
    STAGE_QUEUE = 13,
    STAGE_STAGE = 14,
    STAGE_AWAITED = 18,
    STAGE_KERNEL = 19,
    STAGE_NAME = 20,
    STAGE_LAUNCH = 21
};
enum { LAUNCH_GRID = 1, LAUNCH_BLOCK = 2, LAUNCH_ARGUMENTS = 3 };
enum { ARGUMENT_NAME = 1, ARGUMENT_INT = 3, ARGUMENT_DOUBLE = 5, ARGUMENT_TEXT = 6 };

enum { GPUS = 1, GPU_NAME = 1, GPU_VENDOR = 2, GPU_MODEL = 3, GPU_ARCH = 4, GPU_UUID = 5 };

#endif
