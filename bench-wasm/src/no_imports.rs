//! Removes the imports of a harness from modules: `bench.start` and `bench.end` of Sightglass become empty functions.
//!
//! Invariant: functions that the module defines keep their indices. The functions that replace imports precede them,
//! as the imports did.

use anyhow::{Result, anyhow};
use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{CodeSection, Function, FunctionSection, ImportSection, Module};
use wasmparser::{CodeSectionReader, FunctionSectionReader, Import, ImportSectionReader, Parser, TypeRef};

/// The module from which Sightglass's programs import the functions that start and end a measurement.
const HARNESS: &str = "bench";

type Outcome<T = ()> = Result<T, reencode::Error>;

#[derive(Default)]
struct Without {
    /// For each imported function, its new index, or its number among the removed imports.
    imported: Vec<Result<u32, u32>>,
    kept: u32,
    /// The types of the removed imports.
    removed: Vec<u32>,
}

/// Replaces a module's imports from the harness by empty functions.
///
/// # Errors
/// Returns an error if the bytes are not a module.
pub fn without_harness(module: &[u8]) -> Result<Vec<u8>> {
    let mut without = Without::default();
    let mut rewritten = Module::new();
    let parsed = without.parse_core_module(&mut rewritten, Parser::new(0), module);
    parsed.map_err(|e| anyhow!("cannot rewrite the module: {e}"))?;
    Ok(rewritten.finish())
}

impl Reencode for Without {
    type Error = std::convert::Infallible;

    fn function_index(&mut self, func: u32) -> Outcome<u32> {
        Ok(match self.imported.get(func as usize) {
            Some(Ok(index)) => *index,
            Some(Err(number)) => self.kept + number,
            None => func,
        })
    }

    /// Parses each import separately, whichever encoding the section uses.
    fn parse_import_section(
        &mut self,
        imports: &mut ImportSection,
        section: ImportSectionReader<'_>,
    ) -> Outcome {
        for import in section.into_imports() {
            self.parse_import(imports, import?)?;
        }
        Ok(())
    }

    fn parse_import(&mut self, imports: &mut ImportSection, import: Import<'_>) -> Outcome {
        match import.ty {
            TypeRef::Func(ty) if import.module == HARNESS => {
                self.imported.push(Err(self.removed.len() as u32));
                self.removed.push(ty);
                return Ok(());
            }
            TypeRef::Func(_) => {
                self.imported.push(Ok(self.kept));
                self.kept += 1;
            }
            _ => {}
        }
        reencode::utils::parse_import(self, imports, import)
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> Outcome {
        for &ty in &self.removed {
            functions.function(ty);
        }
        reencode::utils::parse_function_section(self, functions, section)
    }

    fn parse_code_section(&mut self, code: &mut CodeSection, section: CodeSectionReader<'_>) -> Outcome {
        for _ in &self.removed {
            let mut nothing = Function::new([]);
            nothing.instructions().end();
            code.function(&nothing);
        }
        reencode::utils::parse_code_section(self, code, section)
    }
}

/// Encodes the same module anew, for comparison.
#[cfg(test)]
fn encoded_anew(module: &[u8]) -> Vec<u8> {
    let mut anew = Module::new();
    reencode::RoundtripReencoder
        .parse_core_module(&mut anew, Parser::new(0), module)
        .expect("it is a module");
    anew.finish()
}

#[cfg(test)]
mod tests {
    use wprof::{Engine, Linker, Store};

    use super::*;

    #[test]
    fn what_the_harness_had_does_nothing_and_all_else_is_as_before() {
        let module = wat::parse_str(
            r#"(module
                (import "bench" "start" (func $start))
                (import "host" "number" (func $number (result i32)))
                (import "bench" "end" (func $end))
                (table 1 funcref)
                (elem (i32.const 0) $number)
                (func (export "run") (result i32)
                    call $start
                    i32.const 0
                    call_indirect (result i32)
                    call $end))"#,
        )
        .unwrap();
        let module = wprof::Module::new(&Engine::default(), without_harness(&module).unwrap()).unwrap();
        let names: Vec<&str> = module.imports().map(|import| import.name()).collect();
        assert_eq!(names, ["number"]);
        let mut linker: Linker<()> = Linker::new(module.engine());
        linker.func_wrap("host", "number", || 42).unwrap();
        let mut store = Store::new(module.engine(), ());
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let run = instance.get_typed_func::<(), i32>(&mut store, "run").unwrap();
        assert_eq!(run.call(&mut store, ()).unwrap(), 42);
    }

    #[test]
    fn a_module_without_a_harness_stays_as_it_is() {
        let module = wat::parse_str(r#"(module (import "host" "start" (func)) (func (export "f") call 0))"#);
        let module = module.unwrap();
        assert_eq!(without_harness(&module).unwrap(), encoded_anew(&module));
    }
}
