import { join } from 'node:path'
import type { ApiClient } from '../client/index.ts'
import type { Component } from '../loop/component.ts'
import type { Dialect } from '../model/dialect.ts'
import { loopbackIpv4 } from '../model/ip.ts'
import { CniRuntime } from '../node/cni/index.ts'
import { CniNetwork, detectCgroups, PodFolders, PodsPlane, ProcessRuntime, StateTraffic } from '../node/pods/index.ts'
import type { AppliedRevisions, LiveNodeState } from '../node/state/index.ts'
import type { AppContext, Options } from './context.ts'
import { findNodeFacts } from './node-facts.ts'
import { findNodeName } from './node-identity.ts'

interface PodsParts {
  readonly context: AppContext
  readonly client: ApiClient
  readonly dialect: Dialect
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
}

/** What runs this node's pods, if it is to. */
export function composePods({ context, client, dialect, state, applied }: PodsParts): readonly Component[] {
  const { app, node, cni, dns } = context.options.values
  if (!app.components.includes('pods')) return []
  const log = context.logging.logger('platform_kubelet').child('pods')
  const nodeName = findNodeName(node.nodeName)
  const [first = loopbackIpv4, ...others] = findNodeFacts(nodeName, node.nodeIp).addresses
  const folders = new PodFolders(podsFolder(context.options.values))
  const cniRuntime = new CniRuntime({
    configDir: cni.cniConfDir,
    binDirs: cni.cniBinDir,
    cacheDir: cni.cniCacheDir,
    log: log.child('cni'),
  })
  const runtime = new ProcessRuntime({
    folders,
    network: new CniNetwork(cniRuntime, log),
    cgroups: detectCgroups(),
    hostIps: [first, ...others],
    log,
  })
  return [
    new PodsPlane({
      client,
      dialect,
      nodeName,
      hostIps: [first, ...others],
      folders,
      runtime,
      traffic: new StateTraffic(state, applied),
      clusterDns: { nameservers: dns.clusterDns, domain: dns.clusterDomain },
      metrics: context.metrics,
      log,
    }),
  ]
}

/** Where this node's pods are written down. */
export function podsFolder({ app, pods }: Options['values']): string {
  return pods.podsDir ?? join(app.dataDir, 'pods')
}
