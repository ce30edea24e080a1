#!/usr/bin/env python3
"""Law: text, CSV and JSON of a view hold the same numbers.

Same rows in the same order. Each column of the text is a column of the CSV, in the same order, and
each of its cells is the CSV's value rounded as the text rounds it. Each column of the CSV is a key
of the JSON document's rows, with the same values.
"""
import collections
import fnmatch
import os
import re
import sys

import laws

# Views whose text is no table, and so has no cells to compare.
PROSE = {
    "advise": "findings are paragraphs",
    "top": "a screen",
    "counters*": "units are those of the counter; a cell of work holds value and error",
}
# Views whose text is otherwise in traces of known content.
COMMITTED = {
    "metrics*": "events have a table of their own",
}
# Views whose text leaves out rows of CSV that are not zero.
LEFT_OUT = {
    "memory --table churn": "without allocations no table",
    "diff": "what did not change",
    "diff --shapes": "what did not change",
    "diff --positions": "what did not change",
    "diff --positions --table positions": "what is equal",
    "iters --table outliers": "the longest 10",
    "iters --table threads": "text has them where there are several",
    "deps --iterations auto --slowest 1 --table slowest": "the first five",
    "overlap": "all copies, where they are of one kind",
    "stacks": "without stacks a sentence says so",
}
# Columns that hold something else in text.
SHORT = {
    "layers --by-position": {"Kernel"},  # the name without its parameters
    "layers --table positions": {"Kernel"},
    "gpu-trace --with-api": {"Device"},  # a name that nvprof cuts
    "gpu-trace --merge --with-api": {"Device"},
}


# ---- Tables of a text ----

Block = collections.namedtuple("Block", "titles rows")
PIECE = re.compile(r"\S+(?: \S+)*")


def pieces(line):
    """(begin, end, text) of what two spaces separate."""
    return [(match.start(), match.end(), match.group()) for match in PIECE.finditer(line)]


def is_title(text):
    return laws.number_of(text) is None and text not in ("-", "yes", "no") and text[0] != '"'


def cells_of(titles, line):
    """{title: cell} of a row. Cells that are blank are missing."""
    found = pieces(line)
    if len(found) > len(titles) and found[0][1] <= titles[0][0]:
        found = found[1:]  # rows have names, but no title stands above these
    if len(found) > len(titles):  # the last column is a name that has two spaces
        last = found[len(titles) - 1]
        found[len(titles) - 1:] = [(last[0], len(line), line[last[0]:].strip())]
    if len(found) == len(titles):
        return {title[2]: cell[2] for title, cell in zip(titles, found)}
    cells, at = {}, len(titles) - 1
    for begin, end, text in reversed(found):
        while at >= 0 and end != titles[at][1] and begin != titles[at][0]:
            at -= 1
        if at < 0:
            return None
        cells[titles[at][2]] = text
        at -= 1
    return cells


def blocks_of(text):
    """The tables of a report."""
    blocks, titles = [], None
    for line in text.splitlines():
        if line.startswith("==") or not line.strip():
            if not line.strip():
                titles = None
            continue
        found = pieces(line)
        if len(found) > 1 and all(is_title(cell[2]) for cell in found):
            titles = found
            blocks.append(Block(tuple(cell[2] for cell in found), []))
        elif titles and len(found) > 1:
            blocks[-1].rows.append(cells_of(titles, line))
    return blocks


def same_table(a, b):
    """Whether two tables of titles are one, of which columns without a value are left out."""
    both = len(set(a) & set(b))
    return a[0] == b[0] and both >= 0.55 * (len(a) + len(b) - both)


def tables_of(texts):
    """[(titles, rows)]: the same tables of several reports as one, in order."""
    found = []
    for text in texts:
        for block in blocks_of(text):
            for titles, rows in found:
                if any(same_table(known, block.titles) for known in titles):
                    titles.append(block.titles)
                    break
            else:
                titles, rows = [block.titles], []
                found.append((titles, rows))
            above = ""
            for row in block.rows:  # a group is named in its first row
                first = block.titles[0]
                above = row.setdefault(first, above) if first == "Type" else above
                rows.append(row)
    return [(max(titles, key=len), rows) for titles, rows in found]


# ---- Cells ----

def rounds_to(cell, value):
    """Whether the number of the text is the value as it is rounded there. A mean is rounded to ns
    first."""
    number, half = laws.number_of(cell)
    half = half * (1 + 1e-6) + 1e-9
    if cell.endswith("s") and not cell.endswith("/s") and abs(number - int(value + 0.5)) <= half:
        return True
    return abs(number - value) <= half


def agrees(cell, value):
    """A cell of text with one of CSV."""
    if not value.isprintable():
        value = re.sub("[\x00-\x1f\x7f]", "?", value)
    if cell in (value, value + ":") or (cell == "-" and value == ""):
        return True
    if cell in ("yes", "no"):
        return value == str(int(cell == "yes"))
    if cell.startswith("PC 0x"):
        return str(int(cell[3:], 16)) == value
    number, of_value = laws.number_of(cell), laws.value_of(value)
    if number and of_value is not None:
        return rounds_to(cell, of_value)
    if number:
        return False
    if of_value is not None:
        return cell in (f"#{value}", f"#{value}, late") or cell.endswith(f"({value})")
    return bool(value) and (value in cell or cell.rstrip(".") in value)  # names, shortened


# Points in time, with all digits.
MOMENTS = {"start_ns", "offset_ns", "begin_ns", "time_ns", "first_ns", "last_ns", "peak_ns"}


def is_long(cell):
    """Whether a number has more digits than people get: four, or all of a whole one with commas."""
    number = re.match(r"[+-]?([\d,.]+)(%|[a-zA-Z]+(?:/s)?)?$", cell)
    if not number or not laws.number_of(cell):
        return False
    digits = number.group(1)
    if "." in digits:
        return len(digits.replace(".", "").lstrip("0")) > 4
    return bool(number.group(2)) and len(digits) > 3 and "," not in digits


# ---- Columns ----

UNIT = re.compile("_(ns|percent|bytes|bytes_per_second)$")
KINDS = [("%", "percent"), ("B/s", "_per_second"), ("B", "bytes"), ("s", "_ns")]


def plain(title):
    return re.sub("[^a-z0-9]+", "_", title.lower()).strip("_")


def kind_of(cell):
    """What a field's name ends in, by the unit of the cell."""
    return next((end for unit, end in KINDS if cell.endswith(unit)), "")


MOVED = {"start_ns", "begin_ns", "time_ns"}  # which text has from the trace's first
ALIASES = {"Time(%)": "percent", "Time": "total_ns", "Total": "total_ns",
           "Allocs": "allocations", "Allocated": "bytes", "Avg": "mean"}


def field_named(title, cells, order):
    """The field that the title names; None: no field has this name and the cells' unit."""
    numbers = [cell for cell in cells if laws.number_of(cell)]
    kind = kind_of(numbers[0]) if numbers else None
    for name in order:
        if plain(title) in (UNIT.sub("", name), name) or ALIASES.get(title) == name:
            of_name = next((end for _, end in KINDS if name.endswith(end)), "")
            if kind is None or kind == of_name:
                return name
    return None


def increasing(candidates, order):
    """Whether there are fields for the columns, each behind the one before."""
    at = -1
    for fields in candidates:
        at = min((order.index(field) for field in fields if order.index(field) > at), default=None)
        if at is None:
            return False
    return True


def with_joined(rows):
    """Rows with a column `grid` for grid_x, grid_y and grid_z, as the text shows it."""
    for row in rows:
        for name in [name for name in row if name.endswith("_x")]:
            parts = [row.get(name[:-1] + end) for end in "xyz"]
            row[name[:-2]] = "(" + " ".join(parts) + ")" if all(parts) else ""
    return rows


def nothing(row):
    """Whether a row of CSV has no number but 0."""
    numbers = [laws.value_of(cell) for cell in row.values() if laws.value_of(cell) is not None]
    return not any(numbers)


def column_agrees(title, name, cells, rows):
    """Whether it is the same column; times may begin at the trace's first."""
    if all(agrees(cell[title], row[name]) for cell, row in zip(cells, rows) if title in cell):
        return True
    return name in MOVED and not later(title, name, cells, rows)


def later(title, name, cells, rows):
    """Rows whose time is not the first one's and what the text says is between them."""
    origins, wrong = {}, []
    for i, (cell, row) in enumerate(zip(cells, rows)):
        if cell.get(title, "-") == "-" and not row[name]:
            continue
        if not laws.number_of(cell.get(title, "")) or not row[name]:
            wrong.append(i)
            continue
        number, half = laws.number_of(cell[title])
        origin = origins.setdefault(row.get("process"), int(row[name]) - round(number))
        if abs(number - (int(row[name]) - origin)) > half * 2 + 1:
            wrong.append(i)
    return wrong


def columns_against(titles, cells, rows, nvprof=False):
    """What is wrong with the columns of text; rows are paired."""
    order = sorted(rows[0], key=lambda name: list(rows[0]).index(
        name + "_x" if name + "_x" in rows[0] else name))
    wrong, unnamed = [], []
    for title in titles:
        shown = [cell[title] for cell in cells if title in cell]
        own = field_named(title, shown, order)
        fields = [own] if own else [name for name in order
                                    if column_agrees(title, name, cells, rows)]
        if not nvprof and not MOMENTS & set(fields):
            wrong += [f"{title}: {cell} has too many digits" for cell in shown if is_long(cell)]
        if own:
            if not column_agrees(title, own, cells, rows):
                wrong += [f"row {i + 1}, {title}: {cell[title]} in text, {own} {row[own]} in CSV"
                          for i, (cell, row) in enumerate(zip(cells, rows))
                          if title in cell and not agrees(cell[title], row[own])][:1]
        elif fields:
            unnamed.append(fields)
        else:
            wrong.append(f"{title}: no column of CSV has its cells {shown[:3]}")
    if not wrong and not increasing(unnamed, order):
        wrong.append(f"columns stand in another order: {unnamed}")
    return wrong


def paired(titles, cells, rows, left_out):
    """Pairs (cells, rows) that should agree. The text may leave out rows of zeros, and others if
    `left_out`; rows of text may be those of another table."""
    cells = [cell for cell in cells if "(all others)" not in cell.values()]
    if len(cells) == len(rows) or not rows or not cells:
        return cells, rows
    named = [(title, field_named(title, [c[title] for c in cells if title in c], list(rows[0])))
             for title in titles]
    named = [(title, name) for title, name in named if name and name not in MOVED]
    ours, theirs, at = [], [], 0
    if len(cells) > len(rows):
        for cell in cells:
            if at < len(rows) and same_row(cell, rows[at], named):
                ours.append(cell)
                at += 1
        return ours, rows
    for row in rows:
        if at < len(cells) and same_row(cells[at], row, named):
            theirs.append(row)
            at += 1
        elif not left_out and not nothing(row):
            return cells, rows
    return cells, theirs


def same_row(cell, row, named):
    return all(title not in cell or agrees(cell[title], row[name]) for title, name in named)


def text_against(table, rows, left_out=False, short=False):
    """(rows that have their pair, what is wrong) of a table of the text."""
    titles, cells = table
    if short:
        titles = [title for title in titles if title not in short]
    ours, theirs = paired(titles, cells, rows, left_out)
    if len(ours) != len(theirs):
        return [], [f"{len(cells)} rows of text ({titles[0]} ... {titles[-1]}), "
                    f"{len(rows)} of CSV"]
    return ours, columns_against(titles, ours, theirs) if theirs else []


# ---- Layouts of text that are not those of CSV ----

def pivot(rows, keys, column, values):
    """One row of those that have the same keys, with columns named by a cell."""
    wide = {}
    for row in rows:
        into = wide.setdefault(tuple(row.get(key) for key in keys),
                               {key: row[key] for key in keys if key in row})
        for name, value in values.items():
            into[name.format(row[column])] = row[value]
    names = {name: "" for row in wide.values() for name in row}
    last = {keys[-1]: names.pop(keys[-1])}
    return [{**names, **last, **row} for row in wide.values()]


def on_two_lines(rows):
    """Kernels of A above those of B that replace them."""
    lines = []
    for row in rows:
        for side in "ab":
            if row[side]:
                change = "by" if side == "b" and row["a"] else row["change"]
                lines.append({"change": change, "in_a": "", "in_b": "", "time_a_ns": "",
                              "time_b_ns": "", "name": row[side + "_name"],
                              f"in_{side}": row[side], f"time_{side}_ns": row[side + "_ns"]})
    return lines


LAYOUTS = {
    "metrics --each": lambda rows: pivot(
        rows, ("process", "start_ns", "device_name", "context", "stream", "correlation", "kernel"),
        "metric", {"{}": "value"}),
    "summary --side-by-side": lambda rows: pivot(
        rows, ("type", "mean_total_ns", "deviation_percent", "of", "name"),
        "process", {"{} Time": "total_ns", "{} Calls": "calls"}),
    "diff --positions --table positions": on_two_lines,
}


# ---- JSON ----

# Columns that JSON has otherwise, for these reasons.
ELSEWHERE = {
    "process": "of several traces the document says which",
    "device_name": "JSON has number and name",
    "critical_path_percent": "JSON has critical_ns and window_ns",
    "window_percent": "JSON has busy_ns and window_ns",
    "overlapped_percent": "JSON has overlapped_ns and busy_ns",
    "gain_percent": "JSON of deps has gain_ns and window_ns",
    "begin_ns": "JSON has the recorder's clock",
    "offset_ns": "JSON has the recorder's clock",
    "of_iteration_percent": "JSON has difference_ns and the mean of A",
    "layer": "JSON has name and parent",
    "where": "JSON has thread, device and stream",
}
OF_VIEW = {
    "iters --table outliers": {"more_by_ns": "latency_ns over the median"},
    "layers": {"kernels": "kernels_per_call", "kernel_names": "the names in work",
               "launch_mean_ns": "launch_ns over launches", "gap_mean_ns": "gap_ns over gaps"},
    "overlap": {"exposed_percent": "JSON has exposed_ns and busy_ns"},
    "iters": {"share_percent": "mean of that of latency_ns"},
    "nvtx": {"range": "the name of what a row is in", "type": "the key of what it is in"},
    "nvtx --table captured": {"range": "the name of what a row is in"},
    "deps": {"waiting_ns": "with device_waiting_ns"},
    "deps --what-if launch_latency=0": {"now_ns": "window_ns",
                                "difference_ns": "new less now",
                                "difference_percent": "new less now",
                                "new_ns": "of what_if"},
    "diff --table times": {"quantity": "its name", "percent": "difference of a"},
    "diff --table counts": {"quantity": "its name", "percent": "difference of a"},
    "iters --table counts": {"quantity": "the key"},
    "metrics": {"unit": "in metrics[]", "event": "in metrics[]"},
    "metrics --each": {"unit": "in metrics[]", "metric": "the key", "value": "the value"},
}
# Contradictions that are known: once mended they have to go from here.
KNOWN = {
    ("layers", "calls"): "of <no range> nothing in CSV, 0 in JSON",
    ("metrics", "total"): "CSV has it of events only, JSON of all metrics",
}
# Views whose rows are no rows in JSON.
NO_ROWS = {
    "deps --parts": "parts are keys of an object; totals has them",
}
# Views that have more rows, or fewer, in JSON.
OTHER_ROWS = {
    "iters": "counts are among statistics, zeros too",
    "iters --table counts": "times are among statistics",
    "iters --table threads": "the same",
    "nvtx": "calls and activities are inside of ranges",
    "overlap": "sums of a device are its keys",
    "metrics --each": "an object for each execution",
    "diff --table times": "counts are among quantities",
    "diff --table counts": "times are among quantities",
    "diff --table latency": "a side is an object",
    "diff --table positions --positions": "equal ones too",
    "layers --table positions": "also by layer",
    "layers --by-position": "also by layer",
}


MET = set()


def flat(item, prefix=""):
    """{path: scalar} of an object; not of arrays of objects in it."""
    found = {}
    for key, value in item.items():
        if isinstance(value, dict):
            found.update(flat(value, prefix + key + "."))
        elif isinstance(value, list):
            if not any(isinstance(one, (dict, list)) for one in value):
                found.update({f"{prefix}{key}.{i}": one for i, one in enumerate(value)})
        else:
            found[prefix + key] = value
    return found


def row_sets(item, path, above, found):
    """{path: rows} of all arrays of objects, and of objects whose values are alike; a row has the
    keys of what it is in too."""
    if isinstance(item, list):
        for one in item:
            if isinstance(one, dict):
                own = {**above, **flat(one)}
                found.setdefault(path + "[]", []).append(own)
                row_sets(one, path + "[]", {f"^{key}": value for key, value in own.items()}, found)
    elif isinstance(item, dict):
        known = {key: one for key, one in item.items() if one is not None}
        if known and all(isinstance(one, dict) and one.keys() == next(iter(known.values())).keys()
                         for one in known.values()):
            found.setdefault(path + "{}", []).extend(
                {**above, "*": key, **flat(one)} for key, one in known.items())
        for key, one in item.items():
            if isinstance(one, (dict, list)):
                row_sets(one, f"{path}.{key}", above, found)


def holds(cell, value):
    """A cell of CSV with a value of JSON."""
    if value is None:
        return cell == ""
    if isinstance(value, bool):
        return cell == str(int(value))
    if isinstance(value, str):
        return cell == value
    number = laws.value_of(cell)
    if number is None:
        return cell.startswith("0x") and int(cell, 16) == value
    whole = isinstance(value, float) and "." not in cell  # a column of whole ns
    return laws.near(number, value, 0.5 + 1e-6 if whole else 6e-7, 1e-11)


def renamed(cells, values):
    """Whether text of CSV and of JSON are the same words, each spelled in its way."""
    pairs = set(zip(cells, values))
    return (all(isinstance(value, (str, type(None))) for value in values) and
            len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}))


def keys_of(objects):
    return list(dict.fromkeys(key for one in objects for key in one))


def keys_named(name, known):
    """Keys that the field may be: those of its name, or of the name without its unit."""
    wanted = (name, re.sub("^avg", "mean", name), UNIT.sub("", name),
              re.sub("_mean(_ns)?$", "", name))
    for same in (lambda key: key.replace(".", "_"), lambda key: key.rsplit(".", 1)[-1],
                 lambda key: key.lstrip("^")):
        for word in wanted:
            keys = [key for key in known if same(key) == word]
            if keys:
                return keys
    return []


def alike(cell, value):
    """Whether they hold the same, if words may be spelled otherwise."""
    if isinstance(value, str) and laws.value_of(cell) is None:
        return plain(cell).endswith(plain(value))
    return holds(cell, value)


def in_order(rows, objects, left_out):
    """Pairs of the shorter with the longer list, in order, by the keys that both have; None: one
    has no pair."""
    known = keys_of(objects)
    keys = {name: keys_named(name, known) for name in rows[0] if name not in left_out}
    keys = {name: found for name, found in keys.items() if found}

    def same(row, one):
        return all(any(alike(row[name], one.get(key)) for key in found)
                   for name, found in keys.items())

    pairs, at = [], 0
    if len(keys) < 2:
        return None
    if len(rows) < len(objects):
        for one in objects:
            if at < len(rows) and same(rows[at], one):
                pairs.append((rows[at], one))
                at += 1
    else:
        for row in rows:
            if at < len(objects) and same(row, objects[at]):
                pairs.append((row, objects[at]))
                at += 1
    return pairs if len(pairs) == min(len(rows), len(objects)) else None


def json_against(rows, objects, view):
    """What is wrong with rows of JSON; None: they are others."""
    left_out = {**ELSEWHERE, **OF_VIEW.get(view.name, {})}
    if len(rows) != len(objects):
        pairs = in_order(rows, objects, left_out) if view.name in OTHER_ROWS else None
        if not pairs:
            return None
        rows, objects = [row for row, _ in pairs], [one for _, one in pairs]
    wrong, known = [], keys_of(objects)
    for name in rows[0]:
        if name in left_out:
            continue
        cells = [row[name] for row in rows]
        keys = keys_named(name, known) or known
        if any(all(map(holds, cells, [one.get(key) for one in objects])) for key in keys):
            continue
        if any(renamed(cells, [one.get(key) for one in objects]) for key in known):
            continue
        if (view.name, name) in KNOWN:
            MET.add((view.name, name))
            continue
        at = next(i for i, cell in enumerate(cells) if not holds(cell, objects[i].get(keys[0])))
        wrong.append(f"row {at + 1}, {name}: {cells[at]!r} in CSV, {keys[0]} "
                     f"{objects[at].get(keys[0])!r} in JSON")
    return wrong


def rows_in(documents):
    found = {}
    for document in documents:
        if document.get("rows", ()) is not None:  # null: work is missing, and nothing is claimed
            row_sets([document], "", {}, found)
    return found


# ---- All views ----

def compare_text(view, subject, rows):
    text = laws.run(*view.report, *(["--all"] if view.report[0] == "diff" else []), *subject)
    best, count = [f"0 rows of text, {len(rows)} of CSV"], 0
    for table in tables_of([text]):
        ours, wrong = text_against(table, rows, view.name in LEFT_OUT, SHORT.get(view.name, ()))
        if len(ours) - len(wrong) * 500 > count - len(best) * 500:
            best, count = wrong, len(ours)
    return [] if not count and view.name in LEFT_OUT else best


def compare_json(view, subject, rows):
    document = laws.document(*view.report, *subject)
    best = None
    for path, objects in rows_in(document if isinstance(document, list) else [document]).items():
        wrong = json_against(rows, objects, view)
        if wrong is not None and (best is None or len(wrong) < len(best)):
            best = [f"{path} {one}" for one in wrong]
    return [f"no array has the {len(rows)} rows"] if best is None else best


def main():
    verdicts = laws.Verdicts()
    for view in laws.VIEWS:
        for subject in laws.subjects(view):
            rows = laws.table(view, subject)
            if not rows:
                continue
            what = f"{view.name} {' '.join(subject) if len(subject) < 4 else 'TRACES'}"
            if view.name not in NO_ROWS:
                verdicts.say(f"{what}: CSV and JSON", compare_json(view, subject, rows))
            if any(fnmatch.fnmatchcase(view.name, name) for name in PROSE):
                continue
            if any(fnmatch.fnmatchcase(view.name, name) for name in COMMITTED):
                subject = tuple(trace for trace in subject if not os.path.isabs(trace))
                rows = laws.table(view, subject)
            rows = LAYOUTS.get(view.name, with_joined)(rows)
            verdicts.say(f"{what}: text and CSV", compare_text(view, subject, rows))
    verdicts.say("known contradictions", [f"{' '.join(one)} holds now: remove it from KNOWN"
                                          for one in sorted(set(KNOWN) - MET)])
    return verdicts


if __name__ == "__main__":
    sys.exit(main().end())
