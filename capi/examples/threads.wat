(module
  (import "" "hello" (func $hello (param i32))) (import "" "id" (global $id i32))
  (func (export "run") (call $hello (global.get $id))))
