import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { ipFamily, parseIp } from '../../model/ip.ts'
import { isDnsSubdomain } from '../../model/selector.ts'
import { type ApiDocument, isJsonObject, listAt, textAt, valueAt } from '../document.ts'
import { builtInSchema, overlaySchema } from '../schema/built-in-schema.ts'
import {
  duplicateField,
  type FieldError,
  invalidField,
  requiredField,
  tooManyField,
  unsupportedField,
} from '../schema/field-error.ts'
import { object, type Schema } from '../schema/schema.ts'
import { checkDnsLabel, checkPortNumber } from './names.ts'
import { protocols } from './protocols.ts'
import { column, type Resource } from './resource.ts'
import { validateSpecialAddress } from './special-addresses.ts'

/** How much a slice holds: in the platform dialect what spec 2.7 says, else what Kubernetes does. */
interface SliceLimits {
  readonly endpoints: number
  readonly ports: number
}
const limits: Readonly<Record<Dialect['name'], SliceLimits>> = {
  platform: { endpoints: 100, ports: 100 },
  kubernetes: { endpoints: 1_000, ports: 20_000 },
}
const maxAddresses = 100
const addressTypes = ['FQDN', 'IPv4', 'IPv6']

/**
 * In the platform dialect a null name must reach the validation, which refuses it: clients crash on it (spec 2.7). Kubernetes takes null
 * for the empty name.
 */
function defaultsIn({ name }: Dialect): Schema {
  const portName: Schema = { default: '', ...(name === 'platform' ? { nullable: true } : {}) }
  return object({
    endpoints: { default: [], items: { properties: { conditions: { default: {} } } } },
    ports: { default: [], items: { properties: { name: portName, protocol: { default: 'TCP' } } } },
  })
}

export function endpointSlices(dialect: Dialect): Resource {
  return {
    group: dialect.groups.discovery,
    version: 'v1',
    kind: 'EndpointSlice',
    plural: 'endpointslices',
    singular: 'endpointslice',
    shortNames: [],
    categories: [],
    namespaced: true,
    subresources: [],
    schema: overlaySchema(builtInSchema(dialect.groups.discovery, 'v1', 'EndpointSlice'), defaultsIn(dialect)),
    countsGeneration: true,
    selectableFields: {},
    columns: [
      column('AddressType', (slice) => textAt(slice, 'addressType')),
      column('Ports', (slice) => shorten(listAt(slice, 'ports').map((item) => textAt(item, 'port') || '*'))),
      column('Endpoints', (slice) =>
        shorten(listAt(slice, 'endpoints').map((item) => textAt(listAt(item, 'addresses')[0]))),
      ),
    ],
    strategy: {
      validate: (slice) => validateSlice(slice, limits[dialect.name]),
      validateUpdate: (slice, old) =>
        slice['addressType'] === old['addressType']
          ? []
          : [invalidField('addressType', slice['addressType'], 'field is immutable')],
    },
  }
}

function shorten(items: readonly string[]): string {
  if (items.length === 0) return '<unset>'
  return items.length <= 3 ? items.join(',') : `${items.slice(0, 3).join(',')} + ${items.length - 3} more...`
}

function validateSlice(slice: ApiDocument, most: SliceLimits): readonly FieldError[] {
  const addressType = textAt(slice, 'addressType')
  const endpoints = listAt(slice, 'endpoints')
  return [
    ...validateAddressType(addressType),
    ...(endpoints.length > most.endpoints ? [tooManyField('endpoints', endpoints.length, most.endpoints)] : []),
    ...endpoints.flatMap((item, index) => validateEndpoint(item, addressType, `endpoints[${index}]`)),
    ...validatePorts(listAt(slice, 'ports'), most.ports),
  ]
}

function validateAddressType(addressType: string): readonly FieldError[] {
  if (addressType === '') return [requiredField('addressType')]
  return addressTypes.includes(addressType) ? [] : [unsupportedField('addressType', addressType, addressTypes)]
}

function validateEndpoint(item: Json, addressType: string, path: string): readonly FieldError[] {
  const addresses = listAt(item, 'addresses').map((address) => textAt(address))
  const hostname = textAt(item, 'hostname')
  const hostnameProblem = hostname === '' ? undefined : checkDnsLabel(hostname)
  return [
    ...(addresses.length === 0 ? [requiredField(`${path}.addresses`, 'must contain at least 1 address')] : []),
    ...(addresses.length > maxAddresses ? [tooManyField(`${path}.addresses`, addresses.length, maxAddresses)] : []),
    ...addresses.flatMap((address, index) => validateAddress(address, addressType, `${path}.addresses[${index}]`)),
    ...(hostnameProblem === undefined ? [] : [invalidField(`${path}.hostname`, hostname, hostnameProblem)]),
  ]
}

function validateAddress(address: string, addressType: string, path: string): readonly FieldError[] {
  if (addressType === 'FQDN') {
    const isGood = isDnsSubdomain(address) && address.includes('.')
    return isGood ? [] : [invalidField(path, address, 'must be a fully qualified domain name')]
  }
  if (addressType !== 'IPv4' && addressType !== 'IPv6') return []
  const ip = parseIp(address)
  if (ip !== undefined && ipFamily(ip) === addressType) return validateSpecialAddress(address, path)
  return [invalidField(path, address, `must be a valid ${addressType} address`)]
}

function validatePorts(ports: readonly Json[], most: number): readonly FieldError[] {
  const errors: FieldError[] = []
  const names = new Set<string>()
  if (ports.length > most) errors.push(tooManyField('ports', ports.length, most))
  for (const [index, item] of ports.entries()) {
    const name = textAt(item, 'name')
    if (names.has(name)) errors.push(duplicateField(`ports[${index}].name`, name))
    names.add(name)
    errors.push(...validatePort(item, `ports[${index}]`))
  }
  return errors
}

function validatePort(item: Json, path: string): readonly FieldError[] {
  if (isJsonObject(item) && item['name'] === null) {
    return [invalidField(`${path}.name`, null, 'must not be null, the empty string is valid')]
  }
  const name = textAt(item, 'name')
  const nameProblem = name === '' ? undefined : checkDnsLabel(name)
  const protocol = textAt(item, 'protocol')
  const number = valueAt(item, 'port')
  const numberProblem = typeof number === 'number' ? checkPortNumber(number) : undefined
  return [
    ...(nameProblem === undefined ? [] : [invalidField(`${path}.name`, name, nameProblem)]),
    ...(protocols.includes(protocol) ? [] : [unsupportedField(`${path}.protocol`, protocol, protocols)]),
    ...(numberProblem === undefined ? [] : [invalidField(`${path}.port`, number, numberProblem)]),
  ]
}
