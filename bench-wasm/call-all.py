#!/usr/bin/env python3
"""Rewrites a WASI program so that each of its functions runs: `_start` first calls all of them, and each then returns at once.
So there are profiles in which all functions of a large program are, for reports that must bear them.

Usage: call-all.py IN.wasm OUT.wasm
"""

import sys

CONST = {0x7F: b"\x41\0", 0x7E: b"\x42\0", 0x7D: b"\x43" + bytes(4), 0x7C: b"\x44" + bytes(8), 0x7B: b"\xfd\x0c" + bytes(16)}
TYPE, IMPORT, FUNCTION, TABLE, MEMORY, GLOBAL, EXPORT, CODE = 1, 2, 3, 4, 5, 6, 7, 10


def leb(value):
    low, rest = value & 127, value >> 7
    return bytes([low]) if not rest else bytes([low | 128]) + leb(rest)


def zero(kind):
    """What pushes a zero of a type; a null if it is one of references."""
    return CONST.get(kind) or bytes([0xD0, kind])


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self):
        return self.take(1)[0]

    def number(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def sized(self):
        return self.take(self.number())

    def limits(self):
        flags = self.number()
        self.number()
        if flags & 1:
            self.number()


def sections(data):
    reader = Reader(data, 8)
    while reader.at < len(data):
        yield reader.byte(), reader.sized()


def types(section):
    reader = Reader(section)
    for _ in range(reader.number()):
        assert reader.byte() == 0x60, "only function types are known here"
        yield reader.sized(), reader.sized()


def imports(section):
    """How many functions and globals are imported."""
    reader, counts = Reader(section), {0: 0, 3: 0}
    for _ in range(reader.number()):
        reader.sized(), reader.sized()
        kind = reader.byte()
        counts[kind] = counts.get(kind, 0) + 1
        if kind == 0:
            reader.number()
        elif kind == 3:
            reader.take(2)
        else:
            reader.take(1 if kind == 1 else 0)
            reader.limits()
    return counts[0], counts[3]


def numbers(section):
    reader = Reader(section)
    return [reader.number() for _ in range(reader.number())]


def with_start_at(section, new):
    """The exports, with another function as `_start`; and which one it was."""
    reader, rows, old = Reader(section), [], None
    for _ in range(reader.number()):
        name, kind, index = reader.sized(), reader.byte(), reader.number()
        if (name, kind) == (b"_start", 0):
            old, index = index, new
        rows.append(leb(len(name)) + name + bytes([kind]) + leb(index))
    return leb(len(rows)) + b"".join(rows), old


def returning(body, results, has_called):
    """A function that returns zeros as long as the global is zero."""
    reader = Reader(body)
    for _ in range(reader.number()):
        reader.number(), reader.byte()
    zeros = b"".join(map(zero, results))
    test = b"\x23" + has_called + b"\x45\x04\x40" + zeros + b"\x0f\x0b"
    return body[: reader.at] + test + body[reader.at :]


def rewritten(data):
    found = dict(sections(data))
    kinds, of_function = list(types(found[TYPE])), numbers(found[FUNCTION])
    functions, globals_ = imports(found.get(IMPORT, b"\0"))
    globals_ += Reader(found.get(GLOBAL, b"\0")).number()
    has_called, new = leb(globals_), functions + len(of_function)
    exports, start = with_start_at(found[EXPORT], new)
    reader = Reader(found[CODE])
    bodies = [returning(reader.sized(), kinds[kind][1], has_called) for kind, _ in zip(of_function, range(reader.number()))]

    def call(index, kind):
        parameters, results = kinds[kind]
        return b"".join(map(zero, parameters)) + b"\x10" + leb(index) + b"\x1a" * len(results)

    calls = b"".join(call(index, kind) for index, kind in enumerate(of_function, functions))
    bodies.append(b"\0" + calls + b"\x41\1\x24" + has_called + b"\x10" + leb(start) + b"\x0b")
    of_function.append(kinds.index((b"", b"")))

    def appended(section, entry):
        reader = Reader(section)
        return leb(reader.number() + 1) + section[reader.at :] + entry

    found[GLOBAL] = appended(found.get(GLOBAL, b"\0"), b"\x7f\1\x41\0\x0b")
    found[FUNCTION] = leb(len(of_function)) + b"".join(map(leb, of_function))
    found[EXPORT] = exports
    found[CODE] = leb(len(bodies)) + b"".join(leb(len(body)) + body for body in bodies)
    whole = [(kind, found.get(kind, content) if kind else content) for kind, content in sections(data)]
    return data[:8] + b"".join(bytes([kind]) + leb(len(content)) + content for kind, content in whole)


if len(sys.argv) != 3:
    sys.exit(__doc__)
with open(sys.argv[1], "rb") as file:
    new = rewritten(file.read())
with open(sys.argv[2], "wb") as file:
    file.write(new)
