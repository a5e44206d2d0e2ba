import type { SizeCount } from '../count-size.ts'

/** Each destination has its numbers of all endpoints and of this node's, an element that it remembers clients, and a refusal. */
const fixedElements = 4

/**
 * Counts at most the elements that `lowerToElements` makes, without making them. Each destination of a port (cluster IP, node port,
 * external addresses) has an element for each endpoint, with affinity two.
 */
export const elementCount: SizeCount = {
  unit: 'elements',
  ofPort: ({ addresses, balancers, sourceRanges, hasAffinity, endpoints, localEndpoints }) => {
    const destinations = 2 + addresses
    const perEndpoint = hasAffinity ? 2 : 1
    const ofDestinations = destinations * (fixedElements + (endpoints + localEndpoints) * perEndpoint)
    const hairpins = Math.max(endpoints, localEndpoints)
    // A load balancer's own address is a source where a range holds the node. A port for health checks is one more.
    return ofDestinations + hairpins + balancers * (sourceRanges + balancers) + 1
  },
}
