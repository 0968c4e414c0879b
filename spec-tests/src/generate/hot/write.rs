//! Trees to modules.

use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, DataCountSection, DataSection, ElementSection, Elements, EntityType,
    ExportKind, ExportSection, Function as Code, FunctionSection, GlobalSection, GlobalType, ImportSection,
    Instruction as I, MemorySection, MemoryType, Module, RefType, TableSection, TableType, TypeSection,
    ValType,
};

use super::tree::{End, Expr, Function, Kind, Label, Loop, LoopForm, Multi, Program, Stmt, Switch, Valued};
use super::{CONSTANT_TABLE, DATA, GLOBALS, IMPORTS, MOST_PAGES, PASSIVE, SIGNATURES, TABLE, TABLE_ROOM};
use crate::host::ENTRIES;

/// Types beyond those of functions, as blocks need them.
#[derive(Default)]
struct Types(Vec<(Vec<ValType>, Vec<ValType>)>);

impl Types {
    fn block(&mut self, params: &[ValType], results: &[ValType]) -> BlockType {
        match (params, results) {
            ([], []) => return BlockType::Empty,
            ([], [one]) => return BlockType::Result(*one),
            _ => {}
        }
        let wanted = (params.to_vec(), results.to_vec());
        let found = self.0.iter().position(|ty| *ty == wanted).unwrap_or_else(|| {
            self.0.push(wanted);
            self.0.len() - 1
        });
        BlockType::FunctionType((SIGNATURES.len() + found) as u32)
    }
}

impl Program {
    /// The module.
    pub fn encode(&self) -> Vec<u8> {
        let mut types = Types::default();
        let mut code = CodeSection::new();
        for function in &self.functions {
            code.function(&Writer::function(function, &mut types));
        }
        let mut module = Module::new();
        module.section(&type_section(&types)).section(&imports()).section(&self.declarations());
        module.section(&self.tables()).section(&memories()).section(&globals());
        module.section(&self.exports()).section(&self.elements());
        module.section(&DataCountSection { count: PASSIVE + 1 }).section(&code).section(&data());
        module.finish()
    }

    fn declarations(&self) -> FunctionSection {
        let mut section = FunctionSection::new();
        for function in &self.functions {
            section.function(function.signature);
        }
        section
    }

    fn tables(&self) -> TableSection {
        let mut section = TableSection::new();
        let rooms = [(self.table.len() as u64, TABLE_ROOM), (self.constant.len() as u64, 0)];
        for (minimum, room) in rooms {
            section.table(TableType {
                element_type: RefType::FUNCREF,
                table64: false,
                minimum,
                maximum: Some(minimum + room),
                shared: false,
            });
        }
        section
    }

    fn exports(&self) -> ExportSection {
        let mut section = ExportSection::new();
        for (index, _) in self.functions.iter().enumerate() {
            section.export(&format!("f{index}"), ExportKind::Func, func(index as u32));
        }
        let unary = (0..self.functions.len()).rev().filter(|&f| self.functions[f].signature == 0);
        for (name, index) in ENTRIES.iter().zip(unary) {
            section.export(name, ExportKind::Func, func(index as u32));
        }
        section.export("table", ExportKind::Table, TABLE);
        section.export("memory", ExportKind::Memory, 0).export("memory64", ExportKind::Memory, 1);
        for index in 0..GLOBALS.len() as u32 {
            section.export(&format!("g{index}"), ExportKind::Global, index);
        }
        section
    }

    fn elements(&self) -> ElementSection {
        let mut section = ElementSection::new();
        for (at, element) in (0..).zip(&self.table) {
            if let Some(element) = element {
                let functions = Elements::Functions(vec![func(*element)].into());
                section.active(Some(TABLE), &ConstExpr::i32_const(at), functions);
            }
        }
        let constant: Vec<u32> = self.constant.iter().map(|&element| func(element)).collect();
        section.active(Some(CONSTANT_TABLE), &ConstExpr::i32_const(0), Elements::Functions(constant.into()));
        let all: Vec<u32> = (0..self.functions.len() as u32).map(func).collect();
        section.declared(Elements::Functions(all.into()));
        section
    }
}

/// The index of a defined function among all.
pub fn func(defined: u32) -> u32 {
    IMPORTS.len() as u32 + defined
}

fn type_section(types: &Types) -> TypeSection {
    let mut section = TypeSection::new();
    for (params, results) in SIGNATURES {
        section.ty().function(params.iter().copied(), results.iter().copied());
    }
    for (params, results) in &types.0 {
        section.ty().function(params.iter().copied(), results.iter().copied());
    }
    section
}

fn imports() -> ImportSection {
    let mut section = ImportSection::new();
    for name in IMPORTS {
        section.import("host", name, EntityType::Function(0));
    }
    section
}

/// One with 32-bit and one with 64-bit indices, which grow.
fn memories() -> MemorySection {
    let mut section = MemorySection::new();
    for memory64 in [false, true] {
        let maximum = Some(MOST_PAGES);
        section.memory(MemoryType { minimum: 1, maximum, memory64, shared: false, page_size_log2: None });
    }
    section
}

fn globals() -> GlobalSection {
    let mut section = GlobalSection::new();
    for val_type in GLOBALS {
        let start = match val_type {
            ValType::I64 => ConstExpr::i64_const(-7),
            ValType::F32 => ConstExpr::f32_const(1.5.into()),
            ValType::F64 => ConstExpr::f64_const(0.1.into()),
            ValType::V128 => ConstExpr::v128_const(0x0123_4567_89ab_cdef_0011_2233_4455_6677),
            _ => ConstExpr::i32_const(11),
        };
        section.global(GlobalType { val_type, mutable: true, shared: false }, &start);
    }
    section
}

fn data() -> DataSection {
    let mut section = DataSection::new();
    let bytes: Vec<u8> = (0..1024u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    section.active(0, &ConstExpr::i32_const(16), bytes.iter().copied());
    section.active(1, &ConstExpr::i64_const(0), bytes.iter().rev().copied());
    section.passive(bytes[..DATA].iter().copied());
    section
}

/// What branches to a label need.
struct Target {
    label: Label,
    values: usize,
}

/// A body that is being written.
struct Writer<'a> {
    types: &'a mut Types,
    code: Code,
    /// Constructs around, the innermost last; those without a label have a number that no branch has.
    targets: Vec<Target>,
}

const NO_LABEL: Label = Label::MAX;

impl Writer<'_> {
    fn function(function: &Function, types: &mut Types) -> Code {
        let code = Code::new_with_locals_types(function.locals.iter().copied());
        let mut writer = Writer { types, code, targets: Vec::new() };
        writer.statements(&function.body);
        match &function.end {
            End::Results(results) => writer.values(results),
            End::TailCall(args, op) => {
                writer.values(args);
                writer.push(op.clone());
            }
        }
        writer.push(I::End);
        writer.code
    }

    fn push(&mut self, op: I<'static>) {
        self.code.instruction(&op);
    }

    fn nest(&mut self, op: I<'static>, label: Label, values: usize, inside: impl FnOnce(&mut Self)) {
        self.push(op);
        self.targets.push(Target { label, values });
        inside(self);
        self.targets.pop();
        self.push(I::End);
    }

    fn values(&mut self, values: &[Expr]) {
        values.iter().for_each(|value| self.value(value));
    }

    fn value(&mut self, expr: &Expr) {
        match &expr.kind {
            Kind::Op(op, args) => {
                self.values(args);
                self.push(op.clone());
            }
            Kind::If(condition, yes, no) => {
                self.value(condition);
                self.nest(I::If(BlockType::Result(expr.ty)), NO_LABEL, 1, |writer| {
                    writer.valued(yes);
                    writer.push(I::Else);
                    writer.valued(no);
                });
            }
            Kind::Block(label, inside) => {
                self.nest(I::Block(BlockType::Result(expr.ty)), *label, 1, |writer| writer.valued(inside));
            }
        }
    }

    fn valued(&mut self, valued: &Valued) {
        self.statements(&valued.before);
        self.value(&valued.value);
    }

    fn statements(&mut self, all: &[Stmt]) {
        for statement in all {
            self.statement(statement);
            if matches!(statement, Stmt::Return(_) | Stmt::Break { when: None, .. }) {
                // What a reduction has moved behind it never runs; types of dead code would only get in the way.
                break;
            }
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Do { op, args, results } => {
                self.values(args);
                self.push(op.clone());
                self.sink(results);
            }
            Stmt::If(condition, yes, no) => {
                self.value(condition);
                self.nest(I::If(BlockType::Empty), NO_LABEL, 0, |writer| {
                    writer.statements(yes);
                    if !no.is_empty() {
                        writer.push(I::Else);
                        writer.statements(no);
                    }
                });
            }
            Stmt::Block(label, body) => {
                self.nest(I::Block(BlockType::Empty), *label, 0, |writer| writer.statements(body));
            }
            Stmt::Multi(multi) => self.multi(multi),
            Stmt::Switch(switch) => self.switch(switch),
            Stmt::Loop(lp) => self.counted(lp),
            Stmt::Break { label, when, values } => self.leave(*label, when.as_ref(), values),
            Stmt::Return(values) => {
                self.values(values);
                self.push(I::Return);
            }
        }
    }

    fn sink(&mut self, results: &[Option<u32>]) {
        for local in results.iter().rev() {
            self.push(local.map_or(I::Drop, I::LocalSet));
        }
    }

    fn leave(&mut self, label: Label, when: Option<&Expr>, values: &[Expr]) {
        let Some(depth) = self.targets.iter().rev().position(|target| target.label == label) else { return };
        let target = &self.targets[self.targets.len() - 1 - depth];
        if target.values != values.len() {
            return;
        }
        self.values(values);
        match when {
            None => self.push(I::Br(depth as u32)),
            Some(condition) => {
                self.value(condition);
                self.push(I::BrIf(depth as u32));
                values.iter().for_each(|_| self.push(I::Drop));
            }
        }
    }

    fn multi(&mut self, multi: &Multi) {
        let types = |all: &[(Expr, u32)]| -> Vec<ValType> { all.iter().map(|(value, _)| value.ty).collect() };
        let ty = self.types.block(&types(&multi.params), &types(&multi.results));
        multi.params.iter().for_each(|(value, _)| self.value(value));
        self.nest(I::Block(ty), multi.label, multi.results.len(), |writer| {
            multi.params.iter().rev().for_each(|(_, local)| writer.push(I::LocalSet(*local)));
            writer.statements(&multi.body);
            multi.results.iter().for_each(|(value, _)| writer.value(value));
        });
        multi.results.iter().rev().for_each(|(_, local)| self.push(I::LocalSet(*local)));
    }

    /// Blocks around each other, innermost the one whose end the first case stands behind.
    fn switch(&mut self, switch: &Switch) {
        let cases = switch.cases.len();
        if cases == 0 {
            return;
        }
        let unlabelled = || Target { label: NO_LABEL, values: 0 };
        for _ in 0..=cases {
            self.push(I::Block(BlockType::Empty));
            self.targets.push(unlabelled());
        }
        self.value(&switch.index);
        let mut targets: Vec<u32> = switch.targets.iter().map(|&case| case.min(cases as u32 - 1)).collect();
        let last = targets.pop().unwrap_or(0);
        self.push(I::BrTable(targets.into(), last));
        for (index, case) in switch.cases.iter().enumerate() {
            self.push(I::End);
            self.targets.pop();
            self.statements(case);
            if !switch.falls_through && index + 1 < cases {
                self.push(I::Br((cases - 1 - index) as u32));
            }
        }
        self.push(I::End);
        self.targets.pop();
    }

    fn counted(&mut self, lp: &Loop) {
        // A carried value must be there wherever a round ends, so the loop is not left by its condition.
        self.limit(lp);
        let carried: Vec<ValType> = lp.carried.iter().map(|(_, first, _)| first.ty).collect();
        let ty = self.types.block(&carried, &carried);
        let is_left = lp.form == LoopForm::While || breaks_to(&lp.body, lp.exit);
        match is_left && carried.is_empty() {
            true => self.nest(I::Block(BlockType::Empty), lp.exit, 0, |writer| writer.rounds(lp, ty)),
            false => self.rounds(lp, ty),
        }
    }

    fn rounds(&mut self, lp: &Loop, ty: BlockType) {
        lp.carried.iter().for_each(|(_, first, _)| self.value(first));
        self.nest(I::Loop(ty), NO_LABEL, lp.carried.len(), |writer| {
            lp.carried.iter().rev().for_each(|(local, _, _)| writer.push(I::LocalSet(*local)));
            let is_while = lp.form == LoopForm::While && lp.carried.is_empty();
            if is_while {
                writer.is_over(lp);
                writer.push(I::BrIf(1));
            }
            match breaks_to(&lp.body, lp.next) {
                true => {
                    writer.nest(I::Block(BlockType::Empty), lp.next, 0, |writer| writer.statements(&lp.body))
                }
                false => writer.statements(&lp.body),
            }
            lp.carried.iter().for_each(|(_, _, next)| writer.value(next));
            writer.count(lp);
            match is_while {
                true => writer.push(I::Br(0)),
                false => {
                    writer.goes_on(lp);
                    writer.push(I::BrIf(0));
                }
            }
        });
        lp.carried.iter().rev().for_each(|(local, _, _)| self.push(I::LocalSet(*local)));
    }

    /// The number of rounds: in the counter, which goes down, or in the local behind it.
    fn limit(&mut self, lp: &Loop) {
        match &lp.dynamic {
            // One round more, since a loop that asks at its end has one at least.
            Some((value, mask)) => {
                self.value(value);
                self.push(I::I32Const(*mask as i32));
                self.push(I::I32And);
                self.push(I::I32Const(1));
                self.push(I::I32Add);
            }
            None => self.push(I::I32Const(lp.rounds as i32)),
        }
        if lp.step > 1 {
            self.push(I::I32Const(lp.step as i32));
            self.push(I::I32Mul);
        }
        if lp.is_wide {
            self.push(I::I64ExtendI32U);
        }
        match lp.form {
            LoopForm::Down => self.push(I::LocalSet(lp.counter)),
            LoopForm::Up | LoopForm::While => {
                self.push(I::LocalSet(lp.counter + 1));
                self.number(lp, 0);
                self.push(I::LocalSet(lp.counter));
            }
        }
    }

    fn number(&mut self, lp: &Loop, number: u32) {
        self.push(match lp.is_wide {
            true => I::I64Const(i64::from(number)),
            false => I::I32Const(number as i32),
        });
    }

    fn count(&mut self, lp: &Loop) {
        self.push(I::LocalGet(lp.counter));
        self.number(lp, lp.step);
        self.push(match (lp.form == LoopForm::Down, lp.is_wide) {
            (true, true) => I::I64Sub,
            (true, false) => I::I32Sub,
            (false, true) => I::I64Add,
            (false, false) => I::I32Add,
        });
        self.push(I::LocalSet(lp.counter));
    }

    fn goes_on(&mut self, lp: &Loop) {
        self.push(I::LocalGet(lp.counter));
        if lp.form != LoopForm::Down {
            self.push(I::LocalGet(lp.counter + 1));
            return self.push(if lp.is_wide { I::I64LtU } else { I::I32LtU });
        }
        if lp.is_wide {
            self.push(I::I64Const(0));
            self.push(I::I64Ne);
        }
    }

    fn is_over(&mut self, lp: &Loop) {
        self.push(I::LocalGet(lp.counter));
        self.push(I::LocalGet(lp.counter + 1));
        self.push(if lp.is_wide { I::I64GeU } else { I::I32GeU });
    }
}

/// Whether anything in a body branches to a label.
fn breaks_to(body: &[Stmt], wanted: Label) -> bool {
    body.iter().any(|statement| match statement {
        Stmt::Do { args, .. } => args.iter().any(|arg| value_breaks_to(arg, wanted)),
        Stmt::Break { label, when, values } => {
            *label == wanted || when.iter().chain(values).any(|value| value_breaks_to(value, wanted))
        }
        Stmt::Return(values) => values.iter().any(|value| value_breaks_to(value, wanted)),
        Stmt::If(condition, yes, no) => {
            value_breaks_to(condition, wanted) || breaks_to(yes, wanted) || breaks_to(no, wanted)
        }
        Stmt::Block(_, body) => breaks_to(body, wanted),
        Stmt::Multi(multi) => {
            let mut values = multi.params.iter().chain(&multi.results);
            values.any(|(value, _)| value_breaks_to(value, wanted)) || breaks_to(&multi.body, wanted)
        }
        Stmt::Switch(switch) => {
            value_breaks_to(&switch.index, wanted) || switch.cases.iter().any(|case| breaks_to(case, wanted))
        }
        Stmt::Loop(lp) => {
            let mut values = lp.carried.iter().flat_map(|(_, first, next)| [first, next]);
            values.any(|value| value_breaks_to(value, wanted)) || breaks_to(&lp.body, wanted)
        }
    })
}

fn value_breaks_to(expr: &Expr, wanted: Label) -> bool {
    let valued =
        |valued: &Valued| breaks_to(&valued.before, wanted) || value_breaks_to(&valued.value, wanted);
    match &expr.kind {
        Kind::Op(_, args) => args.iter().any(|arg| value_breaks_to(arg, wanted)),
        Kind::If(condition, yes, no) => value_breaks_to(condition, wanted) || valued(yes) || valued(no),
        Kind::Block(_, inside) => valued(inside),
    }
}
