//! What the service runs.

/// A module with loops, calls, indirect calls, memory, tables, host calls, and traps for some arguments.
pub const MODULE: &str = r#"(module
    (import "host" "keep" (func $keep (param externref) (result externref)))
    (type $unary (func (param i32) (result i32)))
    (memory 2) (table $kept 4 externref) (table $calls funcref (elem $double $mix $fill))
    (func $double (type $unary) (i32.mul (local.get 0) (i32.const 2)))
    (func $mix (type $unary) (i32.xor (local.get 0) (i32.rotl (local.get 0) (i32.const 7))))
    (func $fill (type $unary)
        (memory.fill (i32.const 64) (local.get 0) (i32.const 256))
        (i32.load (i32.and (local.get 0) (i32.const 0xff))))
    (func $fib (param i32) (result i32)
        (if (result i32) (i32.lt_u (local.get 0) (i32.const 2))
            (then (local.get 0))
            (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
    (func (export "serve") (param $n i32) (param $kept externref) (result i32) (local $sum i32) (local $i i32)
        (table.set $kept (i32.const 1) (call $keep (local.get $kept)))
        (loop $again
            (local.set $sum (i32.add (local.get $sum)
                (call_indirect $calls (type $unary) (local.get $i) (i32.rem_u (local.get $i) (i32.const 3)))))
            (i32.store offset=1024 (i32.and (local.get $sum) (i32.const 0xfffc)) (local.get $sum))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $i) (local.get $n))))
        (drop (memory.grow (i32.const 1)))
        (if (i32.eqz (i32.rem_u (local.get $n) (i32.const 17))) (then (unreachable)))
        (i32.add (local.get $sum) (call $fib (i32.and (local.get $n) (i32.const 15)))))
    (func (export "spin") (loop $again (br $again))))"#;

/// A module that allocates lists and strings of numbers, most of which become garbage, and throws and catches.
pub const OBJECTS: &str = r#"(module
    (type $node (struct (field $value i32) (field $next (ref null $node))))
    (type $numbers (array (mut i64)))
    (tag $odd (param i32 (ref null $node)))
    (global $kept (mut (ref null $node)) (ref.null $node))
    (func $add (param $n i32) (param $list (ref null $node)) (result (ref null $node))
        (if (i32.eq (i32.and (local.get $n) (i32.const 7)) (i32.const 5))
            (then (throw $odd (local.get $n) (local.get $list))))
        (struct.new $node (local.get $n) (local.get $list)))
    (func (export "serve") (param $n i32) (result i32) (local $list (ref null $node)) (local $caught i32)
        (loop $again
            (drop (array.new_default $numbers (i32.const 20)))
            (block $done
                (block $caught (result i32 (ref null $node))
                    (local.set $list (try_table (result (ref null $node)) (catch $odd $caught)
                        (call $add (local.get $n) (local.get $list))))
                    (br $done))
                (local.set $list)
                (drop)
                (local.set $caught (i32.add (local.get $caught) (i32.const 1))))
            (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (global.set $kept (local.get $list))
        (local.get $caught)))"#;

/// A program that reads a file of the host and writes it to its standard output. It leaves the file open if it is told to.
pub const FILES: &str = r#"(module
    (import "wasi_snapshot_preview1" "path_open"
        (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 0) "status")
    (func (export "serve") (param $leaves i32) (result i32)
        (if (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 6) (i32.const 0)
                (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 16))
            (then (return (i32.const -1))))
        (i32.store (i32.const 24) (i32.const 1024))
        (i32.store (i32.const 28) (i32.const 4096))
        (if (call $read (i32.load (i32.const 16)) (i32.const 24) (i32.const 1) (i32.const 20))
            (then (return (i32.const -2))))
        (i32.store (i32.const 28) (i32.load (i32.const 20)))
        (if (call $write (i32.const 1) (i32.const 24) (i32.const 1) (i32.const 32))
            (then (return (i32.const -3))))
        (if (i32.eqz (local.get $leaves)) (then (drop (call $close (i32.load (i32.const 16))))))
        (i32.load (i32.const 20))))"#;

/// A component that asks WASI for random bytes and for its standard output, whose resources it drops or leaves.
pub const COMPONENT: &str = r#"(component
    (import "wasi:random/random@0.2.0" (instance $random
        (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
    (import "wasi:io/streams@0.2.0" (instance $streams
        (export "output-stream" (type $out (sub resource)))))
    (alias export $streams "output-stream" (type $out))
    (import "wasi:cli/stdout@0.2.0" (instance $stdout (export "get-stdout" (func (result (own $out))))))
    (core module $libc
        (memory (export "memory") 2)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
    (core instance $libc (instantiate $libc))
    (core func $bytes (canon lower (func $random "get-random-bytes")
        (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
    (core func $stdout (canon lower (func $stdout "get-stdout")))
    (core func $drop (canon resource.drop $out))
    (core module $m
        (import "" "bytes" (func $bytes (param i64 i32)))
        (import "" "stdout" (func $stdout (result i32)))
        (import "" "drop" (func $drop (param i32)))
        (import "" "memory" (memory 1))
        (func (export "serve") (param $n i32) (result i32)
            (drop (call $stdout))
            (call $drop (call $stdout))
            (call $bytes (i64.extend_i32_u (local.get $n)) (i32.const 16))
            (i32.load (i32.const 20))))
    (core instance $m (instantiate $m (with "" (instance
        (export "bytes" (func $bytes)) (export "stdout" (func $stdout)) (export "drop" (func $drop))
        (export "memory" (memory $libc "memory"))))))
    (func (export "serve") (param "n" u32) (result u32) (canon lift (core func $m "serve"))))"#;
