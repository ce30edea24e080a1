# shellcheck shell=bash
# Lists of programs that print a line of truth (docs/zoo.md), for run.sh and tests/gpu/pairs.sh,
# which have read tests/gpu/lib.sh. A line of a list is
#
#     NAME [OPTION...] PROGRAM [ARGUMENT...]  # KIND
#
# A program is a file of the list's folder or stands at a path from there: .py for python3, .cu for
# nvcc, which gets the options: words that begin with "-".

# shellcheck disable=SC2034 # of those who read this file
cases=() argv=()
# shellcheck disable=SC2034
declare -A program_of=() arguments_of=() options_of=() kind_of=()

# What compilers of kernels keep is warm from the second run on, and goes with the script.
export TORCHINDUCTOR_CACHE_DIR=$WORK/cache/inductor TRITON_CACHE_DIR=$WORK/cache/triton
export CUPY_CACHE_DIR=$WORK/cache/cupy NUMBA_CACHE_DIR=$WORK/cache/numba
export PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1

# read_programs LIST [FOLDER]: adds its programs to `cases`. FOLDER has the files, if it is not that
# of the list.
read_programs() {
    local folder=${2:-$(dirname "$1")} line words name
    [ -r "$1" ] || fail "no list of programs: $1"
    folder=$(cd "$folder" && pwd) || fail "no folder of programs: $folder"
    while read -r line; do
        read -ra words <<<"${line%%#*}"
        [ ${#words[@]} -ge 2 ] || continue
        name=${words[0]}
        [ -z "${program_of[$name]:-}" ] || fail "two programs are called '$name'"
        cases+=("$name")
        kind_of[$name]=$([[ $line != *\#* ]] || xargs <<<"${line#*#}")
        words=("${words[@]:1}")
        while [[ ${words[0]} == -* ]]; do
            options_of[$name]+="${words[0]} "
            words=("${words[@]:1}")
        done
        program_of[$name]=$folder/${words[0]}
        arguments_of[$name]=${words[*]:1}
    done <"$1"
}

# compiled CASE: what nvcc makes of its program; "" if it needs no nvcc.
compiled() {
    [[ ${program_of[$1]} != *.cu ]] || echo "$WORK/$(basename "${program_of[$1]}" .cu)"
}

# argv_of CASE: the words of its command line, in `argv`.
argv_of() {
    local arguments
    read -ra arguments <<<"${arguments_of[$1]}"
    case ${program_of[$1]} in
    *.py) argv=(python3 "${program_of[$1]}" "${arguments[@]}") ;;
    *.cu) argv=("$(compiled "$1")" "${arguments[@]}") ;;
    *) argv=("${program_of[$1]}" "${arguments[@]}") ;;
    esac
}

# compile_all CASE...: what needs nvcc, at once; a program that is missing then says why.
compile_all() {
    local name options file
    local -A begun=()
    for name in "$@"; do
        file=${program_of[$name]}
        [[ $file == *.cu && -z ${begun[$file]:-} ]] || continue
        begun[$file]=1
        read -ra options <<<"${options_of[$name]:-}"
        compile_cuda "$file" "$(compiled "$name")" "${options[@]}" &
    done
    wait
}

# why_not CASE: why its program cannot run; "" if it can.
why_not() {
    local program
    program=$(compiled "$1")
    [ -z "$program" ] || [ -x "$program" ] || echo "not compiled: $(grep -m 1 . "$program.txt")"
}
