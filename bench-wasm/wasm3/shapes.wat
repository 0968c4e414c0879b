;; Objects of three classes, whose method is called by `call_ref`, mostly the same one.
(module
    (rec
        (type $method (func (param (ref $shape)) (result i32)))
        (type $shape (sub (struct (field $area (ref $method)))))
        (type $square (sub $shape (struct (field (ref $method)) (field $side i32))))
        (type $rectangle (sub $shape (struct (field (ref $method)) (field $width i32) (field $height i32)))))
    (func $square (type $method) (local $side i32)
        (local.set $side (struct.get $square $side (ref.cast (ref $square) (local.get 0))))
        (i32.mul (local.get $side) (local.get $side)))
    (func $rectangle (type $method) (local $it (ref $rectangle))
        (local.set $it (ref.cast (ref $rectangle) (local.get 0)))
        (i32.mul (struct.get $rectangle $width (local.get $it)) (struct.get $rectangle $height (local.get $it))))
    (elem declare func $square $rectangle)
    (func $make (param $number i32) (result (ref $shape))
        (if (result (ref $shape)) (i32.and (local.get $number) (i32.const 15))
            (then (struct.new $square (ref.func $square) (local.get $number)))
            (else (struct.new $rectangle (ref.func $rectangle) (local.get $number) (i32.const 3)))))
    (func $area (param $it (ref $shape)) (result i32)
        (call_ref $method (local.get $it) (struct.get $shape $area (local.get $it))))
    (func (export "_start") (local $round i32) (local $sum i32)
        (loop $again
            (local.set $sum (i32.add (local.get $sum) (call $area (call $make (local.get $round)))))
            (br_if $again (i32.lt_u
                (local.tee $round (i32.add (local.get $round) (i32.const 1)))
                (i32.const ROUNDS))))
        (if (i32.eqz (local.get $sum)) (then (unreachable)))))
