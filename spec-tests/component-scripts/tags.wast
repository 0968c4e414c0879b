;; Tags pass between core instances of a component: as they are, through an alias, and through an instance of exports.
(component
  (core module $tags (tag (export "t") (param i32)))
  (core module $thrower (import "" "t" (tag $t (param i32)))
    (func (export "throw") (param i32) (throw $t (local.get 0))))
  (core module $catcher
    (import "tags" "t" (tag $t (param i32)))
    (import "thrower" "throw" (func $throw (param i32)))
    (func (export "run") (param i32) (result i32)
      (block $caught (result i32)
        (try_table (catch $t $caught) (call $throw (local.get 0)))
        (i32.const -1))))
  (core instance $tags (instantiate $tags))
  (alias core export $tags "t" (core tag $t))
  (core instance $bundle (export "t" (tag $t)))
  (core instance $thrower (instantiate $thrower (with "" (instance $bundle))))
  (core instance $catcher (instantiate $catcher
    (with "tags" (instance $tags)) (with "thrower" (instance $thrower))))
  (func (export "run") (param "x" s32) (result s32) (canon lift (core func $catcher "run"))))
(assert_return (invoke "run" (s32.const 7)) (s32.const 7))
