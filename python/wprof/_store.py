"""Engines and stores.

Everything in a store has the store's `_Core`, and so keeps the store alive: objects may be dropped in any order. A store is
used by one thread at a time, since C expects that; a second thread gets an error, not undefined behaviour.
"""

import atexit
import ctypes
import threading
from ctypes import byref

from ._errors import WprofError, check
from ._library import c, lent_text

_is_ending = False


@atexit.register
def _end():
    # What is left then goes with the process: code of C should not call an interpreter that is being taken apart.
    global _is_ending
    _is_ending = True


class Handle:
    """An owner of a pointer of C's, which it frees at its end."""

    _ptr = None

    def __init__(self, ptr, free):
        self._ptr, self._free = ptr, free

    def __del__(self):
        ptr, self._ptr = self._ptr, None
        if ptr and not _is_ending:
            self._free(ptr)


_PROFILING = ["off", "adaptive", "edges", "paths", "blocks"]
_STRATEGIES = ["tiered", "optimized", "baseline"]
_SETTINGS = {
    "profiling": lambda config, kind: check(c.wprof_config_profiling, config, _number(_PROFILING, kind)),
    "strategy": lambda config, kind: check(c.wprof_config_strategy, config, _number(_STRATEGIES, kind)),
    "count_contexts": c.wprof_config_count_contexts,
    "sample_time": c.wprof_config_sample_time,
    "interruptible": c.wprof_config_interruptible,
    "consume_fuel": c.wprof_config_consume_fuel,
    "canonical_nans": c.wprof_config_canonical_nans,
    "max_wasm_stack": c.wprof_config_max_wasm_stack,
    "max_call_depth": c.wprof_config_max_call_depth,
}


def _number(names, name):
    if name not in names:
        raise WprofError(f"{name!r} is not known: there are {', '.join(names)}")
    return names.index(name)


class Config:
    """Settings of an engine.

    * `profiling`: `"off"` (as long as nothing else is said), `"adaptive"`, or exactly `"edges"`, `"paths"` or `"blocks"`
    * `strategy`: `"tiered"`, `"optimized"`, `"baseline"`
    * `count_contexts`, `interruptible`, `consume_fuel`, `canonical_nans`: whether
    * `sample_time`: times a second
    * `max_wasm_stack`: bytes; `max_call_depth`: frames
    * `wasm_simd`, `wasm_threads`, `wasm_gc` …: whether modules may use a proposal

    An engine takes what is set when it is made. What is not set is as the engine has it.
    """

    def __init__(self, **settings):
        object.__setattr__(self, "_settings", {})
        for name, value in settings.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        if name not in _SETTINGS and not name.startswith("wasm_"):
            known = ", ".join(_SETTINGS)
            raise AttributeError(f"there is no setting `{name}`: there are {known}, and wasm_* for proposals")
        self._settings[name] = value

    def _apply(self, config):
        for name, value in self._settings.items():
            if name in _SETTINGS:
                _SETTINGS[name](config, value)
            else:
                check(c.wprof_config_proposal, config, byref(lent_text(name.removeprefix("wasm_"))), value)


class Engine(Handle):
    """Compiles modules, for any number of stores and threads."""

    def __init__(self, config=None):
        ours = c.wasm_config_new()
        try:
            (config or Config())._apply(ours)
        except BaseException:
            c.wasm_config_delete(ours)
            raise
        super().__init__(check(c.wprof_engine_new, ours), c.wasm_engine_delete)


class _Core(Handle):
    """A store of C's, and who uses it."""

    def __init__(self, engine):
        ptr = c.wasm_store_new(engine._ptr)
        if not ptr:
            raise WprofError("the system has no memory for a store")
        super().__init__(ptr, c.wasm_store_delete)
        self.engine, self.data = engine, None
        self._lock = threading.RLock()

    def __enter__(self):
        if not self._lock.acquire(blocking=False):
            raise WprofError("a store is used by one thread at a time, and another thread is using this one")
        return self._ptr

    def __exit__(self, *_):
        self._lock.release()


class Context:
    """What gives access to a store: a `Store`, or the `Caller` of a host function."""

    _core = None
    _why_gone = "a caller is used while its host function runs, not later"

    def _use(self, item=None):
        """Returns the core, to be used in `with`. What belongs to another store is an error."""
        if self._core is None:
            raise WprofError(self._why_gone)
        if item is not None and item._core is not self._core:
            raise WprofError(f"the {type(item).__name__} belongs to another store")
        return self._core

    @property
    def data(self):
        """What the embedder has given to the store; `None` at first."""
        with self._use():
            return self._core.data

    @data.setter
    def data(self, value):
        with self._use():
            self._core.data = value

    @property
    def engine(self):
        """The engine."""
        return self._use().engine

    def set_fuel(self, fuel):
        """Sets what wasm code may consume from now on; for engines with `consume_fuel`."""
        with self._use() as store:
            check(c.wprof_store_set_fuel, store, fuel)

    def get_fuel(self):
        """Returns what is left of the fuel."""
        left = ctypes.c_uint64()
        with self._use() as store:
            check(c.wprof_store_get_fuel, store, byref(left))
        return left.value

    def set_deadline(self, seconds):
        """Ends wasm code with a trap so many seconds from now; `None`: not any more. For engines that are `interruptible`."""
        milliseconds = 0 if seconds is None else max(1, round(seconds * 1000))
        with self._use() as store:
            check(c.wprof_store_set_deadline, store, milliseconds)

    def set_limits(self, memory_size=None, table_elements=None, instances=None, memories=None, tables=None):
        """Limits what is made from now on: bytes of each memory, elements of each table, and how many there are."""
        default = lambda value, most: most if value is None else value  # noqa: E731
        counts = [default(count, (1 << 63) - 1) for count in (instances, memories, tables)]
        with self._use() as store:
            c.wprof_store_limit(store, default(memory_size, 64 << 30), default(table_elements, 10_000_000))
            c.wprof_store_limit_counts(store, *counts)

    def gc(self):
        """Frees objects that nothing refers to. Happens by itself from time to time."""
        with self._use() as store:
            c.wprof_store_gc(store)


class Store(Context):
    """Holds instances and what is in them, and data of the embedder's. In `with` it is closed at the end."""

    _why_gone = "the store is closed"

    def __init__(self, engine=None, data=None):
        self._core = _Core(engine or Engine())
        self._core.data = data

    def close(self):
        """Ends the use of the store, whose memory is free once nothing that belongs to it is left."""
        self._core = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def set_wasi(self, wasi):
        """Gives the programs of this store a `WasiConfig`, which cannot be used again."""
        with self._use() as store:
            c.wprof_store_set_wasi(store, wasi._given())

    def interrupt_handle(self):
        """Returns what ends wasm code of this store from another thread."""
        with self._use() as store:
            return InterruptHandle(c.wprof_store_interrupt_handle(store), c.wprof_interrupt_handle_delete)


class InterruptHandle(Handle):
    """Ends wasm code of a store, from any thread; for engines that are `interruptible`."""

    def interrupt(self):
        """Ends what runs, or else what runs next, with a trap."""
        c.wprof_interrupt_handle_interrupt(self._ptr)
