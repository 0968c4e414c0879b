;; A call in each round, of a function that would throw, but never does.
(module
    (tag $t (param i32))
    (func $work (param $x i32) (result i32)
        (if (i32.eq (local.get $x) (i32.const -1)) (then (throw $t (local.get $x))))
        (i32.xor (i32.rotl (local.get $x) (i32.const 5)) (i32.const 0x5bd1e995)))
    (func $run (param $round i32) (result i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (call $work (local.get $round))))
            (br_if $again (local.tee $round (i32.sub (local.get $round) (i32.const 1)))))
        (local.get $sum))
    (func (export "_start") (drop (call $run (i32.const ROUNDS)))))
