;; Prints a line for each number from 1 to 300 by strings of `wasm:js-string`: the number in words of "fizz" and "buzz", or its
;; digits; then the least and the greatest line, and how many lines are palindromes. Text is written in UTF-8.

(module
  (type $units (array (mut i16)))
  (import "wasm:js-string" "cast" (func $cast (param externref) (result (ref extern))))
  (import "wasm:js-string" "test" (func $test (param externref) (result i32)))
  (import "wasm:js-string" "fromCharCodeArray"
    (func $from-units (param (ref null $units) i32 i32) (result (ref extern))))
  (import "wasm:js-string" "intoCharCodeArray"
    (func $into-units (param externref (ref null $units) i32) (result i32)))
  (import "wasm:js-string" "fromCharCode" (func $from-unit (param i32) (result (ref extern))))
  (import "wasm:js-string" "fromCodePoint" (func $from-point (param i32) (result (ref extern))))
  (import "wasm:js-string" "charCodeAt" (func $unit-at (param externref i32) (result i32)))
  (import "wasm:js-string" "codePointAt" (func $point-at (param externref i32) (result i32)))
  (import "wasm:js-string" "length" (func $length (param externref) (result i32)))
  (import "wasm:js-string" "concat" (func $concat (param externref externref) (result (ref extern))))
  (import "wasm:js-string" "substring" (func $substring (param externref i32 i32) (result (ref extern))))
  (import "wasm:js-string" "equals" (func $equals (param externref externref) (result i32)))
  (import "wasm:js-string" "compare" (func $compare (param externref externref) (result i32)))
  (import "'" "" (global $empty (ref extern)))
  (import "'" "fizz" (global $fizz (ref extern)))
  (import "'" "buzz" (global $buzz (ref extern)))
  (import "'" "0123456789" (global $digits (ref extern)))
  (import "'" "least " (global $least (ref extern)))
  (import "'" ", greatest " (global $greatest (ref extern)))
  (import "'" "palindromes " (global $palindromes (ref extern)))
  (import "'" "\0a" (global $newline (ref extern)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)

  ;; Stores a code point in UTF-8; returns the address behind it.
  (func $encode (param $at i32) (param $point i32) (result i32)
    (if (i32.lt_u (local.get $point) (i32.const 0x80))
      (then
        (i32.store8 (local.get $at) (local.get $point))
        (return (i32.add (local.get $at) (i32.const 1)))))
    (if (i32.lt_u (local.get $point) (i32.const 0x800))
      (then
        (i32.store8 (local.get $at)
          (i32.or (i32.const 0xc0) (i32.shr_u (local.get $point) (i32.const 6)))))
      (else
        (if (i32.lt_u (local.get $point) (i32.const 0x10000))
          (then
            (i32.store8 (local.get $at)
              (i32.or (i32.const 0xe0) (i32.shr_u (local.get $point) (i32.const 12)))))
          (else
            (i32.store8 (local.get $at)
              (i32.or (i32.const 0xf0) (i32.shr_u (local.get $point) (i32.const 18))))
            (local.set $at (i32.add (local.get $at) (i32.const 1)))
            (i32.store8 (local.get $at)
              (i32.or (i32.const 0x80) (i32.and (i32.shr_u (local.get $point) (i32.const 12)) (i32.const 63))))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (i32.store8 (local.get $at)
          (i32.or (i32.const 0x80) (i32.and (i32.shr_u (local.get $point) (i32.const 6)) (i32.const 63))))))
    (i32.store8 offset=1 (local.get $at)
      (i32.or (i32.const 0x80) (i32.and (local.get $point) (i32.const 63))))
    (i32.add (local.get $at) (i32.const 2)))

  (func $print (param $text externref) (local $i i32) (local $end i32) (local $point i32)
    (local.set $end (i32.const 64))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (call $length (local.get $text))))
        (local.set $point (call $point-at (local.get $text) (local.get $i)))
        (local.set $i
          (i32.add (local.get $i)
            (i32.add (i32.const 1) (i32.gt_u (local.get $point) (i32.const 0xffff)))))
        (local.set $end (call $encode (local.get $end) (local.get $point)))
        (br $next)))
    (i32.store (i32.const 0) (i32.const 64))
    (i32.store (i32.const 4) (i32.sub (local.get $end) (i32.const 64)))
    (if (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)) (then (unreachable))))

  (func $decimal (param $n i32) (result externref) (local $text externref) (local $digit i32)
    (local.set $text (global.get $empty))
    (loop $next
      (local.set $digit (i32.rem_u (local.get $n) (i32.const 10)))
      (local.set $text
        (call $concat
          (call $substring (global.get $digits) (local.get $digit) (i32.add (local.get $digit) (i32.const 1)))
          (local.get $text)))
      (br_if $next (local.tee $n (i32.div_u (local.get $n) (i32.const 10)))))
    (local.get $text))

  (func $word (param $n i32) (result externref) (local $text externref)
    (local.set $text (global.get $empty))
    (if (i32.eqz (i32.rem_u (local.get $n) (i32.const 3)))
      (then (local.set $text (call $concat (local.get $text) (global.get $fizz)))))
    (if (i32.eqz (i32.rem_u (local.get $n) (i32.const 5)))
      (then (local.set $text (call $concat (local.get $text) (global.get $buzz)))))
    (if (call $equals (local.get $text) (global.get $empty))
      (then (local.set $text (call $decimal (local.get $n)))))
    (local.get $text))

  (func $reversed (param $text externref) (result externref)
    (local $units (ref $units)) (local $i i32) (local $j i32) (local $unit i32)
    (local.set $units (array.new_default $units (call $length (local.get $text))))
    (local.set $j (call $into-units (local.get $text) (local.get $units) (i32.const 0)))
    (block $done
      (loop $next
        (local.set $j (i32.sub (local.get $j) (i32.const 1)))
        (br_if $done (i32.ge_s (local.get $i) (local.get $j)))
        (local.set $unit (array.get_u $units (local.get $units) (local.get $i)))
        (array.set $units (local.get $units) (local.get $i)
          (array.get_u $units (local.get $units) (local.get $j)))
        (array.set $units (local.get $units) (local.get $j) (local.get $unit))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (call $from-units (local.get $units) (i32.const 0) (array.len (local.get $units))))

  (func (export "_start")
    (local $n i32) (local $word externref) (local $low externref) (local $high externref) (local $same i32)
    (local.set $low (call $from-unit (i32.const 0xffff)))
    (local.set $high (global.get $empty))
    (loop $next
      (local.set $word (call $word (local.tee $n (i32.add (local.get $n) (i32.const 1)))))
      (if (i32.eqz (call $test (local.get $word))) (then (unreachable)))
      (call $print (call $concat (local.get $word) (global.get $newline)))
      (if (i32.lt_s (call $compare (local.get $word) (local.get $low)) (i32.const 0))
        (then (local.set $low (call $cast (local.get $word)))))
      (if (i32.gt_s (call $compare (local.get $word) (local.get $high)) (i32.const 0))
        (then (local.set $high (local.get $word))))
      (local.set $same
        (i32.add (local.get $same) (call $equals (local.get $word) (call $reversed (local.get $word)))))
      (br_if $next (i32.lt_u (local.get $n) (i32.const 300))))
    (call $print
      (call $concat (call $concat (global.get $least) (local.get $low))
        (call $concat (global.get $greatest) (local.get $high))))
    (call $print (global.get $newline))
    (call $print (call $concat (global.get $palindromes) (call $decimal (local.get $same))))
    ;; Each length of UTF-8: a space, o with two dots, the sign of the euro, and what takes two units.
    (call $print (call $from-unit (i32.add (call $unit-at (global.get $newline) (i32.const 0)) (i32.const 22))))
    (call $print (call $from-point (i32.const 0xf6)))
    (call $print (call $from-point (i32.const 0x20ac)))
    (call $print (call $concat (call $from-point (i32.const 0x1f600)) (global.get $newline))))
)
