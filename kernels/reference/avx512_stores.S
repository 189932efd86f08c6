# Straight code through 64-byte AVX-512 registers; below 64 bytes, AVX2's code. A masked store could
# write any tail, but compilers do not emit one for a fixed size, and an overlapping store is cheaper.

.macro memset_avx512_stores size, fill
	.if	\size < 64
	memset_avx2_stores \size, \fill
	.else
	memstrat_fill_avx512 \fill
	memstrat_store_all vmovdqu64, %zmm0, 64, \size
	vzeroupper
	ret
	.endif
.endm

.macro memcpy_avx512_stores size
	.if	\size < 64
	memcpy_avx2_stores \size
	.else
	memstrat_copy_all vmovdqu64, vmovdqu64, %zmm0, 64, \size
	vzeroupper
	ret
	.endif
.endm

.macro memmove_avx512_stores size
	.if	\size < 64
	memmove_avx2_stores \size
	.else
	memstrat_move_all vmovdqu64, vmovdqu64, 64, \size, %zmm, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
	vzeroupper
	ret
	.endif
.endm
