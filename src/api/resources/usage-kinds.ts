import { formatTime, type JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'
import type { Store } from '../store/index.ts'
import type { Rate } from '../usage/samples.ts'
import type { NodeRates, Usage } from '../usage/usage.ts'
import { defineKind } from './define-kind.ts'
import { collectionPrefix } from './keys.ts'
import { type Computed, column, type Resource } from './resource.ts'

/** Returns what nodes and pods use now; it may take seconds at first. */
export type ReadUsage = () => Promise<Usage>

/** The kinds NodeMetrics and PodMetrics (metrics.k8s.io/v1beta1). They are computed when they are asked for, and never stored. */
export function usageKinds(dialect: Dialect, store: Store, readUsage: ReadUsage): readonly Resource[] {
  const common = { group: dialect.groups.metrics, version: 'v1beta1', singular: '' }
  const columns = [
    column('CPU', (document) => amountCell(document, 'cpu')),
    column('Memory', (document) => amountCell(document, 'memory')),
    column('Window', ({ window }) => textAt(window)),
  ]
  return [
    defineKind({
      ...common,
      kind: 'NodeMetrics',
      plural: 'nodes',
      namespaced: false,
      computed: (place) => nodeMetrics(store, readUsage, place),
      columns,
      hidesAge: true,
    }),
    defineKind({
      ...common,
      kind: 'PodMetrics',
      plural: 'pods',
      namespaced: true,
      computed: (place) => podMetrics(store, readUsage, place),
      columns,
      hidesAge: true,
    }),
  ]
}

type Place = Parameters<Computed>[0]

/** Returns the stored objects at a place: one by its name, those of a namespace, or all. */
async function objectsAt(store: Store, plural: string, { namespace, name }: Place): Promise<readonly ApiDocument[]> {
  const prefix = collectionPrefix({ plural }, namespace)
  const found = name === undefined ? (await store.range(prefix)).entries : [await store.get(`${prefix}${name}`)]
  return found.flatMap((entry) => (entry === undefined ? [] : [JSON.parse(entry.value) as ApiDocument]))
}

async function nodeMetrics(store: Store, readUsage: ReadUsage, place: Place): Promise<readonly ApiDocument[]> {
  const [usage, nodes] = await Promise.all([readUsage(), objectsAt(store, 'nodes', place)])
  return nodes.flatMap(({ metadata }) => {
    const rate = usage.get(metadata.name ?? '')?.node
    return rate === undefined ? [] : [{ ...headOf('NodeMetrics', metadata, [rate]), usage: amountsOf(rate) }]
  })
}

/** Believes a node only about pods that are bound to it. */
async function podMetrics(store: Store, readUsage: ReadUsage, place: Place): Promise<readonly ApiDocument[]> {
  const usage = await readUsage()
  if ([...usage.values()].every(({ pods }) => pods.size === 0)) return []
  const pods = await objectsAt(store, 'pods', place)
  return pods.flatMap((pod) => {
    const rates = ratesOf(usage.get(textAt(pod['spec'], 'nodeName')), pod)
    if (rates === undefined || rates.length === 0) return []
    const containers = rates.map(([name, rate]) => ({ name, usage: amountsOf(rate) }))
    return [
      {
        ...headOf(
          'PodMetrics',
          pod.metadata,
          rates.map(([, rate]) => rate),
        ),
        containers,
      },
    ]
  })
}

function ratesOf(node: NodeRates | undefined, { metadata, spec }: ApiDocument) {
  const known = node?.pods.get(`${metadata.namespace}/${metadata.name}`)
  const names = ['containers', 'initContainers'].flatMap((field) =>
    listAt(spec, field).map((each) => textAt(each, 'name')),
  )
  return known && [...known].filter(([container]) => names.includes(container))
}

/** The head of a measurement: its time is that of the oldest part. */
function headOf(
  kind: string,
  { name, namespace, labels }: ApiDocument['metadata'],
  rates: readonly Rate[],
): ApiDocument {
  const oldest = rates.reduce((least, rate) => (rate.atMs < least.atMs ? rate : least))
  const time = formatTime(new Date(oldest.atMs))
  const metadata = { name, namespace, creationTimestamp: time, labels }
  const present = Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== undefined))
  return { kind, apiVersion: '', metadata: present, timestamp: time, window: `${oldest.windowMs / 1000}s` }
}

/** Returns the amounts as metrics-server writes them: billionths of a CPU, and whole Ki of memory. */
function amountsOf({ cpuCores, memoryBytes }: Rate): JsonObject {
  return { cpu: `${Math.round(cpuCores * 1e9)}n`, memory: `${Math.floor(memoryBytes / 1024)}Ki` }
}

/** Shows the sum over the containers of a pod, or the amount of a node: `250m`, `12Mi`. */
function amountCell(document: ApiDocument, name: 'cpu' | 'memory'): string {
  const parts = [objectAt(document['usage']), ...listAt(document['containers']).map((each) => objectAt(each, 'usage'))]
  const sum = parts.reduce((total, part) => total + (Number.parseInt(textAt(part, name), 10) || 0), 0)
  return name === 'cpu' ? `${Math.ceil(sum / 1e6)}m` : `${Math.floor(sum / 1024)}Mi`
}
