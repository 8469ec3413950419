// asm/include/asm.h -- the few macros of the assembly files: function frame and CFI.
#include "arch/offsets.h"

#define FUNC(name) .text; .p2align 4; .globl name; .hidden name; .type name, @function; name: .cfi_startproc
#define END(name) .cfi_endproc; .size name, . - name
#define PUSH(reg) pushq reg; .cfi_adjust_cfa_offset 8; .cfi_rel_offset reg, 0
#define POP(reg) popq reg; .cfi_adjust_cfa_offset -8; .cfi_restore reg
