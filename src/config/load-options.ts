import type { z } from 'zod'
import { ConfigError, describeGot } from './config-error.ts'
import type { ConfigFile } from './config-file.ts'
import {
  type CommandName,
  isTakenBy,
  type OptionGroup,
  type OptionGroups,
  type OptionSpec,
  type OptionValues,
} from './declare.ts'
import { suggestName } from './suggest.ts'

export type OptionSource = 'default' | 'file' | 'env' | 'flag'

export interface OptionSources {
  /** The command whose options count: variables of other options are ignored. All options count if absent. */
  readonly command?: CommandName
  readonly file?: ConfigFile
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The flags by option key; undefined where a flag was not given. */
  readonly flags?: Readonly<Record<string, unknown>>
}

/** One effective option, for documents. */
export interface ResolvedOption {
  readonly key: string
  readonly spec: OptionSpec
  readonly source: OptionSource
  /** The value in the form of the file; undefined if not set. */
  readonly shown: unknown
}

export interface LoadedOptions<G extends OptionGroups> {
  readonly values: { readonly [Name in keyof G]: OptionValues<G[Name]> }
  /** The options of the command, in the order of their declaration. */
  readonly resolved: readonly ResolvedOption[]
}

/**
 * Loads the effective options: default < file < variable < flag. Every given value must be valid, also one that a stronger source
 * overrides. Throws one ConfigError with every problem of all sources.
 */
export function loadOptions<G extends OptionGroups>(groups: G, sources: OptionSources): LoadedOptions<G> {
  const problems = sources.file === undefined ? [] : [...sources.file.problems, ...unknownKeys(sources.file, groups)]
  const resolved: ResolvedOption[] = []
  const loadGroup = (group: OptionGroup) =>
    Object.entries(group).map(([key, spec]) => {
      const { value, option } = resolveOption(key, spec, sources, problems)
      if (isTakenBy(sources.command, spec)) resolved.push(option)
      return [key, value]
    })
  const loaded = Object.entries(groups).map(([name, group]) => [name, Object.fromEntries(loadGroup(group))])
  if (problems.length > 0) throw new ConfigError('config-invalid', problems)
  return { values: Object.fromEntries(loaded) as LoadedOptions<G>['values'], resolved }
}

/** A value that was set somewhere; `where` begins the message about it. */
interface Candidate {
  readonly source: OptionSource
  readonly where: string
  readonly input: unknown
}

function resolveOption(
  key: string,
  spec: OptionSpec,
  sources: OptionSources,
  problems: string[],
): { value: unknown; option: ResolvedOption } {
  let value: unknown
  let source: OptionSource = 'default'
  for (const candidate of candidatesOf(key, spec, sources)) {
    const parsed = spec.schema.safeParse(candidate.input)
    if (parsed.success) value = parsed.data
    else problems.push(...parsed.error.issues.map((issue) => describeIssue(issue, candidate, spec)))
    source = candidate.source
  }
  const shown = value === undefined ? undefined : spec.schema.encode(value)
  return { value, option: { key, spec, source, shown } }
}

/** Lists the sources, the weakest first. */
function candidatesOf(key: string, spec: OptionSpec, sources: OptionSources): Candidate[] {
  const candidates: Candidate[] = [
    { source: 'default', where: `the default of ${key}`, input: defaultOf(spec, sources.command) },
  ]
  const entry = spec.notInFile ? undefined : sources.file?.entries.get(key)
  if (entry !== undefined) {
    candidates.push({ source: 'file', where: `${sources.file?.path}:${entry.line}: ${key}`, input: entry.value })
  }
  const text = spec.env === undefined || !isTakenBy(sources.command, spec) ? undefined : sources.env?.[spec.env]
  if (text !== undefined && text !== '')
    candidates.push({ source: 'env', where: `the variable ${spec.env}`, input: text })
  const flag = sources.flags?.[key]
  if (flag !== undefined) candidates.push({ source: 'flag', where: flagName(spec), input: flag })
  return candidates
}

function defaultOf({ default: usual, defaultOf }: OptionSpec, command: CommandName | undefined): unknown {
  return (command === undefined ? undefined : defaultOf?.[command]) ?? usual
}

/** Returns `--cluster-cidr` for `--cluster-cidr <cidr>`. */
export function flagName(spec: OptionSpec): string {
  return spec.flag.split(' ', 1)[0] ?? spec.flag
}

function describeIssue(issue: z.core.$ZodIssue, candidate: Candidate, spec: OptionSpec): string {
  const path = issue.path.map((step) => `[${String(step)}]`).join('')
  const expected = issue.message.replace(/^Invalid \w+: /, '')
  return `${candidate.where}${path}: ${expected}, got ${describeGot(candidate.input, spec.secret === true)}`
}

function unknownKeys(file: ConfigFile, groups: OptionGroups): string[] {
  const specs = new Map(Object.values(groups).flatMap((group) => Object.entries(group)))
  const known = [...specs].filter(([, spec]) => !spec.notInFile).map(([key]) => key)
  return [...file.entries]
    .filter(([key]) => !known.includes(key))
    .map(([key, { line }]) => {
      if (specs.has(key)) return `${file.path}:${line}: ${key}: expected as a flag, it cannot stand in the file`
      const meant = suggestName(key, known)
      const hint = meant === undefined ? `the options are ${known.join(', ')}` : `did you mean ${meant}?`
      return `${file.path}:${line}: ${key}: no such option; ${hint}`
    })
}
