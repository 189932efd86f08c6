# Straight code: no branch and no loop at any size.
#
# Whole stores from the front; where the size is no multiple of the width, one more store that ends
# at the last byte and overlaps its neighbour. An overlapping store costs less than the two to four
# narrow ones it replaces; GCC and LLVM do the same.

# memset: the register holds the fill.
.macro memstrat_store_all mnemonic, register, width, size
	.set	memstrat_at, 0
	.rept	\size / \width
	\mnemonic	\register, memstrat_at(%rdi)
	.set	memstrat_at, memstrat_at + \width
	.endr
	.if	\size % \width
	\mnemonic	\register, \size - \width(%rdi)
	.endif
.endm

# memcpy: every load is followed by its store. One register is enough: the CPU renames it.
.macro memstrat_copy_all load, store, register, width, size
	.set	memstrat_at, 0
	.rept	\size / \width
	\load	memstrat_at(%rsi), \register
	\store	\register, memstrat_at(%rdi)
	.set	memstrat_at, memstrat_at + \width
	.endr
	.if	\size % \width
	\load	\size - \width(%rsi), \register
	\store	\register, \size - \width(%rdi)
	.endif
.endm

# memmove: source and destination may overlap, so all loads come before the first store; the
# registers prefix+name must hold the whole block (generators/reference.py refuses larger sizes).
.macro memstrat_move_all load, store, width, size, prefix, names:vararg
	.set	memstrat_at, 0
	.irp	name, \names
	.if	memstrat_at < \size
	.if	memstrat_at + \width <= \size
	\load	memstrat_at(%rsi), \prefix\name
	.else
	\load	\size - \width(%rsi), \prefix\name
	.endif
	.set	memstrat_at, memstrat_at + \width
	.endif
	.endr
	.set	memstrat_at, 0
	.irp	name, \names
	.if	memstrat_at < \size
	.if	memstrat_at + \width <= \size
	\store	\prefix\name, memstrat_at(%rdi)
	.else
	\store	\prefix\name, \size - \width(%rdi)
	.endif
	.set	memstrat_at, memstrat_at + \width
	.endif
	.endr
.endm
