#!/bin/bash
# Takes 2 s.
# miniprof html: what is in the page, how large it is, and what is said of bad input. What a browser
# makes of it: tests/html.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace plain

wrong() { # LINE ARGUMENT...
    local line=$1
    shift
    run "$@"
    code 2
    echo "$line" | stderr
}
wrong "miniprof html: which trace? 'miniprof html TRACE.mpt'" html -o page.html
wrong "miniprof html: where to? 'miniprof html -o PAGE.html TRACE.mpt...'" \
    html plain.mpt plain.mpt
wrong "miniprof html: where to? 'miniprof html -o PAGE.html TRACE.mpt...'" html ./
wrong "miniprof html: --open needs a page in a file; -o - is the standard output" \
    html --open -o - plain.mpt

run html -o page.html plain.mpt
code 0
quiet
stdout </dev/null

# Without -o the page stands beside the trace, and its name is printed. --open starts a browser with
# it; if there is none, the page is there all the same.
mkdir traces browsers
cp plain.mpt traces/one.mpt
cp plain.mpt traces/two
run html traces/one.mpt
code 0
quiet
echo traces/one.html | stdout
cmp page.html traces/one.html
verdict "the same page" $?
run html traces/two
code 0
echo traces/two.html | stdout
printf '#!/bin/sh\necho "$@" >"$0.shows"\n' >browsers/mine
chmod +x browsers/mine
rm traces/one.html
BROWSER=$PWD/browsers/mine:other run html --open traces/one.mpt
code 0
quiet
await [ -s browsers/mine.shows ]
[ "$(cat browsers/mine.shows)" = traces/one.html ] && [ -s traces/one.html ]
verdict "the browser shows the page" $?
rm traces/one.html
BROWSER=$PWD/browsers/none run html --open traces/one.mpt
code 1
stderr <<'END'
miniprof html: no browser was found to show 'traces/one.html': set BROWSER, or install xdg-open
END
[ -s traces/one.html ]
verdict "the page is there" $?

define <<'END'
import collections, html.parser

class Scripts(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.inside = {}, None
        self.feed(text)
    def handle_starttag(self, tag, attributes):
        if tag == "script":
            self.inside = dict(attributes).get("id")
    def handle_data(self, data):
        if self.inside:
            self.found[self.inside] = self.found.get(self.inside, "") + data
    def handle_endtag(self, tag):
        self.inside = None

last_page = None, None

def document(name, path):
    """The JSON document of a page."""
    global last_page
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if last_page[0] != text:
        last_page = text, Scripts(text).found
    return json.loads(last_page[1]["doc-" + name])

def plain(value):
    """With numbers as strings, as long ones are in a page."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

def same_iterations(page, said):
    """The iterations one by one are columns and rows there."""
    rows = [dict(zip(page["columns"], row)) for row in page["rows"]]
    def texts(all_rows):
        return [{key: str(value) for key, value in row.items()} for row in all_rows]
    return said and texts(rows) == texts(said)

def same_lines(page, points):
    """The lines of memory, against the points that the command prints one by one."""
    said = collections.defaultdict(lambda: {"time_ns": [], "max_bytes": [], "end_bytes": []})
    for point in points:
        for key, values in said[point["device_name"], point["pool"]].items():
            values.append(point[key])
    found = {(line["device_name"], line["pool"]): {"time_ns": page["time_ns"],
                                                   "max_bytes": line["max_bytes"],
                                                   "end_bytes": line["end_bytes"]}
             for line in page["lines"]}
    return len(found) >= 2 and found == said
END

page() { # ID FILE EXPRESSION: of the document d of a page
    holds "document $1 of $2: $3" "(lambda d: $3)(document('$1', '$2'))"
}

# What a page holds is what the commands say.
same_as() { # ID COMMAND...: of $trace, whose page is page.html
    local id=$1
    shift
    last="document $id of $trace"
    "$miniprof" "$@" --json "$trace" >said.json
    holds "equals miniprof $*" "plain(document('$id', 'page.html')) == plain(load('said.json'))"
}

same_iterations() {
    last="document iterations of $trace"
    "$miniprof" iters --each --json "$trace" >said.json
    holds "equals miniprof iters --each" \
        "same_iterations(document('iterations', 'page.html'), load('said.json')['iterations'])"
}

same_lines() {
    last="document memory_lines of $trace"
    "$miniprof" memory --points 400 --json "$trace" >said.json
    holds "equals miniprof memory --points" \
        "same_lines(document('memory_lines', 'page.html'), map(json.loads, open('said.json')))"
}

same_analyses() {
    same_as iters iters
    same_as advise advise
    same_as layers layers --top 500
    same_as kernels kernels
    same_as overlap overlap
    same_iterations
}
trace=plain.mpt
same_as info info
same_as summary summary
same_as nvtx nvtx
same_as deps deps
same_analyses
page left_out page.html 'd == {}'
mv page.html plain.html
for trace in "$SOURCE"/tests/data/{inference,memory,two_streams,branches}.mpt; do
    run html -o page.html "$trace"
    code 0
    same_analyses
done
trace=$SOURCE/tests/data/memory.mpt
run html -o page.html "$trace"
same_as memory memory --top 50
same_lines
mv plain.html page.html

page timeline page.html \
    'sum(t["count"] for t in d["tracks"]) == d["events"] == 6 + 9' # calls and work
page timeline page.html \
    '["kernel", "vecAdd(float const*, float const*, float*, int)"] in d["names"]'
# known_trace.h; nothing of it overlaps.
page overview page.html \
    'd["devices"][0]["kernel_busy_ns"] == 10000 + 30000 + 20000 + 1234567 + 50000'
page overview page.html 'd["devices"][0]["copy_busy_ns"] == 1000 + 3000 + 500'
page overview page.html 'd["devices"][0]["busy_ns"] == 1344567 + 4500 + 640'

# Nothing is loaded: no address but in comments, and a policy that forbids it.
last="page of plain.mpt"
! grep -oE '(src|href|action|url\()=?["'\'' ]*(https?:)?//[^"'\'' )]*' page.html
verdict "nothing to load" $?
grep -q "Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-" page.html
verdict "policy" $?

# To stdout, one capture range, other limits.
run html -o - plain.mpt
code 0
cmp -s .stdout page.html
verdict "the same page" $?
run html -o two.html --range 2 plain.mpt
code 0
page timeline two.html '0 < d["events"] < 15'
run html -o few.html --events 5 plain.mpt
code 0
stderr_like <<'END'
miniprof html: the time line holds * events and leaves out *; --range and --events choose others
END
page timeline few.html 'd["events"] <= 5 and d["left_out_late"] > 0'
run html -o none.html --range 9 plain.mpt
code 2
stderr <<'END'
miniprof html: 'plain.mpt': there is no capture range 9; the trace has 2
END
[ ! -e none.html ]
verdict "no file" $?

# What stands where the page should go: a device and a FIFO are written to, a link leads to the file
# that is replaced, a trace stays, and what is not whole is said.
mkfifo fifo
cat fifo >from_fifo &
reader=$!
run html -o fifo plain.mpt
code 0
wait "$reader"
[ -p fifo ] && cmp -s from_fifo page.html
verdict "the FIFO has the page" $?
run html -o /dev/full plain.mpt
code 3
stderr <<'END'
miniprof html: cannot write '/dev/full': No space left on device
END
[ -c /dev/full ]
verdict "the device is one" $?
echo old >real.html
ln -s real.html link.html
run html -o link.html plain.mpt
code 0
[ -L link.html ] && cmp -s real.html page.html
verdict "the link leads to the page" $?
cp plain.mpt kept.mpt
cp plain.mpt kept
wrong "miniprof html: the output wants another name: 'kept.mpt' is one of a trace" \
    html -o kept.mpt plain.mpt
wrong "miniprof html: the output wants another name: 'kept' is a trace" html -o kept plain.mpt
cmp -s plain.mpt kept.mpt && cmp -s plain.mpt kept
verdict "the traces are whole" $?
trace dropped
run html -o dropped.html dropped.mpt
code 1
stderr <<'END'
miniprof html: Warning: 12 records were dropped; busy time, idle causes and gains are not known.
END
name=$(printf 'no\033[31msuch')
run html -o page.html "$name"
code 3
stderr <<'END'
miniprof html: cannot open 'no?[31msuch': No such file or directory
END

# Traces that lack something.
for kind in empty calls doubtful undefined nvtx no-api no-gpu hostile streams; do
    trace "$kind"
    run html -o "$kind.html" "$kind.mpt"
    [ "$got" -le 1 ]
    verdict "exit code $got" $?
    page timeline "$kind.html" 'sum(t["count"] for t in d["tracks"]) == d["events"]'
done
page timeline empty.html 'd["events"] == 0'
for id in layers kernels overlap memory memory_lines; do
    page "$id" empty.html 'd.keys() == {"note"} and d["note"].startswith("No ")'
done
page kernels no-gpu.html 'd["note"] == "No kernels in the trace: MINIPROF_GPU=off."'
# 2000 kernels of 100 us, one begun each us: busy from the first to the last.
page overview streams.html 'd["devices"][0]["kernel_busy_ns"] == 1344567 + 1999 * 1000 + 100000'
run html -o dropped.html dropped.mpt
code 1
last="page of hostile.mpt"
[ "$(grep -c '<script' hostile.html)" = "$(grep -c '<script' nvtx.html)" ] &&
    ! grep -qE '<img|<svg|<b>|window\.bad=1<' hostile.html
verdict "names are no markup" $?

# Cut and damaged files.
head -c 1500 plain.mpt >cut.mpt
run html -o cut.html cut.mpt
code 1
echo "no trace" >text.mpt
run html -o text.html text.mpt
code 3
run html -o missing.html missing.mpt
code 3
stderr_like <<'END'
miniprof html: *missing.mpt*
END
[ ! -e missing.html ] && [ ! -e text.html ] && ! ls ./*.part 2>/dev/null
verdict "nothing left" $?

# Several processes: the documents of each behind a prefix, and who they were.
mkdir ranks empty broken
cp plain.mpt ranks/plain.mpt
cp "$SOURCE/tests/data/inference.mpt" ranks
run html -o ranks.html ranks
code 0
page processes ranks.html 'len(d["processes"]) == 2 and d["left_out"] == 0 and d["clocks"]'
page processes ranks.html \
    '{"process", "file", "pid", "offset_ns", "whole"} <= set(d["processes"][0])'
for id in p1_summary p2_summary p1_timeline p2_timeline; do
    grep -q "id=\"doc-$id\"" ranks.html
    verdict "document $id" $?
done
grep -q 'id="blob-p2_timeline"' ranks.html
verdict "the columns of the second" $?
run html ranks/
code 0
echo ranks.html | stdout
run html --events 20 -o few.html ranks
code 0
stderr_like <<'END'
miniprof html: *: the time line holds * events and leaves out *; --range and --events choose others
*
END
run html -o none.html empty
code 3
stderr_like <<'END'
miniprof html: *empty*
END
run html -o none.html plain.mpt missing.mpt
code 3
cp text.mpt plain.mpt broken
run html -o broken.html broken
code 1
stderr_like <<'END'
miniprof html: *text.mpt*
END
[ -e broken.html ] && [ ! -e none.html ] && ! ls ./*.part 2>/dev/null
verdict "a page of what can be read, and none of nothing" $?

# Where nothing can be written the old page stays.
run html -o nowhere/page.html plain.mpt
code 3
stderr <<'END'
miniprof html: cannot write 'nowhere/page.html': No such file or directory
END
if [ -e /dev/full ]; then
    last="html -o - >/dev/full"
    "$miniprof" html -o - plain.mpt >/dev/full 2>.stderr
    [ $? -eq 3 ]
    verdict "exit code" $?
fi
mkdir folder.html
run html -o folder.html plain.mpt
code 3
! ls ./*.part 2>/dev/null
verdict "nothing left" $?

# A signal: it ends as it would, the old page stays and nothing beside it. (Of SIGINT and SIGQUIT a
# job of a script is otherwise left alone.)
cp "$SOURCE/tests/data/resnet50_eager.mpt" eager.mpt
echo old >old.html
for name in HUP INT QUIT TERM; do
    last="html -o old.html: SIG$name"
    env --default-signal=INT,QUIT "$miniprof" html -o old.html eager.mpt 2>.stderr &
    pid=$!
    until compgen -G 'old.html.*.part' >.part_seen || ! kill -0 $pid 2>/dev/null; do :; done
    kill -s $name $pid
    wait $pid 2>/dev/null
    got=$?
    code $((128 + $(kill -l $name)))
    [ -s .part_seen ] && [ "$(cat old.html)" = old ] && ! ls ./*.part 2>/dev/null
    verdict "the old page, and nothing beside it" $?
done

# 157,844 records in less than 3 MB. Layers have the names of most of their work, and it says so.
run html -o eager.html "$SOURCE/tests/data/resnet50_eager.mpt"
code 0
page layers eager.html \
    'max(len(layer["work"]) for layer in d["layers"]) == 10 and len(d["layers"]) == 127'
page left_out eager.html 'd == {"layer_work": {"shown": 10, "all": 23}}'
last="page of resnet50_eager.mpt"
[ "$(stat -c %s eager.html)" -lt 3000000 ]
verdict "$(stat -c %s eager.html) bytes" $?
finish
