export function configMap(name: string, data: Record<string, string> = {}, labels?: Record<string, string>) {
  return { metadata: { name, ...(labels === undefined ? {} : { labels }) }, data }
}

export function service(name: string, spec: Record<string, unknown> = {}) {
  return { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } }
}

export const paths = {
  configMaps: '/api/v1/namespaces/default/configmaps',
  services: '/api/v1/namespaces/default/services',
  pods: '/api/v1/namespaces/default/pods',
  endpointSlices: '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices',
} as const
