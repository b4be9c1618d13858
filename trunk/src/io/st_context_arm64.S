// Saving and restoring a context for libst on arm64. Debian's libst 1.9-3.2 puts the new stack pointer of a thread into
// slot 11 of its jmp_buf; glibc keeps it elsewhere and mangled, so the first switch crashes. The linker's --wrap gives
// libst these three instead, which agree with slot 11.
//
//   slot    0..9       10   11  12      13   14..21
//   holds   x19..x28   x29  sp  unused  x30  d8..d15
#ifdef __aarch64__
        .text

        .global __wrap__setjmp
        .type   __wrap__setjmp, %function
        .balign 16
__wrap__setjmp:
        mov     x9, sp
        stp     x19, x20, [x0, #0]
        stp     x21, x22, [x0, #16]
        stp     x23, x24, [x0, #32]
        stp     x25, x26, [x0, #48]
        stp     x27, x28, [x0, #64]
        stp     x29, x9,  [x0, #80]
        str     x30,      [x0, #104]
        stp     d8,  d9,  [x0, #112]
        stp     d10, d11, [x0, #128]
        stp     d12, d13, [x0, #144]
        stp     d14, d15, [x0, #160]
        mov     w0, #0
        ret
        .size   __wrap__setjmp, . - __wrap__setjmp

        .global __wrap_longjmp
        .type   __wrap_longjmp, %function
        .global __wrap___longjmp_chk
        .type   __wrap___longjmp_chk, %function
        .balign 16
__wrap___longjmp_chk:
__wrap_longjmp:
        ldp     d8,  d9,  [x0, #112]
        ldp     d10, d11, [x0, #128]
        ldp     d12, d13, [x0, #144]
        ldp     d14, d15, [x0, #160]
        ldp     x19, x20, [x0, #0]
        ldp     x21, x22, [x0, #16]
        ldp     x23, x24, [x0, #32]
        ldp     x25, x26, [x0, #48]
        ldp     x27, x28, [x0, #64]
        ldp     x29, x9,  [x0, #80]
        ldr     x30,      [x0, #104]
        mov     sp, x9
        cmp     w1, #0
        csinc   w0, w1, wzr, ne          // longjmp never returns 0
        br      x30
        .size   __wrap_longjmp, . - __wrap_longjmp
        .size   __wrap___longjmp_chk, . - __wrap___longjmp_chk
#endif
        .section .note.GNU-stack, "", %progbits
