import type { Fields, Kind } from './object-case.ts'

function kind(apiVersion: string, name: string, plural: string, fields: Fields, isNamespaced = true): Kind {
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`
  return {
    collection: `${root}/${isNamespaced ? 'namespaces/default/' : ''}${plural}`,
    valid: { apiVersion, kind: name, metadata: { name: 'web' }, ...fields },
  }
}

const about = { kind: 'Pod', namespace: 'default', name: 'web-1' }
const happening = {
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'example.com/controller',
  reportingInstance: 'controller-1',
  action: 'Started',
  reason: 'Started',
  type: 'Normal',
}

export const service = kind('v1', 'Service', 'services', { spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } })
export const endpoints = kind('v1', 'Endpoints', 'endpoints', {
  subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 80 }] }],
})
export const endpointSlice = kind('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices', {
  addressType: 'IPv4',
  ports: [{ port: 80 }],
  endpoints: [{ addresses: ['10.1.2.3'] }],
})
export const configMap = kind('v1', 'ConfigMap', 'configmaps', { data: { key: 'value' } })
export const secret = kind('v1', 'Secret', 'secrets', { data: { key: 'dmFsdWU=' } })
export const serviceAccount = kind('v1', 'ServiceAccount', 'serviceaccounts', {})
export const namespace = kind('v1', 'Namespace', 'namespaces', {}, false)
export const node = kind('v1', 'Node', 'nodes', {}, false)
export const lease = kind('coordination.k8s.io/v1', 'Lease', 'leases', { spec: { holderIdentity: 'me' } })
export const event = kind('v1', 'Event', 'events', { involvedObject: about })
export const groupEvent = kind('events.k8s.io/v1', 'Event', 'events', { regarding: about, ...happening })
