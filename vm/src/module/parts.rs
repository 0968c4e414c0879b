//! Baseline code in parts: which row of the code slots leads to which part of which function, and how the part is
//! compiled.
//!
//! **Invariant**: rows are assigned by the sizes of functions alone, so that they are the same in each run. The
//! code cache relies on it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use hashbrown::HashMap;
use wprof_jit::compile::Tier;
use wprof_jit::graph::Parts;
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::FunctionPlan;
use wprof_profiler::CodeTier;

use super::first_compilation::CompiledAhead;
use super::{CompiledVersion, ModuleInner};
use crate::{Engine, Result, Strategy};

/// The rows of code slots for parts, which follow the rows of the functions.
#[derive(Debug)]
pub struct PartRows {
    /// By defined function, the row of its second part; at the end, the number of rows.
    first: Vec<u32>,
    imported: u32,
}

impl PartRows {
    /// Reserves as many rows as the functions of a module can have parts.
    pub fn new(engine: &Engine, info: &ModuleInfo) -> PartRows {
        let is_optimized = engine.config().tiers.strategy == Strategy::Optimized;
        let sizes = engine.compiler().options().part_sizes;
        let count = |bytes: usize| match engine.compiler().splits() && !is_optimized {
            true => sizes.limit(bytes) as u32,
            false => 0,
        };
        let mut first = vec![info.funcs.len() as u32];
        for body in &info.bodies {
            first.push(first[first.len() - 1] + count(body.len()));
        }
        PartRows { first, imported: info.imported_funcs }
    }

    /// Returns the number of rows, including those of the functions.
    pub fn count(&self) -> u32 {
        self.first[self.first.len() - 1]
    }

    /// Returns the row of the second part of a function.
    pub fn parts(&self, func: u32) -> u32 {
        self.first[(func - self.imported) as usize]
    }

    /// Returns the number of the part that a row leads to; never 0, the first part.
    pub fn number(&self, row: u32) -> u32 {
        row - self.parts(self.func(row)) + 1
    }

    /// Returns the function that a row belongs to.
    pub fn func(&self, row: u32) -> u32 {
        match self.first[0] {
            funcs if row < funcs => row,
            _ => self.first.partition_point(|&first| first <= row) as u32 - 1 + self.imported,
        }
    }
}

/// A function that is compiled in parts.
#[derive(Debug)]
pub(super) struct PartedFunction {
    pub plan: Arc<FunctionPlan>,
    pub parts: Parts,
}

impl ModuleInner {
    /// Returns the parts in which baseline code of a function is compiled, if it is split.
    pub(super) fn parts_of(&self, plan: &Arc<FunctionPlan>) -> Option<Arc<PartedFunction>> {
        let func = plan.cfg.func;
        let parts = self.engine.compiler().parts(plan, self.part_rows.parts(func))?;
        let parted = Arc::new(PartedFunction { plan: plan.clone(), parts });
        self.code.parted.lock().unwrap_or_else(PoisonError::into_inner).insert(func, parted.clone());
        Some(parted)
    }

    /// Returns whether a row leads to a part of a function, rather than to a whole function.
    pub(super) fn is_part(&self, row: u32) -> bool {
        row as usize >= self.info.funcs.len()
    }

    /// Returns the address of the code that `row` leads to, a part of a function that has been called. Compiles
    /// the part if it has no code.
    ///
    /// # Errors
    /// Returns an error as [`ModuleInner::code_of`] does.
    pub(super) fn code_of_part(self: &Arc<Self>, row: u32) -> Result<usize> {
        let known = |_: &_| self.address_of_part(row);
        let claim = match self.code.first.claim(row, known, || self.help()) {
            Ok(claim) => claim,
            Err(address) => return Ok(address),
        };
        let address = match claim.take_ahead() {
            Some(CompiledAhead::Part(address)) => {
                self.order_after_part(row, true);
                address
            }
            _ => self.compile_part(row, true)?,
        };
        self.code.update(self.part_rows.func(row), |compiled| compiled.part_code.insert(row, address));
        self.slots.publish(row, address);
        self.code.called_parts.fetch_add(1, Ordering::Relaxed);
        self.code.changes.fetch_add(1, Ordering::Relaxed);
        Ok(address)
    }

    /// Returns the address of the code of a part, if control has reached it.
    pub(super) fn address_of_part(&self, row: u32) -> Option<usize> {
        let func = self.part_rows.func(row);
        self.code.look(func, |compiled| compiled.part_code.get(&row).copied()).flatten()
    }

    /// Compiles a part, because control reaches it or ahead of that, and returns the address of its code.
    pub(super) fn compile_part(self: &Arc<Self>, row: u32, is_called: bool) -> Result<usize> {
        let began = Instant::now();
        self.order_after_part(row, is_called);
        let func = self.part_rows.func(row);
        let PartedFunction { plan, parts } = &*self.parted(func);
        let graph = parts.graph(self.part_rows.number(row));
        let code = self.engine.compiler().graph(&self.env(), &plan.cfg, &graph, Tier::Baseline)?;
        let bytes = code.bytes.len();
        let address = self.place(func, code)?;
        self.note(CompiledVersion::new(func, CodeTier::Baseline, began, bytes));
        Ok(address)
    }

    /// Orders the compilation, ahead of time, of the code that control is likely to reach from a part.
    fn order_after_part(self: &Arc<Self>, row: u32, is_called: bool) {
        if self.engine.speculation().is_some() {
            let PartedFunction { plan, parts } = &*self.parted(self.part_rows.func(row));
            self.order_ahead(parts.likely_next(&plan.cfg, self.part_rows.number(row)), is_called);
        }
    }

    /// Returns the parts of a function. They are computed again if the function's code comes from the code cache,
    /// or if frames still run in parts after the function got better code.
    fn parted(&self, func: u32) -> Arc<PartedFunction> {
        let known = self.code.parted.lock().unwrap_or_else(PoisonError::into_inner).get(&func).cloned();
        let anew = || self.parts_of(&self.plan_of(func)?);
        known.or_else(anew).expect("what leads to a part was compiled in parts")
    }
}

/// The code of parts, by row.
pub(super) type PartCode = HashMap<u32, usize>;
