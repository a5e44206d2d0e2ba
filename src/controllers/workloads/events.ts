import type { EventType } from '../../client/index.ts'
import { describeError } from '../../model/errors.ts'
import type { WriteOutcome } from '../objects/apply-writes.ts'
import type { Write } from '../objects/writes.ts'

interface WorkloadEvent {
  readonly type: EventType
  readonly reason: string
  readonly message: string
}

interface Owner {
  readonly kind: string
  readonly metadata: { readonly name: string }
}

/**
 * Returns the Event of a write on a workload, with the reasons of Kubernetes; undefined for writes without an Event.
 */
export function eventOfWrite(owner: Owner, write: Write, outcome: WriteOutcome): WorkloadEvent | undefined {
  const resource = write.verb === 'create' ? write.resource.resource : write.target.resource.resource
  if (resource === 'pods' && (write.verb === 'create' || write.verb === 'delete'))
    return podEvent(owner, write, outcome)
  if (resource === 'persistentvolumeclaims' && write.verb === 'create') return claimEvent(owner, write, outcome)
  if (resource !== 'replicasets') return undefined
  return write.verb === 'create' ? creationEvent(write, outcome) : resizeEvent(write, outcome)
}

type PodWrite = Extract<Write, { verb: 'create' | 'delete' }>

function podEvent({ kind, metadata }: Owner, write: PodWrite, outcome: WriteOutcome): WorkloadEvent {
  const isCreated = write.verb === 'create'
  const what = isCreated ? 'Create' : 'Delete'
  const name = nameOfWrite(write, outcome)
  if (kind === 'StatefulSet') {
    const text = `${write.verb} Pod ${name} in StatefulSet ${metadata.name}`
    return outcome.kind === 'done'
      ? { type: 'Normal', reason: `Successful${what}`, message: `${text} successful` }
      : { type: 'Warning', reason: `Failed${what}`, message: `${text} failed error: ${describeError(outcome.error)}` }
  }
  if (outcome.kind === 'done') return { type: 'Normal', reason: `Successful${what}`, message: `${what}d pod: ${name}` }
  const doing = isCreated ? 'creating' : 'deleting'
  return { type: 'Warning', reason: `Failed${what}`, message: `Error ${doing}: ${describeError(outcome.error)}` }
}

/** The name of a claim ends with that of its pod: `data-web-0`. */
function claimEvent(
  { metadata }: Owner,
  { object }: Extract<Write, { verb: 'create' }>,
  outcome: WriteOutcome,
): WorkloadEvent {
  const { name = '' } = object.metadata
  const pod = `${metadata.name}${name.slice(name.lastIndexOf('-'))}`
  const text = `create Claim ${name} Pod ${pod} in StatefulSet ${metadata.name}`
  return outcome.kind === 'done'
    ? { type: 'Normal', reason: 'SuccessfulCreate', message: `${text} success` }
    : { type: 'Warning', reason: 'FailedCreate', message: `${text} failed error: ${describeError(outcome.error)}` }
}

function nameOfWrite(write: PodWrite, outcome: WriteOutcome): string {
  if (write.verb === 'delete') return write.target.name
  return (outcome.kind === 'done' && outcome.answer?.metadata.name) || write.object.metadata.name || ''
}

function creationEvent(
  { object }: Extract<Write, { verb: 'create' }>,
  outcome: WriteOutcome,
): WorkloadEvent | undefined {
  const { name = '' } = object.metadata
  if (outcome.kind === 'failed') {
    const message = `Failed to create new replica set "${name}": ${describeError(outcome.error)}`
    return { type: 'Warning', reason: 'ReplicaSetCreateError', message }
  }
  return scalingEvent(name, 0, replicasOf(object['spec']))
}

function resizeEvent(write: Write, outcome: WriteOutcome): WorkloadEvent | undefined {
  if (write.verb !== 'patch' || write.sizeBefore === undefined || outcome.kind === 'failed') return undefined
  return scalingEvent(write.target.name, write.sizeBefore, replicasOf(write.patch['spec']))
}

function scalingEvent(name: string, from: number, to: number): WorkloadEvent | undefined {
  if (from === to) return undefined
  const message = `Scaled ${to > from ? 'up' : 'down'} replica set ${name} from ${from} to ${to}`
  return { type: 'Normal', reason: 'ScalingReplicaSet', message }
}

function replicasOf(spec: unknown): number {
  const { replicas } = (spec ?? {}) as { replicas?: unknown }
  return typeof replicas === 'number' ? replicas : 0
}
