import { objectKey } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { Endpoint, EndpointPort, EndpointSlice } from '../../model/endpoint-slice.ts'
import { type Ip, type IpFamily, ipFamily } from '../../model/ip.ts'
import * as fields from './fields.ts'
import type { Field, FieldReader, Parsed } from './problem.ts'

const addressType: Field<IpFamily | 'FQDN'> = fields.oneOf(['IPv4', 'IPv6', 'FQDN'], 'IPv4, IPv6 or FQDN')

/**
 * An EndpointSlice of the API as this node uses it. Only the first address of an endpoint has traffic; the others are kept for names. Ports and endpoints that cannot be used are left out and reported. No value and no problem: a slice that belongs to
 * no Service, or that holds names instead of addresses.
 */
export function parseEndpointSlice(json: unknown, dialect: Dialect): Parsed<EndpointSlice> {
  return fields.parseObject('EndpointSlice', json, (reader, object, identity) => {
    const service = readServiceName(reader, identity, dialect)
    const family = reader.required(addressType, object['addressType'], 'addressType')
    if (service === undefined || family === undefined || family === 'FQDN') return undefined
    return {
      source: `endpointslices/${identity.key}`,
      service: objectKey(identity.namespace, service),
      family,
      ...(isLeftToOthers(identity, dialect) && { namesOnly: true }),
      ports: fields.readEach(reader, object['ports'], 'ports', (element, path) =>
        readPort(reader, element, element['name'], path),
      ),
      endpoints: sortEndpoints(
        fields.readEach(reader, object['endpoints'], 'endpoints', (element, path) =>
          readEndpoint(reader, element, path, family),
        ),
      ),
    }
  })
}

/** Whether the labels of a Service, slice or Endpoints keep every proxy, or ours, from using it. kube-proxy selects by both for all of them. */
export function isLeftToOthers({ labels }: fields.Identity, dialect: Dialect): boolean {
  const { serviceProxyName, headlessService } = dialect.labels
  return Object.hasOwn(labels, serviceProxyName) || Object.hasOwn(labels, headlessService)
}

/** A port of a slice, or of a subset of an Endpoints object, which may leave the name out. */
export function readPort(
  reader: FieldReader,
  element: fields.JsonRecord,
  nameJson: unknown,
  path: string,
): EndpointPort | undefined {
  const name = reader.required(fields.portName, nameJson, path, '.name')
  const protocol = fields.readProtocol(reader, element, path)
  const port = reader.required(fields.portNumber, element['port'], path, '.port')
  return name === undefined || protocol === undefined || port === undefined ? undefined : { name, protocol, port }
}

/** Reads the fields of an endpoint beside its address and conditions; an invalid one does not remove the endpoint. */
export function readDetails(reader: FieldReader, element: fields.JsonRecord, path: string) {
  const nodeName = reader.optional(fields.dnsSubdomain, element['nodeName'], path, '.nodeName')
  const hostname = element['hostname'] === '' ? undefined : element['hostname']
  const host = reader.optional(fields.dnsLabel, hostname, path, '.hostname')
  const zone = reader.optional(fields.labelValue, element['zone'], path, '.zone')
  const target = readTarget(reader.optional(fields.record, element['targetRef'], path, '.targetRef'))
  return {
    ...(nodeName !== undefined && { nodeName }),
    ...(host !== undefined && { hostname: host }),
    ...(zone !== undefined && { zone }),
    ...(target !== undefined && { target }),
  }
}

/** In one order whatever the server's: a slice that was only shuffled has not changed. */
export function sortEndpoints(endpoints: readonly Endpoint[]): Endpoint[] {
  return endpoints.toSorted((a, b) => (a.address === b.address ? 0 : a.address < b.address ? -1 : 1))
}

function readServiceName(reader: FieldReader, { labels }: fields.Identity, dialect: Dialect): string | undefined {
  const { serviceName } = dialect.labels
  if (!Object.hasOwn(labels, serviceName) || labels[serviceName] === '') return undefined
  return reader.required(fields.dnsSubdomain, labels[serviceName], `metadata.labels[${serviceName}]`)
}

function readEndpoint(
  reader: FieldReader,
  element: fields.JsonRecord,
  path: string,
  family: IpFamily,
): Endpoint | undefined {
  const addresses = reader.required(fields.list, element['addresses'], path, '.addresses')
  if (addresses === undefined) return undefined
  const address = readAddress(reader, addresses[0], path, 0, family)
  if (address === undefined) return undefined
  const others = addresses.slice(1).map((json, at) => readAddress(reader, json, path, at + 1, family))
  const otherAddresses = others.filter((other): other is Ip => other !== undefined && other !== address)
  const { ready, serving, terminating } =
    reader.optional(fields.record, element['conditions'], path, '.conditions') ?? {}
  return {
    address,
    ...(otherAddresses.length > 0 && { otherAddresses }),
    ready: reader.optional(fields.flag, ready, path, '.conditions.ready') ?? true,
    serving: reader.optional(fields.flag, serving, path, '.conditions.serving') ?? true,
    terminating: reader.optional(fields.flag, terminating, path, '.conditions.terminating') ?? false,
    ...readDetails(reader, element, path),
    ...readHints(reader, element['hints'], path),
  }
}

function readHints(reader: FieldReader, json: unknown, path: string): Pick<Endpoint, 'hints'> {
  const hints = reader.optional(fields.record, json, path, '.hints')
  if (hints === undefined) return {}
  const zones = readNames(reader, fields.labelValue, hints['forZones'], `${path}.hints.forZones`)
  const nodes = readNames(reader, fields.dnsSubdomain, hints['forNodes'], `${path}.hints.forNodes`)
  return zones.length + nodes.length === 0 ? {} : { hints: { zones, nodes } }
}

function readNames(reader: FieldReader, field: Field<string>, json: unknown, path: string): readonly string[] {
  return fields
    .readEach(reader, json, path, (element, at) => reader.required(field, element['name'], `${at}.name`))
    .toSorted()
}

function readAddress(
  reader: FieldReader,
  json: unknown,
  path: string,
  index: number,
  family: IpFamily,
): Ip | undefined {
  const address = reader.required(
    fields.workloadAddress,
    json,
    path,
    index === 0 ? '.addresses[0]' : `.addresses[${index}]`,
  )
  if (address === undefined || ipFamily(address) === family) return address
  reader.report(`${path}.addresses[${index}]`, `an ${family} address`, json)
  return undefined
}

function readTarget(ref: fields.JsonRecord | undefined): string | undefined {
  if (typeof ref?.['kind'] !== 'string' || typeof ref['name'] !== 'string') return undefined
  const at = typeof ref['namespace'] === 'string' ? `${ref['namespace']}/${ref['name']}` : ref['name']
  const target = `${ref['kind']} ${at}`
  return /^[\w./ -]{1,400}$/.test(target) ? target : undefined
}
