"""Behaviour of the package. `python3 -m unittest discover -s tests`, with WPROF_LIBRARY and PYTHONPATH set."""

import doctest
import gc
import importlib
import math
import struct
import sys
import tempfile
import threading
import unittest
import weakref
from pathlib import Path

import wprof
from wprof import *


ADD = """(module
    (memory (export "memory") 1 3)
    (global (export "g") (mut i64) (i64.const 7))
    (global (export "fixed") i32 (i32.const 5))
    (table (export "table") 2 4 funcref)
    (func $add (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
    (func (export "two") (param i64 f64) (result f64 i64) (local.get 1) (local.get 0))
    (func (export "none"))
    (func (export "trap") (call $inner))
    (func $inner unreachable)
    (func (export "echo") (param externref) (result externref) (local.get 0))
    (func (export "single") (param f32) (result f32) (local.get 0))
    (elem (i32.const 0) $add))"""


def made(text=ADD, config=None, imports=()):
    store = Store(Engine(config))
    return store, Instance(store, Module(store.engine, text), list(imports))


class Calls(unittest.TestCase):
    def setUp(self):
        self.store, self.instance = made()
        self.exports = self.instance.exports(self.store)

    def test_numbers_go_in_and_come_out(self):
        add = self.exports["add"]
        self.assertEqual(add(self.store, 2, 3), 5)
        self.assertEqual(add(self.store, 0xFFFF_FFFF, 0), -1)
        self.assertEqual(add(self.store, 2**31 - 1, 1), -(2**31))
        self.assertEqual(self.exports["two"](self.store, -(2**63), 1.5), [1.5, -(2**63)])
        self.assertIsNone(self.exports["none"](self.store))
        self.assertEqual(self.exports["single"](self.store, 0.1), struct.unpack("f", struct.pack("f", 0.1))[0])
        self.assertTrue(math.isnan(self.exports["single"](self.store, math.nan)))

    def test_wrong_arguments_are_errors(self):
        add = self.exports["add"]
        with self.assertRaisesRegex(WprofError, "takes 2 arguments, and was given 1"):
            add(self.store, 1)
        with self.assertRaisesRegex(TypeError, "no integer"):
            add(self.store, 1, 2.0)
        with self.assertRaisesRegex(OverflowError, "does not fit into an i32"):
            add(self.store, 1, 2**32)
        with self.assertRaisesRegex(TypeError, "no number"):
            self.exports["single"](self.store, "1")

    def test_any_object_is_an_externref(self):
        echo, thing = self.exports["echo"], object()
        self.assertIs(echo(self.store, thing), thing)
        self.assertIsNone(echo(self.store, None))

    def test_externrefs_are_let_go(self):
        class Thing:
            pass

        thing = Thing()
        gone = weakref.ref(thing)
        self.assertIs(self.exports["echo"](self.store, thing), thing)
        del thing
        self.store.gc()
        gc.collect()
        self.assertIsNone(gone())

    def test_a_trap_has_code_message_and_frames(self):
        with self.assertRaises(Trap) as caught:
            self.exports["trap"](self.store)
        trap = caught.exception
        self.assertEqual(trap.trap_code, TrapCode.UNREACHABLE)
        self.assertIn("unreachable", trap.message)
        self.assertEqual([frame.func_index for frame in trap.frames], [4, 3])
        self.assertGreater(trap.frames[0].module_offset, trap.frames[0].func_offset)

    def test_exports_are_a_mapping(self):
        self.assertEqual(len(self.exports), 10)
        self.assertEqual(list(self.exports)[:3], ["memory", "g", "fixed"])
        self.assertIn("add", self.exports)
        self.assertIsNone(self.exports.get("missing"))
        with self.assertRaises(KeyError):
            self.exports["missing"]
        self.assertIsInstance(self.exports[0], Memory)
        self.assertEqual(self.exports["add"], self.exports.by_index[4])
        self.assertNotEqual(self.exports["add"], self.exports["two"])

    def test_types_are_what_was_written(self):
        i32 = ValType.i32()
        self.assertEqual(self.exports["add"].type(self.store), FuncType([i32, i32], [i32]))
        self.assertEqual(self.exports["g"].type(self.store), GlobalType(ValType.i64(), True))
        self.assertEqual(self.exports["table"].type(self.store), TableType(ValType.funcref(), Limits(2, 4)))
        self.assertEqual(self.exports["memory"].type(self.store), MemoryType(Limits(1, 3)))
        self.assertNotEqual(FuncType([i32], []), FuncType([], [i32]))
        self.assertEqual(str(FuncType([i32], [ValType.externref()])), "FuncType([i32], [externref])")


class Items(unittest.TestCase):
    def setUp(self):
        self.store, self.instance = made()
        self.exports = self.instance.exports(self.store)

    def test_memory_is_read_written_and_grown(self):
        memory = self.exports["memory"]
        self.assertEqual((memory.size(self.store), memory.data_len(self.store)), (1, 65536))
        self.assertEqual(memory.write(self.store, b"hello", 10), 5)
        self.assertEqual(memory.read(self.store, 10, 15), b"hello")
        self.assertEqual(memory.read(self.store, -65526, -65521), b"hello")
        self.assertEqual(memory.read(self.store, 5, 5), b"")
        self.assertEqual(memory.grow(self.store, 2), 1)
        self.assertEqual(memory.write(self.store, b"end", -3), 3)
        self.assertEqual(memory.read(self.store, 3 * 65536 - 3), b"end")
        self.assertEqual(memory.read(self.store, 10, 15), b"hello")
        with self.assertRaisesRegex(WprofError, "grow"):
            memory.grow(self.store, 1)
        with self.assertRaisesRegex(IndexError, "do not fit"):
            memory.write(self.store, b"ab", 3 * 65536 - 1)

    def test_globals_change_if_they_may(self):
        g = self.exports["g"]
        g.set_value(self.store, -1)
        self.assertEqual(g.value(self.store), -1)
        with self.assertRaisesRegex(WprofError, "mutable"):
            self.exports["fixed"].set_value(self.store, 6)
        with self.assertRaises(TypeError):
            g.set_value(self.store, 1.5)
        own = Global(self.store, GlobalType(ValType.externref(), True), self)
        self.assertIs(own.value(self.store), self)

    def test_tables_hold_functions(self):
        table = self.exports["table"]
        self.assertEqual(table.get(self.store, 0)(self.store, 20, 22), 42)
        self.assertIsNone(table.get(self.store, 1))
        table.set(self.store, 1, table.get(self.store, 0))
        self.assertEqual(table.grow(self.store, 2, None), 2)
        self.assertEqual(table.size(self.store), 4)
        with self.assertRaises(WprofError):
            table.grow(self.store, 1, None)
        with self.assertRaises(IndexError):
            table.get(self.store, 4)
        with self.assertRaisesRegex(TypeError, "funcref is wanted"):
            table.set(self.store, 0, 5)
        own = Table(self.store, TableType(ValType.externref(), Limits(1)), "x")
        self.assertEqual(own.get(self.store, 0), "x")

    def test_what_is_made_is_imported(self):
        text = """(module (import "" "m" (memory 1)) (import "" "g" (global (mut i32)))
            (func (export "f") (global.set 0 (i32.load (i32.const 4)))))"""
        memory = Memory(self.store, MemoryType(Limits(1, 2)))
        g = Global(self.store, GlobalType(ValType.i32(), True), 1)
        memory.write(self.store, struct.pack("<I", 99), 4)
        instance = Instance(self.store, Module(self.store.engine, text), [memory, g])
        instance.exports(self.store)["f"](self.store)
        self.assertEqual(g.value(self.store), 99)


class HostFunctions(unittest.TestCase):
    TEXT = """(module (import "host" "f" (func $f (param i32) (result i32)))
        (memory (export "memory") 1) (data (i32.const 0) "abc")
        (func (export "run") (param i32) (result i32) (i32.add (call $f (local.get 0)) (i32.const 1))))"""
    TYPE = FuncType([ValType.i32()], [ValType.i32()])

    def run_with(self, func, **options):
        store = Store()
        host = Func(store, self.TYPE, func, **options)
        instance = Instance(store, Module(store.engine, self.TEXT), [host])
        return store, instance.exports(store)["run"]

    def test_wasm_calls_python(self):
        store, run = self.run_with(lambda x: 2 * x)
        self.assertEqual(run(store, 20), 41)

    def test_an_exception_comes_out_as_it_is(self):
        class Own(Exception):
            pass

        exception = Own("told")

        def fail(_):
            raise exception

        store, run = self.run_with(fail)
        with self.assertRaises(Own) as caught:
            run(store, 1)
        self.assertIs(caught.exception, exception)
        # What comes later is not mistaken for it.
        store, instance = made()
        with self.assertRaises(Trap):
            instance.exports(store)["trap"](store)

    def test_a_result_of_a_wrong_type_is_an_error(self):
        store, run = self.run_with(lambda _: "no")
        with self.assertRaisesRegex(TypeError, "no integer"):
            run(store, 1)

    def test_a_caller_gives_exports_while_it_is_one(self):
        callers = []

        def read(caller, x):
            callers.append(caller)
            self.assertIsNone(caller.get("missing"))
            caller.data.append(x)
            return caller["memory"].read(caller, x, x + 1)[0]

        store, run = self.run_with(read, access_caller=True)
        store.data = []
        self.assertEqual(run(store, 1), ord("b") + 1)
        self.assertEqual(store.data, [1])
        with self.assertRaisesRegex(WprofError, "while its host function runs"):
            callers[0].get("memory")

    def test_python_and_wasm_call_each_other(self):
        def again(caller, x):
            return 0 if x == 0 else caller["run"](caller, x - 1) + 1

        store, run = self.run_with(again, access_caller=True)
        self.assertEqual(run(store, 20), 41)

    def test_functions_return_several_values(self):
        store = Store()
        ty = FuncType([], [ValType.i32(), ValType.funcref(), ValType.externref()])
        f = Func(store, ty, lambda: (7, None, "x"))
        self.assertEqual(f(store), [7, None, "x"])
        wrong = Func(store, ty, lambda: (7,))
        with self.assertRaisesRegex(WprofError, "1 results, of 3"):
            wrong(store)

    def test_functions_are_let_go_with_the_store(self):
        def f(x):
            return x

        gone = weakref.ref(f)
        store, run = self.run_with(f)
        self.assertEqual(run(store, 1), 2)
        del f, store, run
        gc.collect()
        self.assertIsNone(gone())


class Lifetimes(unittest.TestCase):
    def test_what_is_in_a_store_keeps_it(self):
        store, instance = made()
        exports = instance.exports(store)
        core = weakref.ref(store._core)
        add, memory = exports["add"], exports["memory"]
        del instance, exports
        gc.collect()
        self.assertEqual(add(store, 1, 2), 3)
        del store
        gc.collect()
        self.assertIsNotNone(core())
        del add, memory
        gc.collect()
        self.assertIsNone(core())

    def test_another_store_is_refused(self):
        store, instance = made()
        other = Store(store.engine)
        add = instance.exports(store)["add"]
        with self.assertRaisesRegex(WprofError, "another store"):
            add(other, 1, 2)
        with self.assertRaisesRegex(WprofError, "another store"):
            instance.exports(other)
        with self.assertRaisesRegex(WprofError, "another store"):
            Table(other, TableType(ValType.funcref(), Limits(1)), add)
        text = '(module (import "" "f" (func (param i32 i32) (result i32))))'
        with self.assertRaisesRegex(WprofError, "another store"):
            Instance(other, Module(store.engine, text), [add])

    def test_a_second_thread_is_refused_while_a_first_one_runs(self):
        store, said = Store(), []

        def use():
            try:
                store.gc()
            except WprofError as error:
                said.append(str(error))

        def wait():
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()

        Func(store, FuncType([], []), wait)(store)
        self.assertEqual(len(said), 1)
        self.assertIn("another thread", said[0])
        wait()
        self.assertEqual(len(said), 1)

    def test_threads_have_their_own_stores(self):
        engine = Engine()
        module, sums = Module(engine, ADD), []

        def work(n):
            store = Store(engine)
            add = Instance(store, module, []).exports(store)["add"]
            total = 0
            for i in range(200):
                total = add(store, total, i * n)
            sums.append(total)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(sums), [19900 * n for n in range(1, 5)])


class Modules(unittest.TestCase):
    def test_what_is_no_module_is_an_error_that_says_where(self):
        with self.assertRaisesRegex(WprofError, "1:15"):
            Module(Engine(), "(module (func $")
        with self.assertRaises(WprofError):
            Module.validate(Engine(), b"\0asm\x01\0\0\0\xff")
        Module.validate(Engine(), b"\0asm\x01\0\0\0")

    def test_imports_and_exports_are_listed(self):
        module = Module(Engine(), HostFunctions.TEXT)
        self.assertEqual(module.imports, [ImportType("host", "f", HostFunctions.TYPE)])
        self.assertEqual([export.name for export in module.exports], ["memory", "run"])

    def test_modules_are_stored_with_their_code(self):
        engine = Engine()
        encoded = Module(engine, ADD).serialize()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "add.cwasm")
            path.write_bytes(encoded)
            for module in (Module.deserialize(engine, encoded), Module.deserialize_file(engine, path)):
                store = Store(engine)
                self.assertEqual(Instance(store, module, []).exports(store)["add"](store, 1, 2), 3)
        with self.assertRaises(WprofError):
            Module.deserialize(engine, b"not one")

    def test_imports_of_another_number_or_type_are_errors(self):
        store = Store()
        module = Module(store.engine, HostFunctions.TEXT)
        with self.assertRaisesRegex(WprofError, "1 imports, and 0 are given"):
            Instance(store, module, [])
        wrong = Func(store, FuncType([], []), lambda: None)
        with self.assertRaisesRegex(WprofError, "host"):
            Instance(store, module, [wrong])
        with self.assertRaises(TypeError):
            Instance(store, module, [5])

    def test_proposals_can_be_refused(self):
        engine = Engine(Config(wasm_simd=False))
        with self.assertRaisesRegex(WprofError, "wasm_simd"):
            Module(engine, "(module (func (param v128)))")
        with self.assertRaisesRegex(WprofError, "no proposal is called `nonsense`"):
            Engine(Config(wasm_nonsense=True))

    def test_settings_that_do_not_exist_are_errors(self):
        with self.assertRaisesRegex(AttributeError, "no setting `speed`"):
            Config().speed = 1
        with self.assertRaisesRegex(WprofError, "there are off, adaptive"):
            Engine(Config(profiling="all"))


class Linkers(unittest.TestCase):
    def setUp(self):
        self.store = Store()
        self.linker = Linker(self.store.engine)
        self.module = Module(self.store.engine, HostFunctions.TEXT)

    def test_imports_are_found_by_name(self):
        self.linker.define_func("host", "f", HostFunctions.TYPE, lambda x: x * x)
        for store in (self.store, Store(self.store.engine)):
            run = self.linker.instantiate(store, self.module).exports(store)["run"]
            self.assertEqual(run(store, 6), 37)

    def test_all_that_is_missing_is_named(self):
        with self.assertRaisesRegex(WprofError, "not defined: `host::f`"):
            self.linker.instantiate(self.store, self.module)

    def test_names_are_taken_once_unless_shadowing_is_allowed(self):
        self.linker.define_func("host", "f", HostFunctions.TYPE, lambda x: 1)
        with self.assertRaisesRegex(WprofError, "defined already"):
            self.linker.define_func("host", "f", HostFunctions.TYPE, lambda x: 2)
        self.linker.allow_shadowing = True
        self.linker.define_func("host", "f", HostFunctions.TYPE, lambda x: 2)
        run = self.linker.instantiate(self.store, self.module).exports(self.store)["run"]
        self.assertEqual(run(self.store, 0), 3)

    def test_instances_are_imported_by_others(self):
        self.linker.define_module(self.store, "a", Module(self.store.engine, ADD))
        text = """(module (import "a" "add" (func $add (param i32 i32) (result i32)))
            (func (export "f") (result i32) (call $add (i32.const 1) (i32.const 2))))"""
        exports = self.linker.instantiate(self.store, Module(self.store.engine, text)).exports(self.store)
        self.assertEqual(exports["f"](self.store), 3)
        self.assertEqual(self.linker.get(self.store, "a", "add")(self.store, 2, 2), 4)


class Limited(unittest.TestCase):
    SPIN = '(module (func (export "spin") (loop $l (br $l))) (memory (export "memory") 1))'

    def trapped(self, store, instance):
        with self.assertRaises(Trap) as caught:
            instance.exports(store)["spin"](store)
        return caught.exception.trap_code

    def test_fuel_runs_out(self):
        store = Store(Engine(Config(consume_fuel=True)))
        store.set_fuel(1000)
        instance = Instance(store, Module(store.engine, self.SPIN), [])
        self.assertEqual(self.trapped(store, instance), TrapCode.OUT_OF_FUEL)
        self.assertLess(store.get_fuel(), 1000)
        with self.assertRaises(WprofError):
            Store().set_fuel(1)

    def test_a_deadline_ends_what_runs(self):
        store, instance = made(self.SPIN, Config(interruptible=True))
        store.set_deadline(0.01)
        self.assertEqual(self.trapped(store, instance), TrapCode.DEADLINE)

    def test_another_thread_ends_what_runs(self):
        store, instance = made(self.SPIN, Config(interruptible=True))
        handle = store.interrupt_handle()
        timer = threading.Timer(0.01, handle.interrupt)
        timer.start()
        self.assertEqual(self.trapped(store, instance), TrapCode.INTERRUPT)
        timer.join()

    def test_memories_have_a_limit(self):
        store = Store()
        store.set_limits(memory_size=65536, instances=1)
        instance = Instance(store, Module(store.engine, self.SPIN), [])
        with self.assertRaises(WprofError):
            instance.exports(store)["memory"].grow(store, 1)
        with self.assertRaisesRegex(WprofError, "instances"):
            Instance(store, Module(store.engine, self.SPIN), [])

    def test_frames_have_a_limit(self):
        text = """(module (func $down (export "down") (param i32)
            (if (local.get 0) (then (call $down (i32.sub (local.get 0) (i32.const 1)))))))"""
        store, instance = made(text, Config(max_call_depth=10))
        down = instance.exports(store)["down"]
        down(store, 9)
        with self.assertRaises(Trap) as caught:
            down(store, 10)
        self.assertEqual(caught.exception.trap_code, TrapCode.STACK_OVERFLOW)


class Wasi(unittest.TestCase):
    PROGRAM = """(module
        (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1) (data (i32.const 100) "hello\\n")
        (func (export "_start")
            (i32.store (i32.const 0) (i32.const 100)) (i32.store (i32.const 4) (i32.const 6))
            (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
            (drop (call $sizes (i32.const 16) (i32.const 20)))
            (call $exit (i32.load (i32.const 16)))))"""

    def test_a_program_has_arguments_and_output_and_exits(self):
        store = Store()
        linker = Linker(store.engine)
        linker.define_wasi()
        wasi = WasiConfig()
        wasi.argv = ["program", "a", "b"]
        wasi.env = {"A": "b"}
        output = wasi.capture_stdout()
        store.set_wasi(wasi)
        start = linker.instantiate(store, Module(store.engine, self.PROGRAM)).exports(store)["_start"]
        with self.assertRaises(ExitTrap) as caught:
            start(store)
        self.assertEqual(caught.exception.code, 3)
        self.assertEqual(output.contents(), b"hello\n")
        with self.assertRaisesRegex(WprofError, "another one"):
            wasi.argv = ["late"]

    def test_what_is_not_given_is_an_error(self):
        store = Store()
        linker = Linker(store.engine)
        linker.define_wasi()
        with self.assertRaisesRegex(WprofError, "no WASI"):
            linker.instantiate(store, Module(store.engine, self.PROGRAM))
        store.set_wasi(WasiConfig())
        with self.assertRaisesRegex(WprofError, "no function `wasi_unstable::nonsense`"):
            linker.get(store, "wasi_unstable", "nonsense")
        with self.assertRaisesRegex(WprofError, "/nowhere"):
            WasiConfig().preopen_dir("/nowhere", ".")


class Profiles(unittest.TestCase):
    LOOP = """(module (func $twice (export "twice") (param i32)
            (call $work (local.get 0)) (call $work (local.get 0)))
        (func $work (param i32)
            (loop $l (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))))"""

    def profile(self, kind="edges", **settings):
        store, instance = made(self.LOOP, Config(profiling=kind, **settings))
        instance.exports(store)["twice"](store, 10)
        return instance.profile(store)

    def test_rows_are_exact(self):
        # Each round is five instructions.
        work, twice = 5 * 10, 4
        rows = [
            {"index": 0, "name": "twice", "calls": 1, "instructions": twice},
            {"index": 1, "name": "work", "calls": 2, "instructions": 2 * work},
        ]
        for kind in ("edges", "paths", "blocks"):
            profile = self.profile(kind)
            self.assertEqual(profile.functions, rows, kind)
            self.assertEqual((profile.calls, profile.instructions), (3, twice + 2 * work))

    def test_profiles_are_written_read_and_added(self):
        profile = self.profile()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "f.wprof")
            profile.write(path)
            again = Profile.read(path)
        self.assertEqual(again.functions, profile.functions)
        again.merge(profile)
        self.assertEqual(again.instructions, 2 * profile.instructions)
        again.merge(again)
        self.assertEqual(again.calls, 4 * profile.calls)
        with self.assertRaises(WprofError):
            Profile.from_bytes(b"no profile")

    def test_profiles_become_files_of_other_tools(self):
        profile = self.profile(count_contexts=True)
        self.assertIn("twice;work", profile.folded())
        self.assertIn("<svg", profile.flamegraph())
        self.assertEqual(profile.pprof()[:2], b"\x1f\x8b")
        names = [function["name"] for function in profile.to_json()["functions"]]
        self.assertEqual(names, ["twice", "work"])

    def test_an_engine_that_profiles_nothing_says_so(self):
        store, instance = made(self.LOOP)
        with self.assertRaisesRegex(WprofError, "profil"):
            instance.profile(store)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_rows_become_a_data_frame(self):
        frame = self.profile().to_pandas()
        self.assertEqual(list(frame["name"]), ["twice", "work"])
        self.assertAlmostEqual(frame["share"].sum(), 1)


class Imported(unittest.TestCase):
    def test_python_imports_modules_of_webassembly(self):
        import wprof.loader  # noqa: F401

        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "host_of_it.py").write_text("def double(x):\n    return 2 * x\n")
            text = """(module (import "host_of_it" "double" (func $double (param i32) (result i32)))
                (func (export "run") (param i32) (result i32) (call $double (local.get 0))))"""
            Path(folder, "loaded_from_text.wat").write_text(text)
            sys.path.insert(0, folder)
            try:
                loaded = importlib.import_module("loaded_from_text")
            finally:
                sys.path.remove(folder)
        self.assertEqual(loaded.run(21), 42)


def load_tests(_loader, tests, _pattern):
    tests.addTests(doctest.DocTestSuite(wprof))
    return tests


if __name__ == "__main__":
    unittest.main()
