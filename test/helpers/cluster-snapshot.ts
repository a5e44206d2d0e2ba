import type { TestServer } from './api-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: a test looks into any object
type AnyObject = any

/** Whose objects are compared. */
const collections = [
  '/api/v1/namespaces',
  '/api/v1/nodes',
  '/api/v1/pods',
  '/api/v1/services',
  '/api/v1/endpoints',
  '/api/v1/configmaps',
  '/api/v1/serviceaccounts',
  '/apis/discovery.k8s.io/v1/endpointslices',
  '/apis/apps/v1/deployments',
  '/apis/apps/v1/replicasets',
  '/apis/apps/v1/statefulsets',
  '/apis/apps/v1/daemonsets',
  '/apis/apps/v1/controllerrevisions',
  '/apis/networking.k8s.io/v1/servicecidrs',
  '/apis/networking.k8s.io/v1/ipaddresses',
]

/**
 * What a cluster holds as sorted lines, a field of an object each, without what differs from run to run: generated names, hashes, uids, times, versions.
 * Of Events: the kind of the object, the reason and the source.
 */
export async function snapshotOf(server: TestServer): Promise<readonly string[]> {
  const lists = await Promise.all(collections.map(async (path) => (await server.call('GET', path)).body))
  const objects: readonly AnyObject[] = lists.flatMap(({ kind, items }) =>
    items.map((object: AnyObject) => ({ kind: kind.replace(/List$/, ''), ...object })),
  )
  const names = stableNames(objects)
  const fields = objects.flatMap(linesOf).map((line) => rename(line, names))
  return [...fields, ...(await eventLines(server))].sort()
}

const unstable = ['uid', 'resourceVersion', 'managedFields', 'creationTimestamp', 'generation', 'generateName']

function linesOf({ kind, apiVersion: _, metadata, ...rest }: AnyObject): readonly string[] {
  const kept = Object.fromEntries(Object.entries(metadata).filter(([field]) => !unstable.includes(field)))
  const subject = `${kind} ${metadata.namespace ?? ''}/${metadata.name}`
  const seen = metadata.generation === rest.status?.observedGeneration ? 'all' : 'not all'
  return fieldsOf('', { ...rest, metadata: kept }).map((field) => `${subject} ${field.replace(observed, `$1 ${seen}`)}`)
}

/** In how many steps a rollout goes is luck; that its last one was seen is not. */
const observed = /^(\.status\.observedGeneration:) .*/

function fieldsOf(path: string, value: AnyObject): readonly string[] {
  const isObject = value !== null && typeof value === 'object' && Object.keys(value).length > 0
  if (!isObject || typeof value[0] === 'string') return [`${path}: ${JSON.stringify(value)}`]
  if (!Array.isArray(value)) return Object.entries(value).flatMap(([key, part]) => fieldsOf(`${path}.${key}`, part))
  return value.flatMap((part) => fieldsOf(`${path}[${part.type ?? part.ip ?? part.key ?? part.name ?? ''}]`, part))
}

const word = /[a-z0-9]+(?:-[a-z0-9]+)*/g
const hash = /[a-z0-9]{8,10}/g
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g

function rename(line: string, names: ReadonlyMap<string, string>): string {
  const known = (text: string) => names.get(text) ?? text
  return line.replace(word, known).replace(hash, known).replace(time, 'TIME')
}

/** By what was generated what it stands for: hashes first, as they are part of names. */
function stableNames(objects: readonly AnyObject[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const { kind, metadata, revision } of objects) {
    const hashed = metadata.labels?.['pod-template-hash']
    if (kind === 'ReplicaSet') names.set(hashed, `HASH${metadata.annotations?.['deployment.kubernetes.io/revision']}`)
    if (kind === 'ControllerRevision') names.set(metadata.name.split('-').at(-1), `REVISION${revision}`)
  }
  for (const { kind, metadata } of objects) {
    const { name, generateName } = metadata
    const isGenerated = kind === 'EndpointSlice' || name.length === generateName?.length + 5
    names.set(name, rename(isGenerated ? name.replace(/[a-z0-9]{5}$/, '#') : name, names))
  }
  for (const { kind, metadata } of objects) names.set(metadata.uid, `uid of ${kind} ${names.get(metadata.name)}`)
  return names
}

async function eventLines(server: TestServer): Promise<readonly string[]> {
  const events: readonly AnyObject[] = (await server.call('GET', '/api/v1/events')).body.items
  const lineOf = ({ involvedObject, type, reason, source }: AnyObject) =>
    `Event of ${involvedObject.kind} ${type} ${reason} from ${source.component}`
  return [...new Set(events.map(lineOf))]
}
