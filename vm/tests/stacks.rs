//! Stacks without a guard page: wasm code that recurses infinitely must not write to the memory below. The test has
//! its own `main`, because one of these stacks is the main thread's.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

use wprof::*;

/// The variable that tells a process its part of the test.
const ROLE: &str = "WPROF_TEST_STACK";
/// Bytes below a stack; the next constant is the size of the stack.
const BELOW: usize = 16 << 20;
const STACK: usize = 2 << 20;
const CANARY: u8 = 0xa5;

const WAT: &str = r#"(module (import "h" "deep" (func $deep (param i32) (result i32)))
    (func $f (export "f") (param i64) (result i64)
        (i64.add (call $f (i64.add (local.get 0) (i64.const 1))) (i64.mul (local.get 0) (i64.const 3))))
    (func (export "again") (param i32) (result i32) (call $deep (local.get 0))))"#;

/// Overflows the stack, and reenters wasm from a host function.
fn overflow() {
    let engine = Engine::default();
    let module = Module::new(&engine, WAT).expect("valid");
    let (mut store, mut linker) = (Store::new(&engine, ()), Linker::new(&engine));
    linker
        .func_wrap("h", "deep", |mut caller: Caller<'_, ()>, n: i32| -> Result<i32> {
            let instance = caller.instance().expect("wasm calls it");
            if n == 0 {
                let f = instance.get_typed_func::<i64, i64>(&mut caller, "f")?;
                assert_eq!(f.call(&mut caller, 1).expect_err("endless").trap(), Some(Trap::StackOverflow));
                return Ok(0);
            }
            let again = instance.get_typed_func::<i32, i32>(&mut caller, "again")?;
            Ok(again.call(&mut caller, n - 1)? + 1)
        })
        .expect("defined");
    let instance = linker.instantiate(&mut store, &module).expect("made");
    let f = instance.get_typed_func::<i64, i64>(&mut store, "f").expect("exported");
    let again = instance.get_typed_func::<i32, i32>(&mut store, "again").expect("exported");
    for _ in 0..3 {
        assert_eq!(f.call(&mut store, 1).expect_err("endless").trap(), Some(Trap::StackOverflow));
        assert_eq!(again.call(&mut store, 10).expect("it ends"), 10);
    }
}

/// Maps memory for a stack, with a canary below it.
fn memory() -> *mut u8 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping overlaps no other memory.
    unsafe {
        let base = libc::mmap(ptr::null_mut(), BELOW + STACK, access, flags, -1, 0);
        assert_ne!(base, libc::MAP_FAILED);
        let base = base.cast::<u8>();
        base.write_bytes(CANARY, BELOW);
        base
    }
}

fn check(base: *mut u8) {
    // SAFETY: `memory` has mapped these bytes.
    let below = unsafe { std::slice::from_raw_parts(base, BELOW) };
    let lost = below.iter().filter(|&&byte| byte != CANARY).count();
    assert_eq!(lost, 0, "bytes below the stack were overwritten");
}

/// Overflows a stack that is unknown to the system.
fn fiber() {
    extern "C" fn body() {
        overflow();
    }
    let base = memory();
    // SAFETY: the contexts are initialised before they are used, and only the fiber uses the stack.
    unsafe {
        let (mut own, mut other): (libc::ucontext_t, libc::ucontext_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        assert_eq!(libc::getcontext(&mut other), 0);
        other.uc_stack.ss_sp = base.add(BELOW).cast();
        other.uc_stack.ss_size = STACK;
        other.uc_link = &mut own;
        libc::makecontext(&mut other, body, 0);
        assert_eq!(libc::swapcontext(&mut own, &other), 0);
    }
    check(base);
}

/// Overflows the stack of a thread, which the thread's creator has allocated.
fn thread() {
    extern "C" fn body(_: *mut libc::c_void) -> *mut libc::c_void {
        overflow();
        ptr::null_mut()
    }
    let base = memory();
    // SAFETY: the attributes are initialised, and only the thread uses the stack.
    unsafe {
        let (mut attributes, mut thread): (libc::pthread_attr_t, libc::pthread_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        assert_eq!(libc::pthread_attr_init(&mut attributes), 0);
        assert_eq!(libc::pthread_attr_setstack(&mut attributes, base.add(BELOW).cast(), STACK), 0);
        assert_eq!(libc::pthread_create(&mut thread, &attributes, body, ptr::null_mut()), 0);
        assert_eq!(libc::pthread_join(thread, ptr::null_mut()), 0);
    }
    check(base);
}

/// Overflows the stack of a main thread without a size limit, as under `ulimit -s unlimited`.
fn unlimited() {
    overflow();
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find(|line| line.starts_with("VmStk")).expect("VmStk");
    let kib: usize = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    assert!(kib < 4096, "the stack has grown to {kib} KiB");
}

fn run_with(limit: libc::rlim_t, role: &str) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.env(ROLE, role);
    // SAFETY: the closure only makes system calls.
    unsafe {
        command.pre_exec(move || {
            let stack = libc::rlimit { rlim_cur: limit, rlim_max: libc::RLIM_INFINITY };
            // Bounds the memory of a program that does not stop.
            let all = libc::rlimit { rlim_cur: 6 << 30, rlim_max: 6 << 30 };
            libc::setrlimit(libc::RLIMIT_STACK, &stack);
            libc::setrlimit(libc::RLIMIT_AS, &all);
            Ok(())
        });
    }
    let status = command.status().expect("run");
    assert!(status.success(), "{role}: {status}");
}

fn main() {
    match std::env::var(ROLE).as_deref() {
        Ok("fiber") => fiber(),
        Ok("thread") => thread(),
        Ok("unlimited") => unlimited(),
        Ok("limited") => overflow(),
        _ => {
            let usual = 8 << 20;
            run_with(usual, "fiber");
            run_with(usual, "thread");
            run_with(usual, "limited");
            run_with(libc::RLIM_INFINITY, "unlimited");
            run_with(libc::RLIM_INFINITY, "fiber");
            println!("stacks: ok");
        }
    }
}
