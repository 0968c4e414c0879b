"""Builds the wheel: the package, and the library that it calls. A PEP 517 backend that needs nothing but Python.

The library is the one that `WPROF_LIBRARY` names, or else it is built as released. The wheel fits each Python 3 from 3.9 on, on
systems with the C library of this one or a later one.
"""

import base64
import hashlib
import json
import os
import platform
import re
import stat
import subprocess
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
METADATA = """Metadata-Version: 2.1
Name: wprof
Version: {version}
Summary: A WebAssembly engine that profiles what it runs
License: Apache-2.0 WITH LLVM-exception
Requires-Python: >=3.9
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Description-Content-Type: text/markdown

{readme}"""


def _version():
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]


def _tag():
    machine = platform.machine()
    name, version = platform.libc_ver()
    system = f"manylinux_{version.replace('.', '_')}" if name == "glibc" else "linux"
    return f"py3-none-{system}_{machine}"


def _library():
    chosen = os.environ.get("WPROF_LIBRARY")
    if chosen:
        return Path(chosen)
    manifest = ["--manifest-path", str(ROOT / "capi" / "Cargo.toml"), "--locked"]
    subprocess.run(["cargo", "build", "--release", *manifest], check=True)
    told = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--no-deps", *manifest], check=True, stdout=subprocess.PIPE
    )
    return Path(json.loads(told.stdout)["target_directory"], "release", "libwprof_capi.so")


def _files(version):
    """Returns the content of the wheel, by name."""
    files = {f"wprof/{path.name}": path.read_bytes() for path in sorted((HERE / "wprof").glob("*.py"))}
    files["wprof/libwprof.so"] = _library().read_bytes()
    info = f"wprof-{version}.dist-info"
    metadata = METADATA.format(version=version, readme=(HERE / "README.md").read_text())
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: wheel_of_library\nRoot-Is-Purelib: false\nTag: {_tag()}\n".encode()
    )
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/RECORD"] = _record(files, f"{info}/RECORD")
    return files


def _record(files, own):
    digest = lambda content: base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")  # noqa: E731
    lines = [f"{name},sha256={digest(content)},{len(content)}\n" for name, content in files.items()]
    return "".join([*lines, f"{own},,\n"]).encode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel; returns its name. The same files give the same wheel."""
    version = _version()
    name = f"wprof-{version}-{_tag()}.whl"
    with zipfile.ZipFile(Path(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in _files(version).items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Refuses: the library is built from the whole repository."""
    raise NotImplementedError("there are wheels of wprof only: its library is built from the repository")


if __name__ == "__main__":
    import sys

    print(Path(sys.argv[1], build_wheel(sys.argv[1])))
