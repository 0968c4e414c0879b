(module
  (type (;0;) (func (param i32 i64) (result i32)))
  (type (;1;) (func (param f64) (result f64)))
  (type (;2;) (func (param i32) (result i32)))
  (type (;3;) (func (param i32) (result i32 i64)))
  (type (;4;) (func (param i32) (result i32)))
  (type (;5;) (func (param i64 i32) (result i32)))
  (type (;6;) (func (param i64 i32)))
  (type (;7;) (func (param i64 i32 i32) (result i32 i32)))
  (type (;8;) (func (param i32 i64 i32) (result i32 i64 i32)))
  (type (;9;) (func (param i64 i32 i32 i32) (result i64 i32 i32 i32)))
  (type (;10;) (func (result i32 i64)))
  (type (;11;) (func (param i64) (result i32 i32)))
  (type (;12;) (func (result i32 i32)))
  (import "h" "note" (func (;0;) (type 0) (param i32 i64) (result i32)))
  (import "h" "mixf" (func (;1;) (type 1) (param f64) (result f64)))
  (import "h" "reenter" (func (;2;) (type 2) (param i32) (result i32)))
  (table (;0;) 14 funcref)
  (table (;1;) 10 13 funcref)
  (table (;2;) 9 funcref)
  (memory (;0;) 1 3)
  (global (;0;) (mut i32) i32.const 0)
  (global (;1;) (mut i32) i32.const 0)
  (global (;2;) (mut i64) i64.const 3)
  (global (;3;) (mut f32) f32.const 0x1.8p+0 (;=1.5;))
  (global (;4;) (mut f64) f64.const -0x1.2p+1 (;=-2.25;))
  (global (;5;) i32 i32.const 37)
  (global (;6;) i64 i64.const 8589934592)
  (export "cb" (func 3))
  (export "f5" (func 8))
  (export "f6" (func 9))
  (export "f7" (func 10))
  (export "f8" (func 11))
  (export "f9" (func 12))
  (export "mem0" (memory 0))
  (export "t1" (table 1))
  (export "g0" (global 0))
  (export "g1" (global 1))
  (export "g2" (global 2))
  (export "g3" (global 3))
  (export "g4" (global 4))
  (elem (;0;) (table 0) (i32.const 0) func 3 3 3 7 4 4 4 4 5 5 5 6)
  (elem (;1;) (table 1) (i32.const 0) func 3 3 4 4 5 5 5 6)
  (elem (;2;) (table 2) (i32.const 0) func 8 8 9 9 9 9 10)
  (elem (;3;) declare func 0 1 2 3 4 5 6 7 8 9 10 11 12)
  (elem (;4;) func 3 3 3 7 4 4 4 4 5 5 5 6 3 3 4 4 5 5 5 6 8 8 9 9 9 9 10)
  (func (;3;) (type 2) (param i32) (result i32)
    (local i64 i32 i64 i32 i32 i32 i32 i32 i64)
    block ;; label = @1
      global.get 0
      i32.const 32767
      i32.and
      local.get 1
      i64.store32 offset=100
      i32.const 27464
      i32.load offset=4000
      local.set 8
      local.get 6
      if ;; label = @2
        local.get 2
        i32.const 32767
        i32.and
        i64.load16_s offset=4000
        i32.const -1
        global.get 2
        i32.wrap_i64
        block (type 7) (param i64 i32 i32) (result i32 i32) ;; label = @3
          local.set 4
          local.set 7
          local.set 1
          local.get 0
          global.get 0
          i32.gt_u
          i32.const 32760
          i32.and
          i32.load offset=1
          i32.const 32760
          i32.and
          i32.load offset=28000
          local.set 7
          global.get 1
          i32.const 32767
          i32.and
          i32.load offset=4
          local.get 6
          local.get 8
          i32.const 3
          select
        end
        local.set 0
        drop
        table.size 1
        local.set 6
      end
    end
    table.size 1
  )
  (func (;4;) (type 6) (param i64 i32)
    (local i32 i32 i64 i32 i32 i32 i32 i64)
    local.get 6
    i32.const 2
    i32.xor
    i32.const 32767
    i32.and
    i64.load32_u offset=28000
    i32.wrap_i64
    local.set 1
    local.get 5
    local.set 8
    i32.const 8
    local.get 8
    i32.sub
    local.get 4
    global.get 2
    local.get 6
    select
    call 0
    local.set 2
    i32.const 12282
    global.get 2
    local.get 0
    i64.shr_s
    i64.eqz
    i32.store offset=1
  )
  (func (;5;) (type 5) (param i64 i32) (result i32)
    (local i32 i32 i32 i32 i64 i32 i32)
    block ;; label = @1
      block ;; label = @2
        block ;; label = @3
          block ;; label = @4
            block ;; label = @5
              block ;; label = @6
                block ;; label = @7
                  block ;; label = @8
                    block ;; label = @9
                      block ;; label = @10
                        global.get 1
                        br_table 3 (;@7;) 1 (;@9;) 2 (;@8;) 3 (;@7;) 4 (;@6;) 5 (;@5;) 6 (;@4;) 1 (;@9;) 0 (;@10;) 9 (;@1;) 0 (;@10;) 5 (;@5;) 1 (;@9;) 3 (;@7;) 4 (;@6;) 5 (;@5;) 7 (;@3;) 7 (;@3;) 0 (;@10;)
                      end
                      i32.const 3636
                      local.set 8
                      i32.const 5
                      local.set 7
                      block ;; label = @10
                        loop ;; label = @11
                          local.get 7
                          i32.const 29
                          i32.ge_s
                          br_if 1 (;@10;)
                          local.get 8
                          i32.const 2
                          i32.shl
                          i32.const 32767
                          i32.and
                          i64.const 16
                          i64.clz
                          i64.store
                          local.get 8
                          i32.const 8
                          i32.add
                          local.set 8
                          local.get 7
                          i32.const 3
                          i32.add
                          local.set 7
                          br 0 (;@11;)
                        end
                      end
                      global.get 0
                      i32.const 1
                      i32.add
                      global.set 0
                      local.get 1
                      local.get 2
                      i32.rotr
                      local.set 2
                      br 8 (;@1;)
                    end
                    i32.const 20743818
                    i32.const 3
                    i32.shr_u
                    local.set 4
                  end
                  local.get 1
                  local.get 3
                  i32.add
                  local.set 3
                  br 6 (;@1;)
                end
                i32.const 32
                i32.const 32760
                i32.and
                i32.load offset=8
                local.set 3
                br 5 (;@1;)
              end
              global.get 2
              global.get 2
              i64.shr_u
              local.set 0
            end
            i32.const 16
            local.set 5
            br 3 (;@1;)
          end
          local.get 5
          i32.const 32760
          i32.and
          i32.load offset=4000
          local.set 4
          br 2 (;@1;)
        end
        i64.const 504588808823778666
        i64.extend8_s
        local.set 0
        br 1 (;@1;)
      end
      global.get 1
      local.get 3
      i32.rotr
      local.set 2
      br 0 (;@1;)
    end
    local.get 4
    local.get 5
    i32.rotr
    local.get 4
    local.tee 4
    i32.and
  )
  (func (;6;) (type 5) (param i64 i32) (result i32)
    (local i32 i32 i32 i32 i64 i32 i64 i64 i32)
    local.get 4
    i32.const 5
    i32.shl
    i32.const 16
    if (result i32) ;; label = @1
      global.get 5
    else
      local.get 3
    end
    i32.ge_s
    i32.const 2147483647
    local.get 3
    i32.add
    local.get 2
    i32.sub
    i32.shl
    local.set 3
    global.get 2
    i32.wrap_i64
    table.size 1
    i32.mul
    i32.const 63
    i32.and
    i32.eqz
    if ;; label = @1
      block ;; label = @2
        local.get 0
        local.set 8
      end
      i32.const 2811
      local.set 10
      i64.const 0
      local.set 9
      block ;; label = @2
        loop ;; label = @3
          local.get 9
          i64.const 7
          i64.ge_u
          br_if 1 (;@2;)
          local.get 9
          i64.const 1
          i64.add
          local.set 9
          local.get 10
          i32.const 2
          i32.add
          local.set 10
          local.get 0
          local.get 6
          i64.xor
          local.set 0
          i32.const 135913578
          i32.const 255
          i32.and
          i32.load16_u align=1
          local.set 2
          i32.const 952
          i32.load offset=1
          local.set 3
          local.get 9
          i64.const 8
          i64.xor
          local.set 6
          local.get 8
          local.get 9
          i64.rotl
          local.set 0
          global.get 0
          i32.const 255
          i32.and
          i32.load offset=100
          local.set 4
          br 0 (;@3;)
        end
      end
      global.get 0
      i32.const 1
      i32.add
      global.set 0
      local.get 8
      global.get 2
      i64.rotl
      local.set 0
      i32.const -123498315
      i32.const 10
      local.get 2
      select
      local.set 5
    end
    i32.const 248017235
    i32.const 32
    i32.add
    global.get 1
    local.get 3
    i32.and
    i32.sub
  )
  (func (;7;) (type 2) (param i32) (result i32)
    (local i32 i32 i32 i64)
    i32.const -37145452
    local.get 0
    i32.gt_u
    i64.const 1
    i32.wrap_i64
    i32.shr_s
    local.set 3
    block ;; label = @1
      block ;; label = @2
        block ;; label = @3
          block ;; label = @4
            block ;; label = @5
              block ;; label = @6
                block ;; label = @7
                  i32.const -200156639
                  table.size 1
                  i32.sub
                  i32.const 15
                  i32.and
                  br_table 0 (;@7;) 1 (;@6;) 2 (;@5;) 3 (;@4;) 4 (;@3;) 5 (;@2;) 6 (;@1;) 1 (;@6;)
                end
                global.get 1
                i32.const 3
                i32.and
                if (result i32) ;; label = @7
                  i32.const 8
                else
                  i32.const 106341081
                end
                memory.size
                i32.xor
                i32.const 32760
                i32.and
                local.get 2
                local.get 0
                i32.sub
                i64.const -904176565044670906
                i64.const -1
                i64.gt_u
                i32.shl
                i32.store
              end
              local.get 2
              local.get 0
              i32.add
              i32.const 3
              i32.and
              if (result i64) ;; label = @6
                local.get 4
              else
                local.get 4
              end
              local.set 4
              br 4 (;@1;)
            end
            i64.const 5
            i64.const 588870383505842506
            i64.xor
            local.set 4
            br 3 (;@1;)
          end
          local.get 4
          i32.wrap_i64
          local.set 3
          br 2 (;@1;)
        end
        local.get 4
        local.get 4
        i64.shr_u
        local.set 4
      end
      local.get 4
      i64.const 255
      i64.shl
      local.set 4
      br 0 (;@1;)
    end
    i32.const 87308044
    local.get 1
    i32.xor
    local.get 2
    local.get 2
    i32.const 255
    i32.and
    i32.const 1
    i32.or
    i32.rem_u
    i32.add
  )
  (func (;8;) (type 5) (param i64 i32) (result i32)
    (local i32 i32 i64 i32 i64 i32 i32 i32 i32 i32)
    global.get 0
    i32.const 1023
    i32.and
    i32.eqz
    if ;; label = @1
      i32.const 8
      global.get 1
      i32.rotr
      return
    end
    i32.const 255
    global.get 5
    i32.sub
    i64.const 3
    i32.wrap_i64
    i32.shr_u
    local.get 2
    i32.popcnt
    i32.const 255
    i32.and
    i32.load offset=100
    i32.sub
    local.set 3
    local.get 4
    i32.wrap_i64
    i32.ctz
    local.tee 2
    local.set 3
    local.get 2
    i32.const 0
    i32.sub
    call 3
    local.set 1
    i32.const 1267
    local.set 8
    i32.const 4000
    global.get 5
    i32.const 37
    i32.sub
    i32.add
    local.set 9
    i32.const 0
    local.set 7
    i64.const -134369589243548273
    global.get 2
    i64.eq
    local.get 4
    local.get 4
    i64.xor
    i32.const 11629
    i32.load16_u offset=8 align=1
    loop (type 8) (param i32 i64 i32) (result i32 i64 i32) ;; label = @1
      local.set 3
      local.set 6
      local.set 2
      global.get 6
      local.set 6
      block (result i32) ;; label = @2
        local.get 7
        i32.const 3
        i32.shl
        i32.const 32767
        i32.and
        i32.load16_u offset=28000 align=1
        i32.const 2
        i32.mul
        if ;; label = @3
          global.get 2
          i32.wrap_i64
          i64.extend_i32_u
          local.get 4
          i64.extend8_s
          local.get 8
          i64.extend_i32_s
          i64.shl
          i64.xor
          local.set 6
        end
        local.get 4
        global.get 6
        i64.ge_u
      end
      local.set 3
      local.get 8
      i32.load
      local.set 2
      global.get 2
      i64.const 63
      i64.rotr
      local.get 1
      global.get 0
      i32.shl
      i32.const 4
      call_indirect (type 6)
      local.get 8
      i32.const 2
      i32.add
      local.set 8
      local.get 8
      i32.const 2
      i32.shl
      i32.const 32767
      i32.and
      i32.load offset=100
      local.get 7
      i32.const 255
      i32.and
      i64.load offset=4000
      local.get 4
      i64.eqz
      local.get 6
      i32.wrap_i64
      i32.sub
      local.get 7
      i32.const 8
      i32.add
      local.tee 7
      local.get 9
      i32.ne
      br_if 0 (;@1;)
    end
    drop
    local.set 4
    local.set 3
    global.get 0
    i32.const 1
    i32.add
    global.set 0
    i32.const 84763450
    local.get 1
    i32.sub
    global.get 1
    i32.const 32767
    i32.and
    i32.load8_u offset=1
    i32.sub
    i32.const 32767
    i32.and
    i64.const 1
    local.get 0
    i64.shr_u
    i64.const 10
    i64.rem_s
    i64.store16 offset=4
    i64.const 3
    global.get 6
    i64.shr_u
    global.get 5
    global.get 1
    i32.sub
    call 4
    i32.const 759
    local.set 11
    i32.const 5
    local.set 10
    loop ;; label = @1
      local.get 3
      i32.const 0
      i32.rotl
      global.get 5
      i32.const 32767
      i32.and
      i32.load8_s offset=8
      i32.gt_u
      if ;; label = @2
        local.get 11
        i64.const 1
        i32.wrap_i64
        i32.const 103234804
        i32.sub
        i32.store offset=24
        local.get 11
        i32.const 0
        i32.shl
        i32.const 32767
        i32.and
        i32.load
        local.tee 5
        i64.extend_i32_s
        local.set 6
        block (result i32) ;; label = @3
          i32.const 3
          i32.const 32767
          i32.and
          i32.load offset=1
          call 3
          local.set 5
          table.size 1
          if (result i64) ;; label = @4
            i64.const 10
          else
            i32.const 10
            i64.extend_i32_u
            i64.extend32_s
          end
          local.set 6
          local.get 0
          local.get 0
          i64.add
          local.get 4
          i32.wrap_i64
          i32.const 4
          call_indirect (type 6)
          local.get 10
          local.get 2
          i32.xor
          local.set 5
          global.get 1
          global.get 1
          i32.sub
          i32.const 3
          i32.and
          if (result i32) ;; label = @4
            global.get 0
          else
            local.get 3
          end
        end
        local.set 1
      else
        local.get 10
        local.set 3
      end
      local.get 5
      local.get 10
      i32.mul
      local.set 5
      local.get 4
      local.get 4
      i64.add
      local.set 0
      local.get 11
      i32.const 8
      i32.add
      local.set 11
      local.get 10
      i32.const 3
      i32.add
      local.tee 10
      i32.const 197
      i32.lt_s
      br_if 0 (;@1;)
    end
    global.get 0
    i32.const 1
    i32.add
    global.set 0
    i64.const -89676957949340281
    i64.const 10
    local.get 5
    select
    i32.wrap_i64
  )
  (func (;9;) (type 4) (param i32) (result i32)
    (local i32 i32 i32 i64 i32 i32 i32 i32 i32 i32 i32)
    global.get 6
    i64.const 8
    i64.shl
    i32.wrap_i64
    local.get 3
    local.get 3
    i32.shr_u
    table.size 1
    i32.rotl
    i32.add
    local.set 3
    local.get 0
    global.get 1
    global.get 1
    select
    table.size 1
    i32.rotr
    i32.const 32760
    i32.and
    i32.const 10858
    i32.load16_s offset=4
    memory.size
    i32.rotl
    i32.store offset=4000
    block (result i32) ;; label = @1
      i32.const 2128
      local.set 6
      i32.const 15
      global.get 5
      i32.const 37
      i32.sub
      i32.add
      local.set 7
      i32.const 5
      local.set 5
      local.get 5
      i32.const 2
      i32.shl
      i32.const 32767
      i32.and
      i64.load32_u offset=100
      global.get 5
      local.get 5
      i32.const 3
      i32.shl
      i32.const 32767
      i32.and
      i32.load8_s offset=8
      local.get 6
      local.get 5
      i32.shr_u
      loop (type 9) (param i64 i32 i32 i32) (result i64 i32 i32 i32) ;; label = @2
        local.set 2
        local.set 1
        local.set 0
        local.set 4
        local.get 2
        local.get 5
        i32.ge_u
        local.set 2
        local.get 6
        i32.const 2
        i32.add
        local.set 6
        i32.const 63
        i32.const 2
        i32.or
        i32.const 32760
        i32.and
        i64.load offset=8
        local.get 2
        i32.const 65535
        i32.le_u
        table.size 1
        i32.rotl
        global.get 1
        local.get 2
        i32.shr_u
        global.get 1
        i32.extend8_s
        i32.xor
        i32.const 2
        local.get 1
        i32.add
        global.get 0
        i32.const 65536
        i32.sub
        i32.mul
        local.get 5
        i32.const 2
        i32.add
        local.tee 5
        local.get 7
        i32.ne
        br_if 0 (;@2;)
      end
      drop
      drop
      drop
      local.set 4
      global.get 0
      i32.const 1
      i32.add
      global.set 0
      i32.const 2769
      local.set 9
      i32.const 0
      local.set 8
      i32.const 7
      i32.const 32767
      i32.and
      i32.load8_u
      loop (type 2) (param i32) (result i32) ;; label = @2
        local.set 3
        local.get 4
        i64.ctz
        local.set 4
        global.get 1
        i32.const -128
        i32.le_s
        local.set 2
        local.get 9
        i32.const 2
        i32.add
        local.set 9
        i32.const 63
        global.get 5
        i32.const 31
        select
        i32.const 5
        global.get 5
        i32.sub
        i32.gt_u
        local.get 8
        i32.const 1
        i32.add
        local.tee 8
        i32.const 100
        i32.ne
        br_if 0 (;@2;)
      end
      local.set 1
      global.get 0
      i32.const 1
      i32.add
      global.set 0
      i32.const 7
      i32.const 10
      i32.sub
    end
    local.set 3
    block ;; label = @1
      loop ;; label = @2
        local.get 11
        i32.const 500
        i32.ge_u
        br_if 1 (;@1;)
        local.get 11
        i32.const 1
        i32.add
        local.set 11
        block ;; label = @3
          block ;; label = @4
            block ;; label = @5
              block ;; label = @6
                block ;; label = @7
                  block ;; label = @8
                    block ;; label = @9
                      block ;; label = @10
                        block ;; label = @11
                          local.get 10
                          i32.const 1
                          i32.add
                          local.tee 10
                          i32.const 4095
                          i32.and
                          i32.load8_u
                          i32.const 15
                          i32.and
                          br_table 1 (;@10;) 3 (;@8;) 1 (;@10;) 6 (;@5;) 1 (;@10;) 8 (;@3;) 7 (;@4;) 4 (;@7;) 8 (;@3;) 6 (;@5;) 2 (;@9;) 5 (;@6;) 3 (;@8;) 5 (;@6;) 1 (;@10;) 7 (;@4;) 8 (;@3;)
                        end
                        local.get 10
                        local.set 2
                        br 8 (;@2;)
                      end
                      global.get 5
                      i32.const 32760
                      i32.and
                      i64.load offset=8
                      local.set 4
                    end
                    i32.const -128
                    i32.const 7
                    i32.shr_u
                    local.set 1
                    br 6 (;@2;)
                  end
                  i32.const 10
                  local.get 3
                  i32.sub
                  local.set 3
                  br 5 (;@2;)
                end
                i32.const -55641613
                i32.const 16
                i32.div_u
                local.set 3
                br 4 (;@2;)
              end
              global.get 0
              i32.extend16_s
              local.set 2
              br 3 (;@2;)
            end
            local.get 4
            global.get 2
            i64.xor
            local.set 4
            br 2 (;@2;)
          end
          local.get 1
          i32.const 16
          i32.mul
          local.set 1
          br 1 (;@2;)
        end
        i32.const 5
        i32.popcnt
        local.set 0
        br 0 (;@2;)
      end
    end
    local.get 0
    i32.const -121764306
    i32.mul
    local.set 0
    i32.const 255
    local.set 3
    local.get 0
    i32.extend16_s
    local.get 3
    i32.add
  )
  (func (;10;) (type 3) (param i32) (result i32 i64)
    (local i64 i64 i32 i32 i64 i64 i32)
    i32.const 7
    i32.const 3
    i32.rem_s
    local.get 0
    local.get 4
    i32.sub
    i32.sub
    local.get 3
    i32.const 16
    i32.div_s
    local.get 3
    i32.ge_u
    i32.le_s
    local.set 3
    i64.const 0
    local.set 6
    block ;; label = @1
      loop ;; label = @2
        local.get 6
        i64.const 3
        i64.ge_s
        br_if 1 (;@1;)
        global.get 1
        local.get 0
        i32.add
        local.get 4
        global.get 5
        i32.and
        local.get 4
        i32.const 10
        i32.sub
        select
        if (type 10) (result i32 i64) ;; label = @3
          i64.const 656486297299798629
          local.get 6
          i64.mul
          i64.const 7
          i64.rem_s
          i64.const 2
          i32.const 7
          i32.const 8
          i32.or
          i32.const 7
          i32.extend8_s
          i32.shl
          i32.const 7
          i32.and
          select
          local.set 2
          local.get 6
          i32.wrap_i64
          i32.const 0
          i32.shl
          i32.const 32767
          i32.and
          i32.load offset=28000
          global.get 1
          i32.const 1
          i32.and
          i32.const 0
          i32.add
          call_indirect 1 (type 2)
          local.set 0
          local.get 0
          i32.const 7
          i32.sub
          i32.const 63
          i32.and
          i32.eqz
          if (result i32) ;; label = @4
            local.get 4
          else
            global.get 5
          end
          local.get 6
          i32.wrap_i64
          i32.const 3
          i32.shl
          i32.const 32767
          i32.and
          i64.load8_s
        else
          i64.const 8
          global.get 6
          i64.and
          i32.const 16
          global.get 0
          i32.and
          call 6
          drop
          i32.const 1
          local.set 7
          block ;; label = @4
            loop ;; label = @5
              local.get 7
              i32.const 1033
              i32.ge_u
              br_if 1 (;@4;)
              table.size 1
              i32.const 255
              i32.and
              global.get 2
              i64.store offset=100
              local.get 7
              i32.const 8
              i32.add
              local.set 7
              br 0 (;@5;)
            end
          end
          global.get 0
          i32.const 1
          i32.add
          global.set 0
          local.get 0
          i32.const 255
          i32.and
          i32.load offset=28000
          local.get 2
          global.get 2
          i64.or
        end
        local.set 5
        local.set 4
        local.get 6
        i64.const 1
        i64.add
        local.set 6
        br 0 (;@2;)
      end
    end
    global.get 0
    i32.const 1
    i32.add
    global.set 0
    i32.const -43465677
    local.get 4
    i32.const 255
    i32.and
    i32.const 1
    i32.or
    i32.rem_s
    global.get 0
    local.get 3
    local.get 4
    i32.const 1
    i32.and
    select
    i32.le_s
    global.get 2
    global.get 2
    i64.shr_u
    local.get 5
    i64.shr_s
  )
  (func (;11;) (type 4) (param i32) (result i32)
    (local i32 i32 i64 i64 i32 i32 i32 i64 i32 i32 i64 i32 i64)
    i64.const 10
    i64.popcnt
    block (type 11) (param i64) (result i32 i32) ;; label = @1
      local.set 4
      i64.const 880592853678275234
      local.get 3
      i64.shl
      i64.const 16
      local.get 4
      i64.rotr
      i64.gt_u
      i32.const 32760
      i32.and
      local.get 6
      local.get 6
      i32.mul
      local.get 6
      local.get 0
      i32.and
      i32.sub
      i32.store offset=4
      global.get 6
      i32.wrap_i64
      global.get 1
      i32.const 32767
      i32.and
      i32.load8_s offset=28000
    end
    local.set 7
    drop
    i32.const 2353
    local.set 10
    i32.const 0
    local.set 9
    loop ;; label = @1
      i32.const 19893
      i32.load16_s
      i32.const 0
      local.get 6
      i32.const 32767
      i32.and
      i32.load16_s
      i32.const 15
      i32.and
      i32.eqz
      select
      if ;; label = @2
        i32.const 25874
        i32.load16_u offset=28000 align=1
        local.get 10
        i32.le_s
        local.set 2
        i32.const 176
        local.set 12
        i64.const 80
        global.get 6
        i64.const 8589934592
        i64.sub
        i64.add
        local.set 13
        i64.const 0
        local.set 11
        block ;; label = @3
          loop ;; label = @4
            local.get 11
            local.get 13
            i64.ge_u
            br_if 1 (;@3;)
            local.get 11
            i64.const 8
            i64.add
            local.set 11
            local.get 12
            i32.const 8
            i32.add
            local.set 12
            i32.const 10920
            i64.load16_u offset=4
            local.set 8
            i32.const 7
            i32.const 0
            i32.gt_u
            local.set 6
            br 0 (;@4;)
          end
        end
        global.get 0
        i32.const 1
        i32.add
        global.set 0
      else
        local.get 10
        i32.popcnt
        local.set 5
        i32.const -190683702
        local.set 0
      end
      i64.const 10
      local.get 8
      i64.shr_u
      local.set 8
      local.get 10
      i32.const 16
      i32.add
      local.set 10
      local.get 9
      i32.const 8
      i32.add
      local.tee 9
      i32.const 4000
      i32.lt_u
      br_if 0 (;@1;)
    end
    global.get 0
    i32.const 1
    i32.add
    global.set 0
    i32.const 31
  )
  (func (;12;) (type 4) (param i32) (result i32)
    (local i64 i32 i32 i32 i32 i64 i32 i32 i64)
    local.get 7
    local.get 2
    i32.const 32760
    i32.and
    i32.load offset=8
    local.get 3
    i32.add
    i32.mul
    local.set 7
    i32.const 10
    i32.ctz
    global.get 1
    i32.const 2
    i32.le_s
    i32.const 15003
    i32.load offset=1
    select
    i32.const 32760
    i32.and
    global.get 0
    i32.const 32760
    i32.and
    i64.load16_s offset=1
    i64.store16
    local.get 1
    global.get 2
    i64.rotl
    local.get 1
    i64.le_u
    i32.const 255
    i32.and
    i32.const 65535
    if (result i32) ;; label = @1
      global.get 1
    else
      i32.const -127161198
    end
    i32.extend8_s
    i32.store8 offset=1
    block (type 12) (result i32 i32) ;; label = @1
      local.get 8
      i64.extend_i32_s
      local.get 0
      i32.const 5
      i32.add
      i32.const 8
      i32.const 11
      i32.const 7
      local.get 7
      i32.or
      i32.const 31
      i32.and
      select
      call_indirect (type 5)
      local.set 8
      global.get 5
      i32.const 32760
      i32.and
      i32.load8_s
      i32.const 2
      global.get 5
      i32.const 8
      select
      i32.xor
      global.set 1
      local.get 4
      i32.const 204256338
      i32.or
      local.get 7
      i32.const 1
      local.get 8
      select
    end
    local.set 4
    local.set 3
    i32.const 4417
    local.get 5
    local.get 8
    i32.shr_u
    local.get 3
    i32.const 16
    i32.sub
    i32.shr_s
    i32.store offset=1
    local.get 5
    global.get 1
    i32.add
    local.get 0
    i32.and
    if ;; label = @1
      local.get 8
      i32.const -2147483648
      local.get 5
      i32.sub
      i32.eq
      if ;; label = @2
        block (type 10) (result i32 i64) ;; label = @3
          i32.const 23554
          local.get 3
          local.get 2
          i32.rotr
          i32.const 10
          local.get 5
          i32.add
          i32.sub
          i32.store
          local.get 3
          i32.const 32760
          i32.and
          i64.load16_u offset=28000
          local.get 2
          local.get 3
          local.get 3
          i32.const 15
          i32.and
          select
          call 8
          local.set 0
          local.get 2
          local.get 3
          i32.and
          local.set 3
          i32.const 8
          local.get 2
          i32.ge_u
          if (result i32) ;; label = @4
            global.get 1
          else
            i32.const 0
          end
          local.get 8
          i32.add
          i32.const 255
          i32.and
          local.get 1
          local.get 9
          i64.xor
          local.get 6
          local.get 1
          local.get 7
          select
          i64.mul
          i64.store offset=4000
          local.get 2
          i32.const 31
          i32.rotl
          local.get 9
          i64.ctz
        end
        local.set 6
        local.set 3
        i32.const 7108
        i32.load8_u offset=8
        i32.const 3
        i32.and
        if (result i32) ;; label = @3
          local.get 3
          local.get 2
          i32.mul
          i32.const 32767
          i32.and
          i32.load offset=4
        else
          global.get 5
          i32.const 255
          i32.and
          i32.load8_s offset=100
          local.get 3
          local.get 8
          i32.or
          i32.lt_u
        end
        local.set 7
        i64.const -1
        i64.const 2
        i64.xor
        local.tee 1
        global.set 2
      else
        i32.const 8
        i32.const 32760
        i32.and
        i64.load16_u
        global.get 1
        i32.const 1
        i32.div_s
        i32.const 2
        i32.const 3
        i64.const 8
        i32.wrap_i64
        i32.const 31
        i32.and
        select
        call_indirect 1 (type 6)
        i32.const -52418134
        local.set 7
        local.get 4
        i32.const 31
        i32.shr_u
        local.set 3
      end
      local.get 1
      i64.const 19552471630502453
      i64.xor
      local.set 1
      i32.const 2
      i64.extend_i32_s
      local.set 9
      local.get 2
      i32.const -7480203
      i32.or
      local.set 3
    else
      global.get 0
      local.get 3
      i32.const -1
      select
      local.set 5
      i32.const 23824
      i32.load16_u offset=28000 align=1
      local.set 3
    end
    i32.const 2
    i32.const 32760
    i32.and
    i64.load32_s offset=4
    i64.const 32
    local.get 6
    i64.xor
    i64.lt_u
  )
  (data (;0;) (i32.const 0) "\faG&\88/*\e4 \17\0e\aa\eb~\a9Q\b3\096f_\8f\11\1a\0e\87\f2E]\0a~CfF\b0\95\1fR\5cJ\90\ed.\dc\c0\a3,t\86\81\95\0f\dc\f7\ff\9e\8d\de\a3\aaD\d8C\22\f2!\c0\f2\9d\ad# {\b4\86\cf\90\87\d6?Kq\c4\9d\1a\c0\15$\8c\b9 +\dc\19\87\b7\a9\fd\10\0a\ad\f3\d7\85Hk\07/\e2\1a\ff\d34\8f\a3y<@\0e|\f4t\9e\cd\a5!!% \0f[\a0\7fZd\d8\06\838\fd\85\f8\c1\18\88\c6W\e5\f4G\c5\87#\bf\1cbia\f8\ae\9e\feC\9f\d4\07\16\1dXO\13\ae\d6\a3\9b|\c5\81L]\11\9c\9eu\d0=\8dO\b1\03u\e7\97'\be\94\e7\d9\86\03\ach\b6%z)\cf\8a\ea\ed?\d6~-_\cc\d83/\9b\12R\9f\cb\18\8d\94\aebgz\15\80\f5 \82q\86nd\b5\94\14\ab\ef\9a\e6L/\dboTw\9eW/\0e\a0\89\0ae\acbd\1f@\bd\1e\f4`E\84w\19\c8\12\d3\b8\dc@p\a7\e8\01\d6;/\e0\b0\08\ef\809be\5ci-\07\c3\d5A\c5\ac>\1c\80\07M)<\ed\1c\8f\e9\127U.\af\d9\15.{\0c:\b8\d6\da\8c\f4<\89z\e0\cb\e5u\e06y8\82\7f5\12g\04\ba\0a*7\ae\8b\f7\a0\b7\c2\fb6\cb\7f%E\bf\9d\89\e30\1dj\07\a2r\b1t\ed\d2!~\ba\fa\d6\81\d6u la\d2o\820\a6\01XJ(\81\e6!\12\f1#\cd\e0\97Q\cd\c6\acN\19\82\a8:\0d\e4XrXI\ad\19[\a1\e2\d5\e1TO;lp\cb\a5'\8c\c1\f0t\b3\192Z\ba%\93gVz\89\91\22*S\a5\1a\b3Pi\d5\dd:.\93\84\eb\c2\eb:\89MuX\bd\aas<\5c\05\84\a2Mf#T\dcVZ\e9$W0+G\cd\dem\a6\9c\c4PH\9a\f0\d8@\f0\85\c5\e4\0d\0bP\16\a0Bs2<g\82\06\9b\e9$\b9{\8cC>\e9A\e6\13T\16\aa\89\cdn\ce\1fh\eb\f5RB\87q\fe4\c3\22\f6H\fe>\f9\db!\cd\f2Q\b5\81Z\89i\22\ecw\a2\f3\fc\80r\e6qK\16\bb\e70\93\adBY#9\9d2\b4\ae6\b5b#\ac\07\81\a0\e3%\f8\c3t\12\c5z%]\f4EN\8f\1b\10\f3\091ng\b9tu\86\8ap,-(:KAX\16bC\1a\a4\85S\99\07\bcU\7f\fc=\d1|^\07\13\19\c1\13t-m6\c09\95\89\db\a9bd\8b\c2\acJ{\07\c8\ceJ@\07\ba\e3\a0]\ba\e2j\d6\b0\d6*\d2\8faX\ec\e9\fd\09\f4E\18\86c\b3\94'\a8pa\09e\0d\ef{\1fV\82\cb\18\ee\15\9a\82\02d\d3|%\7f\ec\88A\d4\cb\22z\dex\17sG\fai5\b0\degl\02#\a7\f0T]\83L!\ef\e3yH\13M\bb\e4p\ba\c9\18\9d\9f\c1tFP\e5\9c\b1\c0p\b9*-\84=d^5<yg\9f\b6\f5\95 \9d86\9b6\e9\8aU\f0+\a0\dd\fa\c3\e5\80\ad\93\cfYnEC\c9\92H\f6\c2\97\88\999K,X:\a4\bb\af\94\01\1c\ee\f0X\91\80\05%Y\da6\b4\af\ecY\17\10\aa\bd\06\d8\8f^\07\dc \f3\89\02i\98\fb{\b1\e5\8ag+\d6\a6wT\c4\d7J\d1\dd\bar\a7ow\e4C`\82\1b\c8D\dd\d8\d2=U\d9X\a2U\94\b5\04\17\be\b7\90*\b8Om\0b\d9 \8c\aa\df\f0\fe\0a\daO\b1\09\8c\ae\ca\d2\f8\8ct\d8\06\8e\9e\cbO\e7\80\d7:\ed\e8%\10\12\88.!m\fc\92:\19fl\d2\db\aa\101Df\ebe\a8\ad[\00~\96\fd9\8c\bc\95\eb\ab\a3q\1f\a8\e7)v\eb\ee\f4\b0V\c8\a0\cbI\18\16\10$\1e\fa\91_zE\80\ec^^T3/i+\19\f5\89\7f\e2\b7\0f\0e\93\91N\0c\fe\15\f3[\fa\80A\97\ee(\8b\7fp\ef\ee+}\03\efx\c7L\16r\98\9d\8c\dd~\d1\ba}JZ=_\00\ea\15\0f\ac\98\1d\8dj\86*\e7\b35Fh:zjVQ\d7r\e8K\c6+\e7P\ee\22\1b\f7\fe\a7\f2\a7\aa\15\83>\c6G\07\b6\95\e4\e7!\09_s\f6\ca\d2\c1\fe\c8{\b8\ee\ceE\cbX\f6\8c.\bc\a6<J\fa\9dI\0c=\e4\96\c7R \8b?`'\bf\0fJqZ\b1j\f6\87@\8c\f1\f4\e2\04\e6\fa)l\fd\c5\bf\10\a5\d5\f3\c7'CsN\de\01\83\bdgD\da\08\ed\a70_\e3/\fc\fc0I\be\cb\c1j\1e\fc\ab\f3\04w\bc\d3\7f\8f\8de4>_\07!\10\8e\80\ce\b6w\e4n\d29\1cvb\5c\f8'\02\81\f4\0c\9d\d4j\83\e1$\9dj\ef\aaV\17\1e\a6\7f+\e8\d9\b5\be\ee\07\b6$+\05t\06h\db\17\08\e3b\b7W`vXm\90\83\e5\8b\ee\a5\10%\ba\1a#~\c6\f8\87%<Do\015M/\ab\84e%S\993\ef\b69,\7f\afg\faa \22\bf\18\f8\1cIE=+u\0f\e4\11\f0\083F\f4w\09\b4\ea\ba\b8<\dd*\85T\02Y\f9\13\a1\9d\0a\80^\cbcK*+\b3\fbr\97q\e5\dbR\15\89_i;Hw\0a\bfzK\12\8c\f7\84Zv\18\09\96\f9\80\09Z\89;[\16v\02\d4\e8N\0d6nQ\cd\82\deqWn'&\d7\d7\c6\fd]\d2z\e0\b1\aaeD\c9eQW\91\c2\fe\cc8\06,g\07\a3^\97]k\19\acU\f9\88n\10\18\f8\ceX'\90\94\00,\f5\e7=\0a\5c`5\97\913/\e6#i6R<\cf\8afNLy(\95d\1d\bb<\1a\06\93\1dc\10\ad\84\110\c6\fd\97\02\cc\ef\c1\e3\b9\b9\83\19v\d8\d5\a3C'\9d/\ba\d9\acQ\d3\aa\07.\af\da2\dc\83\03\89HK\07f\fdc\08q\07}\c6\c5\93{\f8\ffK\df\03p\c9\1d,\df\f0\9c\8b\00\cb\b5\8d\cbl\d7\a64\f4B\b6G\8c\d1G\1b\a1\99\9e\d9\13PE\dc\a9\aa\85]\e1\97\a3\bd\fa\e4<j\c5\81\b8T\b8\04\12c,HI\e8\14Xo\07y_\ff\08E\ed\a6\d3t\f9\c2!I\f5q\05\01??s`\e6\c0>\00.J\e5\aa\c4\b8-\09b\e7U\ff7\a1rQ\cf'\f9m\1c\e1\9e\1e\ba\97\eb\d7\f5\f30Vt;MJ\19\1b\94\b6u\1d\a1:^% \84\e8hZutZ\a8\eb\e1.\e8\0c\98\bc\d8xhr%S*\82\e5#64 \ce\b0y\c1\18\83G\bb\c0\e1J\9f\99\ccu\5c7\96v\b5\02\9a\c5\e6 \bd*]\a5\de*\d5]\d4\c8\18Y\85\d6\db7\a2\a1\f5p\d8kGls\042\9b\e9\f81\9e\c1\d4\12\c4Nd\1f\11\e8\f6!a\9eaV\a1\1a\a3JR\05\c2\92\01\1d[\dfF\f3\e9\17>J>\ac\fa\f3\7f\81\0e\17\a5;\a8@\15\07OO\bd\e5\19\a4\1a\06O\83\8d\15\c7\1d\16/!\f1\f6\bf9p\ffe\ee\f2\02m\d7c\82\0a\b1b\8e\96\c7\c4\ca\ff\ccT\cb\b3v\88\96MY\22C\cd>\9foIq\dd'[D\dfpSc\82\eb\e3l\22O(b5\8fYv\02\d3\85\b6\df\07\c0\14\c1\d5-UO\f4:\08\f0\c6\cd\cf.4:z\0c\e0\c52O\ead\9a\ce\f9}\a4\f2\81o\00n\8a\bb\83\d6w\b3\c5i\856\b0\10x\e6}\e8T\ab\a3\0f7`\a9\ed,1\9bF\89\bb\e6l-J9)^\8c\11,\99D\e0\f5\db\03\ca\9a\d6\c1\e9\b5\c8\8c\ef5\9b\df\cc\06~ES\ec\e8\ccwBb/\d4\d6\d7X\fa\9f\1c\97TC!\1e\d29\14\db\a7\ad\9d\d5\1e[\91]\f9\d0\88~\e2\a8PJ\0f\08V\f0\db\a2\1cg'\ad\e6\f9\f2\9dr$0O,\b3\b7\1ftW_\b1j\e7\99\d6vdz4\b5\f3v[\fb4j\c79G\fa[\c7\98\d3\11\fa^s\b0.\a4\a3\1dh5\0bLN{\eb\9b\a19jZ\e6\dc\ee\1a\1a\90\8a\01O\a5\95\d9nqq\b5{\e0\fb\c0t\19w\ce\fe)\1e6/\1e\d2\09\ac\0dM_\8d\b2\83\cd\f5\8d\f1,3FDo\fb\e7\ebY\b9\83n\8foRN\91~-\8d1\de\8d\8c\a8\d1\96.\22v\a12\98\90$t\fe\bf{\eb\fa\99N\22\b3\b1\e6\a2X04\07\06\86p\16\ac\1c\1e\b9\a6\a3\1a7\1d.\83\ba\d4\ed\cf\97*o\073\ba\8c\ba{w\8a\14u\09\a6\d8\99d\91\d6je\cd\af\f9\d6\fe<\95\cc\94OM\1f\dc\9d\ae\a6\b84De\09\8e\9f\8e\95QL\15\c2\fe\12\06\cc\c6\96\cd\bc\bf>o*w\9c\f4\8fc2T{R\b8y\83E\ac$\bd\7f\85\de7\f73N\ad\e2\e4\b4Le78\bcj\fe\b39\05/Z]e?2\c34F)-<\ce\92\c7 R0b\f4\8a\19?\84\8fR\d1\96w\cfP\9e\c3\bb9A\93\12\14m\02g\b8l\e9\0a\8b\03\f3\dc\0a\04\f8m\17\bb\f4\9f\a6\0a\ec\ae-U\0fX\b7\07`\85\d8*\92h/\8dD\01\a5\f5j/\90\e5y\89\beB\e5\cd\16\bcF\c6\90\9d\f7\9e\ab\05\a3)q\b6\0c\0f\c3/\a1 n\a8\9b\c8M\d1\22\e7Ycg#\fd\f9{\84\95(\a4\d0\b9D\c0\bd\b3W\8a\b3\11\89\02\af\8c8\7f\9dZJ\91s\fb>&\e5\ca\81\d5\9f\b9\b9\a9\b1eo\b6F\1b\0f}\cam\05:\89\af\e7\be\a5\9c\9e\03]\a3\9f4\ff\5c]\13\c8\dc:\17\f9\88\1f\bd\b5\a77U`\e5\d4\a5^\ce\08~\feC\ae\10\04\0dNJ/\cd\b3\87\12\fd\adF\c0k\91zz\c4P,r\80\ad\c4)\13\c9Jo{\ea\abS>\ec`W${\e6\c7\1f\15l\e6\8eg\d6\97\00\15Y\1a\9a\12wa\7f\1d\b5{\b7\d0I\02\85\b2\01T%Z\90\e8\cd\e2g\afZ\1a\9b\e3xPu\dd05Y\0b\8e\12\cbE\d2\f1e\c0\d5g\1a\d4\16\93\13\f6\99\b6\c7\97\22\c5\f8\f6P+\16.\04\b89\103oE\fd\fbd\a3\c0\07\ff\cddsv\f0\97\d0\896a\db\06\bd;\0aI\08j3\16\1eZ\15\1d\a0u\d9\9f\fe\09\ba\00\81\af0\d2M\c5w\5c.\08\a6=,S:\e0\15~\db\c4\c4q\88\c67\e0F\1b\dd\9c\ffr\00\bd%Y\9e\bc\80v\9b\e9\c1\11\85\8a0\cc\f8z\dc\9fd\d0X\18\9c\80\d9\86\04\b6\c5\8eQ\e9V\89X\d7\c1\d0\0d\c9\e3~\fa}\cfF\16\c8`s\dc\0d\b2\1fh\07\de\82\a4\a4\1e\1f\11j[}'\cf\c3\c4\0fAKNm\c1\e8?\d7QH@\00\b6\1dJ;\a4\90}xE\0e\ed\faMK\e6\1fEX\08I\de\bc0o\fd\e4\19F\88\13\d7\a9\0cyhW\bfE\fcqk\af\18\17\87\91]\a3\0f\eb\f9\09\18\bap\9dH\aaR\f3ao \d6E2z\1c\f4#{\b2\93\f3X\12\ad\19\ee?0q:\ecwu\e8YO*f\12\ceQ\1a\d1F\d6\e2\83EtM\08\ebUB\03O/\95\17\06t\b9g3\b3\04\e8~\94>\b2\a3\cd\d3\22\19\1f\ad\c1\d82\eb\0b\e7\a6\fda\d2\c3-\03K\d7x\f2\ab\d3da\d9\a9w\0b\12\ea\b2\d5R5\1c\02^\8fh\f3\f7\d5HO\c7\02\07\cbQ\94\ce\0f\15\d1)<\96\95\1a\fb\b7x\8e C{\83\96\911\bc\a0\117X\a2I\b2\88\92n\f5\a4I\00\de\bb\f6K\c3\7fI\84kA\ae\f0;\e3\fc\05\82\1eOXS\ff\0d!s\a3r\12\a7\11\e7\8d)\d6\c6\a8M\ab\9cu\86\94\f51\bc\bf\0bH\e0\7fP\1e/;9\b6S8]\efGW\da\11\cf\5cikmj\8e\02\a0\1a\d1\98<\d8\d6ZUm\00q\f2\93\a5\cc\a4\ad\863J\8cU\ec\80RB=\8d\1a\11\ee\ce\90.\16\992=rM\e3f\a4n\f1\10\1e\ed\b1\04\18ri{\1b\5c\fe:gI\ab\98L:\15\0b\e99\e4N\e8\a89\eb\e6\0e\8d\f8Em\0a\0f1zrX\00\da\a0%\a4^<h\8a\f5ut-\17\baQ.9l\8b\988\fblD\080\c7\d2]~<u\c0L]\cd\b6a\d9G\d7\dd\0cni\b3\dd\a7/}\f9%\b54\e64\1c\b3\ecg\a8\98\b2Z\12\1c\1fN\9b\f6x\89vr^\94\f1Vt\9c~|\d7\b0\fc\ffB\ff\df-^\db\1ed\f1\10\ac;F\86\929hi\5c\ceI\b3\1cW\17\ad\d0\8f\06\0f\aeL\cc\c5\a7#\df\89\ed4KD\ab\90dnA\d3$\cd\a0\18\deI\c0u\bf3N\1f\d8^\ce\88\e3\d1\e1\82\93\1e/\b9\c5i\17]Wn\cb\93:l\b2\b0\dc\b1 \e9c\0d\b9\11\86 \14\bf\9al(\12v\01P\90R\deKap\c4\c7\f8{\1c\1a\5c\b5\07$\d3t\83\0f\b2\8cZ\86\0f\98+n/\b8\15\d7Ce#X\02\ea\01\b8H\95\8e\0e\95\fd>\04\10P\cc\b8\04\dcH\b0N\b6\11\90iL~\83o\b7\0a O\92N\e6\81\f0\cb\f1\f15\b6\16-\17Q>\b6\e9\a1L\e4\04\17\d5%\b1\05\03\99\af!\c0\f6\19\e6\bbA>\8bnN\1c;6\9eq~8\b7\e0\9d8\b17\c6\c2|MF\b4\d0`\fdV\89R\f0%\ce+;l\ab\c9\cb0s\c4\ddTP1:?C\81\d9\ab\1f\a2r\a2\08=\03\7f\d0\1bXL9\c0\9d\0eh\c52~\95\b9;\18\c5\ccX\b1 \95\9b\fb\86c\1d\c0H@\c1a\da\a4S\f3\8a\fb\f35\fbs6\fb\0c\f2\ebu\f2)\b40\0f\02s\f6J2\00\11\1fG\81\ec0\7f\f0\be3\22\02\171\08`\cc\82S?\9a\bf\03j\e7\eb_\e6\1d\d8\d9\ed\0a\ac\8e\16n+\f0X\116\aeQ#\e6\9a\9b\8b\b9\a8(\c7@,\17E\c6W\18\f9\e4a\bb;*Yi\e9\d7\b8\96z\18$\aaT\1b\e3\e4\d1\02\847\86\aa\ceOE\a8P\cbE\94\a6\dd\fc\c3Ec\18e}\10v\b0\e4e\b6\9a\f8B\0b\9by\92\f8_\c3\7f\9a\e2\1e\03v\da5\22\cf\dc\03\e7\11\8c\a9\00\f3\cb\8a\b5\03\feR\86\d8>@W\98\ab\1dr;A\be\ba\a5F\8a\cf\d3\0dd\b2\871\a3\1d\9b\8d\93G\dee\af\e6\1d\1c\5c\fb\d3*\9f`\e6\92}S\1b\f1n\b2PW\92\cd\9eO\e3\88uv;\88\ea\0c\18@\a0\7f@1\8d\11\13c\18\84\92\b0\90\ccS\ce\0c\f8\aaW\b0\d1^\82\22\bf<\f7(\8e\7f\0c\f5\15\85\10\ad\d2\d0\d9\d2L#\ae\b5_\92\e3\f4\ce\f8\e0\e2\8c\e9V\b2\fc\7f\ed\89\d9\22\fcQS\18\a5\14e\1a\c5\0c,\aaO\83\8e\b4\fe\cb\dbZ\84rT\0b\8c\00\06\8c\ae\f4\d5t\f1\d0f\b5\c3\d2\fd\d7\c4\ce\99\f5o\eb\ed\9e2\13\a3zI~fE;\c6\be\9f\d8\90\bd\04~\1a\95\90qV\c6\1eN{\1dGn\01\d44\12I\b1\0e^2\1b41y\c8\06x\8e\f8e\ea\87\ed\ben?L@A\8c\a9m\f20g\fe\00\c0\a3Z\85`\07S\dd\f85f\ba\f9\ec\f4\91\a4VPf;*au\96\0a\f0\22\f1\dcQ$\84(\b2\b0U.\d0M\f8\15\d7$PLe\a5\c3W\c3\ff\16\80\b6\1a\84\ebJ\c1[\09F\f8F\fd\0eWI,\b8AA\b9\b6I\ac\82\04\15\1az\cfa\a7\86\87\a0|K\b8\a2&>Y\f3;O\e7\cd\dc\c1\01\d5\eaw")
  (data (;1;) "\01\02\03\04\05\fa\fb\fc\fd\fe\ff\00\07\09\0b\0d")
)
