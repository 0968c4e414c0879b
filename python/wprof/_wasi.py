"""WASI preview 1: what a program is given."""

import os
import sys
from ctypes import byref
from pathlib import Path

from ._errors import WprofError, check
from ._library import Bytes, c, lent, lent_text, take
from ._store import Handle


class Output(Handle):
    """The output of a program."""

    def contents(self):
        """Returns what has been written so far."""
        out = Bytes()
        c.wprof_pipe_contents(self._ptr, byref(out))
        return take(out)


class WasiConfig(Handle):
    """What a program is given; at first no arguments, environment, files, input or output.

    `Store.set_wasi` takes it: what is set later is an error.
    """

    def __init__(self):
        super().__init__(c.wprof_wasi_new(), c.wprof_wasi_delete)

    def _open(self):
        if self._ptr is None:
            raise WprofError("a store has taken this WasiConfig: make another one")
        return self._ptr

    def _given(self):
        ptr, self._ptr = self._open(), None
        return ptr

    def _set_argv(self, argv):
        for arg in argv:
            check(c.wprof_wasi_arg, self._open(), byref(lent_text(arg)))

    argv = property(None, _set_argv, doc="Arguments to add; the first of all is the program's name.")

    def inherit_argv(self):
        """Gives the program the arguments of this process."""
        self.argv = sys.argv

    def _set_env(self, variables):
        for name, value in variables.items() if hasattr(variables, "items") else variables:
            check(c.wprof_wasi_env, self._open(), byref(lent_text(name)), byref(lent_text(value)))

    env = property(None, _set_env, doc="Variables of the environment to add: a mapping, or pairs.")

    def inherit_env(self):
        """Gives the program the environment of this process."""
        self.env = dict(os.environ)

    def inherit_stdin(self):
        """Gives the program the standard input of this process."""
        c.wprof_wasi_inherit_stdio(self._open(), True, False, False)

    def inherit_stdout(self):
        """Gives the program the standard output of this process, which Python should have flushed."""
        c.wprof_wasi_inherit_stdio(self._open(), False, True, False)

    def inherit_stderr(self):
        """Gives the program the standard error of this process."""
        c.wprof_wasi_inherit_stdio(self._open(), False, False, True)

    def _set_stdin(self, content):
        c.wprof_wasi_stdin(self._open(), byref(lent(bytes(content))))

    stdin_bytes = property(None, _set_stdin, doc="All of the standard input.")

    def _set_stdin_file(self, path):
        self.stdin_bytes = Path(path).read_bytes()

    stdin_file = property(None, _set_stdin_file, doc="The file with all of the standard input.")

    def capture_stdout(self, limit=1 << 20):
        """Collects the standard output, at most so many bytes; returns the `Output`."""
        return Output(c.wprof_wasi_stdout(self._open(), limit), c.wprof_pipe_delete)

    def capture_stderr(self, limit=1 << 20):
        """Collects the standard error; see `capture_stdout`."""
        return Output(c.wprof_wasi_stderr(self._open(), limit), c.wprof_pipe_delete)

    def preopen_dir(self, path, guest_path, read_only=False):
        """Gives the program a folder, under a name of its own."""
        names = [byref(lent_text(os.fspath(name))) for name in (path, guest_path)]
        check(c.wprof_wasi_preopen_dir, self._open(), *names, not read_only)

    def random_seed(self, seed):
        """Makes random numbers the same in each run: unfit for secrets."""
        c.wprof_wasi_random_seed(self._open(), seed)
