#!/bin/bash
# Takes 12 s.
# tests/gpu/close_time.sh on the software GPU, beside a torch.profiler and an nsys that take a known
# time: what it says is right, and it notices a file that is not complete.
. "$SOURCE/tests/e2e/lib.sh" || exit 1
if sanitized; then
    echo "not with a build that has sanitizers: Python has no runtime for them"
    exit 77
fi
export SIMGPU=1 CLOSE_KERNELS=2000 ROUNDS=2

mkdir -p fake/torch
cat >fake/torch/__init__.py <<'END'
import time
import types


def zeros(count, device):
    assert (count, device) == (1, "cuda")


class Session:
    def __init__(self, activities):
        assert activities == ["CUDA"]

    def start(self):
        pass

    def stop(self):
        time.sleep(0.2)

    def export_chrome_trace(self, path):
        time.sleep(0.3)
        with open(path, "w") as file:
            file.write('{"cat": "kernel"}\n' * 7)


cuda = types.SimpleNamespace(is_available=lambda: True)
profiler = types.SimpleNamespace(profile=Session,
                                 ProfilerActivity=types.SimpleNamespace(CUDA="CUDA"))
END
cat >fake/nsys <<'END'
#!/bin/bash
[ "$1" != --version ] || { echo "NVIDIA Nsight Systems version 1"; exit; }
until [ "$1" = -o ]; do shift; done
"${@:3}"
sleep 0.7
echo report >"$2.qdstrm"
END
chmod +x fake/nsys

measure() {
    rm -f lines
    BENCH_RESULTS=$work/lines bash "$SOURCE/tests/gpu/close_time.sh" >said 2>&1
    status=$?
    [ "$status" -eq "$1" ] || cat said
}

# numbers SIDE PHASE: of both rounds.
numbers() {
    sed -n "s/^close|[01]|$1|$2|2000 kernels|//p" lines
}

# took SIDE PHASE LEAST: twice, at least that many seconds and less than twenty more.
took() {
    check "$1: $2" awk -v least="$3" '$1 < least || $1 > least + 20 { wrong = 1 }
        END { exit wrong || NR != 2 }' <(numbers "$1" "$2")
}

PATH=$work/fake:$PATH PYTHONPATH=$work/fake measure 0
same "exit code" 0 "$status"
same "kernels in the files" "2000 2000 7 7" \
    "$(echo $(numbers miniprof "kernels in it") $(numbers torch.profiler "kernels in it"))"
took miniprof "complete file, s" 0
took torch.profiler "the call, s" 0.2
took torch.profiler "complete file, s" 0.5
took nsys "the call, s" 0
took nsys "complete file, s" 0.69
same "a table and a verdict end it" "1 passed, 0 failed" "$(tail -n 1 said)"
like "with the version of nsys" 'nsys: NVIDIA Nsight Systems version 1' "$(cat said)"

# Without the others.
PYTHONPATH=$work MINIPROF_GPU=off measure 1
same "no kernels in the trace: exit code" 1 "$status"
like "no kernels in the trace: says so" 'with all kernels, in 0 of 2 rounds' "$(cat said)"
like "what there is not, is not measured" 'nsys: not measured' "$(cat said)"
finish
