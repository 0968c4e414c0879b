//! The host module `spectest`, which the scripts of the official suite import.

use wprof::{
    Global, GlobalType, Linker, Memory, MemoryType, Ref, RefType, Result, SharedMemory, Store, Table,
};
use wprof::{TableType, Val, ValType};

/// Defines all items of `spectest`.
///
/// # Errors
/// Returns an error if the store cannot hold a memory and two tables.
pub fn define(linker: &mut Linker<()>, store: &mut Store<()>) -> Result<()> {
    prints(linker)?;
    let values = [Val::I32(666), Val::I64(666), Val::from(666.6f32), Val::from(666.6f64)];
    for (name, value) in ["global_i32", "global_i64", "global_f32", "global_f64"].into_iter().zip(values) {
        let global = Global::new(&mut *store, GlobalType::new(value.ty(), false), value)?;
        linker.define(&*store, "spectest", name, global)?;
    }
    let ty = TableType::new(RefType::FUNCREF, 10, Some(20));
    for (name, ty) in [("table", ty.clone()), ("table64", TableType { is_64: true, ..ty.clone() })] {
        let table = Table::new(&mut *store, ty, Ref::null(&RefType::FUNCREF))?;
        linker.define(&*store, "spectest", name, table)?;
    }
    let memory = Memory::new(&mut *store, MemoryType::new(1, Some(2)))?;
    linker.define(&*store, "spectest", "memory", memory)?;
    let shared = SharedMemory::new(linker.engine(), MemoryType::shared(1, 2))?;
    linker.define_shared_memory("spectest", "shared_memory", &shared)?;
    Ok(())
}

/// Defines the print functions, which print nothing.
fn prints(linker: &mut Linker<()>) -> Result<()> {
    use ValType::{F32, F64, I32, I64};
    let all: [(&str, &[ValType]); 7] = [
        ("print", &[]),
        ("print_i32", &[I32]),
        ("print_i64", &[I64]),
        ("print_f32", &[F32]),
        ("print_f64", &[F64]),
        ("print_i32_f32", &[I32, F32]),
        ("print_f64_f64", &[F64, F64]),
    ];
    for (name, params) in all {
        let ty = wprof::FuncType::new(params.iter().cloned(), []);
        linker.func_new("spectest", name, ty, |_, _, _| Ok(()))?;
    }
    Ok(())
}
