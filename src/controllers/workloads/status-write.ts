import { isDeepStrictEqual } from 'node:util'
import type { ApiObject, JsonObject } from '../../model/api-object.ts'
import type { Owner } from '../objects/claim.ts'
import { nameOf, type ResourceName, type Write } from '../objects/writes.ts'

/** Nothing when the status says so already. */
export function statusWrites(
  resource: ResourceName,
  owner: Owner & { readonly spec?: unknown; readonly status: object },
  next: JsonObject,
): readonly Write[] {
  const wanted = { ...owner.status, ...next }
  if (isDeepStrictEqual(dropUndefined(wanted), dropUndefined(owner.status))) return []
  const { apiVersion, kind, spec } = owner
  const { name, namespace, uid } = owner.metadata
  const metadata = { name, uid, ...(namespace === undefined ? {} : { namespace }) }
  const object = { apiVersion, kind, metadata, spec, status: dropUndefined(wanted) }
  return [{ verb: 'status', target: nameOf(resource, owner), object: object as unknown as ApiObject }]
}

function dropUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined))
}
