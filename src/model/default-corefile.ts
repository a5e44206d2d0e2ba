/** The Corefile of the requirement (spec 2.11), with the cluster's zone in its place. */
export function defaultCorefile(clusterDomain: string): string {
  return `.:53 {
    errors
    health {
        lameduck 5s
    }
    ready
    kubernetes ${clusterDomain} in-addr.arpa ip6.arpa {
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
        ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
        max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
`
}
