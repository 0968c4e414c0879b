"""Errors. All of them are `WprofError`s, with the engine's messages."""

from ctypes import byref, c_int32
from enum import IntEnum

from ._library import Bytes, Pointers, c, pointers_of, take, text_of


class WprofError(Exception):
    """What the engine refuses, or could not do."""


# What programs for Wasmtime call it.
WasmtimeError = WprofError


class TrapCode(IntEnum):
    """What made a program trap."""

    STACK_OVERFLOW = 0
    MEMORY_OUT_OF_BOUNDS = 1
    TABLE_OUT_OF_BOUNDS = 2
    INDIRECT_CALL_TO_NULL = 3
    BAD_SIGNATURE = 4
    INTEGER_OVERFLOW = 5
    INTEGER_DIVISION_BY_ZERO = 6
    BAD_CONVERSION_TO_INTEGER = 7
    UNREACHABLE = 8
    INTERRUPT = 9
    DEADLINE = 10
    OUT_OF_BUDGET = 11
    OUT_OF_FUEL = 12
    NULL_REFERENCE = 13
    UNALIGNED_ATOMIC = 14
    EXPECTED_SHARED_MEMORY = 15
    CAST_FAILURE = 16
    ARRAY_OUT_OF_BOUNDS = 17
    GC_OUT_OF_MEMORY = 18
    STRING_OUT_OF_BOUNDS = 19
    BAD_CODE_POINT = 20


class Frame:
    """A frame of wasm code: the function's index, and offsets of the instruction in its function and in its module."""

    def __init__(self, func_index, func_offset, module_offset):
        self.func_index, self.func_offset, self.module_offset = func_index, func_offset, module_offset

    def __repr__(self):
        return f"Frame(func_index={self.func_index}, func_offset={self.func_offset})"


class Trap(WprofError):
    """The end of a program by a trap. A host function that raises one traps; `frames` begins with the innermost."""

    def __init__(self, message, trap_code=None, frames=()):
        super().__init__(message)
        self.message, self.trap_code, self.frames = message, trap_code, list(frames)


class ExitTrap(WprofError):
    """The end of a program that has exited by itself, with `code`."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def check(call, *arguments):
    """Calls a function of C whose last parameter is for a message; returns its result, or raises the message."""
    error = Bytes()
    result = call(*arguments, byref(error))
    if not result:
        raise WprofError(text_of(take(error)))
    return result


def _frames(trap):
    found = Pointers()
    c.wasm_trap_trace(trap, byref(found))
    frames = [
        Frame(c.wasm_frame_func_index(f), c.wasm_frame_func_offset(f), c.wasm_frame_module_offset(f))
        for f in pointers_of(found)
    ]
    c.wasm_frame_vec_delete(byref(found))
    return frames


def taken(trap):
    """Returns the exception that a trap of C's stands for, and frees the trap."""
    text, exit_code, code = Bytes(), c_int32(), c.wprof_trap_code(trap)
    c.wasm_trap_message(trap, byref(text))
    message, frames = text_of(take(text)), _frames(trap)
    has_exited = c.wprof_trap_exit_code(trap, byref(exit_code))
    c.wasm_trap_delete(trap)
    if has_exited:
        return ExitTrap(message, exit_code.value)
    if code >= 0:
        return Trap(message, TrapCode(code), frames)
    return WprofError(message)
