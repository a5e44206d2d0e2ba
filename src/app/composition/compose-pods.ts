import { join, resolve } from 'node:path'
import type { ApiClient } from '../../client/index.ts'
import { type Capability, NetnsMaker, probeNamespaces, type Run } from '../../host/index.ts'
import type { Component } from '../../loop/component.ts'
import { objectKey } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import { type Cidr, type Ip, loopbackIpv4 } from '../../model/ip.ts'
import {
  answerGateHere,
  type CniGate,
  CniRuntime,
  createNetworkMetrics,
  installShippedNetwork,
  NetworkWatch,
} from '../../node/cni/index.ts'
import {
  CniNetwork,
  chooseRuntime,
  detectCgroups,
  EngineRuntime,
  PodFolders,
  PodsPlane,
  ProcessRuntime,
  StateTraffic,
} from '../../node/pods/index.ts'
import type { NodeNetwork } from '../../node/registration/index.ts'
import { createRoutesMetrics, RoutesPlane } from '../../node/routes/index.ts'
import type { AppliedRevisions, ClusterAddresses, LiveNodeState, SharedInformers } from '../../node/state/index.ts'
import type { Logger } from '../../observe/index.ts'
import type { AppContext, Options } from '../context.ts'
import { offerPackagedPlugins, shippedCniDir } from './cni-plugins.ts'
import { findNodeName } from './node-identity.ts'

/** The part of 1500 bytes that the VXLAN header leaves. */
const vxlanMtu = 1450

export interface PodsParts {
  readonly context: AppContext
  readonly client: ApiClient
  readonly dialect: Dialect
  readonly shared: SharedInformers
  readonly state: LiveNodeState
  readonly applied: AppliedRevisions
  readonly addresses: ClusterAddresses
  readonly gate: CniGate
  readonly run: Run
  readonly nodeAddress: () => Ip | undefined
  /** Receives whether pods can get a network: once when that is known, then at each change. */
  readonly onNetwork: (network: NodeNetwork) => void
}

/** Composes what runs this node's pods and routes to other nodes' pods, as far as the components ask for it. */
export function composePods(parts: PodsParts): readonly Component[] {
  const { app, pods } = parts.context.options.values
  const has = (part: string) => app.components.includes('pods') || app.components.includes(part)
  const network = { installs: has('cni'), leadsToOthers: has('routes') }
  let found: Promise<readonly Capability[]> | undefined
  const probe: Probe = () => {
    found ??= probeNamespaces(parts.run)
    return found
  }
  const isOurs = pods.podNetwork !== 'container-bridge' && (network.installs || network.leadsToOthers)
  return [
    ...(isOurs ? [composeRoutes(parts, network, probe)] : []),
    ...(app.components.includes('pods') ? composePlane(parts, probe) : []),
  ]
}

/** The capabilities of this machine, probed once. */
type Probe = () => Promise<readonly Capability[]>

/** The parts of the pod network that this node maintains: the CNI list with its masquerading, the routes to other nodes' pods. */
interface NetworkParts {
  readonly installs: boolean
  readonly leadsToOthers: boolean
}

function composeRoutes(
  { context, shared, addresses, run }: PodsParts,
  { installs, leadsToOthers }: NetworkParts,
  probe: Probe,
): Component {
  const { app, node, cni, pods } = context.options.values
  const log = context.logging.logger('platform_kubelet').child('routes')
  const mode = pods.podNetwork === 'vxlan' ? 'vxlan' : 'host-gw'
  const installer = async (podCidrs: readonly Cidr[]) => {
    const outcome = await installShippedNetwork({
      templateDir: shippedCniDir,
      configDir: cni.cniConfDir,
      podCidrs,
      controlSocket: resolve(node.controlSocket),
      ipamDir: join(resolve(cni.cniCacheDir), 'networks'),
      ...(mode === 'vxlan' && leadsToOthers ? { mtu: vxlanMtu } : {}),
    })
    log.info('the network list of this node', { folder: cni.cniConfDir, outcome })
    if (outcome === 'written') await offerForOthers(cni.cniBinDir, log)
  }
  return new RoutesPlane({
    nodesOfCluster: shared.nodes,
    nodeName: findNodeName(node.nodeName),
    mode,
    clusterCidrs: node.clusterCidr,
    addresses,
    leadsToOthers,
    isWanted: async () => {
      const mayUseEngine = pods.podNetwork === 'auto' && app.components.includes('pods')
      return !mayUseEngine || (await probe()).every(({ problem }) => problem === undefined)
    },
    ...(installs && { onPodCidrs: installer }),
    metrics: createRoutesMetrics(context.metrics),
    run,
    log,
  })
}

/** Links packaged plugins into the usual folder, where other runtimes that read our list look for them. */
async function offerForOthers(binDirs: readonly string[], log: Logger): Promise<void> {
  try {
    const linked = await offerPackagedPlugins(binDirs)
    if (linked.length > 0) log.info('plugins are linked into the plugin folder', { folder: binDirs[0], linked })
  } catch (error) {
    log.warn('plugins could not be linked into the plugin folder', { folder: binDirs[0], error: describeError(error) })
  }
}

/** Composes the pods plane and the watch of their network. */
function composePlane(parts: PodsParts, probe: Probe): readonly Component[] {
  const { context, client, dialect, shared, state, applied, run, onNetwork, nodeAddress } = parts
  const { node, cni, dns, pods } = context.options.values
  const log = context.logging.logger('platform_kubelet').child('pods')
  const nodeName = findNodeName(node.nodeName)
  const folders = new PodFolders(podsFolder(context.options.values))
  const cniRuntime = composeCniRuntime(parts, log.child('cni'))
  let usesCni = false
  const networks = new NetworkWatch({
    configDir: cni.cniConfDir,
    runtime: cniRuntime,
    isWanted: () => usesCni,
    onChange: onNetwork,
    metrics: createNetworkMetrics(context.metrics),
    log: log.child('cni'),
  })
  const hostIps = () => [nodeAddress() ?? loopbackIpv4] as const
  const network = new CniNetwork(cniRuntime, log)
  const namespaces = new NetnsMaker(run)
  const plane = new PodsPlane({
    client,
    namespaces: shared.namespaces,
    dialect,
    nodeName,
    hostIps,
    folders,
    chooseRuntime: () =>
      chooseRuntime({
        kind: pods.podNetwork,
        engineSocket: pods.engineSocket,
        probe,
        namespaces: () => {
          usesCni = true
          return new ProcessRuntime({
            folders,
            network,
            cgroups: detectCgroups(),
            hostIps,
            view: { shown: pods.podHostFolders ?? [], hidden: secretPaths(context.options.values) },
            namespaces,
            run,
            log,
          })
        },
        engine: (engine) => new EngineRuntime({ engine, folders, hostIps, log }),
        log,
      }),
    traffic: new StateTraffic(state, applied),
    clusterDns: { nameservers: dns.clusterDns, domain: dns.clusterDomain },
    apiService: () => (dialect.accountAccess === undefined ? undefined : findApiService(state)),
    isOn: pods.runPods,
    rootFilesystems: pods.podRootFilesystems,
    metrics: context.metrics,
    log,
  })
  return [namespaces, plane, networks]
}

function composeCniRuntime({ context, gate, run }: PodsParts, log: Logger): CniRuntime {
  const { node, cni } = context.options.values
  const [program, socket] = [join(shippedCniDir, 'platnet-gate'), resolve(node.controlSocket)]
  return new CniRuntime({
    configDir: cni.cniConfDir,
    // The gate of this version comes first, before one that an older version left in another folder.
    binDirs: [shippedCniDir, ...cni.cniBinDir],
    cacheDir: cni.cniCacheDir,
    run: answerGateHere({ gate, program, socket, run }),
    runProgram: run,
    tracer: context.tracer,
    log,
  })
}

/** Returns undefined while the Service does not exist or has no port for HTTPS. */
function findApiService(state: LiveNodeState): { readonly ip: Ip; readonly port: number } | undefined {
  const service = state.service(objectKey('default', 'kubernetes'))
  const [ip, https] = [service?.clusterIps[0], service?.ports.find(({ name }) => name === 'https')]
  return ip === undefined || https === undefined ? undefined : { ip, port: https.port }
}

/** Paths with keys, tokens or sockets, hidden from pods even if an operator shares a folder that contains them. */
function secretPaths(values: Options['values']): readonly string[] {
  const { app, node, api, cni } = values
  const files = [node.kubeconfig, api.tokenAuthFile, api.etcdPasswordFile, api.etcdKeyfile, app.config].filter(
    (path) => path !== undefined,
  )
  const { root, volumesRoot } = new PodFolders(podsFolder(values))
  return [app.dataDir, root, volumesRoot, node.controlSocket, cni.cniCacheDir, ...files].map((path) => resolve(path))
}

/** Returns the folder with the records and logs of this node's pods. */
export function podsFolder({ app, pods }: Options['values']): string {
  return pods.podsDir ?? join(app.dataDir, 'pods')
}
