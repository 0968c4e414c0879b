; For Boolector: is (x + y) * (x - y) the difference of two squares, and can a product of two odd 9-bit factors be
; a given number? The first question is unsatisfiable when negated, the second has an answer that must be searched for.
(set-logic QF_BV)
(set-option :produce-models true)

(declare-fun x () (_ BitVec 5))
(declare-fun y () (_ BitVec 5))
(push 1)
(assert (distinct (bvmul (bvadd x y) (bvsub x y)) (bvsub (bvmul x x) (bvmul y y))))
(check-sat)
(pop 1)

(declare-fun a () (_ BitVec 18))
(declare-fun b () (_ BitVec 18))
(assert (= ((_ extract 17 9) a) (_ bv0 9)))
(assert (= ((_ extract 17 9) b) (_ bv0 9)))
(assert (bvule a b))
(assert (bvugt a (_ bv1 18)))
(assert (= (bvmul a b) (_ bv171371 18)))
(check-sat)
(get-value (a b))
(exit)
