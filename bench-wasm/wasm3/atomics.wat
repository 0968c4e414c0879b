;; An atomic addition and a compare-and-exchange in each round, in a memory that is not shared.
(module
    (memory 1)
    (func $run (param $round i32) (result i32) (local $old i32)
        (loop $again
            (local.set $old (i32.atomic.rmw.add (i32.const 64) (local.get $round)))
            (drop (i32.atomic.rmw.cmpxchg (i32.const 128) (local.get $old) (local.get $round)))
            (br_if $again (local.tee $round (i32.sub (local.get $round) (i32.const 1)))))
        (i32.atomic.load (i32.const 64)))
    (func (export "_start") (drop (call $run (i32.const ROUNDS)))))
