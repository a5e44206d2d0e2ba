import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { proxyHooks } from '../../../../src/netfilter/hooks.ts'
import { createProxyMetrics, ProxyPlane } from '../../../../src/node/proxy/index.ts'
import { RulesWriter } from '../../../../src/node/rules/index.ts'
import { AppliedRevisions, LiveNodeState } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { createMetrics, silentLogger } from '../../../../src/observe/index.ts'
import { FakeIptables, type RestoreFault } from '../../../helpers/fake-iptables.ts'
import { until } from '../../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../../helpers/wire-objects.ts'

const names = ['a', 'b', 'c'] as const
type Name = (typeof names)[number]

type Step =
  | { readonly kind: 'service'; readonly name: Name; readonly shape: number }
  | { readonly kind: 'slice'; readonly name: Name; readonly endpoints: readonly number[] }
  | { readonly kind: 'delete'; readonly name: Name }
  | { readonly kind: 'zone'; readonly zone: string }
  | { readonly kind: 'fault'; readonly fault: RestoreFault }
  | { readonly kind: 'wait' }

const name = fc.constantFrom(...names)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('service'), name, shape: fc.nat(3) }),
  fc.record({
    kind: fc.constant('slice'),
    name,
    endpoints: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant('delete'), name }),
  fc.record({ kind: fc.constant('zone'), zone: fc.constantFrom('x', 'y') }),
  fc.record({
    kind: fc.constant('fault'),
    fault: fc.constantFrom('refused', 'killed after the first commit', 'killed at the end', 'lock held'),
  }),
  fc.constant({ kind: 'wait' } as const),
)

/** A node whose kernel is in memory. */
class Node {
  readonly kernel = new FakeIptables()
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly plane: ProxyPlane

  constructor(state: LiveNodeState, zone: string) {
    this.state = state
    this.applied = new AppliedRevisions(state)
    this.applied.register('proxy')
    this.plane = new ProxyPlane({
      state,
      applied: this.applied,
      writer: new RulesWriter({ iptables: this.kernel.iptables(), hooks: proxyHooks(), log: silentLogger }),
      settings: { nodeName: 'n1', family: 'IPv4', zone },
      metrics: createProxyMetrics(createMetrics())('IPv4'),
      log: silentLogger,
    })
  }

  async settled(): Promise<void> {
    const isDone = () => this.applied.report().planes['proxy'] === this.state.revision && this.isWritten()
    await until('everything is applied', isDone, 60_000)
  }

  isWritten(): boolean {
    return this.plane.freshness().pendingSinceMs === undefined && this.plane.health().level === 'ok'
  }

  stop(): Promise<void> {
    return this.plane.stop({ signal: AbortSignal.timeout(5000) })
  }
}

const shapes: readonly object[] = [
  {},
  { type: 'NodePort', ports: [{ name: 'http', port: 80, nodePort: 30080 }] },
  { externalIPs: ['198.51.100.7'], sessionAffinity: 'ClientIP' },
  { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [{ name: 'http', port: 80, nodePort: 30081 }] },
]

function take(state: LiveNodeState, each: Exclude<Step, { kind: 'fault' | 'zone' | 'wait' }>, version: string): void {
  const key = `default/${each.name}`
  if (each.kind === 'delete') state.remove('services', key, version)
  else if (each.kind === 'service') {
    const spec = { clusterIP: `10.96.0.${names.indexOf(each.name) + 1}`, ...shapes[each.shape] }
    state.upsert('services', readObject('services', wireService(each.name, version, spec), dialect))
  } else {
    const slice = wireSlice(`${each.name}-1`, each.name, version, { endpoints: each.endpoints.map(describeEndpoint) })
    state.upsert('endpointslices', readObject('endpointslices', slice, dialect))
  }
}

function describeEndpoint(number: number): object {
  return {
    addresses: [`10.244.0.${number}`],
    nodeName: number % 2 === 0 ? 'n1' : 'n2',
    hints: { forZones: [{ name: number < 3 ? 'x' : 'y' }] },
  }
}

test('after any events and failures the kernel holds what a fresh node would write at once', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const state = new LiveNodeState(silentLogger)
      let zone = 'x'
      const node = new Node(state, zone)
      await node.plane.start()
      for (const resource of ['services', 'endpointslices', 'endpoints'] as const) state.replace(resource, [], '1')
      for (const [index, each] of steps.entries()) {
        if (each.kind === 'fault') node.kernel.faults.push(each.fault)
        else if (each.kind === 'wait') await new Promise((resolve) => setTimeout(resolve, 1))
        else if (each.kind === 'zone') {
          zone = each.zone
          node.plane.configure({ nodeName: 'n1', family: 'IPv4', zone })
        } else take(state, each, String(index + 2))
      }
      await node.settled()
      const fresh = new Node(copyOf(state), zone)
      await fresh.plane.start()
      fresh.state.replace('endpoints', [], '1')
      await fresh.settled()
      await Promise.all([node.stop(), fresh.stop()])
      assert.deepEqual(node.kernel.contents(), fresh.kernel.contents())
    }),
    { numRuns: 40 },
  )
})

/** The same objects in a state that has not been told all of them yet. */
function copyOf(state: LiveNodeState): LiveNodeState {
  const copy = new LiveNodeState(silentLogger)
  for (const resource of ['services', 'endpointslices'] as const) {
    const keys = names.flatMap((each) => [`default/${each}`, `default/${each}-1`])
    const objects = keys.flatMap((key) => state.stored(resource, key) ?? [])
    copy.replace(resource, objects, '1')
  }
  return copy
}
