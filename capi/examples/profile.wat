(module $program
  (import "" "nothing" (func $nothing))
  (func $square (param i32) (result i32) (i32.mul (local.get 0) (local.get 0)))
  (func $sum (export "sum") (param $n i32) (result i32) (local $sum i32)
    (loop $again
      (local.set $sum (i32.add (local.get $sum) (call $square (local.get $n))))
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (call $nothing)
    (local.get $sum))
  (func (export "forever") (loop $again (br $again))))
