//! Components in the shapes of Wasmtime's API: types of what they import and export, exports by index, and arguments that
//! stay the caller's.

use std::sync::Arc;

use wprof::component::types::ComponentItem;
use wprof::component::{
    Component, ComponentExportIndex, Instance, Linker, Resource, ResourceAny, ResourceType, Type, TypeKind,
};
use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const TEXT: &str = r#"(component
  (import "test:host/log@0.2.3" (instance
    (type $plain (enum "low" "high"))
    (export "level" (type (eq $plain)))
    (export "line" (func (param "at" u32) (param "text" string) (result bool)))))
  (import "plain" (func $plain))
  (core module $lib (func (export "f") (param i32) (result i64) (i64.const 1)))
  (component $C
    (type $thing (resource (rep i32)))
    (export $exported "thing" (type $thing))
    (core func $new (canon resource.new $thing))
    (core module $m (import "" "new" (func $new (param i32) (result i32)))
      (func (export "make") (result i32) (call $new (i32.const 7)))
      (func (export "twice") (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2))))
    (core instance $m (instantiate $m (with "" (instance (export "new" (func $new))))))
    (func (export "make") (result (own $exported)) (canon lift (core func $m "make")))
    (func (export "twice") (param "x" u32) (result u32) (canon lift (core func $m "twice"))))
  (instance $c (instantiate $C))
  (export "test:own/things@0.1.5" (instance $c))
  (export "module" (core module $lib))
  (alias export $c "twice" (func $twice))
  (export "twice" (func $twice)))"#;

fn instance(component: &Component) -> Result<(Store<()>, Instance)> {
    let mut linker = Linker::new(component.engine());
    linker.root().func_wrap("plain", |_, (): ()| Ok(()))?;
    let mut log = linker.instance("test:host/log@0.2.3")?;
    log.func_wrap("line", |_, (_, _): (u32, String)| Ok((true,)))?;
    let mut store = Store::new(component.engine(), ());
    let instance = linker.instantiate(&mut store, component)?;
    Ok((store, instance))
}

#[test]
fn the_type_of_a_component_lists_its_imports_and_exports() -> Outcome {
    let engine = Engine::default();
    let component = Component::new(&engine, TEXT)?;
    let ty = component.component_type();
    assert_eq!(
        ty.imports(&engine).map(|(name, _)| name).collect::<Vec<_>>(),
        ["test:host/log@0.2.3", "plain"]
    );
    let names: Vec<_> = ty.exports(&engine).map(|(name, _)| name).collect();
    assert_eq!(names, ["test:own/things@0.1.5", "module", "twice"]);
    let Some(ComponentItem::ComponentInstance(log)) =
        ty.get_import(&engine, "test:host/log@0.2.3").map(|item| item.ty)
    else {
        panic!("an instance")
    };
    assert_eq!(log.exports(&engine).map(|(name, _)| name).collect::<Vec<_>>(), ["level", "line"]);
    let Some(ComponentItem::Type(level)) = log.get_export(&engine, "level").map(|item| item.ty) else {
        panic!("a type")
    };
    assert_eq!(level.kind(), &TypeKind::Enum(vec!["low".to_owned(), "high".to_owned()]));
    let Some(ComponentItem::ComponentFunc(line)) = log.get_export(&engine, "line").map(|item| item.ty) else {
        panic!("a function")
    };
    let shown = |ty: Type| ty.to_string();
    let params: Vec<_> = line.params().map(|(name, ty)| (name.to_owned(), shown(ty))).collect();
    assert_eq!(params, [("at", "u32"), ("text", "string")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    assert_eq!(line.results().map(shown).collect::<Vec<_>>(), ["bool"]);
    assert!(!line.async_());
    let Some(ComponentItem::Module(module)) = ty.get_export(&engine, "module").map(|item| item.ty) else {
        panic!("a module")
    };
    let exports: Vec<_> =
        module.exports(&engine).map(|(name, ty)| (name.to_owned(), ty.to_string())).collect();
    assert_eq!(exports.len(), 1);
    assert_eq!(exports[0].0, "f");
    assert!(ty.get_export(&engine, "thing").is_none(), "it is in an instance");
    Ok(())
}

#[test]
fn exports_are_found_by_index_in_each_instance() -> Outcome {
    let engine = Engine::default();
    let component = Component::new(&engine, TEXT)?;
    let things = component.get_export_index(None, "test:own/things@0.1.2").expect("a compatible version");
    let find = |name: &str| component.get_export_index(Some(&things), name);
    let (make, twice): (ComponentExportIndex, _) = (find("make").unwrap(), find("twice").unwrap());
    assert!(find("nothing").is_none());
    let mut types = Vec::new();
    for _ in 0..2 {
        let (mut store, instance) = instance(&component)?;
        let func = instance.get_typed_func::<(u32,), (u32,)>(&twice)?;
        assert_eq!(func.call(&mut store, (21,))?, (42,));
        let made = instance.get_typed_func::<(), (ResourceAny,)>(&make)?.call(&mut store, ())?.0;
        let ty = instance.get_resource("test:own/things@0.1.5#thing").expect("a resource");
        assert_eq!(*made.ty(), ty);
        let (item, index) = instance.get_export(Some(&things), "thing").expect("a resource");
        assert!(matches!(item, ComponentItem::Resource(found) if found == ty));
        assert!(instance.get_func(&index).is_none(), "it is no function");
        assert!(instance.get_resource("twice").is_none(), "it is no resource");
        assert!(instance.get_module(instance.get_export_index(None, "module").as_ref().unwrap()).is_some());
        types.push(ty);
    }
    assert_ne!(types[0], types[1], "each instance has its own");
    let other = Component::new(&engine, TEXT)?;
    assert!(other.get_export_index(Some(&things), "twice").is_none(), "an index of another component");
    assert!(instance(&other)?.1.get_func(&twice).is_none());
    Ok(())
}

#[test]
fn binaries_alone_are_taken_as_binaries() -> Outcome {
    let engine = Engine::default();
    let bytes = wat::parse_str("(component)")?;
    assert!(Component::from_binary(&engine, &bytes).is_ok());
    let error = Component::from_binary(&engine, b"(component)").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Module, "{error}");
    Ok(())
}

/// A component that returns what it is given.
const ECHO: &str = r#"(component
  (core module $m
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param i32 i32 i32 i32) (result i32)
      (global.set $next (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
      (global.get $next)
      (global.set $next (i32.add (global.get $next) (local.get 3))))
    (func (export "run") (param i32 i32) (result i32)
      (i32.store (i32.const 16) (local.get 0))
      (i32.store (i32.const 20) (local.get 1))
      (i32.const 16)))
  (core instance $m (instantiate $m))
  (func (export "text") (param "x" string) (result string)
    (canon lift (core func $m "run") (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
  (func (export "bytes") (param "x" (list u8)) (result (list u8))
    (canon lift (core func $m "run") (memory (core memory $m "memory")) (realloc (core func $m "realloc"))))
  (func (export "texts") (param "x" (list string)) (result (list string))
    (canon lift (core func $m "run") (memory (core memory $m "memory")) (realloc (core func $m "realloc")))))"#;

#[test]
fn arguments_may_stay_the_callers() -> Outcome {
    let engine = Engine::default();
    let component = Component::new(&engine, ECHO)?;
    let mut store = Store::new(&engine, ());
    let instance = Linker::<()>::new(&engine).instantiate(&mut store, &component)?;
    let (text, bytes) = ("Grüße".to_owned(), vec![1_u8, 2, 3]);
    let by_ref = instance.get_typed_func::<(&str,), (String,)>("text")?;
    assert_eq!(by_ref.call(&mut store, (&text,))?, (text.clone(),));
    let boxed = instance.get_typed_func::<(Box<str>,), (Arc<str>,)>("text")?;
    assert_eq!(&*boxed.call(&mut store, (text.as_str().into(),))?.0, text);
    let shared = instance.get_typed_func::<(Arc<String>,), (Box<str>,)>("text")?;
    assert_eq!(&*shared.call(&mut store, (Arc::new(text.clone()),))?.0, text);
    let slice = instance.get_typed_func::<(&[u8],), (Box<[u8]>,)>("bytes")?;
    assert_eq!(*slice.call(&mut store, (&bytes,))?.0, *bytes);
    let list = instance.get_typed_func::<(&Vec<u8>,), (Arc<[u8]>,)>("bytes")?;
    assert_eq!(*list.call(&mut store, (&bytes,))?.0, *bytes);
    let names = ["one", "two"];
    let texts = instance.get_typed_func::<(&[&str],), (Vec<Box<String>>,)>("texts")?;
    let back = texts.call(&mut store, (&names,))?.0;
    assert_eq!(back.iter().map(|text| text.as_str()).collect::<Vec<_>>(), names);
    assert!(instance.get_typed_func::<(&[u16],), (String,)>("text").is_err());
    Ok(())
}

#[test]
fn host_resources_have_static_and_dynamic_types() -> Outcome {
    struct Thing;
    struct Other;
    let mut store = Store::new(&Engine::default(), ());
    let any = Resource::<Thing>::new_own(7).try_into_resource_any(&mut store)?;
    assert_eq!((any.ty(), any.is_owned()), (&ResourceType::host::<Thing>(), true));
    assert!(any.clone().try_into_resource::<Other>(&mut store).is_err());
    let thing = any.clone().try_into_resource::<Thing>(&mut store)?;
    assert_eq!((thing.rep(), thing.owned()), (7, true));
    assert!(any.try_into_resource::<Thing>(&mut store).is_err(), "it was transferred");
    let lent = ResourceAny::try_from_resource(Resource::<Thing>::new_borrow(8), &mut store)?;
    let again = Resource::<Thing>::try_from_resource_any(lent, &mut store)?;
    assert_eq!((again.rep(), again.owned()), (8, false));
    Ok(())
}
