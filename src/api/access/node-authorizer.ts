import type { Dialect } from '../../model/dialect.ts'
import type { User } from '../identity.ts'
import { collectionPrefix } from '../resources/keys.ts'
import type { Store, StoreWatch } from '../store/index.ts'
import { type Attributes, equalTo, type ResourceAttributes } from './attributes.ts'
import type { Authorizer } from './authorizer.ts'
import { BoundPods } from './bound-pods.ts'
import { followStore } from './follow-store.ts'
import { IngressSecrets } from './ingress-secrets.ts'
import { leaseNamespace, nodeNameOf } from './node-identity.ts'
import { AttachedVolumes, ClaimedVolumes } from './node-volumes.ts'
import { type PolicyRule, ruleAllows } from './policy-rule.ts'

/**
 * Decides what a node's agent may do: read the objects that define the network, read the certificates of Ingresses and write their status, and
 * access only its own Node, Lease and pods, and what those pods use. `node-restriction.ts` checks the contents of the objects that it writes.
 */
export class NodeAuthorizer implements Authorizer {
  readonly #store: Store
  readonly #pods: BoundPods
  readonly #ingressSecrets = new IngressSecrets()
  readonly #volumes = new ClaimedVolumes()
  readonly #attached = new AttachedVolumes()
  readonly #shared: readonly PolicyRule[]
  readonly #ownRules: Readonly<Record<string, OwnRule>>
  #watches: readonly StoreWatch[] = []

  constructor(store: Store, dialect: Dialect) {
    this.#store = store
    this.#pods = new BoundPods(dialect)
    this.#shared = sharedRules(dialect)
    this.#ownRules = {
      ...ownRules(dialect, this.#pods, this.#ingressSecrets, this.#volumes),
      ...volumeRules(dialect, this.#pods, this.#volumes, this.#attached),
    }
  }

  async start(): Promise<void> {
    const follow = (plural: string, index: Pick<BoundPods, 'set'>, mayMatter?: (text: string) => boolean) =>
      followStore(this.#store, collectionPrefix({ plural }, undefined), index.set.bind(index), mayMatter)
    this.#watches = [
      await follow('pods', this.#pods, mayBeBound),
      await follow('ingresses', this.#ingressSecrets),
      await follow('persistentvolumes', this.#volumes),
      await follow('volumeattachments', this.#attached),
    ]
  }

  stop(): void {
    for (const watch of this.#watches) watch.close()
  }

  allows(user: User, attributes: Attributes): boolean {
    const node = nodeNameOf(user)
    if (node === undefined || node === '' || attributes.kind === 'path') return false
    if (this.#shared.some((rule) => ruleAllows(rule, attributes))) return true
    const key = `${attributes.group}/${attributes.resource}`
    const own = Object.hasOwn(this.#ownRules, key) ? this.#ownRules[key] : undefined
    return own === undefined ? false : own.verbs.includes(attributes.verb) && own.isOwn(attributes, node)
  }
}

/** Checks whether the text of a pod can name a node: that of a new pod, which no scheduler has seen, is not parsed. */
function mayBeBound(text: string): boolean {
  return text.includes('"nodeName"')
}

interface OwnRule {
  readonly verbs: readonly string[]
  readonly isOwn: (attributes: ResourceAttributes, node: string) => boolean
}

const read = ['get', 'list', 'watch']
const change = ['patch', 'update']

/** Returns the rules that every node has. A node reads Nodes for the routes to their pods. */
function sharedRules({ groups }: Dialect): readonly PolicyRule[] {
  return [
    rule([''], ['services', 'endpoints', 'namespaces', 'nodes'], read),
    rule([groups.discovery], ['endpointslices'], read),
    rule([groups.networking], ['ingressclasses', 'ingresses', 'networkpolicies', 'servicecidrs'], read),
    rule([groups.networking], ['ingresses/status'], ['get', ...change]),
    rule(['', groups.events], ['events'], ['create', 'patch']),
    rule([groups.authentication], ['tokenreviews'], ['create']),
    rule([groups.authorization], ['localsubjectaccessreviews', 'subjectaccessreviews'], ['create']),
    rule([''], ['nodes'], ['create']),
    rule([groups.certificates], ['certificatesigningrequests'], ['create', ...read]),
    rule([groups.node], ['runtimeclasses'], read),
    rule([groups.storage], ['csidrivers'], read),
  ]
}

function rule(apiGroups: readonly string[], resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups, resources, verbs, resourceNames: [], nonResourceURLs: [] }
}

/** Checks for the namespace in which a node creates the cluster DNS Service and mirror pods; `node-restriction.ts` checks those objects. */
function isSystemNamespace({ namespace }: ResourceAttributes): boolean {
  return namespace === 'kube-system'
}

/** Checks whether the request names the ConfigMap that configures the DNS server of each node. */
function isCorefile({ namespace, name, fieldSelector }: ResourceAttributes): boolean {
  return namespace === 'kube-system' && (name === 'coredns' || equalTo(fieldSelector, 'metadata.name') === 'coredns')
}

/** Returns the rules for a node's own objects, by `group/resource`. */
function ownRules(
  { groups }: Dialect,
  pods: BoundPods,
  ingressSecrets: IngressSecrets,
  volumes: ClaimedVolumes,
): Readonly<Record<string, OwnRule>> {
  const isNode = ({ name }: ResourceAttributes, node: string) => name === node
  const isLease = ({ verb, namespace, name }: ResourceAttributes, node: string) =>
    namespace === leaseNamespace && (verb === 'create' || name === node)
  const isBound = ({ namespace, name }: ResourceAttributes, node: string) => pods.isBound(`${namespace}/${name}`, node)
  const isBoundOrSelected = (attributes: ResourceAttributes, node: string) =>
    isBound(attributes, node) ||
    (attributes.verb !== 'delete' && equalTo(attributes.fieldSelector, 'spec.nodeName') === node)
  const isUsed = ({ resource, namespace, name }: ResourceAttributes, node: string) =>
    name !== '' && pods.isUsed(`${resource.split('/', 1)}/${namespace}/${name}`, node)
  return {
    '/nodes': { verbs: change, isOwn: isNode },
    '/nodes/status': { verbs: ['get', ...change], isOwn: isNode },
    [`${groups.coordination}/leases`]: { verbs: ['create', 'delete', 'get', ...change], isOwn: isLease },
    [`${groups.storage}/csinodes`]: {
      verbs: ['create', 'delete', 'get', ...change],
      isOwn: ({ verb, name }, node) => verb === 'create' || name === node,
    },
    '/services': { verbs: ['create'], isOwn: isSystemNamespace },
    '/pods': {
      verbs: [...read, 'create', 'delete'],
      isOwn: (attributes, node) =>
        attributes.verb === 'create' ? isSystemNamespace(attributes) : isBoundOrSelected(attributes, node),
    },
    '/pods/status': { verbs: ['get', ...change], isOwn: isBound },
    '/pods/eviction': { verbs: ['create'], isOwn: isBound },
    '/configmaps': { verbs: read, isOwn: (attributes, node) => isCorefile(attributes) || isUsed(attributes, node) },
    '/secrets': {
      verbs: read,
      isOwn: (attributes, node) =>
        isUsed(attributes, node) ||
        ingressSecrets.isNamed(`${attributes.namespace}/${attributes.name}`) ||
        isForClaims(volumes.claimsWith(`${attributes.namespace}/${attributes.name}`), pods, node),
    },
    '/serviceaccounts/token': { verbs: ['create'], isOwn: isUsed },
  }
}

/** Returns the rules for the volumes of a node's pods: their claims, what is bound to these, and what is attached. */
function volumeRules(
  { groups }: Dialect,
  pods: BoundPods,
  volumes: ClaimedVolumes,
  attached: AttachedVolumes,
): Readonly<Record<string, OwnRule>> {
  const isClaim = ({ namespace, name }: ResourceAttributes, node: string) =>
    isForClaims([`${namespace}/${name}`], pods, node)
  return {
    '/persistentvolumeclaims': { verbs: ['get'], isOwn: isClaim },
    '/persistentvolumeclaims/status': { verbs: ['get', ...change], isOwn: isClaim },
    '/persistentvolumes': {
      verbs: ['get'],
      isOwn: ({ name }, node) => {
        const claim = volumes.claimOf(name)
        return claim !== undefined && isForClaims([claim], pods, node)
      },
    },
    [`${groups.storage}/volumeattachments`]: {
      verbs: ['get'],
      isOwn: ({ name }, node) => attached.isAttached(name, node),
    },
  }
}

function isForClaims(claims: Iterable<string>, pods: BoundPods, node: string): boolean {
  for (const claim of claims) if (pods.isUsed(`persistentvolumeclaims/${claim}`, node)) return true
  return false
}
