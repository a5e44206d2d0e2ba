import { z } from 'zod'
import type { ApiClient } from '../../client/index.ts'
import type { ResourceName } from './writes.ts'

/** A resource as discovery describes it. */
export interface ServedResource extends ResourceName {
  readonly kind: string
  readonly namespaced: boolean
}

/** Aggregated discovery (KEP-3352): one document for all groups. */
const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

const resourceSchema = z.object({
  resource: z.string(),
  responseKind: z.object({ kind: z.string() }),
  scope: z.string(),
  verbs: z.array(z.string()),
})

/** The core group has no name; the first version of a group is the preferred one. */
const discoverySchema = z.object({
  kind: z.literal('APIGroupDiscoveryList'),
  items: z.array(
    z.object({
      metadata: z.object({ name: z.string().default('') }),
      versions: z.array(z.object({ version: z.string(), resources: z.array(resourceSchema).default([]) })),
    }),
  ),
})

const neededVerbs = ['list', 'watch', 'delete']

/**
 * Returns the resources that support list, watch and delete, each group in its preferred version. Throws ApiError and
 * ZodError.
 */
export async function listServedResources(client: ApiClient, signal: AbortSignal): Promise<readonly ServedResource[]> {
  const documents = await Promise.all(['/api', '/apis'].map((path) => client.getDocument(path, { signal, accept })))
  const groups = documents.flatMap((document) => discoverySchema.parse(document).items)
  return groups.flatMap(({ metadata, versions: [preferred] }) => {
    const found = preferred?.resources.filter(({ verbs }) => neededVerbs.every((verb) => verbs.includes(verb))) ?? []
    return found.map(({ resource, responseKind, scope }) => ({
      group: metadata.name,
      version: preferred?.version ?? '',
      resource,
      kind: responseKind.kind,
      namespaced: scope === 'Namespaced',
    }))
  })
}
