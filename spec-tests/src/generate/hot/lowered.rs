//! Hot programs in terms that the interpreter knows, which has neither objects nor exceptions nor typed references.
//!
//! References become numbers: null is 0, a small number is odd, others are names that the host gives. What is done with
//! objects is a call of the host, which keeps them in a list ([`heap`](crate::engines::heap)). A reference to a function
//! is its index in a table. An exception is an object of the host's, too: while it is under way its name is in a global,
//! and every call is followed by a test of that, and a branch to the handler around it or a return.
//! So the same tree becomes two modules that share no way to do any of this.

use std::fmt;
use std::sync::LazyLock;

use wasm_encoder::{HeapType, Instruction as I, RefType, ValType};

use super::managed::{
    ARRAY, ARRAYS, BYTES, EQ, INTS, LEAF, NODE, NODES, STRUCT, STRUCTS, Storage, TAGS, contents,
};
use super::{IMPORTS, PASSIVE};
use ValType::I32;

/// The module that helpers are imported from.
pub const MODULE: &str = "heap";
/// The global that holds the exception that is under way.
pub const PENDING: u32 = super::managed::ANY_GLOBAL + 1;
/// The name by which that is exported.
pub const PENDING_NAME: &str = "wprof.pending";
/// All functions: an element that is null, then each of them.
pub const ALL_FUNCTIONS: u32 = 2;

/// What the host is asked to do.
#[derive(Clone, Debug)]
pub enum Action {
    /// What an instruction does.
    Op(I<'static>),
    /// Makes an exception with this tag.
    NewException(u32),
    /// Tells an exception's tag.
    Tag,
    /// Tells a value that an exception carries: its tag, and which of them.
    Carried(u32, u32),
}

/// A host function.
#[derive(Clone, Debug)]
pub struct Helper {
    /// What it does.
    pub action: Action,
    /// The types of its parameters.
    pub params: Vec<ValType>,
    /// The type of its result, if there is one.
    pub result: Option<ValType>,
}

impl fmt::Display for Helper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.action)
    }
}

/// The type of the number that stands for a value of a type.
pub fn lower(ty: ValType) -> ValType {
    match ty {
        ValType::Ref(RefType::FUNCREF) => ty,
        ValType::Ref(_) => I32,
        other => other,
    }
}

/// All helpers, in the order in which they are imported.
pub static HELPERS: LazyLock<Vec<Helper>> = LazyLock::new(|| {
    let mut all = Vec::new();
    STRUCTS.into_iter().for_each(|ty| of_struct(&mut all, ty));
    ARRAYS.into_iter().for_each(|ty| of_array(&mut all, ty));
    let abstracts = [HeapType::I31, EQ, STRUCT, ARRAY];
    let concrete = [NODE, LEAF, INTS, BYTES, NODES].map(HeapType::Concrete);
    for heap_type in concrete.into_iter().chain(abstracts) {
        let ops = [I::RefTestNonNull(heap_type), I::RefTestNullable(heap_type)];
        let casts = [I::RefCastNonNull(heap_type), I::RefCastNullable(heap_type)];
        ops.into_iter().chain(casts).for_each(|op| add(&mut all, op, vec![I32], Some(I32)));
    }
    let unary = [I::ArrayLen, I::RefAsNonNull, I::I31GetS, I::I31GetU];
    unary.into_iter().for_each(|op| add(&mut all, op, vec![I32], Some(I32)));
    for (tag, carried) in (0..).zip(TAGS) {
        let params = carried.iter().map(|storage| lower(storage.unpacked()));
        all.push(Helper { action: Action::NewException(tag), params: params.collect(), result: Some(I32) });
        for (number, storage) in (0..).zip(carried) {
            let result = Some(lower(storage.unpacked()));
            all.push(Helper { action: Action::Carried(tag, number), params: vec![I32], result });
        }
    }
    all.push(Helper { action: Action::Tag, params: vec![I32], result: Some(I32) });
    all
});

fn add(all: &mut Vec<Helper>, op: I<'static>, params: Vec<ValType>, result: Option<ValType>) {
    all.push(Helper { action: Action::Op(op), params, result });
}

fn of_struct(all: &mut Vec<Helper>, struct_type_index: u32) {
    let fields: Vec<ValType> =
        contents(struct_type_index).iter().map(|field| lower(field.unpacked())).collect();
    for (field_index, &storage) in (0..).zip(contents(struct_type_index)) {
        let ty = fields[field_index as usize];
        let gets = match storage {
            Storage::I8 => vec![
                I::StructGetS { struct_type_index, field_index },
                I::StructGetU { struct_type_index, field_index },
            ],
            _ => vec![I::StructGet { struct_type_index, field_index }],
        };
        gets.into_iter().for_each(|op| add(all, op, vec![I32], Some(ty)));
        add(all, I::StructSet { struct_type_index, field_index }, vec![I32, ty], None);
    }
    add(all, I::StructNew(struct_type_index), fields, Some(I32));
    add(all, I::StructNewDefault(struct_type_index), Vec::new(), Some(I32));
}

fn of_array(all: &mut Vec<Helper>, ty: u32) {
    let element = lower(contents(ty)[0].unpacked());
    let gets = match contents(ty)[0] {
        Storage::I8 => vec![I::ArrayGetS(ty), I::ArrayGetU(ty)],
        _ => vec![I::ArrayGet(ty)],
    };
    gets.into_iter().for_each(|op| add(all, op, vec![I32, I32], Some(element)));
    add(all, I::ArraySet(ty), vec![I32, I32, element], None);
    add(all, I::ArrayNew(ty), vec![element, I32], Some(I32));
    add(all, I::ArrayNewDefault(ty), vec![I32], Some(I32));
    let fixed = I::ArrayNewFixed { array_type_index: ty, array_size: 3 };
    add(all, fixed, vec![element; 3], Some(I32));
    add(all, I::ArrayFill(ty), vec![I32, I32, element, I32], None);
    let copy = I::ArrayCopy { array_type_index_dst: ty, array_type_index_src: ty };
    add(all, copy, vec![I32; 5], None);
    if contents(ty)[0] != Storage::Node {
        let data = I::ArrayNewData { array_type_index: ty, array_data_index: PASSIVE };
        add(all, data, vec![I32, I32], Some(I32));
    }
}

/// The helper that does something, as a function's index; `None` if no helper is needed.
pub fn helper(action: &Action) -> Option<u32> {
    let name = format!("{action:?}");
    let at = HELPERS.iter().position(|helper| helper.to_string() == name)?;
    Some((IMPORTS.len() + at) as u32)
}

/// A function's index behind the helpers.
pub fn shifted(func: u32) -> u32 {
    let is_import = (func as usize) < IMPORTS.len();
    func + if is_import { 0 } else { HELPERS.len() as u32 }
}

/// Its element in the table of all functions.
pub fn element(func: u32) -> i32 {
    (func as usize - IMPORTS.len() + 1) as i32
}
