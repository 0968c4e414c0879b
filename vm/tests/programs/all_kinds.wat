;; Functions of all kinds: recursion, a loop, a tail call through the table, whose elements $fib, $collatz, $id and $down are.
    (func $fib (param $n i64) (result i64)
        (if (result i64) (i64.lt_u (local.get $n) (i64.const 2))
            (then (local.get $n))
            (else (i64.add
                (call $fib (i64.sub (local.get $n) (i64.const 1)))
                (call $fib (i64.sub (local.get $n) (i64.const 2)))))))
    (func $collatz (param $n i64) (result i64) (local $steps i64)
        (block $done
            (loop $again
                (br_if $done (i64.le_u (local.get $n) (i64.const 1)))
                (local.set $steps (i64.add (local.get $steps) (i64.const 1)))
                (local.set $n (select
                    (i64.add (i64.mul (local.get $n) (i64.const 3)) (i64.const 1))
                    (i64.shr_u (local.get $n) (i64.const 1))
                    (i32.wrap_i64 (i64.and (local.get $n) (i64.const 1)))))
                (br $again)))
        (local.get $steps))
    (func $down (param $n i64) (result i64)
        (if (i64.eqz (local.get $n)) (then (return (i64.const 5))))
        (return_call_indirect (type $unary) (i64.sub (local.get $n) (i64.const 1)) (i32.const 3)))
