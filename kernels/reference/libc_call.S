# A tail call into the C library: what a compiler emits when it expands nothing. The library takes
# the fill as an int and uses its low byte, so a variable fill stays where it is, in %esi.

.macro memset_libc_call size, fill
	.ifc \fill,zero
	xorl	%esi, %esi
	.endif
	.ifc \fill,constant
	movl	$0x5a, %esi
	.endif
	movl	$\size, %edx
	jmp	memset@PLT
.endm

.macro memcpy_libc_call size
	movl	$\size, %edx
	jmp	memcpy@PLT
.endm

.macro memmove_libc_call size
	movl	$\size, %edx
	jmp	memmove@PLT
.endm
