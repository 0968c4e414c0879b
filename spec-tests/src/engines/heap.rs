//! The objects and exceptions of [lowered](crate::generate::hot::lowered) hot programs: a list that the interpreter's
//! host keeps.

use wasm_encoder::{HeapType, Instruction as I};

use crate::generate::hot::data_bytes;
use crate::generate::hot::lowered::Action;
use crate::generate::hot::managed::{ARRAY, EQ, LEAF, NODE, STRUCT, STRUCTS, Storage, TAGS, contents};
use crate::outcome::{Trap, Value};

/// Objects by name: the k-th object has the name 8 (k + 1). Objects are never freed.
#[derive(Debug, Default)]
pub struct Heap {
    objects: Vec<Object>,
}

#[derive(Debug)]
struct Object {
    kind: Kind,
    contents: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Of(u32),
    Exception(u32),
}

/// Returns the initial value of a field or element.
fn zero(storage: Storage) -> Value {
    match storage {
        Storage::I8 | Storage::I32 | Storage::Node => Value::I32(0),
        Storage::I64 => Value::I64(0),
        Storage::F32 => Value::F32(0),
        Storage::F64 => Value::F64(0),
    }
}

fn packed(storage: Storage, value: Value) -> Value {
    match (storage, value) {
        (Storage::I8, Value::I32(number)) => Value::I32(number & 0xff),
        _ => value,
    }
}

fn sign_extended(value: Value) -> Value {
    match value {
        Value::I32(number) => Value::I32(i32::from(number as i8)),
        other => other,
    }
}

fn number(value: Value) -> u32 {
    match value {
        Value::I32(number) => number as u32,
        other => unreachable!("{other:?} is no reference, index or length"),
    }
}

impl Heap {
    /// Performs the action of a helper.
    ///
    /// # Errors
    /// Returns the trap if the instruction traps.
    pub fn act(&mut self, action: &Action, args: &[Value]) -> Result<Option<Value>, Trap> {
        match *action {
            Action::Op(ref op) => self.op(op, args),
            Action::NewException(tag) => Ok(Some(self.add(Kind::Exception(tag), args.to_vec()))),
            Action::Atomic(_) => unreachable!("it works on a memory"),
            Action::Tag => match self.object(args[0])?.kind {
                Kind::Exception(tag) => Ok(Some(Value::I32(tag as i32))),
                Kind::Of(_) => unreachable!("no object is under way"),
            },
            Action::Carried(tag, at) => {
                let object = self.object(args[0])?;
                assert_eq!(object.kind, Kind::Exception(tag));
                assert_eq!(object.contents.len(), TAGS[tag as usize].len());
                Ok(Some(object.contents[at as usize]))
            }
        }
    }

    fn op(&mut self, op: &I<'static>, args: &[Value]) -> Result<Option<Value>, Trap> {
        let result = match *op {
            I::StructNew(ty) => {
                let fields = contents(ty).iter().zip(args).map(|(&field, &value)| packed(field, value));
                let fields = fields.collect();
                self.add(Kind::Of(ty), fields)
            }
            I::StructNewDefault(ty) => {
                self.add(Kind::Of(ty), contents(ty).iter().map(|&field| zero(field)).collect())
            }
            I::StructGet { field_index, .. } | I::StructGetU { field_index, .. } => {
                self.object(args[0])?.contents[field_index as usize]
            }
            I::StructGetS { field_index, .. } => {
                sign_extended(self.object(args[0])?.contents[field_index as usize])
            }
            I::StructSet { struct_type_index, field_index } => {
                let value = packed(contents(struct_type_index)[field_index as usize], args[1]);
                self.object_mut(args[0])?.contents[field_index as usize] = value;
                return Ok(None);
            }
            I::RefTestNonNull(ty) => Value::I32(i32::from(self.is(args[0], ty, false))),
            I::RefTestNullable(ty) => Value::I32(i32::from(self.is(args[0], ty, true))),
            I::RefCastNonNull(ty) if self.is(args[0], ty, false) => args[0],
            I::RefCastNullable(ty) if self.is(args[0], ty, true) => args[0],
            I::RefCastNonNull(_) | I::RefCastNullable(_) => return Err(Trap::CastFailure),
            I::RefAsNonNull | I::I31GetS | I::I31GetU if args[0] == Value::I32(0) => {
                return Err(Trap::NullReference);
            }
            I::RefAsNonNull => args[0],
            I::I31GetS => Value::I32(number(args[0]) as i32 >> 1),
            I::I31GetU => Value::I32((number(args[0]) >> 1) as i32),
            _ => return self.array(op, args),
        };
        Ok(Some(result))
    }

    fn array(&mut self, op: &I<'static>, args: &[Value]) -> Result<Option<Value>, Trap> {
        let result = match *op {
            I::ArrayNew(ty) => {
                let element = packed(contents(ty)[0], args[0]);
                self.add(Kind::Of(ty), vec![element; number(args[1]) as usize])
            }
            I::ArrayNewDefault(ty) => {
                self.add(Kind::Of(ty), vec![zero(contents(ty)[0]); number(args[0]) as usize])
            }
            I::ArrayNewFixed { array_type_index, .. } => {
                let storage = contents(array_type_index)[0];
                let elements = args.iter().map(|&value| packed(storage, value)).collect();
                self.add(Kind::Of(array_type_index), elements)
            }
            I::ArrayNewData { array_type_index, .. } => {
                let elements = from_data(contents(array_type_index)[0], number(args[0]), number(args[1]));
                self.add(Kind::Of(array_type_index), elements)
            }
            I::ArrayLen => Value::I32(self.object(args[0])?.contents.len() as i32),
            I::ArrayGet(_) | I::ArrayGetU(_) => self.element(args)?,
            I::ArrayGetS(_) => sign_extended(self.element(args)?),
            I::ArraySet(ty) => {
                self.elements(args[0], args[1], 1)?[0] = packed(contents(ty)[0], args[2]);
                return Ok(None);
            }
            I::ArrayFill(ty) => {
                self.elements(args[0], args[1], number(args[3]))?.fill(packed(contents(ty)[0], args[2]));
                return Ok(None);
            }
            I::ArrayCopy { .. } => {
                // Null is found before an index out of bounds, whichever operand is null.
                self.object(args[0])?;
                self.object(args[2])?;
                self.elements(args[0], args[1], number(args[4]))?;
                let copied = self.elements(args[2], args[3], number(args[4]))?.to_vec();
                self.elements(args[0], args[1], number(args[4]))?.copy_from_slice(&copied);
                return Ok(None);
            }
            ref other => unreachable!("no helper is for {other:?}"),
        };
        Ok(Some(result))
    }

    fn add(&mut self, kind: Kind, contents: Vec<Value>) -> Value {
        self.objects.push(Object { kind, contents });
        Value::I32(8 * self.objects.len() as i32)
    }

    fn at(name: Value) -> Result<usize, Trap> {
        (number(name) as usize / 8).checked_sub(1).ok_or(Trap::NullReference)
    }

    fn object(&self, name: Value) -> Result<&Object, Trap> {
        Ok(&self.objects[Heap::at(name)?])
    }

    fn object_mut(&mut self, name: Value) -> Result<&mut Object, Trap> {
        Ok(&mut self.objects[Heap::at(name)?])
    }

    fn element(&mut self, args: &[Value]) -> Result<Value, Trap> {
        Ok(self.elements(args[0], args[1], 1)?[0])
    }

    fn elements(&mut self, name: Value, from: Value, count: u32) -> Result<&mut [Value], Trap> {
        let all = &mut self.object_mut(name)?.contents;
        let (from, count) = (number(from) as usize, count as usize);
        all.get_mut(from..from + count).ok_or(Trap::ArrayOutOfBounds)
    }

    fn is(&self, name: Value, ty: HeapType, or_null: bool) -> bool {
        let word = number(name);
        if word == 0 || word & 1 == 1 {
            return if word == 0 { or_null } else { ty == HeapType::I31 || ty == EQ };
        }
        let Kind::Of(own) = self.objects[word as usize / 8 - 1].kind else { return false };
        match ty {
            HeapType::Concrete(wanted) => own == wanted || (own, wanted) == (LEAF, NODE),
            STRUCT => STRUCTS.contains(&own),
            ARRAY => !STRUCTS.contains(&own),
            _ => ty == EQ,
        }
    }
}

fn from_data(storage: Storage, from: u32, count: u32) -> Vec<Value> {
    let size = if storage == Storage::I8 { 1 } else { 4 };
    let bytes = data_bytes();
    let element = |at: usize| {
        let start = from as usize + at * size;
        let mut word = [0; 4];
        word[..size].copy_from_slice(&bytes[start..start + size]);
        Value::I32(i32::from_le_bytes(word))
    };
    (0..count as usize).map(element).collect()
}
