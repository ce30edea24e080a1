/*
 * metrics_ptx.c: the kernels of metrics.c.
 *
 * No kernel has a bounds check: each is launched with as many threads as it has work, so that all
 * threads of a kernel execute the same. Parameters are read from constant memory and count as no
 * global load. PTX 7.0 for sm_70 runs on every GPU that CUPTI's range profiler knows.
 */
#include "metrics_ptx.h"

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

/* %i: number of the thread in the grid. */
#define PTX_THREAD                                                                                 \
    "    .reg .b32 %i, %block, %threads, %thread;\n"                                               \
    "    mov.u32 %block, %ctaid.x;\n"                                                              \
    "    mov.u32 %threads, %ntid.x;\n"                                                             \
    "    mov.u32 %thread, %tid.x;\n"                                                               \
    "    mad.lo.u32 %i, %block, %threads, %thread;\n"

/*
 * NAME(out, trips, two, half, one): out[i] = x + trips * TRIP_GAIN, where x = 1 + (i mod 64) / 64.
 *
 * A trip is a chain in which every operation needs the result of the one before; next to each
 * stands the value in terms of the value before the trip. The factors are parameters: a compiler
 * that does not know them cannot fold anything. add.rn and mul.rn are never contracted into fma
 * (PTX ISA, "add", "mul"). All values are multiples of 1/128 and small, so no operation rounds, and
 * the host can tell a lost operation by the result. x is made of its bits, without a conversion.
 */
#define PTX_FLOPS(name, type, bytes, first_value)                                                  \
    ".visible .entry " name "(.param .u64 p_out, .param .u32 p_trips, .param ." type " p_two,"     \
    " .param ." type " p_half, .param ." type " p_one)\n"                                          \
    "{\n" PTX_THREAD "    .reg .pred %more;\n"                                                     \
    "    .reg .b32 %trips, %zero, %bits;\n"                                                        \
    "    .reg .b64 %out, %offset;\n"                                                               \
    "    .reg ." type " %x, %two, %half, %one;\n"                                                  \
    "    ld.param.u32 %trips, [p_trips];\n"                                                        \
    "    ld.param." type " %two, [p_two];\n"                                                       \
    "    ld.param." type " %half, [p_half];\n"                                                     \
    "    ld.param." type " %one, [p_one];\n"                                                       \
    "    and.b32 %bits, %i, 63;\n" first_value "TRIP:\n"                                           \
    "    add.rn." type " %x, %x, %one;\n"        /* x + 1 */                                       \
    "    mul.rn." type " %x, %x, %two;\n"        /* 2x + 2 */                                      \
    "    fma.rn." type " %x, %x, %half, %one;\n" /* x + 2 */                                       \
    "    add.rn." type " %x, %x, %one;\n"        /* x + 3 */                                       \
    "    mul.rn." type " %x, %x, %half;\n"       /* x/2 + 1.5 */                                   \
    "    fma.rn." type " %x, %x, %two, %one;\n"  /* x + 4 */                                       \
    "    fma.rn." type " %x, %x, %two, %one;\n"  /* 2x + 9 */                                      \
    "    fma.rn." type " %x, %x, %half, %one;\n" /* x + 5.5 */                                     \
    "    add.rn." type " %x, %x, %one;\n"        /* x + 6.5 */                                     \
    "    fma.rn." type " %x, %x, %half, %one;\n" /* x/2 + 4.25 */                                  \
    "    fma.rn." type " %x, %x, %two, %one;\n"  /* x + 9.5 */                                     \
    "    sub.u32 %trips, %trips, 1;\n"                                                             \
    "    setp.ne.u32 %more, %trips, 0;\n"                                                          \
    "    @%more bra TRIP;\n"                                                                       \
    "    ld.param.u64 %out, [p_out];\n"                                                            \
    "    mul.wide.u32 %offset, %i, " bytes ";\n"                                                   \
    "    add.u64 %out, %out, %offset;\n"                                                           \
    "    st.global." type " [%out], %x;\n"                                                         \
    "    ret;\n"                                                                                   \
    "}\n"

#define FIRST_SP                                                                                   \
    "    shl.b32 %bits, %bits, 17;\n"                                                              \
    "    or.b32 %bits, %bits, 0x3f800000;\n"                                                       \
    "    mov.b32 %x, %bits;\n"

#define FIRST_DP                                                                                   \
    "    shl.b32 %bits, %bits, 14;\n"                                                              \
    "    or.b32 %bits, %bits, 0x3ff00000;\n"                                                       \
    "    mov.u32 %zero, 0;\n"                                                                      \
    "    mov.b64 %x, {%zero, %bits};\n"

/*
 * NAME(out, cycles, odd_cycles): every warp spins for so many SM clock cycles, those of an odd
 * number in their block for odd_cycles. The first thread of a block leaves out[block] = the SM, the
 * first and the last time seen on the GPU's clock, three 64-bit words.
 */
#define PTX_OCCUPANCY(name)                                                                        \
    ".visible .entry " name "(.param .u64 p_out, .param .u64 p_cycles, .param .u64 p_odd)\n"       \
    "{\n"                                                                                          \
    "    .reg .pred %odd_warp, %more, %other;\n"                                                   \
    "    .reg .b32 %thread, %bit, %block, %sm;\n"                                                  \
    "    .reg .b64 %first, %last, %begin, %now, %cycles, %odd, %out, %offset, %sm64;\n"            \
    "    mov.u64 %first, %globaltimer;\n"                                                          \
    "    mov.u64 %begin, %clock64;\n"                                                              \
    "    ld.param.u64 %cycles, [p_cycles];\n"                                                      \
    "    ld.param.u64 %odd, [p_odd];\n"                                                            \
    "    mov.u32 %thread, %tid.x;\n"                                                               \
    "    and.b32 %bit, %thread, 32;\n"                                                             \
    "    setp.ne.u32 %odd_warp, %bit, 0;\n"                                                        \
    "    selp.b64 %cycles, %odd, %cycles, %odd_warp;\n"                                            \
    "SPIN:\n"                                                                                      \
    "    mov.u64 %now, %clock64;\n"                                                                \
    "    sub.u64 %now, %now, %begin;\n"                                                            \
    "    setp.lt.u64 %more, %now, %cycles;\n"                                                      \
    "    @%more bra SPIN;\n"                                                                       \
    "    setp.ne.u32 %other, %thread, 0;\n"                                                        \
    "    @%other bra DONE;\n"                                                                      \
    "    mov.u64 %last, %globaltimer;\n"                                                           \
    "    mov.u32 %sm, %smid;\n"                                                                    \
    "    cvt.u64.u32 %sm64, %sm;\n"                                                                \
    "    mov.u32 %block, %ctaid.x;\n"                                                              \
    "    ld.param.u64 %out, [p_out];\n"                                                            \
    "    mul.wide.u32 %offset, %block, 24;\n"                                                      \
    "    add.u64 %out, %out, %offset;\n"                                                           \
    "    st.global.u64 [%out], %sm64;\n"                                                           \
    "    st.global.u64 [%out+8], %first;\n"                                                        \
    "    st.global.u64 [%out+16], %last;\n"                                                        \
    "DONE:\n"                                                                                      \
    "    ret;\n"                                                                                   \
    "}\n"

/* The address of thread i's first 16 bytes, and how far it is to its next ones. */
#define PTX_SWEEP                                                                                  \
    PTX_THREAD                                                                                     \
    "    .reg .pred %more;\n"                                                                      \
    "    .reg .b32 %rounds, %blocks, %all;\n"                                                      \
    "    .reg .b64 %at, %step, %offset;\n"                                                         \
    "    ld.param.u64 %at, [p_buffer];\n"                                                          \
    "    ld.param.u32 %rounds, [p_rounds];\n"                                                      \
    "    mul.wide.u32 %offset, %i, 16;\n"                                                          \
    "    add.u64 %at, %at, %offset;\n"                                                             \
    "    mov.u32 %blocks, %nctaid.x;\n"                                                            \
    "    mul.lo.u32 %all, %blocks, %threads;\n"                                                    \
    "    mul.wide.u32 %step, %all, 16;\n"

#define PTX_NEXT                                                                                   \
    "    add.u64 %at, %at, %step;\n"                                                               \
    "    sub.u32 %rounds, %rounds, 1;\n"                                                           \
    "    setp.ne.u32 %more, %rounds, 0;\n"                                                         \
    "    @%more bra NEXT;\n"

/*
 * dram_write(buffer, rounds, factor, salt): word j = factor * j + salt. In each round all threads
 * together write the next 16 bytes for each of them.
 */
#define PTX_DRAM_WRITE                                                                             \
    ".visible .entry dram_write(.param .u64 p_buffer, .param .u32 p_rounds,"                       \
    " .param .u32 p_factor, .param .u32 p_salt)\n"                                                 \
    "{\n" PTX_SWEEP "    .reg .b32 %factor, %salt, %j, %v<4>, %v_step;\n"                          \
    "    ld.param.u32 %factor, [p_factor];\n"                                                      \
    "    ld.param.u32 %salt, [p_salt];\n"                                                          \
    "    shl.b32 %j, %i, 2;\n"                                                                     \
    "    mad.lo.u32 %v0, %j, %factor, %salt;\n"                                                    \
    "    shl.b32 %v_step, %all, 2;\n"                                                              \
    "    mul.lo.u32 %v_step, %v_step, %factor;\n"                                                  \
    "NEXT:\n"                                                                                      \
    "    add.u32 %v1, %v0, %factor;\n"                                                             \
    "    add.u32 %v2, %v1, %factor;\n"                                                             \
    "    add.u32 %v3, %v2, %factor;\n"                                                             \
    "    st.global.v4.u32 [%at], {%v0, %v1, %v2, %v3};\n"                                          \
    "    add.u32 %v0, %v0, %v_step;\n" PTX_NEXT "    ret;\n"                                       \
    "}\n"

/* dram_read(buffer, rounds, out): out[i] = the sum of all words that thread i has read. */
#define PTX_DRAM_READ                                                                              \
    ".visible .entry dram_read(.param .u64 p_buffer, .param .u32 p_rounds, .param .u64 p_out)\n"   \
    "{\n" PTX_SWEEP "    .reg .b32 %sum, %v<4>;\n"                                                 \
    "    .reg .b64 %out;\n"                                                                        \
    "    mov.u32 %sum, 0;\n"                                                                       \
    "NEXT:\n"                                                                                      \
    "    ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%at];\n"                                          \
    "    add.u32 %v0, %v0, %v1;\n"                                                                 \
    "    add.u32 %v2, %v2, %v3;\n"                                                                 \
    "    add.u32 %v0, %v0, %v2;\n"                                                                 \
    "    add.u32 %sum, %sum, %v0;\n" PTX_NEXT "    ld.param.u64 %out, [p_out];\n"                  \
    "    mul.wide.u32 %offset, %i, 4;\n"                                                           \
    "    add.u64 %out, %out, %offset;\n"                                                           \
    "    st.global.u32 [%out], %sum;\n"                                                            \
    "    ret;\n"                                                                                   \
    "}\n"

/* The address of element i of p_out and the number of element i * stride. */
#define PTX_ELEMENT                                                                                \
    PTX_THREAD                                                                                     \
    "    .reg .b32 %stride, %far, %v;\n"                                                           \
    "    .reg .b64 %in, %out, %offset;\n"                                                          \
    "    ld.param.u32 %stride, [p_stride];\n"                                                      \
    "    ld.param.u64 %out, [p_out];\n"                                                            \
    "    mul.lo.u32 %far, %i, %stride;\n"

/* NAME(in, out, stride): out[i] = in[i * stride] + 1 */
#define PTX_GLD(name)                                                                              \
    ".visible .entry " name "(.param .u64 p_in, .param .u64 p_out, .param .u32 p_stride)\n"        \
    "{\n" PTX_ELEMENT "    ld.param.u64 %in, [p_in];\n"                                            \
    "    mul.wide.u32 %offset, %far, 4;\n"                                                         \
    "    add.u64 %in, %in, %offset;\n"                                                             \
    "    ld.global.u32 %v, [%in];\n"                                                               \
    "    add.u32 %v, %v, 1;\n"                                                                     \
    "    mul.wide.u32 %offset, %i, 4;\n"                                                           \
    "    add.u64 %out, %out, %offset;\n"                                                           \
    "    st.global.u32 [%out], %v;\n"                                                              \
    "    ret;\n"                                                                                   \
    "}\n"

/* NAME(out, stride): out[i * stride] = i + 1 */
#define PTX_GST(name)                                                                              \
    ".visible .entry " name "(.param .u64 p_out, .param .u32 p_stride)\n"                          \
    "{\n" PTX_ELEMENT "    add.u32 %v, %i, 1;\n"                                                   \
    "    mul.wide.u32 %offset, %far, 4;\n"                                                         \
    "    add.u64 %out, %out, %offset;\n"                                                           \
    "    st.global.u32 [%out], %v;\n"                                                              \
    "    ret;\n"                                                                                   \
    "}\n"

/* A name for each case, since reports add up by name. */
const char metrics_ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
    /* clang-format off */
    PTX_FLOPS("flops_sp", "f32", "4", FIRST_SP)
    PTX_FLOPS("flops_dp", "f64", "8", FIRST_DP)
    PTX_OCCUPANCY("occupancy_4_warps")
    PTX_OCCUPANCY("occupancy_8_warps")
    PTX_OCCUPANCY("occupancy_16_warps")
    PTX_OCCUPANCY("occupancy_24_warps")
    PTX_OCCUPANCY("occupancy_32_warps")
    PTX_OCCUPANCY("occupancy_all_warps")
    PTX_OCCUPANCY("occupancy_odd_warps_leave")
    PTX_DRAM_WRITE
    PTX_DRAM_READ
    PTX_GLD("gld_stride_1")
    PTX_GLD("gld_stride_2")
    PTX_GLD("gld_stride_4")
    PTX_GLD("gld_stride_8")
    PTX_GLD("gld_stride_32")
    PTX_GST("gst_stride_1")
    PTX_GST("gst_stride_2")
    PTX_GST("gst_stride_4")
    PTX_GST("gst_stride_8")
    PTX_GST("gst_stride_32");
/* clang-format on */
