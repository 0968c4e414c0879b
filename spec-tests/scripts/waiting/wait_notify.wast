;; `memory.atomic.wait32`, `memory.atomic.wait64` and `memory.atomic.notify`, by one thread and by two. A thread that wakes
;; another notifies until it has woken one, so no directive depends on time.

(module $M
  (memory (export "shared") 1 1 shared)
  (func (export "reset") (memory.fill (i32.const 0) (i32.const 0) (i32.const 1024)))
  (func (export "wait32") (param i32 i32 i64) (result i32)
    (memory.atomic.wait32 (local.get 0) (local.get 1) (local.get 2)))
  (func (export "wait64") (param i32 i64 i64) (result i32)
    (memory.atomic.wait64 (local.get 0) (local.get 1) (local.get 2)))
  (func (export "wait32-behind") (param i32 i32 i64) (result i32)
    (memory.atomic.wait32 offset=8 (local.get 0) (local.get 1) (local.get 2)))
  (func (export "wait64-behind") (param i32 i64 i64) (result i32)
    (memory.atomic.wait64 offset=8 (local.get 0) (local.get 1) (local.get 2)))
  (func (export "notify") (param i32 i32) (result i32)
    (memory.atomic.notify (local.get 0) (local.get 1)))
  (func (export "notify-behind") (param i32 i32) (result i32)
    (memory.atomic.notify offset=8 (local.get 0) (local.get 1)))
  (func (export "store") (param i32 i64) (i64.atomic.store (local.get 0) (local.get 1)))
)

;; 1: something else is there; 2: the time is over.
(assert_return (invoke "store" (i32.const 16) (i64.const 0xffff_ffff_0000_0001)))
(assert_return (invoke "wait32" (i32.const 16) (i32.const 0) (i64.const -1)) (i32.const 1))
(assert_return (invoke "wait32" (i32.const 16) (i32.const 1) (i64.const 0)) (i32.const 2))
(assert_return (invoke "wait32" (i32.const 20) (i32.const -1) (i64.const 1)) (i32.const 2))
(assert_return (invoke "wait32" (i32.const 20) (i32.const 1) (i64.const 0)) (i32.const 1))
(assert_return (invoke "wait64" (i32.const 16) (i64.const 1) (i64.const -1)) (i32.const 1))
(assert_return (invoke "wait64" (i32.const 16) (i64.const 0xffff_ffff_0000_0000) (i64.const 0)) (i32.const 1))
(assert_return (invoke "wait64" (i32.const 16) (i64.const 0xffff_ffff_0000_0001) (i64.const 0)) (i32.const 2))
(assert_return (invoke "wait64" (i32.const 16) (i64.const 0xffff_ffff_0000_0001) (i64.const 1000)) (i32.const 2))
(assert_return (invoke "wait32-behind" (i32.const 8) (i32.const 1) (i64.const 0)) (i32.const 2))
(assert_return (invoke "wait64-behind" (i32.const 8) (i64.const 0) (i64.const 0)) (i32.const 1))

;; Nobody waits.
(assert_return (invoke "notify" (i32.const 16) (i32.const 0)) (i32.const 0))
(assert_return (invoke "notify" (i32.const 16) (i32.const -1)) (i32.const 0))

;; Addresses are multiples of the width, offset included, and in the memory.
(assert_trap (invoke "wait32" (i32.const 2) (i32.const 0) (i64.const 0)) "unaligned atomic")
(assert_trap (invoke "wait64" (i32.const 4) (i64.const 0) (i64.const 0)) "unaligned atomic")
(assert_trap (invoke "wait32-behind" (i32.const 1) (i32.const 0) (i64.const 0)) "unaligned atomic")
(assert_trap (invoke "wait64-behind" (i32.const 4) (i64.const 0) (i64.const 0)) "unaligned atomic")
(assert_trap (invoke "notify" (i32.const 3) (i32.const 0)) "unaligned atomic")
(assert_trap (invoke "wait32" (i32.const 65536) (i32.const 0) (i64.const 0)) "out of bounds memory access")
(assert_trap (invoke "wait64" (i32.const 65536) (i64.const 0) (i64.const 0)) "out of bounds memory access")
(assert_trap (invoke "wait32-behind" (i32.const 65528) (i32.const 0) (i64.const 0)) "out of bounds memory access")
(assert_trap (invoke "wait64-behind" (i32.const -8) (i64.const 0) (i64.const 0)) "out of bounds memory access")
(assert_trap (invoke "notify" (i32.const 65536) (i32.const 0)) "out of bounds memory access")
(assert_trap (invoke "notify-behind" (i32.const -8) (i32.const 0)) "out of bounds memory access")
(assert_return (invoke "wait32" (i32.const 65532) (i32.const 0) (i64.const 0)) (i32.const 2))
(assert_return (invoke "wait64" (i32.const 65528) (i64.const 0) (i64.const 0)) (i32.const 2))
(assert_return (invoke "notify" (i32.const 65532) (i32.const 0)) (i32.const 0))

;; A memory that is not shared: nobody waits at it.
(module
  (memory 1)
  (func (export "wait32") (param i32) (result i32)
    (memory.atomic.wait32 (local.get 0) (i32.const 0) (i64.const 0)))
  (func (export "wait64") (param i32) (result i32)
    (memory.atomic.wait64 (local.get 0) (i64.const 0) (i64.const 0)))
  (func (export "notify") (param i32) (result i32)
    (memory.atomic.notify (local.get 0) (i32.const 1)))
)
(assert_trap (invoke "wait32" (i32.const 0)) "expected shared memory")
(assert_trap (invoke "wait64" (i32.const 0)) "expected shared memory")
(assert_return (invoke "notify" (i32.const 0)) (i32.const 0))
(assert_trap (invoke "notify" (i32.const 1)) "unaligned atomic")
(assert_trap (invoke "notify" (i32.const 65536)) "out of bounds memory access")

(assert_invalid (module (memory 1 1 shared) (func (drop (memory.atomic.wait32 (i32.const 0) (i64.const 0) (i64.const 0))))) "type mismatch")
(assert_invalid (module (memory 1 1 shared) (func (drop (memory.atomic.wait64 (i32.const 0) (i32.const 0) (i64.const 0))))) "type mismatch")
(assert_invalid (module (memory 1 1 shared) (func (drop (memory.atomic.notify (i32.const 0) (i64.const 0))))) "type mismatch")
(assert_invalid (module (func (drop (memory.atomic.notify (i32.const 0) (i32.const 0))))) "unknown memory")
(assert_invalid (module (memory 1 1 shared) (func (drop (memory.atomic.wait32 align=8 (i32.const 0) (i32.const 0) (i64.const 0))))) "alignment")
(assert_invalid (module (memory 1 1 shared) (func (drop (memory.atomic.wait64 align=4 (i32.const 0) (i64.const 0) (i64.const 0))))) "alignment")

;; One thread waits, the other wakes it. Both widths see one queue at an address.
(assert_return (invoke $M "reset"))
(thread $waits (shared (module $M))
  (register "memory" $M)
  (module
    (memory (import "memory" "shared") 1 1 shared)
    (func (export "run") (result i32 i32)
      (memory.atomic.wait32 (i32.const 0) (i32.const 0) (i64.const -1))
      (memory.atomic.wait64 (i32.const 8) (i64.const 0) (i64.const -1))))
  (assert_return (invoke "run") (i32.const 0) (i32.const 0))
)
(thread $wakes (shared (module $M))
  (register "memory" $M)
  (module
    (memory (import "memory" "shared") 1 1 shared)
    (func (export "run") (result i32 i32)
      (local i32 i32)
      (loop $again
        (br_if $again (i32.eqz (local.tee 0 (memory.atomic.notify (i32.const 0) (i32.const 1))))))
      (loop $again
        (br_if $again (i32.eqz (local.tee 1 (memory.atomic.notify (i32.const 8) (i32.const 5))))))
      (local.get 0) (local.get 1)))
  (assert_return (invoke "run") (i32.const 1) (i32.const 1))
)
(wait $waits)
(wait $wakes)

;; A thread that no longer finds what it expects does not wait: either it is woken, or the other has written before.
(thread $waits (shared (module $M))
  (register "memory" $M)
  (module
    (memory (import "memory" "shared") 1 1 shared)
    (func (export "run") (result i32)
      (loop $again
        (drop (memory.atomic.wait64 (i32.const 24) (i64.const 0) (i64.const -1)))
        (br_if $again (i64.eqz (i64.atomic.load (i32.const 24)))))
      (i32.load (i32.const 32))))
  (assert_return (invoke "run") (i32.const 42))
)
(thread $writes (shared (module $M))
  (register "memory" $M)
  (module
    (memory (import "memory" "shared") 1 1 shared)
    (func (export "run")
      (i32.store (i32.const 32) (i32.const 42))
      (i64.atomic.store (i32.const 24) (i64.const 1))
      (drop (memory.atomic.notify (i32.const 24) (i32.const -1)))))
  (assert_return (invoke "run"))
)
(wait $waits)
(wait $writes)
