;; An instance and one that it contains do not call each other: as in Wasmtime, such calls trap.

;; From the outside to the inside.
(component
  (component $inner
    (core module $m (func (export "f")))
    (core instance $i (instantiate $m))
    (func (export "f") (canon lift (core func $i "f"))))
  (instance $inner (instantiate $inner))
  (core func $f (canon lower (func $inner "f")))
  (core module $m (import "" "f" (func $f)) (func (export "run") (call $f)))
  (core instance $i (instantiate $m (with "" (instance (export "f" (func $f))))))
  (func (export "run") (canon lift (core func $i "run")))
  (export "inner" (func $inner "f")))
(assert_return (invoke "inner"))
(assert_trap (invoke "run") "cannot enter component instance")
(assert_trap (invoke "inner") "cannot enter component instance")

;; From the inside to the outside, two levels apart.
(component
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (component $middle
    (import "f" (func $f))
    (component $inner
      (import "f" (func $f))
      (core func $lowered (canon lower (func $f)))
      (core module $m (import "" "f" (func $f)) (func (export "run") (call $f)))
      (core instance $i (instantiate $m (with "" (instance (export "f" (func $lowered))))))
      (func (export "run") (canon lift (core func $i "run"))))
    (instance $inner (instantiate $inner (with "f" (func $f))))
    (export "run" (func $inner "run")))
  (instance $middle (instantiate $middle (with "f" (func $f))))
  (export "run" (func $middle "run")))
(assert_trap (invoke "run") "cannot enter component instance")

;; Neighbours call each other, any number of times.
(component
  (component $one
    (core module $m (func (export "f") (param i32) (result i32) (i32.add (local.get 0) (i32.const 1))))
    (core instance $i (instantiate $m))
    (func (export "f") (param "x" u32) (result u32) (canon lift (core func $i "f"))))
  (component $two
    (import "f" (func $f (param "x" u32) (result u32)))
    (core func $lowered (canon lower (func $f)))
    (core module $m (import "" "f" (func $f (param i32) (result i32)))
      (func (export "run") (param i32) (result i32) (call $f (call $f (local.get 0)))))
    (core instance $i (instantiate $m (with "" (instance (export "f" (func $lowered))))))
    (func (export "run") (param "x" u32) (result u32) (canon lift (core func $i "run"))))
  (instance $one (instantiate $one))
  (instance $two (instantiate $two (with "f" (func $one "f"))))
  (export "run" (func $two "run")))
(assert_return (invoke "run" (u32.const 40)) (u32.const 42))
(assert_return (invoke "run" (u32.const 1)) (u32.const 3))
