#!/bin/bash
# The tables in the documents are those that the code prints, and the options that they name exist.
cd "$SOURCE" || exit 1
failed=0

compare() { # DOCUMENT PROGRAM FIRST-LINE-PATTERN: the document ends with what the program prints
    if ! diff <(sed -n "/$3/,\$p" "$1") <("$BUILD/dev/$2" | sed -n "/$3/,\$p") >&2; then
        echo "$1 is not current: replace its end with the output of $2"
        failed=1
    fi
}

compare docs/trace-format.md table_list '^### 1 '
# Each enumeration that a column names is in section 9, with values.
for name in $(grep -o '| enum `[a-z_]*`' docs/trace-format.md | cut -d'`' -f2 | sort -u); do
    if ! sed -n "/^## 9/,\$p" docs/trace-format.md | grep -A4 "^### \`$name\`$" |
        grep -q '^[0-9][0-9]* `'; then
        echo "docs/trace-format.md: section 9 lacks the values of $name"
        failed=1
    fi
done
compare docs/environment.md setting_list '^- `MINIPROF_OUTPUT'
compare docs/nvprof.md nvprof_option_list '^- `--aggregate-mode'
compare docs/cupti.md quirk_list '^### `no_null_buffer'
python3 tests/tools/doc_options.py "$BUILD/miniprof" . || failed=1
exit $failed
