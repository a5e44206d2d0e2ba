import { createInterface } from 'node:readline/promises'
import { isAgentThere } from '../app/commands/ask-agent.ts'
import { requirePrivilege } from '../app/commands/check.ts'
import { cleanupHost, type HostCleanup, podsOfNode } from '../app/commands/cleanup.ts'
import type { Options } from '../app/context.ts'
import { exitCodes } from './exit-code.ts'
import { type AddCommand, addOptionFlags, type CliContext, loadCommandOptions, print } from './program.ts'

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
    if (!yes && !(await isMeant(context, loaded, keepPods))) return context.finish(exitCodes.usage)
    if (await isAgentThere(loaded.values.node.controlSocket))
      context.stderr.write('warning: an agent runs here and makes all of it again; stop Platnet first\n')
    printOutcome(context, await cleanupHost(loaded, { keepPods }))
  })
}

function printOutcome(context: CliContext, { lines, left, failures }: HostCleanup): void {
  const found = lines.length > 0 ? lines : ['this host has no rules, sets, addresses or links of Platnet']
  for (const line of [...found, ...left.map((each) => `left: ${each}`)]) print(context, `${line}\n`)
  for (const failure of failures) context.stderr.write(`error: ${failure}\n`)
  if (failures.length > 0) context.finish(exitCodes.failure)
}

async function isMeant({ stderr }: CliContext, loaded: Options, keepPods: boolean): Promise<boolean> {
  const pods = keepPods ? [] : podsOfNode(loaded)
  const consequences = `cleanup cuts the traffic of every Service${pods.length > 0 ? ` and ends ${pods.length} pods` : ''}`
  if (!process.stdin.isTTY) {
    stderr.write(`error: ${consequences}\n  what to do: run the command with --yes, or with --keep-pods --yes\n`)
    return false
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await prompt.question(`${consequences}. Go on? [y/N] `)
  prompt.close()
  return /^y(es)?$/i.test(answer.trim())
}
