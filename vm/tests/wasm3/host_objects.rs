//! The host defines types of structures and arrays, and makes, reads and changes their objects.

use wprof::*;

type Outcome = std::result::Result<(), Box<dyn std::error::Error>>;

const TEXT: &str = r#"(module
    (type $base (sub (struct (field (mut i8)))))
    (type $pair (sub final $base (struct (field (mut i8)) (field (ref null $base)))))
    (type $words (array (mut i16)))
    (type $bytes (array i8))
    (func (export "second") (param anyref) (result anyref) (struct.get $pair 1 (ref.cast (ref $pair) (local.get 0))))
    (func (export "base") (param anyref) (result i32) (struct.get_u $base 0 (ref.cast (ref $base) (local.get 0))))
    (func (export "words") (param anyref) (result i32) (array.len (ref.cast (ref $words) (local.get 0))))
    (func (export "byte") (param anyref i32) (result i32)
        (array.get_u $bytes (ref.cast (ref $bytes) (local.get 0)) (local.get 1))))"#;

fn mutable(ty: impl Into<StorageType>) -> FieldType {
    FieldType::new(Mutability::Var, ty)
}

fn constant(ty: impl Into<StorageType>) -> FieldType {
    FieldType::new(Mutability::Const, ty)
}

/// The types of the module: a structure, its subtype, and two arrays.
fn types() -> Result<(StructType, StructType, ArrayType, ArrayType)> {
    let base = StructType::with_finality_and_supertype(Finality::NonFinal, None, [mutable(StorageType::I8)])?;
    let next = ValType::Ref(RefType::new(true, HeapType::ConcreteStruct(base.clone())));
    let fields = [mutable(StorageType::I8), constant(next)];
    let pair = StructType::with_finality_and_supertype(Finality::Final, Some(&base), fields)?;
    Ok((base, pair, ArrayType::new(mutable(StorageType::I16)), ArrayType::new(constant(StorageType::I8))))
}

fn refused<T>(result: Result<T>, part: &str) {
    let error = result.err().expect("it is refused");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn types_of_the_host_are_those_of_modules_with_the_same_definition() -> Outcome {
    let mut config = Config::new();
    let engine = Engine::new(config.gc_stress(true))?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &Module::new(&engine, TEXT)?, &[])?;
    let (base, pair, words, bytes) = types()?;
    let first = StructRef::new(&mut store, &base, &[Val::I32(0x1ff)])?;
    let second = StructRef::new(&mut store, &pair, &[Val::I32(7), first.clone().into()])?;
    let number = |store: &mut Store<()>, name: &str, of: AnyRef| {
        instance.get_typed_func::<Option<AnyRef>, i32>(&mut *store, name)?.call(store, Some(of))
    };
    assert_eq!(number(&mut store, "base", first.to_anyref())?, 0xff);
    assert_eq!(number(&mut store, "base", second.to_anyref())?, 7, "it is a subtype");
    let next = instance.get_typed_func::<Option<AnyRef>, Option<AnyRef>>(&mut store, "second")?;
    let found = next.call(&mut store, Some(second.to_anyref()))?.ok_or("it is not null")?;
    assert!(AnyRef::ref_eq(&found, &first.to_anyref()));
    let error = next.call(&mut store, Some(first.to_anyref())).expect_err("the supertype is no subtype");
    assert_eq!(error.trap(), Some(Trap::CastFailure));
    let array = ArrayRef::new(&mut store, &words, &Val::I32(-1), 3)?;
    assert_eq!(number(&mut store, "words", array.to_anyref())?, 3);
    assert!(number(&mut store, "words", first.to_anyref()).is_err());
    let array = ArrayRef::new_from_i8_slice(&mut store, &bytes, &[1, 200, 3])?;
    let byte = instance.get_typed_func::<(Option<AnyRef>, i32), i32>(&mut store, "byte")?;
    assert_eq!(byte.call(&mut store, (Some(array.to_anyref()), 1))?, 200);
    assert!(byte.call(&mut store, (Some(array.to_anyref()), 3)).is_err());
    Ok(())
}

#[test]
fn types_say_what_they_were_made_of() -> Outcome {
    let (base, pair, words, bytes) = types()?;
    assert_eq!(types()?, (base.clone(), pair.clone(), words.clone(), bytes.clone()));
    assert_eq!((base.finality(), pair.finality()), (Finality::NonFinal, Finality::Final));
    assert!(pair.matches(&base) && !base.matches(&pair) && pair.supertype() == Some(base.clone()));
    assert_eq!((base.supertype(), words.supertype()), (None, None));
    assert_eq!(pair.fields().len(), 2);
    assert_eq!(pair.field(0), Some(mutable(StorageType::I8)));
    let next = pair.field(1).ok_or("there are two")?;
    assert_eq!(next.mutability(), Mutability::Const);
    let expected = RefType::new(true, HeapType::ConcreteStruct(base));
    assert_eq!(next.element_type(), &StorageType::ValType(ValType::Ref(expected)));
    assert_eq!(pair.field(2), None);
    assert_eq!((words.mutability(), words.element_type()), (Mutability::Var, StorageType::I16));
    assert_eq!((bytes.mutability(), bytes.element_type()), (Mutability::Const, StorageType::I8));
    assert_eq!(bytes.element_type().unpack(), ValType::I32);
    Ok(())
}

#[test]
fn a_type_is_no_supertype_of_one_that_does_not_fit() -> Outcome {
    let sub = |above: Option<&StructType>, fields: &[FieldType]| {
        StructType::with_finality_and_supertype(Finality::NonFinal, above, fields.to_vec())
    };
    let (any, eq) = (ValType::ANYREF, ValType::EQREF);
    let base = sub(None, &[mutable(any.clone()), constant(any.clone())])?;
    sub(Some(&base), &[mutable(any.clone()), constant(eq.clone()), mutable(StorageType::I8)])?;
    for fields in [
        &[mutable(any.clone())][..],
        &[mutable(eq.clone()), constant(any.clone())],
        &[constant(any.clone()), constant(any.clone())],
        &[mutable(any.clone()), mutable(any.clone())],
        &[mutable(any.clone()), constant(ValType::EXTERNREF)],
    ] {
        refused(sub(Some(&base), fields), "the fields do not fit");
    }
    let last = StructType::new([mutable(any)])?;
    refused(sub(Some(&last), &[mutable(ValType::ANYREF)]), "it is final");
    refused(StructType::new(vec![constant(StorageType::I8); 10_001]), "at most 10000 fields");
    StructType::new(vec![constant(StorageType::I8); 10_000])?;
    let array = |above: Option<&ArrayType>, of: FieldType| {
        ArrayType::with_finality_and_supertype(Finality::NonFinal, above, of)
    };
    let base = array(None, constant(ValType::ANYREF))?;
    assert!(array(Some(&base), constant(eq))?.matches(&base));
    refused(array(Some(&base), mutable(ValType::ANYREF)), "the fields do not fit");
    // As in modules a type has at most 63 supertypes.
    let mut depth = vec![sub(None, &[])?];
    while let Ok(next) = sub(depth.last(), &[]) {
        depth.push(next);
        assert!(depth.len() < 100);
    }
    assert_eq!(depth.len(), 64);
    Ok(())
}

#[test]
fn objects_keep_what_they_are_given() -> Outcome {
    let mut config = Config::new();
    let engine = Engine::new(config.gc_stress(true))?;
    let mut store = Store::new(&engine, ());
    let (base, pair, words, bytes) = types()?;
    let make_base = StructRefPre::new(&mut store, &base)?;
    let make_pair = StructRefPre::new(&mut store, &pair)?;
    assert!(make_base.ty() == &base);
    let mut list: Option<StructRef> = None;
    for number in 0..50 {
        let next = Val::AnyRef(list.map(AnyRef::from));
        list = Some(match number % 2 {
            0 => make_base.allocate(&mut store, &[Val::I32(number)])?,
            _ => make_pair.allocate(&mut store, &[Val::I32(number), next])?,
        });
        store.gc();
    }
    let last = list.ok_or("there are fifty")?;
    let fields: Vec<Val> = last.fields(&store).collect();
    assert!(matches!(fields[..], [Val::I32(49), Val::AnyRef(Some(_))]), "{fields:?}");
    let Val::AnyRef(Some(before)) = &fields[1] else { return Err("a structure".into()) };
    assert!(before.is_struct(&store) && !before.is_array(&store) && !before.is_i31());
    assert_eq!(before.unwrap_struct(&store).field(&store, 0)?.i32(), Some(48));
    assert!(last.matches_ty(&store, &base) && last.ty(&store) == pair);
    assert!(last.to_anyref().matches_ty(&store, &HeapType::Eq));
    refused(make_base.allocate(&mut store, &[]).map(drop), "field 0 of 1");
    refused(make_base.allocate(&mut store, &[Val::I64(1)]).map(drop), "i64");
    refused(last.set_field(&mut store, 1, Val::AnyRef(None)), "not mutable");

    let make_words = ArrayRefPre::new(&mut store, &words)?;
    let array = make_words.allocate_fixed(&mut store, &[Val::I32(1), Val::I32(-1), Val::I32(3)])?;
    array.set(&mut store, 2, Val::I32(0x1_0004))?;
    let elements: Vec<Option<i32>> = array.elems(&store).map(|value| value.i32()).collect();
    assert_eq!(elements, [Some(1), Some(0xffff), Some(4)]);
    assert_eq!(make_words.allocate(&mut store, &Val::I32(9), 4)?.elems(&store).len(), 4);
    assert_eq!(ArrayRef::new_fixed(&mut store, &words, &[])?.len(&store), 0);
    assert!(array.matches_ty(&store, make_words.ty()) && array.ty(&store) == words);
    assert!(array.to_anyref().unwrap_array(&store).len(&store) == 3);
    refused(ArrayRef::new_from_i8_slice(&mut store, &words, &[1]).map(drop), "no bytes");
    refused(array.copy_to_i8_slice(&store, &mut [0; 3]), "no bytes");
    let array = ArrayRef::new_from_i8_slice(&mut store, &bytes, &[5, 6])?;
    let mut copy = [0; 2];
    array.copy_to_i8_slice(&store, &mut copy)?;
    assert_eq!(copy, [5, 6]);
    refused(array.copy_to_i8_slice(&store, &mut [0; 3]), "room for 3 bytes of an array of 2");
    let error = make_words.allocate(&mut store, &Val::I32(0), u32::MAX).expect_err("that is too much");
    assert_eq!(error.trap(), Some(Trap::GcOutOfMemory));
    Ok(())
}

#[test]
fn what_can_be_compared_is_an_eqref() -> Outcome {
    let mut store = Store::new(&Engine::default(), ());
    let number = AnyRef::from(I31::wrapping_u32(5));
    assert!(number.is_i31() && number.unwrap_i31().get_u32() == 5 && number.is_eqref());
    assert!(EqRef::ref_eq(&number.unwrap_eqref(), &EqRef::from(I31::wrapping_u32(5))));
    let host = AnyRef::convert_extern(ExternRef::new(1));
    assert!(!host.is_eqref() && host.as_eqref().is_none());
    let ty = StructType::new([])?;
    let one = StructRef::new(&mut store, &ty, &[])?;
    let other = StructRef::new(&mut store, &ty, &[])?;
    assert!(EqRef::ref_eq(&one.to_eqref(), &one.clone().into()));
    assert!(!EqRef::ref_eq(&one.to_eqref(), &other.into()));
    assert!(one.to_eqref().to_anyref().is_struct(&store));
    let global = Global::new(&mut store, GlobalType::new(ValType::STRUCTREF, true), one.clone().into())?;
    assert!(global.set(&mut store, Val::from(I31::wrapping_u32(1))).is_err(), "an integer is no structure");
    let Val::AnyRef(Some(found)) = global.get(&mut store) else { return Err("a structure".into()) };
    assert!(AnyRef::ref_eq(&found, &one.to_anyref()));
    Ok(())
}

#[test]
fn a_prepared_type_is_for_one_store() {
    let engine = Engine::default();
    let (mut one, mut other) = (Store::new(&engine, ()), Store::new(&engine, ()));
    let ty = ArrayType::new(mutable(StorageType::I8));
    let make = ArrayRefPre::new(&mut one, &ty).expect("a heap");
    let call = std::panic::AssertUnwindSafe(|| make.allocate(&mut other, &Val::I32(0), 1));
    assert!(std::panic::catch_unwind(call).is_err());
}
