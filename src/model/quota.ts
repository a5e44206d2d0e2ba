import { type Amount, type Amounts, countAmount, sumAmounts } from './amount.ts'
import { isObject, type Json, type JsonObject } from './api-object.ts'
import { amountsOf, podAmounts, readAmounts } from './pod-amounts.ts'

/** A resource of the API, by which usage is counted. */
export interface CountedKind {
  readonly group: string
  readonly plural: string
  /** The annotation that names the StorageClass of old claims; it holds before the field. */
  readonly classAnnotation?: string
}

/** The kinds whose number has a name of its own, older than `count/…`. */
const oldCounts = ['configmaps', 'resourcequotas', 'replicationcontrollers', 'secrets', 'persistentvolumeclaims']
const computeNames = ['cpu', 'memory', 'ephemeral-storage']
const podNames = [
  'pods',
  ...computeNames,
  ...computeNames.map((name) => `requests.${name}`),
  ...computeNames.map((name) => `limits.${name}`),
]
const serviceNames = ['services', 'services.nodeports', 'services.loadbalancers']

/** Returns the name under which a quota counts the objects of a kind: `count/deployments.apps`. */
export function countName({ group, plural }: CountedKind): string {
  return group === '' ? `count/${plural}` : `count/${plural}.${group}`
}

function isCore({ group, plural }: CountedKind, name: string): boolean {
  return group === '' && plural === name
}

/** Checks whether objects of a kind use a resource of a quota. */
export function isUsedBy(kind: CountedKind, name: string): boolean {
  if (name === countName(kind)) return true
  if (isCore(kind, 'services')) return serviceNames.includes(name)
  if (isCore(kind, 'persistentvolumeclaims') && (name === 'requests.storage' || classUsage.test(name))) return true
  if (!isCore(kind, 'pods')) return kind.group === '' && oldCounts.includes(kind.plural) && name === kind.plural
  return podNames.includes(name) || /^(requests\.)?hugepages-/.test(name) || isDeviceRequest(name)
}

/** The names by which a quota counts the claims of one StorageClass; they are the names of Kubernetes in both dialects. */
const classUsage = /\.storageclass\.storage\.k8s\.io\/(requests\.storage|persistentvolumeclaims)$/

function isDeviceRequest(name: string): boolean {
  return name.startsWith('requests.') && name.includes('/') && !name.includes('kubernetes.io/')
}

/** Returns what an object uses of the resources of quotas. */
export function usageOf(kind: CountedKind, object: JsonObject, nowMs: number): Amounts {
  const one = new Map<string, Amount>([[countName(kind), countAmount(1)]])
  if (isCore(kind, 'pods')) return isCharged(object, nowMs) ? sumAmounts([one, podUsage(object)]) : one
  if (isCore(kind, 'services')) return sumAmounts([one, serviceUsage(object)])
  if (isCore(kind, 'persistentvolumeclaims')) return sumAmounts([one, claimUsage(kind, object)])
  if (kind.group === '' && oldCounts.includes(kind.plural)) one.set(kind.plural, countAmount(1))
  return one
}

/** Checks for a Pod that has not ended, and whose grace after a deletion is not over. */
function isCharged(pod: JsonObject, nowMs: number): boolean {
  if (['Succeeded', 'Failed'].includes(textAt(pod, 'status', 'phase'))) return false
  // The time of deletion in the metadata includes the grace.
  const deletion = textAt(pod, 'metadata', 'deletionTimestamp')
  return deletion === '' || Date.parse(deletion) >= nowMs
}

function podUsage(pod: JsonObject): Amounts {
  const overhead = readAmounts(at(pod, 'spec', 'overhead'))
  const requests = sumAmounts([podAmounts(pod['spec'], 'requests'), overhead])
  const limits = podAmounts(pod['spec'], 'limits')
  const limited = new Map([...sumAmounts([limits, overhead])].filter(([name]) => limits.has(name)))
  return new Map([['pods', countAmount(1)], ...requestUsage(requests), ...limitUsage(limited)])
}

function requestUsage(requests: Amounts): readonly [string, Amount][] {
  return [...requests].flatMap(([name, amount]): readonly [string, Amount][] => {
    const request: [string, Amount] = [`requests.${name}`, amount]
    if (computeNames.includes(name) || name.startsWith('hugepages-')) return [[name, amount], request]
    return name.includes('/') ? [request] : []
  })
}

function limitUsage(limits: Amounts): readonly [string, Amount][] {
  return [...limits].flatMap(([name, amount]): readonly [string, Amount][] =>
    computeNames.includes(name) ? [[`limits.${name}`, amount]] : [],
  )
}

function serviceUsage(service: JsonObject): Amounts {
  const [type, ports] = [textAt(service, 'spec', 'type'), listAt(service, 'spec', 'ports')]
  const isBalanced = type === 'LoadBalancer'
  const allocates = at(service, 'spec', 'allocateLoadBalancerNodePorts') !== false
  const explicit = ports.filter((port) => Number(textAt(port, 'nodePort') || 0) !== 0)
  const all = type === 'NodePort' || (isBalanced && allocates) ? ports.length : 0
  return new Map([
    ['services', countAmount(1)],
    ['services.nodeports', countAmount(isBalanced && !allocates ? explicit.length : all)],
    ['services.loadbalancers', countAmount(isBalanced ? 1 : 0)],
  ])
}

/** Returns what a claim uses: the size that it asks for, or that it was once expanded to. */
function claimUsage({ classAnnotation = '' }: CountedKind, claim: JsonObject): Amounts {
  const one = countAmount(1)
  const asked = amountsOf(claim['spec'], 'requests').get('storage')
  const allocated = readAmounts(at(claim, 'status', 'allocatedResources')).get('storage')
  const size = (allocated?.thousandths ?? 0n) > (asked?.thousandths ?? 0n) ? allocated : asked
  const oldName = at(claim, 'metadata', 'annotations', classAnnotation)
  const className = typeof oldName === 'string' ? oldName : textAt(claim, 'spec', 'storageClassName')
  const prefix = `${className}.storageclass.storage.k8s.io/`
  const usage = new Map([
    ['persistentvolumeclaims', one],
    ...(className === '' ? [] : [[`${prefix}persistentvolumeclaims`, one] as const]),
  ])
  if (size === undefined) return usage
  usage.set('requests.storage', size)
  if (className !== '') usage.set(`${prefix}requests.storage`, size)
  return usage
}

/** Checks whether an object is in all scopes of the spec of a quota; only Pods and claims are in any. */
export function isInScope(kind: CountedKind, object: JsonObject, quotaSpec: Json | undefined): boolean {
  const scopes = listAt(quotaSpec, 'scopes').map((scopeName): Json => ({ scopeName, operator: 'Exists' }))
  const selectors = [...scopes, ...listAt(quotaSpec, 'scopeSelector', 'matchExpressions')]
  if (selectors.length === 0) return true
  if (isCore(kind, 'persistentvolumeclaims')) return selectors.every((selector) => isClaimInScope(object, selector))
  return isCore(kind, 'pods') && selectors.every((selector) => isPodInScope(object, selector))
}

/** Checks the classes of attributes that a claim has, had, or is changing to. */
function isClaimInScope(claim: JsonObject, selector: Json): boolean {
  if (textAt(selector, 'scopeName') !== 'VolumeAttributesClass') return false
  const names = [
    textAt(claim, 'spec', 'volumeAttributesClassName'),
    textAt(claim, 'status', 'currentVolumeAttributesClassName'),
    textAt(claim, 'status', 'modifyVolumeStatus', 'targetVolumeAttributesClassName'),
  ].filter((name) => name !== '')
  return (names.length === 0 ? [''] : names).some((name) => matchesClass(name, selector))
}

function isPodInScope(pod: JsonObject, selector: Json): boolean {
  const spec = pod['spec']
  switch (textAt(selector, 'scopeName')) {
    case 'Terminating':
      return isTerminating(spec)
    case 'NotTerminating':
      return !isTerminating(spec)
    case 'BestEffort':
      return isBestEffort(spec)
    case 'NotBestEffort':
      return !isBestEffort(spec)
    case 'PriorityClass':
      return matchesClass(textAt(spec, 'priorityClassName'), selector)
    case 'CrossNamespacePodAffinity':
      return hasDistantNeighbours(at(spec, 'affinity'))
    default:
      return false
  }
}

function isTerminating(spec: Json | undefined): boolean {
  const deadline = at(spec, 'activeDeadlineSeconds') ?? null
  return deadline !== null && Number(deadline) >= 0
}

function isBestEffort(spec: Json | undefined): boolean {
  const owners = [spec, ...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')]
  const amounts = owners.flatMap((owner) => [amountsOf(owner, 'requests'), amountsOf(owner, 'limits')])
  return amounts.every((each) => ['cpu', 'memory'].every((name) => (each.get(name)?.thousandths ?? 0n) === 0n))
}

function matchesClass(name: string, selector: Json): boolean {
  const isNamed = listAt(selector, 'values').includes(name)
  switch (textAt(selector, 'operator')) {
    case 'Exists':
      return name !== ''
    case 'DoesNotExist':
      return name === ''
    case 'In':
      return name !== '' && isNamed
    default:
      return name === '' || !isNamed
  }
}

function hasDistantNeighbours(affinity: Json | undefined): boolean {
  return ['podAffinity', 'podAntiAffinity'].some((side) => {
    const required = listAt(affinity, side, 'requiredDuringSchedulingIgnoredDuringExecution')
    const preferred = listAt(affinity, side, 'preferredDuringSchedulingIgnoredDuringExecution')
    const terms = [...required, ...preferred.map((term) => at(term, 'podAffinityTerm'))]
    return terms.some(
      (term) => listAt(term, 'namespaces').length > 0 || (at(term, 'namespaceSelector') ?? null) !== null,
    )
  })
}

const demanded = [...['cpu', 'memory', 'requests.cpu', 'requests.memory', 'limits.cpu', 'limits.memory']]

/**
 * Returns what the containers of a Pod must state because a quota counts it: `limits.cpu for: main; …`. Undefined where
 * nothing is missing. A Pod with resources of its own need not state any.
 */
export function findUnstated(pod: JsonObject, names: readonly string[]): string | undefined {
  const spec = pod['spec']
  if (amountsOf(spec, 'requests').size + amountsOf(spec, 'limits').size > 0) return undefined
  const containers = [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')]
  const missing = names
    .filter((name) => demanded.includes(name))
    .toSorted()
    .flatMap((name) => {
      const [side, resource] = name.startsWith('limits.')
        ? (['limits', name.slice('limits.'.length)] as const)
        : (['requests', name.replace('requests.', '')] as const)
      const silent = containers.filter((container) => !amountsOf(container, side).has(resource))
      const containerNames = silent.map((container) => textAt(container, 'name')).toSorted()
      return containerNames.length === 0 ? [] : [`${name} for: ${containerNames.join(',')}`]
    })
  return missing.length === 0 ? undefined : missing.join('; ')
}

function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let current = value
  for (const field of path) current = isObject(current) ? (current as JsonObject)[field] : undefined
  return current
}

function listAt(value: Json | undefined, ...path: readonly string[]): readonly Json[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

function textAt(value: Json | undefined, ...path: readonly string[]): string {
  const found = at(value, ...path)
  return found === undefined || found === null || typeof found === 'object' ? '' : String(found)
}
