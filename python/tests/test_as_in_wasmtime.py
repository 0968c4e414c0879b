"""Names and ways of Wasmtime's package that most programs need."""

import unittest

import test_wprof as common
from wprof import *


class Values(unittest.TestCase):
    def setUp(self):
        self.store, instance = common.made()
        self.exports = instance.exports(self.store)

    def test_a_value_without_a_form_in_python_is_an_error(self):
        store, instance = common.made("""(module (global (export "g") v128 (v128.const i64x2 1 2))
            (func (export "f") (result v128) (v128.const i64x2 1 2)))""")
        exports = instance.exports(store)
        for read in (lambda: exports["f"](store), lambda: exports["g"].value(store)):
            with self.assertRaisesRegex(WasmtimeError, "a vector"):
                read()

    def test_a_value_can_say_its_type(self):
        self.assertEqual(self.exports["add"](self.store, Val.i32(2), 3), 5)
        with self.assertRaisesRegex(TypeError, "another type"):
            self.exports["add"](self.store, Val.i64(2), 3)
        self.assertEqual(repr(Val.f64(1.5)), "Val.f64(1.5)")


class Stores(unittest.TestCase):
    def test_a_store_is_closed_at_the_end_of_with(self):
        with Store() as store:
            add = Instance(store, Module(store.engine, common.ADD), []).exports(store)["add"]
            self.assertEqual(add(store, 2, 3), 5)
        with self.assertRaisesRegex(WprofError, "the store is closed"):
            add(store, 2, 3)


class Linkers(unittest.TestCase):
    def setUp(self):
        self.store = Store()
        self.linker = Linker(self.store.engine)

    def test_imports_are_found_once_for_many_stores(self):
        module = Module(self.store.engine, common.HostFunctions.TEXT)
        self.linker.define_func("host", "f", common.HostFunctions.TYPE, lambda x: x * x)
        prepared = self.linker.instantiate_pre(module)
        self.linker.allow_shadowing = True
        self.linker.define_func("host", "f", common.HostFunctions.TYPE, lambda x: 0)
        for store in (self.store, Store(self.store.engine)):
            self.assertEqual(prepared.instantiate(store).exports(store)["run"](store, 6), 37)
        with self.assertRaisesRegex(WprofError, "not defined: `host::f`"):
            Linker(self.store.engine).instantiate_pre(module)

    def test_a_module_has_a_default_function(self):
        command = Module(self.store.engine, '(module (func (export "_start")))')
        self.linker.define_instance(self.store, "c", self.linker.instantiate(self.store, command))
        self.assertIsNone(self.linker.get_default(self.store, "c")(self.store))
        with self.assertRaisesRegex(WprofError, "no default function"):
            self.linker.get_default(self.store, "d")
