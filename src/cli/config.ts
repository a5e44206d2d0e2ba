import type { Command } from 'commander'
import { refuseConflicts } from '../app/option-conflicts.ts'
import { optionGroups } from '../app/option-groups.ts'
import { configYaml, configzDocument, fileSchema, loadOptions, readConfigFile } from '../config/index.ts'
import { type OutputFormat, outputFlag, printAnswer } from './output.ts'
import { addOptionFlags, type CliContext, loadCommandOptions } from './program.ts'

/** `platnet config print|validate|schema`. */
export function addConfigCommand(program: Command, context: CliContext): void {
  const config = program.command('config').description('shows and checks options')
  addPrintCommand(config, context)
  config
    .command('validate')
    .description('checks a configuration file')
    .argument('<file>')
    .action(async (path: string) => {
      refuseConflicts(loadOptions(optionGroups, { file: await readConfigFile(path) }))
      context.stdout.write(`${path}: ok\n`)
    })
  config
    .command('schema')
    .description('prints the JSON schema of the configuration file')
    .action(() => {
      context.stdout.write(`${JSON.stringify(fileSchema(optionGroups), undefined, 2)}\n`)
    })
}

function addPrintCommand(config: Command, context: CliContext): void {
  const print = config
    .command('print')
    .description('prints the effective options, each with its source, as a configuration file')
    .addOption(outputFlag())
    .action(async ({ output }: { output: OutputFormat }) => {
      const { resolved } = await loadCommandOptions(print, context)
      printAnswer(context, output, configzDocument(resolved), () => configYaml(resolved))
    })
  addOptionFlags(print)
}
