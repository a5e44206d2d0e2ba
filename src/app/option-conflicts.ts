import { type CommandName, ConfigError } from '../config/index.ts'
import { cidrsOverlap } from '../model/ip.ts'
import { missingOption } from '../node/proxy/options.ts'
import type { Options } from './context.ts'

/** Refuses options that are valid one by one but cannot hold together. Throws one ConfigError with every problem. */
export function refuseConflicts(options: Options, command?: CommandName): void {
  const { proxy } = options.values
  const lacking = missingOption(proxy)
  const problems = [
    ...(lacking === undefined ? [] : [`--detect-local-mode ${proxy.detectLocalMode} needs ${lacking}`]),
    ...(hasBothNetworks(options, command) ? findOverlaps(options) : []),
  ]
  if (problems.length > 0) throw new ConfigError('config-invalid', problems)
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
