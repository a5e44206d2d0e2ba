import { type ApiDocument, listAt, textAt } from '../document.ts'
import { builtInSchema, overlaySchema } from '../schema/built-in-schema.ts'
import { object } from '../schema/schema.ts'
import { column, type Resource } from './resource.ts'

export function nodes(): Resource {
  return {
    group: '',
    version: 'v1',
    kind: 'Node',
    plural: 'nodes',
    singular: 'node',
    shortNames: ['no'],
    categories: [],
    namespaced: false,
    subresources: ['status'],
    schema: overlaySchema(builtInSchema('', 'v1', 'Node'), object({ spec: { default: {} }, status: { default: {} } })),
    countsGeneration: false,
    selectableFields: { 'spec.unschedulable': (node) => textAt(node['spec'], 'unschedulable') || 'false' },
    columns: [
      column('Status', nodeStatus),
      column('Version', (node) => textAt(node['status'], 'nodeInfo', 'kubeletVersion')),
      column('Internal-IP', internalIp, { wide: true }),
    ],
    strategy: {},
  }
}

function nodeStatus(node: ApiDocument): string {
  const ready = listAt(node['status'], 'conditions').find((condition) => textAt(condition, 'type') === 'Ready')
  const words = { True: 'Ready', False: 'NotReady' } as const
  const status = textAt(ready, 'status')
  const word = status === 'True' || status === 'False' ? words[status] : 'Unknown'
  return textAt(node['spec'], 'unschedulable') === 'true' ? `${word},SchedulingDisabled` : word
}

function internalIp(node: ApiDocument): string {
  const addresses = listAt(node['status'], 'addresses')
  return (
    textAt(
      addresses.find((address) => textAt(address, 'type') === 'InternalIP'),
      'address',
    ) || '<none>'
  )
}
