/** 3 MiB, as Kubernetes. */
export const maxBodyBytes = 3 * 1024 * 1024

/** Deeper than any object of ours, shallow enough that recursion over a body never overflows the stack. */
export const maxDepth = 1_000

/** Fields that are unknown or stand twice: an answer names at most so many, as Kubernetes. */
export const maxStrictErrors = 100

/** Of a YAML body as JSON, its aliases expanded; JSON spells the same value longer than YAML, at most twice as long as a rule. */
export const maxExpandedLength = 6 * 1024 * 1024
