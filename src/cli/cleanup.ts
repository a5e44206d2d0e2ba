import { createInterface } from 'node:readline/promises'
import { isAgentThere } from '../app/commands/ask-agent.ts'
import { requirePrivilege } from '../app/commands/check.ts'
import { cleanupHost, type HostCleanup, podsOfNode } from '../app/commands/cleanup.ts'
import type { Options } from '../app/context.ts'
import { PlatnetError } from '../model/errors.ts'
import { exitCodes, UsageError } from './exit-code.ts'
import { withProgress } from './output.ts'
import { type AddCommand, addOptionFlags, type CliContext, loadCommandOptions, print } from './program.ts'

class CleanupDeclined extends PlatnetError<'declined'> {}

interface CleanupFlags {
  readonly yes: boolean
  readonly keepPods: boolean
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

/** `platnet cleanup` asks for confirmation on a terminal; elsewhere it requires `--yes`. */
export const addCleanupCommand: AddCommand = (program, context) => {
  const command = program
    .command('cleanup')
    .description(
      'ends the pods of this host and removes every rule, set, address, link and network of Platnet; Services stop working',
    )
    .option('--yes', 'do not ask', false)
    .option('--keep-pods', 'pods go on running, with their networks', false)
  addOptionFlags(command, 'agent', options).action(async ({ yes, keepPods }: CleanupFlags) => {
    const loaded = await loadCommandOptions(command, context, 'agent')
    await requirePrivilege()
    if (!yes) await confirm(context, loaded, keepPods)
    if (await isAgentThere(loaded.values.node.controlSocket))
      context.stderr.write('warning: an agent runs here and makes all of it again; stop Platnet first\n')
    printOutcome(context, await withProgress(context, 'removing', cleanupHost(loaded, { keepPods })))
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
