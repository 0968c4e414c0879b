//! Resources: handles of components, of the host, and between components.

use std::sync::{Arc, Mutex};

use wprof::component::{Component, Func, Instance, Linker, ResourceAny, ResourceType, Val};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

/// A component that defines a resource, counts its destructor's calls, and uses its handles correctly and incorrectly.
const DEFINES: &str = r#"(component
  (core module $d
    (global $n (mut i32) (i32.const 0))
    (func (export "dtor") (param i32)
      (if (i32.eq (local.get 0) (i32.const 666)) (then unreachable))
      (global.set $n (i32.add (global.get $n) (i32.const 1))))
    (func (export "drops") (result i32) (global.get $n)))
  (core instance $d (instantiate $d))
  (type $r (resource (rep i32) (dtor (core func $d "dtor"))))
  (export $e "r" (type $r))
  (core func $new (canon resource.new $r))
  (core func $drop (canon resource.drop $r))
  (core func $rep (canon resource.rep $r))
  (core module $m
    (import "" "new" (func $new (param i32) (result i32)))
    (import "" "drop" (func $drop (param i32)))
    (import "" "rep" (func $rep (param i32) (result i32)))
    (func (export "make") (param i32) (result i32) (call $new (local.get 0)))
    (func (export "value") (param i32) (result i32) (local.get 0))
    (func (export "take") (param i32) (result i32) (call $rep (local.get 0)) (call $drop (local.get 0)))
    (func (export "drop-twice") (param i32) (call $drop (local.get 0)) (call $drop (local.get 0)))
    (func (export "use-after-drop") (param i32) (result i32) (call $drop (local.get 0)) (call $rep (local.get 0)))
    (func (export "forge") (param i32) (result i32) (local.get 0)))
  (core instance $m (instantiate $m (with "" (instance
    (export "new" (func $new)) (export "drop" (func $drop)) (export "rep" (func $rep))))))
  (func (export "make") (param "rep" u32) (result (own $e)) (canon lift (core func $m "make")))
  (func (export "value") (param "r" (borrow $e)) (result u32) (canon lift (core func $m "value")))
  (func (export "take") (param "r" (own $e)) (result u32) (canon lift (core func $m "take")))
  (func (export "drop-twice") (param "r" (own $e)) (canon lift (core func $m "drop-twice")))
  (func (export "use-after-drop") (param "r" (own $e)) (result u32) (canon lift (core func $m "use-after-drop")))
  (func (export "forge") (param "handle" u32) (result (own $e)) (canon lift (core func $m "forge")))
  (func (export "drops") (result u32) (canon lift (core func $d "drops"))))"#;

struct Program {
    store: Store<()>,
    instance: Instance,
}

impl Program {
    fn new(text: &str, define: impl FnOnce(&mut Linker<()>)) -> Result<Program, Error> {
        let engine = Engine::default();
        let component = Component::new(&engine, text)?;
        let mut linker = Linker::new(&engine);
        define(&mut linker);
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &component)?;
        Ok(Program { store, instance })
    }

    fn func(&self, name: &str) -> Func {
        self.instance.get_func(name).unwrap_or_else(|| panic!("no `{name}` is exported"))
    }

    fn call(&mut self, name: &str, params: &[Val]) -> Result<Option<Val>, Error> {
        let func = self.func(name);
        let mut results = vec![Val::Bool(false); usize::from(func.ty().result().is_some())];
        func.call(&mut self.store, params, &mut results)?;
        Ok(results.pop())
    }

    fn make(&mut self, rep: u32) -> Result<ResourceAny, Error> {
        match self.call("make", &[Val::U32(rep)])? {
            Some(Val::Resource(resource)) => Ok(resource),
            other => panic!("{other:?}"),
        }
    }
}

fn resource(resource: &ResourceAny) -> [Val; 1] {
    [Val::Resource(resource.clone())]
}

#[test]
fn an_owned_resource_is_lent_passed_on_and_dropped_once() -> Outcome {
    let mut program = Program::new(DEFINES, |_| ())?;
    let (a, b) = (program.make(40)?, program.make(41)?);
    assert!(a.is_owned());
    assert_eq!(program.call("value", &resource(&a))?, Some(Val::U32(40)));
    assert_eq!(program.call("value", &resource(&b))?, Some(Val::U32(41)), "it is still there");
    for name in ["value", "take"] {
        let mut program = Program::new(DEFINES, |_| ())?;
        let b = program.make(41)?;
        assert_eq!(program.call("take", &resource(&b))?, Some(Val::U32(41)));
        assert_eq!(program.call("drops", &[])?, Some(Val::U32(1)));
        let error = program.call(name, &resource(&b)).unwrap_err();
        assert!(error.to_string().contains("dropped or passed on"), "{error}");
    }
    Ok(())
}

#[test]
fn the_host_drops_what_it_owns() -> Outcome {
    let mut program = Program::new(DEFINES, |_| ())?;
    let a = program.make(1)?;
    a.resource_drop(&mut program.store)?;
    assert_eq!(program.call("drops", &[])?, Some(Val::U32(1)));
    assert_eq!(a.resource_drop(&mut program.store).unwrap_err().kind(), ErrorKind::Type);
    let trapping = program.make(666)?;
    let error = trapping.resource_drop(&mut program.store).unwrap_err();
    assert_eq!(error.trap(), Some(Trap::UnreachableCodeReached));
    Ok(())
}

#[test]
#[should_panic(expected = "object used with the wrong store")]
fn a_resource_belongs_to_its_store() {
    let [mut one, mut two] = [(); 2].map(|()| Program::new(DEFINES, |_| ()).unwrap());
    let of_one = one.make(1).unwrap();
    let _ = of_one.resource_drop(&mut two.store);
}

#[test]
#[should_panic(expected = "object used with the wrong store")]
fn a_function_belongs_to_its_store() {
    let (one, mut two) = (Program::new(DEFINES, |_| ()).unwrap(), Program::new(DEFINES, |_| ()).unwrap());
    let _ = one.func("make").call(&mut two.store, &[Val::U32(1)], &mut [Val::Bool(false)]);
}

#[test]
fn instances_of_one_store_have_handles_of_their_own() -> Outcome {
    let mut program = Program::new(DEFINES, |_| ())?;
    let other =
        Linker::new(program.store.engine()).instantiate(&mut program.store, program.instance.component())?;
    let of_first = program.make(7)?;
    let first = std::mem::replace(&mut program.instance, other);
    // The other one has no handle yet.
    let error = program.call("forge", &[Val::U32(1)]).unwrap_err();
    assert!(error.to_string().contains("unknown handle index 1"), "{error}");
    program.instance = first;
    assert_eq!(program.call("value", &resource(&of_first))?, Some(Val::U32(7)), "it can still be entered");
    Ok(())
}

#[test]
fn misused_handles_trap() -> Outcome {
    for name in ["drop-twice", "use-after-drop"] {
        let mut program = Program::new(DEFINES, |_| ())?;
        let a = program.make(1)?;
        let error = program.call(name, &resource(&a)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Trap, "{name}: {error}");
        assert!(error.to_string().contains("unknown handle index 1"), "{name}: {error}");
        let error = program.call("drops", &[]).unwrap_err();
        assert!(error.to_string().contains("cannot enter component instance"), "{error}");
    }
    for handle in [0, 7, u32::MAX] {
        let mut program = Program::new(DEFINES, |_| ())?;
        let error = program.call("forge", &[Val::U32(handle)]).unwrap_err();
        assert!(error.to_string().contains(&format!("unknown handle index {handle}")), "{error}");
    }
    Ok(())
}

#[test]
fn resources_of_another_type_or_instance_are_refused() -> Outcome {
    let (mut one, mut other) = (Program::new(DEFINES, |_| ())?, Program::new(DEFINES, |_| ())?);
    let foreign = other.make(1)?;
    let error = one.call("value", &resource(&foreign)).unwrap_err();
    assert!(error.to_string().contains("expected a resource of type"), "{error}");
    Ok(())
}

/// A component that borrows host resources, and returns them or does not.
const BORROWS: &str = r#"(component
  (import "file" (type $file (sub resource)))
  (import "size" (func $size (param "file" (borrow $file)) (result u32)))
  (import "open" (func $open (result (own $file))))
  (core func $size' (canon lower (func $size)))
  (core func $open' (canon lower (func $open)))
  (core func $drop (canon resource.drop $file))
  (core module $m
    (import "" "size" (func $size (param i32) (result i32)))
    (import "" "open" (func $open (result i32)))
    (import "" "drop" (func $drop (param i32)))
    (func (export "look") (param i32) (result i32) (call $size (local.get 0)) (call $drop (local.get 0)))
    (func (export "keep") (param i32) (result i32) (call $size (local.get 0)))
    (func (export "steal") (param i32) (result i32) (local.get 0))
    (func (export "open-and-drop") (result i32) (local i32)
      (local.set 0 (call $open)) (call $size (local.get 0)) (call $drop (local.get 0))))
  (core instance $m (instantiate $m (with "" (instance
    (export "size" (func $size')) (export "open" (func $open')) (export "drop" (func $drop))))))
  (func (export "look") (param "file" (borrow $file)) (result u32) (canon lift (core func $m "look")))
  (func (export "keep") (param "file" (borrow $file)) (result u32) (canon lift (core func $m "keep")))
  (func (export "steal") (param "file" (borrow $file)) (result (own $file)) (canon lift (core func $m "steal")))
  (func (export "open-and-drop") (result u32) (canon lift (core func $m "open-and-drop"))))"#;

#[test]
fn resources_of_the_host_are_lent_and_owned() -> Outcome {
    let file = ResourceType::named("file");
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::new(Mutex::new(None));
    let program = || {
        Program::new(BORROWS, |linker| {
            let mut root = linker.root();
            let log = dropped.clone();
            let log = move |_: StoreContextMut<'_, ()>, rep| {
                log.lock().unwrap().push(rep);
                Ok(())
            };
            root.resource("file", file.clone(), log).unwrap();
            let (ty, kept) = (file.clone(), kept.clone());
            let size = move |_: StoreContextMut<'_, ()>, params: &[Val], results: &mut [Val]| {
                let Val::Resource(file) = &params[0] else { panic!("{params:?}") };
                results[0] = Val::U32(file.rep(&ty)? * 10);
                *kept.lock().unwrap() = Some(file.clone());
                Ok(())
            };
            root.func_new("size", size).unwrap();
            let ty = file.clone();
            let open = move |_: StoreContextMut<'_, ()>, _: &[Val], results: &mut [Val]| {
                results[0] = Val::Resource(ResourceAny::host(&ty, 5));
                Ok(())
            };
            root.func_new("open", open).unwrap();
        })
    };
    let mut first = program()?;
    let mine = ResourceAny::host(&file, 3);
    assert_eq!(first.call("look", &resource(&mine))?, Some(Val::U32(30)));
    let lent = kept.lock().unwrap().take().expect("`size` was called");
    assert!(!lent.is_owned());
    assert!(lent.rep(&file).is_err(), "what was lent for a call is gone after it");
    assert_eq!(first.call("open-and-drop", &[])?, Some(Val::U32(50)));
    assert_eq!(*dropped.lock().unwrap(), [5], "what is owned is dropped, what is lent is not");
    assert_eq!(first.call("look", &resource(&mine))?, Some(Val::U32(30)), "it can be lent again");
    for (name, why) in
        [("keep", "borrow handles still remain"), ("steal", "cannot pass on a borrowed resource")]
    {
        let error = program()?.call(name, &resource(&mine)).unwrap_err();
        assert!(error.to_string().contains(why), "{name}: {error}");
    }
    assert_eq!(mine.rep(&file)?, 3, "it comes back also from calls that fail");
    Ok(())
}

/// One component defines a resource, another in the same file uses it.
#[test]
fn components_pass_resources_and_strings_to_each_other() -> Outcome {
    let text = r#"(component
      (component $inner
        (core module $m
          (memory (export "memory") 1)
          (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64))
          (func (export "name") (param i32) (result i32)
            (i32.store8 (i32.const 32) (i32.add (i32.const 65) (local.get 0)))
            (i32.store8 (i32.const 33) (i32.const 33))
            (i32.store (i32.const 16) (i32.const 32))
            (i32.store (i32.const 20) (i32.const 2))
            (i32.const 16)))
        (core instance $m (instantiate $m))
        (type $r' (resource (rep i32)))
        (export $r "r" (type $r'))
        (core func $new (canon resource.new $r'))
        (func (export "make") (param "rep" u32) (result (own $r)) (canon lift (core func $new)))
        (func (export "name") (param "r" (borrow $r)) (result string)
          (canon lift (core func $m "name") (memory (core memory $m "memory")))))
      (component $user
      (import "inner" (instance $inner
        (export "r" (type $r (sub resource)))
        (export "make" (func (param "rep" u32) (result (own $r))))
        (export "name" (func (param "r" (borrow $r)) (result string)))))
      (alias export $inner "r" (type $r))
      (core module $libc
        (memory (export "memory") 1)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
      (core instance $libc (instantiate $libc))
      (core func $make (canon lower (func $inner "make")))
      (core func $name (canon lower (func $inner "name")
        (memory (core memory $libc "memory")) (realloc (core func $libc "realloc")) string-encoding=utf16))
      (core func $drop (canon resource.drop $r))
      (core module $main
        (import "" "make" (func $make (param i32) (result i32)))
        (import "" "name" (func $name (param i32 i32)))
        (import "" "drop" (func $drop (param i32)))
        (func (export "run") (param i32) (result i32) (local i32)
          (local.set 1 (call $make (local.get 0)))
          (call $name (local.get 1) (i32.const 16))
          (call $drop (local.get 1))
          (i32.const 16)))
      (core instance $main (instantiate $main (with "" (instance
        (export "make" (func $make)) (export "name" (func $name)) (export "drop" (func $drop))))))
      (func (export "run") (param "n" u32) (result string)
        (canon lift (core func $main "run") (memory (core memory $libc "memory")) string-encoding=utf16)))
      (instance $inner (instantiate $inner))
      (instance $user (instantiate $user (with "inner" (instance $inner))))
      (export "run" (func $user "run")))"#;
    let mut program = Program::new(text, |_| ())?;
    assert_eq!(program.call("run", &[Val::U32(2)])?, Some(Val::String("C!".to_owned())));
    assert_eq!(program.call("run", &[Val::U32(25)])?, Some(Val::String("Z!".to_owned())));
    Ok(())
}

/// Exported and imported instances, including those of another compatible version.
#[test]
fn instances_are_imported_and_exported_by_name() -> Outcome {
    let text = r#"(component
      (import "test:host/clock@0.2.7" (instance $clock (export "now" (func (result u64)))))
      (core func $now (canon lower (func $clock "now")))
      (core module $m
        (import "" "now" (func $now (result i64)))
        (func (export "later") (result i64) (i64.add (call $now) (i64.const 1))))
      (core instance $m (instantiate $m (with "" (instance (export "now" (func $now))))))
      (func $later (result u64) (canon lift (core func $m "later")))
      (instance $out (export "later" (func $later)))
      (export "test:guest/time@1.0.0" (instance $out)))"#;
    let clock = |name: &'static str| {
        Program::new(text, move |linker| {
            let mut clock = linker.instance(name).unwrap();
            let now = |_: StoreContextMut<'_, ()>, _: &[Val], results: &mut [Val]| {
                results[0] = Val::U64(41);
                Ok(())
            };
            clock.func_new("now", now).unwrap();
        })
    };
    let mut program = clock("test:host/clock@0.2.0")?;
    assert_eq!(program.call("test:guest/time@1.0.0#later", &[])?, Some(Val::U64(42)));
    assert!(program.instance.get_func("later").is_none());
    let Err(error) = clock("test:host/clock@0.3.0") else { panic!("it was found") };
    assert!(error.to_string().contains("`test:host/clock@0.2.7#now` (func() -> u64)"), "{error}");
    Ok(())
}
