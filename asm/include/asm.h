// asm/include/asm.h -- the few macros of the assembly files: function frame and CFI.
#include "arch/offsets.h"

#define FUNC(name) .text; .p2align 4; .globl name; .hidden name; .type name, @function; name: .cfi_startproc
#define END(name) .cfi_endproc; .size name, . - name
#define PUSH(reg) pushq reg; .cfi_adjust_cfa_offset 8; .cfi_rel_offset reg, 0
#define POP(reg) popq reg; .cfi_adjust_cfa_offset -8; .cfi_restore reg

// At the return address of a signal handler rsp points to the ucontext_t: every register is found there, the stack
// pointer of the interrupted code too. So exceptions, cancellation and debuggers go on from a handler into
// the code below. Offsets as os::UContext; written as DWARF expressions (breg7 = rsp), since the CFA itself is read
// from memory. Unwinders look one byte before a return address: the FDE begins before the label.
#define SAVED_AT(regno, offset) .cfi_escape 0x10, regno, 3, 0x77, (offset & 0x7f) | 0x80, offset >> 7
#define SIGNAL_FRAME \
  .cfi_startproc; .cfi_signal_frame; \
  .cfi_escape 0x0f, 4, 0x77, (160 & 0x7f) | 0x80, 160 >> 7, 0x06; \
  SAVED_AT(8, 40); SAVED_AT(9, 48); SAVED_AT(10, 56); SAVED_AT(11, 64); SAVED_AT(12, 72); SAVED_AT(13, 80); \
  SAVED_AT(14, 88); SAVED_AT(15, 96); SAVED_AT(5, 104); SAVED_AT(4, 112); SAVED_AT(6, 120); SAVED_AT(3, 128); \
  SAVED_AT(1, 136); SAVED_AT(0, 144); SAVED_AT(2, 152); SAVED_AT(7, 160); SAVED_AT(16, 168); nop
