"""Who needs whom: the dependency law by #include lines; circles of headers, folders, objects."""
import collections
import os
import re
import subprocess

from house import laws
from house.tree import CODE, Found

CUDA = re.compile(r"^(cuda\w*|cupti\w*|nvtx3?|nvToolsExt\w*|generated_\w+|driver_types)(\.h|/)",
                  re.IGNORECASE)


def layer_of(path):
    """The layer a file belongs to; None for files outside the law (tests, samples)."""
    parts = path.split("/")
    if parts[0] != "src" or len(parts) < 3:
        return None
    return "command" if parts[-1] == "command.c" and parts[1] != "cli" else parts[1]


def folder_of(path):
    """The folder as the law names it: "reports/deps", "nvprof"; None outside of it."""
    return os.path.dirname(path)[len("src/"):] if path.startswith("src/") else None


def shown_by(folder):
    """The headers that a folder shows to others; None: all of them."""
    if folder in laws.SHOWN:
        return laws.SHOWN[folder]
    if folder in laws.LIBRARIES or os.path.dirname(folder) + "/*" in laws.LIBRARIES:
        return None
    return os.path.basename(folder) + ".h", "print.h"


def check_private(file, other):
    """What is wrong with including another folder's header; None when nothing is."""
    own, folder = folder_of(file.path), folder_of(other.path)
    if other.suffix != ".h" or own is None or folder is None or own == folder:
        return None
    shown = shown_by(folder)
    if shown is None or other.name in shown:
        return None
    return f'"{other.path[len("src/"):]}" is private to {folder}, which shows {", ".join(shown)}'


def record_level(name):
    """Where the file's room stands in src/record, from 0; None: it is not in there."""
    parts = name.split("/")
    if parts[:2] != ["src", "record"] or len(parts) < 4:
        return None
    return laws.RECORD.index(parts[2]) if parts[2] in laws.RECORD else len(laws.RECORD)


def check_room(file, other):
    """What is wrong with including a header of another room of the recorder; None: nothing."""
    level, target = record_level(file.path), record_level(other.path)
    if level is None or target is None or target <= level:
        return None
    return f'"{other.path[len("src/"):]}" is of a room above'


def check_include(tree, file, quote, name):
    """What is wrong with one #include; None when nothing is."""
    if CUDA.match(name) and not file.path.startswith(laws.CUDA_FOLDERS):
        return f"<{name}> belongs to these only: {', '.join(laws.CUDA_FOLDERS)}"
    layer = layer_of(file.path)
    if layer is None and not file.path.startswith("include/"):
        return None
    if quote == '"' and name.startswith(".."):
        return f'"{name}": includes start at src/'
    other = tree.included(file, name)
    target = name.split("/")[0] if "/" in name and name.split("/")[0] in laws.ALLOWED else (
        layer_of(other.path) if other else None)
    if layer is None:
        return f'a public header includes "{name}" of src/' if target else None
    if layer not in laws.ALLOWED:
        return f"src/{layer} is not in the dependency law"
    if target and target not in laws.ALLOWED[layer]:
        return f'{layer} must not see {target} ("{name}")'
    if quote != '"' or not other:
        return None
    return check_private(file, other) or check_room(file, other)


def check_includes(tree):
    for file in tree.under(("include/", "src/", "tools/", "tests/", "samples/"),
                           CODE + (".cc", ".cu")):
        for line, quote, name in file.includes:
            wrong = check_include(tree, file, quote, name)
            if wrong:
                yield Found("layers", file.path, line, wrong)


def files_of_folders(tree):
    return collections.Counter(file.folder for file in tree.under("src/", CODE + (".cc", ".cu")))


def check_folders(tree):
    """Folders with more files than one finds one's way in."""
    for folder, count in sorted(files_of_folders(tree).items()):
        if count > laws.MAX_FOLDER:
            yield Found("layers", folder, 0, f"{count} source files; at most {laws.MAX_FOLDER}: "
                                             "split it by families")


# ---- Circles -------------------------------------------------------------------------------------

def circles(graph):
    """The sets of nodes of {node: {node that it needs: why}} that need each other (Tarjan)."""
    order, low, stack, waiting, found = {}, {}, [], set(), []
    for start in graph:
        work = [] if start in order else [(start, iter(graph[start]))]
        while work:
            node, targets = work[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                stack.append(node)
                waiting.add(node)
            for target in targets:
                if target not in order:
                    work.append((target, iter(graph[target])))
                    break
                if target in waiting:
                    low[node] = min(low[node], low[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    at = stack.index(node)
                    if len(stack) - at > 1:
                        found.append(sorted(stack[at:]))
                    waiting -= set(stack[at:])
                    del stack[at:]
    return sorted(found)


def describe(graph, circle):
    return "; ".join(
        f"{os.path.basename(name)} -> {os.path.basename(target)}: {', '.join(sorted(why)[:4])}"
        for name in circle for target, why in sorted(graph[name].items()) if target in circle)


def check_circles(tree):
    """Circles of headers, and of the folders of a layer, by their #include lines."""
    headers, folders = {}, collections.defaultdict(dict)
    for file in tree.under("src/", CODE):
        others = [other for other in tree.includes(file) if other.path.startswith("src/")]
        if file.suffix == ".h":
            headers[file.path] = {other.path: {"#include"} for other in others
                                  if other.suffix == ".h"}
        folders.setdefault(file.folder, {})
        for other in others:
            if other.folder != file.folder and layer_of(file.path) == layer_of(other.path):
                folders.setdefault(other.folder, {})
                folders[file.folder].setdefault(other.folder, set()).add(
                    f"{file.name} includes {other.name}")
    for circle in circles(headers):
        yield Found("header_circles", circle[0], 0,
                    f"headers include each other in a circle: {' '.join(circle)}")
    for circle in circles(folders):
        for name in circle:
            for other in set(circle) & folders[name].keys():
                yield Found("folder_circles", name, 0, f"in a circle with {other}: "
                            + ", ".join(sorted(folders[name][other])[:3]))


# ---- Objects -------------------------------------------------------------------------------------

DEFINED = "TDBRCVWi"
OBJECT_RULES = ("circles_inline", "circles_pointer", "pointers_upward")


def objects(folder, tree):
    """Those of src whose source is still there."""
    for at, _, names in os.walk(os.path.join(folder, "src")):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(at, name), folder)[:-2]
            if name.endswith(".o") and path + ".c" in tree.files:
                yield path


def read_symbols(folder, names):
    """For each file the external symbols that it defines and those that it needs."""
    defined = {name: set() for name in names}
    needed = {name: set() for name in names}
    output = subprocess.run(["nm", "-A", "-g", *(name + ".o" for name in names)], cwd=folder,
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in output.splitlines():
        path, rest = line.split(".o:", 1)
        kind, symbol = rest.split()[-2:]
        if kind in DEFINED:
            defined[path].add(symbol)
        elif kind in "Uw":
            needed[path].add(symbol)
    return defined, needed


def build_graph(names, defined, needed):
    """{file: {file that it needs: symbols}}, and who defines a symbol. Several files may define it,
    in parts that are never linked together (src/record and src/preload, say): one in the own layer
    goes first."""
    owners = collections.defaultdict(list)
    for name in names:
        for symbol in defined[name]:
            owners[symbol].append(name)
    graph = {name: {} for name in names}
    for name in names:
        for symbol in needed[name] & owners.keys():
            for owner in owners_for(owners, name, symbol):
                graph[name].setdefault(owner, set()).add(symbol)
    return graph, owners


def owners_for(owners, name, symbol):
    found, layer = owners.get(symbol, ()), name.split("/")[:2]
    near = [owner for owner in found if owner.split("/")[:2] == layer]
    # What src/preload defines is libc's for everybody else.
    return near or [owner for owner in found if not owner.startswith("src/preload/")]


CALL = re.compile(r"(?<![\w.>])(\w+)\s*\(")
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(((?:.*\\\n)*.*)", re.MULTILINE)
POINTER = re.compile(r"\(\*(?:const )?(\w+)\)\s*\(")
SET = re.compile(r"(?:\.|->)\s*(\w+)\s*=\s*&?(\w+)\s*[,;}]")
POINTER_CALL = re.compile(r"(?:\.|->)(\w+)\s*\(")


def add_inlines(tree, graph, owners):
    """A call in an inline function or macro of a header is the header's own, whoever calls that."""
    homes = {}
    for header in tree.under("src/", ".h"):
        unit = header.path[:-2]
        bodies = [(function.name, header.body(function)) for function in header.functions]
        bodies += MACRO.findall(header.code)
        for name, body in bodies:
            homes[name] = unit
            graph.setdefault(unit, {})
            for symbol in set(CALL.findall(body)):
                for owner in owners_for(owners, unit, symbol):
                    if owner != unit:
                        graph[unit].setdefault(owner, set()).add(f"{symbol} in {name}")
    for file in tree.under("src/", (".c", ".h")):
        unit = file.path[:-2]
        if unit in graph:
            for name in file.words.keys() & homes.keys():
                if homes[name] != unit:
                    graph[unit].setdefault(homes[name], set()).add(name)


def single_pointers(tree):
    """{member of a struct of src: the one function that it ever points to}"""
    members = set()
    for file in tree.under("src/", (".c", ".h")):
        if "(*" in file.code:
            for match in POINTER.finditer(file.code):
                line = file.code[file.code.rfind("\n", 0, match.start()) + 1:match.start()]
                if line[:1] == " " and "(" not in line and "typedef" not in line:
                    members.add(match.group(1))
    values = collections.defaultdict(set)
    for file in tree.under("src/", CODE):
        for member, value in SET.findall(file.code):
            if member in members:
                values[member].add(value)
    return {member: found.pop() for member, found in values.items()
            if len(found) == 1 and "NULL" not in found}


def add_pointers(tree, graph, owners):
    """A call by a pointer that is only ever one function is a call of this function."""
    pointers = single_pointers(tree)
    for file in tree.under("src/", (".c", ".h")):
        unit = file.path[:-2]
        if unit in graph:
            for member in set(POINTER_CALL.findall(file.code)) & pointers.keys():
                symbol = pointers[member]
                for owner in owners_for(owners, unit, symbol):
                    if owner != unit:
                        graph[unit].setdefault(owner, set()).add(f"{symbol} by ->{member}")


def is_above(name, target):
    """Whether the law forbids that a file needs the other one."""
    layer, other = layer_of(name + ".c"), layer_of(target + ".c")
    if layer != "record" or other != "record":
        return layer in laws.ALLOWED and other is not None and other not in laws.ALLOWED[layer]
    level, above = record_level(name), record_level(target)
    return level is not None and above is not None and above > level


def upward(graph):
    for name in sorted(graph):
        for target, why in sorted(graph[name].items()):
            if is_above(name, target):
                yield name, f"needs {target}, which is above it: {', '.join(sorted(why))}"


def check_objects(folder, tree):
    """Files need each other in one direction only: of two files of a circle neither can be read,
    tested or replaced alone. A file needs another one when its object (nm) has a symbol undefined
    that the other one's defines, or hides such a need in an inline function or a pointer."""
    names = list(objects(folder, tree))
    if not names:
        yield Found("circles", folder, 0, "no objects")
        return
    graph, owners = build_graph(names, *read_symbols(folder, names))
    plain = circles(graph)
    for circle in plain:
        yield Found("circles", " ".join(circle), 0, f"a circle ({describe(graph, circle)})")
    for name, text in upward(graph):
        yield Found("circles", name, 0, text)
    add_inlines(tree, graph, owners)
    yield from hidden(graph, plain, "circles_inline", "through inline functions")
    inline = circles(graph)
    ups = set(upward(graph))
    add_pointers(tree, graph, owners)
    yield from hidden(graph, inline, "circles_pointer", "through pointers with one value")
    for name, text in upward(graph):
        if (name, text) not in ups and " by ->" in text:
            yield Found("pointers_upward", name, 0, text)


def hidden(graph, known, rule, how):
    for circle in circles(graph):
        if circle not in known:
            yield Found(rule, " ".join(circle), 0, f"a circle {how} ({describe(graph, circle)})")


def check_exports(library):
    """What the injected library shows to its process: the entry points. It needs nothing but libc,
    not even the dynamic loader, which __tls_get_addr would bring in."""
    def output(*command):
        return subprocess.run([*command, library], capture_output=True, text=True,
                              check=False).stdout
    if not os.path.exists(library):
        yield Found("exports", library, 0, "no such library")
        return
    exported = {line.split()[-1].split("@")[0]
                for line in output("nm", "-D", "--defined-only").splitlines()
                if line.split()[-2] != "A"}
    for name in sorted(exported ^ set(laws.ENTRY_POINTS)):
        yield Found("exports", library, 0, f"exports {name}, which is no entry point"
                    if name in exported else f"does not export {name}")
    dynamic = output("readelf", "-d")
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    if needed != ["libc.so.6"]:
        yield Found("exports", library, 0,
                    f"should need libc.so.6 only, but needs: {' '.join(needed)}")
    if re.search(r"\((RPATH|RUNPATH|TEXTREL)\)", dynamic):
        yield Found("exports", library, 0, "has a RPATH, RUNPATH or TEXTREL")
