import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, objectAt } from '../document.ts'
import { builtInSchema, overlaySchema } from '../schema/built-in-schema.ts'
import { checkDns1035Label } from '../schema/names.ts'
import { object } from '../schema/schema.ts'
import { column, type Resource, type Strategy } from './resource.ts'
import { validateServiceUpdate } from './service-addresses.ts'
import { carryAllocations, defaultService } from './service-defaults.ts'
import { validateExternalAddresses } from './service-external-addresses.ts'
import { serviceSpec } from './service-spec.ts'
import { validateBalancerStatus, validateService, validateServiceAnnotations } from './service-validation.ts'

/** The unconditional defaults; `defaultService` has the others. */
const defaults = object({
  spec: {
    default: {},
    properties: {
      type: { default: 'ClusterIP' },
      sessionAffinity: { default: 'None' },
      ports: { items: { properties: { protocol: { default: 'TCP' } } } },
    },
  },
  status: { default: { loadBalancer: {} } },
})

/** The kind Service; `allocate` fills in addresses and ports and returns the writes that reserve them. */
export function services(dialect: Dialect, allocate: NonNullable<Strategy['coWrites']>): Resource {
  return {
    group: '',
    version: 'v1',
    kind: 'Service',
    plural: 'services',
    singular: 'service',
    shortNames: ['svc'],
    categories: ['all'],
    namespaced: true,
    subresources: ['status'],
    connects: ['proxy'],
    schema: overlaySchema(builtInSchema('', 'v1', 'Service'), defaults),
    countsGeneration: false,
    selectableFields: {
      'spec.clusterIP': (service) => serviceSpec(service).clusterIP ?? '',
      'spec.type': (service) => serviceSpec(service).type,
    },
    columns: [
      column('Type', (service) => serviceSpec(service).type),
      column('Cluster-IP', (service) => serviceSpec(service).clusterIP ?? '<none>'),
      column('External-IP', externalIpCell),
      column('Port(s)', portsCell),
      column('Selector', selectorCell, { wide: true }),
    ],
    strategy: serviceStrategy(dialect, allocate),
  }
}

function serviceStrategy(dialect: Dialect, allocate: NonNullable<Strategy['coWrites']>): Strategy {
  return {
    validateName: checkDns1035Label,
    createsOnUpdate: true,
    prepareForCreate: (service) => ({
      ...service,
      spec: defaultService(serviceSpec(service)),
      status: { loadBalancer: {} },
    }),
    prepareForUpdate: (service, old) => ({
      ...service,
      spec: defaultService(carryAllocations(serviceSpec(service), serviceSpec(old))),
      ...(serviceSpec(service).type === 'LoadBalancer' ? {} : { status: withoutBalancer(service['status']) }),
    }),
    validate: (service, old) => [
      ...validateServiceAnnotations(service, dialect),
      ...validateService(serviceSpec(service), old === undefined),
      ...validateExternalAddresses(service, old),
    ],
    validateStatus: validateBalancerStatus,
    validateUpdate: (service, old) => validateServiceUpdate(serviceSpec(service), serviceSpec(old)),
    showDeleted: (service) => service,
    coWrites: allocate,
  }
}

/** Returns the status without addresses: a Service that is no longer a load balancer has none. */
function withoutBalancer(status: Json | undefined): JsonObject {
  return { ...objectAt(status), loadBalancer: {} }
}

function externalIpCell(service: ApiDocument): string {
  const spec = serviceSpec(service)
  if (spec.type === 'ExternalName') return spec.externalName ?? ''
  const external = (spec.externalIPs ?? []).join(',')
  return external || (spec.type === 'LoadBalancer' ? '<pending>' : '<none>')
}

function portsCell(service: ApiDocument): string {
  const ports = serviceSpec(service).ports ?? []
  if (ports.length === 0) return '<none>'
  return ports
    .map(({ port, nodePort, protocol }) => (nodePort ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`))
    .join(',')
}

function selectorCell(service: ApiDocument): string {
  const selector = serviceSpec(service).selector ?? {}
  const terms = Object.entries(selector).map(([key, value]) => `${key}=${value}`)
  return terms.length === 0 ? '<none>' : terms.join(',')
}
