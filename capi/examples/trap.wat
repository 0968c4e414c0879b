(module
  (import "" "fail" (func $fail (result i32)))
  (func (export "callback") (result i32) (call $fail))
  (func (export "unreachable") (result i32) (call $inner) (i32.const 1))
  (func $inner (unreachable)))
