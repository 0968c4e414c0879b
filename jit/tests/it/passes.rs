//! The switches of passes: each has code to change, and changes it where it says.

use std::sync::Arc;

use wprof_jit::abi::VmLayout;
use wprof_jit::compile::{Compiler, CompilerOptions, MachineCode, ModuleEnv, Pass, PassSet, Tier};
use wprof_jit::module::{self, ModuleInfo};
use wprof_jit::plan::{Collection, FunctionPlan, Instrumentation};

/// A program of the benchmarks.
struct Program {
    info: ModuleInfo,
    layout: VmLayout,
    type_ids: Vec<u32>,
}

impl Program {
    fn new(name: &str) -> Program {
        let path = format!("{}/../bench-wasm/programs/{name}.wasm", env!("CARGO_MANIFEST_DIR"));
        let bytes: Arc<[u8]> = std::fs::read(path).expect("it is in the repository").into();
        let info = module::parse(bytes).expect("valid module");
        let layout = VmLayout::new(&info);
        let type_ids = (0..info.types.len()).collect();
        Program { info, layout, type_ids }
    }

    fn functions(&self) -> std::ops::Range<u32> {
        self.info.imported_funcs..self.info.imported_funcs + self.info.defined_funcs()
    }

    fn code(&self, func: u32, kind: &Kind, passes: PassSet) -> MachineCode {
        let options = CompilerOptions { passes, ..CompilerOptions::default() };
        self.code_by(&Compiler::new(options.collecting(&kind.1)).expect("this machine"), func, kind)
    }

    fn code_by(&self, compiler: &Compiler, func: u32, (tier, collection): &Kind) -> MachineCode {
        let Program { info, layout, type_ids } = self;
        let env =
            ModuleEnv { info, layout, type_ids, events: &[], slots: 0x1000, dispatch_cells: Some(0x1000) };
        let plan = FunctionPlan::new(info, func, collection, 0).expect("within limits");
        compiler.function(&env, &plan, *tier).expect("within limits")
    }
}

/// A tier, and what is collected in its code.
type Kind = (Tier, Collection);

fn kinds() -> [Kind; 4] {
    let checks = "default".parse().ok();
    let counters = Instrumentation::Paths;
    [
        (Tier::Optimized, Collection::default()),
        (Tier::Optimized, Collection { checks, ..Collection::default() }),
        (Tier::Optimized, Collection { counters, ..Collection::default() }),
        (Tier::Baseline, Collection::default()),
    ]
}

#[test]
fn every_pass_changes_some_code() {
    let programs = ["interp", "vcall", "json", "hash"].map(Program::new);
    let kinds = kinds();
    let cases = || {
        let of_program = |program| kinds.iter().map(move |kind| (program, kind));
        programs.iter().flat_map(of_program)
    };
    let usual: Vec<Vec<Vec<u8>>> = cases()
        .map(|(program, kind)| {
            program.functions().map(|func| program.code(func, kind, PassSet::all()).bytes).collect()
        })
        .collect();
    let changes = |pass: &&Pass| {
        let without = PassSet::all().with(**pass, false);
        cases().zip(&usual).any(|((program, kind), usual)| {
            let mut functions = program.functions().zip(usual);
            functions.any(|(func, usual)| program.code(func, kind, without.clone()).bytes != *usual)
        })
    };
    let unused: Vec<&Pass> = Pass::ALL.iter().filter(|pass| !changes(pass)).collect();
    assert_eq!(unused, [] as [&Pass; 0]);
}

#[test]
fn code_of_programs_is_proven_to_do_what_it_did_before_the_passes() {
    let programs = ["interp", "vcall", "json", "hash", "sort", "compress"].map(Program::new);
    for kind in &kinds()[..3] {
        let options = CompilerOptions { proves: true, ..CompilerOptions::default() };
        let compiler = Compiler::new(options.collecting(&kind.1)).expect("this machine");
        for program in &programs {
            program.functions().for_each(|func| drop(program.code_by(&compiler, func, kind)));
        }
        let (proven, unproven) = (compiler.proofs().proven(), compiler.proofs().unproven());
        let reports = compiler.proofs().reports().join("\n");
        assert!(proven > 100 && unproven == 0, "{proven} proven, {unproven} not:\n{reports}");
    }
}

#[test]
fn a_pass_is_limited_to_functions() {
    let program = Program::new("json");
    let kind = (Tier::Optimized, Collection::default());
    let code = |func, passes: &str| program.code(func, &kind, passes.parse().expect("a list")).bytes;
    let mut changed = program.functions().filter(|&func| code(func, "all") != code(func, "-redundant-moves"));
    let (first, second) = (changed.next().expect("two functions"), changed.next().expect("two functions"));
    let only_first = format!("redundant-moves@{first}..{}", first + 1);
    assert_eq!(code(first, &only_first), code(first, "all"));
    assert_eq!(code(second, &only_first), code(second, "-redundant-moves"));
}

#[test]
fn without_passes_nothing_is_done_to_finished_code() {
    let program = Program::new("interp");
    for func in program.functions() {
        let code = program.code(func, &kinds()[1], PassSet::none());
        assert_eq!((code.cold, code.data), (None, Vec::new()), "function {func}");
    }
}
