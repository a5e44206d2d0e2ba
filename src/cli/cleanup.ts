import { createInterface } from 'node:readline/promises'
import { requirePrivilege } from '../app/commands/check.ts'
import { cleanupHost, findRunningAgent, type HostCleanup, podsOfNode } from '../app/commands/cleanup.ts'
import type { Options } from '../app/context.ts'
import { PlatnetError } from '../model/errors.ts'
import { exitCodes, UsageError } from './exit-code.ts'
import { withProgress } from './output.ts'
import { type AddCommand, addOptionFlags, type CliContext, loadCommandOptions, print } from './program.ts'

class CleanupDeclined extends PlatnetError<'declined' | 'agent-runs'> {}

interface CleanupFlags {
  readonly yes: boolean
  readonly keepPods: boolean
  readonly force: boolean
}

const options = [
  'config',
  'dataDir',
  'podsDir',
  'clusterDns',
  'cniConfDir',
  'cniBinDir',
  'cniCacheDir',
  'controlSocket',
]

/** `platnet cleanup` refuses beside a running agent. It asks for confirmation on a terminal; elsewhere it requires `--yes`. */
export const addCleanupCommand: AddCommand = (program, context) => {
  const command = program
    .command('cleanup')
    .description(
      'ends the pods of this host and removes every rule, set, address, link and network of Platnet; Services stop working',
    )
    .option('--yes', 'do not ask', false)
    .option('--keep-pods', 'pods go on running, with their networks', false)
    .option('--force', 'do it although an agent runs here, which makes all of it again', false)
  addOptionFlags(command, 'agent', options).action(async ({ yes, keepPods, force }: CleanupFlags) => {
    const loaded = await loadCommandOptions(command, context, 'agent')
    await requirePrivilege()
    const warning = await judgeAgent(loaded.values.node.controlSocket, force)
    if (!yes) await confirm(context, loaded, keepPods)
    if (warning !== undefined) context.stderr.write(`warning: ${warning}\n`)
    printOutcome(context, await withProgress(context, 'removing', cleanupHost(loaded, { keepPods })))
  })
}

/** Returns a warning where cleanup may go on beside an agent. Throws CleanupDeclined where it may not. */
async function judgeAgent(controlSocket: string, force: boolean): Promise<string | undefined> {
  const agent = await findRunningAgent(controlSocket)
  if (agent === undefined) return undefined
  if (!agent.isOfThisNetwork)
    return `the agent on ${controlSocket} belongs to another network namespace, and its rules stay`
  const name = agent.pid === undefined ? 'an agent' : `the agent with pid ${agent.pid}`
  if (force) return `${name} runs here and makes all of it again`
  throw new CleanupDeclined('agent-runs', `${name} runs here and would make all of it again; nothing was removed`, {
    object: `control socket ${controlSocket}`,
    remedy:
      'stop Platnet first (Ctrl-C, or systemctl stop platnet), then run cleanup again; --force removes all the same',
  })
}

function printOutcome(context: CliContext, { lines, left, failures }: HostCleanup): void {
  const found = lines.length > 0 ? lines : ['this host has no rules, sets, addresses or links of Platnet']
  for (const line of [...found, ...left.map((each) => `left: ${each}`)]) print(context, `${line}\n`)
  for (const failure of failures) context.stderr.write(`error: ${failure}\n`)
  if (failures.length > 0) context.finish(exitCodes.failure)
}

/** Asks on the terminal. Throws UsageError where there is no terminal, and CleanupDeclined for any answer but yes. */
async function confirm({ stderr }: CliContext, loaded: Options, keepPods: boolean): Promise<void> {
  const pods = keepPods ? 0 : podsOfNode(loaded).length
  const consequences = `cleanup cuts the traffic of every Service${pods > 0 ? ` and ends ${pods === 1 ? 'a pod' : `${pods} pods`}` : ''}`
  if (!process.stdin.isTTY)
    throw new UsageError('bad-question', consequences, {
      remedy: 'run the command with --yes, or with --keep-pods --yes',
    })
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  // Ctrl-C and Ctrl-D reject the question.
  const answer = await prompt.question(`${consequences}. Go on? [y/N] `).catch(() => '\n')
  prompt.close()
  if (/^y(es)?$/i.test(answer.trim())) return
  if (answer === '\n') stderr.write('\n')
  throw new CleanupDeclined('declined', 'nothing was removed')
}
