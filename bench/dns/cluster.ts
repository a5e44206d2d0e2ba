// The API server that feeds the DNS servers, and what is in it.
import { openMemoryStore } from '../../src/api/store/index.ts'
import type { ClusterAccess } from '../../src/client/index.ts'
import { createDialect } from '../../src/model/dialect.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { cidrOf, ipOf } from '../../test/helpers/addresses.ts'
import { startLabApi } from '../../test/helpers/lab-api.ts'
import { RawClient } from '../api/raw-client.ts'

const dialect = createDialect('kubernetes')
export const dataDir = '/run/bench'
export const apiPort = 6443
export const identity = {
  dataDir,
  bindAddress: ipOf('127.0.0.1'),
  serviceCidrs: [cidrOf('10.96.0.0/12')],
  nodeName: 'node-1',
}
export const services = { resource: { group: '', version: 'v1', resource: 'services' }, namespace: 'default' }
const store = openMemoryStore({ log: silentLogger })

export const startApi = () => startLabApi({ identity, dialect, store, port: apiPort })

export const nameOf = (index: number) => `web-${index}.default.svc.cluster.local`
export const addressOf = (index: number) =>
  `10.${100 + Math.floor(index / 65_000)}.${Math.floor(index / 250) % 250}.${(index % 250) + 1}`

export function serviceObject(index: number) {
  const spec = { clusterIP: addressOf(index), ports: [{ name: 'http', port: 80, protocol: 'TCP' }] }
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: `web-${index}` }, spec }
}

function sliceObject(index: number) {
  const endpoint = (offset: number) => ({
    addresses: [`10.244.${Math.floor(index / 120) % 250}.${((index % 120) * 2 + offset) % 254}`],
    conditions: { ready: true },
  })
  return {
    apiVersion: `${dialect.groups.discovery}/v1`,
    kind: 'EndpointSlice',
    metadata: { name: `web-${index}-a`, labels: { [dialect.labels.serviceName]: `web-${index}` } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [endpoint(0), endpoint(1)],
  }
}

const paths = {
  services: '/api/v1/namespaces/default/services',
  slices: `/apis/${dialect.groups.discovery}/v1/namespaces/default/endpointslices`,
}

/** Services and a slice for each, from one index up to another. */
export async function fill(access: ClusterAccess, from: number, to: number): Promise<void> {
  const { certificateAuthority: ca = '', clientCertificate: cert = '', clientKey: key = '' } = access
  const indexes = Array.from({ length: to - from }, (_, index) => from + index).values()
  const worker = async () => {
    const connection = await RawClient.open({ host: '127.0.0.1', port: apiPort, ca, cert, key })
    for (const index of indexes) {
      const { code } = await connection.send('POST', paths.services, JSON.stringify(serviceObject(index)))
      const slice = await connection.send('POST', paths.slices, JSON.stringify(sliceObject(index)))
      if (code !== 201 || slice.code !== 201) throw new Error(`a create was answered with ${code}, ${slice.code}`)
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: 16 }, worker))
}

export type RunningApi = Awaited<ReturnType<typeof startApi>>

let relists = 0

/** The informers are at a revision that is no longer in the history: they list everything again. */
export async function forceRelist(api: RunningApi): Promise<RunningApi> {
  await api.stop({ signal: AbortSignal.timeout(10_000) })
  relists += 1
  const name = `other-${relists}`
  const value = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' } })
  await store.commit([{ kind: 'put', key: `/registry/configmaps/default/${name}`, value, expectedRevision: 0 }])
  await store.compact(store.revision)
  return startApi()
}
