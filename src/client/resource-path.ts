import { ApiError } from './errors.ts'

/** A collection of the API; `group` is `''` for the core group. */
export interface ApiResource {
  readonly group: string
  readonly version: string
  /** The plural that stands in paths: `services`. */
  readonly resource: string
}

export interface Collection {
  readonly resource: ApiResource
  /** Absent for cluster-scoped resources and for all namespaces together. */
  readonly namespace?: string
}

export interface ObjectRef extends Collection {
  readonly name: string
  readonly subresource?: string
}

/** `/api/v1/namespaces/default/services` */
export function collectionPath({ resource, namespace }: Collection): string {
  const root = resource.group === '' ? '/api' : `/apis/${segment(resource.group)}`
  const scope = namespace === undefined ? '' : `/namespaces/${segment(namespace)}`
  return `${root}/${segment(resource.version)}${scope}/${segment(resource.resource)}`
}

/** `/api/v1/namespaces/default/services/web/status` */
export function objectPath(ref: ObjectRef): string {
  const item = `${collectionPath(ref)}/${segment(ref.name)}`
  return ref.subresource === undefined ? item : `${item}/${segment(ref.subresource)}`
}

/** `services default/web`, for messages. */
export function describeRef({ resource, namespace, name }: Collection & { name?: string }): string {
  const at = [namespace, name].filter((part) => part !== undefined).join('/')
  return at === '' ? resource.resource : `${resource.resource} ${at}`
}

/** Dots alone would climb in the path, and percent-encoding does not stop that. */
function segment(text: string): string {
  if (/^(|\.|\.\.)$/.test(text))
    throw new ApiError('bad-request', `${JSON.stringify(text)} cannot stand in an API path`)
  return encodeURIComponent(text)
}
