//! Every shape of control flow becomes machine code, and the CFG is the expected one.

use wprof_jit::cfg;
use wprof_jit::compile::{Compiler, CompilerOptions, Tier};
use wprof_jit::plan::{Collection, FunctionPlan, Instrumentation};

use crate::parsed::Parsed;

/// Compiles every function of a text module in every instrumentation; gives the CFGs as text.
fn compile(wat: &str) -> String {
    let parsed = Parsed::new(wat);
    let (info, env) = (&parsed.info, parsed.env(0x1000));
    let compiler =
        Compiler::new(CompilerOptions { verify: true, ..Default::default() }).expect("this machine");
    let mut text = String::new();
    for func in info.imported_funcs..info.funcs.len() as u32 {
        for instrumentation in
            [Instrumentation::Off, Instrumentation::Chords, Instrumentation::Blocks, Instrumentation::Paths]
        {
            let collection = Collection { counters: instrumentation, ..Collection::default() };
            let plan = FunctionPlan::new(info, func, &collection, 0).expect("plans");
            for tier in [Tier::Baseline, Tier::Optimized] {
                assert!(!compiler.function(&env, &plan, tier).expect("compiles").bytes.is_empty());
            }
            let headers = plan.cfg.blocks.iter().zip(0..).filter(|(block, _)| block.is_loop_header);
            for (_, header) in headers {
                let graph = compiler.version(&plan, Tier::Optimized).resumed_at(&plan.cfg, header);
                let code = compiler.graph(&env, &plan.cfg, &graph, Tier::Optimized).expect("compiles");
                assert!(!code.bytes.is_empty());
            }
        }
        text += &cfg::build(info, func).expect("builds").to_string();
    }
    text
}

#[test]
fn a_loop_in_a_block() {
    let text = compile(
        r#"(module (func (param i32) (result i32)
            (block (loop (br_if 1 (i32.eqz (local.get 0)))
                (local.set 0 (i32.sub (local.get 0) (i32.const 1))) (br 0)))
            (local.get 0)))"#,
    );
    println!("{text}");
}

#[test]
fn fib() {
    let text = compile(
        r#"(module (func $fib (param i32) (result i32)
            (if (result i32) (i32.lt_s (local.get 0) (i32.const 2)) (then (local.get 0))
              (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2))))))))"#,
    );
    println!("{text}");
}
