"""The files of the project, read once, from a folder or from git: text, code, functions, words."""
import collections
import functools
import os
import re
import subprocess

CODE = (".c", ".h", ".def")
FOLDERS = ("include", "src", "tools", "tests", "samples", "docs")
READ = CODE + (".py", ".sh", ".mk", ".map", ".md", ".js", ".css", ".html", ".scd", ".cc", ".cu")
LIMITS = "tools/dev/house/limits"

TOKENS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
NOT_NEWLINE = re.compile(r"[^\n]")
WORD = re.compile(r"[A-Za-z_]\w*")
FUNCTION = re.compile(r"(\w+)\s*\(")
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)

Function = collections.namedtuple("Function", "name line lines head body")
Found = collections.namedtuple("Found", "rule path line text")


def is_read(path):
    name = os.path.basename(path)
    return name.endswith(READ) or path == LIMITS or "." not in name and path.startswith("tools/")


class Source:
    """A file. `code` is its text with comments and the insides of strings blanked."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.folder, self.name = os.path.split(path)
        self.stem, self.suffix = os.path.splitext(self.name)
        self.lines = text.split("\n")

    @functools.cached_property
    def code(self):
        def blank(match):
            found = match.group(0)
            if found[0] == "/":
                return NOT_NEWLINE.sub(" ", found)
            return found[0] + NOT_NEWLINE.sub(" ", found[1:-1]) + found[-1]
        return TOKENS.sub(blank, self.text)

    @functools.cached_property
    def words(self):
        blanked = self.suffix in CODE and not self.path.startswith(("tests/", "samples/"))
        return collections.Counter(WORD.findall(self.code if blanked else self.text))

    @functools.cached_property
    def includes(self):
        """[(line, quote, name)]"""
        if "#" not in self.text:
            return []
        return [(self.line_of(match.start(1)), *match.groups())
                for match in INCLUDE.finditer(self.text)]

    @functools.cached_property
    def functions(self):
        """A function is counted from the line of its opening brace to that of its closing one.
        clang-format sees to it that only these are in column 0 after a list of parameters."""
        found, start = [], None
        lines = self.lines
        for number, line in enumerate(lines):
            if line[:1] == "{" and start is None:
                first = number - 1
                while first >= 0 and lines[first][:1] in (" ", "\t"):
                    first -= 1
                head = " ".join(lines[first:number]) if first >= 0 else ""
                match = FUNCTION.search(ATTRIBUTE.sub("", head))
                if match and ";" not in head:
                    start, name = number, match.group(1)
            elif line[:1] == "}" and start is not None:
                found.append(Function(name, start + 1, number - start + 1, head, (start, number)))
                start = None
        return found

    def body(self, function):
        return "\n".join(self.code.split("\n")[function.body[0]:function.body[1]])

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1


class Tree:
    """All files that are looked at, by their paths below `root`."""

    def __init__(self, texts, root="."):
        self.root = root
        self.files = {path: Source(path, text) for path, text in sorted(texts.items())}

    def under(self, folders, suffixes):
        return [file for file in self.files.values()
                if file.path.startswith(folders) and file.name.endswith(suffixes)]

    def included(self, file, name):
        """The file of ours that an #include means; None for others."""
        for base in ("src", file.folder, "include"):
            path = os.path.normpath(os.path.join(base, name))
            if path in self.files:
                return self.files[path]
        return None

    def includes(self, file):
        """The files of ours that a file includes."""
        return [other for _, _, name in file.includes if (other := self.included(file, name))]


def from_folder(root):
    texts = {}
    for folder in (".",) + FOLDERS:
        for at, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = [] if folder == "." else [
                name for name in folders if name not in ("node_modules", "build", "__pycache__")]
            for name in names:
                path = os.path.normpath(os.path.relpath(os.path.join(at, name), root))
                if is_read(path) and os.path.isfile(os.path.join(at, name)):
                    with open(os.path.join(at, name), encoding="utf-8", errors="replace") as file:
                        texts[path] = file.read()
    return Tree(texts, root)


def git(root, *arguments, **more):
    # Not of another repository that this source lies in.
    ceiling = os.path.dirname(os.path.realpath(root))
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, check=False,
                          env={**os.environ, "GIT_CEILING_DIRECTORIES": ceiling}, **more)


def from_git(root, commit=None):
    """The files of a commit; without one those of the index: what is about to be committed."""
    listing = git(root, *(("ls-tree", "-rz", commit) if commit else ("ls-files", "-sz"))).stdout
    blobs = []
    for entry in listing.decode("utf-8", "replace").split("\0")[:-1]:
        about, path = entry.split("\t", 1)
        about = about.split()
        if is_read(path) and path.startswith(tuple(folder + "/" for folder in FOLDERS) + (
                () if "/" in path else (path,))):
            blobs.append((path, about[2] if commit else about[1]))
    output = git(root, "cat-file", "--batch",
                 input="".join(blob + "\n" for _, blob in blobs).encode()).stdout
    texts, at = {}, 0
    for path, _ in blobs:
        end = output.index(b"\n", at)
        size = int(output[at:end].split()[2])
        texts[path] = output[end + 1:end + 1 + size].decode("utf-8", "replace")
        at = end + 2 + size
    return Tree(texts, root)
