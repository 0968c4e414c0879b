(module
  (type (;0;) (func (param i32 i64) (result i32)))
  (type (;1;) (func (param f64) (result f64)))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func))
  (type (;4;) (func (param i64 i64 i32) (result i32 i32)))
  (type (;5;) (func (param i32 i64 v128 i32 i32 i64)))
  (type (;6;) (func (result i32 i64)))
  (type (;7;) (func (param i64 v128) (result i32)))
  (type (;8;) (func (param i32 i32 i64 i32) (result i32 i32 i64 i32)))
  (type (;9;) (func (param v128 i32 i32 i32) (result v128 i32 i32 i32)))
  (type (;10;) (func (param v128 i32) (result v128 i32)))
  (type (;11;) (func (param v128 i32 i32) (result v128 i32 i32)))
  (import "h" "note" (func (;0;) (type 0) (param i32 i64) (result i32)))
  (import "h" "mixf" (func (;1;) (type 1) (param f64) (result f64)))
  (import "h" "reenter" (func (;2;) (type 2) (param i32) (result i32)))
  (table (;0;) 7 funcref)
  (table (;1;) 5 8 funcref)
  (table (;2;) 6 funcref)
  (memory (;0;) 2 4)
  (memory (;1;) i64 2 4)
  (global (;0;) (mut i32) i32.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 3)
  (global (;3;) (mut f32) f32.const 0x1.8p+0 (;=1.5;))
  (global (;4;) (mut f64) f64.const -0x1.2p+1 (;=-2.25;))
  (global (;5;) i32 i32.const 37)
  (global (;6;) i64 i64.const 8589934592)
  (global (;7;) (mut v128) v128.const i32x4 0x00001234 0x00000000 0x00000000 0x00000000)
  (export "cb" (func 3))
  (export "f4" (func 7))
  (export "f5" (func 8))
  (export "f6" (func 9))
  (export "f7" (func 10))
  (export "f8" (func 11))
  (export "mem0" (memory 0))
  (export "mem1" (memory 1))
  (export "t1" (table 1))
  (export "g0" (global 0))
  (export "g1" (global 1))
  (export "g2" (global 2))
  (export "g3" (global 3))
  (export "g4" (global 4))
  (export "g7" (global 7))
  (elem (;0;) (table 0) (i32.const 0) func 3 6 4 4 5)
  (elem (;1;) (table 1) (i32.const 0) func 3 6 5)
  (elem (;2;) (table 2) (i32.const 0) func 8 8 8 9)
  (elem (;3;) declare func 0 1 2 3 4 5 6 7 8 9 10 11)
  (elem (;4;) func 3 6 4 4 5 3 6 5 8 8 8 9)
  (func (;3;) (type 2) (param i32) (result i32)
    (local i64 v128 i32 i64 v128 v128)
    i32.const 16
    i32.const -1
    i32.le_s
    i32.const 8
    i32.sub
    local.set 0
    block (type 6) (result i32 i64) ;; label = @1
      local.get 5
      i16x8.extend_high_i8x16_u
      local.get 0
      i32x4.splat
      i32x4.extmul_high_i16x8_u
      i32.const 255
      local.get 0
      i32.rotl
      i64.extend_i32_u
      i64x2.replace_lane 1
      local.set 6
      block ;; label = @2
        block ;; label = @3
          block ;; label = @4
            block ;; label = @5
              block ;; label = @6
                block ;; label = @7
                  block ;; label = @8
                    global.get 2
                    i64.const 32767
                    i64.and
                    i32.load 1 offset=4
                    i32.const 1
                    local.tee 3
                    i32.shl
                    br_table 0 (;@8;) 6 (;@2;) 1 (;@7;) 3 (;@5;) 4 (;@4;) 5 (;@3;) 6 (;@2;) 0 (;@8;) 1 (;@7;) 5 (;@3;) 3 (;@5;) 4 (;@4;) 3 (;@5;)
                  end
                  i64.const -1130752912813172968
                  local.get 1
                  i64.xor
                  i64.const 32760
                  i64.and
                  i32.load16_s 1 offset=1
                  i32.const 255
                  i32.and
                  global.get 7
                  global.get 7
                  global.get 0
                  i8x16.shl
                  i16x8.extmul_high_i8x16_u
                  v128.store offset=100
                end
                local.get 4
                i64.const 16
                i64.xor
                local.set 1
                br 4 (;@2;)
              end
              global.get 2
              i64.const 8
              i64.shr_u
              local.set 4
            end
            local.get 3
            local.get 3
            i32.add
            local.set 3
          end
          local.get 4
          global.get 6
          i64.and
          local.set 1
          br 1 (;@2;)
        end
        global.get 1
        i32x4.splat
        local.set 6
        br 0 (;@2;)
      end
      i32.const 31
      i32.const 198796815
      i32.xor
      local.set 0
      i32.const 8
      local.get 0
      i32.add
      local.set 3
      i32.const 8
      i32.const 16
      i32.shl
      local.get 3
      i32.const 32767
      i32.and
      i64.load offset=4000
    end
    local.set 1
    local.set 3
    i32.const -2147483648
    local.get 0
    i32.xor
    table.size 1
    i32.shr_s
  )
  (func (;4;) (type 2) (param i32) (result i32)
    (local i64 i32 i64 i32 i32 i64 i32 i32 i32 i32 i64 i32 v128 i32 i32 i32 i64 i32 i32 i64 v128 v128)
    i64.const -1
    i64.popcnt
    i64.eqz
    i32.const 32760
    i32.and
    global.get 6
    global.get 2
    i64.le_s
    i32.const 7
    i32.and
    i32.eqz
    if (result i64) ;; label = @1
      local.get 1
    else
      i64.const 31
      i64.clz
    end
    i64.store offset=8
    i32.const 10
    i32.const 32767
    i32.and
    global.get 5
    i32.const 32760
    i32.and
    i64.load offset=4000
    i64.store32 offset=4
    local.get 6
    i64.const 32767
    i64.and
    i32.load 1 offset=1
    if (result i32) ;; label = @1
      global.get 1
    else
      global.get 0
    end
    i32.const 6
    i32.rem_s
    global.get 1
    local.get 14
    i32.or
    global.get 1
    i32.const 7
    i32.lt_s
    i32.lt_u
    i32.sub
    local.set 19
    global.get 0
    i32.const 1023
    i32.and
    i32.eqz
    if ;; label = @1
      i32.const 255
      global.get 5
      i32.const 255
      i32.and
      i32.const 1
      i32.or
      i32.rem_u
      return
    end
    v128.const i32x4 0x04030201 0x08070605 0x0c0b0a09 0x000f0e0d
    local.set 13
    i32.const 0
    global.get 1
    i32.xor
    i32.const -115057834
    i32.const 8
    i32.lt_u
    i32.shr_s
    i32.const 122558618
    i32.const 16
    i32.const 5
    global.get 0
    select
    i32.sub
    i32.eq
    local.set 7
    local.get 22
    local.get 22
    i16x8.add
    i16x8.extract_lane_s 1
  )
  (func (;5;) (type 4) (param i64 i64 i32) (result i32 i32)
    (local i32 v128 i64 i64 i32 v128 i32 i32 i32 i32 i32 i32 i64 v128 i32 i32 i32 i32 i64 i64 i32 i32 i32 i32 i64 v128 v128 i32 i32)
    block ;; label = @1
      block ;; label = @2
        block ;; label = @3
          block ;; label = @4
            block ;; label = @5
              i64.const -759539255116316861
              i64.const 32767
              i64.and
              i32.load 1 offset=28000
              i32.const 7
              i32.ctz
              i32.shr_u
              br_table 0 (;@5;) 4 (;@1;) 3 (;@2;) 3 (;@2;) 4 (;@1;) 0 (;@5;) 4 (;@1;)
            end
            i32.const 223
            local.set 31
            i32.const 1
            local.set 30
            block ;; label = @5
              loop ;; label = @6
                local.get 30
                i32.const 8
                i32.eq
                br_if 1 (;@5;)
                i64.const 7
                local.get 1
                i64.xor
                i32.wrap_i64
                if ;; label = @7
                  global.get 1
                  local.tee 10
                  local.set 14
                  local.get 3
                  local.set 17
                end
                i64.const 16
                global.get 2
                i64.ge_s
                local.set 11
                i32.const 100508539
                i32.eqz
                local.set 3
                i32.const 13614065
                i32.const 31
                i32.or
                local.set 20
                local.get 31
                i32.const 8
                i32.add
                local.set 31
                local.get 30
                i32.const 1
                i32.add
                local.set 30
                br 0 (;@6;)
              end
            end
            global.get 0
            i32.const 1
            i32.add
            global.set 0
          end
          i64.const 16
          local.get 0
          local.get 9
          select
          local.set 27
        end
        local.get 15
        local.get 5
        i64.shr_u
        local.set 22
      end
      i32.const -1
      local.tee 7
      local.set 24
    end
    local.get 25
    i32.const 1048576
    i32.const 7
    i32.add
    i32.const 7
    i32.and
    if (result i32) ;; label = @1
      local.get 15
      i64.const 32760
      i64.and
      i32.load 1 offset=1
    else
      i32.const 32
      i32.const -220012403
      i32.or
    end
  )
  (func (;6;) (type 2) (param i32) (result i32)
    (local i32 i32 i32 i32 i64 v128 v128 i32 i32)
    i32.const 2
    global.get 5
    i32.const 37
    i32.sub
    i32.add
    local.set 9
    i32.const 0
    local.set 8
    block ;; label = @1
      loop ;; label = @2
        local.get 8
        local.get 9
        i32.ge_u
        br_if 1 (;@1;)
        local.get 8
        i32.const 1
        i32.add
        local.set 8
        global.get 6
        local.get 5
        i64.shr_u
        i64.const 3
        global.get 2
        i64.xor
        v128.const i32x4 0xffffffff 0xffffffff 0xffffffff 0xffffffff
        i8x16.all_true
        select
        local.get 5
        i64.popcnt
        i64.const 144567165592261324
        local.tee 5
        i64.mul
        i64.shr_u
        local.set 5
        block ;; label = @3
          block ;; label = @4
            block ;; label = @5
              block ;; label = @6
                block ;; label = @7
                  block ;; label = @8
                    block ;; label = @9
                      local.get 5
                      local.get 5
                      i64.xor
                      global.get 2
                      i64.const 527415406399956522
                      i64.shr_s
                      i64.le_u
                      i32.const 1
                      i32.and
                      br_table 0 (;@9;) 1 (;@8;) 2 (;@7;) 3 (;@6;) 4 (;@5;) 2 (;@7;) 6 (;@3;) 0 (;@9;) 1 (;@8;) 2 (;@7;) 3 (;@6;) 2 (;@7;)
                    end
                    i32.const 8
                    i32.const 2
                    i32.ne
                    local.set 0
                  end
                  i32.const 8
                  i32.const 255
                  i32.and
                  i32.load8_s offset=4
                  local.set 0
                end
                local.get 5
                i64.eqz
                local.set 0
              end
              i32.const -17642440
              i32.const 8
              i32.sub
              local.set 0
            end
            local.get 8
            i32.extend16_s
            local.set 1
          end
          local.get 3
          local.get 8
          i32.add
          local.set 1
        end
        global.get 7
        local.set 6
        br 0 (;@2;)
      end
    end
    global.get 0
    i32.const 1
    i32.add
    global.set 0
    global.get 1
    i32.ctz
    global.get 0
    global.get 0
    i32.rotr
    i32.shr_s
  )
  (func (;7;) (type 2) (param i32) (result i32)
    (local i32 i32 i32 i32 i32 i32 i32 i64 i64 i32 i64 i32 i64 i64 i32 v128 i32 i64 i32 i64 v128 v128 i32)
    local.get 0
    i32.const 7
    i32.and
    local.tee 0
    i32.eqz
    if ;; label = @1
      i32.const 2
      i32.const 32760
      i32.and
      i32.load16_s
      return
    end
    local.get 5
    i32.const 10
    i32.ne
    local.set 6
    local.get 0
    i32.const 2
    i32.sub
    local.tee 23
    i32.const 0
    local.get 23
    i32.const 0
    i32.gt_s
    select
    call 7
    global.get 1
    i32.add
    global.set 1
    v128.const i32x4 0xffffffff 0xffffffff 0xffffffff 0xffffffff
    local.set 16
    local.get 0
    i32.const 1
    i32.sub
    local.tee 23
    i32.const 0
    local.get 23
    i32.const 0
    i32.gt_s
    select
    call 7
    global.get 1
    i32.add
    global.set 1
    i32.const 1
    i32.const 10
    i32.mul
    i32.const 16
    local.get 6
    i32.ge_s
    i32.shr_u
  )
  (func (;8;) (type 2) (param i32) (result i32)
    (local i32 i64 i64 i32 i32 i32 i32 i64 i32 i64 v128 i32 i32 i64 i32 i64 v128 v128 i32 i32 i32 i32 i32)
    i32.const 4000
    global.get 5
    i32.const 37
    i32.sub
    i32.add
    local.set 20
    i32.const 0
    local.set 19
    i32.const 2000
    local.set 19
    loop ;; label = @1
      block (result i32) ;; label = @2
        i32.const 6
        global.get 5
        i32.const 37
        i32.sub
        i32.add
        local.set 22
        i32.const 5
        local.set 21
        block ;; label = @3
          loop ;; label = @4
            local.get 21
            local.get 22
            i32.ge_u
            br_if 1 (;@3;)
            local.get 21
            i32.const 1
            i32.add
            local.set 21
            i32.const 1
            ref.func 4
            table.set 1
            i32.const 19869
            local.get 8
            i32.wrap_i64
            if (result i32) ;; label = @5
              table.size 1
            else
              local.get 19
              local.get 5
              i32.shr_s
            end
            i32.store
            i32.const 0
            i32.const 255
            i32.and
            v128.load16_splat offset=100
            i32x4.extend_low_i16x8_s
            local.set 18
            local.get 19
            i32.const 0
            i32.shl
            i32.const 32767
            i32.and
            i64.extend_i32_u
            local.get 2
            i32.wrap_i64
            i64.extend_i32_s
            i64.store 1
            i32.const 1
            local.set 23
            block ;; label = @5
              loop ;; label = @6
                local.get 23
                i32.const 2
                i32.ge_u
                br_if 1 (;@5;)
                local.get 23
                i32.const 1
                i32.add
                local.set 23
                i32.const 63
                local.get 19
                i32.shr_s
                local.set 6
                i64.const -9223372036854775808
                local.get 8
                i64.and
                local.set 8
                global.get 2
                local.get 8
                i64.add
                local.set 8
                br 0 (;@6;)
              end
            end
            global.get 0
            i32.const 1
            i32.add
            global.set 0
            local.get 21
            i32.const 31
            i32.xor
            global.get 1
            global.get 1
            i32.shr_u
            i32.xor
            if ;; label = @5
              local.get 18
              global.get 7
              i32.const 0
              select
              local.set 17
              local.get 3
              i64.const 8
              i64.xor
              local.set 16
              local.get 5
              i32.const 12301876
              i32.le_s
              local.set 9
              i32.const 5
              global.get 1
              i32.sub
              local.set 13
            end
            local.get 1
            i32.extend16_s
            local.set 5
            br 0 (;@4;)
          end
        end
        global.get 0
        i32.const 1
        i32.add
        global.set 0
        local.get 10
        i64.const 7
        i64.xor
        local.set 8
        i32.const 7
        global.get 0
        i32.const 10
        i32.const 63
        i32.and
        select
      end
      local.set 15
      local.get 19
      local.set 1
      global.get 5
      local.set 4
      i64.const 4294967295
      local.get 2
      i32.const 7
      select
      local.set 3
      local.get 19
      i32.const -1
      i32.add
      local.tee 19
      br_if 0 (;@1;)
    end
    global.get 0
    i32.const 1
    i32.add
    global.set 0
    i32.const 16
    i32.popcnt
    i32.const 3
    i32.const 10
    i32.le_u
    i32.rotr
  )
  (func (;9;) (type 2) (param i32) (result i32)
    (local i32 i32 i32 v128 i32 i32 i64 i32 v128 i32 i32 i32 i64 i32 i32 i64 v128 i64 i64 i32 i32 i64 i32 i64 i64 i64 i64 i64 i32 i32 i32 i64 v128 v128 i64 i32 i32 i64 i64 i64 i32 i64 i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32 i32 i32 i32 i32 i64 i64)
    block (result i32) ;; label = @1
      i32.const 3815
      local.set 36
      i64.const 1
      local.set 35
      block ;; label = @2
        loop ;; label = @3
          local.get 35
          i64.const 4001
          i64.ge_s
          br_if 1 (;@2;)
          local.get 35
          i64.const 8
          i64.add
          local.set 35
          local.get 36
          i32.const 2
          i32.add
          local.set 36
          i64.const 16
          local.set 24
          i32.const -223937780
          local.set 15
          global.get 1
          local.get 36
          i32.shl
          local.set 8
          i32.const -1
          local.get 36
          i32.add
          local.set 6
          local.get 31
          i64.extend_i32_s
          local.set 32
          local.get 14
          local.set 11
          global.get 0
          local.set 20
          i32.const 1
          i32x4.splat
          local.set 9
          br 0 (;@3;)
        end
      end
      global.get 0
      i32.const 1
      i32.add
      global.set 0
      global.get 6
      i32.wrap_i64
    end
    local.set 29
    i64.const 63
    global.get 7
    v128.const i32x4 0x3f800000 0x3f800000 0x3f800000 0x3f800000
    i32x4.sub
    block (type 7) (param i64 v128) (result i32) ;; label = @1
      local.set 17
      local.set 32
      local.get 16
      global.get 6
      i64.shr_s
      global.get 6
      i64.const 3
      i64.add
      local.get 23
      local.get 30
      local.get 20
      select
      i32.const 4
      i32.const 4
      global.get 0
      local.get 30
      i32.rotr
      i32.const 31
      i32.and
      select
      call_indirect (type 4)
      local.set 31
      local.set 0
      i32.const -3
      local.set 37
      loop ;; label = @2
        i64.const 31
        i64.const 1129798174266649306
        i64.le_s
        local.set 15
        global.get 5
        global.get 5
        i32.mul
        local.set 30
        i64.const 31
        i64.const 65536
        i64.div_s
        local.set 19
        local.get 37
        i32.const 3
        i32.add
        local.tee 37
        i32.const 96
        i32.lt_s
        br_if 0 (;@2;)
      end
      global.get 0
      i32.const 1
      i32.add
      global.set 0
      global.get 5
      i32.const 0
      i32.mul
    end
    local.set 0
    block ;; label = @1
      block ;; label = @2
        block ;; label = @3
          block ;; label = @4
            block ;; label = @5
              block ;; label = @6
                local.get 16
                i64.const 255
                i64.and
                i32.load16_s 1
                i32.const 15
                i32.and
                br_table 0 (;@6;) 3 (;@3;)
              end
              global.get 5
              local.tee 3
              local.set 12
              i32.const 5
              local.tee 2
              local.set 21
              i64.const 2
              local.tee 19
              local.set 26
              br 4 (;@1;)
            end
            i32.const 0
            local.set 5
            i32.const 5
            i32.const 16
            i32.sub
            local.set 10
            br 3 (;@1;)
          end
          local.get 21
          local.set 15
          local.get 23
          i32.const -1
          i32.shr_s
          local.set 29
          local.get 29
          local.set 2
          br 2 (;@1;)
        end
        i32.const 2
        local.get 23
        i32.or
        local.set 0
        i32.const 10
        i32.popcnt
        local.set 3
        local.get 24
        i64.const 255
        i64.and
        i32.load 1 offset=4
        local.set 29
        global.get 0
        local.set 14
        br 1 (;@1;)
      end
      local.get 3
      local.get 1
      i32.xor
      local.set 6
      br 0 (;@1;)
    end
    i32.const 0
    local.get 14
    i32.lt_u
    local.get 23
    local.get 23
    i32.rotr
    i32.rotl
    if ;; label = @1
      i64.const 513
      global.get 6
      i64.const 8589934592
      i64.sub
      i64.add
      local.set 39
      i64.const 1
      local.set 38
      i64.const 256
      local.set 38
      loop ;; label = @2
        local.get 31
        i32.ctz
        local.set 2
        i64.const 32
        i64.const 255
        i64.xor
        local.set 13
        global.get 7
        local.set 17
        i64.const 2
        i32.wrap_i64
        local.set 14
        local.get 38
        i64.const -1
        i64.add
        local.tee 38
        i64.const 0
        i64.ne
        br_if 0 (;@2;)
      end
      global.get 0
      i32.const 1
      i32.add
      global.set 0
      i32.const 1665
      local.set 41
      i64.const 261
      global.get 6
      i64.const 8589934592
      i64.sub
      i64.add
      local.set 42
      i64.const 5
      local.set 40
      local.get 29
      global.get 1
      i32.lt_u
      local.get 5
      local.get 41
      i32.rotr
      global.get 6
      i32.const 1
      i32.const 32
      i32.sub
      loop (type 8) (param i32 i32 i64 i32) (result i32 i32 i64 i32) ;; label = @2
        local.set 30
        drop
        local.set 8
        local.set 14
        local.get 41
        i32.extend8_s
        local.set 12
        local.get 34
        i8x16.extract_lane_s 15
        local.set 10
        local.get 29
        i32.clz
        local.set 20
        local.get 41
        i32.const 1
        i32.add
        local.set 41
        local.get 41
        i32.const 0
        i32.shl
        i32.const 32767
        i32.and
        i32.load16_u offset=1 align=1
        i32.const 3
        local.get 41
        i32.ne
        i32.sub
        local.get 3
        i32.const 27611
        i32.load
        i32.sub
        local.get 16
        global.get 2
        i64.xor
        global.get 6
        i64.sub
        local.get 41
        i64.extend_i32_u
        i32.load 1
        table.size 1
        i32.add
        local.get 40
        i64.const 1
        i64.add
        local.tee 40
        local.get 42
        i64.lt_u
        br_if 0 (;@2;)
      end
      local.set 0
      local.set 32
      drop
      local.set 5
      global.get 0
      i32.const 1
      i32.add
      global.set 0
    else
      i32.const 646
      local.set 44
      i32.const 1
      local.set 43
      v128.const i32x4 0x5ee89ab8 0xef418df0 0x797dbfdd 0x77eff9b6
      local.get 33
      i64x2.ge_s
      local.get 44
      i64.extend_i32_u
      i32.load16_u 1 align=1
      local.get 44
      i64.extend_i32_u
      i32.load8_s 1
      local.get 44
      i64.extend_i32_u
      i32.load8_s 1
      loop (type 9) (param v128 i32 i32 i32) (result v128 i32 i32 i32) ;; label = @2
        local.set 5
        local.set 3
        drop
        local.set 17
        local.get 44
        i32.const 1
        i32.shl
        i32.const 32767
        i32.and
        i64.extend_i32_u
        i32.load 1
        local.set 31
        global.get 2
        i64.clz
        local.set 7
        i64.const 32
        i64.const 2
        i64.xor
        local.set 27
        local.get 44
        i32.const 1
        i32.add
        local.set 44
        local.get 44
        i32x4.splat
        local.get 22
        i32.wrap_i64
        local.get 43
        i32.sub
        i32.const 31
        i32.const 0
        i32.shr_u
        local.get 29
        local.get 21
        i32.xor
        i32.xor
        i32.const -1
        local.get 43
        local.get 5
        i32.mul
        local.get 44
        i64.extend_i32_u
        i32.load 1
        select
        local.get 43
        i32.const 8
        i32.add
        local.tee 43
        i32.const 4001
        i32.lt_u
        br_if 0 (;@2;)
      end
      local.set 5
      local.set 2
      local.set 23
      drop
      global.get 0
      i32.const 1
      i32.add
      global.set 0
      i32.const 461
      local.set 46
      i32.const 1
      global.get 5
      i32.const 37
      i32.sub
      i32.add
      local.set 47
      i32.const 0
      local.set 45
      block ;; label = @2
        loop ;; label = @3
          local.get 45
          local.get 47
          i32.ge_u
          br_if 1 (;@2;)
          global.get 0
          local.set 14
          local.get 46
          i32.const 16
          i32.add
          local.set 46
          local.get 45
          i32.const 1
          i32.add
          local.set 45
          br 0 (;@3;)
        end
      end
      global.get 0
      i32.const 1
      i32.add
      global.set 0
    end
    block ;; label = @1
      loop ;; label = @2
        local.get 49
        i32.const 20
        i32.ge_u
        br_if 1 (;@1;)
        local.get 49
        i32.const 1
        i32.add
        local.set 49
        block ;; label = @3
          block ;; label = @4
            block ;; label = @5
              block ;; label = @6
                block ;; label = @7
                  block ;; label = @8
                    block ;; label = @9
                      block ;; label = @10
                        block ;; label = @11
                          block ;; label = @12
                            block ;; label = @13
                              block ;; label = @14
                                block ;; label = @15
                                  block ;; label = @16
                                    local.get 48
                                    i32.const 1
                                    i32.add
                                    local.tee 48
                                    i32.const 4095
                                    i32.and
                                    i32.load8_u
                                    br_table 5 (;@11;) 5 (;@11;) 7 (;@9;) 2 (;@14;) 8 (;@8;) 5 (;@11;) 0 (;@16;) 5 (;@11;) 4 (;@12;) 3 (;@13;) 4 (;@12;) 3 (;@13;) 0 (;@16;) 7 (;@9;) 6 (;@10;) 8 (;@8;) 6 (;@10;)
                                  end
                                  i64.const 32
                                  i32.wrap_i64
                                  local.set 15
                                  i64.const 0
                                  local.set 50
                                  i32.const 16
                                  i32.eqz
                                  loop (type 2) (param i32) (result i32) ;; label = @16
                                    local.set 15
                                    global.get 1
                                    local.get 11
                                    i32.mul
                                    global.get 5
                                    i32.const 3
                                    i32.mul
                                    i32.const 255
                                    i32.and
                                    i32.const 1
                                    i32.or
                                    i32.rem_u
                                    if ;; label = @17
                                      i32.const 5
                                      i32.const 8
                                      i32.ne
                                      local.set 12
                                    else
                                      i32.const 26877
                                      i32.load8_s offset=28000
                                      local.set 3
                                      i32.const 31
                                      local.get 48
                                      i32.add
                                      local.set 3
                                      i32.const -13534352
                                      i32.const -139977163
                                      i32.const 255
                                      i32.and
                                      i32.const 1
                                      i32.or
                                      i32.rem_u
                                      local.set 23
                                    end
                                    i32.const 255
                                    local.get 50
                                    i64.const 1
                                    i64.add
                                    local.tee 50
                                    i64.const 1
                                    i64.lt_s
                                    br_if 0 (;@16;)
                                  end
                                  drop
                                  global.get 0
                                  i32.const 1
                                  i32.add
                                  global.set 0
                                  local.get 26
                                  i64.const 32760
                                  i64.and
                                  global.get 0
                                  i32.const 255
                                  i32.const 255
                                  i32.and
                                  i32.const 1
                                  i32.or
                                  i32.rem_u
                                  i32.const 1
                                  i32.and
                                  i32.eqz
                                  if (result i32) ;; label = @16
                                    i32.const 63
                                  else
                                    global.get 1
                                  end
                                  i32.const 187205972
                                  if (result i32) ;; label = @16
                                    local.get 8
                                  else
                                    i32.const 96444224
                                  end
                                  i32.const 255
                                  i32.and
                                  i32.const 1
                                  i32.or
                                  i32.div_s
                                  i32.store16 1 offset=8
                                  local.get 7
                                  i64.const 32
                                  i64.shr_u
                                  i64.const 0
                                  local.get 7
                                  i32.const 37252110
                                  i32.const 63
                                  i32.and
                                  select
                                  i64.mul
                                  i64.const 32767
                                  i64.and
                                  local.get 34
                                  i32.const 5
                                  i8x16.shr_s
                                  v128.const i32x4 0xffffffff 0xffffffff 0xffffffff 0xffffffff
                                  v128.const i32x4 0x04030201 0x08070605 0x0c0b0a09 0x000f0e0d
                                  local.get 30
                                  i32.const 3
                                  i32.and
                                  select
                                  i64.const 0
                                  i64.const 32760
                                  i64.and
                                  v128.load16x4_s 1 offset=4000
                                  v128.bitselect
                                  v128.store 1 offset=1
                                  br 13 (;@2;)
                                end
                                i32.const 2557
                                local.set 52
                                i32.const 0
                                local.set 51
                                block ;; label = @15
                                  loop ;; label = @16
                                    local.get 51
                                    i32.const 2
                                    i32.ge_s
                                    br_if 1 (;@15;)
                                    local.get 51
                                    i32.const 2
                                    i32.add
                                    local.set 51
                                    local.get 52
                                    i32.const 16
                                    i32.add
                                    local.set 52
                                    i32.const 2456
                                    local.set 54
                                    i32.const 0
                                    local.set 53
                                    block ;; label = @17
                                      loop ;; label = @18
                                        local.get 53
                                        i32.const 4
                                        i32.eq
                                        br_if 1 (;@17;)
                                        local.get 53
                                        i32.const 4
                                        i32.add
                                        local.set 53
                                        local.get 54
                                        i32.const 1
                                        i32.add
                                        local.set 54
                                        local.get 54
                                        i32.const 0
                                        i32.shl
                                        i32.const 32767
                                        i32.and
                                        i64.extend_i32_u
                                        i32.load16_u 1 offset=8 align=1
                                        local.set 23
                                        i64.const 7
                                        local.set 27
                                        local.get 23
                                        local.set 2
                                        br 0 (;@18;)
                                      end
                                    end
                                    global.get 0
                                    i32.const 1
                                    i32.add
                                    global.set 0
                                    table.size 1
                                    i32.eqz
                                    local.set 29
                                    i32.const 1988
                                    local.set 56
                                    i32.const 1
                                    global.get 5
                                    i32.const 37
                                    i32.sub
                                    i32.add
                                    local.set 57
                                    i32.const 0
                                    local.set 55
                                    block ;; label = @17
                                      loop ;; label = @18
                                        local.get 55
                                        local.get 57
                                        i32.ge_u
                                        br_if 1 (;@17;)
                                        i32.const -1
                                        i32.const 185855621
                                        i32.gt_s
                                        local.set 5
                                        local.get 56
                                        i32.const 2
                                        i32.add
                                        local.set 56
                                        local.get 55
                                        i32.const 1
                                        i32.add
                                        local.set 55
                                        br 0 (;@18;)
                                      end
                                    end
                                    global.get 0
                                    i32.const 1
                                    i32.add
                                    global.set 0
                                    local.get 52
                                    i64.extend_i32_u
                                    v128.load16x4_s 1
                                    local.get 9
                                    local.get 4
                                    i8x16.le_s
                                    local.get 17
                                    v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000
                                    i8x16.lt_s
                                    i64x2.sub
                                    i8x16.shuffle 10 23 26 24 2 13 24 17 12 27 25 24 15 28 31 3
                                    local.set 9
                                    i32.const 6492
                                    local.get 22
                                    i64.const 4294967296
                                    local.get 32
                                    local.get 52
                                    select
                                    i64.sub
                                    i64.store32 offset=100
                                    i64.const 5
                                    i64.eqz
                                    f32.reinterpret_i32
                                    global.set 3
                                    i64.const 8
                                    global.get 6
                                    i64.const 8589934592
                                    i64.sub
                                    i64.add
                                    local.set 59
                                    i64.const 0
                                    local.set 58
                                    block ;; label = @17
                                      loop ;; label = @18
                                        local.get 58
                                        local.get 59
                                        i64.ge_u
                                        br_if 1 (;@17;)
                                        local.get 58
                                        i64.const 8
                                        i64.add
                                        local.set 58
                                        local.get 48
                                        local.set 2
                                        global.get 5
                                        global.get 5
                                        i32.sub
                                        local.set 10
                                        v128.const i32x4 0x3f800000 0x3f800000 0x3f800000 0x3f800000
                                        local.get 58
                                        i64x2.replace_lane 1
                                        local.set 34
                                        i32.const 7
                                        i32.const -258473445
                                        i32.mul
                                        if (result i32) ;; label = @19
                                          local.get 0
                                        else
                                          local.get 2
                                        end
                                        local.set 0
                                        global.get 6
                                        local.set 13
                                        global.get 7
                                        i32.const 63
                                        i32x4.shr_s
                                        local.set 4
                                        local.get 1
                                        local.get 48
                                        i32.shr_u
                                        local.set 20
                                        local.get 52
                                        i64.extend_i32_u
                                        i64.load8_u 1
                                        local.set 26
                                        br 0 (;@18;)
                                      end
                                    end
                                    global.get 0
                                    i32.const 1
                                    i32.add
                                    global.set 0
                                    br 0 (;@16;)
                                  end
                                end
                                global.get 0
                                i32.const 1
                                i32.add
                                global.set 0
                                local.get 4
                                local.get 0
                                i32x4.shr_s
                                local.set 17
                                i32.const 16
                                local.set 21
                                br 12 (;@2;)
                              end
                              v128.const i32x4 0x00010001 0x00010001 0x00010001 0x00010001
                              i32x4.all_true
                              local.set 2
                              br 11 (;@2;)
                            end
                            i32.const -92096969
                            local.get 6
                            i32.shr_s
                            local.set 12
                            br 10 (;@2;)
                          end
                          local.get 19
                          local.get 13
                          i64.or
                          local.set 28
                        end
                        global.get 6
                        local.tee 18
                        local.set 18
                        br 8 (;@2;)
                      end
                      global.get 6
                      global.get 6
                      i64.add
                      local.set 26
                      br 7 (;@2;)
                    end
                    local.get 49
                    i32.const 1
                    i32.shl
                    i32.const 32767
                    i32.and
                    i64.extend_i32_u
                    i32.load16_s 1 offset=8
                    local.set 0
                    br 6 (;@2;)
                  end
                  i32.const 8
                  i32.const 255
                  i32.add
                  local.set 5
                  br 5 (;@2;)
                end
                i64.const 7
                i64.const 31
                i64.xor
                local.set 24
              end
              i32.const 65535
              i32.const 31
              i32.add
              local.set 8
              br 3 (;@2;)
            end
            i32.const -45726563
            global.get 5
            i32.sub
            local.set 6
            br 2 (;@2;)
          end
          local.get 10
          i32.const 10
          i32.ge_s
          local.set 11
        end
        global.get 2
        local.set 13
        br 0 (;@2;)
      end
    end
    i64.const 1020655170116430063
    i64.const 32767
    i64.and
    i32.load8_s 1 offset=100
    local.set 0
    local.get 19
    i64.const 8
    i64.shr_u
    local.set 25
    local.get 30
    i64.extend_i32_s
    i32.wrap_i64
  )
  (func (;10;) (type 5) (param i32 i64 v128 i32 i32 i64)
    (local i32 i32 i32 i64 v128 v128 i64 i64 i32 i32 i32 i32 i32 i32 i64)
    i64.const 38
    global.get 6
    i64.const 8589934592
    i64.sub
    i64.add
    local.set 13
    i64.const 5
    local.set 12
    block ;; label = @1
      loop ;; label = @2
        local.get 12
        local.get 13
        i64.ge_s
        br_if 1 (;@1;)
        local.get 8
        i32.const 1048576
        local.get 6
        i32.mul
        if (result i32) ;; label = @3
          local.get 6
        else
          local.get 8
        end
        i32.mul
        i32.const 32767
        i32.and
        local.get 12
        i32.wrap_i64
        i32.const 255
        i32.and
        i32.load
        i32.store
        i32.const -128
        i32.extend16_s
        i32.const 255
        i32.and
        i64.const 8
        i64.store
        i32.const 729
        local.set 15
        i32.const 7
        global.get 5
        i32.const 37
        i32.sub
        i32.add
        local.set 16
        i32.const 0
        local.set 14
        loop ;; label = @3
          i32.const 0
          ref.func 6
          table.set 1
          i32.const -105884144
          if ;; label = @4
            local.get 15
            i32.const 1
            i32.shl
            i32.const 32767
            i32.and
            i64.extend_i32_u
            i32.load16_u 1 offset=100 align=1
            if ;; label = @5
              i32.const 0
              i32.eqz
              local.set 0
              local.get 15
              i32.const 0
              i32.shl
              i32.const 32767
              i32.and
              i64.extend_i32_u
              i64.load 1 offset=4
              local.set 1
              local.get 6
              local.set 6
              local.get 0
              local.get 4
              i32.add
              local.set 4
            end
            local.get 15
            i64.load32_s offset=64
            i64.const 32760
            i64.and
            i32.load 1
            i32.const 1
            i32.and
            i32.eqz
            br_if 0 (;@4;)
            local.get 15
            local.get 12
            i32.wrap_i64
            i32.const 0
            i32.shl
            i32.const 32767
            i32.and
            i64.extend_i32_u
            v128.load32_splat 1 offset=4000
            local.get 15
            i32.const 1
            i32.shl
            i32.const 32767
            i32.and
            i64.extend_i32_u
            v128.load16_splat 1 offset=4
            local.get 10
            local.get 10
            local.get 2
            v128.bitselect
            v128.bitselect
            v128.store offset=64 align=1
          else
            local.get 15
            i64.extend_i32_u
            i32.load 1 offset=24
            i32.const 7
            i32.rotl
            if ;; label = @5
              local.get 15
              i32.load
              local.set 4
              local.get 2
              local.get 10
              i8x16.swizzle
              local.set 10
              i32.const 2000
              i32.load16_u offset=8 align=1
              local.set 4
            else
              local.get 15
              i32.const 0
              i32.shl
              i32.const 32767
              i32.and
              i64.extend_i32_u
              i32.load 1 offset=100
              local.set 8
            end
          end
          global.get 0
          i32.const 1023
          i32.and
          i32.eqz
          if ;; label = @4
            return
          end
          i32.const 2977
          local.set 18
          i32.const 9
          global.get 5
          i32.const 37
          i32.sub
          i32.add
          local.set 19
          i32.const -3
          local.set 17
          block ;; label = @4
            loop ;; label = @5
              local.get 17
              local.get 19
              i32.ge_s
              br_if 1 (;@4;)
              i64.const 7
              local.get 12
              i64.or
              i32.wrap_i64
              global.get 0
              global.get 1
              i32.and
              local.get 14
              i32.eq
              i32.rotr
              local.set 0
              local.get 18
              global.get 1
              local.get 8
              i32.xor
              i32.const 31
              i32.popcnt
              i32.and
              i32.store
              i64.const 0
              local.set 20
              local.get 10
              local.get 17
              i32x4.shr_u
              i32.const 5
              i32.const 0
              i32.const 134194708
              i32.add
              local.get 9
              global.get 2
              i64.ne
              loop (type 9) (param v128 i32 i32 i32) (result v128 i32 i32 i32) ;; label = @6
                local.set 0
                local.set 4
                local.set 8
                drop
                global.get 7
                v128.const i32x4 0x3f800000 0x3f800000 0x3f800000 0x3f800000
                local.get 10
                v128.bitselect
                local.set 11
                global.get 2
                local.set 1
                local.get 15
                i32.const -1
                i32.mul
                local.set 3
                local.get 10
                local.get 10
                i32x4.extmul_high_i16x8_u
                table.size 1
                i32.const 3
                i32.and
                if (result i32) ;; label = @7
                  local.get 15
                else
                  i32.const 255
                end
                i32x4.replace_lane 0
                local.get 7
                global.get 0
                i32.le_u
                v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000
                i16x8.all_true
                i32.shr_s
                local.get 8
                global.get 0
                i32.shr_s
                if (result i32) ;; label = @7
                  local.get 14
                  local.get 17
                  i32.lt_u
                else
                  i32.const 7
                end
                i32.const -196698753
                global.get 0
                i32.lt_u
                i32.const 32760
                i32.and
                i32.load8_s
                local.get 20
                i64.const 3
                i64.add
                local.tee 20
                i64.const 3
                i64.lt_u
                br_if 0 (;@6;)
              end
              local.set 6
              local.set 7
              local.set 6
              local.set 11
              global.get 0
              i32.const 1
              i32.add
              global.set 0
              local.get 18
              i32.const 16
              i32.add
              local.set 18
              local.get 17
              i32.const 3
              i32.add
              local.set 17
              br 0 (;@5;)
            end
          end
          global.get 0
          i32.const 1
          i32.add
          global.set 0
          local.get 15
          i32.const 16
          i32.add
          local.set 15
          local.get 14
          i32.const 1
          i32.add
          local.tee 14
          local.get 16
          i32.ne
          br_if 0 (;@3;)
        end
        global.get 0
        i32.const 1
        i32.add
        global.set 0
        local.get 12
        i32.wrap_i64
        i32.const 1
        i32.shl
        i32.const 32767
        i32.and
        i64.extend_i32_u
        local.get 2
        v128.store 1 offset=100
        local.get 12
        i64.const 1
        i64.add
        local.set 12
        br 0 (;@2;)
      end
    end
    global.get 0
    i32.const 1
    i32.add
    global.set 0
  )
  (func (;11;) (type 4) (param i64 i64 i32) (result i32 i32)
    (local i32 i32 i64 i32 i64 v128 i64 i64 i64 i32 i64 i32 i64 i64 i32 i32 i64 i64 i32 i32 i32 i64 i32 v128 i32 i32 i32 i32 i32 i64 i64 i64 i32 v128 i32 i32 i32 i64 v128 v128 i32 i32 i32 i32 i32 i32 i32 i64 i32)
    block ;; label = @1
      i64.const 16
      i64.const 32767
      i64.and
      i64.load 1
      local.get 4
      i64.extend_i32_s
      i64.xor
      i64.const 32767
      i64.and
      i64.load8_s 1 offset=28000
      local.set 16
      i32.const 0
      local.get 35
      i32.sub
      memory.size
      i32.mul
      i32.const 255
      i32.and
      local.get 25
      i32.const 1
      i32.rem_u
      global.get 1
      i32.const 32767
      i32.and
      i32.load16_s offset=4
      i32.ge_s
      i32.store16
      i32.const 63
      local.get 22
      i32.const 255
      i32.shr_s
      local.get 40
      i32.wrap_i64
      i32.sub
      i32.rotl
      local.set 2
    end
    i32.const 255
    local.set 6
    global.get 7
    v128.const i32x4 0xffffffff 0xffffffff 0xffffffff 0xffffffff
    global.get 7
    v128.bitselect
    i16x8.extract_lane_s 1
    i32.const -7
    i32.div_s
    local.set 35
    local.get 38
    local.get 11
    i32.wrap_i64
    i32.ge_u
    if ;; label = @1
      local.get 10
      i64.const 31
      local.get 21
      select
      local.get 1
      i64.extend32_s
      i64.ge_s
      local.get 28
      i32.rotl
      local.set 31
      i32.const 2486
      local.set 44
      i32.const 400
      global.get 5
      i32.const 37
      i32.sub
      i32.add
      local.set 45
      i32.const 0
      local.set 43
      i32.const 100
      local.set 43
      loop ;; label = @2
        local.get 44
        local.get 6
        local.tee 4
        i32.const 144
        memory.fill
        local.get 33
        local.get 16
        i32.const 0
        i32.const 63
        i32.and
        select
        local.get 15
        i64.const -190047691311676931
        i64.add
        i64.const 637370951849439012
        global.get 6
        i64.lt_s
        i32.const 4
        call_indirect (type 4)
        local.set 22
        local.set 2
        i64.const 5
        local.tee 0
        i64.const 8
        i64.extend8_s
        global.get 5
        i32.const 3
        local.get 35
        select
        call 5
        local.set 2
        local.set 27
        local.get 44
        i32.const 2
        i32.add
        local.set 44
        local.get 43
        i32.const -1
        i32.add
        local.tee 43
        br_if 0 (;@2;)
      end
      global.get 0
      i32.const 1
      i32.add
      global.set 0
    end
    i32.const 4000
    global.get 5
    i32.const 37
    i32.sub
    i32.add
    local.set 47
    i32.const 0
    local.set 46
    global.get 7
    local.get 36
    i32x4.lt_u
    global.get 0
    i32.const 32760
    i32.and
    i32.load16_u align=1
    i32.const 15
    i32.and
    if (result i32) ;; label = @1
      local.get 46
    else
      global.get 0
    end
    loop (type 10) (param v128 i32) (result v128 i32) ;; label = @1
      local.set 4
      local.set 8
      i32.const 2
      ref.func 5
      table.set 1
      i32.const 903
      local.set 49
      i32.const 0
      local.set 48
      block ;; label = @2
        loop ;; label = @3
          local.get 48
          i32.const 48
          i32.ge_u
          br_if 1 (;@2;)
          local.get 19
          i64.const 0
          i64.mul
          local.get 7
          local.get 10
          i64.or
          i64.shr_s
          global.get 1
          i64.extend_i32_u
          global.get 6
          i64.extend32_s
          i64.and
          i64.le_u
          local.set 12
          global.get 2
          i64.eqz
          local.set 17
          local.get 31
          local.get 46
          local.get 2
          select
          i64.const 7
          i64.eqz
          i32.mul
          i32.const 255
          i32.and
          local.get 46
          i32.const 27624362
          local.get 14
          i32.rotl
          i32.mul
          i32.store offset=8
          local.get 49
          i64.extend_i32_u
          local.get 49
          i32.const 2
          i32.shl
          i32.const 32767
          i32.and
          i64.extend_i32_u
          i32.load16_s 1 offset=8
          i32.store16 1
          local.get 49
          i32.const 1
          i32.add
          local.set 49
          local.get 48
          i32.const 3
          i32.add
          local.set 48
          br 0 (;@3;)
        end
      end
      global.get 0
      i32.const 1
      i32.add
      global.set 0
      local.get 20
      local.get 34
      i64.add
      i64.const 32760
      i64.and
      i32.load 1 offset=1
      if ;; label = @2
        i32.const 3
        i32.const 2
        i32.sub
        local.get 15
        i32.wrap_i64
        i32.add
        i32.const 32760
        i32.and
        global.get 7
        v128.store64_lane offset=28000 1
      else
        i64.const 2
        global.get 2
        i64.const 892673197361375464
        i64.shr_s
        table.size 1
        i32.const 3
        i32.and
        i32.eqz
        select
        i64.eqz
        local.set 17
        i32.const 1517
        local.set 51
        i64.const 0
        local.set 50
        i64.const 14506
        v128.load8x8_s 1
        i32.const 31
        i32.clz
        global.get 1
        loop (type 11) (param v128 i32 i32) (result v128 i32 i32) ;; label = @3
          local.set 31
          local.set 23
          drop
          memory.size 1
          i32.wrap_i64
          if (result i64) ;; label = @4
            local.get 5
          else
            global.get 2
          end
          local.get 7
          i64.add
          i64.const 7
          i64.const 6
          i64.div_s
          local.get 24
          i64.shr_s
          global.get 6
          i64.eqz
          select
          local.set 9
          local.get 51
          i64.extend_i32_u
          i32.load16_s 1 offset=4
          if ;; label = @4
            i64.const 3206
            i32.load 1 offset=1
            local.set 39
            global.get 1
            i32.popcnt
            local.set 29
            local.get 16
            i64.eqz
            local.set 35
          end
          local.get 51
          i32.const 4
          i32.add
          local.set 51
          global.get 7
          local.get 41
          local.get 46
          i32.const 15
          i32.and
          select
          i16x8.extadd_pairwise_i8x16_s
          global.get 1
          i32.const 10
          i32.const 1
          i32.eq
          local.get 12
          local.get 51
          select
          local.get 50
          i64.const 1
          i64.add
          local.tee 50
          i64.const 1
          i64.lt_u
          br_if 0 (;@3;)
        end
        local.set 25
        local.set 29
        local.set 42
        global.get 0
        i32.const 1
        i32.add
        global.set 0
        local.get 9
        local.get 40
        i64.shr_u
        local.get 33
        i64.mul
        local.get 11
        local.tee 33
        local.get 46
        i32.const 3
        i32.shl
        i32.const 32767
        i32.and
        i64.extend_i32_u
        i64.load16_s 1 offset=4000
        i64.or
        i64.ge_s
        local.set 23
        local.get 20
        i64.const 32767
        i64.and
        i32.load 1
        global.get 0
        global.get 1
        i32.xor
        i32.shl
        local.set 2
      end
      local.get 23
      i32.const 32767
      i32.and
      i64.load32_s offset=4
      i64.const 32760
      i64.and
      v128.load64_splat 1
      local.get 46
      local.tee 3
      i64.const 2
      i64.const 5
      i64.gt_u
      i32.xor
      local.get 46
      i32.const 4
      i32.add
      local.tee 46
      local.get 47
      i32.lt_u
      br_if 0 (;@1;)
    end
    local.set 18
    drop
    global.get 0
    i32.const 1
    i32.add
    global.set 0
    table.size 1
    local.get 12
    i32.const 255
    i32.le_s
    i32.const 5
    i32.const 7
    i32.shl
    i32.add
  )
  (data (;0;) (i32.const 0) "1\96\a3\d1\c3\f1E86?k\12\c2\da\e1\f6 \eb\f8\e8\0c\c7|\ebu\ba\1f{\08\e8\f3\e6E\f0\abp\b5\a7!M@G\0b\14P\0a\e9\99\8e_\eb\9e\97\ab\9bM;\fc\0c\86+\90\05\03\f6\11\01Z\ec\b7\e5\e2\e7\00~:\cf\dc\02\a4\de{N\16,\d0,PXNjU\9dM\96I\fcq\a0\f4\b9\89]\06G\0b\1b\f0\e9\da\ce\98\a8\bb\1d\e6\fd;w\c3\e2\9cl\d2\9b\9d\89|M\f0\ce\ea\a6\ed\07\a8\03N\92\ea\1f\df\13\fdU\d7Wh!\86nc\1a\0c\10\f2\a1\08`\b79\90\9e[\f3o?\22\91\99NqD\a9\8e\ac@\d9v\22y\0fy\0f\f3\8c\bc\a7\c0\f3o4\e1\84\e2\bc\abTza\b6Y\ad\f2f@\c8\0d\d9\0b\f9\1bP\82\e7\8cq\8e\d8\b2E\5cU\a2\1eV\95\d6\91\f5nO\1b\07$\03\b9g\95ie\d5\ce#\ea3\1cfB\dby\db\ca\19\0d\c3\ab\dd\ea\e9\9b\e9/\bb%\f54a\1b\96M\c6G\0c \ac\ba\5c\af\c6s\a6\a4\db\df!\fc\85\8b`\03\da\89\00q\a5\f3\bf\1c\00\92NO\a4\c1\b8\0cI\c7qn\ea\e4\fb\9akT\13\06\a9\12\81\98\a2\c3\e9c\d14\dby4\ae\fai\c9e\07\c4\b0|\03\cf\c4\e8kG\e4T.\e8\80\e2\1e\1b\ee\19\bc\d8\a9!X\85k\ff\88\b6\b4\a0#\bb$\ef'\d6C\8a\94\06!\a9\1a3P\f5A\8d.,N\13\88\f6g\d9\11pS\e0\b1\14\96\0b\b9\01P#no<\ab\fa\a5,H\16G\fd\1cp9\c9\0b\99z\11\b3\89e^,\a48h\cbsT5\b1\1f\831/}\bb2\9fo\cdpf\9b\1f\b3\bbuT\a6\c2\ea#\c4\bbe\0c\e2\18\cc\98\1e\1b\dd\06\b0\cd\8cgH\b4\a7\c9O\be\17\e7h\c7\17\9b\0co\cb\09F\1f\bd\f1\b1o\d3\22\f2\b9\0a\ae\d7}\f5\f5\d9\97sO\f2i\83F\98\9fqP=\aa\11bA\a0uR\16\86\02\fc\00\d3W\aa\a2F\86\b8\fd\e4H\11\bdq\0c~\96P\e3w\84\979\22\14\fd\e7y\eb\a6\5c\0a\95\9c\e7'M\17\9c\10\a7\8bx\04F\da#7'\da\f2\b16\cf\edZ\98\f6\c7\f2\c9K\8c\94\9f.\13[\01\9d\09cQ \d3\1f-\02\f9\98\15\ec \19\12\c1\05J\0c\04\f4\08)\d8\fdg\8f\9d\07\d4\e7\0a\93(\c9\09\99R\c0\a7\80\db)A\22\dd\bd\aa\ea\a2\c2tpG\90\c4=\c12:\ec\fa[\9f\82\bd^f-\b3-\7ftr\8d\f8\0em\d9\f5\9d7Ri\f3\14|\c8Ad\a4\d2\a2\19\ba\c0_,\01\85\eakP\a0\9ew\05\d1\ff\f4X[\80\0f\04g\e5\e3p\11\ac\db<\87HrG4\81\94\f9\b5H\c8\a7(\d9\87xr\0dFv\e4S\00H\aa\bbQ2E\9b\caf\cf\94\a8.\d8\02\d2\98Q\14\81\f1\0d\9c\a8o/\c7\fcu)\97#\95LQ*H\93\d3Z\8d>\87\0b\fe\b2\b1J\ca~c\a7\16u\81`\94\df\cc}\1b\a5\08\da/\ae\1c\b3@\1a\d8\89\ef\f2\95\ceZ\98\fa\9e&\b4\ef\96\bc\05\8b,\be\d1\cf\5c\03';:\8a\10\b8\11\a6\e3=\e5.\11t\97;\bb:!\91\a5\1f\a7\c5\fa\88\9fB\f4j1%\c1\daX\08\d8\ce\e9/\00qe\14\bf\1ca(J\98\02o\0d\fa9f|Db1\1a\b9)\a9\9f\f2\ce\a37s`\1aB*\c5D\c6w\0ay\e5\c1\15\9cb\cdGG_\99\1b<\dd\cb\eaJ\f8;\a9\cc\f4\8d\b0~~\fe\84\1b\98\ec\9b\e6U\c2;\8f\90>\9d\7f\c4\146~\89\e9\03\5c[\10\b9&\d4{T\e9\fcyy\9b\18)1\b7\894\c9\9c\13\f2\be\d0\c7\b2\b1\8b\0cZ\01\f8\06h|\aa!\e1\06 \f9\b5\fb;\fd\ce[M\e4\0ar\ca\f7=\fb\bed R\824R\a0\ed\fe\bc\15^u/\ec\5c\94\f7\0cS9\bc\d7Q\c6\89\d1nQ\f2R\adP\14\9e\9c\11\f0\22L\e4X`\0e\beb\0b\96\ea7\8d\07$f\a3\f9\f2S\c6\8b]\fd=Q\cb\0a\1b\a1\c0\87Y+\bb\b2i\13\eb\ed\01\14S\f1\a3\16\ab\9d\f3\a9\c0\aa\07\97)\b8\16\e1\9e\db>8\f8\a3\0a\98\d6\a6\a3~\1bl|U8\1c\de\c2\9b\8b#^\dd-1G*\15m\c0\07\acR\caA\08s\93\f9c\d0\85\e3\f2\cd\fe\cbq\9e_go\bd\ca\13\a5\81\11\9aHE)\fa\8b\08t#\d74\92\fb\01\5c\04\1b,\82\c3\13\b5>\8a\e9O\b00\f0\1a\1b44\d1\d6\d4\f7\8ah\01f5\1a\ab\a5\ea\da+i\96p\ab14K\a3fG\07\f1\c4\00V\e5\baMr\cb#\88\c6X\b1\86\1d\c9\f2dE\85P\88\e9\12\fea\f9\17\a2\f0\b7\0d2\d0\ba\ddX\bd$\0a\b2\dd\c8H\13\ee\bf\da\aby\f0\9b\c2\bf\c0V\f2\e0\d5\ca\ac\a2\da/#>\91\04\5c\be\ad\ce\fd\22\c6m\006\f4\cb}\df'n'\9c\e6\f91\15\a1\96dK\b5&`z\c2I\a1\848|e&\ea\19Y\b43\9cd\00\f5\e5\b60\cfr\19\e7vZ\a4\a4\e4\bbvn!\01\cb_\c7rs\22\13\d5\14\f6\07Gm\91Sx]$\b3\d4\fa\15\88.b\16\80 \9b\b56\a7\9b\ab?\10\d2\b3\05\db\5c?\ce\b2\d9\b7\ef*\a3\db]\94PB\d9\a4y\b3\ebA\c1\a8\f9\d5&\87\cd\97\faW\b2\fb|\0b\16\b3h\ee\bd\94x\f2\8a5\89\f6\c0\f4\c7{\f3E\10n\fb\c6,\9d\1f=\09\02\f7dm\96Z9\0f\e1\b3i\c3T\03\f9\ae\fboV`x8\87g\cf\a7\97\9a\9c\ca\834e\85C\b8_I`\acQ\ab\a3\1a:\02L\c1\e9\86\8d\b3\98m\8a\0bSV%2\ad\d0G\90\1e\b8\c9\c6\96\fa\1f\97*\ba\adi\f6\b1\a1\1a\0f\01\a7t\fc\b8\d2\8bY\fcs\06\c5ds$\14/\1bZ\06\03\f0\0d\d4\d5;\af\d8\ea\1a\0d\016\aaI\bd\bb\f9z\08\c7\80\0c\cb\a8]\e1\a3\d8\dc\fc\c6\d3\c5\a1\89\86\b5\7f\d2\5c\1d|xHU(\cfN\9c\b8\1f*\11\f8A\8e\07\db\9f\86\c2\db\aa\d2\04\dc\bfB%\9e\07NOo\ae\8c\91\a4!)\8a\165+\f5[\87\9a\cf\96\cd\f7\14\00\c0\a7F.qD\e8\ca\9d\81\fe\9bq\ff\8d\f3A\e1\82\a7zB\b4$\1d\d6Mu6\d1]\b2a\0c\81\94\80\90;\e0\12\f4V\83 \efxd\ba-\f3\8d<i=\c2(\9c\ad,\f2.\c7W\d3q\ff\1c\c77@\d9\98B\82\c8\f1\8dyZ\01:\ce2\09\e7H5\e3\c9`\bcR9 {#\08\ffc#_;8\d7\91\fb\b8!\908\c1\09\f2g\db\014\bdg\b1\c6\96\a7Z1\d3\a4\bc\9f\dd\ceh\c6\87\9b\b4\00\0d.\b4c\e9\b0\12g.\cc\858/\df\e7N\cfw\cce\c6\01)\b1\98\f7\c0\91\08\5c\08\b4VW\05\dcD\17\97J\04!{\afN<u\c0'\1c\bb\de\01\8c\bf\ab\0bw\96\c9K\db]\c7x\b3M\02\dc\1c\a8\22\f0'\afEi\5c-\af\0a\fe\22\f5'\caP\88xNiC\142N\fb\eb\a7\cev]H\1e\14'\d5\b8\a6\c2\d63\f2g8H\a5\01\22\8f6\ee\c0\bd\d7\92)W\e2\c2\e6m\94\d4}\aes\06$\edN&\c3\c9:\12\9a\a0y\a0\0d\10\e2\af\ee\0b\cf\06\af\e9\97<P\a47N\a5.\03\a3z\b4\c7U\8c\07rb\b0\8fCO\d3\e1\8aGp\b9\f9e\06\f5\90\d2\9c\9b\82\e5\f5\d6\d9q\ae\be\ed\093\04\d9S\ea$\f9K\ff\f1\d7v\ff\96\0e\9b\ef\1f\a45\95\17\ba\f4)\b0nk\8c^\d0\08 <\8e\0cbn\c1x\fb\c5e\c1\ff\81`f\d3\06\c0\f9V\cd0d \f4\c1\1b,'8\ac\f7\7fF\ad\809\e3\07\9aj\ba\a3\8eU\f1\bf\84\e3\b46\e6\8a\1b\c4\8b\95\ea\b6\b4\9f\b5s\84B\07\e4\dd\03g\b8'\88r\18\19Q3\d7Fd\ae\fbt\f4\88\882\0f\9f\bc\c5\8eQ\e6\da\e6|\af\a6W2\dd\95\05\dav\ad\8bEc\9bn>\98\e8\8e\83\a6H]\c9\cc\15ZF\f1\0b$\87I\04yFtgX\bay\17Jn\ec; H`7|\e7L\bb\d3\c0\db\fdJ\8aB\a9\87<C\17\a2\d0\0c\a2\9a\b8\c7j\b8M\e4\c8\b8\f0u+\fe\a8\8f\88\d9\d9D\0eE\03\d3\13K\cc$\01\c5\fc\f9\86\bekT\c3\1e\5c\86\06x\87\94\df'/Z\fc\ae\0f\ba6A\ad\83\b7\d7\96\9e\86\f2\07\c9\e8,\bd\b2:-N\efC\96\01T>A\d4\0c\1d\09\a7\8e\04\c0\c1\90&\15tt\18\1cWj\04\d6\94\a1\9a\02\ec\d4\f4F\1b\e2d[\cdY\8b4\10U\ba\91\95\aal=\96f3\a1\b0\c4\9c\f5\d6\df\14Q\e1ZwR\09\d15\95\b6<i\ccCe\bf\e5\b5\c7\c4\da\96b`\9b\8d\0eS\e7\c2\ec\c86\fc\c4T%\e8+\b4\82\b9\15\f2or\da\be\98X\82\8aB\b3x\e1p3\cas\a9h\d4\b2v\f9\e6\15uM\15\f3<'\86\ab\e1s7\a4\a4\a5\83\072\c4\18\a2\149z\f2z`\b0\13*w\det\92\c7\cb\a6\bda\00\c1~\90o\a9\b9'sd\b4\14\e1\a5\a0\fc\11\e2/E\cf:\9eg4\f8`-?)PL\e8+\84+U+\d3\04\a8\e5\d72\bf\5c\e8\9b\e9H\de\fe\8a\8fj`(}\09\faw\ab~\03i\f6\067\ed:`\bf\de\f8\898\d2\96=P\0c\cf\ce\da\fb\1a\aa1\ce4\93\a91%\8a\17\0d\c47\cd\9f\a3\94c\c0@\d5\fa\f8w\acc\89\95.\a76\18\aa\ca\cb\5c\f1O9k\06\aco\87\0e\a3\e8\b1\b8D\a1\1d$\b5By\ba\de\1b\e5\be\81o\bf\0a\ad\8a \cc\cb\d7\93\93\0d\ea\f1\e0j\d2T\c4\a1\04<MQ3\1b\bak\bd,\c7\09\10I:\ef\ab\0c\d7\cc\81O[\010DK\86\97\1fyn\80:Y\15\7f\d0@\9d\cb\a8y\9c\9a\ae\18Y\14\1ec\cd\12\d5\d3Dx*\90m\12\ba\0bP\95g\b9)\00\13\22cW\81\c3\fc\bf\1dy\b3\98\0eP\afel\18\99\ac\15\f5&\fa\0c(\0f)\d0q\d0\f7 \a1X\90p\a3\97\15\c6\d0\dc\c5\df,\07\865Z9\a0\b1Vy\f1Oa-\17\ba\83\ba\a7\e2\89\b4H\de^\05s\c3\c8T\cb&\10X\f97wM{A\db\11\85\08\ef\8d[g\8b\1f\b3\ca~\93\a0\96\d8\8b\a2\00\00\83 \5c\1eX\a6\0c\9cd<!4{\15\cd\cds\e0\01$kbWa^%8\ea\8f\12\e7\1c\7f\89d\8a\a1\86\b6\a9\90\b4i\a3\bci\b2\1b\f9(]X\060S\e4\a2,\d37\b6\1cv\eeN\c0\bb\0a\c6\ce\8f\bd\09\d3fJ\d8\e2\97\93KtF\85S\9dg\19C\22\c3\8e\e6\f8\9d\99\e3\c8\c0\b4\eeU0\dfKAs\97\0dj\06]\d4\b7\f0b\00\14\f86iRO\f71\1dG\f8\a6\b6\cdH\0c\f0\be>\d1\b3c\86\e91\c2\e0\b1?\10\15/ \e9\22N9/=\8do\a1\1ej\fa\df\af\95c<\a8%=\ce\14\fa6\dc\eat%\f3\09\a5\09\d7\ed\c9\f5\df\89\1b\18\d6\bdnE\84\c4LTpO\07\b5\96\dd\22\0b\ad6{\e2\f7\f4 \0b\c2\e9GZ;\01\ff!m\1d\82\8e\93.L\d3;\81\1f\93\d5\a8\1dDh\8a4\97\c3wk\dc\06\862\femYd\05t\ac5+\bc\a6\18XK<\f6w\0c\ad\d9b?\e5\a2\99R+a\91\ea\ff\d8\ea\f6\ef\fa}\b6\175\a0\80\b5\d7\87S\89\d8A\94\02\b3\a6\aa\89\cb&\97\fd]\f6d.M^`\c85\c9.\d2\15\9b\89{<\a0A7\bf$\1a\1f\c3q\c9g\8c7\85\80\c9\d3a)\ac`\ff\1d\05\9eqJ0\7f\b5\cd\fdQ\95\95\9b4\b2:J\86\fdb\cf\8c\88\8bY\96F\bd\b9e\c6\ec\ee!C\ed\bb\9e\1cN!}\c7\8e\1a\11\be\10\b6\d2\a57R=d\80\84\ff\b0\a7!\05\c5\d7\de\f93\8f\14\87\84\03\d0\0dPA\14%\9b\05l*\d3\d9h\c3\cf\07*\fa\e3%\10\e0|\82\97\af;zxe\82U\e8\cb\a6\f8\bf@]\da\f6\1e\9c\8bo\92\f9\e7\1b\c8-\cb\c2\e8\0d\f4\d1;(\83\ab\f2g\f0\ba\ea\dfybNo\a4\17\bb\12s!\a2\0c\85\af6`Av\bf\03\91zD\a9(5\e5\d0\89\fa\86\9a\d9q\8f\10\97\f19\c8\b2\d5b\ed\b8a\06\a3\c9\0d\f9g\f9\06\94,\c1\8c{\cf\e0w\d7\df\08v\fe\90\c1\a8(8Q\a8\90\cf\f6.\ad'\14F\1c4\a1\1f@\e7i\c7R\b4H\e6\a5\f4p\85\ab\09\fc\e6\87\00\92\bc\8f\c4\b3\13I\06f\ad\0c\fa\f5\00c\9e\84\06j\acNV|\9a\c3Q\8c\b9A\9f\dd\12\f4\ad\c6\a8\95\15\0a\a78zc$\be\ad\88\7fE4,\86\d8\14\9agyl\ec~\0c.!V9\9e8\10\df@\10Q\1f\a9j\a3\a4\cd\0e\cf\ef\093/\91X\e0S\e0\22\fbo\7fP7\ca@,F\c7\8b\16\f2\14\f2:\f2M\12Z\8b\f7\89\b0\a6a\b7^\c1,[\8f\ab\98!\95\a0\0d\cd\8c[\01\05\e1\dba\92\88\baf75\0a\1f2\81I\b2\a8\9eD\1dU\c3\85\e4\fd\f8\97\12\ed\83\d2\b8\d4\1a\eb\9c\a8\bd\8b\cc\dbU\ee\edI\d0I(:!\ea13\7f\b3\eb\85b\e6+\e4q\c8\1c3m)\1f\cc\ae\cfjFt\9cvC\a6\b2\b3\85\afH\87>\bbu\f1\c2\16ViA\b1\94\f2\05u;=H@=Vp\91\032\dd\03\fbM*\e2t\8f\041\8c8\e2\c4\ff\a74\9fA\e3\9b\90~\d2)\aa*S\fcb\0ayO[O\a2G\80\9e*G\a8\de\09hq\17-\c7\b3\a2\bb\16\d2O\06Y\19L\c0!\9d/5+^h\0d\b3\c2\a7V\fa=\ffHx\03\dd\0fdu\1b\8edr\cb v\97\19\8e\c4\9aQP3\a3w\a8\8eU\a9\ac\15\ed\04\f4\b6\b2\1a\ebv\c4\8b\e6>\5c_h>k\8b\d7\10\d6)\fai\0d\a1\c1\95\15xT\f4\d3\04/\993\bc6l7\9fO\80_\5c\c6\1a\e4%\d63\d2\bb\a3n\8ee5\e0f\be\10\c1bXS\c77\af=\d8\d0*?\89\d0\d2\be\87\a4\96U3(\e8\c7\0b\88\85\c8\1e1\cd\7fxi\da\f7\96\8f\e6\e1\8d\ea\0a\c6]\a3w\cc\f1\f6O\8a\18|\cc]\e6j\cf\c7\ab\ca\15q\9c\81\a0>\92O\cb\d6\a1A\1a\cc\87?\cb\b1\d5\c8NJ\89\b2\eeH*\f80\dc\f7=\cd\ae\d5\b1\1d\0ci7\fe\f9\e7\9a\ed\5c\95\d5/\0bh<:x\b0\cb\dc)\9f\ab\b6\d1\a9\82\05~ByP>~\5c\c2p\96lT\ab{l{\88l\f2\9d\82\cfHT8\d9\a1`\c0&\97\1bZ\f0\9a|F\8f\fa\b3\ba\c5\ee\ac\ae\c9\17\0d\c7\a5\a1\fc\e8[\a3g\b3\b0\e9\fa\03\dc\86\f0LLc\ec\bf\1a\e1i\e4\cb\0b\04\1e[G\88\88\ee\89\b0\10F\ac\8e\aaCI)7\e1\fe\9a\0c\a0\d4\f0\09\aa\d6\e3\1c\f2\f8Ta\c5+\9f\9e\deq2\ff|\94\0by\fcq2\5c\fae\97\14P~\87\e1.E\8f\edY\fd(H$%\c0{\84\d6\e4\a6\fa\d7\b0\fa\05\9e\cd\81!\d2\12G5n\b1&\c6\c3\02\b9'\f2\bbf\b2")
  (data (;1;) "\01\02\03\04\05\fa\fb\fc\fd\fe\ff\00\07\09\0b\0d")
)
