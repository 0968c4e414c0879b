//! Calls between components of random types, with random and hostile values.
//!
//! A component has two others, one of which calls the other when `run` is called. `digest-a` and `digest-b` return a
//! hash of the memories of the two, in which is what was passed, and what their allocators were asked for.

use crate::rng::Rng;

/// A type of the component model.
enum Ty {
    /// Its name, bytes and core type.
    Scalar(&'static str, usize, char),
    Char,
    Text,
    List(Box<Ty>),
    /// How it is written, and the fields.
    Fields(String, Vec<Ty>),
    Cases(String, Vec<Option<Ty>>),
    Flags(String, usize),
}

const SCALARS: [Ty; 11] = [
    Ty::Scalar("bool", 1, 'i'),
    Ty::Scalar("s8", 1, 'i'),
    Ty::Scalar("u8", 1, 'i'),
    Ty::Scalar("s16", 2, 'i'),
    Ty::Scalar("u16", 2, 'i'),
    Ty::Scalar("s32", 4, 'i'),
    Ty::Scalar("u32", 4, 'i'),
    Ty::Scalar("s64", 8, 'I'),
    Ty::Scalar("u64", 8, 'I'),
    Ty::Scalar("f32", 4, 'f'),
    Ty::Scalar("f64", 8, 'F'),
];

impl Ty {
    fn text(&self) -> String {
        match self {
            Ty::Scalar(name, ..) => (*name).to_owned(),
            Ty::Char => "char".to_owned(),
            Ty::Text => "string".to_owned(),
            Ty::List(element) => format!("(list {})", element.text()),
            Ty::Fields(text, _) | Ty::Cases(text, _) | Ty::Flags(text, _) => text.clone(),
        }
    }

    /// Its size and alignment.
    fn layout(&self) -> (usize, usize) {
        match self {
            Ty::Scalar(_, size, _) => (*size, *size),
            Ty::Char => (4, 4),
            Ty::Text | Ty::List(_) => (8, 4),
            Ty::Flags(_, count) => [(1, 1), (2, 2), (4, 4)][count.div_ceil(8).min(3) - 1],
            Ty::Fields(_, fields) => {
                let (end, align) = fields.iter().fold((0_usize, 1), |(end, align), ty| {
                    let (size, of) = ty.layout();
                    (end.next_multiple_of(of) + size, align.max(of))
                });
                (end.next_multiple_of(align), align)
            }
            Ty::Cases(_, cases) => {
                let held = cases.iter().flatten().map(Ty::layout);
                let align = held.clone().map(|(_, align)| align).max().unwrap_or(1);
                let end = 1_usize.next_multiple_of(align) + held.map(|(size, _)| size).max().unwrap_or(0);
                (end.next_multiple_of(align), align)
            }
        }
    }

    fn flat(&self) -> Vec<char> {
        match self {
            Ty::Scalar(.., core) => vec![*core],
            Ty::Char | Ty::Flags(..) => vec!['i'],
            Ty::Text | Ty::List(_) => vec!['i', 'i'],
            Ty::Fields(_, fields) => fields.iter().flat_map(Ty::flat).collect(),
            Ty::Cases(_, cases) => {
                let mut joined: Vec<char> = Vec::new();
                for flat in cases.iter().flatten().map(Ty::flat) {
                    for (index, core) in flat.into_iter().enumerate() {
                        match joined.get_mut(index) {
                            None => joined.push(core),
                            Some(known) if *known == core => {}
                            Some(known) if "if".contains(*known) && "if".contains(core) => *known = 'i',
                            Some(known) => *known = 'I',
                        }
                    }
                }
                [vec!['i'], joined].concat()
            }
        }
    }
}

/// What makes a component: names of types with their definitions, and random numbers.
struct Maker {
    random: Rng,
    named: Vec<String>,
    /// One value in so many is none.
    evil: usize,
}

impl Maker {
    fn evil(&mut self) -> bool {
        self.evil != 0 && self.random.below(self.evil) == 0
    }

    fn name(&mut self, definition: String) -> String {
        self.named.push(definition);
        format!("$n{}", self.named.len() - 1)
    }

    fn types(&mut self, most: usize, depth: usize) -> Vec<Ty> {
        (0..=self.random.below(most)).map(|_| self.ty(depth)).collect()
    }

    fn ty(&mut self, depth: usize) -> Ty {
        let kind = self.random.below(if depth == 0 { 8 } else { 17 });
        match kind {
            0..=4 => {
                let Ty::Scalar(name, size, core) = SCALARS[self.random.below(11)] else { unreachable!() };
                Ty::Scalar(name, size, core)
            }
            5 => Ty::Char,
            6 | 8 => Ty::Text,
            7 => {
                let count = 1 + self.random.below(32);
                let names: String = (0..count).map(|i| format!(" \"f{i}\"")).collect();
                Ty::Flags(self.name(format!("(flags{names})")), count)
            }
            9 | 10 => Ty::List(Box::new(self.ty(depth - 1))),
            11 => {
                let fields = self.types(4, depth - 1);
                Ty::Fields(format!("(tuple {})", texts(&fields)), fields)
            }
            12 => {
                let fields = self.types(4, depth - 1);
                let text = fields.iter().enumerate().map(|(i, ty)| format!("(field \"f{i}\" {})", ty.text()));
                Ty::Fields(self.name(format!("(record {})", text.collect::<String>())), fields)
            }
            13 => {
                let count = 1 + self.random.below(4);
                let names: String = (0..count).map(|i| format!(" \"e{i}\"")).collect();
                Ty::Cases(self.name(format!("(enum{names})")), (0..count).map(|_| None).collect())
            }
            14 => {
                let held = self.ty(depth - 1);
                Ty::Cases(format!("(option {})", held.text()), vec![None, Some(held)])
            }
            15 => {
                let (ok, err) = (self.ty(depth - 1), self.ty(depth - 1));
                Ty::Cases(format!("(result {} (error {}))", ok.text(), err.text()), vec![Some(ok), Some(err)])
            }
            _ => {
                let count = 1 + self.random.below(5);
                let cases: Vec<Option<Ty>> =
                    (0..count).map(|_| (self.random.below(4) > 0).then(|| self.ty(depth - 1))).collect();
                let text = cases.iter().enumerate().map(|(i, ty)| {
                    format!("(case \"c{i}\" {})", ty.as_ref().map_or_else(String::new, Ty::text))
                });
                Ty::Cases(self.name(format!("(variant {})", text.collect::<String>())), cases)
            }
        }
    }
}

fn texts(types: &[Ty]) -> String {
    types.iter().map(Ty::text).collect::<Vec<_>>().join(" ")
}

/// The bytes from address 8192 on.
#[derive(Default)]
struct Image(Vec<u8>);

impl Image {
    const BASE: usize = 8192;

    fn room(&mut self, (size, align): (usize, usize)) -> usize {
        let at = (Image::BASE + self.0.len()).next_multiple_of(align);
        self.0.resize(at + size - Image::BASE, 0);
        at
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.0[at - Image::BASE..][..bytes.len()].copy_from_slice(bytes);
    }

    fn text(&self) -> String {
        self.0.iter().map(|byte| format!("\\{byte:02x}")).collect()
    }
}

const TEXTS: [&[u8]; 6] = [
    b"",
    b"a",
    b"some text that is longer",
    "Gr\u{fc}\u{df}e \u{1f600}".as_bytes(),
    b"\xff\xfe",
    b"\xe2\x82",
];

/// Values.
impl Maker {
    fn scalar(&mut self, ty: &Ty) -> u64 {
        match ty {
            Ty::Char if self.evil() => [0xd800, 0xdfff, 0x11_0000, 0xffff_ffff][self.random.below(4)],
            Ty::Char => [0, 0x61, 0xd7ff, 0xe000, 0x1_f600, 0x10_ffff][self.random.below(6)],
            _ => {
                let any = self.random.word();
                [0, 1, 0xff, 0x80, any & 0xffff, any, any][self.random.below(7)]
            }
        }
    }

    /// The address and length of text or a list in the image.
    fn pair(&mut self, ty: &Ty, image: &mut Image) -> (u64, u64) {
        let evil = if self.evil() { self.random.below(5) } else { 5 };
        let Ty::List(element) = ty else {
            let text = TEXTS[if evil == 0 { 4 + self.random.below(2) } else { self.random.below(4) }];
            let at = image.room((text.len(), 1));
            image.write(at, text);
            let length = text.len() as u64;
            return match evil {
                1 => (65530, 7),
                2 => (at as u64, 0x8000_0000),
                3 => (0xffff_fff0, 0xffff_ffff),
                _ => (at as u64, length),
            };
        };
        let (size, align) = element.layout();
        let count = self.random.below(4);
        let at = image.room((size * count, align));
        (0..count).for_each(|index| self.store(element, at + index * size, image));
        match evil {
            0 => (at as u64 + 1, count as u64),
            1 => (65528, 9),
            2 => (at as u64, 0x1000_0001),
            3 => (0xffff_fff8, 0xffff_ffff),
            _ => (at as u64, count as u64),
        }
    }

    fn case(&mut self, cases: &[Option<Ty>]) -> usize {
        if self.evil() { cases.len() + self.random.below(3) } else { self.random.below(cases.len()) }
    }

    fn store(&mut self, ty: &Ty, at: usize, image: &mut Image) {
        match ty {
            Ty::Scalar(..) | Ty::Char | Ty::Flags(..) => {
                let bits = self.scalar(ty);
                image.write(at, &bits.to_le_bytes()[..ty.layout().0]);
            }
            Ty::Text | Ty::List(_) => {
                let (pointer, length) = self.pair(ty, image);
                image.write(at, &(pointer as u32).to_le_bytes());
                image.write(at + 4, &(length as u32).to_le_bytes());
            }
            Ty::Fields(_, fields) => {
                let mut end = at;
                for ty in fields {
                    let (size, align) = ty.layout();
                    self.store(ty, end.next_multiple_of(align), image);
                    end = end.next_multiple_of(align) + size;
                }
            }
            Ty::Cases(_, cases) => {
                let case = self.case(cases);
                image.write(at, &[case as u8]);
                if let Some(Some(held)) = cases.get(case) {
                    let align = cases.iter().flatten().map(|ty| ty.layout().1).max().unwrap_or(1);
                    self.store(held, at + 1_usize.next_multiple_of(align), image);
                }
            }
        }
    }

    /// The bits of the core values.
    fn flat(&mut self, ty: &Ty, image: &mut Image) -> Vec<u64> {
        match ty {
            Ty::Scalar(..) | Ty::Char | Ty::Flags(..) => vec![self.scalar(ty)],
            Ty::Text | Ty::List(_) => {
                let (pointer, length) = self.pair(ty, image);
                vec![pointer, length]
            }
            Ty::Fields(_, fields) => fields.iter().flat_map(|ty| self.flat(ty, image)).collect(),
            Ty::Cases(_, cases) => {
                let case = self.case(cases);
                let mut all = vec![case as u64];
                if let Some(Some(held)) = cases.get(case) {
                    all.extend(self.flat(held, image));
                }
                // What a case does not use may be anything.
                all.extend((all.len()..ty.flat().len()).map(|_| self.random.word()));
                all
            }
        }
    }

    /// What an allocator does.
    fn allocator(&mut self) -> String {
        let does = match if self.evil() { self.random.below(5) } else { 5 } {
            0 => "(i32.const 1)",
            1 => "(i32.const 40000)",
            2 => "(i32.const 65528)",
            3 => "(i32.const -8)",
            4 => "(unreachable)",
            _ => "(local.get $at)",
        };
        format!(
            r#"(global $at (mut i32) (i32.const 32768)) (global $log (mut i32) (i32.const 1024))
            (func $log (param i64)
                (i64.store (global.get $log) (local.get 0))
                (global.set $log (i32.add (global.get $log) (i32.const 8))))
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
                (call $log (i64.extend_i32_u (local.get 2)))
                (call $log (i64.extend_i32_u (local.get 3)))
                (local.set $at (i32.and
                    (i32.add (global.get $at) (i32.sub (local.get 2) (i32.const 1)))
                    (i32.sub (i32.const 0) (local.get 2))))
                (global.set $at (i32.add (local.get $at) (local.get 3)))
                {does})"#
        )
    }
}

/// A function of a core module that hashes its memory (FNV-1a).
const DIGEST: &str = r#"(func (export "digest") (result i64) (local $at i32) (local $hash i64)
        (local.set $hash (i64.const 0xcbf29ce484222325))
        (loop $again
          (local.set $hash (i64.mul (i64.const 0x100000001b3)
            (i64.xor (local.get $hash) (i64.load8_u (local.get $at)))))
          (br_if $again (i32.ne (i32.const 0x10000)
            (local.tee $at (i32.add (local.get $at) (i32.const 1))))))
        (local.get $hash))"#;

fn core(ty: char) -> &'static str {
    match ty {
        'i' => "i32",
        'I' => "i64",
        'f' => "f32",
        _ => "f64",
    }
}

fn constant(ty: char, bits: u64) -> String {
    match ty {
        'i' => format!("(i32.const {})", bits as u32),
        'I' => format!("(i64.const {bits})"),
        'f' => format!("(f32.reinterpret_i32 (i32.const {}))", bits as u32),
        _ => format!("(f64.reinterpret_i64 (i64.const {bits}))"),
    }
}

fn widened(ty: char, value: &str) -> String {
    match ty {
        'i' => format!("(i64.extend_i32_u {value})"),
        'I' => value.to_owned(),
        'f' => format!("(i64.extend_i32_u (i32.reinterpret_f32 {value}))"),
        _ => format!("(i64.reinterpret_f64 {value})"),
    }
}

/// Returns the text of the component of a seed.
pub fn component(seed: u64) -> String {
    let mut random = Rng::new(seed);
    let evil = [0, 12, 4][random.below(3)];
    let mut maker = Maker { random, named: Vec::new(), evil };
    let params = maker.types(6, 3);
    let result = (maker.random.below(4) > 0).then(|| maker.ty(3));
    let (mut given, mut returned) = (Image::default(), Image::default());
    // Parameters, by the caller.
    let flat: Vec<char> = params.iter().flat_map(Ty::flat).collect();
    let (mut lowered, mut values) = match flat.len() > 16 {
        false => (flat, params.iter().flat_map(|ty| maker.flat(ty, &mut given)).collect::<Vec<u64>>()),
        true => {
            let tuple = Ty::Fields(String::new(), params.iter().map(Maker::again).collect());
            let at = given.room(tuple.layout());
            maker.store(&tuple, at, &mut given);
            let at =
                [at as u64, at as u64 + 1, 65534][if maker.evil() { 1 + maker.random.below(2) } else { 0 }];
            (vec!['i'], vec![at])
        }
    };
    let lifted = lowered.clone();
    // The result, by the callee.
    let flat = result.as_ref().map_or_else(Vec::new, Ty::flat);
    let (core_result, back) = match &result {
        None => (None, 0),
        Some(ty) if flat.len() == 1 => (Some(flat[0]), maker.flat(ty, &mut returned)[0]),
        Some(ty) => {
            let at = returned.room(ty.layout());
            maker.store(ty, at, &mut returned);
            (Some('i'), [at, at + 1, 65535][if maker.evil() { 1 + maker.random.below(2) } else { 0 }] as u64)
        }
    };
    if flat.len() > 1 {
        lowered.push('i');
        values.push([49152, 49153, 65535][if maker.evil() { 1 + maker.random.below(2) } else { 0 }]);
    }
    let types = |types: &[char]| types.iter().map(|&ty| format!(" {}", core(ty))).collect::<String>();
    let result_of = |ty: Option<char>| ty.map_or_else(String::new, |ty| format!("(result {})", core(ty)));
    let logs: String = (0..lifted.len())
        .map(|i| format!("(call $log {})", widened(lifted[i], &format!("(local.get {i})"))))
        .collect();
    let (callee_allocator, caller_allocator) = (maker.allocator(), maker.allocator());
    let call: String = lowered.iter().zip(&values).map(|(&ty, &bits)| constant(ty, bits)).collect();
    let direct = (flat.len() == 1).then(|| flat[0]);
    let call = match direct {
        Some(ty) => format!("(i64.store (i32.const 512) {})", widened(ty, &format!("(call $f {call})"))),
        None => format!("(call $f {call})"),
    };
    let definitions = |keep: &dyn Fn(usize) -> String| {
        let named = maker.named.iter().enumerate();
        named.map(|(i, text)| format!("(type $d{i} {text}) {}\n", keep(i))).collect::<String>()
    };
    let exported = definitions(&|i| format!("(export $n{i} \"n{i}\" (type $d{i}))"));
    let imported = definitions(&|i| format!("(import \"n{i}\" (type $n{i} (eq $d{i})))"));
    let with: String =
        (0..maker.named.len()).map(|i| format!("(with \"n{i}\" (type $b \"n{i}\"))")).collect();
    let named = params.iter().enumerate().map(|(i, ty)| format!("(param \"p{i}\" {})", ty.text()));
    let ty = named.collect::<String>()
        + &result.as_ref().map_or_else(String::new, |ty| format!("(result {})", ty.text()));
    let post = core_result.map_or_else(String::new, |ty| format!("(param {})", core(ty)));
    let (given, returned) = (given.text(), returned.text());
    format!(
        r#"(component
  (component $B {exported}
    (core module $m (memory (export "memory") 1) (data (i32.const 8192) "{returned}") {callee_allocator} {DIGEST}
      (func (export "f") (param{lifted}) {core_type} {logs} {back})
      (func (export "post") {post} (call $log (i64.const 0xaaaa))))
    (core instance $m (instantiate $m))
    (func (export "f") {ty} (canon lift (core func $m "f") (memory (core memory $m "memory"))
      (realloc (core func $m "realloc")) (post-return (core func $m "post"))))
    (func (export "digest") (result u64) (canon lift (core func $m "digest"))))
  (component $A {imported}
    (import "f" (func $f {ty}))
    (core module $libc (memory (export "memory") 1) (data (i32.const 8192) "{given}") {caller_allocator} {DIGEST})
    (core instance $libc (instantiate $libc))
    (core func $f' (canon lower (func $f) (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
    (core module $m (import "" "f" (func $f (param{lowered}) {direct})) (import "" "memory" (memory 1))
      (func (export "run") {call}))
    (core instance $m (instantiate $m (with "" (instance
      (export "f" (func $f')) (export "memory" (memory $libc "memory"))))))
    (func (export "digest") (result u64) (canon lift (core func $libc "digest")))
    (func (export "run") (canon lift (core func $m "run"))))
  (instance $b (instantiate $B))
  (instance $a (instantiate $A (with "f" (func $b "f")) {with}))
  (export "digest-a" (func $a "digest"))
  (export "digest-b" (func $b "digest"))
  (export "run" (func $a "run")))"#,
        lifted = types(&lifted),
        lowered = types(&lowered),
        core_type = result_of(core_result),
        direct = result_of(direct),
        back = core_result.map_or_else(String::new, |ty| constant(ty, back)),
    )
}

impl Maker {
    /// Returns the same type once more.
    fn again(ty: &Ty) -> Ty {
        match ty {
            Ty::Scalar(name, size, core) => Ty::Scalar(name, *size, *core),
            Ty::Char => Ty::Char,
            Ty::Text => Ty::Text,
            Ty::List(element) => Ty::List(Box::new(Maker::again(element))),
            Ty::Fields(text, fields) => Ty::Fields(text.clone(), fields.iter().map(Maker::again).collect()),
            Ty::Cases(text, cases) => {
                Ty::Cases(text.clone(), cases.iter().map(|ty| ty.as_ref().map(Maker::again)).collect())
            }
            Ty::Flags(text, count) => Ty::Flags(text.clone(), *count),
        }
    }
}
