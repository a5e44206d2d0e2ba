import { z } from 'zod'
import type { ApiClient } from '../../client/index.ts'
import type { ResourceName } from './writes.ts'

/** A resource as discovery describes it. */
export interface ServedResource extends ResourceName {
  readonly kind: string
  readonly namespaced: boolean
}

const groupListSchema = z.object({
  groups: z.array(z.object({ name: z.string(), preferredVersion: z.object({ version: z.string() }) })),
})

const resourceListSchema = z.object({
  resources: z.array(
    z.object({ name: z.string(), kind: z.string(), namespaced: z.boolean(), verbs: z.array(z.string()) }),
  ),
})

const neededVerbs = ['list', 'watch', 'delete']

/**
 * Returns the resources that support list, watch and delete, each group in its preferred version. Throws ApiError and
 * ZodError.
 */
export async function listServedResources(client: ApiClient, signal: AbortSignal): Promise<readonly ServedResource[]> {
  const { groups } = groupListSchema.parse(await client.getDocument('/apis', { signal }))
  const named = groups.map(({ name, preferredVersion }) => ({ group: name, version: preferredVersion.version }))
  const all = await Promise.all(
    [{ group: '', version: 'v1' }, ...named].map((group) => listGroup(client, group, signal)),
  )
  return all.flat()
}

async function listGroup(
  client: ApiClient,
  { group, version }: { readonly group: string; readonly version: string },
  signal: AbortSignal,
): Promise<readonly ServedResource[]> {
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const { resources } = resourceListSchema.parse(await client.getDocument(path, { signal }))
  return resources
    .filter(({ name, verbs }) => !name.includes('/') && neededVerbs.every((verb) => verbs.includes(verb)))
    .map(({ name, kind, namespaced }) => ({ group, version, resource: name, kind, namespaced }))
}
