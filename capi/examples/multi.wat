(module
  (import "" "turn" (func $turn (param i32 i64 f32 f64) (result f64 f32 i64 i32)))
  (func (export "run") (param i32 i64 f32 f64) (result f64 f32 i64 i32)
    (call $turn (local.get 0) (local.get 1) (local.get 2) (local.get 3))))
