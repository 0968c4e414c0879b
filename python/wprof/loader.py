"""`import wprof.loader` lets Python import `NAME.wasm` and `NAME.wat` as a module `NAME`.

Exported functions are called without a store. Modules of WebAssembly import what Python finds under the name of the module,
and WASI, with the arguments, environment, input and output of this process.
"""

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path

from . import Extern, Func, FuncType, Linker, Module, Store, WasiConfig


def _store():
    store, wasi = Store(), WasiConfig()
    wasi.inherit_argv()
    wasi.inherit_env()
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    store.set_wasi(wasi)
    return store


# One for all: modules import each other.
_the_store = _store()


class _Bound:
    """An exported function with its store."""

    def __init__(self, func):
        self._func = func

    def __call__(self, *params):
        return self._func(_the_store, *params)


class _WasmLoader(Loader):
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        wasm = Module.from_file(_the_store.engine, module.__spec__.origin)
        linker = Linker(_the_store.engine)
        linker.define_wasi()
        for it in wasm.imports:
            if not it.module.startswith("wasi_"):
                linker.allow_shadowing = True
                self._define(linker, it)
        exports = linker.instantiate(_the_store, wasm).exports(_the_store)
        if "_initialize" in exports:
            exports["_initialize"](_the_store)
        for name, item in exports.items():
            setattr(module, name, _Bound(item) if isinstance(item, Func) else item)

    def _define(self, linker, it):
        found = getattr(importlib.import_module(it.module), it.name)
        if isinstance(found, _Bound):
            found = found._func
        if isinstance(found, Extern):
            linker.define(_the_store, it.module, it.name, found)
        elif isinstance(it.type, FuncType):
            linker.define_func(it.module, it.name, it.type, found)
        else:
            raise ImportError(f"`{it.module}.{it.name}` is no {type(it.type).__name__}")


class _WasmFinder(MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        name = fullname.rpartition(".")[2]
        for folder in sys.path if path is None else path:
            for suffix in (".wasm", ".wat"):
                file = Path(folder or ".", name + suffix)
                if file.is_file():
                    return ModuleSpec(fullname, _WasmLoader(), origin=str(file))
        return None


sys.meta_path.append(_WasmFinder())
