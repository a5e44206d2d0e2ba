/** The size limit of a body: 3 MiB, as in Kubernetes. */
export const maxBodyBytes = 3 * 1024 * 1024

/** The depth limit: deeper than any stored object, shallow enough that recursion over a body never overflows the stack. */
export const maxDepth = 1_000

/** The limit of unknown and duplicate fields in one response, as in Kubernetes. */
export const maxStrictErrors = 100

/** The length limit of a YAML body as JSON, its aliases expanded; JSON is usually at most twice as long as the same value in YAML. */
export const maxExpandedLength = 6 * 1024 * 1024
