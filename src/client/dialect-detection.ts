import { z } from 'zod'
import { createDialect, type Dialect } from '../model/dialect.ts'
import type { ApiClient } from './api-client.ts'
import { ApiError } from './errors.ts'

const groupListSchema = z.object({ groups: z.array(z.object({ name: z.string().max(253) })) })

/** Reads the server's API groups and derives the dialect. Throws ApiError. */
export async function detectDialect(client: ApiClient, options: { signal?: AbortSignal } = {}): Promise<Dialect> {
  const parsed = groupListSchema.safeParse(await client.getDocument('/apis', options))
  if (!parsed.success) throw new ApiError('bad-response', 'GET /apis: expected an APIGroupList')
  return dialectOfGroups(parsed.data.groups.map((group) => group.name))
}

/** Chooses `kubernetes` if `discovery.k8s.io` is served, else `platform` with the domain of the served discovery group. */
function dialectOfGroups(groups: readonly string[]): Dialect {
  const kubernetes = createDialect('kubernetes')
  if (groups.includes(kubernetes.groups.discovery)) return kubernetes
  const candidates = groups.map(platformOfGroup).filter((dialect) => dialect !== undefined)
  const [only, ...others] = candidates
  if (only !== undefined && others.length === 0) return only
  const seen = groups.slice(0, 20).join(', ') || 'none'
  throw new ApiError(
    'bad-response',
    `the server's dialect is not clear: expected one discovery group, found the groups ${seen}`,
    {
      remedy: 'check that the server is a Platnet or Kubernetes API server',
    },
  )
}

function platformOfGroup(group: string): Dialect | undefined {
  const domain = group.slice(group.indexOf('.') + 1)
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(domain)) return undefined
  const dialect = createDialect('platform', domain)
  return dialect.groups.discovery === group ? dialect : undefined
}
