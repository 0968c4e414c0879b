//! Tables that never change, and dispatch cells for the calls through them.
//!
//! A table is constant if only this module knows it and no instruction writes to it: then its contents are those of the
//! element segments, in all instances and from their first instruction on. Most compilers make such tables. For each
//! type that a constant table is called with there are *dispatch cells*: for each index, the code slots of the function
//! there, or a row that traps with the reason that a call of that index has. So such a call needs only a bounds check,
//! which is a minimum: the cell behind those of the elements serves all larger indices.
//!
//! Input: a module. Output: the contents of its cells.
//! Invariant: a call through a cell does what `call_indirect` does; the callee, if there is one, is of the same
//! instance.

use wasmparser::RefType;

use super::{ConstExpr, ConstOp, ElementItems, ElementSegment, Entity, ModuleInfo, SegmentMode};

/// The maximum number of cells of a module, of four bytes each; further calls use none.
const MOST_CELLS: u32 = 1 << 23;
/// The maximum number of elements of all constant tables: a few bytes of a module suffice for a table of any length.
const MOST_ELEMENTS: u64 = 1 << 20;

/// The constant tables of a module.
#[derive(Clone, Debug, Default)]
pub struct ConstantTables {
    /// For each table, the function of each element, if the table is constant.
    elements: Vec<Option<Vec<Option<u32>>>>,
    dispatches: Vec<Dispatch>,
}

/// The cells for one table and one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The table.
    pub table: u32,
    /// The first of the types that equal the callee's.
    ty: u32,
    /// The first cell; there is one for each element, and one more.
    pub first: u32,
    /// The number of elements of the table.
    pub len: u32,
}

/// The target of a dispatch cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A defined function of the right type.
    Func(u32),
    /// A function of another type.
    BadSignature,
    /// No function.
    Null,
    /// No element.
    OutOfBounds,
}

impl ConstantTables {
    /// Finds the constant tables of a module; `written` holds the tables that instructions write to, and `called` the
    /// pairs of tables and types of indirect calls.
    pub(super) fn new(info: &ModuleInfo, written: &[u32], called: &[(u32, u32)]) -> ConstantTables {
        let mut tables = ConstantTables { elements: elements(info, written), dispatches: Vec::new() };
        let mut pairs: Vec<(u32, u32)> =
            called.iter().map(|&(table, ty)| (table, info.types.canonical(ty))).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let mut cells = 0_u32;
        for (table, ty) in pairs {
            let Some(elements) = &tables.elements[table as usize] else { continue };
            let len = elements.len() as u32;
            let end = cells.saturating_add(len + 1);
            // Imported functions are called with another vmctx.
            let is_imported = |&func: &u32| info.is_imported_func(func) && info.is_func_of(func, ty);
            if end <= MOST_CELLS && !elements.iter().flatten().any(is_imported) {
                tables.dispatches.push(Dispatch { table, ty, first: cells, len });
                cells = end;
            }
        }
        tables
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> u32 {
        self.dispatches.last().map_or(0, |last| last.first + last.len + 1)
    }

    /// Returns all dispatches, by number.
    pub fn dispatches(&self) -> &[Dispatch] {
        &self.dispatches
    }

    /// Returns the number of the dispatch for calls through a table with a type; `None` if there is none.
    pub fn find(&self, info: &ModuleInfo, table: u32, ty: u32) -> Option<usize> {
        let ty = info.types.canonical(ty);
        self.dispatches.iter().position(|of| of.table == table && of.ty == ty)
    }

    /// Returns the targets of a dispatch's cells, in order.
    pub fn targets<'a>(
        &'a self,
        info: &'a ModuleInfo,
        dispatch: &Dispatch,
    ) -> impl Iterator<Item = Target> + 'a {
        let ty = dispatch.ty;
        let elements = self.elements[dispatch.table as usize].as_deref().unwrap_or_default();
        let target = move |&func: &Option<u32>| match func {
            None => Target::Null,
            Some(func) if info.is_func_of(func, ty) => Target::Func(func),
            Some(_) => Target::BadSignature,
        };
        elements.iter().map(target).chain([Target::OutOfBounds])
    }

    /// Returns the only index of a function in a constant table.
    pub fn only_index(&self, table: u32, func: u32) -> Option<u32> {
        let elements = self.elements[table as usize].as_ref()?;
        let mut all = (0..).zip(elements).filter(|&(_, &element)| element == Some(func));
        let (index, _) = all.next()?;
        all.next().is_none().then_some(index)
    }
}

/// Returns the elements of each table, if it is constant.
fn elements(info: &ModuleInfo, written: &[u32]) -> Vec<Option<Vec<Option<u32>>>> {
    let is_exported = |table: u32| info.exports.iter().any(|(_, entity)| *entity == Entity::Table(table));
    let mut room = MOST_ELEMENTS;
    let inits = &info.table_inits;
    let initial = |(index, table): (u32, &wasmparser::TableType)| {
        let init = index.checked_sub(info.imported_tables).and_then(|own| inits[own as usize].as_ref());
        let element = init.map_or(Some(None), function)?;
        let is_own = index >= info.imported_tables && !is_exported(index) && !written.contains(&index);
        let is_usual = table.element_type == RefType::FUNCREF && !table.table64;
        if !is_own || !is_usual || table.initial > room {
            return None;
        }
        room -= table.initial;
        Some(vec![element; table.initial as usize])
    };
    let mut tables: Vec<Option<Vec<Option<u32>>>> = (0..).zip(&info.tables).map(initial).collect();
    for segment in &info.elements {
        let SegmentMode::Active { target, ref offset } = segment.mode else { continue };
        // A segment that does not fit ends the instantiation, but functions may have escaped through earlier segments.
        let Some(offset) = in_bounds(info, segment, target, offset) else { return vec![None; tables.len()] };
        if let Some(table) = &mut tables[target as usize] {
            match functions(segment) {
                Some(functions) => table[offset..offset + functions.len()].copy_from_slice(&functions),
                None => tables[target as usize] = None,
            }
        }
    }
    tables
}

/// Returns the offset of a segment, if it certainly fits.
fn in_bounds(info: &ModuleInfo, segment: &ElementSegment, table: u32, offset: &ConstExpr) -> Option<usize> {
    let [ConstOp::I32(offset)] = offset.0[..] else { return None };
    let len = match &segment.items {
        ElementItems::Funcs(funcs) => funcs.len(),
        ElementItems::Exprs(exprs) => exprs.len(),
    };
    let end = u64::from(offset as u32) + len as u64;
    (end <= info.tables[table as usize].initial).then_some(offset as u32 as usize)
}

/// Returns the functions of a segment, if they are the same in all instances.
fn functions(segment: &ElementSegment) -> Option<Vec<Option<u32>>> {
    match &segment.items {
        ElementItems::Funcs(funcs) => Some(funcs.iter().copied().map(Some).collect()),
        ElementItems::Exprs(exprs) => exprs.iter().map(function).collect(),
    }
}

/// Returns the function of an element, if it is the same in all instances.
fn function(expr: &ConstExpr) -> Option<Option<u32>> {
    match expr.0[..] {
        [ConstOp::RefFunc(func)] => Some(Some(func)),
        [ConstOp::RefNull] => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(wat: &str) -> (ModuleInfo, ConstantTables) {
        let info = crate::module::parse(wat::parse_str(wat).expect("valid text")).expect("valid module");
        let tables = info.constant_tables.clone();
        (info, tables)
    }

    fn targets(wat: &str) -> Vec<Vec<Target>> {
        let (info, tables) = tables(wat);
        tables.dispatches().iter().map(|of| tables.targets(&info, of).collect()).collect()
    }

    const CALLS: &str = "(type $a (func)) (type $b (func (param i32))) (type $c (func))
        (func $f (type $a)) (func $g (type $b)) (func $h (type $c))
        (func (call_indirect (type $c) (i32.const 1)) (call_indirect (type $a) (i32.const 1)))";

    #[test]
    fn cells_lead_to_functions_of_the_type_and_to_traps() {
        let segments =
            "(table 5 funcref) (elem (i32.const 1) $f $g) (elem (i32.const 3) funcref (ref.func $h))";
        let [ref cells] = targets(&format!("(module {segments} {CALLS})"))[..] else {
            panic!("equal types share")
        };
        use Target::{BadSignature, Func, Null, OutOfBounds};
        assert_eq!(*cells, [Null, Func(0), BadSignature, Func(2), Null, OutOfBounds]);
    }

    #[test]
    fn the_only_place_of_a_function_is_known() {
        let (_, tables) =
            tables(&format!("(module (table 4 funcref) (elem (i32.const 0) $f $g $f) {CALLS})"));
        assert_eq!([0, 1, 2].map(|func| tables.only_index(0, func)), [None, Some(1), None]);
    }

    #[test]
    fn what_may_change_is_not_constant() {
        let cases = [
            "(table (export \"t\") 5 funcref)",
            "(table 5 funcref) (func (table.set (i32.const 1) (ref.null func)))",
            "(table 5 funcref) (func (drop (table.grow (ref.null func) (i32.const 1))))",
            "(table 5 funcref) (func (table.fill (i32.const 1) (ref.null func) (i32.const 1)))",
            "(table 5 funcref) (func (table.copy (i32.const 1) (i32.const 2) (i32.const 1)))",
            "(table 5 funcref) (elem $e func $f) (func (table.init $e (i32.const 1) (i32.const 0) (i32.const 1)))",
            "(table 5 funcref) (elem (i32.const 5) $f)",
            "(table 0x100001 funcref) (elem (i32.const 0) $f)",
            "(import \"m\" \"at\" (global $at i32)) (table 5 funcref) (elem (global.get $at) $f)",
        ];
        for case in cases {
            assert_eq!(targets(&format!("(module {case} {CALLS})")), Vec::<Vec<Target>>::new(), "{case}");
        }
        let imported = "(import \"m\" \"t\" (table 5 funcref))";
        assert_eq!(targets(&format!("(module {imported} {CALLS})")), Vec::<Vec<Target>>::new());
        // A function of another instance, of that type.
        let host = "(import \"m\" \"f\" (func $i)) (table 5 funcref) (elem (i32.const 0) $i)";
        assert_eq!(targets(&format!("(module {host} {CALLS})")), Vec::<Vec<Target>>::new());
    }
}
