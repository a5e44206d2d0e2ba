import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { dnsMetricsPort, dnsPort } from '../../model/dns-ports.ts'
import { readCertificateRequest } from '../../pki/index.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt, without } from '../document.ts'
import type { Admit } from '../request/request.ts'
import { isMirrorPod } from '../resources/mirror-pod.ts'
import { referredKind } from '../resources/pod-references.ts'
import { forbidden, notFound } from '../status.ts'
import { leaseNamespace, userPrefix } from './node-identity.ts'
import { forbiddenLabels } from './node-labels.ts'

type Change = Parameters<Admit>[0]

export interface NodeRestriction {
  readonly dialect: Dialect
  /** The verb of the request. */
  readonly verb: string
  /** Reads a Node; undefined when it does not exist. */
  readonly readNode: (name: string) => Promise<ApiDocument | undefined>
}

/**
 * Checks what a node writes, like Kubernetes' admission plugin NodeRestriction: its own Node without the fields that attract pods, its own Lease, the
 * status and the deletion of its own pods, and mirror pods that refer to nothing. Stricter than the plugin, a node sets no podCIDR, creates no
 * Service but that of the cluster DNS, and changes no metadata with the status of an Ingress. Throws a 403.
 */
export async function assertNodeMay(node: string, change: Change, restriction: NodeRestriction): Promise<void> {
  const why = await refusal(node, change, restriction)
  if (why !== undefined) throw forbidden(change.target.resource, change.name, why)
}

async function refusal(node: string, change: Change, restriction: NodeRestriction): Promise<string | undefined> {
  const { resource } = change.target
  switch (`${resource.group}/${resource.plural}`) {
    case '/nodes':
      return refuseNode(node, change, restriction.dialect)
    case '/pods':
      return refusePod(node, change, restriction)
    case '/persistentvolumeclaims':
      return refuseClaim(node, change)
    case '/services':
      return change.old === undefined ? refuseService(node, change) : undefined
    case `${restriction.dialect.groups.networking}/ingresses`:
      return refuseIngress(node, change)
    case `${restriction.dialect.groups.coordination}/leases`:
      return refuseLease(node, change)
    case `${restriction.dialect.groups.storage}/csinodes`:
      return change.name === node ? undefined : `node ${quote(node)} can only access the CSINode of its own name`
    case `${restriction.dialect.groups.certificates}/certificatesigningrequests`:
      return refuseSigningRequest(node, change, restriction.dialect)
    default:
      return undefined
  }
}

/** The status of an Ingress is written through its whole document, and some metadata with it. */
function refuseIngress(node: string, { target, old, next }: Change): string | undefined {
  if (target.subresource !== 'status' || next === undefined) return undefined
  const changed = ['labels', 'annotations', 'finalizers', 'ownerReferences'].find(
    (field) => !isDeepStrictEqual(orNone(old, ['metadata', field]), orNone(next, ['metadata', field])),
  )
  return changed === undefined ? undefined : `node ${quote(node)} cannot update ${changed} through ingress status`
}

/** A node asks for certificates of its own name only, of the signers for nodes; they check all else. */
async function refuseSigningRequest(
  node: string,
  { old, next }: Change,
  { signers }: Dialect,
): Promise<string | undefined> {
  const signer = textAt(next?.['spec'], 'signerName')
  if (old !== undefined || ![signers.kubeletClient, signers.kubeletServing].includes(signer)) return undefined
  const pem = Buffer.from(textAt(next?.['spec'], 'request'), 'base64').toString('latin1')
  const { commonNames } = await readCertificateRequest(pem)
  const isOwn = commonNames.length === 1 && commonNames[0] === `${userPrefix}${node}`
  return isOwn ? undefined : `can only create a node CSR with CN=${userPrefix}${node}`
}

function refuseLease(node: string, { target, name }: Change): string | undefined {
  if (target.namespace !== leaseNamespace) return `node ${quote(node)} can only access leases in ${leaseNamespace}`
  return name === node ? undefined : `node ${quote(node)} can only access the lease of its own name`
}

function refuseNode(node: string, { name, old, next }: Change, { nodeLabels }: Dialect): string | undefined {
  if (name !== node) return `node ${quote(node)} is not allowed to modify node ${quote(name)}`
  if (next === undefined) return undefined
  const labels = forbiddenLabels(old?.metadata.labels ?? {}, next.metadata.labels ?? {}, nodeLabels)
  if (labels.length > 0) return `node ${quote(node)} is not allowed to modify labels: ${labels.join(', ')}`
  const field = forbiddenNodeField(old, next)
  return field === undefined ? undefined : `node ${quote(node)} is not allowed to modify ${field}`
}

/** Returns a changed Node field that the node may not set: taints after registration, the other protected fields always. */
function forbiddenNodeField(old: ApiDocument | undefined, next: ApiDocument): string | undefined {
  const differs = (...path: readonly string[]) => !isDeepStrictEqual(orNone(old, path), orNone(next, path))
  const isSet = valueAt(next, 'spec', 'configSource') !== undefined
  if (isSet && differs('spec', 'configSource')) return 'spec.configSource'
  const own = ['podCIDR', 'podCIDRs'].find((field) => differs('spec', field))
  if (own !== undefined) return `spec.${own}`
  if (old === undefined) return undefined
  if (differs('spec', 'taints')) return 'spec.taints'
  return differs('metadata', 'ownerReferences') ? 'metadata.ownerReferences' : undefined
}

/** Returns a value with nothing, null, an empty text and an empty list made equal. */
function orNone(document: ApiDocument | undefined, path: readonly string[]): Json | undefined {
  const value = valueAt(document, ...path)
  const isEmpty = value === null || value === '' || (Array.isArray(value) && value.length === 0)
  return isEmpty ? undefined : value
}

async function refusePod(
  node: string,
  { target, old, next }: Change,
  restriction: NodeRestriction,
): Promise<string | undefined> {
  if (old === undefined) return refuseMirrorPod(node, next, restriction)
  const isOwn = textAt(old, 'spec', 'nodeName') === node
  if (!isOwn) return `node ${quote(node)} can only change pods with spec.nodeName set to itself`
  if (target.subresource === 'status') return refusePodStatus(node, old, next)
  const isDeleting = target.subresource === 'eviction' || restriction.verb.startsWith('delete')
  return isDeleting ? undefined : `node ${quote(node)} can only create and delete mirror pods`
}

/** A node reports how large a volume of its pods is, and how far its expansion. */
function refuseClaim(node: string, { target, old, next }: Change): string | undefined {
  const own = ['capacity', 'conditions', 'allocatedResources', 'allocatedResourceStatuses']
  const others = (claim: ApiDocument | undefined) => ({
    ...claim,
    metadata: without(objectAt(claim, 'metadata'), 'resourceVersion', 'managedFields'),
    status: without(objectAt(claim, 'status'), ...own),
  })
  if (target.subresource === 'status' && isDeepStrictEqual(others(old), others(next))) return undefined
  return `node ${quote(node)} is not allowed to update fields other than status.capacity and status.conditions`
}

function refusePodStatus(node: string, old: ApiDocument, next: ApiDocument | undefined): string | undefined {
  const isSame = (...path: readonly string[]) => isDeepStrictEqual(orNone(old, path), orNone(next, path))
  if (next !== undefined && !isDeepStrictEqual(old.metadata.labels ?? {}, next.metadata.labels ?? {}))
    return `node ${quote(node)} cannot update labels through pod status`
  const claims = ['resourceClaimStatuses', 'extendedResourceClaimStatus'].find((field) => !isSame('status', field))
  return claims === undefined ? undefined : `node ${quote(node)} cannot update status.${claims}`
}

async function refuseMirrorPod(
  node: string,
  pod: ApiDocument | undefined,
  { dialect, readNode }: NodeRestriction,
): Promise<string | undefined> {
  if (pod === undefined || !isMirrorPod(pod, dialect))
    return `pod does not have ${quote(dialect.annotations.mirrorPod)} annotation, node ${quote(node)} can only create mirror pods`
  if (textAt(pod, 'spec', 'nodeName') !== node)
    return `node ${quote(node)} can only create pods with spec.nodeName set to itself`
  const referred = referredKind(pod)
  if (referred !== undefined) return `node ${quote(node)} can not create pods that reference ${referred}`
  return refuseOwners(node, listAt(pod, 'metadata', 'ownerReferences'), readNode)
}

/** Refuses owners other than the node: the garbage collector deletes a mirror pod with its Node, and with no other object. */
async function refuseOwners(
  node: string,
  owners: readonly Json[],
  readNode: NodeRestriction['readNode'],
): Promise<string | undefined> {
  const [owner] = owners
  const isOwn =
    textAt(owner, 'apiVersion') === 'v1' && textAt(owner, 'kind') === 'Node' && textAt(owner, 'name') === node
  if (owners.length !== 1 || !isOwn)
    return `node ${quote(node)} can only create pods with a single owner reference set to itself`
  if (valueAt(owner, 'controller') !== true)
    return `node ${quote(node)} can only create pods with a controller owner reference set to itself`
  if (valueAt(owner, 'blockOwnerDeletion') === true)
    return `node ${quote(node)} must not set blockOwnerDeletion on an owner reference`
  const found = await readNode(node)
  if (found === undefined) throw notFound({ group: '', plural: 'nodes', kind: 'Node' }, node)
  const [expected, uid] = [found.metadata.uid ?? '', textAt(owner, 'uid')]
  return uid === expected ? undefined : `node ${node} UID mismatch: expected ${expected} got ${uid}`
}

const dnsPorts: readonly string[] = [dnsPort, dnsMetricsPort].map(String)

/** Refuses every Service but that of the cluster DNS: created anew, reachable in the cluster only, for the pods that represent a node's DNS. */
function refuseService(node: string, { target, name, next }: Change): string | undefined {
  const why = `node ${quote(node)} may create only the Service kube-system/kube-dns`
  if (target.namespace !== 'kube-system' || name !== 'kube-dns') return why
  const spec = objectAt(next, 'spec')
  const opens = ['externalIPs', 'externalName', 'loadBalancerIP', 'loadBalancerClass', 'healthCheckNodePort']
  const isPlain =
    textAt(spec, 'type') === 'ClusterIP' && opens.every((field) => orNone(next, ['spec', field]) === undefined)
  const isForDns = isDeepStrictEqual(spec['selector'], { 'k8s-app': 'kube-dns' })
  const hasDnsPorts = listAt(spec, 'ports').every((port) =>
    ['port', 'targetPort'].every((field) => dnsPorts.includes(textAt(port, field))),
  )
  return isPlain && isForDns && hasDnsPorts
    ? undefined
    : `${why} as it makes it: of type ClusterIP, for k8s-app=kube-dns`
}

function quote(text: string): string {
  return JSON.stringify(text)
}
