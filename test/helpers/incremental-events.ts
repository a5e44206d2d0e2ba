import assert from 'node:assert/strict'
import fc from 'fast-check'
import { proxyHooks } from '../../src/netfilter/hooks.ts'
import { createProxyMetrics, IptablesMode, ProxyPlane } from '../../src/node/proxy/index.ts'
import { batchSizes } from '../../src/node/rules/batches.ts'
import { type Iptables, RulesWriter } from '../../src/node/rules/index.ts'
import { AppliedRevisions, LiveNodeState } from '../../src/node/state/index.ts'
import { readObject } from '../../src/node/state/stored-object.ts'
import { createMetrics, silentLogger } from '../../src/observe/index.ts'
import type { RestoreFault } from './fake-iptables.ts'
import { until } from './until.ts'
import { dialect, wireService, wireSlice } from './wire-objects.ts'

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

/** What the rules are written to. */
export interface TestedKernel {
  readonly iptables: () => Iptables
  /** What the next restores do instead of their work, or after it. */
  readonly faults: RestoreFault[]
  /** Our chains alone, without stamps. */
  readonly contents: () => Promise<unknown>
}

class Node {
  readonly kernel: TestedKernel
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly plane: ProxyPlane

  constructor(kernel: TestedKernel, state: LiveNodeState, zone: string) {
    this.kernel = kernel
    this.state = state
    this.applied = new AppliedRevisions(state)
    this.applied.register('proxy')
    this.plane = new ProxyPlane({
      state,
      applied: this.applied,
      mode: new IptablesMode(
        'IPv4',
        new RulesWriter({
          iptables: kernel.iptables(),
          hooks: proxyHooks(),
          log: silentLogger,
          batches: { ...batchSizes.nft, removalsAheadFrom: 0 },
        }),
      ),
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
    return this.plane.view.freshness().pendingSinceMs === undefined && this.plane.health().level === 'ok'
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

export interface IncrementalRuns {
  readonly numRuns: number
  /** Where given, the same events each time. */
  readonly seed?: number
  /** Makes two kernels that hold nothing yet: one for what comes bit by bit, one for the same at once. */
  readonly kernels: () => Promise<readonly [stepwise: TestedKernel, atOnce: TestedKernel]>
}

/** After any random events and injected failures the kernel holds what a fresh node would write at once. */
export async function checkIncremental({ kernels, ...parameters }: IncrementalRuns): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const [stepwise, atOnce] = await kernels()
      const state = new LiveNodeState(silentLogger)
      const node = new Node(stepwise, state, 'x')
      const zone = await takeAll(node, steps)
      await node.settled()
      const fresh = new Node(atOnce, copyOf(state), zone)
      await fresh.plane.start()
      fresh.state.replace('endpoints', [], '1')
      await fresh.settled()
      await Promise.all([node.stop(), fresh.stop()])
      assert.deepEqual(await stepwise.contents(), await atOnce.contents())
    }),
    parameters,
  )
}

/** The zone it ends in. */
async function takeAll({ kernel, state, plane }: Node, steps: readonly Step[]): Promise<string> {
  let zone = 'x'
  await plane.start()
  for (const resource of ['services', 'endpointslices', 'endpoints'] as const) state.replace(resource, [], '1')
  for (const [index, each] of steps.entries()) {
    if (each.kind === 'fault') kernel.faults.push(each.fault)
    else if (each.kind === 'wait') await new Promise((resolve) => setTimeout(resolve, 1))
    else if (each.kind === 'zone') {
      zone = each.zone
      plane.configure({ nodeName: 'n1', family: 'IPv4', zone })
    } else take(state, each, String(index + 2))
  }
  return zone
}

/** Returns a state that has received only some of the objects yet. */
function copyOf(state: LiveNodeState): LiveNodeState {
  const copy = new LiveNodeState(silentLogger)
  for (const resource of ['services', 'endpointslices'] as const) {
    const keys = names.flatMap((each) => [`default/${each}`, `default/${each}-1`])
    const objects = keys.flatMap((key) => state.stored(resource, key) ?? [])
    copy.replace(resource, objects, '1')
  }
  return copy
}
