#!/bin/bash
# Layers of programs that say by construction which kernel was launched in which range: nested, in
# domains, from other threads, through CUDA graphs, and without API calls.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# layers NAME [OPTION...]: "path calls WORK=COUNT..." of each layer, the work that is its own.
layers() {
    local name=$1
    shift
    "$miniprof" layers --json --tree "$@" "$work/$name.mpt" 2>/dev/null | python3 -c '
import json, sys
document = json.load(sys.stdin)
paths = {None: []}
for layer in document["layers"]:
    own = layer["name"] or "-"
    own += "@" + layer["domain"] if layer["domain"] else ""
    paths[layer["id"]] = paths[layer["parent"]] + [own]
    of_self = {}
    for work in layer["work"]:
        if work["self_calls"]:
            of_self[work["short_name"]] = work["self_calls"]
    print(" > ".join(paths[layer["id"]]), layer["calls"],
          " ".join("%s=%d" % item for item in sorted(of_self.items())))' | sed 's/ *$//'
}

# facts NAME OPTION... -- KEY...: values of the JSON document.
facts() {
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    "$miniprof" layers --json "${options[@]:1}" "$work/${options[0]}.mpt" 2>/dev/null | python3 -c '
import json, sys
document = json.load(sys.stdin)
print(*(document[key] for key in sys.argv[1:]))' "$@"
}

# sums NAME: device time of the tables, and of the layers.
sums() {
    local of_tables of_layers
    of_tables=$({ column "$1" kernel duration; column "$1" copy duration; column "$1" set duration
        } | awk '{ sum += $1 } END { print sum + 0 }')
    of_layers=$("$miniprof" layers --json "$work/$1.mpt" 2>/dev/null | python3 -c '
import json, sys
document = json.load(sys.stdin)
layers = document["layers"]
outermost = sum(layer["total_ns"] for layer in layers if layer["parent"] is None)
assert document["device_ns"] == outermost
print(sum(layer["self_ns"] for layer in layers))')
    same "$1: the layers sum to all device time" "$of_tables" "$of_layers"
}

program=(init stream=1 start alpha=1
    push=outer alpha=2 push-in=lib:inner beta=3 copy-in=64 push=deep gamma=1 pop pop-in=lib:
    set=64 pop push=outer alpha=1 pop stop print=done)
profile nested -- "$steps" "${program[@]}"
complete nested nested
same "nested: kernels, copies and sets of each layer" "outer 2 [CUDA memset]=1 alpha=3
outer > inner@lib 1 [CUDA memcpy HtoD]=1 beta=3
outer > inner@lib > deep 1 gamma=1
- 0 alpha=1" "$(layers nested)"
sums nested
same "nested: one domain" "- 0 [CUDA memset]=1 alpha=4
inner@lib 1 [CUDA memcpy HtoD]=1 beta=3 gamma=1" "$(layers nested --domain lib | sort)"
same "nested: inside ranges of a name" "outer 1
outer > inner@lib 1
outer > inner@lib > deep 1 gamma=1" "$(layers nested --iterations deep)"

# Iterations that have no name: what nobody waits for belongs to no request.
once=(push=model alpha=1 beta=2 pop sync)
profile waits -- "$steps" init start "${once[@]}" "${once[@]}" "${once[@]}" "${once[@]}" gamma=3 \
    stop print=done
same "waits: inside requests" "model 4 alpha=4 beta=8" "$(layers waits --iteration requests)"
same "waits: a name as a way" "model 4 alpha=4 beta=8" "$(layers waits --iteration nvtx:model)"
same "waits: all" "model 4 alpha=4 beta=8
- 0 gamma=3" "$(layers waits)"
same "waits: how many" "4 requests" \
    "$(facts waits --iteration requests -- iterations iteration)"
"$miniprof" layers --iteration requests:nobody "$work/waits.mpt" >"$work/out" 2>"$work/err"
same "waits: a thread that there is not" "2 there is no thread 'nobody'" \
    "$? $(grep -o "there is no thread 'nobody'" "$work/err")"
once=(alpha=1 beta=2 sync)
profile plain -- "$steps" init start "${once[@]}" "${once[@]}" "${once[@]}" "${once[@]}" gamma=3 \
    stop print=done
same "plain: kernels by position, inside requests" "12 4" \
    "$(facts plain --iteration requests -- kernels rounds)"

# A kernel of another thread is in no range of this one's stack, but in a range that was started.
profile threads -- "$steps" init start push=here aside=2 join pop range-start=1,request aside=3 \
    join alpha=1 range-end=1 aside=4 join stop print=done
same "threads: a started range is every thread's" "request 1 alpha=4
- 0 alpha=6" "$(layers threads | sort -r)"
sums threads

# alpha in layer1, beta in layer2, both in model; gamma in no range; launched twice in one step.
profile graph -- "$steps" init stream=1 capture push=model push=layer1 alpha=1 pop push=layer2 \
    beta=2 pop pop gamma=1 end-capture=0 instantiate=0 start push=step launch=0 launch=0 sync pop \
    launch=0 sync stop print=done
same "graph: captured paths under the launch" "step 1 gamma=2
step > model 2
step > model > layer2 2 beta=4
step > model > layer1 2 alpha=2
model 1
model > layer2 1 beta=2
model > layer1 1 alpha=1
- 0 gamma=1" "$(layers graph)"
sums graph

profile no_api MINIPROF_API=none -- "$steps" "${program[@]}"
like "no API calls: positions instead" 'No API calls in the trace: .* kernels by position' \
    "$("$miniprof" layers no_api.mpt 2>&1)"
profile no_nvtx -- "$steps" init start alpha=1 alpha=1 beta=1 alpha=1 beta=1 alpha=1 beta=1 stop
like "no ranges: positions" 'No NVTX ranges .*3 rounds of 2 kernels, from kernel 2 on' \
    "$("$miniprof" layers no_nvtx.mpt 2>&1 | tr '\n' ' ')"
finish
