//! A decoder reads the instructions that the assembler encodes.

use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter};

use super::*;

/// Returns the code as text, a line for each instruction.
fn text(write: impl FnOnce(&mut Assembler)) -> Vec<String> {
    let mut assembler = Assembler::default();
    write(&mut assembler);
    assembler.finish();
    let mut formatter = GasFormatter::new();
    let mut lines = Vec::new();
    for inst in Decoder::with_ip(64, &assembler.code, 0, DecoderOptions::NONE) {
        let mut line = String::new();
        formatter.format(&inst, &mut line);
        lines.push(line);
    }
    lines
}

const NAMES: [&str; 16] = [
    "%rax", "%rcx", "%rdx", "%rbx", "%rsp", "%rbp", "%rsi", "%rdi", "%r8", "%r9", "%r10", "%r11", "%r12",
    "%r13", "%r14", "%r15",
];

#[test]
fn every_register_is_a_base_and_an_index() {
    for base in 0..16 {
        for index in (0..16).filter(|&index| Reg(index) != RSP) {
            for (offset, shown) in [(0, ""), (8, "8"), (-8, "-8"), (0x1234, "0x1234")] {
                let mem = Mem { base: Reg(base), index: Some(Reg(index)), offset };
                let line = text(|a| a.mov(W64, RAX, mem)).concat();
                // A base without offset may have to be encoded with an offset of zero.
                let (base, index) = (NAMES[base as usize], NAMES[index as usize]);
                assert_eq!(line.replace(",0(", ",("), format!("mov {shown}({base},{index}),%rax"));
            }
        }
        let line = text(|a| a.mov(W64, Reg(base), Mem::at(Reg(base), -0x1000))).concat();
        let name = NAMES[base as usize];
        assert_eq!(line, format!("mov -0x1000({name}),{name}"));
    }
}

#[test]
fn bytes_are_low_bytes_of_all_registers() {
    let lines = text(|a| {
        for reg in [RAX, RSI, RDI, R8] {
            a.set(Cc::EQUAL, reg);
            a.op(op::MOVZX_BYTE, W32, reg, reg);
            a.op(op::STORE_BYTE, W32, reg, Mem::at(RBP, -1));
        }
    });
    let expected = [
        "sete %al",
        "movzbl %al,%eax",
        "mov %al,-1(%rbp)",
        "sete %sil",
        "movzbl %sil,%esi",
        "mov %sil,-1(%rbp)",
        "sete %dil",
        "movzbl %dil,%edi",
        "mov %dil,-1(%rbp)",
        "sete %r8b",
        "movzbl %r8b,%r8d",
        "mov %r8b,-1(%rbp)",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn numbers_are_as_short_as_can_be() {
    let lines = text(|a| {
        for number in [0, 1 << 31, -1, i64::from(i32::MIN), 1 << 40] {
            a.constant(SCRATCH, number);
        }
        a.alu_constant(Alu::Add, W64, RAX, -128);
        a.alu_constant(Alu::Cmp, W32, Mem::at(RBP, -8), 128);
        a.imul_constant(W64, RCX, R9.into(), 3);
        a.store_constant(1, Mem::at(RSI, 0), -1);
        a.store_constant(2, Mem::at(RSI, 0), -1);
        a.store_constant(4, Mem::at(RSI, 0), -1);
        a.store_constant(8, Mem::at(R10, 0), -1);
    });
    let expected = [
        "mov $0,%r11d",
        "mov $0x80000000,%r11d",
        "mov $0xFFFFFFFFFFFFFFFF,%r11",
        "mov $0xFFFFFFFF80000000,%r11",
        "movabs $0x10000000000,%r11",
        "add $0xFFFFFFFFFFFFFF80,%rax",
        "cmpl $0x80,-8(%rbp)",
        "imul $3,%r9,%rcx",
        "movb $0xFF,(%rsi)",
        "movw $0xFFFF,(%rsi)",
        "movl $0xFFFFFFFF,(%rsi)",
        "movq $0xFFFFFFFFFFFFFFFF,(%r10)",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn instructions_are_what_they_are_called() {
    let (x1, x9) = (Reg::xmm(1), Reg::xmm(9));
    let lines = text(|a| {
        a.push(RBP);
        for alu in [Alu::Add, Alu::Or, Alu::And, Alu::Sub, Alu::Xor, Alu::Cmp] {
            a.alu(alu, W32, RAX, R8);
        }
        for (shift, by) in
            [(Shift::Left, 1), (Shift::Right, 2), (Shift::SignedRight, 63), (Shift::RotateLeft, 7)]
        {
            a.shift_constant(shift, W64, RDX, by);
        }
        a.shift(Shift::RotateRight, W32, R9);
        for unary in [Unary::Not, Unary::Neg, Unary::Div, Unary::SignedDiv] {
            a.unary(unary, W32, SCRATCH);
        }
        a.unary(Unary::Call, W32, RAX);
        a.unary(Unary::Jump, W32, SCRATCH);
        a.sign_into_rdx(W32);
        a.sign_into_rdx(W64);
        a.op(op::LEA, W64, RAX, Mem { base: RCX, index: Some(RDX), offset: 0 });
        a.op(op::IMUL, W32, RAX, RCX);
        a.op(op::TEST, W64, RAX, RAX);
        a.op(op::TEST_BYTE, W32, RSI, RSI);
        a.op(op::MOVSX_DOUBLE, W64, RAX, RCX);
        a.op(op::MOVSX_WORD, W64, RAX, RCX);
        a.op(op::MOVZX_WORD, W32, RAX, RCX);
        a.op(op::LZCNT, W32, RAX, RCX);
        a.op(op::TZCNT, W64, RAX, R9);
        a.op(op::POPCNT, W64, R9, RAX);
        a.cmov(Cc::LESS, W64, RAX, RCX);
        a.op(op::STORE_WORD, W32, R9, Mem::at(RSP, 8));
        a.op(op::MOVAPS, W32, x1, x9);
        a.op(op::LOAD_F32, W32, x9, Mem::at(RBP, -8));
        a.op(op::STORE_F64, W32, x9, Mem::at(RBP, -8));
        a.op(op::MOV_TO_XMM, W64, x9, R8);
        a.op(op::MOV_FROM_XMM, W32, x1, RAX);
        a.op(op::scalar(true, op::ADD), W32, x1, x9);
        a.op(op::scalar(false, op::FROM_INT), W64, x9, R8);
        a.op(op::scalar(true, op::TO_INT), W64, R8, x9);
        a.op(op::compare_floats(true), W32, x1, x9);
        a.op(op::compare_floats(false), W32, x1, x9);
        a.op_byte(op::round(true), x1, x9, 3);
        a.leave();
        a.ret(0);
        a.ret(16);
        a.ud2();
    });
    let expected = [
        "push %rbp",
        "add %r8d,%eax",
        "or %r8d,%eax",
        "and %r8d,%eax",
        "sub %r8d,%eax",
        "xor %r8d,%eax",
        "cmp %r8d,%eax",
        "shl $1,%rdx",
        "shr $2,%rdx",
        "sar $0x3F,%rdx",
        "rol $7,%rdx",
        "ror %cl,%r9d",
        "not %r11d",
        "neg %r11d",
        "div %r11d",
        "idiv %r11d",
        "call *%rax",
        "jmp *%r11",
        "cltd",
        "cqto",
        "lea (%rcx,%rdx),%rax",
        "imul %ecx,%eax",
        "test %rax,%rax",
        "test %sil,%sil",
        "movslq %ecx,%rax",
        "movswq %cx,%rax",
        "movzwl %cx,%eax",
        "lzcnt %ecx,%eax",
        "tzcnt %r9,%rax",
        "popcnt %rax,%r9",
        "cmovl %rcx,%rax",
        "mov %r9w,8(%rsp)",
        "movaps %xmm9,%xmm1",
        "movss -8(%rbp),%xmm9",
        "movsd %xmm9,-8(%rbp)",
        "movq %r8,%xmm9",
        "movd %xmm1,%eax",
        "addsd %xmm9,%xmm1",
        "cvtsi2ss %r8,%xmm9",
        "cvttsd2si %xmm9,%r8",
        "ucomisd %xmm9,%xmm1",
        "ucomiss %xmm9,%xmm1",
        "roundsd $3,%xmm9,%xmm1",
        "leave",
        "ret",
        "ret $0x10",
        "ud2",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn jumps_lead_to_their_labels() {
    let lines = text(|a| {
        let (behind, before, table) = (a.label(), a.label(), a.label());
        a.bind(before);
        a.jump(behind);
        a.branch(Cc::ABOVE, before);
        a.address_of(R9, table);
        a.bind(behind);
        a.jump(before);
        a.bind(table);
    });
    assert_eq!(lines, ["jmp 0x000000000000000E", "ja 0", "lea 0x10,%r9", "jmp 0"].map(str::to_string));
}

#[test]
fn opposites_are_the_other_way_round() {
    let pairs = [
        (Cc::OVERFLOW, Cc::NO_OVERFLOW),
        (Cc::BELOW, Cc::ABOVE_OR_EQUAL),
        (Cc::EQUAL, Cc::NOT_EQUAL),
        (Cc::BELOW_OR_EQUAL, Cc::ABOVE),
        (Cc::PARITY, Cc::NO_PARITY),
        (Cc::LESS, Cc::GREATER_OR_EQUAL),
        (Cc::LESS_OR_EQUAL, Cc::GREATER),
    ];
    for (cc, other) in pairs {
        assert_eq!((cc.not(), other.not()), (other, cc));
    }
}
