(module (func (export "f")) (func (export "g")) (func (export "h")))
