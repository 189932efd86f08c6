# Straight code through 16-byte SSE registers, with nothing newer than SSE2. movups is one byte
# shorter than movdqu and, for stores and plain loads, the same to every CPU with AVX or later.
# Blocks below 16 bytes go through general registers.

.macro memset_sse_stores size, fill
	.if	\size < 16
	memset_gpr_stores \size, \fill
	.else
	memstrat_fill_sse \fill
	memstrat_store_all movups, %xmm0, 16, \size
	ret
	.endif
.endm

.macro memcpy_sse_stores size
	.if	\size < 16
	memcpy_gpr_stores \size
	.else
	memstrat_copy_all movups, movups, %xmm0, 16, \size
	ret
	.endif
.endm

.macro memmove_sse_stores size
	.if	\size < 16
	memmove_gpr_stores \size
	.else
	memstrat_move_all movups, movups, 16, \size, %xmm, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	ret
	.endif
.endm
