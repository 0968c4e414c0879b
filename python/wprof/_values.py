"""Values: numbers, functions, and any object of Python's as an `externref`."""

import itertools

from . import _externs
from ._errors import WprofError
from ._library import Finalizer, Value, c
from ._types import ValType

_I32, _I64, _F32, _F64, _EXTERNREF, _FUNCREF = 0, 1, 2, 3, 128, 129

# Objects that C has a key of: what wasm code holds, and host functions.
things = {}
_keys = itertools.count(1)


def keep(thing):
    """Keeps an object until C says that nothing has it; returns its key."""
    key = next(_keys)
    things[key] = thing
    return key


@Finalizer
def let_go(key):
    things.pop(key, None)


def _integer(value, bits):
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no integer, but an i{bits} is wanted")
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise OverflowError(f"{value} does not fit into an i{bits}")
    return value


def _foreign(store, thing):
    if thing is None:
        return None
    foreign = c.wasm_foreign_new(store)
    c.wasm_foreign_set_host_info_with_finalizer(foreign, keep(thing), let_go)
    return foreign


def reference(core, kind, value):
    """Returns a reference of C's, which the caller owns, for a value of a reference type; `None` is null."""
    if kind == _EXTERNREF:
        return _foreign(core._ptr, value)
    if kind != _FUNCREF:
        raise TypeError("values of this type cannot be passed: only numbers, functions and externrefs")
    if value is None:
        return None
    if not isinstance(value, _externs.Func):
        raise TypeError(f"{value!r} is no Func, but a funcref is wanted")
    if value._core is not core:
        raise WprofError("the Func belongs to another store")
    return c.wasm_ref_copy(value._ptr)


class Val:
    """A value with its type, for programs that say both: `Val.i32(1)` may stand where 1 may."""

    def __init__(self, ty, value):
        self.type, self.value = ty, value

    @classmethod
    def i32(cls, value):
        return cls(ValType.i32(), value)

    @classmethod
    def i64(cls, value):
        return cls(ValType.i64(), value)

    @classmethod
    def f32(cls, value):
        return cls(ValType.f32(), value)

    @classmethod
    def f64(cls, value):
        return cls(ValType.f64(), value)

    @classmethod
    def externref(cls, value):
        return cls(ValType.externref(), value)

    @classmethod
    def funcref(cls, value):
        return cls(ValType.funcref(), value)

    def __repr__(self):
        return f"Val.{self.type}({self.value!r})"


def put(core, ty, value, out):
    """Writes a value of a type to `out`, which then owns a reference in it."""
    kind = ty.kind
    if isinstance(value, Val):
        if value.type != ty:
            raise TypeError(f"{value!r} is of another type than {ty}")
        value = value.value
    if kind == _I32:
        out.of.i32 = _integer(value, 32)
    elif kind == _I64:
        out.of.i64 = _integer(value, 64)
    elif kind in (_F32, _F64):
        if not isinstance(value, (int, float)):
            raise TypeError(f"{value!r} is no number, but a float is wanted")
        setattr(out.of, "f32" if kind == _F32 else "f64", value)
    else:
        out.of.ref = reference(core, kind, value)
    out.kind = kind


def free(values):
    """Frees the references in values that this package owns."""
    for value in values:
        if value.kind >= _EXTERNREF and value.of.ref:
            c.wasm_ref_delete(value.of.ref)
            value.of.ref = None


def referred(core, ref):
    """Returns what a reference of C's refers to, and frees it."""
    if not ref:
        return None
    foreign = c.wasm_ref_as_foreign(ref)
    if not foreign:
        return _externs.Func._of(core, ref)
    thing = things.get(c.wasm_foreign_get_host_info(foreign))
    c.wasm_ref_delete(ref)
    return thing


def get(core, value):
    """Returns what a value is; the value still owns its reference."""
    if value.kind in (_I32, _I64):
        return value.of.i32 if value.kind == _I32 else value.of.i64
    if value.kind in (_F32, _F64):
        return value.of.f32 if value.kind == _F32 else value.of.f64
    if value.kind not in (_EXTERNREF, _FUNCREF):
        raise WprofError("a value has a type that Python cannot have: it is a vector, an object or an exception")
    return referred(core, c.wasm_ref_copy(value.of.ref) if value.of.ref else None)


def array(core, types, values):
    """Returns an array of values of C's; `free` it."""
    out = (Value * len(types))()
    try:
        for ty, value, place in zip(types, values, out):
            put(core, ty, value, place)
    except BaseException:
        free(out)
        raise
    return out


