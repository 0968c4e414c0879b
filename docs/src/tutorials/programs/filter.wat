;; An image filter as a web page might call it. The image has a byte for each pixel, row by row. The inner loop walks
;; down a column, so each access is on another cache line: docs/src/tutorials/web-page.md finds that out.
(module
  (memory (export "memory") 16)

  ;; Adds a little to the pixel at this address, up to white.
  (func $brighten_pixel (param $address i32)
    (local $value i32)
    (local.set $value (i32.add (i32.load8_u (local.get $address)) (i32.const 130)))
    (if (i32.gt_u (local.get $value) (i32.const 255))
      (then (local.set $value (i32.const 255))))
    (i32.store8 (local.get $address) (local.get $value)))

  ;; Brightens the image in memory `rounds` times; gives its first pixel.
  (func (export "brighten") (param $width i32) (param $height i32) (param $rounds i32) (result i32)
    (local $x i32) (local $y i32)
    (loop $round
      (local.set $x (i32.const 0))
      (loop $column
        (local.set $y (i32.const 0))
        (loop $row
          (call $brighten_pixel (i32.add (i32.mul (local.get $y) (local.get $width)) (local.get $x)))
          (local.set $y (i32.add (local.get $y) (i32.const 1)))
          (br_if $row (i32.lt_u (local.get $y) (local.get $height))))
        (local.set $x (i32.add (local.get $x) (i32.const 1)))
        (br_if $column (i32.lt_u (local.get $x) (local.get $width))))
      (local.set $rounds (i32.sub (local.get $rounds) (i32.const 1)))
      (br_if $round (local.get $rounds)))
    (i32.load8_u (i32.const 0))))
