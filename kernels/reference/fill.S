# Where a memset's fill comes from: a register that holds it in every byte.
#
# fill is zero, constant (0x5a, as FILL_CONSTANT of model.py) or variable (the low byte of %rsi).
# Constants are built from immediates, so that no form depends on a load from .rodata.

# rax: multiplying a byte by 0x0101...01 repeats it; a 64-bit immediate is 10 bytes, once.
.macro memstrat_fill_gpr fill
	.ifc \fill,zero
	xorl	%eax, %eax
	.endif
	.ifc \fill,constant
	movabsq	$0x5a5a5a5a5a5a5a5a, %rax
	.endif
	.ifc \fill,variable
	movzbl	%sil, %ecx
	movabsq	$0x0101010101010101, %rax
	imulq	%rcx, %rax
	.endif
.endm

# xmm0 with SSE2 alone: there is no byte broadcast, so bytes, words, then doublewords are doubled.
.macro memstrat_fill_sse fill
	.ifc \fill,zero
	pxor	%xmm0, %xmm0
	.endif
	.ifc \fill,constant
	movl	$0x5a5a5a5a, %eax
	movd	%eax, %xmm0
	pshufd	$0, %xmm0, %xmm0
	.endif
	.ifc \fill,variable
	movd	%esi, %xmm0
	punpcklbw	%xmm0, %xmm0
	punpcklwd	%xmm0, %xmm0
	pshufd	$0, %xmm0, %xmm0
	.endif
.endm

# register is %xmm0 or %ymm0; a VEX-128 vpxor clears the whole register.
.macro memstrat_fill_avx2 fill, register
	.ifc \fill,zero
	vpxor	%xmm0, %xmm0, %xmm0
	.endif
	.ifc \fill,constant
	movl	$0x5a5a5a5a, %eax
	vmovd	%eax, %xmm0
	vpbroadcastd	%xmm0, \register
	.endif
	.ifc \fill,variable
	vmovd	%esi, %xmm0
	vpbroadcastb	%xmm0, \register
	.endif
.endm

# zmm0: AVX512BW broadcasts straight from a general register.
.macro memstrat_fill_avx512 fill
	.ifc \fill,zero
	vpxor	%xmm0, %xmm0, %xmm0
	.endif
	.ifc \fill,constant
	movl	$0x5a5a5a5a, %eax
	vpbroadcastd	%eax, %zmm0
	.endif
	.ifc \fill,variable
	vpbroadcastb	%esi, %zmm0
	.endif
.endm
