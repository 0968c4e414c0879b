//! A host of components with an interface in WIT: `bindgen!` makes Rust types and functions of it.
//!
//! `cargo run -p wprof --features bindgen --example component_plugin`

use wprof::component::{Component, Linker, Resource, ResourceTable};
use wprof::{Engine, Store};

mod bindings {
    wprof::component::bindgen!({ inline: "
        package example:till;

        /// What the host keeps.
        interface stock {
            record item { name: string, cents: u32 }

            /// A look at the shelves.
            resource search {
                constructor(most: u32);
                next: func() -> option<item>;
            }
        }

        world till {
            import stock;
            /// Returns the price of all that costs at most so much.
            export total: func(most: u32) -> u32;
        }",
        with: { "example:till/stock.search": super::Search },
    });
}
use bindings::example::till::stock::{Host, HostSearch, Item};

/// A search that has come so far.
pub struct Search {
    most: u32,
    next: usize,
}

#[derive(Default)]
struct Shop {
    items: Vec<Item>,
    table: ResourceTable,
}

impl Host for Shop {}

impl HostSearch for Shop {
    fn new(&mut self, most: u32) -> Resource<Search> {
        self.table.push(Search { most, next: 0 }).expect("room for a search")
    }

    fn next(&mut self, search: Resource<Search>) -> Option<Item> {
        let search = self.table.get_mut(&search).ok()?;
        let rest = self.items.iter().enumerate().skip(search.next);
        let (index, item) = rest.into_iter().find(|(_, item)| item.cents <= search.most)?;
        search.next = index + 1;
        Some(item.clone())
    }

    fn drop(&mut self, search: Resource<Search>) -> wprof::Result<()> {
        self.table.delete(search).map(drop).map_err(wprof::Error::msg)
    }
}

/// What a toolchain would make of the world's other side.
const COMPONENT: &str = r#"(component
    (import "example:till/stock" (instance $stock
        (type $item' (record (field "name" string) (field "cents" u32)))
        (export "item" (type $item (eq $item')))
        (export "search" (type $search (sub resource)))
        (export "[constructor]search" (func (param "most" u32) (result (own $search))))
        (export "[method]search.next" (func (param "self" (borrow $search)) (result (option $item))))))
    (alias export $stock "search" (type $search))
    (core module $libc
        (memory (export "memory") 1)
        (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
    (core instance $libc (instantiate $libc))
    (core func $new (canon lower (func $stock "[constructor]search")))
    (core func $next (canon lower (func $stock "[method]search.next")
        (memory (core memory $libc "memory")) (realloc (core func $libc "realloc"))))
    (core func $drop (canon resource.drop $search))
    (core module $m
        (import "c" "memory" (memory 1))
        (import "stock" "new" (func $new (param i32) (result i32)))
        (import "stock" "next" (func $next (param i32 i32)))
        (import "stock" "drop" (func $drop (param i32)))
        (func (export "total") (param i32) (result i32) (local $sum i32)
            (local.set 0 (call $new (local.get 0)))
            (block $end
                (loop $again
                    (call $next (local.get 0) (i32.const 16))
                    (br_if $end (i32.eqz (i32.load8_u (i32.const 16))))
                    (local.set $sum (i32.add (local.get $sum) (i32.load (i32.const 28))))
                    (br $again)))
            (call $drop (local.get 0))
            (local.get $sum)))
    (core instance $m (instantiate $m (with "c" (instance $libc)) (with "stock" (instance
        (export "new" (func $new)) (export "next" (func $next)) (export "drop" (func $drop))))))
    (func (export "total") (param "most" u32) (result u32) (canon lift (core func $m "total"))))"#;

/// Returns what everything costs that costs at most so much.
pub fn total(most: u32) -> Result<u32, Box<dyn std::error::Error>> {
    let engine = Engine::default();
    let mut linker = Linker::new(&engine);
    bindings::add_to_linker(&mut linker, |shop: &mut Shop| shop)?;
    let item = |name: &str, cents| Item { name: name.to_owned(), cents };
    let items = vec![item("bread", 320), item("salt", 90), item("saffron", 1200)];
    let mut store = Store::new(&engine, Shop { items, ..Shop::default() });
    let till = bindings::Till::instantiate(&mut store, &Component::new(&engine, COMPONENT)?, &linker)?;
    let total = till.call_total(&mut store, most)?;
    assert!(store.data().table.is_empty(), "the component has dropped its search");
    Ok(total)
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("all that costs at most 500 costs {}", total(500)?);
    Ok(())
}
