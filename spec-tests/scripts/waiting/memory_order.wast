;; What two threads may see of each other's atomic accesses: they are sequentially consistent, and what is written before
;; one is seen after it.

(module $M
  (memory (export "shared") 1 1 shared)
  (func (export "reset") (memory.fill (i32.const 0) (i32.const 0) (i32.const 1024)))
  (func (export "at") (param i32) (result i32) (i32.atomic.load (local.get 0)))
)
(register "memory" $M)

;; A message is whole where its flag is seen.
(thread $sends (shared (module $M))
  (register "memory" $M)
  (module
    (memory (import "memory" "shared") 1 1 shared)
    (func (export "run") (local $n i32)
      (loop $again
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (i32.store (i32.const 8) (local.get $n))
        (i64.store (i32.const 16) (i64.extend_i32_u (local.get $n)))
        (i32.atomic.store (i32.const 0) (local.get $n))
        (loop $answered
          (br_if $answered (i32.ne (i32.atomic.load (i32.const 4)) (local.get $n))))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 100))))))
  (assert_return (invoke "run"))
)
(thread $receives (shared (module $M))
  (register "memory" $M)
  (module
    (memory (import "memory" "shared") 1 1 shared)
    (func (export "run") (result i32) (local $n i32) (local $wrong i32)
      (loop $again
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (loop $sent
          (br_if $sent (i32.ne (i32.atomic.load (i32.const 0)) (local.get $n))))
        (local.set $wrong (i32.add (local.get $wrong)
          (i32.or
            (i32.ne (i32.load (i32.const 8)) (local.get $n))
            (i64.ne (i64.load (i32.const 16)) (i64.extend_i32_u (local.get $n))))))
        (i32.atomic.store (i32.const 4) (local.get $n))
        (br_if $again (i32.lt_u (local.get $n) (i32.const 100))))
      (local.get $wrong)))
  (assert_return (invoke "run") (i32.const 0))
)
(wait $sends)
(wait $receives)

;; Of two that write their own flag and read the other's, one sees the other's.
(assert_return (invoke $M "reset"))
(thread $left (shared (module $M))
  (register "memory" $M)
  (module
    (memory (import "memory" "shared") 1 1 shared)
    (func (export "run")
      (i32.atomic.store (i32.const 0) (i32.const 1))
      (i32.atomic.store (i32.const 8) (i32.atomic.load (i32.const 4)))))
  (assert_return (invoke "run"))
)
(thread $right (shared (module $M))
  (register "memory" $M)
  (module
    (memory (import "memory" "shared") 1 1 shared)
    (func (export "run")
      (i32.atomic.store (i32.const 4) (i32.const 1))
      (i32.atomic.store (i32.const 12) (i32.atomic.load (i32.const 0)))))
  (assert_return (invoke "run"))
)
(wait $left)
(wait $right)
(module
  (memory (import "memory" "shared") 1 1 shared)
  (func (export "seen") (result i32) (i32.or (i32.load (i32.const 8)) (i32.load (i32.const 12))))
)
(assert_return (invoke "seen") (i32.const 1))

;; No addition of any width is lost, nor does it touch what is beside.
(assert_return (invoke $M "reset"))
(thread $adds (shared (module $M))
  (register "memory" $M)
  (module
    (memory (import "memory" "shared") 1 1 shared)
    (func (export "run") (local $n i32)
      (loop $again
        (drop (i32.atomic.rmw8.add_u (i32.const 1) (i32.const 1)))
        (drop (i32.atomic.rmw16.add_u (i32.const 6) (i32.const 1)))
        (drop (i32.atomic.rmw.add (i32.const 8) (i32.const 1)))
        (drop (i64.atomic.rmw32.sub_u (i32.const 16) (i64.const 1)))
        (drop (i64.atomic.rmw.add (i32.const 24) (i64.const 0x1_0000_0001)))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000))))))
  (assert_return (invoke "run"))
)
(thread $adds-too (shared (module $M))
  (register "memory" $M)
  (module
    (memory (import "memory" "shared") 1 1 shared)
    (func $exchange (param $at i32) (local $was i32)
      (loop $again
        (local.set $was (i32.atomic.load (local.get $at)))
        (br_if $again (i32.ne (local.get $was)
          (i32.atomic.rmw.cmpxchg (local.get $at) (local.get $was) (i32.add (local.get $was) (i32.const 1)))))))
    (func (export "run") (local $n i32)
      (loop $again
        (drop (i64.atomic.rmw8.add_u (i32.const 1) (i64.const 1)))
        (drop (i64.atomic.rmw16.add_u (i32.const 6) (i64.const 1)))
        (call $exchange (i32.const 8))
        (drop (i32.atomic.rmw.sub (i32.const 16) (i32.const 1)))
        (drop (i64.atomic.rmw.add (i32.const 24) (i64.const 0x1_0000_0001)))
        (br_if $again (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000))))))
  (assert_return (invoke "run"))
)
(wait $adds)
(wait $adds-too)
(assert_return (invoke $M "at" (i32.const 0)) (i32.const 0xd000))
(assert_return (invoke $M "at" (i32.const 4)) (i32.const 0x07d0_0000))
(assert_return (invoke $M "at" (i32.const 8)) (i32.const 2000))
(assert_return (invoke $M "at" (i32.const 16)) (i32.const -2000))
(assert_return (invoke $M "at" (i32.const 20)) (i32.const 0))
(assert_return (invoke $M "at" (i32.const 24)) (i32.const 2000))
(assert_return (invoke $M "at" (i32.const 28)) (i32.const 2000))
