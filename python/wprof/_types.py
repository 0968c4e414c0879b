"""Types of values, imports and exports: plain values of Python, converted to types of C where these are wanted."""

from ctypes import byref, c_void_p

from . import _library
from ._library import Pointers, c, peek, pointers_of

_NAMES = {0: "i32", 1: "i64", 2: "f32", 3: "f64", 128: "externref", 129: "funcref", 255: "other"}
_NO_MAXIMUM = 0xFFFF_FFFF


class _Shown:
    """What is equal and printed by its parts."""

    def _parts(self):
        raise NotImplementedError

    def __eq__(self, other):
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self):
        return hash((type(self), str(self._parts())))

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(map(repr, self._parts()))})"


class ValType(_Shown):
    """A type of values."""

    def __init__(self, kind):
        if kind not in _NAMES:
            raise TypeError(f"no type of values has number {kind!r}: use ValType.i32() and the like")
        self.kind = kind

    @classmethod
    def i32(cls):
        return cls(0)

    @classmethod
    def i64(cls):
        return cls(1)

    @classmethod
    def f32(cls):
        return cls(2)

    @classmethod
    def f64(cls):
        return cls(3)

    @classmethod
    def externref(cls):
        return cls(128)

    @classmethod
    def funcref(cls):
        return cls(129)

    @property
    def is_ref(self):
        """Whether values are references."""
        return self.kind >= 128

    def _parts(self):
        return [self.kind]

    def __str__(self):
        return _NAMES[self.kind]

    __repr__ = __str__

    def _new(self):
        return c.wasm_valtype_new(self.kind)


def _vector(types):
    """Returns a vector of types of C, to give away."""
    out, all_of_them = Pointers(), [ty._new() for ty in types]
    c.wasm_valtype_vec_new(byref(out), len(all_of_them), (c_void_p * len(all_of_them))(*all_of_them))
    return out


def _types(types):
    types = list(types)
    for ty in types:
        if not isinstance(ty, ValType):
            raise TypeError(f"{ty!r} is no ValType")
    return types


class FuncType(_Shown):
    """A type of functions: the types of parameters and of results."""

    def __init__(self, params, results):
        self.params, self.results = _types(params), _types(results)

    def _parts(self):
        return [self.params, self.results]

    def _new(self):
        return c.wasm_functype_new(byref(_vector(self.params)), byref(_vector(self.results)))

    @classmethod
    def _of(cls, ty):
        read = lambda of: [ValType(c.wasm_valtype_kind(it)) for it in pointers_of(of(ty).contents)]  # noqa: E731
        return cls(read(c.wasm_functype_params), read(c.wasm_functype_results))


class Limits(_Shown):
    """A minimum, and a maximum or `None`."""

    def __init__(self, min, max=None):
        for value in (min, 0 if max is None else max):
            if not isinstance(value, int) or not 0 <= value < _NO_MAXIMUM:
                raise ValueError(f"a limit of {value!r}: it must be a number from 0 to 4294967294")
        self.min, self.max = min, max

    def _parts(self):
        return [self.min, self.max]

    def _c(self):
        return _library.Limits(self.min, _NO_MAXIMUM if self.max is None else self.max)

    @classmethod
    def _of(cls, limits):
        limits = limits.contents
        it = cls.__new__(cls)
        it.min, it.max = limits.min, None if limits.max == _NO_MAXIMUM else limits.max
        return it


class GlobalType(_Shown):
    """A type of globals: of their content, and whether it may change."""

    def __init__(self, content, mutable):
        self.content, self.mutable = _types([content])[0], bool(mutable)

    def _parts(self):
        return [self.content, self.mutable]

    def _new(self):
        return c.wasm_globaltype_new(self.content._new(), int(self.mutable))

    @classmethod
    def _of(cls, ty):
        content = ValType(c.wasm_valtype_kind(c.wasm_globaltype_content(ty)))
        return cls(content, c.wasm_globaltype_mutability(ty) == 1)


class TableType(_Shown):
    """A type of tables: of their elements, and how many there may be."""

    def __init__(self, element, limits):
        self.element, self.limits = _types([element])[0], limits

    def _parts(self):
        return [self.element, self.limits]

    def _new(self):
        return c.wasm_tabletype_new(self.element._new(), byref(self.limits._c()))

    @classmethod
    def _of(cls, ty):
        element = ValType(c.wasm_valtype_kind(c.wasm_tabletype_element(ty)))
        return cls(element, Limits._of(c.wasm_tabletype_limits(ty)))


class MemoryType(_Shown):
    """A type of memories: how many pages of 64 KiB there may be."""

    def __init__(self, limits):
        self.limits = limits

    def _parts(self):
        return [self.limits]

    def _new(self):
        return c.wasm_memorytype_new(byref(self.limits._c()))

    @classmethod
    def _of(cls, ty):
        return cls(Limits._of(c.wasm_memorytype_limits(ty)))


class OtherType(_Shown):
    """A type that this package has no name for."""

    def _parts(self):
        return []


_OF_KIND = [FuncType, GlobalType, TableType, MemoryType]


def extern_type(ty):
    """Returns a type of imports and exports as a value of Python."""
    kind = c.wasm_externtype_kind(ty)
    return _OF_KIND[kind]._of(ty) if kind < len(_OF_KIND) else OtherType()


def taken_type(ty):
    """As `extern_type`; frees the type of C."""
    try:
        return extern_type(ty)
    finally:
        c.wasm_externtype_delete(ty)


class ImportType(_Shown):
    """An import: the names of its module and its own, and its type."""

    def __init__(self, module, name, ty):
        self.module, self.name, self.type = module, name, ty

    def _parts(self):
        return [self.module, self.name, self.type]

    @classmethod
    def _of(cls, it):
        names = peek(c.wasm_importtype_module(it)), peek(c.wasm_importtype_name(it))
        return cls(*names, extern_type(c.wasm_importtype_type(it)))


class ExportType(_Shown):
    """An export: its name and type."""

    def __init__(self, name, ty):
        self.name, self.type = name, ty

    def _parts(self):
        return [self.name, self.type]

    @classmethod
    def _of(cls, it):
        return cls(peek(c.wasm_exporttype_name(it)), extern_type(c.wasm_exporttype_type(it)))


class new_type:
    """Within `with`, a type as C has it."""

    def __init__(self, ty, wanted):
        if not isinstance(ty, wanted):
            raise TypeError(f"{ty!r} is no {wanted.__name__}")
        self.pointer, self.free = ty._new(), getattr(c, f"wasm_{wanted.__name__.lower()}_delete")

    def __enter__(self):
        return self.pointer

    def __exit__(self, *_):
        self.free(self.pointer)


