import { flagName, isTakenBy } from '../../config/index.ts'
import { dataPaths } from '../composition/cluster-files.ts'
import type { Options } from '../context.ts'

/**
 * The command line of the agent that `platnet run` starts: every option of an agent as this process has it, so that file
 * and environment cannot be read differently a second time, and the kubeconfig that the server wrote.
 */
export function agentArguments({ resolved, values }: Options): readonly string[] {
  const own = resolved.filter(({ key, spec }) => isTakenBy('agent', spec) && key !== 'kubeconfig' && key !== 'config')
  const flags = own.flatMap(({ spec, shown }) => (shown === undefined ? [] : [`${flagName(spec)}=${String(shown)}`]))
  const kubeconfig = values.node.kubeconfig ?? dataPaths(values.app.dataDir).agentKubeconfig
  return ['agent', `--kubeconfig=${kubeconfig}`, ...flags]
}
