(module
  (import "" "const" (global $const f32)) (import "" "var" (global $var (mut i64)))
  (global (export "own") (mut i32) (i32.const 5))
  (func (export "get const") (result f32) (global.get $const))
  (func (export "get var") (result i64) (global.get $var))
  (func (export "set var") (param i64) (global.set $var (local.get 0))))
