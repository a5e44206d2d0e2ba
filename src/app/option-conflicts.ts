import { type CommandName, ConfigError } from '../config/index.ts'
import type { Listener } from '../host/index.ts'
import { cidrsOverlap } from '../model/ip.ts'
import { missingOption } from '../node/proxy/options.ts'
import type { Options } from './context.ts'
import { consoleListenersOf, listenersOf } from './listeners.ts'

/** Refuses options that are valid one by one but cannot hold together. Throws one ConfigError with every problem. */
export function refuseConflicts(options: Options, command?: CommandName): void {
  const { proxy } = options.values
  const lacking = missingOption(proxy)
  const problems = [
    ...(lacking === undefined ? [] : [`--detect-local-mode ${proxy.detectLocalMode} needs ${lacking}`]),
    ...findStoreConflicts(options),
    ...findKubeletConflicts(options),
    ...(hasBothNetworks(options, command) ? findOverlaps(options) : []),
    ...(command === 'run' ? findSharedPorts([...listenersOf(options), ...consoleListenersOf(options)]) : []),
  ]
  if (problems.length > 0) throw new ConfigError('config-invalid', problems)
}

function findStoreConflicts({ values: { api } }: Options): readonly string[] {
  const { store, etcdServers, etcdCertfile, etcdKeyfile, etcdUsername, etcdPasswordFile } = api
  return [
    ...(store === 'etcd' && etcdServers === undefined ? ['--store etcd needs --etcd-servers'] : []),
    ...((etcdCertfile === undefined) === (etcdKeyfile === undefined)
      ? []
      : ['--etcd-certfile and --etcd-keyfile need each other']),
    ...((etcdUsername === undefined) === (etcdPasswordFile === undefined)
      ? []
      : ['--etcd-username and --etcd-password-file need each other']),
    ...(etcdUsername === undefined
      ? []
      : (etcdServers ?? [])
          .filter((url) => !isPrivate(new URL(url)))
          .map((url) => `--etcd-password-file is not sent to ${url}: expected https`)),
  ]
}

function findKubeletConflicts({ values: { api } }: Options): readonly string[] {
  const { kubeletClientCertificate: certificate, kubeletClientKey: key } = api
  if ((certificate === undefined) === (key === undefined)) return []
  return ['--kubelet-client-certificate and --kubelet-client-key need each other']
}

/** Tells whether what is sent there is encrypted, or does not leave this machine. */
function isPrivate({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || /^(127\.[0-9.]+|\[::1\]|localhost)$/.test(hostname)
}

/** A default counts with a server only: without one nothing is known about the networks of the cluster. */
function hasBothNetworks({ resolved }: Options, command: CommandName | undefined): boolean {
  if (command === 'agent') return false
  const networks = resolved.filter(({ key }) => key === 'serviceClusterIpRange' || key === 'clusterCidr')
  return command !== undefined || networks.every(({ source }) => source !== 'default')
}

function findOverlaps({ values: { api, node } }: Options): readonly string[] {
  return api.serviceClusterIpRange.flatMap((services) =>
    node.clusterCidr
      .filter((pods) => cidrsOverlap(services, pods))
      .map(
        (pods) => `--service-cluster-ip-range ${services} and --cluster-cidr ${pods} overlap: expected two networks`,
      ),
  )
}

/** Finds ports that two parts of `platnet run` would open: the second would find the first there, and its process would end again and again. */
function findSharedPorts(listeners: readonly Listener[]): readonly string[] {
  return listeners.flatMap((one, index) =>
    listeners
      .slice(index + 1)
      .filter((other) => one.option !== other.option && isSamePlace(one, other))
      .map(
        ({ option }) => `${one.option} and ${option} both name ${one.protocol} port ${one.port}: expected two ports`,
      ),
  )
}

function isSamePlace(one: Listener, other: Listener): boolean {
  const isEverywhere = ({ address }: Listener) => address === '0.0.0.0' || address === '::'
  const isSharedAddress = one.address === other.address || isEverywhere(one) || isEverywhere(other)
  return one.protocol === other.protocol && one.port === other.port && isSharedAddress
}
