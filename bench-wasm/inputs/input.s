; An AVR assembler file for as, whose object file is then the input for ld.
; Copies a string backwards and adds up its bytes.

        .macro  set_pointer low, high, symbol
        ldi     \low, lo8(\symbol)
        ldi     \high, hi8(\symbol)
        .endm

        .equ    LENGTH, 12

        .section .data
message:
        .ascii  "hello, world"
copy:
        .space  LENGTH
table:
        .word   start, reverse, checksum

        .section .text
        .global start
        .type   start, @function
start:
        set_pointer r30, r31, message
        set_pointer r26, r27, copy + LENGTH
        ldi     r24, LENGTH
        rcall   reverse
        set_pointer r30, r31, copy
        ldi     r24, LENGTH
        rcall   checksum
1:      rjmp    1b
        .size   start, . - start

        .type   reverse, @function
reverse:
        ld      r0, Z+
        st      -X, r0
        dec     r24
        brne    reverse
        ret
        .size   reverse, . - reverse

        .type   checksum, @function
checksum:
        clr     r25
1:      ld      r0, Z+
        add     r25, r0
        rol     r25
        dec     r24
        brne    1b
        mov     r24, r25
        ret
        .size   checksum, . - checksum

        .section .rodata
        .irp    n, 1, 2, 4, 8, 16, 32, 64, 128
        .byte   \n, 255 - \n
        .endr
