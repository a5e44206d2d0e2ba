import type { TestContext } from 'node:test'
import { ElementRuleset } from '../../src/netfilter/nft/element-ruleset.ts'
import { collectProxyCounts, createProxyMetrics, NftablesMode, ProxyPlane } from '../../src/node/proxy/index.ts'
import { NftWriter } from '../../src/node/rules/index.ts'
import { AppliedRevisions, LiveNodeState, type WatchedResource } from '../../src/node/state/index.ts'
import { readObject } from '../../src/node/state/stored-object.ts'
import { createMetrics, silentLogger } from '../../src/observe/index.ts'
import { FakeNft } from './fake-nft.ts'
import { dialect, type WireFixture, wireService, wireSlice } from './wire-objects.ts'

const settings = { nodeName: 'n1', family: 'IPv4' } as const

/** A node's state with a plane of the mode nftables on it, and a kernel that may outlive it. */
class NftNode {
  readonly state = new LiveNodeState(silentLogger)
  readonly applied = new AppliedRevisions(this.state)
  readonly registry = createMetrics()
  readonly kernel: FakeNft
  readonly plane: ProxyPlane
  /** The revision of each call of `onComplete`. */
  readonly completed: number[] = []
  /** The Services without anything in the kernel, by the newest call. */
  unserved: readonly string[] = []

  constructor(kernel: FakeNft) {
    this.kernel = kernel
    this.applied.register('proxy')
    const ruleset = new ElementRuleset(settings)
    const writer = new NftWriter({ family: 'IPv4', kernel, wanted: ruleset, log: silentLogger })
    this.plane = new ProxyPlane({
      state: this.state,
      mode: new NftablesMode({ ruleset, writer, why: 'for this test' }),
      applied: this.applied,
      settings,
      metrics: createProxyMetrics(this.registry)('IPv4'),
      log: silentLogger,
      onComplete: (unserved) => {
        this.completed.push(this.state.revision)
        this.unserved = unserved
      },
    })
    collectProxyCounts(this.registry, [this.plane.view])
  }

  upsert(resource: WatchedResource, object: WireFixture): void {
    this.state.upsert(resource, readObject(resource, object, dialect))
  }

  listEverything(): void {
    const services = [wireService('web', '1'), wireService('db', '2', { clusterIP: '10.96.0.11' })]
    const read = (resource: WatchedResource, objects: readonly WireFixture[]) =>
      this.state.replace(
        resource,
        objects.map((object) => readObject(resource, object, dialect)),
        '10',
      )
    read('services', services)
    read('endpointslices', [wireSlice('web-1', 'web', '3')])
    read('endpoints', [])
  }

  appliedRevision(): number | undefined {
    return this.applied.report().planes['proxy']
  }
}

/** Stopped also where the test fails: a plane that retries would keep the process alive. */
export function newNftNode(t: TestContext, kernel = new FakeNft()): NftNode {
  const node = new NftNode(kernel)
  t.after(() => node.plane.stop({ signal: AbortSignal.timeout(1000) }))
  return node
}
