"""Modules, their instances, and linkers, which find imports by name."""

import ctypes
from ctypes import byref, c_void_p
from pathlib import Path

from ._errors import WprofError, check
from ._externs import Extern, Func, extern, failed
from ._library import Bytes, Pointers, c, lent, lent_text, pointers_of, take
from ._profile import Profile
from ._store import Engine, Handle, _Core
from ._types import ExportType, ImportType

_WASI = ("wasi_snapshot_preview1", "wasi_unstable")


def _bytes(wasm):
    return wasm.encode() if isinstance(wasm, str) else bytes(wasm)


class Module(Handle):
    """A module, as binary or as text. It belongs to an engine, and may be instantiated in all stores of it."""

    def __init__(self, engine, wasm):
        self._load(engine, c.wprof_module_new, _bytes(wasm))

    def _load(self, engine, load, wasm):
        if not isinstance(engine, Engine):
            raise TypeError(f"{engine!r} is no Engine")
        # C has modules in stores; this one is for the module only, so no other thread uses it.
        core = _Core(engine)
        super().__init__(check(load, core._ptr, byref(lent(wasm))), c.wasm_module_delete)
        self.engine = engine

    @classmethod
    def from_file(cls, engine, path):
        """Reads a module from a file."""
        return cls(engine, Path(path).read_bytes())

    @classmethod
    def validate(cls, engine, wasm):
        """Raises the reason if it is no valid module."""
        cls(engine, wasm)

    def serialize(self):
        """Returns the module with its machine code, for `deserialize`."""
        out = Bytes()
        c.wasm_module_serialize(self._ptr, byref(out))
        return take(out)

    @classmethod
    def deserialize(cls, engine, encoded):
        """Loads what `serialize` has returned, and only that: it is code, which runs with all rights of the process."""
        it = cls.__new__(cls)
        it._load(engine, c.wprof_module_deserialize, bytes(encoded))
        return it

    @classmethod
    def deserialize_file(cls, engine, path):
        """As `deserialize`, from a file that nobody else can write to."""
        return cls.deserialize(engine, Path(path).read_bytes())

    def _list(self, kind, each):
        found = Pointers()
        getattr(c, f"wasm_module_{kind}s")(self._ptr, byref(found))
        try:
            return [each._of(it) for it in pointers_of(found)]
        finally:
            getattr(c, f"wasm_{kind}type_vec_delete")(byref(found))

    @property
    def imports(self):
        """The imports, in order."""
        return self._list("import", ImportType)

    @property
    def exports(self):
        """The exports, in order."""
        return self._list("export", ExportType)


class InstanceExports:
    """The exports of an instance, by name (or by number), as a mapping."""

    def __init__(self, names, externs):
        self.by_index, self._by_name = externs, dict(zip(names, externs))

    def __getitem__(self, key):
        return self.by_index[key] if isinstance(key, int) else self._by_name[key]

    def get(self, key, default=None):
        return self._by_name.get(key, default)

    def __contains__(self, name):
        return name in self._by_name

    def __len__(self):
        return len(self.by_index)

    def __iter__(self):
        return iter(self._by_name)

    def keys(self):
        return self._by_name.keys()

    def values(self):
        return self._by_name.values()

    def items(self):
        return self._by_name.items()


class Instance(Handle):
    """An instance of a module in a store."""

    def __init__(self, store, module, imports):
        if not isinstance(module, Module):
            raise TypeError(f"{module!r} is no Module")
        for it in imports:
            if not isinstance(it, Extern):
                raise TypeError(f"{it!r} is nothing that can be imported")
            store._use(it)
        if len(imports) != len(module.imports):
            raise WprofError(f"the module has {len(module.imports)} imports, and {len(imports)} are given")
        given = (c_void_p * len(imports))(*(it._ptr for it in imports))
        vector = Pointers(len(given), ctypes.cast(given, ctypes.POINTER(c_void_p)))
        trap = c_void_p()
        with store._use() as ptr:
            made = c.wasm_instance_new(ptr, module._ptr, byref(vector), byref(trap))
            if not made:
                raise failed(trap)
        super().__init__(made, c.wasm_instance_delete)
        self._core, self._module = store._core, module

    def exports(self, store):
        """Returns the exports."""
        found = Pointers()
        with store._use(self):
            c.wasm_instance_exports(self._ptr, byref(found))
            externs = [extern(self._core, c.wasm_ref_copy(it)) for it in pointers_of(found)]
            c.wasm_extern_vec_delete(byref(found))
        return InstanceExports([export.name for export in self._module.exports], externs)

    def profile(self, store):
        """Returns the profile of what the instance has executed so far; for engines that profile."""
        with store._use(self):
            return Profile(check(c.wprof_instance_profile, self._ptr))


class InstancePre:
    """A module whose imports a linker had, to be instantiated in stores: see `Linker.instantiate_pre`."""

    def __init__(self, module, items):
        self._module, self._items = module, items

    def instantiate(self, store):
        """Instantiates the module."""
        return Instance(store, self._module, [item(store) for item in self._items])


class Linker:
    """Names of what can be imported."""

    def __init__(self, engine):
        self.engine, self.allow_shadowing = engine, False
        self._defined, self._has_wasi = {}, False

    def _define(self, module, name, item):
        if not self.allow_shadowing and (module, name) in self._defined:
            raise WprofError(f"`{module}::{name}` is defined already: set `allow_shadowing` to define it again")
        self._defined[module, name] = item

    def define(self, store, module, name, item):
        """Defines a name for something in a store."""
        if not isinstance(item, Extern):
            raise TypeError(f"{item!r} is nothing that can be imported")
        store._use(item)
        self._define(module, name, item)

    def define_func(self, module, name, ty, func, access_caller=False):
        """Defines a host function, which each store gets when it is imported there."""
        self._define(module, name, lambda store: Func(store, ty, func, access_caller))

    def define_instance(self, store, name, instance):
        """Defines all exports of an instance."""
        for export, item in instance.exports(store).items():
            self.define(store, name, export, item)

    def define_module(self, store, name, module):
        """Instantiates a module, and defines all its exports."""
        instance = self.instantiate(store, module)
        start = instance.exports(store).get("_initialize")
        if start is not None:
            start(store)
        self.define_instance(store, name, instance)

    def define_wasi(self):
        """Defines WASI preview 1. Stores need `Store.set_wasi`."""
        self._has_wasi = True

    def get(self, store, module, name):
        """Returns what has a name."""
        return self._item(store, module, name, self._defined.get((module, name)))

    def get_default(self, store, module):
        """Returns the function that runs a module whose exports are defined: the one without a name, or `_start`."""
        for name in ("", "_start"):
            if (module, name) in self._defined:
                return self.get(store, module, name)
        raise WprofError(f"`{module}` has no default function: neither one without a name nor `_start`")

    def _item(self, store, module, name, item):
        if isinstance(item, Extern):
            store._use(item)
            return item
        if item is not None:
            return item(store)
        if self._has_wasi and module in _WASI:
            with store._use() as ptr:
                names = [byref(lent_text(part)) for part in (module, name)]
                return extern(store._core, check(c.wprof_wasi_import, ptr, *names))
        raise WprofError(f"`{module}::{name}` is not defined")

    def instantiate(self, store, module):
        """Instantiates a module. An error names all imports that are missing."""
        return self.instantiate_pre(module).instantiate(store)

    def instantiate_pre(self, module):
        """Finds the imports of a module once, for instances in many stores. An error names all that are missing."""
        missing = [
            f"`{it.module}::{it.name}`"
            for it in module.imports
            if (it.module, it.name) not in self._defined and not (self._has_wasi and it.module in _WASI)
        ]
        if missing:
            raise WprofError(f"imports that are not defined: {', '.join(missing)}")

        def found(it):
            item = self._defined.get((it.module, it.name))
            return lambda store: self._item(store, it.module, it.name, item)

        return InstancePre(module, [found(it) for it in module.imports])
