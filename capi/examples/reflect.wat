(module
  (import "a" "f" (func (param i32 externref)))
  (func (export "func") (param i32 f64 funcref) (result i32) (unreachable))
  (global (export "global") (mut f64) (f64.const 0))
  (table (export "table") 0 50 funcref)
  (memory (export "memory") 1)
  (tag (export "tag") (param i32)))
