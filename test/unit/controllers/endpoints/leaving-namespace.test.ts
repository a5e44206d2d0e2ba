import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../src/client/index.ts'
import {
  createEndpointSliceController,
  createEndpointsController,
} from '../../../../src/controllers/endpoints/index.ts'
import type { Controller } from '../../../../src/controllers/runtime/controller.ts'
import { MemoryCluster, settled } from '../../../helpers/memory-cluster.ts'

class LeavingCluster extends MemoryCluster {
  readonly refused: string[] = []

  override create({ resource }: { readonly resource: { readonly resource: string } }): Promise<never> {
    this.refused.push(resource.resource)
    const message = 'unable to create new content in namespace default because it is being terminated'
    const causes = [{ reason: 'NamespaceTerminating', message, field: 'metadata.namespace' }]
    return Promise.reject(new ApiError('forbidden', message, { causes }))
  }
}

// Controllers with a retry never settle.
test('endpoints of a Service whose namespace is being deleted are tried once', { timeout: 20_000 }, async () => {
  const cluster = new LeavingCluster()
  const spec = { selector: { app: 'web' }, clusterIP: '10.96.0.1', ports: [{ port: 80 }] }
  cluster.put('services', { metadata: { namespace: 'default', name: 'web' }, spec })
  const controllers = [createEndpointsController, createEndpointSliceController].map(
    (create) => create(cluster.context) as Controller,
  )
  for (const controller of controllers) await controller.start()
  await settled(controllers)
  for (const controller of controllers) await controller.stop({ signal: AbortSignal.timeout(1_000) })
  assert.deepEqual(cluster.refused.toSorted(), ['endpoints', 'endpointslices'])
})
