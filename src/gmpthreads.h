/* gmpthreads.h -- what a program may ask the library it runs under. Including it is optional.
 *
 * Every symbol is weak here: a program built with this header runs without the library too, and finds the
 * address null. All calls are async-signal-safe and may be made from any thread, also from a debugger. */
#ifndef GMPTHREADS_H
#define GMPTHREADS_H

#ifdef __cplusplus
extern "C" {
#endif

/* 1 when the program's threads are scheduled by the library, 0 while no thread was made yet or when it stepped
 * aside. */
int gmpt_active(void) __attribute__((weak));

/* The number of Ps (GOMAXPROCS); 0 when not active. */
int gmpt_procs(void) __attribute__((weak));

/* Writes one line for each kernel thread (M), processor (P) and thread (G) to descriptor 2: state, what it waits
 * for, ids. For people; the format may change. */
void gmpt_dump(void) __attribute__((weak));

#ifdef __cplusplus
}
#endif
#endif
