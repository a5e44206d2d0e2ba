import type { EndpointSlice, Node, Pod, Service } from '../../src/controllers/shapes.ts'
import { createShapes } from '../../src/controllers/shapes.ts'
import { createDialect } from '../../src/model/dialect.ts'

export const kubernetes = createDialect('kubernetes')
export const shapes = createShapes(kubernetes)

type Fields = Readonly<Record<string, unknown>>

export function metadataOf(name: string, fields: Fields = {}) {
  return { name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '1', ...fields }
}

export function serviceOf(spec: Fields = {}, metadata: Fields = {}): Service {
  return shapes.services.schema.parse({
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

export function podBody(
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
  return shapes.pods.schema.parse(podBody(name, wish))
}

export function nodeOf(name: string, zone: string): Node {
  return { metadata: { ...metadataOf(name), labels: { [kubernetes.labels.zone]: zone } } }
}

export function sliceOf(name: string, fields: Fields, metadata: Fields = {}): EndpointSlice {
  return shapes.endpointSlices.schema.parse({ metadata: metadataOf(name, metadata), addressType: 'IPv4', ...fields })
}
