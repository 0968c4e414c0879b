//! Prints a module.
fn main() {
    let f = std::env::args().nth(1).unwrap();
    let b = std::fs::read(f).unwrap();
    let mut s = String::new();
    wasmprinter::Config::new().print_offsets(true).print(&b, &mut wasmprinter::PrintFmtWrite(&mut s)).unwrap();
    println!("{s}");
}
