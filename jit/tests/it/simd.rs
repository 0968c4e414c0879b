//! Every SIMD and relaxed SIMD instruction becomes machine code.
//!
//! The list is wasmparser's own, so none can be forgotten: an instruction's text is derived from the name of its
//! visitor, and its type from its text.

use std::sync::Arc;

use wprof_jit::abi::VmLayout;
use wprof_jit::compile::{Compiler, CompilerOptions, ModuleEnv, Tier};
use wprof_jit::module;
use wprof_jit::plan::{Collection, FunctionPlan};

/// An operator's visitor and the number of its operands.
macro_rules! rows {
    ($(
        @$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })?
        => $visit:ident (arity $($kind:ident)? $pops:literal -> $pushes:literal)
    )*) => {
        [$((stringify!($visit), $pops)),*]
    };
}

const OPERATORS: [(&str, usize); 256] = wasmparser::for_each_visit_simd_operator!(rows);

/// `visit_i8x16_add_sat_s` is `i8x16.add_sat_s`.
fn mnemonic(visitor: &str) -> String {
    visitor.trim_start_matches("visit_").replacen('_', ".", 1)
}

fn scalar(shape: &str) -> &'static str {
    match shape {
        "i8x16" | "i16x8" | "i32x4" => "i32",
        "i64x2" => "i64",
        "f32x4" => "f32",
        _ => "f64",
    }
}

fn immediate(name: &str) -> &'static str {
    match name {
        "v128.const" => "i32x4 1 -2 3 -4",
        "i8x16.shuffle" => "0 17 2 19 4 21 6 23 8 25 10 27 12 29 14 31",
        _ if name.ends_with("_lane") && name.starts_with("v128.") => "offset=3 1",
        _ if name.starts_with("v128.load") || name.starts_with("v128.store") => "offset=3",
        _ if name.contains("extract_lane") || name.contains("replace_lane") => "1",
        _ => "",
    }
}

fn operands(name: &str, count: usize) -> Vec<&'static str> {
    let (shape, verb) = name.split_once('.').expect("a shape and a verb");
    let mut types = vec!["v128"; count];
    match verb {
        "splat" => types[0] = scalar(shape),
        "replace_lane" => types[1] = scalar(shape),
        "shl" | "shr_s" | "shr_u" => types[1] = "i32",
        _ if verb.starts_with("load") || verb.starts_with("store") => types[0] = "i32",
        _ => {}
    }
    types
}

fn results(name: &str) -> &'static str {
    let (shape, verb) = name.split_once('.').expect("a shape and a verb");
    match verb {
        "any_true" | "all_true" | "bitmask" => "i32",
        _ if verb.starts_with("extract_lane") => scalar(shape),
        _ if verb.starts_with("store") => "",
        _ => "v128",
    }
}

/// A function that does nothing but the instruction.
fn module_of(name: &str, count: usize) -> String {
    let params = operands(name, count).join(" ");
    let gets: String = (0..count).map(|k| format!("(local.get {k}) ")).collect();
    let (result, immediate) = (results(name), immediate(name));
    format!("(module (memory 1) (func (param {params}) (result {result}) {gets} {name} {immediate}))")
}

fn compile(compiler: &Compiler, wat: &str) -> Result<usize, String> {
    let bytes: Arc<[u8]> = wat::parse_str(wat).map_err(|e| e.to_string())?.into();
    let info = module::parse(bytes).map_err(|e| e.to_string())?;
    let layout = VmLayout::new(&info);
    let type_ids: Vec<u32> = (0..info.types.len()).collect();
    let env = ModuleEnv {
        info: &info,
        layout: &layout,
        type_ids: &type_ids,
        events: &[],
        slots: 0x1000,
        dispatch_cells: None,
    };
    let plan = FunctionPlan::new(&info, 0, &Collection::default(), 0).map_err(|e| e.to_string())?;
    let code = compiler.function(&env, &plan, Tier::Optimized).map_err(|e| e.to_string())?;
    Ok(code.bytes.len())
}

fn check(options: CompilerOptions) {
    let compiler = Compiler::new(options).expect("this machine");
    let failed: Vec<String> = OPERATORS
        .iter()
        .map(|&(visitor, count)| module_of(&mnemonic(visitor), count))
        .filter_map(|wat| compile(&compiler, &wat).err().map(|error| format!("{wat}\n    {error}")))
        .collect();
    assert!(failed.is_empty(), "{} operators failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn every_operator_compiles() {
    check(CompilerOptions { verify: true, ..Default::default() });
}

#[test]
fn every_operator_compiles_with_canonical_nans() {
    check(CompilerOptions { verify: true, canonical_nans: true, ..Default::default() });
}
