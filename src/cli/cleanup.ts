import { createInterface } from 'node:readline/promises'
import { cleanupHost } from '../app/commands/cleanup.ts'
import { exitCodes } from './exit-code.ts'
import { type AddCommand, type CliContext, print } from './program.ts'

/** `platnet cleanup` asks for confirmation on a terminal; elsewhere it requires `--yes`. */
export const addCleanupCommand: AddCommand = (program, context) => {
  program
    .command('cleanup')
    .description('removes every rule, set, address and link of Platnet from this host; Services stop working')
    .option('--yes', 'do not ask', false)
    .action(async ({ yes }: { yes: boolean }) => {
      if (!yes && !(await isMeant(context))) return context.finish(exitCodes.usage)
      const { lines, failures } = await cleanupHost()
      for (const line of lines.length > 0 ? lines : ['this host has no rules, sets, addresses or links of Platnet'])
        print(context, `${line}\n`)
      for (const failure of failures) context.stderr.write(`error: ${failure}\n`)
      if (failures.length > 0) context.finish(exitCodes.failure)
    })
}

async function isMeant({ stderr }: CliContext): Promise<boolean> {
  if (!process.stdin.isTTY) {
    stderr.write('error: cleanup cuts the traffic of every Service\n  what to do: run the command with --yes\n')
    return false
  }
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await prompt.question('Remove every rule of Platnet? Services stop working. [y/N] ')
  prompt.close()
  return /^y(es)?$/i.test(answer.trim())
}
