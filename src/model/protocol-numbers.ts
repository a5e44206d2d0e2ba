/** TCP, UDP, SCTP and UDP-Lite by IANA's numbers: their headers begin with ports that rules, sets and conntrack see. */
export const protocolsWithPorts: ReadonlySet<number> = new Set([6, 17, 132, 136])
