import { InvalidArgumentError } from 'commander'
import { readPodLogs } from '../app/commands/pod-logs.ts'
import { isDnsSubdomain } from '../model/selector.ts'
import { UsageError } from './exit-code.ts'
import { type AddCommand, addOptionFlags, loadCommandOptions } from './program.ts'

interface LogFlags {
  readonly namespace: string
  readonly container?: string
  readonly previous: boolean
  readonly follow: boolean
  readonly tail?: number
}

/** `platnet logs POD` prints from this node's files, also while no agent runs. */
export const addLogsCommand: AddCommand = (program, context) => {
  const command = program
    .command('logs')
    .description('prints what a container of a pod of this node wrote')
    .argument('<pod>', 'the name of the pod, or NAMESPACE/NAME')
    .option('-n, --namespace <namespace>', 'where the pod is', 'default')
    .option('-c, --container <name>', 'which container, where the pod has several')
    .option('-f, --follow', 'go on until the container ends', false)
    .option('--tail <lines>', 'of what is there already only so many lines at the end', parseLines)
    .option('-p, --previous', 'the run before the last one', false)
  addOptionFlags(command, 'agent', ['config', 'dataDir', 'podsDir']).action(async (pod: string, flags: LogFlags) => {
    const { values } = await loadCommandOptions(command, context, 'agent')
    const { container, previous, follow, tail } = flags
    const { namespace, name } = parsePodName(pod, flags.namespace)
    const log = readPodLogs(values, { namespace, pod: name, container, previous }, { follow, tail })
    for await (const text of log) context.stdout.write(text)
  })
}

/** Splits NAMESPACE/NAME; a name alone is in the namespace of the flag. `pod/NAME`, which kubectl prints, is a name alone. */
function parsePodName(text: string, namespace: string): { readonly namespace: string; readonly name: string } {
  const [first = '', second, ...rest] = text.split('/')
  const pod =
    second === undefined
      ? { namespace, name: first }
      : /^pods?$/.test(first)
        ? { namespace, name: second }
        : { namespace: first, name: second }
  if (rest.length > 0 || !isDnsSubdomain(pod.namespace) || !isDnsSubdomain(pod.name))
    throw new UsageError('bad-question', `expected the name of a pod, or NAMESPACE/NAME, got ${JSON.stringify(text)}`)
  return pod
}

function parseLines(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('expected a number of lines')
  return Number(text)
}
