#!/bin/bash
# Takes 6 s.
# miniprof export --to kineto, chrome and folded: where they go, ranks, names, filters, bad input.
# What the files hold: tests/export.
. "$SOURCE/tests/tools/cli.sh" || exit 1

write_trace=$BUILD/tests/tools/write_trace

# events FILE EXPRESSION: python's value of it, with the document as d and its events as e.
events() {
    python3 -c "
import gzip, json, sys
sys.path.insert(0, '.')
data = open('$1', 'rb').read()
d = json.loads(gzip.decompress(data) if data[:2] == b'\x1f\x8b' else data)
e = d if type(d) is list else d['traceEvents']
def of(category, key='name'): return [each.get(key) for each in e if each.get('cat') == category]
def args(category, key): return [each['args'].get(key) for each in e if each.get('cat') == category]
sys.exit(not ($2))"
    verdict "$1: $2" $?
}

# ---- Where it goes ----

trace nvtx
trace plain
zipped=$("$miniprof" --version | grep -q '^zlib  *[0-9]' && echo .gz)
run export --to kineto plain.mpt
code 0
quiet
stdout <<<"plain.json$zipped"
events plain.json$zipped "of('kernel') and d['distributedInfo'] == {'rank': 0, 'world_size': 1}"
run export --to kineto -o plain-text.json plain.mpt
head -c 1 plain-text.json | grep -q '{'
verdict "a name without .gz is not compressed" $?
grep -q '^  *"rank": 0' plain-text.json
verdict "HTA finds the rank line by line" $?
run export --to kineto -o - plain.mpt
code 0
stdout <plain-text.json
if [ -n "$zipped" ]; then
    gzip -dc plain.json.gz | cmp -s - plain-text.json
    verdict "compressed or not, it is the same" $?
else
    run export --to kineto -o plain.json.gz plain.mpt
    code 2
    stderr <<<"miniprof export: 'plain.json.gz': miniprof was built without zlib: name a file that \
does not end in .gz"
fi
run export --to chrome -f plain.mpt
stdout <<<plain.json
events plain.json "type(d) is list and len(of('kernel')) == len(args('kernel', 'correlation'))"
run export --to kineto --analysis off -o off.json plain.mpt
code 0
events off.json "of('kernel') and not of('gpu_user_annotation') and \
not [n for n in of('user_annotation') if n.startswith('ProfilerStep')]"

# ---- Ranks: a file each, on one clock ----

mkdir ranks
for rank in 0 1; do trace rank$rank ranks/rank$rank.mpt; done
run export --to kineto -o out ranks
code 0
quiet
[ "$(cd out && echo *)" = "rank0.json$zipped rank1.json$zipped" ]
verdict "a file for each rank" $?
for rank in 0 1; do
    events out/rank$rank.json$zipped "d['distributedInfo'] == {'rank': $rank, 'world_size': 2} and \
d['baseTimeNanoseconds'] % (86400 * 10**9) == 0 and 0 <= e[0]['ts'] < 86400 * 10**6"
done
events out/rank1.json$zipped "d['baseTimeNanoseconds'] == __import__('json').loads(\
__import__('subprocess').check_output(['$miniprof', 'export', '--to', 'kineto', '-o', '-', \
'ranks/rank0.mpt']))['baseTimeNanoseconds']"

# ---- What becomes of a record: by hand ----

# Two streams, an event between them, a collective, a copy between peers.
cat >work.txt <<'END_OF_TRACE'
string id=1 text=ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)
string id=2 text=cudaLaunchKernel_v7000
string id=3 text=cudaEventRecord_v3020
string id=4 text=cudaStreamWaitEvent_v3020
string id=5 text=step
string id=6 text=ncclKernel_Broadcast_RING_LL_Sum_int8_t
thread id=1 tid=11
device id=0 compute_major=9 multiprocessors=132 warp_threads=32 sm_warps=64 sm_blocks=32
device id=1
stream id=1 stream=7 context=1 device=0
stream id=2 stream=14 context=2 device=1
function id=1 api=1 cbid=211 name=2
function id=2 api=1 cbid=135 name=3
function id=3 api=2 cbid=147 name=4
shape id=1 kernel=1 grid_x=264 grid_y=1 grid_z=1 block_x=64 block_y=1 block_z=1 registers=32
shape id=2 kernel=6 grid_x=1 grid_y=1 grid_z=1 block_x=32 block_y=1 block_z=1
nvtx thread=1 kind=1 name=5 time=1000
call thread=1 function=1 start=1100 duration=10 correlation=1
call thread=1 function=2 start=1200 duration=10 correlation=2
sync thread=1 kind=5 context=1 stream=7 event=99 start=1201 duration=5 correlation=2
call thread=1 function=3 start=1300 duration=10 correlation=3
sync thread=1 kind=2 context=2 stream=14 event=99 start=1301 duration=5 correlation=3
call thread=1 function=1 start=1400 duration=10 correlation=4
nvtx thread=1 kind=2 time=1500
sync thread=1 kind=4 context=1 stream=4294967295 start=1600 duration=900 correlation=5
kernel stream=1 shape=1 start=2000 duration=101 correlation=1
kernel stream=2 shape=2 start=2200 duration=100 correlation=4
END_OF_TRACE
echo "copy stream=2 kind=10 source=3 target=3 bytes=4000 start=2400 duration=50 correlation=6" \
    "source_device=0 source_context=1 target_device=1 target_context=2" >>work.txt
"$write_trace" work.mpt <work.txt
run export --to kineto -o work.json work.mpt
code 0
kernels="sorted((k['pid'], k['tid'], round(k['dur'], 3)) for k in e if k.get('cat') == 'kernel')"
events work.json "$kernels == \
[(0, 7, 0.101), (1, 14, 0.1)]"
events work.json "args('kernel', 'Collective name') == ['allreduce', 'broadcast']"
events work.json "args('kernel', 'dtype') == ['BFloat16', 'Char']"
# 264 blocks on 132 SMs; 32 of 64 warps: 32 blocks of 2 warps fit.
events work.json "(args('kernel', 'blocks per SM')[0], args('kernel', 'warps per SM')[0], \
args('kernel', 'est. achieved occupancy %')[0]) == (2, 4, 100)"
events work.json "of('gpu_memcpy') == ['Memcpy PtoP (Device -> Device)'] and \
args('gpu_memcpy', 'memory bandwidth (GB/s)') == [80] and \
[args('gpu_memcpy', k)[0] for k in ('fromDevice', 'inDevice', 'toDevice')] == [0, 1, 1]"
events work.json "sorted(of('cuda_sync')) == ['Context Sync', 'Stream Wait Event']"
wait="[s['args'] for s in e if s['name'] == 'Stream Wait Event'][0]"
events work.json "$wait['wait_on_stream'] == 7 and $wait['stream'] == 14 and \
$wait['wait_on_cuda_event_record_corr_id'] == 2 and $wait['device'] == 1"
events work.json "[s['args']['stream'] for s in e if s['name'] == 'Context Sync'] == [-1]"
events work.json \
    "of('cuda_runtime') == ['cudaLaunchKernel', 'cudaEventRecord', 'cudaLaunchKernel'] and \
of('cuda_driver') == ['cudaStreamWaitEvent']"
gpu="sorted((g['pid'], g['tid'], round(g['dur'], 3)) for g in e if g.get('name') == 'step' and \
g['cat'] == 'gpu_user_annotation')"
events work.json "$gpu == [(0, 7, 0.103), (1, 14, 0.102)]"
run export --to kineto --devices 1 -f -o work.json work.mpt
events work.json "$gpu == [(1, 14, 0.102)] and $kernels == [(1, 14, 0.1)]"

# ---- Names of any kind ----

python3 - <<'END_OF_PYTHON' | "$write_trace" odd.mpt
import sys
names = [b'say"it"', b"<b>&amp;</b>", b"\xff\xfe\xc3(", "ß\u4e2d\U0001f600".encode(), b"x" * 65535,
         b"a\tb\\n,;'$`\x01\x7f", b'"rank":99']
out = sys.stdout.buffer
out.write(b"thread id=1 tid=5\ndevice id=0\nstream id=1 stream=7 context=1 device=0\n")
for number, name in enumerate(names):
    out.write(b"string id=%d text=" % (number + 1) + name + b"\n")
    out.write(b"shape id=%d kernel=%d grid_x=1 block_x=32\n" % (number + 1, number + 1))
for number in range(len(names)):
    out.write(b"nvtx thread=1 kind=0 name=%d time=%d\n" % (number + 1, 1000 + number))
    out.write(b"kernel stream=1 shape=%d start=%d duration=100 correlation=%d\n"
              % (number + 1, 2000 + 200 * number, number + 1))
END_OF_PYTHON
cat >odd.py <<'END_OF_PYTHON'
names = ['say"it"', "<b>&amp;</b>", "\ufffd\ufffd\ufffd(", "ß\u4e2d\U0001f600", "x" * 65535,
         "a\tb\\n,;'$`\x01\x7f", '"rank":99']
END_OF_PYTHON
run export --to kineto -o odd.json odd.mpt
code 0
events odd.json "of('cpu_instant_event') == of('kernel') == __import__('odd').names"
run export --to folded -o odd.folded odd.mpt
code 0
python3 -c "
import re, sys
sys.path.insert(0, '.')
import odd
lines = open('odd.folded', encoding='utf-8', newline='\n').read().split('\n')[:-1]
want = sorted(re.sub('[\x00-\x1f\x7f]', '?', name.replace(';', ':')) for name in odd.names)
sys.exit(sorted(line.rpartition(' ')[0] for line in lines) != want or
         {line.rpartition(' ')[2] for line in lines} != {'100'})"
verdict "folded: names arrive, but for what ends a frame or acts" $?

# ---- Folded ----

run export --to folded plain.mpt
code 0
stdout <<<plain.folded
run export --to folded -o - ranks
code 0
cut -d ';' -f 1 .stdout | sort -u >.first
printf 'rank 0\nrank 1\n' | same .first
run export --to folded --weight time -o - plain.mpt
code 2
stderr <<<"miniprof export: '-': unknown weight 'time'; there are device, waiting, critical"
run export --to folded --weight critical --analysis off -o - plain.mpt
code 2
stderr <<<"miniprof export: 'plain.mpt': --weight critical needs the analyses"
run export --to kineto --weight device plain.mpt
code 2
stderr <<<"miniprof export: --weight and --frames go with --to folded"

# ---- Not whole, no room ----

size=$(stat -c %s nvtx.mpt)
head -c $((size - 100)) nvtx.mpt >cut.mpt
run export --to kineto -o cut.json cut.mpt
code 1
[ "$(wc -l <.stderr)" -eq 1 ]
verdict "a line says what is missing" $?
events cut.json "len(e) > 3"
trace many
for name in full.json full.json$zipped full.folded; do
    format=kineto
    [ "$name" != full.folded ] || format=folded
    last="$name with a limit of 1 KiB"
    (trap '' XFSZ && ulimit -f 1 && "$miniprof" export --to $format -o $name many.mpt) \
        >.stdout 2>.stderr
    got=$?
    [ $format = folded ] && [ "$got" -eq 0 ] && rm -f $name && continue # it may fit
    code 3
    [ "$(wc -l <.stderr)" -eq 1 ] && [ -z "$(find . -name 'full*')" ]
    verdict "one line, and nothing is left" $?
done

finish
