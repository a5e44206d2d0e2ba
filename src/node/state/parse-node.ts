import { z } from 'zod'
import type { Dialect } from '../../model/dialect.ts'
import type { Ip } from '../../model/ip.ts'
import type { Node } from '../../model/node.ts'
import * as fields from './fields.ts'
import { type Field, FieldReader, type Parsed } from './problem.ts'

const text: Field<string> = { schema: z.string(), expected: 'a text' }

/** The taint that the cluster autoscaler puts on a node which it is about to take away (KEP-3836). */
const autoscalerTaint = 'ToBeDeletedByClusterAutoscaler'

/** A Node of the API. What makes no sense is left out and reported; only a Node without a name gives no value. */
export function parseNode(json: unknown, dialect: Dialect): Parsed<Node> {
  const reader = new FieldReader(() => 'Node')
  const object = reader.required(fields.record, json, 'the object')
  const metadata = object && reader.required(fields.record, object['metadata'], 'metadata')
  const name = metadata && reader.required(fields.dnsSubdomain, metadata['name'], 'metadata.name')
  if (object === undefined || metadata === undefined || name === undefined)
    return { value: undefined, problems: reader.problems }
  const spec = reader.optional(fields.record, object['spec'], 'spec') ?? {}
  const status = reader.optional(fields.record, object['status'], 'status') ?? {}
  const labels = reader.optional(fields.record, metadata['labels'], 'metadata.labels') ?? {}
  const zone = reader.optional(
    fields.labelValue,
    labels[dialect.labels.zone],
    `metadata.labels[${dialect.labels.zone}]`,
  )
  const value = {
    name,
    addresses: readAddresses(reader, status['addresses']),
    podCidrs: fields.readValues(reader, fields.podNetwork, podCidrsOf(spec), 'spec.podCIDRs'),
    ...(zone !== undefined && { zone }),
    isLeaving: Boolean(metadata['deletionTimestamp']) || isTainted(reader, spec),
  }
  return { value, problems: reader.problems }
}

/** The list where there is one, else the field that it replaced. */
function podCidrsOf(spec: fields.JsonRecord): unknown {
  const single = spec['podCIDR']
  return spec['podCIDRs'] ?? (typeof single === 'string' && single !== '' ? [single] : undefined)
}

/** Names of hosts stand in the same list, and are not addresses. */
function readAddresses(reader: FieldReader, json: unknown): Ip[] {
  const found = fields.readEach(reader, json, 'status.addresses', (element, path) => {
    const type = reader.required(text, element['type'], `${path}.type`)
    if (type !== 'InternalIP' && type !== 'ExternalIP') return undefined
    const address = reader.required(fields.workloadAddress, element['address'], `${path}.address`)
    return address && { address, isInternal: type === 'InternalIP' }
  })
  const inOrder = [...found.filter((each) => each.isInternal), ...found.filter((each) => !each.isInternal)]
  return [...new Set(inOrder.map(({ address }) => address))]
}

function isTainted(reader: FieldReader, spec: fields.JsonRecord): boolean {
  const keys = fields.readEach(reader, spec['taints'], 'spec.taints', (taint) => taint['key'])
  return keys.includes(autoscalerTaint)
}
