import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type Ip, ipFamily, parseIp } from '../../model/ip.ts'
import { type ApiDocument, isJsonObject, listAt, textAt } from '../document.ts'
import { builtInSchema, overlaySchema } from '../schema/built-in-schema.ts'
import { type Check, each, fields, oneOf, text, unique } from '../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  invalidField,
  requiredField,
  tooManyField,
  unsupportedField,
} from '../schema/field-error.ts'
import { checkDnsLabel, checkDnsSubdomain } from '../schema/names.ts'
import { object, type Schema } from '../schema/schema.ts'
import { dnsLabel, labelValue, nodeName, portNumber, qualifiedName } from './name-checks.ts'
import { protocols } from './protocols.ts'
import { column, type Resource } from './resource.ts'
import { badIp } from './service-addresses.ts'
import { validateSpecialAddress } from './special-addresses.ts'

/** The size limits of a slice: those of spec 2.7 in the platform dialect, otherwise those of Kubernetes. */
interface SliceLimits {
  readonly endpoints: number
  readonly ports: number
}
const limits: Readonly<Record<Dialect['name'], SliceLimits>> = {
  platform: { endpoints: 100, ports: 100 },
  kubernetes: { endpoints: 1_000, ports: 20_000 },
}
const maxAddresses = 100
const maxHints = 8
const addressTypes = ['FQDN', 'IPv4', 'IPv6']

/**
 * Returns the defaults. In the platform dialect a null name reaches the validation, which refuses it: clients crash on
 * it (spec 2.7). In Kubernetes null is the empty name.
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
  return [
    ...validateAddressType(addressType),
    ...validateEndpoints(listAt(slice, 'endpoints'), addressType, most.endpoints),
    ...validatePorts(listAt(slice, 'ports'), most.ports),
  ]
}

function validateAddressType(addressType: string): readonly FieldError[] {
  if (addressType === '') return [requiredField('addressType')]
  return addressTypes.includes(addressType) ? [] : [unsupportedField('addressType', addressType, addressTypes)]
}

function validateEndpoints(endpoints: readonly Json[], addressType: string, most: number): readonly FieldError[] {
  if (endpoints.length > most) return [tooManyField('endpoints', endpoints.length, most)]
  return each(...(endpointChecks.get(addressType) ?? otherChecks))(endpoints, 'endpoints')
}

const hints: Check = (value, path) => {
  const zones = hintedNames(value, 'forZones', path)
  return zones.some(({ reason }) => reason === 'FieldValueTooMany')
    ? zones
    : [...zones, ...hintedNames(value, 'forNodes', path)]
}
const hintRules = { forZones: each(fields({ name: labelValue })), forNodes: each(nodeNamed) }

/** Checks the names of a hint list; a name given twice is reported. */
function hintedNames(value: Json, field: keyof typeof hintRules, path: string): readonly FieldError[] {
  const list = listAt(value, field)
  const at = `${path}.${field}`
  if (list.length > maxHints) return [tooManyField(at, list.length, maxHints)]
  return [...unique('name')(list, at), ...hintRules[field](list, at)]
}

function nodeNamed(value: Json, path: string): readonly FieldError[] {
  return nodeName(textAt(value, 'name'), `${path}.name`)
}

/** The checks of an endpoint beside the form of its addresses. */
const otherChecks: readonly Check[] = [
  (value, path) => {
    const count = listAt(value, 'addresses').length
    const at = `${path}.addresses`
    if (count === 0) return [requiredField(at, 'must contain at least 1 address')]
    return count > maxAddresses ? [tooManyField(at, count, maxAddresses)] : []
  },
  fields({ nodeName, hostname: dnsLabel, hints }),
]

const endpointChecks: ReadonlyMap<string, readonly Check[]> = new Map([
  ['IPv4', [fields({ addresses: addressesBy(checkIpv4) }), ...otherChecks]],
  ['IPv6', [fields({ addresses: addressesBy(checkIpv6) }), ...otherChecks]],
  ['FQDN', [fields({ addresses: addressesBy(checkDomain) }), ...otherChecks]],
])

/** Returns a check of all addresses; `rule` gets an address, its own path and that of the list. */
function addressesBy(rule: (address: string, path: string, list: string) => readonly FieldError[]): Check {
  return (value, path) => {
    const check = each((address, at) => rule(textAt(address), at, path))
    return check(value, path)
  }
}

function checkIpv4(address: string, path: string, list: string): readonly FieldError[] {
  const ip = parseIp(address)
  if (ip === undefined) return [invalidField(path, address, badIp)]
  const special = validateSpecialAddress(address, path)
  return ipFamily(ip) === 'IPv4' ? special : [invalidField(list, address, 'must be an IPv4 address'), ...special]
}

/** Checks that an address is in canonical form: two spellings would count as two endpoints. */
function checkIpv6(address: string, path: string, list: string): readonly FieldError[] {
  const ip = parseIp(address)
  if (ip === undefined) return [invalidField(path, address, badIp)]
  const special = validateSpecialAddress(address, path)
  const form = checkForm(address, ip, path)
  if (form.length > 0) return [...form, ...special]
  return ipFamily(ip) === 'IPv6' ? special : [invalidField(list, address, 'must be an IPv6 address'), ...special]
}

function checkForm(address: string, ip: Ip, path: string): readonly FieldError[] {
  if (address.includes(':') && ipFamily(ip) === 'IPv4')
    return [invalidField(path, address, 'must not be an IPv4-mapped IPv6 address')]
  return ip === address ? [] : [invalidField(path, address, `must be in canonical form (${JSON.stringify(ip)})`)]
}

function checkDomain(address: string, path: string): readonly FieldError[] {
  if (address === '') return [requiredField(path)]
  const name = address.replace(/\.$/, '')
  const problem = checkDnsSubdomain(name)
  if (problem !== undefined) return [invalidField(path, name, problem)]
  if (!name.includes('.'))
    return [invalidField(path, name, 'should be a domain with at least two segments separated by dots')]
  const long = name.split('.').find((label) => label.length > 63)
  return long === undefined ? [] : dnsLabel(long, path)
}

function validatePorts(ports: readonly Json[], most: number): readonly FieldError[] {
  if (ports.length > most) return [tooManyField('ports', ports.length, most)]
  const names = new Set<string>()
  const isRepeated = (name: string) => names.has(name) || !names.add(name)
  return ports.flatMap((item, index) => {
    const path = `ports[${index}]`
    const name = textAt(item, 'name')
    const repeated = isRepeated(name) ? [duplicateField(`${path}.name`, name)] : []
    return [...repeated, ...validatePort(item, path)]
  })
}

const portRules = fields({
  name: text(checkDnsLabel),
  protocol: oneOf(...protocols),
  appProtocol: qualifiedName,
  port: portNumber,
})

function validatePort(item: Json, path: string): readonly FieldError[] {
  const isNull = isJsonObject(item) && item['name'] === null
  return isNull
    ? [invalidField(`${path}.name`, null, 'must not be null, the empty string is valid')]
    : portRules(item, path)
}
