import { createDialect } from '../../src/model/dialect.ts'

export const dialect = createDialect('platform')

export interface WireFixture {
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly resourceVersion: string
    readonly labels?: object
    readonly annotations?: object
  }
  readonly [field: string]: unknown
}

export function wireService(
  name: string,
  resourceVersion: string,
  spec: object = {},
  labels: object = {},
): WireFixture {
  return {
    metadata: { name, namespace: 'default', resourceVersion, labels },
    spec: { clusterIP: '10.96.0.10', ports: [{ name: 'http', port: 80 }], ...spec },
  }
}

export function wireSlice(
  name: string,
  service: string,
  resourceVersion: string,
  body: object = {},
  labels: object = {},
): WireFixture {
  return {
    metadata: {
      name,
      namespace: 'default',
      resourceVersion,
      labels: { [dialect.labels.serviceName]: service, ...labels },
    },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: ['10.244.0.5'] }],
    ...body,
  }
}

export function wireEndpoints(
  name: string,
  resourceVersion: string,
  subsets: unknown = [],
  labels: object = {},
): WireFixture {
  return { metadata: { name, namespace: 'default', resourceVersion, labels }, subsets }
}
