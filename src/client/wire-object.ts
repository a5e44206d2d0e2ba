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

const wireObjectSchema = z.object({
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
  const parsed = wireObjectSchema.safeParse(json)
  if (parsed.success) return { kind: 'sound', object: json as WireObject }
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  return { kind: 'unsound', fault: faults.join('; ') }
}
