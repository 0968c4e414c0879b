//! Runtime routines for operations that the processor has no instruction for (rounding without SSE 4.1, fused
//! multiply-add without FMA).

/// Returns the address of the routine that Cranelift calls `name`, or `None` if this engine has none.
pub fn address(name: &str) -> Option<usize> {
    type Unary<T> = extern "C" fn(T) -> T;
    type Ternary<T> = extern "C" fn(T, T, T) -> T;
    Some(match name {
        "CeilF32" => ceil_f32 as Unary<f32> as usize,
        "CeilF64" => ceil_f64 as Unary<f64> as usize,
        "FloorF32" => floor_f32 as Unary<f32> as usize,
        "FloorF64" => floor_f64 as Unary<f64> as usize,
        "TruncF32" => trunc_f32 as Unary<f32> as usize,
        "TruncF64" => trunc_f64 as Unary<f64> as usize,
        "NearestF32" => nearest_f32 as Unary<f32> as usize,
        "NearestF64" => nearest_f64 as Unary<f64> as usize,
        "FmaF32" => fma_f32 as Ternary<f32> as usize,
        "FmaF64" => fma_f64 as Ternary<f64> as usize,
        "Memcpy" => libc::memcpy as *const () as usize,
        "Memset" => libc::memset as *const () as usize,
        "Memmove" => libc::memmove as *const () as usize,
        _ => return None,
    })
}

macro_rules! routines {
    ($($name:ident($($arg:ident),*): $ty:ty = $body:expr;)*) => {
        $(extern "C" fn $name($($arg: $ty),*) -> $ty { $body })*
    };
}

routines! {
    ceil_f32(x): f32 = x.ceil();
    ceil_f64(x): f64 = x.ceil();
    floor_f32(x): f32 = x.floor();
    floor_f64(x): f64 = x.floor();
    trunc_f32(x): f32 = x.trunc();
    trunc_f64(x): f64 = x.trunc();
    nearest_f32(x): f32 = x.round_ties_even();
    nearest_f64(x): f64 = x.round_ties_even();
    fma_f32(a, b, c): f32 = a.mul_add(b, c);
    fma_f64(a, b, c): f64 = a.mul_add(b, c);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_goes_to_even() {
        assert_eq!(nearest_f64(2.5), 2.0);
        assert_eq!(nearest_f32(-1.5), -2.0);
        assert!(address("CeilF32").is_some() && address("Probestack").is_none());
    }
}
