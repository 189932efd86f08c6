# One rep instruction for the bulk. The ABI promises a clear direction flag, so there is no cld.
#
# The 8-byte forms write size / 8 whole words. A tail of 1 to 7 bytes is covered by one overlapping
# word store, issued before the rep: rep moves %rdi and %rsi on, and the store need not wait for it.
# There is no memmove: rep copies forward, which is wrong when the destination lies ahead of the
# source inside the block.

.macro memset_rep_stosb size, fill
	.ifc \fill,zero
	xorl	%eax, %eax
	.endif
	.ifc \fill,constant
	movl	$0x5a, %eax
	.endif
	.ifc \fill,variable
	movl	%esi, %eax
	.endif
	movl	$\size, %ecx
	rep stosb
	ret
.endm

.macro memset_rep_stosq size, fill
	memstrat_fill_gpr \fill
	.if	\size % 8
	movq	%rax, \size - 8(%rdi)
	.endif
	movl	$(\size / 8), %ecx
	rep stosq
	ret
.endm

.macro memcpy_rep_movsb size
	movl	$\size, %ecx
	rep movsb
	ret
.endm

.macro memcpy_rep_movsq size
	.if	\size % 8
	movq	\size - 8(%rsi), %rax
	movq	%rax, \size - 8(%rdi)
	.endif
	movl	$(\size / 8), %ecx
	rep movsq
	ret
.endm
