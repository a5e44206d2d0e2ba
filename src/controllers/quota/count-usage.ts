import { type ApiClient, listPages } from '../../client/index.ts'
import { type Amount, type Amounts, countAmount, sumAmounts } from '../../model/amount.ts'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { type CountedKind, countName, isInScope, isUsedBy, usageOf } from '../../model/quota.ts'
import { listServedResources, type ServedResource } from '../objects/served-resources.ts'
import type { Quota } from './shapes.ts'

/** The kinds of the core group of which a quota counts more than the number. */
const measured = ['pods', 'services', 'persistentvolumeclaims']

interface CountParts {
  readonly client: ApiClient
  /** The annotation of claims with the StorageClass of old objects. */
  readonly classAnnotation: string
}

/** Counts what the objects of a namespace use of a quota, by lists of the kinds that it names. */
export async function countUsage(
  { client, classAnnotation }: CountParts,
  quota: Quota,
  signal: AbortSignal,
): Promise<Amounts> {
  const names = Object.keys(quota.spec.hard)
  const served = (await listServedResources(client, signal)).filter(({ namespaced }) => namespaced)
  const used = new Map<string, Amount>()
  for (const resource of served) {
    const kind: CountedKind = { group: resource.group, plural: resource.resource, classAnnotation }
    const own = names.filter((name) => isUsedBy(kind, name))
    if (own.length === 0) continue
    const usage = await countKind(client, quota, { kind, resource }, signal)
    for (const name of own) used.set(name, usage.get(name) ?? countAmount(0))
  }
  return used
}

interface Listed {
  readonly kind: CountedKind
  readonly resource: ServedResource
}

async function countKind(client: ApiClient, quota: Quota, listed: Listed, signal: AbortSignal): Promise<Amounts> {
  const { kind, resource } = listed
  const { namespace = '' } = quota.metadata
  const isMeasured = kind.group === '' && measured.includes(kind.plural)
  const content = isMeasured ? {} : { content: 'metadata' as const }
  const { items } = await listPages(client, { resource, namespace }, { signal, ...content })
  const spec = quota.spec as unknown as Json
  const counted = (items as readonly JsonObject[]).filter((item) => isInScope(kind, item, spec))
  if (!isMeasured) return numberOf(kind, counted.length)
  const nowMs = Date.now()
  return sumAmounts(counted.map((item) => usageOf(kind, item, nowMs)))
}

function numberOf(kind: CountedKind, count: number): Amounts {
  return new Map([
    [countName(kind), countAmount(count)],
    [kind.plural, countAmount(count)],
  ])
}
