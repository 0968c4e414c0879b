//! Statements and expressions of hot programs with objects, exceptions and typed references.
//!
//! References are mostly tested before use, and indices are within bounds of arrays, which have at least one element:
//! traps come late, like other traps. Exceptions are thrown now and then, also by leaves, and the hottest loops catch
//! them.

use wasm_encoder::{HeapType, Instruction as I, ValType};

use super::body::Body;
use super::managed::{
    ANY_GLOBAL, ANYREF, ARRAY, ARRAYS, BYTES, EQ, I31REF, INTS, LEAF, NODE, NODE_GLOBAL, NODES, STRUCT,
    Storage, TAGS, carried, contents, reference,
};
use super::tree::{Expr, Handler, Kind, Stmt, Test, Try, Valued};
use super::write::func;
use super::{PASSIVE, Role, SIGNATURES, Shape};
use ValType::{F32, F64, I32, I64};

/// Returns the types of the locals for references that any code may read and write.
pub fn locals(shape: &Shape) -> Vec<ValType> {
    let objects = [NODE, NODE, NODE, LEAF, INTS, INTS, BYTES, NODES].map(reference);
    let functions = shape.indirect.map(reference);
    objects.into_iter().chain([ANYREF, ANYREF, I31REF]).chain(functions).collect()
}

/// Wraps a value that needs no statements.
fn at_hand(value: Expr) -> Box<Valued> {
    Box::new(Valued { before: Vec::new(), value })
}

/// Returns one of two references.
fn either(condition: Expr, yes: Expr, no: Expr) -> Expr {
    Expr { ty: yes.ty, kind: Kind::If(Box::new(condition), at_hand(yes), at_hand(no)) }
}

/// Returns a test whether a local is null.
fn is_null(ty: ValType, local: u32) -> Expr {
    Expr::op(I32, I::RefIsNull, vec![Expr::local(ty, local)])
}

impl Body<'_> {
    /// Returns statements that use objects, exceptions or typed references.
    pub fn managed(&mut self, depth: usize) -> Vec<Stmt> {
        self.spend(6);
        match self.rng.below(20) {
            0..=3 => vec![self.new_object()],
            4 => vec![self.link()],
            5..=7 => vec![self.write_field()],
            8..=9 => vec![self.write_element()],
            10 => vec![self.bulk_of_array()],
            11..=12 => vec![self.cast(depth)],
            13 => vec![self.keep_any()],
            14 => self.call_reference(),
            15..=16 => {
                let body = self.statements(depth, 3);
                vec![self.guarded(body)]
            }
            _ => vec![self.seldom_thrown()],
        }
    }

    /// Returns a nullable reference of a type that some local holds.
    fn held(&mut self, ty: u32) -> Expr {
        Expr::local(reference(ty), self.local(reference(ty)))
    }

    fn node(&mut self) -> Expr {
        match self.rng.below(6) {
            0 => Expr::op(reference(NODE), I::GlobalGet(NODE_GLOBAL), Vec::new()),
            1 => Expr::zero(reference(NODE)),
            2 => Expr { ty: reference(NODE), ..self.held(LEAF) },
            _ => self.held(NODE),
        }
    }

    /// Returns a value for a field.
    fn stored(&mut self, storage: Storage) -> Expr {
        match storage {
            Storage::Node => self.linked(),
            other => self.expr(other.unpacked(), 1),
        }
    }

    /// Returns a node for a field. Lists do not grow with the iterations of a loop, because now and then one is cut.
    fn linked(&mut self) -> Expr {
        if self.loops.is_empty() && self.rng.chance(50) {
            return Expr::zero(reference(NODE));
        }
        let varying = self.varying();
        let ends = Expr::op(I32, I::I32And, vec![varying, Expr::i32(self.rng.pick(&[8, 16, 24]))]);
        let node = self.node();
        either(ends, node, Expr::zero(reference(NODE)))
    }

    fn new_object(&mut self) -> Stmt {
        let ty = self.rng.pick(&[NODE, NODE, NODE, LEAF, LEAF, INTS, BYTES, NODES]);
        let made = match ty {
            NODE | LEAF if self.rng.chance(10) => {
                Expr::op(reference(ty), I::StructNewDefault(ty), Vec::new())
            }
            NODE | LEAF => {
                let fields = contents(ty).iter().map(|&storage| self.stored(storage)).collect();
                Expr::op(reference(ty), I::StructNew(ty), fields)
            }
            _ => self.new_array(ty),
        };
        let to = if ty == LEAF && self.rng.chance(50) { NODE } else { ty };
        Stmt::set(self.local(reference(to)), made)
    }

    /// Returns a new array of at least one element.
    fn new_array(&mut self, ty: u32) -> Expr {
        let storage = contents(ty)[0];
        let mask = self.rng.pick(&[3, 15, 63]);
        let any = self.expr(I32, 1);
        let some = Expr::op(I32, I::I32And, vec![any, Expr::i32(mask)]);
        let length = Expr::op(I32, I::I32Or, vec![some, Expr::i32(1)]);
        self.spend(mask as u64 / 4);
        let (op, args) = match self.rng.below(4) {
            0 => (I::ArrayNewDefault(ty), vec![length]),
            1 => {
                let elements = (0..3).map(|_| self.stored(storage)).collect();
                (I::ArrayNewFixed { array_type_index: ty, array_size: 3 }, elements)
            }
            2 if storage != Storage::Node => {
                let from = Expr::i32(self.rng.below(64) as i32);
                let length = Expr::i32(1 + self.rng.below(15) as i32);
                (I::ArrayNewData { array_type_index: ty, array_data_index: PASSIVE }, vec![from, length])
            }
            _ => (I::ArrayNew(ty), vec![self.stored(storage), length]),
        };
        Expr::op(reference(ty), op, args)
    }

    /// Returns a statement that follows a list, or stores a node in the global.
    fn link(&mut self) -> Stmt {
        let (from, to) = (self.local(reference(NODE)), self.local(reference(NODE)));
        if self.rng.chance(30) {
            return Stmt::act(I::GlobalSet(NODE_GLOBAL), vec![self.held(NODE)]);
        }
        let get = I::StructGet { struct_type_index: NODE, field_index: 4 };
        let next = Expr::op(reference(NODE), get, vec![Expr::local(reference(NODE), from)]);
        Stmt::set(to, either(is_null(reference(NODE), from), Expr::zero(reference(NODE)), next))
    }

    /// Returns a statement on the reference in a local, unless it is null.
    fn unless_null(&mut self, ty: u32, act: impl FnOnce(&mut Self, Expr) -> Stmt) -> Stmt {
        let value = self.held(ty);
        let local = self.local(reference(ty));
        let held = Expr::local(reference(ty), local);
        let no = if self.rng.chance(25) { vec![self.new_object()] } else { Vec::new() };
        let negated = self.rng.chance(50);
        let yes = vec![act(self, held)];
        Stmt::Test(Box::new(Test { value, wanted: None, negated, local, yes, no }))
    }

    fn write_field(&mut self) -> Stmt {
        let struct_type_index = self.rng.pick(&[NODE, NODE, LEAF]);
        let fields = contents(struct_type_index);
        let field_index = self.rng.below(fields.len()) as u32;
        let value = self.stored(fields[field_index as usize]);
        self.unless_null(struct_type_index, |_, held| {
            Stmt::act(I::StructSet { struct_type_index, field_index }, vec![held, value])
        })
    }

    /// Returns an index within the bounds of an array.
    fn index_within(&mut self, array: &Expr) -> Expr {
        let any = self.leaf_number();
        let length = Expr::op(I32, I::ArrayLen, vec![array.clone()]);
        Expr::op(I32, I::I32RemU, vec![any, length])
    }

    /// Returns an i32 that reads no object, so that earlier tests of objects still hold.
    fn leaf_number(&mut self) -> Expr {
        match self.rng.chance(60) {
            true => self.counter(I32),
            false => Expr::local(I32, self.local(I32)),
        }
    }

    fn write_element(&mut self) -> Stmt {
        let ty = self.rng.pick(&ARRAYS);
        let value = self.stored(contents(ty)[0]);
        self.unless_null(ty, |body, held| {
            let index = body.index_within(&held);
            Stmt::act(I::ArraySet(ty), vec![held, index, value])
        })
    }

    fn bulk_of_array(&mut self) -> Stmt {
        let ty = self.rng.pick(&ARRAYS);
        self.spend(16);
        let value = self.stored(contents(ty)[0]);
        self.unless_null(ty, |body, held| {
            let length = Expr::op(I32, I::ArrayLen, vec![held.clone()]);
            if body.rng.chance(50) {
                return Stmt::act(I::ArrayFill(ty), vec![held, Expr::i32(0), value, length]);
            }
            // Copies all elements but the first, one position forward or back.
            let count = Expr::op(I32, I::I32Sub, vec![length, Expr::i32(1)]);
            let [to, from] = body.rng.pick(&[[0, 1], [1, 0]]).map(Expr::i32);
            let copy = I::ArrayCopy { array_type_index_dst: ty, array_type_index_src: ty };
            Stmt::act(copy, vec![held.clone(), to, held, from, count])
        })
    }

    /// Returns a reference to any object.
    fn any(&mut self) -> Expr {
        let any = |value: Expr| Expr { ty: ANYREF, ..value };
        match self.rng.below(8) {
            0 => any(self.held(INTS)),
            1 => any(self.held(BYTES)),
            2 => any(self.held(LEAF)),
            3 => any(Expr::local(I31REF, self.local(I31REF))),
            4 => {
                let number = self.leaf(I32);
                Expr::op(ANYREF, I::RefI31, vec![number])
            }
            5 => Expr::op(ANYREF, I::GlobalGet(ANY_GLOBAL), Vec::new()),
            6 => Expr::local(ANYREF, self.local(ANYREF)),
            _ => any(self.held(NODE)),
        }
    }

    fn keep_any(&mut self) -> Stmt {
        let value = self.any();
        match self.rng.below(4) {
            0 => Stmt::act(I::GlobalSet(ANY_GLOBAL), vec![value]),
            1 => {
                let number = self.leaf(I32);
                Stmt::set(self.local(I31REF), Expr::op(I31REF, I::RefI31, vec![number]))
            }
            _ => Stmt::set(self.local(ANYREF), value),
        }
    }

    /// Returns a branch on the type of a reference.
    fn cast(&mut self, depth: usize) -> Stmt {
        let wanted = self.rng.pick(&[NODE, LEAF, INTS, BYTES]);
        let value = self.any();
        let is_small = self.rng.chance(20);
        let (wanted, local) = match is_small {
            true => (HeapType::I31, self.local(I31REF)),
            false => (HeapType::Concrete(wanted), self.local(reference(wanted))),
        };
        let negated = self.rng.chance(50);
        let mut yes = self.statements(depth, 2);
        if is_small {
            let op = self.rng.pick(&[true, false]);
            let op = if op { I::I31GetS } else { I::I31GetU };
            let number = Expr::op(I32, op, vec![Expr::local(I31REF, local)]);
            yes.insert(0, Stmt::set(self.local(I32), number));
        }
        let no = self.statements(depth, 2);
        Stmt::Test(Box::new(Test { value, wanted: Some(wanted), negated, local, yes, no }))
    }

    /// Returns a number read from an object; `None` for types that no field has.
    pub fn of_object(&mut self, ty: ValType) -> Option<Expr> {
        if ty == I32 && self.rng.chance(50) {
            return Some(self.told_of_references());
        }
        let of_type = |storage: &Storage| storage.unpacked() == ty;
        let struct_type_index = if ty == F32 { LEAF } else { self.rng.pick(&[NODE, NODE, LEAF]) };
        let fields = contents(struct_type_index);
        let at: Vec<usize> = (0..fields.len()).filter(|&at| of_type(&fields[at])).collect();
        if !matches!(ty, I32 | I64 | F32 | F64) {
            return None;
        }
        self.spend(4);
        let at = self.rng.pick(&at);
        let field_index = at as u32;
        let get = match (fields[at], self.rng.chance(50)) {
            (Storage::I8, true) => I::StructGetS { struct_type_index, field_index },
            (Storage::I8, false) => I::StructGetU { struct_type_index, field_index },
            _ => I::StructGet { struct_type_index, field_index },
        };
        let own = reference(struct_type_index);
        let local = self.local(own);
        let value = Expr::op(ty, get, vec![Expr::local(own, local)]);
        Some(either(is_null(own, local), Expr::zero(ty), value))
    }

    fn told_of_references(&mut self) -> Expr {
        self.spend(4);
        match self.rng.below(4) {
            0 => {
                let heap_type = self.rng.pick(&[HeapType::Concrete(LEAF), HeapType::I31, EQ, STRUCT, ARRAY]);
                let nullable = self.rng.chance(30);
                let op = if nullable { I::RefTestNullable(heap_type) } else { I::RefTestNonNull(heap_type) };
                let value = self.any();
                Expr::op(I32, op, vec![value])
            }
            1 => {
                let sides = vec![self.node(), self.node()];
                Expr::op(I32, I::RefEq, sides)
            }
            2 => {
                let ty = self.rng.pick(&ARRAYS);
                let local = self.local(reference(ty));
                let length = Expr::op(I32, I::ArrayLen, vec![Expr::local(reference(ty), local)]);
                either(is_null(reference(ty), local), Expr::i32(0), length)
            }
            _ => {
                let ty = self.rng.pick(&[INTS, INTS, BYTES]);
                let local = self.local(reference(ty));
                let array = Expr::local(reference(ty), local);
                let index = self.index_within(&array);
                let op = match self.rng.below(2) {
                    _ if ty == INTS => I::ArrayGet(ty),
                    0 => I::ArrayGetS(ty),
                    _ => I::ArrayGetU(ty),
                };
                let element = Expr::op(I32, op, vec![array, index]);
                either(is_null(reference(ty), local), Expr::i32(1), element)
            }
        }
    }

    /// Returns statements that call a function which the phase of the program selects.
    fn call_reference(&mut self) -> Vec<Stmt> {
        let signature = self.rng.pick(&self.shape.indirect);
        if !self.can_spend(self.shape.leaf_cost) || self.is_leaf() {
            return vec![self.new_object()];
        }
        self.spend(self.shape.leaf_cost);
        let ty = reference(signature);
        let leaves = self.shape.of_signature(signature);
        let some = |body: &mut Self| Expr::op(ty, I::RefFunc(func(body.rng.pick(&leaves))), Vec::new());
        let (usual, later) = (some(self), some(self));
        let early = self.is_early();
        let local = self.local(ty);
        let choose = Stmt::set(local, either(early, usual, later));
        let (params, results) = SIGNATURES[signature as usize];
        let mut args = self.arguments(params, 1);
        args.push(Expr::local(ty, local));
        let results = results.iter().map(|&ty| self.rng.chance(85).then(|| self.local(ty))).collect();
        vec![choose, Stmt::Do { op: I::CallRef(signature), args, results }]
    }

    /// Returns statements with handlers for the exceptions that they throw.
    pub fn guarded(&mut self, body: Vec<Stmt>) -> Stmt {
        let label = self.new_label();
        let tags = self.rng.below(3);
        let mut handlers: Vec<Handler> = (0..tags).map(|_| self.handler()).collect();
        if self.rng.chance(75) {
            let body = vec![self.new_object()];
            handlers.push(Handler { tag: None, locals: Vec::new(), body, again: self.again() });
        }
        Stmt::Try(Box::new(Try { label, body, handlers }))
    }

    fn handler(&mut self) -> Handler {
        let tag = self.rng.below(TAGS.len()) as u32;
        let locals = carried(tag).into_iter().map(|ty| self.local(ty)).collect();
        self.spend(4);
        let body = self.statements(1, 2);
        Handler { tag: Some(tag), locals, body, again: self.again() }
    }

    /// Returns, for some handlers, the rare condition under which they rethrow the exception.
    fn again(&mut self) -> Option<(Expr, u32)> {
        if !self.rng.chance(20) {
            return None;
        }
        let when = self.seldom();
        Some((when, self.own_local(ValType::EXNREF)))
    }

    fn seldom(&mut self) -> Expr {
        let mask = self.rng.pick(&[7, 15, 63]);
        let varying = self.varying();
        let some = Expr::op(I32, I::I32And, vec![varying, Expr::i32(mask)]);
        // A counter with a step of eight meets few values of the mask, but zero is among them.
        let number = if self.rng.chance(50) { 0 } else { self.rng.below(mask as usize) as i32 };
        Expr::op(I32, I::I32Eq, vec![some, Expr::i32(number)])
    }

    /// Returns a number that changes each time that control reaches this point: a counter or a parameter.
    fn varying(&mut self) -> Expr {
        let first = || Expr::local(self.params()[0], 0);
        match self.params()[0] {
            _ if !self.loops.is_empty() => self.counter(I32),
            I32 => first(),
            I64 => Expr::op(I32, I::I32WrapI64, vec![first()]),
            _ => self.expr(I32, 2),
        }
    }

    fn thrown(&mut self) -> Stmt {
        let tag = self.rng.below(TAGS.len()) as u32;
        let values = TAGS[tag as usize].iter().map(|&storage| self.stored(storage)).collect();
        Stmt::Throw(tag, values)
    }

    /// Returns a statement that throws now and then.
    pub fn seldom_thrown(&mut self) -> Stmt {
        // Where nothing catches the exception, the program would soon be over.
        if self.role == Role::Main && self.loops.is_empty() {
            return self.new_object();
        }
        let seldom = self.seldom();
        let thrown = self.thrown();
        Stmt::If(seldom, vec![thrown], Vec::new())
    }

    /// Returns a statement on a reference that traps, or that throws an exception nobody may catch.
    pub fn bad_reference(&mut self) -> Stmt {
        let local = self.local(I32);
        match self.rng.below(6) {
            0 => {
                let get = I::StructGet { struct_type_index: NODE, field_index: 0 };
                Stmt::set(local, Expr::op(I32, get, vec![Expr::zero(reference(NODE))]))
            }
            1 => {
                let value = self.any();
                let cast =
                    Expr::op(reference(BYTES), I::RefCastNonNull(HeapType::Concrete(BYTES)), vec![value]);
                Stmt::set(local, Expr::op(I32, I::ArrayLen, vec![cast]))
            }
            2 => {
                let array = self.new_array(INTS);
                Stmt::set(local, Expr::op(I32, I::ArrayGet(INTS), vec![array, Expr::i32(-1)]))
            }
            3 => {
                let array = self.new_array(NODES);
                Stmt::act(I::ArrayFill(NODES), vec![array, Expr::i32(1), self.node(), Expr::i32(100)])
            }
            4 => {
                let null = Expr::op(I31REF, I::RefNull(HeapType::I31), Vec::new());
                Stmt::set(local, Expr::op(I32, I::I31GetU, vec![null]))
            }
            _ => self.thrown(),
        }
    }
}
