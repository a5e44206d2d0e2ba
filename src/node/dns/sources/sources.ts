import { z } from 'zod'
import { type ApiClient, Informer, type InformerHandler, type WireObject } from '../../../client/index.ts'
import type { Component } from '../../../loop/component.ts'
import type { Dialect } from '../../../model/dialect.ts'
import { type Cidr, hostCidr, type Ip, parseCidr } from '../../../model/ip.ts'
import { parseWorkloadIp, specialKindIn } from '../../../model/special-addresses.ts'
import type { Logger } from '../../../observe/index.ts'
import type { SharedInformers } from '../../state/index.ts'
import { KubeDnsObjects } from '../kube-dns/kube-dns-objects.ts'
import type { DnsPlane } from '../plane/plane.ts'
import { configMapHandler } from './config-map-handler.ts'
import { createPodSource, createServiceLabelSource, labelsOf } from './on-demand-sources.ts'

export interface DnsSourceParts {
  readonly client: ApiClient
  readonly shared: SharedInformers
  readonly dialect: Dialect
  readonly plane: Pick<DnsPlane, 'feed' | 'changeNodes' | 'changeConfigMap' | 'servesNodeAddress'>
  readonly nodeName: string
  /** Returns the address at which other nodes reach this one as it is now. */
  readonly nodeAddress: () => Ip | undefined
  readonly clusterDns: readonly Ip[]
  /** This agent registers the node, so it makes the Service kube-dns and its Pod. Beside a kubelet it makes nothing. */
  readonly makesObjects: boolean
  readonly log: Logger
}

const nodeSchema = z.object({
  spec: z.object({ podCIDRs: z.array(z.string()).optional() }).optional(),
  status: z.object({ addresses: z.array(z.object({ address: z.string() })).optional() }).optional(),
})

/**
 * Creates the components that watch what DNS needs beside the state of the node: namespaces, nodes, the ConfigMap with the Corefile, and Pods
 * and labels of Services while a zone needs them.
 */
export function createDnsSources(parts: DnsSourceParts): readonly Component[] {
  const { client, shared, plane, log } = parts
  const configMaps = { resource: { group: '', version: 'v1', resource: 'configmaps' }, namespace: 'kube-system' }
  return [
    shared.namespaces.follow(namespaceHandler(plane)),
    shared.nodes.follow(nodeHandler(plane)),
    new Informer({
      client,
      collection: configMaps,
      fieldSelector: 'metadata.name=coredns',
      handler: configMapHandler(plane, log),
      log,
    }),
    createPodSource(parts),
    createServiceLabelSource(parts),
    ...createKubeDnsObjects(parts),
  ]
}

function createKubeDnsObjects(parts: DnsSourceParts): readonly Component[] {
  const { plane, nodeName, nodeAddress } = parts
  if (!parts.makesObjects) return []
  const facts = {
    nodeName,
    get address() {
      return nodeAddress()
    },
  }
  return [new KubeDnsObjects({ ...parts, facts, serves: () => plane.servesNodeAddress })]
}

function namespaceHandler({ feed }: DnsSourceParts['plane']): InformerHandler {
  return {
    onReplace: (items) => feed.replaceNamespaces(new Map(items.map((item) => [item.metadata.name, labelsOf(item)]))),
    onEvent: (type, item) => feed.setNamespace(item.metadata.name, type === 'DELETED' ? undefined : labelsOf(item)),
    onProgress: () => {},
  }
}

function nodeHandler(plane: DnsSourceParts['plane']): InformerHandler {
  const networks = new Map<string, readonly Cidr[]>()
  const report = () => plane.changeNodes([...networks.values()].flat())
  return {
    onReplace: (items) => {
      networks.clear()
      for (const item of items) networks.set(item.metadata.name, networksOf(item))
      report()
    },
    onEvent: (type, item) => {
      const before = JSON.stringify(networks.get(item.metadata.name))
      if (type === 'DELETED') networks.delete(item.metadata.name)
      else networks.set(item.metadata.name, networksOf(item))
      if (JSON.stringify(networks.get(item.metadata.name)) !== before) report()
    },
    onProgress: () => {},
  }
}

/** Returns the networks of a Node whose queries are answered. Invalid ones are left out: `0.0.0.0/0` of one Node would open DNS to every source. */
export function networksOf(item: WireObject): readonly Cidr[] {
  const parsed = nodeSchema.safeParse(item)
  if (!parsed.success) return []
  const { spec, status } = parsed.data
  const addresses = (status?.addresses ?? []).map(({ address }) => parseWorkloadIp(address))
  const pods = (spec?.podCIDRs ?? []).map(parseCidr).filter((cidr) => cidr !== undefined)
  return [
    ...addresses.filter((ip) => ip !== undefined).map(hostCidr),
    ...pods.filter((cidr) => specialKindIn(cidr) === undefined),
  ]
}
