//! What baseline code looks like.

use expect_test::{Expect, expect};
use wprof_jit::compile::{Compiler, CompilerOptions, Tier};
use wprof_jit::plan::{Collection, FunctionPlan};

use crate::parsed::Parsed;

/// The baseline code of the first function, without what counts its heat.
fn check(wat: &str, expected: &Expect) {
    expected.assert_eq(&baseline(wat));
}

fn baseline(wat: &str) -> String {
    let parsed = Parsed::new(wat);
    let (info, env) = (&parsed.info, parsed.env(0x1_0000_0000));
    let options = CompilerOptions { hot: None, ..CompilerOptions::default() };
    let compiler = Compiler::new(options).expect("this machine");
    let plan = FunctionPlan::new(info, 0, &Collection::default(), 0).expect("within limits");
    let graph = compiler.version(&plan, Tier::Baseline);
    let text = compiler.disassemble(&env, &plan.cfg, &graph, Tier::Baseline).expect("within limits");
    // Behind the columns of places.
    text.lines().map(|line| line.get(20..).unwrap_or(line).to_string() + "\n").collect()
}

/// The frame is made behind all other code, in steps each of which is touched.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_large_frame() {
    let sets: String = (0..1500).map(|local| format!("(local.set {local} (i64.const {local}))")).collect();
    let gets: String =
        (0..1500).map(|local| format!("(drop (i64.div_s (i64.const 1) (local.get {local})))")).collect();
    let text = baseline(&format!(
        "(module (func (local {}) {sets} (block (br_if 0 (i32.const 1))) {gets}))",
        "i64 ".repeat(1500)
    ));
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert!(
        lines[..2] == ["push %rbp", "mov %rsp, %rbp"] && lines[2].starts_with("jmp "),
        "{:?}",
        &lines[..4]
    );
    let touched = lines.iter().filter(|line| line.starts_with("test ") && line.ends_with("(%rsp)")).count();
    assert_eq!(touched, 3, "{}", lines[lines.len() - 12..].join("\n"));
    assert!(!lines.iter().any(|line| line.starts_with("sub $0x2")), "the frame is made at once");
}

/// Locals are in the frame where blocks meet; an address is one operand; a comparison is a flag.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_loop() {
    check(
        "(module (memory 1) (func (param $at i32) (result i32) (local $sum i32)
            (loop $again
                (local.set $sum (i32.add (local.get $sum) (i32.load offset=4 (local.get $at))))
                (br_if $again (i32.lt_u (local.tee $at (i32.sub (local.get $at) (i32.const 4))) (i32.const 64))))
            (local.get $sum)))",
        &expect![[r#"
            push %rbp
            mov %rsp, %rbp
            sub $0x20, %rsp
            mov %rdi, -8(%rbp)
            mov %edx, -0x10(%rbp)
            movl $0, -0x18(%rbp)
            label1:
            mov -0x18(%rbp), %eax
            mov -0x10(%rbp), %ecx
            mov -8(%rbp), %rdx
            mov 0x30(%rdx), %rdx
            mov %rcx, %rsi
            mov 4(%rdx,%rsi), %edx
            add %edx, %eax
            sub $4, %ecx
            mov %eax, -0x18(%rbp)
            mov %ecx, -0x10(%rbp)
            cmp $0x40, %ecx
            jb label1
            mov -0x18(%rbp), %eax
            leave
            ret
        "#]],
    );
}

/// What is called is not loaded before; what is needed behind the call is in the frame.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_call() {
    check(
        "(module (func (param $a i64) (param $b i64) (result i64)
                (i64.add (local.get $a) (call $swapped (local.get $b) (local.get $a))))
            (func $swapped (param i64 i64) (result i64) (local.get 0)))",
        &expect![[r#"
            push %rbp
            mov %rsp, %rbp
            sub $0x10, %rsp
            mov %rdx, -8(%rbp)
            mov %rdi, %rsi
            mov %rdx, %r11
            mov %rcx, %rdx
            mov %r11, %rcx
            movabs $0x100000010, %rax
            callq *(%rax)
            add -8(%rbp), %rax
            leave
            ret
        "#]],
    );
}

/// What traps is behind all else.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_division() {
    check(
        "(module (func (param i32 i32) (result i32) (i32.div_s (local.get 0) (local.get 1))))",
        &expect![[r#"
            push %rbp
            mov %rsp, %rbp
            sub $0x10, %rsp
            mov %rcx, %r11
            mov %rdx, %rax
            test %r11d, %r11d
            je label2
            cmp $-1, %r11d
            jne label1
            cmp $1, %eax
            jo label3
            label1:
            cltd
            idiv %r11d
            leave
            ret
            label2:
            ud2
            label3:
            ud2
        "#]],
    );
}

/// Locked instructions where there is one; else a loop that tries again.
#[test]
#[cfg(target_arch = "x86_64")]
fn atomic_instructions() {
    check(
        "(module (memory 1) (func (param $at i32) (param $a i32) (result i32)
            (i32.atomic.store8 (i32.const 8) (local.get $a))
            (drop (i32.atomic.rmw.xor (i32.const 16) (local.get $a)))
            (i32.atomic.rmw16.cmpxchg_u (local.get $at)
                (i32.atomic.rmw8.sub_u (i32.const 24) (local.get $a)) (local.get $a))))",
        &expect![[r#"
            push %rbp
            mov %rsp, %rbp
            sub $0x10, %rsp
            mov %rcx, %rax
            mov 0x30(%rdi), %rsi
            mov %al, 8(%rsi)
            mfence
            lea 0x10(%rsi), %rdi
            mov (%rdi), %eax
            label1:
            mov %rax, %r11
            xor %rcx, %r11
            lock cmpxchg %r11d, (%rdi)
            jne label1
            mov %rcx, %rax
            neg %rax
            lock xadd %al, 0x18(%rsi)
            movzbl %al, %edi
            mov %rdx, %rax
            and $1, %eax
            test %eax, %eax
            jne label2
            mov %edx, %eax
            mov %rax, %rdx
            mov %rdi, %rax
            lock cmpxchg %cx, (%rsi,%rdx)
            movzwl %ax, %ecx
            mov %rcx, %rax
            leave
            ret
            label2:
            ud2
        "#]],
    );
}
