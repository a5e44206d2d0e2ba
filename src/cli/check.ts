import { checkHost } from '../app/commands/check.ts'
import type { Finding } from '../host/index.ts'
import { exitCodes } from './exit-code.ts'
import { type OutputFormat, outputFlag, printAnswer, withProgress } from './output.ts'
import { type AddCommand, addOptionFlags, loadCommandOptions } from './program.ts'

/** `platnet check` prints what this machine has and lacks; exit code 1 if something is missing, 4 without privilege. */
export const addCheckCommand: AddCommand = (program, context) => {
  const command = program
    .command('check')
    .description('checks whether this machine can run Platnet; changes nothing')
    .addOption(outputFlag())
  addOptionFlags(command, 'run').action(async ({ output }: { output: OutputFormat }) => {
    const options = await loadCommandOptions(command, context, 'run')
    const checked = await withProgress(context, 'checking this machine', checkHost(options))
    printAnswer(context, output, checked, renderFindings)
    if (checked.lacksPrivilege) context.finish(exitCodes.noPrivilege)
    else if (checked.findings.some(({ level }) => level === 'fail')) context.finish(exitCodes.failure)
  })
}

/** Formats a finding a line, with its remedy below it. */
export function renderFindings({ findings }: { readonly findings: readonly Finding[] }): string {
  return findings.map(renderFinding).join('')
}

function renderFinding({ level, what, remedy }: Finding): string {
  const line = `${level.padEnd(4)}  ${what}\n`
  return remedy ? `${line}      to repair it: ${remedy}\n` : line
}
