import { Command, Option } from 'commander'
import type { Options } from '../app/context.ts'
import { refuseConflicts } from '../app/option-conflicts.ts'
import { optionGroups } from '../app/option-groups.ts'
import {
  type CommandName,
  isTakenBy,
  loadOptions,
  type OptionGroup,
  optionHelp,
  readConfigFile,
} from '../config/index.ts'
import { visibleLines } from '../model/visible-text.ts'
import { readBuildInfo, versionText } from '../observe/index.ts'
import type { ExitCode } from './exit-code.ts'
import { helpFormat } from './help-format.ts'

export interface CliContext {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Data. */
  readonly stdout: {
    write(text: string): unknown
    readonly columns?: number
    readonly rows?: number
    readonly isTTY?: boolean
  }
  /** Messages. */
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean }
  /** For a command that did its work and ends with another code than 0; failures are thrown. */
  readonly finish: (code: ExitCode) => void
}

/** Writes text with control characters escaped, because it may come from the API or the network and contain terminal sequences. */
export function print({ stdout }: Pick<CliContext, 'stdout'>, lines: string): void {
  stdout.write(visibleLines(lines))
}

/** Adds a subcommand to the program; each subcommand's file exports one function of this type. */
export type AddCommand = (program: Command, context: CliContext) => void

/** Creates the program. It throws CommanderError where commander would end the process. */
export function buildProgram(context: CliContext, commands: readonly AddCommand[]): Command {
  const build = readBuildInfo()
  const program = new Command('platnet')
    .description(build.description)
    .version(versionText(build))
    .option('--debug', 'show the stack of an error')
    .showHelpAfterError('(--help lists the options)')
    .configureHelp(helpFormat)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      getOutHelpWidth: () => helpWidth(context),
      getErrHelpWidth: () => helpWidth(context),
    })
  for (const add of commands) add(program, context)
  return program
}

/** Returns the width of the terminal, or of COLUMNS where the output is no terminal; 80 if neither is known. */
function helpWidth({ stdout, env }: CliContext): number {
  const columns = stdout.columns ?? Number(env['COLUMNS'])
  return columns >= 20 ? columns : 80
}

/**
 * Adds the flags of the options that the named command takes, or of all options. With `used` the help shows those alone; the others are accepted,
 * so that one list of flags serves all commands.
 */
export function addOptionFlags(command: Command, name?: CommandName, used?: readonly string[]): Command {
  for (const [key, spec] of Object.values<OptionGroup>(optionGroups).flatMap((group) => Object.entries(group))) {
    const option = new Option(spec.flag, optionHelp(spec)).hideHelp(used?.includes(key) === false)
    if (isTakenBy(name, spec)) command.addOption(option)
  }
  return command
}

/** Loads the effective options of a command whose flags came from `addOptionFlags`. Throws ConfigError, also for options that exclude each other. */
export async function loadCommandOptions(command: Command, context: CliContext, name?: CommandName): Promise<Options> {
  const flags: Readonly<Record<string, unknown>> = command.opts()
  const path = flags['config']
  const file = typeof path === 'string' ? { file: await readConfigFile(path) } : {}
  const options = loadOptions(optionGroups, { env: context.env, flags, ...file, ...(name && { command: name }) })
  refuseConflicts(options, name)
  return options
}
