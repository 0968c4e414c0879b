(module
  (import "" "print" (func $print (param i32) (result i32)))
  (import "" "closure" (func $closure (result i32)))
  (func (export "run") (param i32 i32) (result i32)
    (i32.add (call $print (i32.add (local.get 0) (local.get 1))) (call $closure)))
  (func (export "double") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2))))
