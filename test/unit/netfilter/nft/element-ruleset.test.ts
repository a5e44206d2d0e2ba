import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Frontend } from '../../../../src/netfilter/frontend.ts'
import { ElementRuleset } from '../../../../src/netfilter/nft/element-ruleset.ts'
import { lowerToElements } from '../../../../src/netfilter/nft/lower-elements.ts'
import type { NftChange, SetElement } from '../../../../src/netfilter/nft/types.ts'
import type { ProxyRuleSettings } from '../../../../src/netfilter/settings.ts'
import { cidr, ip } from '../../../helpers/services.ts'

const settings: ProxyRuleSettings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } }

function frontend(name: string, clusterIp: string, hosts: readonly number[], more: Partial<Frontend> = {}): Frontend {
  const endpoints = hosts.map((host) => ({ address: ip(`10.244.${host >> 8}.${host & 255}`), port: 8080 }))
  return {
    servicePort: name,
    protocol: 'TCP',
    clusterIp: ip(clusterIp),
    port: 80,
    externalIps: [],
    loadBalancerVips: [],
    internalPolicy: 'Cluster',
    externalPolicy: 'Cluster',
    hasEndpoints: hosts.length > 0,
    clusterEndpoints: endpoints,
    localEndpoints: [],
    ...more,
  }
}

function elementsOf(...frontends: readonly Frontend[]) {
  return lowerToElements(frontends, settings)
}

const lineOf = ({ set, key, data }: SetElement) => `${set} ${key} ${data}`

/** `-SET KEY DATA`, `+SET KEY DATA`; `--` between changes. */
function describeChange({ changes }: NftChange): string {
  const line = (sign: string) => (each: { set: string; key: string; data: string }) =>
    `${sign}${each.set} ${each.key} ${each.data}`.trimEnd()
  return changes.map(({ remove, add }) => [...remove.map(line('-')), ...add.map(line('+'))].join('\n')).join('\n--\n')
}

describe('an update', () => {
  test('that gives a Service one endpoint more replaces its number and adds the endpoint', () => {
    const ruleset = new ElementRuleset(settings)
    assert.equal(
      ruleset.update(new Map([['default/a', elementsOf(frontend('default/a', '10.96.0.1', [1]))]])).table,
      ruleset.table,
    )
    const change = ruleset.update(new Map([['default/a', elementsOf(frontend('default/a', '10.96.0.1', [1, 2]))]]))
    assert.equal(change.table, undefined)
    const lines = describeChange(change).split('\n')
    assert.ok(
      lines.includes('-addresses 10.96.0.1 . tcp . 80 1:1') && lines.includes('+addresses 10.96.0.1 . tcp . 80 1:2'),
    )
    assert.ok(lines.includes('+hairpin 10.244.0.2 . 10.244.0.2'))
  })

  test('removes an address of an endpoint only with the last Service that has it', () => {
    const ruleset = new ElementRuleset(settings)
    const both = ['default/a', 'default/b'].map(
      (key, n) => [key, elementsOf(frontend(key, `10.96.0.${n + 1}`, [7]))] as const,
    )
    const first = describeChange(ruleset.update(new Map(both)))
    assert.equal(first.split('\n').filter((line) => line.includes('hairpin')).length, 1)
    assert.ok(!describeChange(ruleset.update(new Map([['default/a', undefined]]))).includes('hairpin'))
    assert.match(
      describeChange(ruleset.update(new Map([['default/b', undefined]]))),
      /-hairpin 10\.244\.0\.7 \. 10\.244\.0\.7/,
    )
    assert.deepEqual([...ruleset.all()], [])
  })

  test('that moves an address from one Service to another changes both together', () => {
    const ruleset = new ElementRuleset(settings)
    const a = frontend('default/a', '10.96.0.1', [1], { externalIps: [ip('192.0.2.7')] })
    ruleset.update(
      new Map([
        ['default/a', elementsOf(a)],
        ['default/c', elementsOf(frontend('default/c', '10.96.0.3', [3]))],
      ]),
    )
    const b = frontend('default/b', '10.96.0.2', [1], { externalIps: [ip('192.0.2.7')] })
    const { changes } = ruleset.update(
      new Map([
        ['default/c', elementsOf(frontend('default/c', '10.96.0.3', [4]))],
        ['default/b', elementsOf(b)],
        ['default/a', elementsOf({ ...a, externalIps: [] })],
      ]),
    )
    const ofB = changes.find(({ add }) => add.some(({ key }) => key.startsWith('10.96.0.2 ')))
    assert.ok(ofB?.remove.some(({ key }) => key.startsWith('192.0.2.7 ')))
    assert.ok(
      changes.some(({ service }) => service === 'default/c'),
      'a Service that has no part in it changes alone',
    )
  })

  test('hands over a larger table for more endpoints or another timeout, and none for fewer', () => {
    const ruleset = new ElementRuleset(settings)
    ruleset.update(new Map())
    const hosts = Array.from({ length: 129 }, (_, host) => host + 1)
    const larger = ruleset.update(new Map([['default/a', elementsOf(frontend('default/a', '10.96.0.1', hosts))]]))
    assert.ok(larger.table?.text.includes('jump draw-256'))
    assert.equal(ruleset.update(new Map([['default/a', undefined]])).table, undefined)
    const sticky = frontend('default/a', '10.96.0.1', [1], { affinity: { timeoutSeconds: 77 } })
    assert.ok(ruleset.update(new Map([['default/a', elementsOf(sticky)]])).table?.text.includes('timeout 77s'))
  })
})

test('what is filled in, in several steps, is what updates make: elements, additions, the table and later differences', () => {
  const [filled, updated] = [new ElementRuleset(settings), new ElementRuleset(settings)]
  const hosts = Array.from({ length: 300 }, (_, host) => host + 1)
  const wide = frontend('default/a', '10.96.0.1', hosts, { affinity: { timeoutSeconds: 77 } })
  const steps = [
    new Map([
      ['default/a', elementsOf(wide)],
      ['default/b', elementsOf(frontend('default/b', '10.96.0.2', [1, 7]))],
    ]),
    new Map([
      ['default/a', elementsOf(frontend('default/a', '10.96.0.1', [1]))],
      ['default/b', undefined],
      ['default/c', elementsOf(frontend('default/c', '10.96.0.3', [7, 8]))],
    ]),
  ]
  for (const [index, step] of steps.entries()) {
    const filling = filled.fillInSteps(step)
    let last = filling.next()
    while (last.done !== true) last = filling.next()
    assert.equal(last.value, index === 0 ? filled.table : undefined)
    updated.update(step)
    assert.deepEqual([...filled.all()].map(lineOf).sort(), [...updated.all()].map(lineOf).sort())
    const added = [...filled.additions()].flatMap(({ add }) => add.map(lineOf))
    assert.deepEqual(added.sort(), [...updated.all()].map(lineOf).sort())
    assert.equal(filled.table.text, updated.table.text)
    assert.equal(filled.generation, updated.generation)
  }
  const last = new Map([['default/c', undefined]])
  assert.equal(describeChange(filled.update(last)), describeChange(updated.update(last)))
})

test('one of 5,000 endpoints that goes, and one that comes, move few others', () => {
  const hosts = Array.from({ length: 5000 }, (_, host) => host + 1)
  const ruleset = new ElementRuleset(settings)
  ruleset.update(new Map([['default/a', elementsOf(frontend('default/a', '10.96.0.1', hosts))]]))
  const others = [...hosts.slice(0, 2000), ...hosts.slice(2001), 6000]
  const { changes } = ruleset.update(new Map([['default/a', elementsOf(frontend('default/a', '10.96.0.1', others))]]))
  const size = changes.reduce((sum, { remove, add }) => sum + remove.length + add.length, 0)
  assert.ok(size > 3 && size < 150, `${size} elements`)
})
