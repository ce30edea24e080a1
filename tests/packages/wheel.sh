#!/bin/bash
# Takes 30 s.
# The Python wheel: what is in it, that pip takes it without a network, and that the package, the
# command and the recorder in it work.
. "$SOURCE/tests/packages/lib.sh" || exit 1

for python in python3 /usr/bin/python3 none; do # apt's numpy is for the second one
    "$python" -c 'import ensurepip, numpy, pandas, venv' 2>/dev/null && break
done
[ "$python" != none ] && [ -e "$build/packages/libmptrace.so.1" ] || {
    echo "no numpy, pandas, venv ('make deps') or no $build/packages/libmptrace.so.1" \
        "('make test-programs' links it)"
    exit 77
}
make_package wheel
wheel=$(ls "$work"/out/*.whl)
like "the name says platform" "/miniprof-[0-9][^-]*-py3-none-manylinux_2_[0-9]+_$(uname -m)\.whl$" \
    "$wheel"
like "the sizes are printed" 'libmptrace\.so\.1 +[0-9]+ bytes' "$(cat "$work/make.log")"
mv "$work/out" "$work/first"
touch "$SOURCE/tools/python/miniprof/__init__.py"
make_package wheel
check "the same source gives the same bytes" cmp "$work/first/${wheel##*/}" "$wheel"

# The list of files as PyPA's specification has it, and the versions of git's tags.
check "RECORD" "$python" - "$wheel" <<'END'
import base64, hashlib, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
names = wheel.namelist()
record = next(name for name in names if name.endswith(".dist-info/RECORD"))
assert names[-1] == record and names == list(dict.fromkeys(names)), names
lines = wheel.read(record).decode().splitlines()
assert lines.pop() == record + ",,"
assert [line.split(",")[0] for line in lines] == names[:-1]
for name, digest, size in (line.split(",") for line in lines):
    data = wheel.read(name)
    assert len(data) == int(size), name
    sha = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    assert digest == "sha256=" + sha, name
END
same "versions in Python's spelling" "0.1.0.dev577+gcf4 0.2.0.post5+g1a2b 0.2.0rc1 0.2.0" \
    "$(PYTHONPATH="$SOURCE/tools/packages" "$python" -Bc 'import sys; import wheel
print(*map(wheel.python_version, sys.argv[1:]))' 0.1.0~577.gcf4 0.2.0+5.g1a2b 0.2.0~rc1 0.2.0)"

check "a new environment" "$python" -m venv --system-site-packages "$work/venv"
at=$work/venv
check "pip takes it without a network" "$at/bin/pip" install --no-index -q "$wheel"
package=$("$at/bin/python" -c 'import miniprof, os; print(os.path.dirname(miniprof.__file__))')
like "it is the one in the environment" "^$at/" "$package"
for file in bin/miniprof lib/libminiprof.so lib/libminiprof_preload.so lib/libmptrace.so.1; do
    stripped "$file" "$package/$file"
done
within "the command" "$package/bin/miniprof" "$most"
within "the recorder" "$package/lib/libminiprof.so" 1020000
same "libmptrace needs libc alone" "libc.so.6" "$(readelf -d "$package/lib/libmptrace.so.1" |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')"

same "the command" "$("$miniprof" --version)" "$("$at/bin/miniprof" --version)"
same "python -m miniprof" "$("$miniprof" summary "$SOURCE/tests/data/inference.mpt")" \
    "$("$at/bin/python" -m miniprof summary "$SOURCE/tests/data/inference.mpt")"
records "the wheel" "$at/bin/miniprof" "$package/lib/libminiprof.so"

# The package's own tests, with what pip installed in place of the source.
for test in "test_traces.py Access" test_marking.py; do
    # shellcheck disable=SC2086
    check "$test" env INSTALLED=1 "$at/bin/python" -B "$SOURCE"/tests/python/$test
done
same "the installed package is the source's" "" \
    "$(diff <(cd "$SOURCE/tools/python/miniprof" && cat ./*.py) <(cd "$package" && cat ./*.py))"
check "pip removes it" "$at/bin/pip" uninstall -q -y miniprof
check "and leaves nothing" [ ! -e "$package" ]
finish
