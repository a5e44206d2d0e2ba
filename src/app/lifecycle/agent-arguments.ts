import { flagName, isTakenBy } from '../../config/index.ts'
import { dataPaths } from '../composition/cluster-files.ts'
import type { LiveOptions } from '../live-options.ts'

/**
 * Returns the command line of the agent that `platnet run` starts: every agent option with this process' value, so that a changed
 * file or environment cannot give the agent another one, and the kubeconfig that the server wrote.
 */
export function agentArguments({ resolved, values }: Pick<LiveOptions, 'resolved' | 'values'>): readonly string[] {
  const own = resolved.filter(({ key, spec }) => isTakenBy('agent', spec) && key !== 'kubeconfig' && key !== 'config')
  const flags = own.flatMap(({ spec, shown }) => (shown === undefined ? [] : [`${flagName(spec)}=${String(shown)}`]))
  const kubeconfig = values.node.kubeconfig ?? dataPaths(values.app.dataDir).agentKubeconfig
  return ['agent', `--kubeconfig=${kubeconfig}`, ...flags]
}
