import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InformerHandler, SharedInformer } from '../../../../src/client/index.ts'
import type { Run } from '../../../../src/host/index.ts'
import { RoutesPlane } from '../../../../src/node/routes/index.ts'
import { cidrOf } from '../../../helpers/addresses.ts'
import { createRecordingLogger } from '../../../helpers/recording-logger.ts'
import { until } from '../../../helpers/until.ts'

const nodeOf = (name: string, address: string, podCIDR: string) => ({
  metadata: { name, uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { podCIDR, podCIDRs: [podCIDR] },
  status: { addresses: [{ type: 'InternalIP', address }] },
})
const nodes = [nodeOf('a', '192.0.2.1', '10.244.0.0/24'), nodeOf('b', '192.0.2.2', '10.244.1.0/24')]

/** An informer that has listed these nodes. */
function listed(): SharedInformer {
  const follow = (handler: InformerHandler) => ({
    name: 'nodes',
    start: async () => handler.onReplace(nodes as never, '1' as never, undefined as never),
    stop: async () => {},
    health: () => ({ level: 'ok', message: '', sinceMs: 0 }),
  })
  return { follow } as never
}

test('routes to other nodes are made also where the list of this node cannot be written, and the status says what failed', async () => {
  const batches: string[] = []
  const run = async (_file: string, args: readonly string[], options: { readonly input?: string }) => {
    if (options.input !== undefined && args.includes('-batch')) batches.push(options.input)
    return { stdout: args.includes('-j') ? '[]' : '', stderr: '' }
  }
  const { log, lines } = createRecordingLogger()
  const plane = new RoutesPlane({
    nodesOfCluster: listed(),
    nodeName: 'a',
    mode: 'host-gw',
    clusterCidrs: [cidrOf('10.244.0.0/16')],
    addresses: { serviceCidrs: [], want: async () => {}, subscribe: () => () => {} },
    leadsToOthers: true,
    onPodCidrs: () => Promise.reject(new Error('ENOSPC: no space left on device, write')),
    isWanted: async () => true,
    metrics: { setRefusedClaims: () => {} },
    log,
    run: run as never as Run,
  })
  await plane.start({ signal: AbortSignal.timeout(1_000) })
  await until('it has failed', () => plane.health().level === 'degraded')
  await plane.stop({ signal: AbortSignal.timeout(1_000) })
  assert.match(batches.join(''), /route add 10\.244\.1\.0\/24 via 192\.0\.2\.2/)
  assert.match(plane.health().message, /no space left on device, write$/)
  assert.ok(lines.includes('warn the pod network of this node could not be set up'), lines.join())
})
