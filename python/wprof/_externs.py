"""What modules import and export: functions, globals, tables, memories."""

import ctypes
import threading
import weakref
from ctypes import POINTER, byref

from . import _values
from ._errors import WprofError, check, taken
from ._library import Callback, Value, Values, c, lent_text
from ._store import Context, Handle
from ._types import FuncType, GlobalType, MemoryType, TableType, new_type, taken_type

# The exception of a host function, on its way out through wasm code.
_on_the_way = threading.local()


class Extern(Handle):
    """What can be imported and exported."""

    def __init__(self, core, ptr):
        super().__init__(ptr, c.wasm_ref_delete)
        self._core = core

    @classmethod
    def _of(cls, core, ptr):
        it = cls.__new__(cls)
        Extern.__init__(it, core, ptr)
        return it

    def type(self, store):
        """Returns the type."""
        with store._use(self):
            return taken_type(c.wasm_extern_type(self._ptr))

    def __eq__(self, other):
        return isinstance(other, Extern) and self._core is other._core and c.wasm_ref_same(self._ptr, other._ptr)

    def __hash__(self):
        return hash(id(self._core))


def extern(core, ptr):
    """Returns an import or export that C has given."""
    kind = c.wasm_extern_kind(ptr)
    classes = [Func, Global, Table, Memory]
    return (classes[kind] if kind < len(classes) else Extern)._of(core, ptr)


def failed(trap):
    """Returns the exception of a call that has ended with a trap of C's: a host function's own, if one has raised it."""
    exception = taken(trap)
    raised, _on_the_way.exception = getattr(_on_the_way, "exception", None), None
    return exception if raised is None else raised


class Caller(Context):
    """The store, and the exports of the instance that has called a host function, while it runs."""

    def __init__(self, core):
        self._core = core

    def get(self, name, default=None):
        """Returns an export of the caller's."""
        with self._use() as store:
            found = c.wprof_caller_export(store, byref(lent_text(name)))
        return extern(self._core, found) if found else default

    def __getitem__(self, name):
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found


class _HostFunction:
    """A function of Python's, as C calls it. Does not keep its store alive, which has it."""

    def __init__(self, core, ty, func, access_caller):
        self._core, self._ty, self._func = weakref.ref(core), ty, func
        self._access_caller = access_caller

    def call(self, arguments, results):
        core = self._core()
        given = [_values.get(core, arguments[index]) for index in range(len(self._ty.params))]
        caller = Caller(core)
        try:
            returned = self._func(*([caller] if self._access_caller else []), *given)
        finally:
            caller._core = None
        for ty, value, place in zip(self._ty.results, self._in_order(returned), results):
            _values.put(core, ty, value, place)

    def _in_order(self, returned):
        wanted = len(self._ty.results)
        if wanted == 1:
            return [returned]
        found = [] if returned is None else list(returned)
        if len(found) != wanted:
            raise WprofError(f"a host function has returned {len(found)} results, of {wanted}")
        return found

    def trap(self, exception):
        """Returns a trap, which the caller owns."""
        _on_the_way.exception = exception
        return c.wasm_trap_new(self._core()._ptr, byref(lent_text(f"{type(exception).__name__}: {exception}")))


@Callback
def _call_host(key, arguments, results):
    function = _values.things[key]
    try:
        # The places of results are initialised, and null where they are references.
        function.call(arguments.contents.data, _places(results.contents))
    except BaseException as exception:  # Whatever it is goes on behind the wasm code.
        return function.trap(exception)
    return None


def _places(values):
    if values.size == 0:
        return []
    return (Value * values.size).from_address(ctypes.addressof(values.data.contents))


class Func(Extern):
    """A function. What it is called with begins with a store."""

    def __init__(self, store, ty, func, access_caller=False):
        """Makes a function of `func`, which gets a `Caller` first if `access_caller`. What it raises ends the wasm code.

        The store has `func`: what `func` keeps of the store is never freed.
        """
        with store._use() as ptr, new_type(ty, FuncType) as c_type:
            key = _values.keep(_HostFunction(store._core, ty, func, access_caller))
            made = c.wasm_func_new_with_env(ptr, c_type, _call_host, key, _values.let_go)
        if not made:
            raise WprofError(f"there cannot be a host function of type {ty!r}")
        super().__init__(store._core, made)

    def __call__(self, store, *params):
        with store._use(self):
            ty = self._type()
            if len(params) != len(ty.params):
                raise WprofError(f"the function takes {len(ty.params)} arguments, and was given {len(params)}")
            given = _values.array(self._core, ty.params, params)
            results = (Value * len(ty.results))()
            trap = c.wasm_func_call(self._ptr, byref(_vector(given)), byref(_vector(results)))
            _values.free(given)
            if trap:
                raise failed(trap)
            try:
                found = [_values.get(self._core, result) for result in results]
            finally:
                _values.free(results)
        return found if len(found) > 1 else found[0] if found else None

    def _type(self):
        if "_known" not in self.__dict__:
            self._known = taken_type(c.wasm_func_type(self._ptr))
        return self._known


def _vector(values):
    return Values(len(values), ctypes.cast(values, POINTER(Value)))


class Global(Extern):
    """A global."""

    def __init__(self, store, ty, value):
        with store._use() as ptr, new_type(ty, GlobalType) as c_type:
            given = _values.array(store._core, [ty.content], [value])
            try:
                made = check(c.wprof_global_new, ptr, c_type, given)
            finally:
                _values.free(given)
        super().__init__(store._core, made)

    def value(self, store):
        """Returns what is in it."""
        out = (Value * 1)()
        with store._use(self):
            c.wasm_global_get(self._ptr, out)
            try:
                return _values.get(self._core, out[0])
            finally:
                _values.free(out)

    def set_value(self, store, value):
        """Changes what is in it; an error if it is immutable."""
        given = _values.array(store._core, [self.type(store).content], [value])
        try:
            with store._use(self):
                check(c.wprof_global_set, self._ptr, given)
        finally:
            _values.free(given)


class Table(Extern):
    """A table of references."""

    def __init__(self, store, ty, init):
        with store._use() as ptr, new_type(ty, TableType) as c_type, _Element(store, ty, init) as element:
            made = check(c.wprof_table_new, ptr, c_type, element)
        super().__init__(store._core, made)

    def size(self, store):
        """Returns the number of elements."""
        with store._use(self):
            return c.wasm_table_size(self._ptr)

    def grow(self, store, amount, init):
        """Adds elements; returns how many there were."""
        before = self.size(store)
        with store._use(self), _Element(store, self.type(store), init) as element:
            check(c.wprof_table_grow, self._ptr, _size(amount), element)
        return before

    def get(self, store, index):
        """Returns an element."""
        if not 0 <= index < self.size(store):
            raise IndexError(f"element {index} of a table of {self.size(store)}")
        with store._use(self):
            return _values.referred(self._core, c.wasm_table_get(self._ptr, index))

    def set(self, store, index, value):
        """Changes an element."""
        with store._use(self), _Element(store, self.type(store), value) as element:
            check(c.wprof_table_set, self._ptr, _size(index), element)


class _Element:
    """Within `with`, an element for tables as C has it."""

    def __init__(self, store, ty, value):
        self._reference = _values.reference(store._core, ty.element.kind, value)

    def __enter__(self):
        return self._reference

    def __exit__(self, *_):
        if self._reference:
            c.wasm_ref_delete(self._reference)


def _size(value):
    if not isinstance(value, int) or not 0 <= value < 1 << 32:
        raise OverflowError(f"{value!r} is no size")
    return value


class Memory(Extern):
    """A linear memory."""

    def __init__(self, store, ty):
        with store._use() as ptr, new_type(ty, MemoryType) as c_type:
            made = check(c.wprof_memory_new, ptr, c_type)
        super().__init__(store._core, made)

    def size(self, store):
        """Returns the number of pages of 64 KiB."""
        with store._use(self):
            return c.wasm_memory_size(self._ptr)

    def data_len(self, store):
        """Returns the number of bytes."""
        with store._use(self):
            return c.wasm_memory_data_size(self._ptr)

    def grow(self, store, delta):
        """Adds pages; returns how many there were."""
        before = self.size(store)
        with store._use(self):
            check(c.wprof_memory_grow, self._ptr, _size(delta))
        return before

    def read(self, store, start=None, stop=None):
        """Returns a copy of the bytes from `start` to `stop`, which are as those of a slice."""
        with store._use(self):
            base, length = self._data()
            start, stop, _ = slice(start, stop).indices(length)
            return bytearray(ctypes.string_at(base + start, stop - start)) if start < stop else bytearray()

    def write(self, store, value, start=None):
        """Writes bytes from `start` on; returns how many. An error if they do not fit."""
        value = bytes(value)
        with store._use(self):
            base, length = self._data()
            start = 0 if start is None else start
            start = start + length if start < 0 else start
            if not 0 <= start <= length - len(value):
                raise IndexError(f"{len(value)} bytes at {start} do not fit into a memory of {length}")
            ctypes.memmove(base + start, value, len(value))
        return len(value)

    def _data(self):
        base, length = c.wasm_memory_data(self._ptr), c.wasm_memory_data_size(self._ptr)
        if not base and length:
            raise WprofError("threads share the memory: its bytes cannot be read or written from here")
        return base or 0, length


