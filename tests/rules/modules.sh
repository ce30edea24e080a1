#!/bin/bash
# What tools/dev/check_modules finds in the modules of a page, and in which order it puts them.
. "$(dirname "$0")/lib.sh" || exit 1

# Modules of a page: base.js, which two others import from.
modules() { # NAME STATUS TEXT [FILE LINE]
    rm -rf "$work/page"
    mkdir -p "$work/page/views"
    printf 'export const LIMIT = 3;\nexport function first(list) {\n    return list[0];\n}\n' \
        >"$work/page/base.js"
    printf 'import { LIMIT } from "../base.js";\n\nexport class View {\n    max = LIMIT;\n}\n' \
        >"$work/page/views/a.js"
    printf '%s\n' 'import {' '    first,' '} from "./base.js";' >"$work/page/main.js"
    # shellcheck disable=SC2016
    printf '%s\n' 'import { View } from "./views/a.js";' '' 'first([new View(), `${1}, View`]);' \
        >>"$work/page/main.js"
    [ $# -lt 5 ] || printf '%s\n' "$5" >>"$work/page/$4"
    verdict "check_modules: $1" "$2" "$3" "$dev/check_modules" --order "$work/page"
}
modules "a clean page, in the order of its imports" 0 "base.js
views/a.js
main.js"
modules "a circle" 1 "a circle of imports: base.js -> views/a.js -> base.js" \
    base.js $'import { View } from "./views/a.js";\nnew View();'
modules "an import of what is not exported" 1 "base.js does not export second" \
    views/a.js $'import { second } from "../base.js";\nsecond();'
modules "an import of no module" 1 "there is no views/b.js to import from" \
    views/a.js $'import { b } from "./b.js";\nb();'
modules "an import that nobody needs" 1 "imports first and does not use it" \
    views/a.js $'import { first } from "../base.js";\n// first(2)\n"first()".first();'
modules "an export that nobody imports" 1 "exports last, which nobody imports" \
    base.js 'export const last = 1;'
modules "a name in two modules" 1 "both base.js and views/a.js declare LIMIT" \
    views/a.js 'const LIMIT = 4;'
modules "a call without an import" 1 "views/a.js:6: uses first of base.js without an import" \
    views/a.js 'export const one = () => first([1]);'
modules "an import in a form that nobody reads" 1 "cannot read" \
    views/a.js 'import * as base from "../base.js";'
modules "an import that does not end" 1 "cannot read" main.js 'import { LIMIT } from'

total
