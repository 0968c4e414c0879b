//! `fork`: parent and child do not affect each other. The test has a process of its own, because it depends on the
//! process's threads.

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;
type Result<T> = std::result::Result<T, Error>;

/// Number of functions that are compiled on their first call.
const FUNCTIONS: usize = 40;

fn program() -> String {
    let function = |i: usize| {
        let body = "(i32.add (local.get 0) (i32.const 0)) drop ".repeat(i % 7);
        format!(
            r#"(func (export "f{i}") (param i32) (result i32) {body} (i32.add (local.get 0) (i32.const {i})))"#
        )
    };
    let functions: String = (0..FUNCTIONS).map(function).collect();
    format!(
        r#"(module (import "h" "fork" (func $fork (result i32))) {functions}
            (func (export "fork") (param i32) (result i32) (i32.add (call $fork) (local.get 0)))
            (func (export "hot") (param i32) (result i32) (local $sum i32)
                (loop $again
                    (local.set $sum (i32.add (local.get $sum) (local.get 0)))
                    (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
                (local.get $sum))
            (func (export "loop") (param i32) (result i32) (loop $again (br $again)) (i32.const 0)))"#
    )
}

struct Program {
    store: Store<()>,
    instance: Instance,
}

impl Program {
    fn new(engine: &Engine) -> Result<Program> {
        let (mut store, mut linker) = (Store::new(engine, ()), Linker::new(engine));
        linker.func_wrap("h", "fork", || -> i32 { fork() })?;
        let instance = linker.instantiate(&mut store, &Module::new(engine, program())?)?;
        Ok(Program { store, instance })
    }

    fn call(&mut self, name: &str, argument: i32) -> Result<i32> {
        let func = self.instance.get_typed_func::<i32, i32>(&mut self.store, name)?;
        func.call(&mut self.store, argument)
    }
}

/// Forks the process; returns 0 in the child.
fn fork() -> i32 {
    // SAFETY: the child runs only code of this file and of the library, and exits by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        // SAFETY: `alarm` has no preconditions. It ends a child that waits for a thread which does not exist there.
        unsafe { libc::alarm(60) };
    }
    child
}

/// Runs `body` and ends the child process.
fn end_child(body: impl FnOnce() -> Result<()>) -> ! {
    let ended = catch_unwind(AssertUnwindSafe(body));
    let is_well = matches!(ended, Ok(Ok(())));
    if !is_well {
        eprintln!("child: {ended:?}");
    }
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(if is_well { 0 } else { 1 }) }
}

fn in_child(body: impl FnOnce() -> Result<()>) -> i32 {
    match fork() {
        0 => end_child(body),
        child => child,
    }
}

fn wait_for(child: i32) {
    let mut status = 0;
    // SAFETY: `status` is a local variable.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child failed");
}

#[test]
fn parent_and_child_have_code_of_their_own() -> Outcome {
    let engine = Engine::new(Config::new().background_compilation(false))?;
    let mut program = Program::new(&engine)?;
    assert_eq!(program.call("f1", 10)?, 11);
    let ((mut to_child, mut to_parent), (mut from_child, mut from_parent)) = {
        let (child_reads, parent_writes) = std::io::pipe()?;
        let (parent_reads, child_writes) = std::io::pipe()?;
        ((parent_writes, child_writes), (parent_reads, child_reads))
    };
    let child = match fork() {
        0 => end_child(|| {
            assert_eq!((program.call("f1", 10)?, program.call("f2", 10)?), (11, 12));
            to_parent.write_all(b"x").expect("told");
            from_parent.read_exact(&mut [0]).expect("waited");
            // Meanwhile the parent has placed code at the addresses of this code.
            assert_eq!((program.call("f1", 10)?, program.call("f2", 10)?), (11, 12));
            assert_eq!(Program::new(&engine)?.call("f3", 10)?, 13);
            drop((program, engine));
            to_parent.write_all(b"x").expect("told");
            Ok(())
        }),
        child => child,
    };
    from_child.read_exact(&mut [0])?;
    for i in (5..FUNCTIONS).rev() {
        assert_eq!(program.call(&format!("f{i}"), 10)?, 10 + i as i32);
    }
    to_child.write_all(b"x")?;
    from_child.read_exact(&mut [0])?;
    wait_for(child);
    // The child has placed other code, and freed all of it.
    for i in 0..FUNCTIONS {
        assert_eq!(program.call(&format!("f{i}"), 10)?, 10 + i as i32);
    }
    assert_eq!(Program::new(&engine)?.call("f4", 10)?, 14);
    Ok(())
}

#[test]
fn a_child_goes_on_in_the_wasm_code_that_its_parent_was_in() -> Outcome {
    let mut program = Program::new(&Engine::default())?;
    let answer = program.call("fork", 1000)?;
    if answer == 1000 {
        end_child(|| {
            assert_eq!(program.call("f7", 1)?, 8);
            Ok(())
        });
    }
    wait_for(answer - 1000);
    assert_eq!(program.call("f7", 1)?, 8);
    Ok(())
}

#[test]
fn children_need_no_thread_of_their_parent() -> Outcome {
    let mut config = Config::new();
    let engine = Engine::new(config.profiling(ProfilingConfig::Adaptive(Adaptive::default())))?;
    let mut program = Program::new(&engine)?;
    let mut children = Vec::new();
    // Functions are compiled ahead and reoptimized all the time.
    for i in 0..20 {
        program.call("hot", 300_000)?;
        program.call(&format!("f{i}"), 1)?;
        children.push(in_child(|| {
            for i in 0..FUNCTIONS {
                assert_eq!(program.call(&format!("f{i}"), 1)?, 1 + i as i32);
            }
            program.call("hot", 300_000)?;
            let mut other = Program::new(&Engine::default())?;
            other.call("hot", 300_000)?;
            Ok(())
        }));
    }
    children.into_iter().for_each(wait_for);
    Ok(())
}

#[test]
fn deadlines_and_interrupts_hold_in_children() -> Outcome {
    for profiling in [ProfilingConfig::Exact(Collect::Edges), ProfilingConfig::Adaptive(Adaptive::default())]
    {
        let mut program = Program::new(&Engine::with_profiling(profiling)?)?;
        // Starts the timer.
        program.store.set_deadline(Some(Instant::now() + Duration::from_millis(1)))?;
        assert_eq!(program.call("loop", 0).expect_err("endless").trap(), Some(Trap::Deadline));
        program.store.set_deadline(Some(Instant::now() + Duration::from_millis(100)))?;
        let child = in_child(|| {
            assert_eq!(program.call("loop", 0).expect_err("endless").trap(), Some(Trap::Deadline));
            program.store.set_deadline(Some(Instant::now() + Duration::from_millis(1)))?;
            assert_eq!(program.call("loop", 0).expect_err("endless").trap(), Some(Trap::Deadline));
            Ok(())
        });
        assert_eq!(program.call("loop", 0).expect_err("endless").trap(), Some(Trap::Deadline));
        wait_for(child);
    }
    Ok(())
}
