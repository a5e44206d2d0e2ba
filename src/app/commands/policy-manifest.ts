import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { ConfigError } from '../../config/index.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { NetworkPolicy } from '../../model/network-policy.ts'
import { readNetworkPolicy } from '../../node/policy/index.ts'
import { formatProblem } from '../../node/state/index.ts'

/** The policies of a manifest, and the kinds and names of its other objects. */
export interface PolicyManifest {
  readonly policies: readonly NetworkPolicy[]
  readonly others: readonly string[]
}

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().optional(), namespace: z.string().optional() }).optional(),
})
const listSchema = z.looseObject({ kind: z.string().endsWith('List'), items: z.array(z.unknown()) })

/**
 * Reads a manifest: YAML or JSON, documents or lists. Throws ConfigError with every problem: an object that can be read in part would
 * be judged for what it is not.
 *
 * @param source the name of the file, for messages
 * @param namespace of policies that name none
 */
export function readPolicyManifest(text: string, source: string, namespace: string, dialect: Dialect): PolicyManifest {
  const documents = parseAllDocuments(text)
  const faults = documents.flatMap(({ errors }) => errors.map(({ message }) => `${source}: ${message}`))
  if (faults.length > 0) throw new ConfigError('config-unreadable', faults)
  const objects = documents.flatMap((document) => flatten(document.toJS()))
  const read = objects.map((json) => readObject(json, namespace, dialect))
  const problems = read.flatMap((each) => each.problems)
  const policies = read.flatMap(({ policy }) => policy ?? [])
  const repeated = policies.filter(({ key }, index) => policies.findIndex((other) => other.key === key) < index)
  problems.push(...repeated.map(({ key }) => `NetworkPolicy ${key} stands in it twice`))
  if (problems.length === 0 && policies.length === 0) problems.push('it holds no NetworkPolicy')
  if (problems.length > 0)
    throw new ConfigError(
      'config-invalid',
      problems.map((problem) => `${source}: ${problem}`),
    )
  return { policies, others: read.flatMap(({ other }) => other ?? []) }
}

/** The items of a list; nothing of an empty document. */
function flatten(json: unknown): readonly unknown[] {
  if (json === null || json === undefined) return []
  const list = listSchema.safeParse(json)
  return list.success ? list.data.items.flatMap(flatten) : [json]
}

interface ReadObject {
  readonly policy?: NetworkPolicy | undefined
  readonly other?: string
  readonly problems: readonly string[]
}

function readObject(json: unknown, namespace: string, dialect: Dialect): ReadObject {
  const parsed = objectSchema.safeParse(json)
  if (!parsed.success) return { problems: ['expected objects with apiVersion, kind and metadata'] }
  const { apiVersion, kind, metadata } = parsed.data
  if (kind !== 'NetworkPolicy') return { other: `${kind} ${metadata?.name ?? ''}`.trimEnd(), problems: [] }
  const expected = `${dialect.groups.networking}/v1`
  if (apiVersion !== expected)
    return {
      problems: [
        `NetworkPolicy ${metadata?.name ?? ''}: this server expects apiVersion ${expected}, found ${apiVersion}`,
      ],
    }
  const { value, problems } = readNetworkPolicy({ ...parsed.data, metadata: { namespace, ...metadata } })
  return { policy: value, problems: problems.map(formatProblem) }
}
