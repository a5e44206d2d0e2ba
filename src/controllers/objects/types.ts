import { resourceType } from '../runtime/resource-type.ts'
import { nodeSchema } from './node.ts'
import { podSchema } from './pod.ts'

export const podType = resourceType('', 'v1', 'pods', 'Pod', podSchema)
export const nodeType = resourceType('', 'v1', 'nodes', 'Node', nodeSchema)
