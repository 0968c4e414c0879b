//! Baseline code in parts: which row of the code slots leads to which part of which function, and how it gets there.
//!
//! **Invariant**: rows are given out by the sizes of functions alone, so that they are the same in each run: the code cache
//! relies on it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use hashbrown::HashMap;
use wprof_jit::compile::Tier;
use wprof_jit::graph::Parts;
use wprof_jit::module::ModuleInfo;
use wprof_jit::plan::FunctionPlan;
use wprof_profiler::CodeTier;

use super::{CompiledVersion, ModuleInner};
use crate::{Engine, Result, Strategy};

/// The rows of code slots behind those of the functions.
#[derive(Debug)]
pub struct PartRows {
    /// By defined function, the row of its second part; then the number of rows.
    first: Vec<u32>,
    imported: u32,
}

impl PartRows {
    /// As many rows as the functions of a module can have parts.
    pub fn new(engine: &Engine, info: &ModuleInfo) -> PartRows {
        let is_optimized = engine.config().strategy == Strategy::Optimized;
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

    /// How many rows there are, those of the functions included.
    pub fn count(&self) -> u32 {
        self.first[self.first.len() - 1]
    }

    /// The row of the second part of a function.
    pub fn of(&self, func: u32) -> u32 {
        self.first[(func - self.imported) as usize]
    }

    /// The function that a row belongs to.
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
    /// The parts that baseline code of a function is compiled in, if it is.
    pub(super) fn parts_of(&self, plan: &Arc<FunctionPlan>) -> Option<Arc<PartedFunction>> {
        let first_row = self.part_rows.of(plan.cfg.func);
        let parts = self.engine.compiler().parts(plan, first_row)?;
        Some(Arc::new(PartedFunction { plan: plan.clone(), parts }))
    }

    /// Whether a row leads to a part of a function, rather than to a function.
    pub(super) fn is_part(&self, row: u32) -> bool {
        row as usize >= self.info.funcs.len()
    }

    /// The address of the code that `row` leads to, a part of a function that has been called; it is compiled now if need be.
    ///
    /// # Errors
    /// As [`ModuleInner::code_of`].
    pub(super) fn code_of_part(self: &Arc<Self>, row: u32) -> Result<usize> {
        let func = self.part_rows.func(row);
        let known = || self.code.look(func, |compiled| compiled.part_code.get(&row).copied()).flatten();
        let _claim = match self.code.first.claim(row, known) {
            Ok(claim) => claim,
            Err(address) => return Ok(address),
        };
        let began = Instant::now();
        let parted = self.parted(func).expect("who goes on in a part comes from another one");
        let number = row - self.part_rows.of(func) + 1;
        let graph = parted.parts.graph(number);
        let code = self.engine.compiler().graph(&self.env(), &parted.plan.cfg, &graph, Tier::Baseline)?;
        let bytes = code.bytes.len();
        let address = self.place(func, code)?;
        self.code.update(func, |compiled| compiled.part_code.insert(row, address));
        self.slots.publish(row, address);
        self.code.changes.fetch_add(1, Ordering::Relaxed);
        self.note(CompiledVersion::new(func, CodeTier::Baseline, began, bytes));
        Ok(address)
    }

    /// The parts of a function that has been called, which are found again if its code comes from the code cache.
    fn parted(&self, func: u32) -> Option<Arc<PartedFunction>> {
        let known = self.code.look(func, |compiled| compiled.parted.clone()).flatten();
        known.or_else(|| {
            let parted = self.parts_of(&self.plan_of(func)?)?;
            self.code.update(func, |compiled| compiled.parted = Some(parted.clone()));
            Some(parted)
        })
    }
}

/// By row, the code of parts.
pub(super) type PartCode = HashMap<u32, usize>;
