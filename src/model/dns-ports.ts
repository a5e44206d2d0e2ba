/** The port on which DNS is served and asked, over UDP and TCP (RFC 1035 4.2). */
export const dnsPort = 53

/** The port on which the cluster's DNS serves its metrics, as CoreDNS does. */
export const dnsMetricsPort = 9153
