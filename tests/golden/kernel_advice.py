"""The evidence of the rules of `miniprof advise` that know kernels by their names, from the rows of
`miniprof dump`. Names here are mangled ones, and the patterns are this file's own: they cover the
kernels of tests/data.
"""
import collections
import re

LAYOUT = re.compile(r"nchwToNhwc|nhwcToNchw")
SPLIT_K = re.compile(r"splitKreduce")
NORM = re.compile(r"bn_fw_inf")
POINTWISE = re.compile(r"at6native\d+(vectorized|unrolled)_elementwise_kernel"
                       r"(?!.*(copy_kernel|Fill))")
TF32 = re.compile(r"tf32|s1688gemm")
FP32 = re.compile(r"f32f32_f32f32|sgemm|gemvx\d*kernelIiiffff")

SHAPE = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers")


def kernels_of(loop, counted=True):
    """(work, name) of the kernels of iterations, in order of time; of those that count only."""
    for work in loop.trace.work:
        of = loop.of_call(work.call) if work.call else None
        if work.kind == "kernel" and (loop.counted(of) if counted else of is not None):
            yield of, work, loop.names[work.row["shape"]]


def sums(loop, picked):
    """The numbers that these rules have in common."""
    total = sum(work.end - work.begin for _, work, _ in kernels_of(loop))
    time = sum(work.end - work.begin for work in picked)
    return {"kernels": len(picked) / loop.judged, "kernels_ns": time / loop.judged,
            "kernel_percent": 100 * time / total}


def behind_first(loop, pattern):
    """Kernels of that name, but for the first one of each iteration."""
    seen, picked = set(), []
    for of, work, name in kernels_of(loop):
        if pattern.search(name):
            if of in seen:
                picked.append(work)
            seen.add(of)
    return picked


def layout_changes(loop):
    """There and back."""
    return sums(loop, behind_first(loop, LAYOUT))


def split_k(loop):
    """All of them."""
    return sums(loop, [work for _, work, name in kernels_of(loop) if SPLIT_K.search(name)])


def low_precision(loop):
    """Products in TF32 and FP32."""
    tf32 = [work for _, work, name in kernels_of(loop) if TF32.search(name)]
    fp32 = [work for _, work, name in kernels_of(loop)
            if FP32.search(name) and not TF32.search(name)]
    return {**sums(loop, tf32 + fp32),
            "tf32_ns": sum(work.end - work.begin for work in tf32) / loop.judged,
            "fp32_ns": sum(work.end - work.begin for work in fp32) / loop.judged}


def unfused_pointwise(loop):
    """Right behind another one, a product, its sum or a layout change."""
    streams, picked, norms = collections.defaultdict(list), [], 0
    for work in loop.trace.work:
        streams[work.row["stream"]].append(work)
    for works in streams.values():
        works.sort(key=lambda w: (w.begin, w.correlation))
        for before, work in zip(works, works[1:]):
            if work.kind != "kernel" or before.kind != "kernel" or not work.call:
                continue
            of, name = loop.of_call(work.call), loop.names[work.row["shape"]]
            taker = loop.names[before.row["shape"]]
            light = NORM.search(name) or POINTWISE.search(name)
            takes = any(kind.search(taker) for kind in (LAYOUT, SPLIT_K, NORM, POINTWISE, TF32,
                                                        FP32))
            if light and takes and before.call and loop.of_call(before.call) == of and \
                    loop.counted(of):
                picked.append(work)
                norms += bool(NORM.search(name))
    return {**sums(loop, picked), "batch_norms": norms / loop.judged}


def small_grids(loop):
    """Grids below a wave by `miniprof kernels`, which compare_kernels.py checks."""
    known = {tuple(row[key] for key in SHAPE) + (row["dynamic_shared_bytes"], row["name"]):
             row["waves"] for row in loop.kernels()["kernels"]}
    picked, weighted = [], 0
    for _, work, name in kernels_of(loop):
        shape = loop.shapes[work.row["shape"]]
        waves = known[tuple(shape[key] for key in SHAPE) + (shape["dynamic_shared_memory"], name)]
        if waves is not None and waves < 1:
            picked.append(work)
            weighted += waves * (work.end - work.begin)
    time = sum(work.end - work.begin for work in picked)
    return {**sums(loop, picked), "waves": weighted / time}


EVIDENCE = {"layout_changes": layout_changes, "split_k": split_k, "low_precision": low_precision,
            "unfused_pointwise": unfused_pointwise, "small_grids": small_grids}
