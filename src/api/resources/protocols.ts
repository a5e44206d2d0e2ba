/** The transport protocols a port may name, in the order messages list them. */
export const protocols: readonly string[] = ['SCTP', 'TCP', 'UDP']
