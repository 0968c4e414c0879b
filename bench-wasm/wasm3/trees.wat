;; A binary tree of 1,023 nodes in each round, which is walked and then garbage.
(module
    (type $tree (sub (struct (field $left (ref null $tree)) (field $right (ref null $tree)) (field $key i32))))
    (func $grow (param $depth i32) (result (ref null $tree))
        (if (i32.eqz (local.get $depth)) (then (return (ref.null $tree))))
        (struct.new $tree
            (call $grow (i32.sub (local.get $depth) (i32.const 1)))
            (call $grow (i32.sub (local.get $depth) (i32.const 1)))
            (local.get $depth)))
    (func $sum (param $tree (ref null $tree)) (result i32)
        (if (ref.is_null (local.get $tree)) (then (return (i32.const 0))))
        (i32.add (struct.get $tree $key (local.get $tree))
            (i32.add (call $sum (struct.get $tree $left (local.get $tree)))
                (call $sum (struct.get $tree $right (local.get $tree))))))
    (func (export "_start") (local $round i32)
        (loop $again
            (if (i32.ne (call $sum (call $grow (i32.const 10))) (i32.const 2036)) (then (unreachable)))
            (br_if $again (i32.lt_u
                (local.tee $round (i32.add (local.get $round) (i32.const 1)))
                (i32.const ROUNDS))))))
