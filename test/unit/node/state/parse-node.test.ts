import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { networksOf } from '../../../../src/node/dns/sources/sources.ts'
import { formatProblem } from '../../../../src/node/state/index.ts'
import { parseNode } from '../../../../src/node/state/parse-node.ts'
import { dialect } from '../../../helpers/wire-objects.ts'

const parse = (body: object, metadata: object = {}) =>
  parseNode({ metadata: { name: 'node-1', ...metadata }, ...body }, dialect)

describe('a Node', () => {
  it('tells its addresses, pod networks and zone', () => {
    const status = {
      addresses: [
        { type: 'Hostname', address: 'node-1' },
        { type: 'ExternalIP', address: '198.51.100.1' },
        { type: 'InternalIP', address: '192.0.2.1' },
        { type: 'InternalIP', address: 'FD00::1' },
      ],
    }
    const spec = { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24', 'fd00:244::/64'] }
    assert.deepEqual(parse({ status, spec }, { labels: { [dialect.labels.zone]: 'zone-a' } }), {
      value: {
        name: 'node-1',
        addresses: ['192.0.2.1', 'fd00::1', '198.51.100.1'],
        podCidrs: ['10.244.1.0/24', 'fd00:244::/64'],
        zone: 'zone-a',
        isLeaving: false,
      },
      problems: [],
    })
    assert.deepEqual(parse({ spec: { podCIDR: '10.244.1.0/24' } }).value?.podCidrs, ['10.244.1.0/24'])
  })

  it('has no address and no network that each machine has for itself', () => {
    const addresses = ['127.0.0.1', '::ffff:127.0.0.1', 'fe80::1', '192.0.2.1'].map((address) => ({
      type: 'InternalIP',
      address,
    }))
    for (const podCIDR of ['0.0.0.0/0', '::/0', '127.0.0.0/24', '128.0.0.0/1']) {
      const { value, problems } = parse({ status: { addresses }, spec: { podCIDRs: [podCIDR, '10.244.1.0/24'] } })
      assert.deepEqual([value?.addresses, value?.podCidrs], [['192.0.2.1'], ['10.244.1.0/24']])
      assert.equal(problems.length, 4)
      const item = {
        metadata: { name: 'n', resourceVersion: '1' },
        spec: { podCIDRs: [podCIDR] },
        status: { addresses },
      }
      assert.deepEqual(networksOf(item), ['192.0.2.1/32'], 'whose queries DNS answers')
    }
  })

  it('is leaving when it is being deleted, or an autoscaler says so', () => {
    assert.equal(parse({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }).value?.isLeaving, true)
    assert.equal(parse({ spec: { taints: [{ key: 'ToBeDeletedByClusterAutoscaler' }] } }).value?.isLeaving, true)
    assert.equal(parse({ spec: { taints: [{ key: 'other' }, {}] } }).value?.isLeaving, false)
  })

  it('keeps what makes sense and tells of the rest', () => {
    const { value, problems } = parse({
      status: { addresses: [{ type: 'InternalIP', address: 'x' }, 7] },
      spec: { podCIDRs: ['10.0.0.0/40'], taints: 'x' },
    })
    assert.deepEqual(value, { name: 'node-1', addresses: [], podCidrs: [], isLeaving: false })
    assert.deepEqual(problems.map(formatProblem), [
      'Node: status.addresses[0].address: expected an IP address (ordinary unicast: no loopback, link-local, multicast, metadata server), found "x"',
      'Node: status.addresses[1]: expected an object, found 7',
      'Node: spec.podCIDRs[0]: expected a network (address/prefix) without special addresses, found "10.0.0.0/40"',
      'Node: spec.taints: expected a list, found "x"',
    ])
    for (const json of [null, {}, { metadata: { name: 'a\nb' } }]) {
      const { value: none, problems: found } = parseNode(json, dialect)
      assert.deepEqual([none, found.length], [undefined, 1])
    }
  })
})
