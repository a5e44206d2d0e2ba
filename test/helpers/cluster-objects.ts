import type { EndpointSlice } from '../../src/controllers/objects/endpoints.ts'
import type { Node } from '../../src/controllers/objects/node.ts'
import { nodeSchema } from '../../src/controllers/objects/node.ts'
import type { Pod } from '../../src/controllers/objects/pod.ts'
import type { Service } from '../../src/controllers/objects/service.ts'
import { createDialectTypes, podType, serviceType } from '../../src/controllers/objects/types.ts'
import { createDialect } from '../../src/model/dialect.ts'

export const kubernetes = createDialect('kubernetes')
const types = createDialectTypes(kubernetes)

type Fields = Readonly<Record<string, unknown>>

export function metadataOf(name: string, fields: Fields = {}) {
  return { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1', ...fields }
}

export function serviceOf(spec: Fields = {}, metadata: Fields = {}): Service {
  return serviceType.schema.parse({
    metadata: metadataOf('web', metadata),
    spec: { selector: { app: 'web' }, clusterIP: '10.96.0.10', ports: [{ name: 'http', port: 80 }], ...spec },
  })
}

export interface PodWish {
  readonly ips?: readonly string[]
  readonly ready?: boolean
  readonly phase?: string
  readonly metadata?: Fields
  readonly spec?: Fields
}

function podBody(
  name: string,
  { ips = ['10.244.0.1'], ready = true, phase = 'Running', metadata, spec }: PodWish = {},
) {
  return {
    metadata: metadataOf(name, { labels: { app: 'web' }, ...metadata }),
    spec: { containers: [{ name: 'main', ports: [{ name: 'http', containerPort: 8080 }] }], ...spec },
    status: {
      phase,
      podIP: ips[0],
      podIPs: ips.map((ip) => ({ ip })),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  }
}

export function podOf(name: string, wish: PodWish = {}): Pod {
  return podType.schema.parse(podBody(name, wish))
}

export function nodeOf(name: string, zone: string): Node {
  return nodeSchema.parse({ metadata: { ...metadataOf(name), labels: { [kubernetes.labels.zone]: zone } } })
}

export function sliceOf(name: string, fields: Fields, metadata: Fields = {}): EndpointSlice {
  return types.endpointSlices.schema.parse({ metadata: metadataOf(name, metadata), addressType: 'IPv4', ...fields })
}
