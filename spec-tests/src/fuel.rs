//! Makes any module terminate: each call and each loop iteration takes one unit of fuel; without fuel it traps.

use wasmparser::Operator;

use crate::splice::{Result, Splice, unsigned};

/// Export name of the fuel global.
pub const FUEL: &str = "wprof.fuel";

/// Returns `wasm` with fuel checks at the start of each function and each loop.
///
/// # Errors
/// Returns an error if the module is malformed.
pub fn limit(wasm: &[u8], fuel: i32) -> Result<Vec<u8>> {
    let mut splice = Splice::new(wasm)?;
    let check = check(splice.i32_global(Some(FUEL.into()), fuel));
    for defined in 0..splice.bodies.len() {
        splice.insert(splice.bodies[defined].code, check.clone());
        for found in splice.instructions(defined)? {
            if matches!(found.op, Operator::Loop { .. }) {
                splice.insert(found.next, check.clone());
            }
        }
    }
    Ok(splice.apply())
}

fn check(global: u32) -> Vec<u8> {
    let mut code = Vec::new();
    let access = |code: &mut Vec<u8>, opcode: u8| {
        code.push(opcode);
        unsigned(code, global);
    };
    access(&mut code, 0x23); // global.get
    code.extend([0x45, 0x04, 0x40, 0x00, 0x0b]); // i32.eqz; if; unreachable; end
    access(&mut code, 0x23);
    code.extend([0x41, 1, 0x6b]); // i32.const 1; i32.sub
    access(&mut code, 0x24); // global.set
    code
}
