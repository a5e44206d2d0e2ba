import type { Json, JsonObject } from '../../model/api-object.ts'
import { StatusError } from '../status.ts'
import { createObject } from '../verbs/create.ts'
import { replaceObject } from '../verbs/update.ts'
import type { VerbContext } from '../verbs/verb-context.ts'

export const writeOptions = { dryRun: false, manager: 'platnet' } as const

export interface Place {
  readonly group?: string
  readonly plural: string
  readonly namespace: string | undefined
}

export type Manifest = Readonly<Record<string, Json>> & { readonly metadata: JsonObject & { readonly name: string } }

/** Creates an object where it is missing; `replaces` says whether one that is there gets the new content. */
export async function ensure(context: VerbContext, place: Place, body: Manifest, replaces = false): Promise<void> {
  const resource = context.registry.find(place.group ?? '', 'v1', place.plural)
  if (resource === undefined) return
  const target = { resource, namespace: place.namespace, name: undefined, subresource: undefined }
  try {
    await createObject(context, target, body, writeOptions)
  } catch (thrown) {
    if (!(thrown instanceof StatusError) || thrown.code !== 'AlreadyExists') throw thrown
    if (replaces) await replaceObject(context, { ...target, name: body.metadata.name }, body, writeOptions)
  }
}
