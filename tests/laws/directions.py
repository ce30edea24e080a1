"""Invariants of diff: both directions say the same, and nothing differs from itself."""
import re

from checks import ask, compare

OPPOSITE = {"slower": "faster", "faster": "slower", "more": "less", "less": "more",
            "added": "removed", "removed": "added"}
NEGATED = {"shift", "shift_ns", "difference", "difference_ns"}
MIN_SHIFT = 0.01   # of a name's time in A, for it to be slower or faster (docs/diff.md)


def other_side(key):
    """The key of the same value of the other side."""
    if key in OPPOSITE:
        return OPPOSITE[key]
    return {"a": "b", "b": "a"}.get(key) or re.sub(r"^([ab])_", lambda match: {
        "a": "b_", "b": "a_"}[match.group(1)], key)


def mirrored(value, key=""):
    """The document of `diff B A`, made of that of `diff A B`."""
    if isinstance(value, dict):
        found = {other_side(name): mirrored(one, name) for name, one in value.items()}
        if "low_ns" in value and value["low_ns"] is not None:
            found.update(low_ns=-value["high_ns"], high_ns=-value["low_ns"])
        return found
    if isinstance(value, list):
        return [mirrored(one) for one in value]
    if key in NEGATED and value is not None:
        return -value
    return OPPOSITE.get(value, value) if key == "change" else value


def by_name(rows, key):
    return {row[key]: row for row in rows}


def of_both(expected, got):
    """Without the `change` of rows that are slower by 1 % of A's time, but not of B's."""
    for name in expected.keys() & got.keys():
        one, other = expected[name], got[name]
        if one.get("shift_ns") is None:
            continue
        least, most = sorted((one["a_ns"] * MIN_SHIFT, one["b_ns"] * MIN_SHIFT))
        if least <= abs(one["shift_ns"]) < most:
            one["change"] = other["change"] = "of one side only"
    return expected, got


def diff_has_two_directions(check, subject):
    """B against A is A against B with the sides exchanged."""
    one, other = subject.path
    there, back = ask("diff", one, other), ask("diff", other, one)
    what = f"diff {subject.name}"
    if not there or not back:
        check.holds(what, there is back, "only one direction has an answer")
        return
    expected = mirrored(there)
    for found in (expected, back):  # a sentence, which names the sides in their order
        found["iterations"]["differing_ways"] = bool(found["iterations"]["differing_ways"])
    percent = expected["iterations"].pop("percent"), back["iterations"].pop("percent")
    base = back["iterations"]["a"]["p50_ns"]
    if percent[1] is not None and base:
        check.near(f"{what}: percent of the new A's P50",
                   100 * back["iterations"]["shift_ns"] / base, percent[1])
    compare(check, f"{what}: ", expected["iterations"], back["iterations"], path="/iterations")
    for table, key in (("quantities", "quantity"), ("kernels", "name"), ("layers", "name")):
        tables = [by_name(found[table] or [], key) for found in (expected, back)]
        compare(check, f"{what}: ", *of_both(*tables), path=f"/{table}")
    for key in ("equal", "replaced", "added", "removed", "a", "b"):
        compare(check, f"{what}: ", *((found["positions"] or {}).get(key)
                                      for found in (expected, back)), path=f"/positions/{key}")


def zero(check, what, value, path=""):
    """No difference anywhere in a document of diff."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key in NEGATED or key in ("percent", "added", "removed", "replaced"):
                check.holds(f"{what}{path}/{key}", not one, one)
            elif key == "change":
                check.holds(f"{what}{path}/{key}", one in ("unchanged", "unknown"), one)
            else:
                zero(check, what, one, f"{path}/{key}")
        if value.get("low_ns") is not None:
            check.holds(f"{what}{path}/low_ns", value["low_ns"] <= 0 <= value["high_ns"],
                        f"{value['low_ns']} to {value['high_ns']}")
    elif isinstance(value, list):
        for number, one in enumerate(value):
            zero(check, what, one, f"{path}/{number}")


def diff_of_itself_is_zero(check, subject):
    """A trace against itself, and against the same rows written anew."""
    found = ask("diff", subject.path, subject.path)
    if found:
        zero(check, f"diff {subject.name} {subject.name}: ",
             {key: found[key] for key in ("iterations", "quantities", "kernels", "positions",
                                          "layers")})
