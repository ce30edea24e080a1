#!/bin/bash
# Names of operators without changes of the program: the start hook with a stand-in for PyTorch,
# what the recorder makes of its ranges, and rows by operator.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

case ${SAN-} in ?*)
    echo "skipped: the hook is Python, and Python has no sanitizer"
    exit 77
    ;;
esac
stand_in=$SOURCE/tests/e2e/operators
export PYTHONDONTWRITEBYTECODE=1 XDG_CACHE_HOME=$work/hooks
paths=$stand_in:$SOURCE/tools/python

# run NAME [OPTION...] -- PROGRAM...
run() {
    local name=$1
    shift
    rm -f "$work/$name.mpt"
    PYTHONPATH=${python_path-$paths} "$miniprof" run --no-summary -o "$work/$name.mpt" "$@" \
        >"$work/$name.out" 2>"$work/$name.err" </dev/null
    status=$?
}

ranges() { # NAME: of each name, how often it begins
    "$miniprof" dump --table nvtx --csv "$1.mpt" | awk -F, '$2 ~ /push/ { print $4 }' |
        tr -d '"' | sort | uniq -c | awk '{ print $2, $1 }' | paste -sd' '
}

by_operator() { # NAME: kernels by operator
    "$miniprof" kernels --by operator --csv "$1.mpt" | python3 -c 'import csv, sys
for row in sorted(csv.DictReader(sys.stdin), key=lambda row: row["name"]):
    print(row["name"], row["calls"])'
}

run torch --operators torch -- python3 "$stand_in/model.py"
same "operators: it ran" "0 done none" "$status $(cat torch.out)"
same "operators: ranges without numbers" "aten::addmm 6 aten::linear 6" "$(ranges torch)"
same "operators: kernels by the innermost" "alone, from <no operator> 1
work, from aten::addmm 6" "$(by_operator torch)"
like "operators: summary too" 'work, from aten::addmm' \
    "$("$miniprof" summary --by operator torch.mpt)"
complete operators torch
run modules --operators modules -- python3 "$stand_in/model.py"
same "modules: their places in the model" "Sequential 3 Sequential.block 3 \
Sequential.block.second 3 Sequential.first 3 aten::addmm 6 aten::linear 6" "$(ranges modules)"
same "modules: kernels by operator" "$(by_operator torch)" "$(by_operator modules)"
run off -- python3 "$stand_in/model.py"
same "off: nothing is told" "0 " "$status $(ranges off)"
run own --operators torch -- python3 "$stand_in/model.py" own
same "a profiler of the program's own goes first" "0 done none aten::addmm 6 aten::linear 6" \
    "$status $(cat own.out) $(ranges own)"

# ---- XLA's names, and graphs ---------------------------------------------------------------------
run xla -- python3 "$stand_in/model.py" xla
same "XLA's operators by its domain" "alone, from <no operator> 1
work, from <no operator> 6
work, from fusion.3 2" "$(by_operator xla)"
run graph -- python3 "$stand_in/model.py" graph
same "nodes of a graph: the operator that made them" "alone, from <no operator> 1
work, from <no operator> 6
work, from aten::mm 3" "$(by_operator graph)"

# ---- without NVTX: the stack ---------------------------------------------------------------------
run stacks --stacks python -- python3 "$stand_in/model.py"
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    mkdir -p site/torch && cp -r "$stand_in/torch/." site/torch
    same "by the module on the stack" "alone, from <no operator> 1
work, from Linear 6" "$(by_operator stacks)"
fi
same "neither: said" "miniprof kernels: '$work/off.mpt': no operators in the trace: \`miniprof run \
--operators torch\` records them" "$("$miniprof" kernels --by operator off.mpt 2>&1 >/dev/null |
    sed "s|off.mpt|$work/off.mpt|;s|$work/$work|$work|")"

# ---- what the program has of its own -------------------------------------------------------------
mkdir -p own_site
echo 'OWN = "mine"' >own_site/sitecustomize.py
python_path=$work/own_site:$paths run site --operators torch -- python3 "$stand_in/model.py"
same "the program's own sitecustomize" "0 done mine aten::addmm 6 aten::linear 6" \
    "$status $(cat site.out) $(ranges site)"
echo 'import no_such_module' >own_site/sitecustomize.py
python_path=$work/own_site run bad -- python3 -c 'print("ran")'
python_path=$work/own_site run worse --operators torch -- python3 -c 'print("ran")'
same "a sitecustomize that fails, fails as before" "$(grep -c no_such_module bad.err) ran" \
    "$(grep -c no_such_module worse.err) $(cat worse.out)"
run isolated --operators torch -- python3 -I -c 'print("ran")'
same "an isolated Python is left alone" "ran" "$(cat isolated.out)"
run without --operators torch -- python3 -c 'import sys
print([name for name in sys.modules if name.startswith("torch")],
      [path for path in sys.path if "startup-" in path])'
same "torch is not imported, and the folder not left in the path" "[] []" "$(cat without.out)"
mkdir -p old/torch
echo 'x = 1' >old/torch/__init__.py
python_path=$work/old run old --operators torch -- python3 -c 'import torch; print(torch.x)'
same "a torch without these functions: it is imported" "1" "$(cat old.out)"
like "a torch without these functions: said" \
    'miniprof: MINIPROF_OPERATORS: AttributeError: .*: no names of operators' "$(cat old.err)"
same "the hook is written once" 1 "$(find hooks -name '*.py' | wc -l)"
XDG_CACHE_HOME=/proc/no HOME=/proc/no run nowhere --operators torch -- python3 -c 'print("ran")'
same "no place for it: the program runs" "ran" "$(cat nowhere.out)"
like "no place for it: said" 'no folder for --operators' "$(cat nowhere.err)"
# ---- what others have put there ------------------------------------------------------------------
# planted NAME WHAT [SAYS]: what was put there does not run, and the hook does unless this says why.
planted() {
    run "$1" --operators torch -- python3 "$stand_in/model.py"
    like "$2" "${3:-^\$}" "$(grep 'for --operators' "$1.err")"
    same "$2: nobody else's code runs" "0 done" "$status $(cut -d' ' -f1 "$1.out")"
    [ -n "${3:-}" ] || same "$2: the hook does" "aten::addmm 6 aten::linear 6" "$(ranges "$1")"
}
hook=$(find hooks -name sitecustomize.py)
folder=${hook%/*}
echo 'print("planted")' >planted.py
cp planted.py "$hook"
planted content "a file with another text is replaced"
ln -sf "$work/planted.py" "$hook"
planted link "a link is replaced"
same "a link is replaced: what it leads to stays" 'print("planted")' "$(cat planted.py)"
cp planted.py "$hook"
chmod go+w "$folder"
planted open "a folder that others can change" "others can change '$work/$folder'"
chmod go-w "$folder"
chmod go+w hooks/miniprof
planted around "a folder around it that others can change" "others can change '$work/$folder'"
chmod go-w hooks/miniprof
mv "$folder" elsewhere
ln -s "$work/elsewhere" "$folder"
planted folder "a folder that is a link" "'$work/$folder', or it is a link"
rm "$folder"
mv elsewhere "$folder"
if [ "$(id -u)" = 0 ]; then
    chown 65534 "$hook"
    planted owner "another user's file is replaced"
    chown 65534 hooks/miniprof
    planted owners "another user's folder around it" "others can change '$work/$folder'"
    chown 0 hooks/miniprof
else
    echo "skipped: files of another user: not root"
fi
planted after "the same folder without others"
run bad_value --operators jax -- python3 -c 'print("ran")'
same "a bad value: nothing runs" "2 " "$status $(cat bad_value.out)"
like "a bad value: what it takes" 'off, torch or modules' "$(cat bad_value.err)"
finish
