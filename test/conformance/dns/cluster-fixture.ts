/** Objects of the API, in the vocabulary of Kubernetes, with one Service of each kind that makes names. */
export const namespaces = ['data', 'ext', 'empty'] as const

interface Fixture {
  readonly path: string
  readonly body: object
}

function service(namespace: string, name: string, spec: object): Fixture {
  return { path: `/api/v1/namespaces/${namespace}/services`, body: { metadata: { name }, spec } }
}

interface FixtureEndpoint {
  readonly address: string
  readonly hostname?: string
  readonly pod?: string
  readonly ready?: boolean
}

function slice(
  namespace: string,
  of: string,
  ports: readonly object[],
  endpoints: readonly FixtureEndpoint[],
  addressType = 'IPv4',
): Fixture {
  return {
    path: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
    body: {
      metadata: {
        name: `${of}-${addressType.toLowerCase()}`,
        labels: { 'kubernetes.io/service-name': of, 'service.kubernetes.io/headless': '' },
      },
      addressType,
      ports,
      endpoints: endpoints.map(({ address, hostname, pod, ready = true }) => ({
        addresses: [address],
        conditions: { ready },
        ...(hostname !== undefined && { hostname }),
        ...(pod !== undefined && { targetRef: { kind: 'Pod', namespace, name: pod } }),
      })),
    },
  }
}

const http = { name: 'http', port: 80, protocol: 'TCP' }
const udp = { name: 'dns', port: 53, protocol: 'UDP' }
const tcp = { name: 'dns-tcp', port: 53, protocol: 'TCP' }
const sql = { name: 'sql', port: 5432, protocol: 'TCP' }

export const fixtures: readonly Fixture[] = [
  service('default', 'web', { clusterIP: '10.96.0.80', ports: [http, udp, tcp] }),
  slice(
    'default',
    'web',
    [{ ...http, port: 8080 }],
    [
      { address: '10.244.0.1', pod: 'web-1' },
      { address: '10.244.0.2', hostname: 'second' },
      { address: '10.244.0.9', ready: false },
    ],
  ),
  service('default', 'plain', { clusterIP: '10.96.0.81', ports: [{ port: 9000 }] }),
  service('data', 'db', { clusterIP: 'None', ports: [sql] }),
  slice(
    'data',
    'db',
    [sql],
    [
      { address: '10.244.1.1', hostname: 'db-0', pod: 'db-0' },
      { address: '10.244.1.2', pod: 'db-x7k2p' },
      { address: '10.244.1.3', hostname: 'db-2', ready: false },
    ],
  ),
  slice('data', 'db', [sql], [{ address: 'fd00:244::1', hostname: 'db-0' }, { address: 'fd00:244::' }], 'IPv6'),
  service('data', 'none', { clusterIP: 'None', ports: [sql] }),
  service('data', 'portless', { clusterIP: 'None' }),
  slice('data', 'portless', [], [{ address: '10.244.1.9' }]),
  service('ext', 'out', { type: 'ExternalName', externalName: 'www.example.org' }),
  service('ext', 'bad', { type: 'ExternalName', externalName: '10.0.0.1' }),
]
