import type { Argument, Command, Option } from 'commander'

/** A command as help, completion and manual pages show it. */
export interface CommandNode {
  /** Its words behind `platnet`; empty for the program itself. */
  readonly path: readonly string[]
  readonly description: string
  readonly options: readonly OptionNode[]
  readonly arguments: readonly ArgumentNode[]
  readonly children: readonly CommandNode[]
}

export interface OptionNode {
  readonly short: string | undefined
  readonly long: string | undefined
  /** The value in the notation of help, such as `<file>` or `[boolean]`; undefined for a switch. */
  readonly value: string | undefined
  readonly choices: readonly string[]
  readonly description: string
}

interface ArgumentNode {
  readonly name: string
  readonly isRequired: boolean
  readonly description: string
  readonly choices: readonly string[]
}

/** Reads a commander program into plain data. */
export function describeCommand(command: Command, path: readonly string[] = []): CommandNode {
  return {
    path,
    description: command.description(),
    options: command.createHelp().visibleOptions(command).map(describeOption),
    arguments: command.registeredArguments.map(describeArgument),
    children: command.commands.map((child) => describeCommand(child, [...path, child.name()])),
  }
}

/** Lists a command and all below it. */
export function allCommands(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.children.flatMap(allCommands)]
}

/** The option's names: `-o`, `--output`. */
export function optionNames({ short, long }: OptionNode): readonly string[] {
  return [short, long].filter((name) => name !== undefined)
}

/** Tells whether a value is the path of a file or folder. */
export function takesPath({ value }: OptionNode): boolean {
  return value !== undefined && /file|folder|path|socket/.test(value)
}

function describeOption(option: Option): OptionNode {
  const { short, long, flags, argChoices, description } = option
  const value = /[<[].*$/.exec(flags)?.[0]
  return { short, long, value, choices: argChoices ?? [], description }
}

function describeArgument(argument: Argument): ArgumentNode {
  const { required, description, argChoices } = argument
  return { name: argument.name(), isRequired: required, description, choices: argChoices ?? [] }
}
