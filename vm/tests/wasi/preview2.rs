//! WASI 0.2: streams, pollables and handles in correct and incorrect use.

use std::time::{Duration, Instant};

use wprof::component::{Component, Linker, Val};
use wprof::wasi::{OutputPipe, WasiCtx, WasiCtxBuilder};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// The imports and definitions that a component needs for streams of several versions; `BODY` is the text of core
/// functions.
///
/// Results are at 0: a list's address and length at 4 and 8, or the payload of a variant.
const FRAME: &str = r#"(component
  (import "wasi:io/error@0.2.0" (instance $error (export "error" (type $e (sub resource)))
    (export "[method]error.to-debug-string" (func (param "self" (borrow $e)) (result string)))))
  (alias export $error "error" (type $error-type))
  (import "wasi:io/poll@0.2.1" (instance $poll
    (export "pollable" (type $p (sub resource)))
    (export "[method]pollable.ready" (func (param "self" (borrow $p)) (result bool)))
    (export "[method]pollable.block" (func (param "self" (borrow $p))))
    (export "poll" (func (param "in" (list (borrow $p))) (result (list u32))))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:io/streams@0.2.9" (instance $streams
    (export "input-stream" (type $in (sub resource)))
    (export "output-stream" (type $out (sub resource)))
    (alias outer 1 $error-type (type $e'))
    (export "error" (type $e (eq $e')))
    (alias outer 1 $pollable (type $p'))
    (export "pollable" (type $p (eq $p')))
    (type $se (variant (case "last-operation-failed" (own $e)) (case "closed")))
    (export "stream-error" (type $stream-error (eq $se)))
    (export "[method]input-stream.read"
      (func (param "self" (borrow $in)) (param "len" u64) (result (result (list u8) (error $stream-error)))))
    (export "[method]input-stream.subscribe" (func (param "self" (borrow $in)) (result (own $p))))
    (export "[method]output-stream.check-write"
      (func (param "self" (borrow $out)) (result (result u64 (error $stream-error)))))
    (export "[method]output-stream.write"
      (func (param "self" (borrow $out)) (param "contents" (list u8)) (result (result (error $stream-error)))))
    (export "[method]output-stream.blocking-write-and-flush"
      (func (param "self" (borrow $out)) (param "contents" (list u8)) (result (result (error $stream-error)))))
    (export "[method]output-stream.blocking-splice" (func (param "self" (borrow $out)) (param "src" (borrow $in))
      (param "len" u64) (result (result u64 (error $stream-error)))))))
  (alias export $streams "input-stream" (type $input))
  (alias export $streams "output-stream" (type $output))
  (import "wasi:cli/stdin@0.2.0" (instance $stdin
    (alias outer 1 $input (type $in')) (export "input-stream" (type $in (eq $in')))
    (export "get-stdin" (func (result (own $in))))))
  (import "wasi:cli/stdout@0.2.0" (instance $stdout
    (alias outer 1 $output (type $out')) (export "output-stream" (type $out (eq $out')))
    (export "get-stdout" (func (result (own $out))))))
  (import "wasi:clocks/monotonic-clock@0.2.0" (instance $clock
    (alias outer 1 $pollable (type $p')) (export "pollable" (type $p (eq $p')))
    (export "subscribe-duration" (func (param "when" u64) (result (own $p))))))
  (import "wasi:random/random@0.2.0" (instance $random
    (export "get-random-bytes" (func (param "len" u64) (result (list u8))))))
  (core module $libc
    (memory (export "memory") 200)
    (global $next (mut i32) (i32.const 4096))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $next (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (local.get 3)))))
  (core instance $libc (instantiate $libc))
  (core func $read (canon lower (func $streams "[method]input-stream.read")
    (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $in-subscribe (canon lower (func $streams "[method]input-stream.subscribe")))
  (core func $check-write (canon lower (func $streams "[method]output-stream.check-write")
    (memory (core memory $libc "memory"))))
  (core func $write (canon lower (func $streams "[method]output-stream.write") (memory (core memory $libc "memory"))))
  (core func $blocking-write (canon lower (func $streams "[method]output-stream.blocking-write-and-flush")
    (memory (core memory $libc "memory"))))
  (core func $splice (canon lower (func $streams "[method]output-stream.blocking-splice")
    (memory (core memory $libc "memory"))))
  (core func $poll (canon lower (func $poll "poll")
    (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $ready (canon lower (func $poll "[method]pollable.ready")))
  (core func $block (canon lower (func $poll "[method]pollable.block")))
  (core func $debug (canon lower (func $error "[method]error.to-debug-string")
    (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $stdin (canon lower (func $stdin "get-stdin")))
  (core func $stdout (canon lower (func $stdout "get-stdout")))
  (core func $after (canon lower (func $clock "subscribe-duration")))
  (core func $random (canon lower (func $random "get-random-bytes")
    (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
  (core func $drop-in (canon resource.drop $input))
  (core func $drop-out (canon resource.drop $output))
  (core func $drop-pollable (canon resource.drop $pollable))
  (core module $m
    (import "libc" "memory" (memory 1))
    (import "w" "read" (func $read (param i32 i64 i32)))
    (import "w" "in-subscribe" (func $in-subscribe (param i32) (result i32)))
    (import "w" "check-write" (func $check-write (param i32 i32)))
    (import "w" "write" (func $write (param i32 i32 i32 i32)))
    (import "w" "blocking-write" (func $blocking-write (param i32 i32 i32 i32)))
    (import "w" "splice" (func $splice (param i32 i32 i64 i32)))
    (import "w" "poll" (func $poll (param i32 i32 i32)))
    (import "w" "ready" (func $ready (param i32) (result i32)))
    (import "w" "block" (func $block (param i32)))
    (import "w" "debug" (func $debug (param i32 i32)))
    (import "w" "stdin" (func $stdin (result i32)))
    (import "w" "stdout" (func $stdout (result i32)))
    (import "w" "after" (func $after (param i64) (result i32)))
    (import "w" "random" (func $random (param i64 i32)))
    (import "w" "drop-in" (func $drop-in (param i32)))
    (import "w" "drop-out" (func $drop-out (param i32)))
    (import "w" "drop-pollable" (func $drop-pollable (param i32)))
    (func (export "run") (result i32) (local $a i32) (local $b i32) (local $c i32)
      BODY))
  (core instance $m (instantiate $m (with "libc" (instance $libc)) (with "w" (instance
    (export "read" (func $read)) (export "in-subscribe" (func $in-subscribe))
    (export "check-write" (func $check-write)) (export "write" (func $write))
    (export "blocking-write" (func $blocking-write)) (export "splice" (func $splice))
    (export "poll" (func $poll)) (export "ready" (func $ready)) (export "block" (func $block))
    (export "debug" (func $debug)) (export "stdin" (func $stdin)) (export "stdout" (func $stdout))
    (export "after" (func $after)) (export "random" (func $random)) (export "drop-in" (func $drop-in))
    (export "drop-out" (func $drop-out)) (export "drop-pollable" (func $drop-pollable))))))
  (func (export "run") (result u32) (canon lift (core func $m "run"))))"#;

/// Runs a body, and returns its result or the reason why it ended.
fn run_in(ctx: WasiCtx, body: &str, deadline: Option<Duration>) -> Result<u32> {
    let engine = Engine::new(Config::new().interruptible(true))?;
    let component = Component::new(&engine, FRAME.replace("BODY", body))?;
    let mut linker = Linker::new(&engine);
    wasi2::add_to_linker(&mut linker, |ctx: &mut WasiCtx| ctx)?;
    let mut store = Store::new(&engine, ctx);
    let instance = linker.instantiate(&mut store, &component)?;
    let run = instance.get_func("run").expect("it is exported");
    store.set_deadline(deadline.map(|time| Instant::now() + time))?;
    let mut results = [Val::Bool(false)];
    run.call(&mut store, &[], &mut results)?;
    match results {
        [Val::U32(value)] => Ok(value),
        other => panic!("{other:?}"),
    }
}

fn run(body: &str) -> Result<u32> {
    run_in(WasiCtxBuilder::new().stdin_bytes("12345").build(), body, None)
}

/// Checks that a body traps with this message.
fn traps(body: &str, why: &str) {
    let error = run(body).expect_err(body);
    assert!(error.to_string().contains(why), "{body}: {error}");
    assert_eq!(error.kind(), ErrorKind::Trap, "{body}: {error}");
}

#[test]
fn handles_that_were_dropped_or_are_of_another_type_trap() {
    traps(
        "(local.set $a (call $stdin)) (call $drop-in (local.get $a)) (call $drop-in (local.get $a)) (i32.const 0)",
        "unknown handle",
    );
    traps(
        "(local.set $a (call $stdin)) (call $drop-in (local.get $a))
         (call $read (local.get $a) (i64.const 1) (i32.const 0)) (i32.const 0)",
        "unknown handle",
    );
    traps("(call $read (call $stdout) (i64.const 1) (i32.const 0)) (i32.const 0)", "wrong type");
    traps("(call $block (i32.const 77)) (i32.const 0)", "unknown handle");
    traps("(call $drop-pollable (call $stdin)) (i32.const 0)", "wrong type");
}

#[test]
fn a_stream_cannot_go_before_its_pollable() -> Outcome {
    let subscribe = "(local.set $a (call $stdin)) (local.set $b (call $in-subscribe (local.get $a)))";
    traps(&format!("{subscribe} (call $drop-in (local.get $a)) (i32.const 0)"), "children");
    let right = "(call $drop-pollable (local.get $b)) (call $drop-in (local.get $a)) (i32.const 3)";
    assert_eq!(run(&format!("{subscribe} {right}"))?, 3);
    Ok(())
}

#[test]
fn reads_give_what_there_is_however_much_is_asked_for() -> Outcome {
    let read = "(call $read (local.get $a) (i64.const -1) (i32.const 0))";
    let begin = "(local.set $a (call $stdin))";
    assert_eq!(run(&format!("{begin} {read} (i32.load (i32.const 8))"))?, 5);
    let first = "(i32.load8_u (i32.add (i32.load (i32.const 4)) (i32.const 4)))";
    assert_eq!(run(&format!("{begin} {read} {first}"))?, u32::from(b'5'));
    // Then the stream is closed: an error, of the second case.
    let state = "(i32.add (i32.mul (i32.load8_u (i32.const 0)) (i32.const 10)) (i32.load8_u (i32.const 4)))";
    assert_eq!(run(&format!("{begin} {read} {read} {state}"))?, 11);
    let nothing = "(call $read (local.get $a) (i64.const 0) (i32.const 0))";
    assert_eq!(run(&format!("{begin} {nothing} (i32.load (i32.const 8))"))?, 0);
    Ok(())
}

#[test]
fn nobody_writes_more_than_is_allowed() -> Outcome {
    let write =
        |len: u32| format!("(call $write (local.get $a) (i32.const 64) (i32.const {len}) (i32.const 32))");
    let check = "(call $check-write (local.get $a) (i32.const 0))";
    let begin = "(local.set $a (call $stdout))";
    traps(&format!("{begin} {} (i32.const 0)", write(1)), "`check-write` has allowed 0");
    traps(
        &format!("{begin} {check} {} {} (i32.const 0)", write(65_536), write(1)),
        "`check-write` has allowed 0",
    );
    let blocking = "(call $blocking-write (local.get $a) (i32.const 64) (i32.const 4097) (i32.const 32))";
    traps(&format!("{begin} {blocking} (i32.const 0)"), "at most 4096");
    let out = OutputPipe::new();
    let ctx = WasiCtxBuilder::new().stdout_pipe(&out).build();
    let body = format!("{begin} {check} {} {} (i32.load8_u (i32.const 32))", write(100), write(20));
    assert_eq!(run_in(ctx, &body, None)?, 0);
    assert_eq!(out.contents().len(), 120);
    Ok(())
}

#[test]
fn a_write_that_fails_says_why_and_closes_the_stream() -> Outcome {
    let write = "(call $blocking-write (local.get $a) (i32.const 64) (i32.const 10) (i32.const 32))";
    let begin = "(local.set $a (call $stdout))";
    let limited = || WasiCtxBuilder::new().stdout_pipe(&OutputPipe::with_limit(0)).build();
    let failed = "(call $debug (i32.load (i32.const 40)) (i32.const 0)) (i32.load (i32.const 4))";
    assert!(run_in(limited(), &format!("{begin} {write} {failed}"), None)? > 5, "the length of a message");
    let closed = format!("{begin} {write} {write} (i32.load8_u (i32.const 36))");
    assert_eq!(run_in(limited(), &closed, None)?, 1);
    Ok(())
}

#[test]
fn streams_are_spliced() -> Outcome {
    let out = OutputPipe::new();
    let ctx = WasiCtxBuilder::new().stdin_bytes("12345").stdout_pipe(&out).build();
    let body =
        "(call $splice (call $stdout) (call $stdin) (i64.const 3) (i32.const 0)) (i32.load (i32.const 8))";
    assert_eq!(run_in(ctx, body, None)?, 3);
    assert_eq!(out.contents(), b"123");
    Ok(())
}

#[test]
fn polls_tell_all_that_are_ready() -> Outcome {
    traps("(call $poll (i32.const 0) (i32.const 0) (i32.const 0)) (i32.const 0)", "empty list");
    let begin = "(local.set $a (call $in-subscribe (call $stdin)))
        (local.set $b (call $after (i64.const 1000000000000)))
        (i32.store (i32.const 100) (local.get $b)) (i32.store (i32.const 104) (local.get $a))
        (i32.store (i32.const 108) (local.get $a))";
    let poll = "(call $poll (i32.const 100) (i32.const 3) (i32.const 0))";
    assert_eq!(run(&format!("{begin} {poll} (i32.load (i32.const 4))"))?, 2);
    assert_eq!(run(&format!("{begin} {poll} (i32.load (i32.load (i32.const 0)))"))?, 1);
    assert_eq!(run(&format!("{begin} (call $ready (local.get $b))"))?, 0);
    assert_eq!(
        run(
            "(local.set $b (call $after (i64.const 1000000))) (call $block (local.get $b)) (call $ready (local.get $b))"
        )?,
        1
    );
    Ok(())
}

#[test]
fn a_list_may_have_the_same_pollable_a_million_times() -> Outcome {
    let body = "(local.set $a (call $in-subscribe (call $stdin)))
        (local.set $b (i32.const 1048576))
        (loop $again
          (i32.store (local.get $b) (local.get $a))
          (local.set $b (i32.add (local.get $b) (i32.const 4)))
          (br_if $again (i32.lt_u (local.get $b) (i32.const 5048576))))
        (call $poll (i32.const 1048576) (i32.const 1000000) (i32.const 0))
        (i32.load (i32.const 4))";
    assert_eq!(run(body)?, 1_000_000);
    Ok(())
}

#[test]
fn what_waits_is_ended_by_a_deadline() {
    let forever = "(call $block (call $after (i64.const -1))) (i32.const 0)";
    let error = run_in(WasiCtxBuilder::new().build(), forever, Some(Duration::from_millis(30))).unwrap_err();
    assert_eq!(error.trap(), Some(Trap::Deadline), "{error}");
}

#[test]
fn the_length_of_what_a_call_gives_is_limited() {
    let error = run("(call $random (i64.const -1) (i32.const 0)) (i32.const 0)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(
        run("(call $random (i64.const 1000) (i32.const 0)) (i32.load (i32.const 4))")
            .is_ok_and(|len| len == 1000)
    );
}

#[test]
fn a_context_of_ones_own_has_no_wasi_0_2() {
    struct Own;
    macro_rules! implement {
        ($($name:ident($($arg:ident: $ty:ty),*) -> $result:ty;)*) => {
            impl wasi::Wasi for Own {
                $(fn $name(&mut self, _: &mut wasi::Guest<'_>, $(_: $ty),*) -> Result<$result> {
                    Ok(Default::default())
                })*
            }
        };
    }
    wprof::wasi_preview1!(implement);
    let error = run_in(WasiCtx::new(Own), "(call $stdin)", None).unwrap_err();
    assert!(error.to_string().contains("WasiCtxBuilder"), "{error}");
}
