;; A map of 2^20 lists stays alive: each round puts a new node before one of them, and every 16th node of a list ends it.
(module
    (type $node (sub (struct (field $next (ref null $node)) (field $length i32) (field $key i64))))
    (type $map (array (mut (ref null $node))))
    (global $map (mut (ref null $map)) (ref.null $map))
    (func $put (param $key i64) (local $at i32) (local $old (ref null $node)) (local $length i32)
        (local.set $at (i32.and (i32.wrap_i64 (i64.shr_u (local.get $key) (i64.const 40))) (i32.const 0xfffff)))
        (local.set $old (array.get $map (global.get $map) (local.get $at)))
        (if (i32.eqz (ref.is_null (local.get $old)))
            (then (local.set $length (i32.and (i32.const 15)
                (i32.add (i32.const 1) (struct.get $node $length (local.get $old)))))))
        (if (i32.eqz (local.get $length)) (then (local.set $old (ref.null $node))))
        (array.set $map (global.get $map) (local.get $at)
            (struct.new $node (local.get $old) (local.get $length) (local.get $key))))
    (func (export "_start") (local $round i32) (local $key i64)
        (global.set $map (array.new $map (ref.null $node) (i32.const 0x100000)))
        (loop $again
            (local.set $key (i64.add
                (i64.mul (local.get $key) (i64.const 6364136223846793005)) (i64.const 1442695040888963407)))
            (call $put (local.get $key))
            (br_if $again (i32.lt_u
                (local.tee $round (i32.add (local.get $round) (i32.const 1)))
                (i32.const ROUNDS))))))
