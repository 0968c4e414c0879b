"""Profiles: numbers that have nothing to do with a store any more."""

import json
from ctypes import byref
from pathlib import Path

from ._errors import check
from ._library import Bytes, c, lent, take, text_of
from ._store import Handle

_FILE, _FOLDED, _PPROF, _FLAMEGRAPH, _JSON = range(5)


class Profile(Handle):
    """What has been executed, and how often."""

    def __init__(self, ptr):
        super().__init__(ptr, c.wprof_profile_delete)

    @classmethod
    def from_bytes(cls, encoded):
        """Reads what `to_bytes` has returned, or a file of the command `wprof`."""
        return cls(check(c.wprof_profile_from_bytes, byref(lent(bytes(encoded)))))

    @classmethod
    def read(cls, path):
        """Reads a profile from a file."""
        return cls.from_bytes(Path(path).read_bytes())

    def write(self, path):
        """Writes a file, for `read` and for the command `wprof`."""
        Path(path).write_bytes(self.to_bytes())

    @property
    def instructions(self):
        """How many instructions were executed."""
        return c.wprof_profile_instructions(self._ptr)

    @property
    def calls(self):
        """How many calls there were."""
        return c.wprof_profile_calls(self._ptr)

    @property
    def functions(self):
        """A row for each function of the module: `index`, `name`, `calls`, `instructions`. The name may be empty."""
        return [self._row(number) for number in range(c.wprof_profile_functions(self._ptr))]

    def _row(self, number):
        name = Bytes()
        c.wprof_profile_function_name(self._ptr, number, byref(name))
        return {
            "index": c.wprof_profile_function_index(self._ptr, number),
            "name": text_of(take(name)),
            "calls": c.wprof_profile_function_calls(self._ptr, number),
            "instructions": c.wprof_profile_function_instructions(self._ptr, number),
        }

    def to_pandas(self):
        """Returns `functions` as a data frame, with their share of all instructions. Needs pandas."""
        import pandas

        frame = pandas.DataFrame(self.functions, columns=["index", "name", "calls", "instructions"])
        frame["share"] = frame["instructions"] / max(1, self.instructions)
        return frame.set_index("index")

    def merge(self, other):
        """Adds another profile of the same module and kind."""
        if self is other:
            other = Profile.from_bytes(other.to_bytes())
        check(c.wprof_profile_merge, self._ptr, other._ptr)

    def _export(self, form):
        out = Bytes()
        check(c.wprof_profile_export, self._ptr, form, byref(out))
        return take(out)

    def to_bytes(self):
        """Returns the profile as a file has it."""
        return self._export(_FILE)

    def to_json(self):
        """Returns all that is in the profile, as dictionaries and lists: blocks, edges, loops, paths, contexts."""
        return json.loads(self._export(_JSON))

    def folded(self):
        """Returns stacks as lines of text, for tools that draw flame graphs."""
        return self._export(_FOLDED).decode()

    def flamegraph(self):
        """Returns a flame graph, as SVG."""
        return self._export(_FLAMEGRAPH).decode()

    def pprof(self):
        """Returns a file for pprof, compressed as pprof wants it."""
        return self._export(_PPROF)
