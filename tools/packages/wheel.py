"""Writes a wheel (PyPA's binary distribution format 1.0) of the files below a folder.

    wheel.py TREE LICENSE VERSION PLATFORM OUT     prints the wheel's path and size

The same files give the same bytes: names are sorted, and all times are SOURCE_DATE_EPOCH.
"""
import base64
import hashlib
import os
import pathlib
import re
import sys
import time
import zipfile

METADATA = """\
Metadata-Version: 2.1
Name: miniprof
Version: {version}
Summary: A profiler of CUDA programs: records inference, explains it, opens traces as DataFrames
License-File: LICENSE
Requires-Python: >=3.8
Provides-Extra: tables
Requires-Dist: numpy; extra == "tables"
Requires-Dist: pandas; extra == "tables"
"""
WHEEL = """\
Wheel-Version: 1.0
Generator: miniprof
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""
ENTRY_POINTS = """\
[console_scripts]
miniprof = miniprof.__main__:main
"""


def python_version(version):
    """The package's version in Python's spelling (PEP 440): 0.1.0~577.gcf41 is 0.1.0.dev577+gcf41,
    0.2.0+5.g1a2b is 0.2.0.post5+g1a2b, 0.2.0~rc1 is 0.2.0rc1."""
    version = re.sub(r"~(\d+)\.(g[0-9a-f]+)$", r".dev\1+\2", version)
    version = re.sub(r"\+(\d+)\.(g[0-9a-f]+)$", r".post\1+\2", version)
    return version.replace("~", "")


def main():
    tree, license_file, version, platform, out = sys.argv[1:]
    version = python_version(version)
    info = f"miniprof-{version}.dist-info"
    root = pathlib.Path(tree)
    files = {path.relative_to(root).as_posix(): (path.read_bytes(), os.access(path, os.X_OK))
             for path in sorted(root.rglob("*")) if path.is_file()}
    files[f"{info}/LICENSE"] = (pathlib.Path(license_file).read_bytes(), False)
    for name, text in (("METADATA", METADATA), ("WHEEL", WHEEL),
                       ("entry_points.txt", ENTRY_POINTS)):
        files[f"{info}/{name}"] = (text.format(version=version, platform=platform).encode(), False)
    record = ""
    for name, (data, _) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (f"{record}{info}/RECORD,,\n".encode(), False)

    when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    path = pathlib.Path(out) / f"miniprof-{version}-py3-none-{platform}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, (data, runs) in files.items():
            entry = zipfile.ZipInfo(name, max(when, (1980, 1, 1, 0, 0, 0)))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            entry.create_system = 3  # unix
            wheel.writestr(entry, data)
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
