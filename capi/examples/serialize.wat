(module (import "" "hello" (func $hello (param i32))) (func (export "run") (call $hello (i32.const 42))))
