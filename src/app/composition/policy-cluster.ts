import { z } from 'zod'
import {
  type ApiClient,
  type ApiResource,
  detectDialect,
  listPages,
  type ObjectIdentity,
  orAbsent,
} from '../../client/index.ts'
import { objectKey } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { parseIp } from '../../model/ip.ts'
import type { NetworkPolicy, PolicyCluster, PolicyPod } from '../../model/network-policy.ts'
import { clusterDnsPod, dnsMirror } from '../../node/dns/index.ts'
import { readNamespace, readNetworkPolicy, readPolicyPod, unreadablePolicy } from '../../node/policy/index.ts'
import { formatProblem, type Parsed } from '../../node/state/index.ts'

/** The objects of the API that decide who reaches whom, as they are now. */
export interface ListedCluster extends PolicyCluster {
  readonly dialect: Dialect
  readonly namespaces: readonly string[]
  /** One line for each object, or part of one, that cannot be used. */
  readonly problems: readonly string[]
}

interface Listed<Value> {
  readonly items: readonly unknown[]
  readonly values: readonly Value[]
  readonly problems: readonly string[]
}

/** Lists NetworkPolicies, Pods and Namespaces. Throws ApiError. */
export async function listPolicyCluster(client: ApiClient): Promise<ListedCluster> {
  const dialect = await detectDialect(client)
  const networking = { group: dialect.groups.networking, version: 'v1', resource: 'networkpolicies' }
  const [policies, pods, namespaces] = await Promise.all([
    listEach(client, networking, readNetworkPolicy, unreadablePolicy),
    listEach(client, core('pods'), (json) => readPolicyPod(json, '')),
    listEach(client, core('namespaces'), readNamespace),
  ])
  const dns = pods.items.some((pod) => isDnsMirror(pod, dialect)) ? await findClusterDns(client) : []
  return {
    ...clusterOf(policies.values, [...pods.values, ...dns], namespaces.values),
    dialect,
    namespaces: namespaces.values.map(({ name }) => name),
    problems: [policies, pods, namespaces].flatMap(({ problems }) => problems),
  }
}

function core(resource: string): ApiResource {
  return { group: '', version: 'v1', resource }
}

function clusterOf(
  policies: readonly NetworkPolicy[],
  pods: readonly PolicyPod[],
  namespaces: readonly { readonly name: string; readonly labels: PolicyPod['labels'] }[],
): PolicyCluster {
  const labels = new Map(namespaces.map((namespace) => [namespace.name, namespace.labels]))
  return { policies: () => policies, pods: () => pods, namespaceLabels: (name) => labels.get(name) }
}

async function listEach<Value>(
  client: ApiClient,
  resource: ApiResource,
  read: (json: unknown) => Parsed<Value>,
  standIn: (identity: ObjectIdentity) => Parsed<Value> = () => ({ value: undefined, problems: [] }),
): Promise<Listed<Value>> {
  const { items, leftOut } = await listPages(client, { resource })
  const parsed = items.map(read)
  return {
    items,
    values: [...parsed, ...leftOut.map(({ identity }) => standIn(identity))].flatMap(({ value }) => value ?? []),
    problems: [
      ...parsed.flatMap(({ problems }) => problems.map(formatProblem)),
      ...leftOut.map(
        ({ identity, fault }) => `${resource.resource} ${identity.namespace ?? ''}/${identity.name}: ${fault}`,
      ),
    ],
  }
}

const dnsServiceSchema = z.object({ spec: z.object({ clusterIPs: z.array(z.string()) }) })
const annotatedSchema = z.object({ metadata: z.object({ annotations: z.record(z.string(), z.string()) }) })

/** A Pod that stands for the DNS of a node of ours, which answers the address of the cluster DNS itself. */
function isDnsMirror(pod: unknown, dialect: Dialect): boolean {
  const annotations = annotatedSchema.safeParse(pod).data?.metadata.annotations ?? {}
  return annotations[dialect.annotations.mirrorPod] === dnsMirror
}

/** The address of the cluster DNS counts as the pod that nodes of ours answer for. */
async function findClusterDns(client: ApiClient): Promise<readonly PolicyPod[]> {
  const { namespace, name, labels, ports } = clusterDnsPod()
  const service: unknown = await orAbsent(client.get({ resource: core('services'), namespace, name }))
  const addresses = dnsServiceSchema.safeParse(service).data?.spec.clusterIPs ?? []
  const ips = addresses.flatMap((text) => parseIp(text) ?? [])
  return ips.length === 0 ? [] : [{ key: objectKey(namespace, name), namespace, labels, ips, isLocal: false, ports }]
}
