import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../../model/api-object.ts'
import type { Owner } from '../objects/claim.ts'
import { nameOf, type ResourceName, type Write } from '../objects/writes.ts'

/**
 * The counts that are written even when they are zero, as in the Go types of Kubernetes; others are left out at zero.
 */
const writtenZeros: Readonly<Record<string, readonly string[]>> = {
  replicasets: ['replicas'],
  replicationcontrollers: ['replicas'],
  statefulsets: ['replicas', 'availableReplicas', 'collisionCount'],
  daemonsets: ['currentNumberScheduled', 'desiredNumberScheduled', 'numberMisscheduled', 'numberReady'],
}

/** Returns the write of a changed status, for the object with this uid only; empty if the status has not changed. */
export function statusWrites(
  resource: ResourceName,
  owner: Owner & { readonly status: object },
  next: JsonObject,
): readonly Write[] {
  const status = withoutEmpty(resource, { ...owner.status, ...next })
  const old = withoutEmpty(resource, owner.status)
  const changed = Object.entries(status).filter(([field, value]) => !isDeepStrictEqual(value, old[field]))
  const gone = Object.keys(old).filter((field) => status[field] === undefined)
  if (changed.length === 0 && gone.length === 0) return []
  const zeros = Object.entries(status).filter(([, value]) => value === 0)
  const changes = Object.fromEntries([...zeros, ...changed, ...gone.map((field) => [field, null] as const)])
  const patch = { metadata: { uid: owner.metadata.uid }, status: changes }
  return [{ verb: 'patch', target: nameOf(resource, owner), patch, subresource: 'status' }]
}

function withoutEmpty({ resource }: ResourceName, status: object): JsonObject {
  const zeros = writtenZeros[resource] ?? []
  const isSaid = (name: string, value: unknown) =>
    value === 0 ? zeros.includes(name) : value !== undefined && !(Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(status).filter(([name, value]) => isSaid(name, value)))
}
