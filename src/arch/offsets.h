// arch/offsets.h -- offsets that the assembly files and the C++ structures share.
//
// Plain #defines: this file is read by the assembler too. core/g.h and core/m.h assert each of them.
#pragma once

#define GMPT_M_SELF 0     /* pointer to this block itself */
#define GMPT_M_IN_RT 8    /* u32: runtime code runs on this M; signals wait */
#define GMPT_M_PENDING 12 /* u32: something to do when leaving the runtime */
#define GMPT_M_CURG 16    /* the G this M runs */
#define GMPT_M_G0SP 24    /* top of the scheduler stack */
#define GMPT_M_IN_SYS 32  /* u32: in an announced system call */
#define GMPT_M_SYS_TICK 36 /* u32: announced system calls so far */

#define GMPT_G_SP 0       /* saved stack pointer */
#define GMPT_G_XSAVE 8    /* block for the vector state while preempted */

#define GMPT_LANDING_SIZE 144  /* red zone, resume PC, block: preempt.S */
#define GMPT_HOOK_PREEMPT_BEGIN 0
#define GMPT_HOOK_PREEMPT_PARK 8
#define GMPT_HOOK_PREEMPT_END 16
#define GMPT_HOOK_SIG_RETURN_FIX 24

#define GMPT_XSAVE_LO 16  /* in front of the XSAVE area: state mask, low and high word */
