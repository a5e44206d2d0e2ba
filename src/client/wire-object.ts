import { z } from 'zod'
import { isResourceVersion } from '../model/resource-version.ts'

interface WireMeta {
  readonly name: string
  readonly namespace?: string | undefined
  readonly uid?: string | undefined
  readonly resourceVersion: string
}

/** An API object of which only the identity has been checked; items of a list carry no kind. */
export interface WireObject {
  readonly metadata: WireMeta
  readonly [field: string]: unknown
}

export const resourceVersionSchema = z.string().refine(isResourceVersion, 'expected a decimal resourceVersion')

export const wireObjectSchema = z.object({
  metadata: z.object({
    name: z.string().min(1),
    namespace: z.string().optional(),
    uid: z.string().optional(),
    resourceVersion: resourceVersionSchema,
  }),
})

export type ParsedWireObject =
  | { readonly kind: 'sound'; readonly object: WireObject }
  | { readonly kind: 'unsound'; readonly fault: string }

/** The object itself when its identity is sound, else what is wrong with it. */
export function parseWireObject(json: unknown): ParsedWireObject {
  if (isSound(json)) return { kind: 'sound', object: json }
  const parsed = wireObjectSchema.safeParse(json)
  if (parsed.success) return { kind: 'sound', object: json as WireObject }
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  return { kind: 'unsound', fault: faults.join('; ') }
}

/** Tells what the schema accepts, without its results for each field: a list has thousands of objects. */
function isSound(json: unknown): json is WireObject {
  const metadata = isObject(json) ? json['metadata'] : undefined
  if (!isObject(metadata)) return false
  const { name, namespace, uid, resourceVersion } = metadata
  return (
    typeof name === 'string' &&
    name !== '' &&
    (namespace === undefined || typeof namespace === 'string') &&
    (uid === undefined || typeof uid === 'string') &&
    typeof resourceVersion === 'string' &&
    isResourceVersion(resourceVersion)
  )
}

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}
