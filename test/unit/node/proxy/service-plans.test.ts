import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { EndpointSlice } from '../../../../src/model/endpoint-slice.ts'
import { ruleCount } from '../../../../src/netfilter/count-size.ts'
import { elementCount } from '../../../../src/netfilter/nft/count-elements.ts'
import { type ProxySettings, ServicePlans } from '../../../../src/node/proxy/service-plans.ts'
import { ip, makeService, makeSlice } from '../../../helpers/services.ts'

const key = 'default/web'
const settings: ProxySettings = { nodeName: 'n1', family: 'IPv4' }

/** The plan of one Service, and how often its slices were read. */
class Lab {
  reads = 0
  readonly plans: ServicePlans
  #slices: readonly EndpointSlice[] = []

  constructor(...endpoints: readonly string[]) {
    const service = makeService(key, '10.96.0.1')
    const slicesOf = () => {
      this.reads += 1
      return this.#slices
    }
    this.plans = new ServicePlans({ service: () => service, slicesOf }, settings, { sizeCount: ruleCount })
    this.set(...endpoints)
    this.plans.refresh(key)
  }

  set(...endpoints: readonly string[]): void {
    this.#slices = [makeSlice(key, [['http', 'TCP', 8080]], endpoints)]
  }

  endpoints(): readonly string[] {
    const [frontend] = this.plans.get(key)?.frontends ?? []
    return frontend?.clusterEndpoints.map(({ address }) => address) ?? []
  }

  refreshReads(): number {
    const before = this.reads
    this.plans.refresh(key)
    return this.reads - before
  }
}

describe('a Service that is planned ahead', () => {
  test('says whether it loses an endpoint, and is not planned again by the next refresh', () => {
    const lab = new Lab('10.244.0.1', '10.244.0.2')
    lab.set('10.244.0.2')
    assert.equal(lab.plans.planAhead(new Set([key])), true)
    assert.equal(lab.refreshReads(), 0)
    assert.deepEqual(lab.endpoints(), ['10.244.0.2'])
    lab.set('10.244.0.2', '10.244.0.3')
    assert.equal(lab.plans.planAhead(new Set([key])), false)
    assert.equal(lab.refreshReads(), 0)
    assert.deepEqual(lab.endpoints(), ['10.244.0.2', '10.244.0.3'])
    assert.ok(lab.refreshReads() > 0, 'what was planned ahead counts once')
  })

  test('is planned by the refresh where it has changed again, among many others or with the settings', () => {
    const lab = new Lab('10.244.0.1')
    lab.set('10.244.0.2')
    lab.plans.planAhead(new Set([key]))
    lab.set('10.244.0.3')
    const many = new Set([key, ...Array.from({ length: 100 }, (_, index) => `default/s${index}`)])
    assert.equal(lab.plans.planAhead(many), false, 'many Services are not planned ahead')
    assert.ok(lab.refreshReads() > 0)
    assert.deepEqual(lab.endpoints(), ['10.244.0.3'])
    lab.set('10.244.0.4')
    lab.plans.planAhead(new Set([key]))
    lab.plans.configure({ ...settings, zone: 'b' })
    assert.ok(lab.refreshReads() > 0)
    assert.deepEqual(lab.endpoints(), ['10.244.0.4'])
  })
})

describe('a Service that is too large', () => {
  const externalIps = Array.from({ length: 100 }, (_, n) => ip(`198.51.100.${n + 1}`))
  const endpoints = Array.from({ length: 100 }, (_, n) => `10.244.0.${n + 1}`)
  const service = makeService(key, '10.96.0.1', { externalIps })
  const slices = [makeSlice(key, [['http', 'TCP', 8080]], endpoints)]
  const plansWith = (sizeCount: typeof ruleCount, family: 'IPv4' | 'IPv6' = 'IPv4') => {
    const state = { service: () => service, slicesOf: () => slices }
    const plans = new ServicePlans(state, { ...settings, family }, { maxSize: 5_000, sizeCount })
    return { planned: plans.refresh(key) !== undefined, tooLarge: plans.tooLarge(key) }
  }

  test('is found by its elements in the mode nftables, where each address has an element for each endpoint', () => {
    assert.deepEqual(plansWith(ruleCount), { planned: true, tooLarge: undefined })
    const { planned, tooLarge } = plansWith(elementCount)
    assert.equal(planned, false)
    assert.match(tooLarge ?? '', /^10\d{3} elements$/)
  })

  test('is none in a family in which it has no cluster IP', () => {
    assert.deepEqual(plansWith(elementCount, 'IPv6'), { planned: false, tooLarge: undefined })
  })
})
