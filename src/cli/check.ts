import { checkHost } from '../app/commands/check.ts'
import type { Finding } from '../host/index.ts'
import { exitCodes } from './exit-code.ts'
import { type AddCommand, addOptionFlags, loadCommandOptions, print } from './program.ts'

/** `platnet check` prints what this machine has and lacks; exit code 1 if something is missing, 4 without privilege. */
export const addCheckCommand: AddCommand = (program, context) => {
  const command = program.command('check').description('checks whether this machine can run Platnet; changes nothing')
  addOptionFlags(command, 'run').action(async () => {
    const { findings, lacksPrivilege } = await checkHost(await loadCommandOptions(command, context, 'run'))
    for (const finding of findings) print(context, printFinding(finding))
    if (lacksPrivilege) context.finish(exitCodes.noPrivilege)
    else if (findings.some(({ level }) => level === 'fail')) context.finish(exitCodes.failure)
  })
}

export function printFinding({ level, what, remedy }: Finding): string {
  const line = `${level.padEnd(4)}  ${what}\n`
  return remedy ? `${line}      to repair it: ${remedy}\n` : line
}
