import type { Dialect } from '../../model/dialect.ts'
import type { Endpoint, EndpointSlice } from '../../model/endpoint-slice.ts'
import { type IpFamily, ipFamily } from '../../model/ip.ts'
import * as fields from './fields.ts'
import { isLeftToOthers, readDetails, readPort, sortEndpoints } from './parse-endpoint-slice.ts'
import type { FieldReader, Parsed } from './problem.ts'

const families: readonly IpFamily[] = ['IPv4', 'IPv6']

/**
 * An Endpoints object as slices, one for each family of each subset. Its not-ready addresses become endpoints that are
 * neither ready nor serving.
 */
export function parseEndpoints(json: unknown, dialect: Dialect): Parsed<readonly EndpointSlice[]> {
  return fields.parseObject('Endpoints', json, (reader, object, identity) => {
    const subsets = fields.readEach(reader, object['subsets'], 'subsets', (subset, path) =>
      readSubset(reader, subset, path),
    )
    const namesOnly = isLeftToOthers(identity, dialect)
    return subsets
      .flatMap((subset, index) => sliceByFamily(subset, `endpoints/${identity.key}/${index}`, identity.key))
      .map((slice) => (namesOnly ? { ...slice, namesOnly: true as const } : slice))
  })
}

interface Subset {
  readonly ports: EndpointSlice['ports']
  readonly endpoints: readonly Endpoint[]
}

function readSubset(reader: FieldReader, subset: fields.JsonRecord, path: string): Subset {
  const endpoints = (field: string, ready: boolean) =>
    fields.readEach(reader, subset[field], `${path}.${field}`, (element, at) =>
      readEndpoint(reader, element, at, ready),
    )
  return {
    ports: fields.readEach(reader, subset['ports'], `${path}.ports`, (element, at) =>
      readPort(reader, element, element['name'] ?? '', at),
    ),
    endpoints: [...endpoints('addresses', true), ...endpoints('notReadyAddresses', false)],
  }
}

function readEndpoint(
  reader: FieldReader,
  element: fields.JsonRecord,
  path: string,
  ready: boolean,
): Endpoint | undefined {
  const address = reader.required(fields.workloadAddress, element['ip'], `${path}.ip`)
  if (address === undefined) return undefined
  return { address, ready, serving: ready, terminating: false, ...readDetails(reader, element, path) }
}

function sliceByFamily({ ports, endpoints }: Subset, source: string, service: string): EndpointSlice[] {
  return families
    .map((family) => ({ family, members: endpoints.filter(({ address }) => ipFamily(address) === family) }))
    .filter(({ members }) => members.length > 0)
    .map(({ family, members }) => ({
      source: `${source}/${family}`,
      service,
      family,
      ports,
      endpoints: sortEndpoints(members),
    }))
}
