# Straight code through 32-byte AVX registers. Blocks of 16 to 31 bytes use the same instructions at
# 128 bits, which leave no upper half to clear; vzeroupper ends every other kernel, as compilers
# emit it, since a caller's SSE code would pay for dirty upper halves.

.macro memset_avx2_stores size, fill
	.if	\size < 16
	memset_gpr_stores \size, \fill
	.elseif	\size < 32
	memstrat_fill_avx2 \fill, %xmm0
	memstrat_store_all vmovdqu, %xmm0, 16, \size
	ret
	.else
	memstrat_fill_avx2 \fill, %ymm0
	memstrat_store_all vmovdqu, %ymm0, 32, \size
	vzeroupper
	ret
	.endif
.endm

.macro memcpy_avx2_stores size
	.if	\size < 16
	memcpy_gpr_stores \size
	.elseif	\size < 32
	memstrat_copy_all vmovdqu, vmovdqu, %xmm0, 16, \size
	ret
	.else
	memstrat_copy_all vmovdqu, vmovdqu, %ymm0, 32, \size
	vzeroupper
	ret
	.endif
.endm

.macro memmove_avx2_stores size
	.if	\size < 16
	memmove_gpr_stores \size
	.elseif	\size < 32
	memstrat_move_all vmovdqu, vmovdqu, 16, \size, %xmm, 0,1
	ret
	.else
	memstrat_move_all vmovdqu, vmovdqu, 32, \size, %ymm, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
	vzeroupper
	ret
	.endif
.endm
