/* See calls.h. System V ABI, x86-64. */

	.text

/* Position-independent: place.c copies it from here to memstrat_calls_end. */
	.globl	memstrat_calls
	.type	memstrat_calls, @function
	.p2align 6
memstrat_calls:
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14		/* five pushes: the stack is aligned to 16 at the call */
	movq	%rdi, %rbx
	movq	%rsi, %r12
	movq	%rdx, %r13
	movq	%rcx, %rbp
	.p2align 6		/* the loop itself never moves against its cache line */
1:	.rept	4		/* CALLS_UNROLLED */
	movq	%r12, %rdi
	movq	%r13, %rsi
	call	*%rbx
	.endr
	decq	%rbp
	jnz	1b
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	ret
	.size	memstrat_calls, . - memstrat_calls
	.globl	memstrat_calls_end
memstrat_calls_end:

	.globl	memstrat_checked_call
	.type	memstrat_checked_call, @function
	.p2align 4
memstrat_checked_call:
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	%rdi		/* found again at (%rsp), since no register can keep it */

	movq	0(%rdi), %r11
	movq	16(%rdi), %rsi
	movq	24(%rdi), %rbx
	movq	32(%rdi), %rbp
	movq	40(%rdi), %r12
	movq	48(%rdi), %r13
	movq	56(%rdi), %r14
	movq	64(%rdi), %r15
	movq	8(%rdi), %rdi
	movabsq	$0xdeadbeefcafef00d, %rax
	movq	%rax, %rcx
	movq	%rax, %rdx
	movq	%rax, %r8
	movq	%rax, %r9
	movq	%rax, %r10
	.irp	n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	pcmpeqd	%xmm\n, %xmm\n
	.endr
	call	*%r11

	pushfq
	cld			/* before any C runs: it relies on a clear direction flag */
	popq	%rax
	movq	(%rsp), %rdi
	movq	%rax, 120(%rdi)
	movq	%rbx, 72(%rdi)
	movq	%rbp, 80(%rdi)
	movq	%r12, 88(%rdi)
	movq	%r13, 96(%rdi)
	movq	%r14, 104(%rdi)
	movq	%r15, 112(%rdi)
	stmxcsr	128(%rdi)
	fnstcw	132(%rdi)
	popq	%rdi
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	ret
	.size	memstrat_checked_call, . - memstrat_checked_call

/* add reg,reg: recent Intel cores execute chains of add-immediate in no time at all (at rename). */
	.globl	memstrat_chain
	.type	memstrat_chain, @function
	.p2align 6
memstrat_chain:
	movq	%rdi, %rax
	movl	$1, %ecx
	.p2align 6
1:	.rept	64
	addq	%rcx, %rax
	.endr
	decq	%rsi
	jnz	1b
	ret
	.size	memstrat_chain, . - memstrat_chain

	.globl	memstrat_clear_upper
	.type	memstrat_clear_upper, @function
	.p2align 4
memstrat_clear_upper:
	vzeroupper
	ret
	.size	memstrat_clear_upper, . - memstrat_clear_upper

	.section .note.GNU-stack,"",@progbits
