/* How codes are called. Every code is `void (void *destination, uintptr_t second)`: `second` is the
 * source of a copy, the value of a memset with a variable fill, and ignored by other memsets. */
#ifndef MEMSTRAT_CALLS_H
#define MEMSTRAT_CALLS_H

#include <stdint.h>

typedef void (*code_function)(void *destination, uintptr_t second);

enum { SAVED_REGISTERS = 6 }; /* rbx rbp r12 r13 r14 r15 */

struct checked_call { /* calls.S knows these offsets */
	code_function function;           /* 0 */
	void *destination;                /* 8 */
	uintptr_t second;                 /* 16 */
	uint64_t before[SAVED_REGISTERS]; /* 24: what the saved registers hold at the call */
	uint64_t after[SAVED_REGISTERS];  /* 72: what they held at the return */
	uint64_t flags;                   /* 120: rflags at the return */
	uint32_t mxcsr;                   /* 128 */
	uint16_t x87_control;             /* 132 */
};

/* The trampoline of all measuring: calls through a register, the arguments loaded anew for each,
 * `quads` (at least 1) times CALLS_UNROLLED of them. Four calls to a round of the loop, because a
 * taken branch, an indirect call and a return in each round hide the first six cycles of a kernel on
 * Zen 5; four to a round hide four.
 * Not called where it stands but copied among the codes: a call to a target far away is a longer
 * entry in the branch predictors, and costs two cycles more. */
enum { CALLS_UNROLLED = 4 };
typedef void (*calls_function)(code_function function, void *destination, uintptr_t second,
			       uint64_t quads);
void memstrat_calls(code_function function, void *destination, uintptr_t second, uint64_t quads);
extern const uint8_t memstrat_calls_end[];

/* One call with every register that the ABI leaves undefined full of rubbish, and every register
 * that it protects known, so that a code which relies on the one or clobbers the other is found. */
void memstrat_checked_call(struct checked_call *call);

/* loops * CHAIN_ADDS dependent additions: one core cycle each. Returns the sum. */
enum { CHAIN_ADDS = 64 };
uint64_t memstrat_chain(uint64_t value, uint64_t loops);

/* vzeroupper; only where the CPU and the system have AVX. */
void memstrat_clear_upper(void);

#endif
