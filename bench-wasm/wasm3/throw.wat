;; A throw through ten frames in each round: from a leaf, caught by the loop.
(module
    (tag $t (param i32))
    (func $down (param $depth i32) (result i32)
        (if (i32.eqz (local.get $depth)) (then (throw $t (i32.const 1))))
        (i32.add (call $down (i32.sub (local.get $depth) (i32.const 1))) (local.get $depth)))
    (func (export "_start") (local $round i32) (local $sum i32)
        (loop $again
            (block $caught (result i32)
                (try_table (catch $t $caught) (drop (call $down (i32.const 9))))
                (unreachable))
            (local.set $sum (i32.add (local.get $sum)))
            (br_if $again (i32.lt_u
                (local.tee $round (i32.add (local.get $round) (i32.const 1)))
                (i32.const ROUNDS))))
        (if (i32.ne (local.get $sum) (i32.const ROUNDS)) (then (unreachable)))))
