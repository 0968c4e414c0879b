"""A WebAssembly engine that profiles what it runs.

The names are those of Wasmtime's package: an `Engine` compiles `Module`s, a `Store` holds `Instance`s and what is in them, a
`Linker` finds imports by name. What comes in addition are profiles:

>>> from wprof import Config, Engine, Instance, Module, Store
>>> engine = Engine(Config(profiling="edges"))
>>> module = Module(engine, '(module (func $f (export "f") (result i32) (i32.const 1)))')
>>> store = Store(engine)
>>> instance = Instance(store, module, [])
>>> instance.exports(store)["f"](store)
1
>>> instance.profile(store).functions
[{'index': 0, 'name': 'f', 'calls': 1, 'instructions': 1}]
"""

from ._errors import ExitTrap, Frame, Trap, TrapCode, WasmtimeError, WprofError
from ._externs import Caller, Extern, Func, Global, Memory, Table
from ._module import Instance, InstanceExports, InstancePre, Linker, Module
from ._profile import Profile
from ._store import Config, Engine, InterruptHandle, Store
from ._types import ExportType, FuncType, GlobalType, ImportType, Limits, MemoryType, TableType, ValType
from ._values import Val
from ._wasi import Output, WasiConfig

__all__ = [
    "Caller",
    "Config",
    "Engine",
    "ExitTrap",
    "ExportType",
    "Extern",
    "Frame",
    "Func",
    "FuncType",
    "Global",
    "GlobalType",
    "ImportType",
    "Instance",
    "InstanceExports",
    "InstancePre",
    "InterruptHandle",
    "Limits",
    "Linker",
    "Memory",
    "MemoryType",
    "Module",
    "Output",
    "Profile",
    "Store",
    "Table",
    "TableType",
    "Trap",
    "TrapCode",
    "Val",
    "ValType",
    "WasmtimeError",
    "WasiConfig",
    "WprofError",
]
