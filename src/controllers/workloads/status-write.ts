import { isDeepStrictEqual } from 'node:util'
import type { ApiObject, JsonObject } from '../../model/api-object.ts'
import type { Owner } from '../objects/claim.ts'
import { nameOf, type ResourceName, type Write } from '../objects/writes.ts'

/** Counts that are written also when they are zero; of all others only what is more. As in Kubernetes, where the types say so. */
const writtenZeros: Readonly<Record<string, readonly string[]>> = {
  replicasets: ['replicas'],
  statefulsets: ['replicas', 'availableReplicas', 'collisionCount'],
  daemonsets: ['currentNumberScheduled', 'desiredNumberScheduled', 'numberMisscheduled', 'numberReady'],
}

/** Nothing when the status says so already. */
export function statusWrites(
  resource: ResourceName,
  owner: Owner & { readonly spec?: unknown; readonly status: object },
  next: JsonObject,
): readonly Write[] {
  const wanted = { ...owner.status, ...next }
  const status = withoutEmpty(resource, wanted)
  if (isDeepStrictEqual(status, withoutEmpty(resource, owner.status))) return []
  const { apiVersion, kind, spec } = owner
  const { name, namespace, uid } = owner.metadata
  const metadata = { name, uid, ...(namespace === undefined ? {} : { namespace }) }
  const object = { apiVersion, kind, metadata, spec, status }
  return [{ verb: 'status', target: nameOf(resource, owner), object: object as unknown as ApiObject }]
}

function withoutEmpty({ resource }: ResourceName, status: object): object {
  const zeros = writtenZeros[resource] ?? []
  const isSaid = (name: string, value: unknown) =>
    value === 0 ? zeros.includes(name) : value !== undefined && !(Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(status).filter(([name, value]) => isSaid(name, value)))
}
