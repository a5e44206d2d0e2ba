import type { Json } from '../../model/api-object.ts'
import type { DialectName } from '../../model/dialect.ts'
import { parseIp } from '../../model/ip.ts'
import { type ApiDocument, listAt, textAt, valueAt } from '../document.ts'
import { builtInSchema, overlaySchema } from '../schema/built-in-schema.ts'
import { each, fields, oneOf, required, text } from '../schema/checks.ts'
import { type FieldError, invalidField, requiredField } from '../schema/field-error.ts'
import { checkDnsLabel } from '../schema/names.ts'
import { object } from '../schema/schema.ts'
import { nodeName, portNumber, qualifiedName } from './name-checks.ts'
import { protocols } from './protocols.ts'
import { column, type Resource } from './resource.ts'
import { badIp } from './service-addresses.ts'
import { validateSpecialAddress } from './special-addresses.ts'

const defaults = object({
  subsets: { items: { properties: { ports: { items: { properties: { protocol: { default: 'TCP' } } } } } } },
})

/** The Warning of Kubernetes since 1.33 (KEP-4974). */
const deprecation = 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'

export function endpoints(dialect: DialectName): Resource {
  return {
    ...(dialect === 'kubernetes' ? { deprecation } : {}),
    group: '',
    version: 'v1',
    kind: 'Endpoints',
    plural: 'endpoints',
    singular: 'endpoints',
    shortNames: ['ep'],
    categories: [],
    namespaced: true,
    subresources: [],
    schema: overlaySchema(builtInSchema('', 'v1', 'Endpoints'), defaults),
    countsGeneration: false,
    selectableFields: {},
    columns: [column('Endpoints', endpointsCell)],
    strategy: {
      createsOnUpdate: true,
      validate: (document) =>
        listAt(document['subsets']).flatMap((item, index) => validateSubset(item, `subsets[${index}]`)),
    },
  }
}

function validateSubset(item: Json, path: string): readonly FieldError[] {
  const isEmpty = listAt(item, 'addresses').length === 0 && listAt(item, 'notReadyAddresses').length === 0
  return [
    ...(isEmpty ? [requiredField(path, 'must specify `addresses` or `notReadyAddresses`')] : []),
    ...subsetRules(item, path),
    ...(listAt(item, 'ports').length > 1 ? namedPorts(listAt(item, 'ports'), `${path}.ports`) : []),
  ]
}

const addresses = each(
  (value, path) => validateIp(textAt(value, 'ip'), `${path}.ip`),
  fields({ hostname: text(checkDnsLabel), nodeName }),
)

function validateIp(ip: string, path: string): readonly FieldError[] {
  return parseIp(ip) === undefined ? [invalidField(path, ip, badIp)] : validateSpecialAddress(ip, path)
}

const ports = each(
  (value, path) => portNumber(valueAt(value, 'port') ?? 0, `${path}.port`),
  fields({ name: text(checkDnsLabel), protocol: oneOf(...protocols), appProtocol: qualifiedName }),
)

const namedPorts = each(required('name'))
const subsetRules = fields({ addresses, notReadyAddresses: addresses, ports })

function endpointsCell(document: ApiDocument): string {
  const pairs = listAt(document['subsets']).flatMap((item) =>
    listAt(item, 'addresses').flatMap((entry) =>
      listAt(item, 'ports').map((target) => `${textAt(entry, 'ip')}:${textAt(target, 'port')}`),
    ),
  )
  if (pairs.length === 0) return '<none>'
  return pairs.length <= 3 ? pairs.join(',') : `${pairs.slice(0, 3).join(',')} + ${pairs.length - 3} more...`
}
