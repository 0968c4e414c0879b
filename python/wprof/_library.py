"""The library, and its functions and structures as `wasm.h` and `wprof.h` declare them.

Only this module knows C. A function that is not declared here cannot be called: ctypes would guess its type.
"""

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, Structure, Union, byref, c_bool, c_char, c_double, c_float
from ctypes import c_int32, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from pathlib import Path

NAME = "libwprof.so"


def _find():
    """Returns the path of the library: the one that `WPROF_LIBRARY` names, or the one that the wheel carries."""
    chosen = os.environ.get("WPROF_LIBRARY")
    path = Path(chosen) if chosen else Path(__file__).with_name(NAME)
    if not path.exists():
        raise ImportError(
            f"{path} does not exist: install the wheel that scripts/python-wheel builds, or set WPROF_LIBRARY to "
            f"the path of {NAME}"
        )
    return path


_c = ctypes.CDLL(str(_find()))


class Bytes(Structure):
    """A vector of bytes; names and messages are such."""

    _fields_ = [("size", c_size_t), ("data", POINTER(c_char))]


class Pointers(Structure):
    """A vector of pointers that it owns."""

    _fields_ = [("size", c_size_t), ("data", POINTER(c_void_p))]


class Payload(Union):
    _fields_ = [
        ("i32", c_int32),
        ("i64", c_int64),
        ("f32", c_float),
        ("f64", c_double),
        ("ref", c_void_p),
    ]


class Value(Structure):
    """A value: the kind says which field of the payload is meant."""

    _fields_ = [("kind", c_uint8), ("of", Payload)]


class Values(Structure):
    _fields_ = [("size", c_size_t), ("data", POINTER(Value))]


class Limits(Structure):
    _fields_ = [("min", c_uint32), ("max", c_uint32)]


Callback = CFUNCTYPE(c_void_p, c_void_p, POINTER(Values), POINTER(Values))
Finalizer = CFUNCTYPE(None, c_void_p)

_bytes, _pointers, _values = POINTER(Bytes), POINTER(Pointers), POINTER(Values)
_p, _size = c_void_p, c_size_t

# Results, then parameters.
_FUNCTIONS = {
    "wasm_byte_vec_new": (None, _bytes, _size, ctypes.c_char_p),
    "wasm_byte_vec_delete": (None, _bytes),
    "wasm_extern_vec_delete": (None, _pointers),
    "wasm_frame_vec_delete": (None, _pointers),
    "wasm_importtype_vec_delete": (None, _pointers),
    "wasm_exporttype_vec_delete": (None, _pointers),
    "wasm_valtype_vec_new": (None, _pointers, _size, POINTER(_p)),
    # Engines and stores.
    "wasm_config_new": (_p,),
    "wasm_config_delete": (None, _p),
    "wasm_engine_delete": (None, _p),
    "wasm_store_new": (_p, _p),
    "wasm_store_delete": (None, _p),
    "wprof_engine_new": (_p, _p, _bytes),
    "wprof_config_profiling": (c_bool, _p, c_uint8, _bytes),
    "wprof_config_strategy": (c_bool, _p, c_uint8, _bytes),
    "wprof_config_count_contexts": (None, _p, c_bool),
    "wprof_config_sample_time": (None, _p, c_uint32),
    "wprof_config_interruptible": (None, _p, c_bool),
    "wprof_config_consume_fuel": (None, _p, c_bool),
    "wprof_config_canonical_nans": (None, _p, c_bool),
    "wprof_config_max_wasm_stack": (None, _p, _size),
    "wprof_config_max_call_depth": (None, _p, c_uint32),
    "wprof_config_proposal": (c_bool, _p, _bytes, c_bool, _bytes),
    "wprof_config_conservative": (_p,),
    "wprof_store_set_fuel": (c_bool, _p, c_uint64, _bytes),
    "wprof_store_get_fuel": (c_bool, _p, POINTER(c_uint64), _bytes),
    "wprof_store_set_deadline": (c_bool, _p, c_uint64, _bytes),
    "wprof_store_limit": (None, _p, c_uint64, c_uint64),
    "wprof_store_limit_counts": (None, _p, _size, _size, _size),
    "wprof_store_gc": (None, _p),
    "wprof_store_set_wasi": (None, _p, _p),
    "wprof_store_interrupt_handle": (_p, _p),
    "wprof_interrupt_handle_interrupt": (None, _p),
    "wprof_interrupt_handle_delete": (None, _p),
    # Modules and instances.
    "wprof_module_new": (_p, _p, _bytes, _bytes),
    "wprof_module_deserialize": (_p, _p, _bytes, _bytes),
    "wasm_module_serialize": (None, _p, _bytes),
    "wasm_module_delete": (None, _p),
    "wasm_module_imports": (None, _p, _pointers),
    "wasm_module_exports": (None, _p, _pointers),
    "wasm_importtype_module": (_bytes, _p),
    "wasm_importtype_name": (_bytes, _p),
    "wasm_importtype_type": (_p, _p),
    "wasm_exporttype_name": (_bytes, _p),
    "wasm_exporttype_type": (_p, _p),
    "wasm_instance_new": (_p, _p, _p, _pointers, POINTER(_p)),
    "wasm_instance_delete": (None, _p),
    "wasm_instance_exports": (None, _p, _pointers),
    "wprof_caller_export": (_p, _p, _bytes),
    "wprof_wasi_import": (_p, _p, _bytes, _bytes, _bytes),
    # Types.
    "wasm_valtype_new": (_p, c_uint8),
    "wasm_valtype_kind": (c_uint8, _p),
    "wasm_externtype_kind": (c_uint8, _p),
    "wasm_externtype_delete": (None, _p),
    "wasm_functype_new": (_p, _pointers, _pointers),
    "wasm_functype_delete": (None, _p),
    "wasm_functype_params": (_pointers, _p),
    "wasm_functype_results": (_pointers, _p),
    "wasm_globaltype_new": (_p, _p, c_uint8),
    "wasm_globaltype_delete": (None, _p),
    "wasm_globaltype_content": (_p, _p),
    "wasm_globaltype_mutability": (c_uint8, _p),
    "wasm_tabletype_new": (_p, _p, POINTER(Limits)),
    "wasm_tabletype_delete": (None, _p),
    "wasm_tabletype_element": (_p, _p),
    "wasm_tabletype_limits": (POINTER(Limits), _p),
    "wasm_memorytype_new": (_p, POINTER(Limits)),
    "wasm_memorytype_delete": (None, _p),
    "wasm_memorytype_limits": (POINTER(Limits), _p),
    # References.
    "wasm_ref_copy": (_p, _p),
    "wasm_ref_delete": (None, _p),
    "wasm_ref_same": (c_bool, _p, _p),
    "wasm_ref_as_func": (_p, _p),
    "wasm_ref_as_foreign": (_p, _p),
    "wasm_extern_kind": (c_uint8, _p),
    "wasm_extern_type": (_p, _p),
    "wasm_foreign_new": (_p, _p),
    "wasm_foreign_get_host_info": (_p, _p),
    "wasm_foreign_set_host_info_with_finalizer": (None, _p, _p, Finalizer),
    "wasm_func_new_with_env": (_p, _p, _p, Callback, _p, Finalizer),
    "wasm_func_type": (_p, _p),
    "wasm_func_call": (_p, _p, _values, _values),
    "wprof_global_new": (_p, _p, _p, POINTER(Value), _bytes),
    "wasm_global_type": (_p, _p),
    "wasm_global_get": (None, _p, POINTER(Value)),
    "wprof_global_set": (c_bool, _p, POINTER(Value), _bytes),
    "wprof_table_new": (_p, _p, _p, _p, _bytes),
    "wasm_table_type": (_p, _p),
    "wasm_table_get": (_p, _p, c_uint32),
    "wprof_table_set": (c_bool, _p, c_uint32, _p, _bytes),
    "wasm_table_size": (c_uint32, _p),
    "wprof_table_grow": (c_bool, _p, c_uint32, _p, _bytes),
    "wprof_memory_new": (_p, _p, _p, _bytes),
    "wasm_memory_type": (_p, _p),
    "wasm_memory_data": (_p, _p),
    "wasm_memory_data_size": (_size, _p),
    "wasm_memory_size": (c_uint32, _p),
    "wprof_memory_grow": (c_bool, _p, c_uint32, _bytes),
    # Traps.
    "wasm_trap_new": (_p, _p, _bytes),
    "wasm_trap_message": (None, _p, _bytes),
    "wasm_trap_trace": (None, _p, _pointers),
    "wasm_trap_delete": (None, _p),
    "wprof_trap_code": (c_int32, _p),
    "wprof_trap_exit_code": (c_bool, _p, POINTER(c_int32)),
    "wasm_frame_func_index": (c_uint32, _p),
    "wasm_frame_func_offset": (_size, _p),
    "wasm_frame_module_offset": (_size, _p),
    # WASI.
    "wprof_wasi_new": (_p,),
    "wprof_wasi_delete": (None, _p),
    "wprof_wasi_arg": (c_bool, _p, _bytes, _bytes),
    "wprof_wasi_env": (c_bool, _p, _bytes, _bytes, _bytes),
    "wprof_wasi_inherit_stdio": (None, _p),
    "wprof_wasi_stdin": (None, _p, _bytes),
    "wprof_wasi_preopen_dir": (c_bool, _p, _bytes, _bytes, c_bool, _bytes),
    "wprof_wasi_random_seed": (None, _p, c_uint64),
    "wprof_wasi_stdout": (_p, _p, _size),
    "wprof_wasi_stderr": (_p, _p, _size),
    "wprof_pipe_contents": (None, _p, _bytes),
    "wprof_pipe_delete": (None, _p),
    # Profiles.
    "wprof_instance_profile": (_p, _p, _bytes),
    "wprof_profile_delete": (None, _p),
    "wprof_profile_from_bytes": (_p, _bytes, _bytes),
    "wprof_profile_merge": (c_bool, _p, _p, _bytes),
    "wprof_profile_export": (c_bool, _p, c_uint8, _bytes, _bytes),
    "wprof_profile_instructions": (c_uint64, _p),
    "wprof_profile_calls": (c_uint64, _p),
    "wprof_profile_functions": (_size, _p),
    "wprof_profile_function_index": (c_uint32, _p, _size),
    "wprof_profile_function_name": (None, _p, _size, _bytes),
    "wprof_profile_function_calls": (c_uint64, _p, _size),
    "wprof_profile_function_instructions": (c_uint64, _p, _size),
}


class _Functions:
    """The declared functions, as attributes."""

    def __init__(self):
        for name, (result, *params) in _FUNCTIONS.items():
            function = getattr(_c, name)
            function.restype, function.argtypes = result, params
            setattr(self, name, function)


c = _Functions()


def lent(data):
    """Returns a vector of bytes that C only reads. It is valid as long as it and `data` are."""
    vector = Bytes(len(data), ctypes.cast(ctypes.c_char_p(data), POINTER(c_char)))
    vector.keeps = data
    return vector


def lent_text(text):
    """Returns a name that C only reads."""
    return lent(text.encode())


def take(vector):
    """Returns the content of a vector of bytes, and frees it."""
    content = ctypes.string_at(vector.data, vector.size) if vector.size else b""
    c.wasm_byte_vec_delete(byref(vector))
    return content


def text_of(content):
    """Returns a name or message, which may end in a zero, as text."""
    return content.removesuffix(b"\0").decode(errors="replace")


def peek(vector):
    """Returns a name that C keeps."""
    return text_of(ctypes.string_at(vector.contents.data, vector.contents.size) if vector.contents.size else b"")


def pointers_of(vector):
    """Returns the pointers of a vector, which still owns them."""
    return [vector.data[index] for index in range(vector.size)]
