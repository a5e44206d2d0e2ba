import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countSize, ruleCount } from '../../../../src/netfilter/count-size.ts'
import { lowerService } from '../../../../src/netfilter/lower-service.ts'
import { elementCount } from '../../../../src/netfilter/nft/count-elements.ts'
import { lowerToElements } from '../../../../src/netfilter/nft/lower-elements.ts'
import { countElements } from '../../../../src/netfilter/nft/packed-elements.ts'
import { planFrontends } from '../../../../src/node/proxy/plan.ts'
import type { ProxySettings } from '../../../../src/node/proxy/service-plans.ts'
import { sizeUpperBound } from '../../../../src/node/proxy/size-bound.ts'
import { cidr, ip, makeEndpoint, makePort, makeService, makeSlice } from '../../../helpers/services.ts'

const nodeIp = ip('203.0.113.7')
const settings: ProxySettings = { nodeName: 'node-a', family: 'IPv4', nodeIps: [nodeIp] }
const ports = [makePort('a', 'TCP', 80, 30080), makePort('b', 'UDP', 81), makePort('c', 'TCP', 82, 30082)]
const policy = fc.constantFrom('Cluster' as const, 'Local' as const)

const services = fc
  .record({
    ports: fc.subarray(ports, { minLength: 1 }),
    hosts: fc.uniqueArray(fc.nat(12)),
    affinity: fc.constantFrom({}, { affinity: { timeoutSeconds: 60 } }),
    externalTrafficPolicy: policy,
    internalTrafficPolicy: policy,
    loadBalancerVips: fc.subarray(['198.51.100.1', '198.51.100.3', '198.51.100.5'].map(ip)),
    externalIps: fc.subarray(['198.51.100.2', '198.51.100.4', '2001:db8::4'].map(ip)),
    ranges: fc.constantFrom(
      {},
      { sourceRanges: [cidr('203.0.113.0/24'), cidr('192.0.2.0/25')] },
      { sourceRanges: [] },
      { healthCheckNodePort: 32_000 },
    ),
  })
  .map(({ hosts, affinity, ranges, ...details }) => {
    const service = makeService('default/web', '10.96.0.1', {
      type: 'LoadBalancer',
      ...details,
      ...affinity,
      ...ranges,
    })
    const endpoints = hosts.map((host) =>
      makeEndpoint(`10.244.0.${host + 1}`, { nodeName: host % 2 ? 'node-a' : 'node-b' }),
    )
    const targets = ports.map(({ name, protocol }) => [name, protocol, 8080] as const)
    return { service, slices: [makeSlice(service.key, targets, endpoints)] }
  })

test('no Service makes more elements than are counted before they are made, nor many fewer', () => {
  fc.assert(
    fc.property(services, ({ service, slices }) => {
      const frontends = planFrontends(service, slices, settings)
      const made = countElements(lowerToElements(frontends, settings))
      const counted = countSize(elementCount, frontends, settings)
      assert.ok(made <= counted, `${made} made, ${counted} counted`)
      // Addresses that no client may use make hardly an element, and are counted as others are.
      const isUsable = service.sourceRanges === undefined || service.sourceRanges.length > 0
      if (isUsable) assert.ok(counted <= 3 * made + 60 * frontends.length, `${made} made, ${counted} counted`)
    }),
    { numRuns: 300 },
  )
})

test('what is known of a Service before it is planned bounds its size, in rules and in elements', () => {
  fc.assert(
    fc.property(services, ({ service, slices }) => {
      const frontends = planFrontends(service, slices, settings)
      const { chains } = lowerService(frontends, settings)
      const rules = chains.values().reduce((sum, chain) => sum + chain.length, 0)
      assert.ok(rules <= sizeUpperBound(ruleCount, service, slices, settings))
      for (const count of [ruleCount, elementCount])
        assert.ok(countSize(count, frontends, settings) <= sizeUpperBound(count, service, slices, settings))
    }),
  )
})
