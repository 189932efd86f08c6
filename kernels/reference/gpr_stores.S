# Straight code through general registers: what code without vector registers (an operating-system
# kernel, -mgeneral-regs-only) can do. Blocks below 8 bytes use the widest store that fits.

.macro memset_gpr_stores size, fill
	memstrat_fill_gpr \fill
	.if	\size >= 8
	memstrat_store_all movq, %rax, 8, \size
	.elseif	\size >= 4
	memstrat_store_all movl, %eax, 4, \size
	.elseif	\size >= 2
	memstrat_store_all movw, %ax, 2, \size
	.else
	memstrat_store_all movb, %al, 1, \size
	.endif
	ret
.endm

# Loads that zero-extend: a 1- or 2-byte load into %al or %ax would wait for the rest of %rax.
.macro memstrat_move_1_to_3 size
	.if	\size >= 2
	movzwl	(%rsi), %eax
	.if	\size == 3
	movzwl	1(%rsi), %ecx
	movw	%cx, 1(%rdi)
	.endif
	movw	%ax, (%rdi)
	.else
	movzbl	(%rsi), %eax
	movb	%al, (%rdi)
	.endif
.endm

.macro memcpy_gpr_stores size
	.if	\size >= 8
	memstrat_copy_all movq, movq, %rax, 8, \size
	.elseif	\size >= 4
	memstrat_copy_all movl, movl, %eax, 4, \size
	.else
	memstrat_move_1_to_3 \size
	.endif
	ret
.endm

# The eight registers that the ABI lets a leaf function clobber, %rdi apart; %rsi comes last, since
# loading it ends its use as the source address.
.macro memmove_gpr_stores size
	.if	\size >= 8
	memstrat_move_all movq, movq, 8, \size, %, rax, rcx, rdx, r8, r9, r10, r11, rsi
	.elseif	\size >= 4
	memstrat_move_all movl, movl, 4, \size, %, eax, ecx
	.else
	memstrat_move_1_to_3 \size
	.endif
	ret
.endm
