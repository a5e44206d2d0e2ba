import type { z } from 'zod'

/** The long-running commands; each takes a subset of the options. */
export type CommandName = 'run' | 'server' | 'agent'

/**
 * Declares one option. Its key in the group is also its key in the file and, in kebab-case, its flag.
 */
export interface OptionSpec<S extends z.ZodType = z.ZodType> {
  /** Parses a value of the file and the text of a flag or variable; messages begin with "expected". */
  readonly schema: S
  /** The flag in commander's notation: `--cluster-cidr <cidr>`. */
  readonly flag: string
  readonly env?: string
  /** The default in a user's notation. Without a default the schema must accept undefined. */
  readonly default?: z.input<S>
  /** Commands whose default differs from `default`. */
  readonly defaultOf?: Readonly<Partial<Record<CommandName, z.input<S>>>>
  /** Whether a change holds at once or at the next start. */
  readonly reload: 'live' | 'restart'
  /** True if no document or message may show the value. */
  readonly secret?: true
  readonly notInFile?: true
  readonly description: string
  readonly example?: string
  /** All of them when absent. */
  readonly commands?: readonly CommandName[]
}

export type OptionGroup = Readonly<Record<string, OptionSpec>>

/** Groups by their owner's name. */
export type OptionGroups = Readonly<Record<string, OptionGroup>>

/** The parsed values of a group, by option. */
export type OptionValues<G extends OptionGroup> = { readonly [K in keyof G]: z.output<G[K]['schema']> }

/** Declares the options of one owner; the types of defaults and values follow from the schemas. */
export function declareOptions<S extends Record<string, z.ZodType>>(
  group: {
    readonly [K in keyof S]: OptionSpec<S[K]>
  },
): { readonly [K in keyof S]: OptionSpec<S[K]> } {
  return group
}

/** Tells whether a command takes an option; without a command every option counts. */
export function isTakenBy(command: CommandName | undefined, spec: OptionSpec): boolean {
  return command === undefined || spec.commands === undefined || spec.commands.includes(command)
}
