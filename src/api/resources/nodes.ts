import { type ApiDocument, listAt, textAt } from '../document.ts'
import { builtInSchema, overlaySchema } from '../schema/built-in-schema.ts'
import { object } from '../schema/schema.ts'
import { fillPodCidrs, validatePodCidrs } from './node-pod-cidrs.ts'
import { fillAllocatable, validateNode, validateNodeUpdate } from './node-rules.ts'
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
    connects: ['proxy'],
    schema: overlaySchema(builtInSchema('', 'v1', 'Node'), object({ spec: { default: {} }, status: { default: {} } })),
    countsGeneration: false,
    selectableFields: { 'spec.unschedulable': (node) => textAt(node['spec'], 'unschedulable') || 'false' },
    columns: [
      column('Status', nodeStatus),
      column('Roles', rolesCell),
      column('Version', (node) => textAt(node['status'], 'nodeInfo', 'kubeletVersion')),
      column('Internal-IP', (node) => addressOf(node, 'InternalIP'), { wide: true }),
      column('External-IP', (node) => addressOf(node, 'ExternalIP'), { wide: true }),
      column('OS-Image', (node) => infoOf(node, 'osImage'), { wide: true }),
      column('Kernel-Version', (node) => infoOf(node, 'kernelVersion'), { wide: true }),
      column('Container-Runtime', (node) => infoOf(node, 'containerRuntimeVersion'), { wide: true }),
    ],
    strategy: {
      keepsStatusOnCreate: true,
      prepareForCreate: (node) => fillAllocatable(fillPodCidrs(node)),
      prepareForUpdate: fillPodCidrs,
      validate: (node, old) => [...validateNode(node), ...validatePodCidrs(node, old)],
      validateUpdate: validateNodeUpdate,
    },
  }
}

function nodeStatus(node: ApiDocument): string {
  const ready = listAt(node['status'], 'conditions').find((condition) => textAt(condition, 'type') === 'Ready')
  const known = textAt(ready, 'status') === 'True' ? 'Ready' : 'NotReady'
  const word = ready === undefined ? 'Unknown' : known
  return textAt(node['spec'], 'unschedulable') === 'true' ? `${word},SchedulingDisabled` : word
}

const roleLabel = 'node-role.kubernetes.io/'

/** Returns the roles from the role labels. Clients and install tools set these labels, so the dialect does not change them. */
function rolesCell({ metadata }: ApiDocument): string {
  const roles = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(roleLabel))
  return (
    roles
      .map((label) => label.slice(roleLabel.length))
      .toSorted()
      .join(',') || '<none>'
  )
}

function addressOf(node: ApiDocument, type: string): string {
  const found = listAt(node['status'], 'addresses').find((address) => textAt(address, 'type') === type)
  return textAt(found, 'address') || '<none>'
}

function infoOf(node: ApiDocument, field: string): string {
  return textAt(node['status'], 'nodeInfo', field) || '<unknown>'
}
