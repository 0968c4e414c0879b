//! The cost of calls between components and the host, in any engine with Wasmtime's names.
//!
//! A component makes as many calls of each kind as it is told, to host functions that have next to nothing to do, once with
//! Rust types and once with values of any type; and takes calls of the host. Another one calls functions of a third.

/// The component. A kind of call is the name of its import; `run-KIND` makes calls of the static type, `any-KIND` of those
/// with values of any type.
pub fn component() -> String {
    let mut parts = [const { String::new() }; 5];
    for [instance, prefix] in [["typed", "run"], ["any", "any"]] {
        let [imports, lowered, core_imports, given, exports] = &mut parts;
        *imports += &format!(
            r#"(import "{instance}" (instance ${instance}
                (export "thing" (type $thing (sub resource)))
                (export "make" (func (result (own $thing))))
                (export "nothing" (func))
                (export "number" (func (result u64)))
                (export "sum" (func (param "a" u32) (param "b" u32) (result u32)))
                (export "text" (func (param "text" string) (result u32)))
                (export "touch" (func (param "thing" (borrow $thing)) (result u32)))))
            (alias export ${instance} "thing" (type ${instance}-thing))
            (core func ${instance}-drop (canon resource.drop ${instance}-thing))"#
        );
        *core_imports += &format!(r#"(import "{instance}" "drop" (func ${instance}-drop (param i32)))"#);
        *given += &format!(r#"(with "{instance}" (instance (export "drop" (func ${instance}-drop))"#);
        for (kind, ty, call) in [
            ("make", "(result i32)", ""),
            ("nothing", "", "(call $F) (i32.const 1)"),
            ("number", "(result i64)", "(i32.wrap_i64 (call $F))"),
            ("sum", "(param i32 i32) (result i32)", "(call $F (i32.const 1) (local.get 0))"),
            ("text", "(param i32 i32) (result i32)", "(call $F (i32.const 8) (i32.const 16))"),
            ("touch", "(param i32) (result i32)", "(call $F (local.get $thing))"),
        ] {
            let func = format!("{instance}-{kind}");
            *lowered += &format!(
                r#"(core func ${func} (canon lower (func ${instance} "{kind}") (memory (core memory $libc "memory"))))"#
            );
            *core_imports += &format!(r#"(import "{instance}" "{kind}" (func ${func} {ty}))"#);
            *given += &format!(r#"(export "{kind}" (func ${func}))"#);
            if call.is_empty() {
                continue;
            }
            let call = call.replace("$F", &format!("${func}"));
            *exports += &format!(
                r#"(func (export "{prefix}-{kind}") (param i32) (result i64) (local i64) (local $thing i32)
                    (local.set $thing (call ${instance}-make))
                    (loop $again
                        (local.set 1 (i64.add (local.get 1) (i64.extend_i32_u {call})))
                        (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
                    (call ${instance}-drop (local.get $thing))
                    (local.get 1))"#
            );
        }
        *given += "))";
    }
    let [imports, lowered, core_imports, given, exports] = parts;
    let lifted: String = KINDS
        .iter()
        .filter(|name| !name.starts_with("other"))
        .chain(&["own"])
        .map(|name| {
            format!(r#"(func (export "{name}") (param "n" u32) (result u64) (canon lift (core func $m "{name}")))"#)
        })
        .collect();
    format!(
        r#"(component {imports}
        (core module $libc (memory (export "memory") 1) (data (i32.const 8) "sixteen letters!"))
        (core instance $libc (instantiate $libc))
        {lowered}
        (core module $m {core_imports} {exports}
            (func (export "own") (param i32) (result i64) (i64.extend_i32_u (local.get 0))))
        (core instance $m (instantiate $m {given}))
        {lifted}
        {between})"#,
        between = between()
    )
}

/// Two components, one of which makes calls of the other: a component does not call one inside it.
fn between() -> String {
    let (mut imports, mut lowered, mut core_imports, mut given) =
        (String::new(), String::new(), String::new(), String::new());
    let (mut exports, mut lifted, mut exported) = (String::new(), String::new(), String::new());
    for (kind, ty, core, call) in [
        ("nothing", "", "", "(call $F) (i32.const 1)"),
        (
            "sum",
            r#"(param "a" u32) (param "b" u32) (result u32)"#,
            "(param i32 i32) (result i32)",
            "(call $F (i32.const 1) (local.get 0))",
        ),
        (
            "text",
            r#"(param "text" string) (result u32)"#,
            "(param i32 i32) (result i32)",
            "(call $F (i32.const 8) (i32.const 16))",
        ),
    ] {
        imports += &format!(r#"(export "{kind}" (func {ty}))"#);
        let options = r#"(memory (core memory $libc "memory"))"#;
        lowered += &format!(r#"(core func ${kind} (canon lower (func $other "{kind}") {options}))"#);
        core_imports += &format!(r#"(import "other" "{kind}" (func ${kind} {core}))"#);
        given += &format!(r#"(export "{kind}" (func ${kind}))"#);
        let call = call.replace("$F", &format!("${kind}"));
        exports += &format!(
            r#"(func (export "{kind}") (param i32) (result i64) (local i64)
                (loop $again
                    (local.set 1 (i64.add (local.get 1) (i64.extend_i32_u {call})))
                    (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
                (local.get 1))"#
        );
        lifted += &format!(
            r#"(func (export "other-{kind}") (param "n" u32) (result u64) (canon lift (core func $m "{kind}")))"#
        );
        exported += &format!(r#"(export "other-{kind}" (func $caller "other-{kind}"))"#);
    }
    format!(
        r#"(component $Other
            (core module $m (memory (export "memory") 1)
                (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
                (func (export "nothing"))
                (func (export "sum") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
                (func (export "text") (param i32 i32) (result i32) (local.get 1)))
            (core instance $m (instantiate $m))
            (func (export "nothing") (canon lift (core func $m "nothing")))
            (func (export "sum") (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $m "sum")))
            (func (export "text") (param "text" string) (result u32) (canon lift (core func $m "text")
                (memory (core memory $m "memory")) (realloc (core func $m "realloc")))))
        (component $Caller
            (import "other" (instance $other {imports}))
            (core module $libc (memory (export "memory") 1) (data (i32.const 8) "sixteen letters!"))
            (core instance $libc (instantiate $libc))
            {lowered}
            (core module $m {core_imports} {exports})
            (core instance $m (instantiate $m (with "other" (instance {given}))))
            {lifted})
        (instance $other (instantiate $Other))
        (instance $caller (instantiate $Caller (with "other" (instance $other))))
        {exported}"#
    )
}

/// The kinds of calls, by the exports that make them.
pub const KINDS: [&str; 13] = [
    "run-nothing",
    "run-number",
    "run-sum",
    "run-text",
    "run-touch",
    "any-nothing",
    "any-number",
    "any-sum",
    "any-text",
    "any-touch",
    "other-nothing",
    "other-sum",
    "other-text",
];

/// The names of the kinds of calls, for people.
pub const ABOUT: [&str; 13] = [
    "the host, without arguments and result",
    "the host, which returns a u64",
    "the host, with two u32, which returns one",
    "the host, with a string of 16 bytes",
    "the host, with a borrowed resource",
    "the same as values of any type: nothing",
    "values of any type: a u64",
    "values of any type: two u32",
    "values of any type: a string",
    "values of any type: a resource",
    "another component, without arguments and result",
    "another component, with two u32, which returns one",
    "another component, with a string of 16 bytes",
];

/// The call of the component by the host.
pub const BY_THE_HOST: &str = "the component by the host, with a u32, typed";

/// A resource of the host.
#[derive(Debug)]
pub struct Thing;

/// Implements a bench for an engine, whose crate is named. `$any` is how a dynamic host function begins: its parameters
/// differ. `$find` finds a function with a static type.
macro_rules! component_calls {
    ($name:ident, $engine:ident, |$store:ident, $params:ident, $results:ident| $($any:tt),*; $find:expr) => {
        struct $name {
            store: $engine::Store<u32>,
            funcs: Vec<$engine::component::TypedFunc<(u32,), (u64,)>>,
            own: $engine::component::TypedFunc<(u32,), (u64,)>,
        }

        impl $name {
            #[allow(unused_variables, reason = "not every host function looks at all that it gets")]
            fn new(engine: &$engine::Engine) -> $engine::Result<$name> {
                use $engine::StoreContextMut as Context;
                use $engine::component::{Linker, Resource, ResourceType, Val};
                let mut linker: Linker<u32> = Linker::new(engine);
                let mut typed = linker.instance("typed")?;
                let ty = || ResourceType::host::<Thing>();
                typed.resource("thing", ty(), |_, _| Ok(()))?;
                typed.func_wrap("make", |_: Context<'_, u32>, (): ()| {
                    Ok((Resource::<Thing>::new_own(1),))
                })?;
                typed.func_wrap("nothing", |_: Context<'_, u32>, (): ()| Ok(()))?;
                typed.func_wrap("number", |_: Context<'_, u32>, (): ()| Ok((1_u64,)))?;
                typed.func_wrap("sum", |_: Context<'_, u32>, (a, b): (u32, u32)| Ok((a.wrapping_add(b),)))?;
                typed.func_wrap("text", |_: Context<'_, u32>, (text,): (String,)| Ok((text.len() as u32,)))?;
                typed.func_wrap("touch", |_: Context<'_, u32>, (thing,): (Resource<Thing>,)| {
                    Ok((thing.rep(),))
                })?;
                let mut any = linker.instance("any")?;
                any.resource("thing", ty(), |_, _| Ok(()))?;
                any.func_wrap("make", |_: Context<'_, u32>, (): ()| {
                    Ok((Resource::<Thing>::new_own(1),))
                })?;
                any.func_new("nothing", |$($any),*| Ok(()))?;
                any.func_new("number", |$($any),*| {
                    $results[0] = Val::U64(1);
                    Ok(())
                })?;
                any.func_new("sum", |$($any),*| {
                    let [Val::U32(a), Val::U32(b)] = $params else { unreachable!("they have the import's types") };
                    $results[0] = Val::U32(a.wrapping_add(*b));
                    Ok(())
                })?;
                any.func_new("text", |$($any),*| {
                    let [Val::String(text)] = $params else { unreachable!("they have the import's types") };
                    $results[0] = Val::U32(text.len() as u32);
                    Ok(())
                })?;
                any.func_new("touch", |$($any),*| {
                    let [Val::Resource(thing)] = $params else { unreachable!("they have the import's types") };
                    thing.resource_drop($store)?;
                    $results[0] = Val::U32(1);
                    Ok(())
                })?;
                let component = $engine::component::Component::new(engine, component())?;
                let mut store = $engine::Store::new(engine, 0);
                let instance = linker.instantiate(&mut store, &component)?;
                let find: fn(
                    &$engine::component::Instance,
                    &mut $engine::Store<u32>,
                    &str,
                ) -> $engine::Result<$engine::component::TypedFunc<(u32,), (u64,)>> = $find;
                let funcs = KINDS.iter().map(|name| find(&instance, &mut store, name));
                let funcs = funcs.collect::<$engine::Result<_>>()?;
                let own = find(&instance, &mut store, "own")?;
                Ok($name { store, funcs, own })
            }

            /// Makes so many calls of a kind; the last kind is the call by the host. Returns the sum of what they gave.
            fn run(&mut self, kind: usize, calls: u32) -> $engine::Result<u64> {
                if let Some(func) = self.funcs.get(kind) {
                    return Ok(func.call(&mut self.store, (calls,))?.0);
                }
                let mut sum = 0;
                for number in 0..calls {
                    sum += self.own.call(&mut self.store, (number,))?.0;
                }
                Ok(sum)
            }
        }
    };
}
pub(crate) use component_calls;
