import { stringify } from 'yaml'
import { z } from 'zod'
import { isTakenBy, type OptionGroups, type OptionSpec } from './declare.ts'
import { flagName, type OptionSource, type ResolvedOption } from './load-options.ts'

const redacted = '[redacted]'

/** Builds the body of `/configz`. */
export interface ConfigzDocument {
  readonly kind: 'PlatnetConfig'
  readonly options: Readonly<
    Record<string, { readonly value: unknown; readonly source: OptionSource; readonly reload: OptionSpec['reload'] }>
  >
}

export function configzDocument(resolved: readonly ResolvedOption[]): ConfigzDocument {
  const options = resolved.map((option) => {
    const { source, spec } = option
    return [option.key, { value: shownValue(option) ?? null, source, reload: spec.reload }]
  })
  return { kind: 'PlatnetConfig', options: Object.fromEntries(options) }
}

/** Renders the effective options as a configuration file, with the source of each; secrets and unset options are comments. */
export function configYaml(resolved: readonly ResolvedOption[]): string {
  return resolved.map((option) => `${yamlLine(option)}\n`).join('')
}

/** Renders a Markdown table with a row per option. */
export function optionsTable(groups: OptionGroups): string {
  const rows = allOptions(groups).map(([key, spec]) => [
    code(spec.flag),
    spec.notInFile ? '' : code(key),
    spec.env === undefined ? '' : code(spec.env),
    spec.default === undefined ? '' : code([spec.default].flat().join(',')),
    (['run', 'server', 'agent'] as const).filter((command) => isTakenBy(command, spec)).join(', '),
    spec.reload,
    `${spec.description}.${spec.example === undefined ? '' : ` Example: ${code(spec.example)}.`}`,
  ])
  const head = ['Flag', 'In the file', 'Variable', 'Default', 'Taken by', 'Change holds', 'What it does']
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escapeBars).join(' | ')} |\n`).join('')
}

/** Builds the JSON schema of the file, for editors. */
export function fileSchema(groups: OptionGroups): unknown {
  const inFile = allOptions(groups).filter(([, spec]) => !spec.notInFile)
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(inFile.map(([key, spec]) => [key, optionSchema(spec)])),
  }
}

/** Renders the part of the help after the description: default, variable, example. */
export function optionHelp(spec: OptionSpec): string {
  const facts = [
    spec.default === undefined ? undefined : `default ${[spec.default].flat().join(',')}`,
    spec.env === undefined ? undefined : `variable ${spec.env}`,
    spec.example === undefined ? undefined : `example ${spec.example}`,
  ]
  const known = facts.filter((fact) => fact !== undefined)
  return known.length === 0 ? spec.description : `${spec.description} (${known.join('; ')})`
}

function allOptions(groups: OptionGroups): [key: string, spec: OptionSpec][] {
  return Object.values(groups).flatMap((group) => Object.entries(group))
}

function optionSchema({ schema, description, default: fallback, example }: OptionSpec): unknown {
  const { $schema: _outer, ...shape } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const withDefault = fallback === undefined ? {} : { default: fallback }
  return { ...shape, description, ...withDefault, ...(example === undefined ? {} : { examples: [example] }) }
}

function shownValue({ spec, shown }: ResolvedOption): unknown {
  return spec.secret && shown !== undefined ? redacted : shown
}

function yamlLine(option: ResolvedOption): string {
  const { key, spec, source, shown } = option
  if (shown === undefined) return `# ${key} is not set`
  const line = stringify({ [key]: shownValue(option) }, { collectionStyle: 'flow', lineWidth: 0 }).trim()
  const inside = line.replace(/^\{ (.*) \}$/s, '$1')
  return `${spec.secret || spec.notInFile ? '# ' : ''}${inside} # ${describeSource(source, spec)}`
}

function describeSource(source: OptionSource, spec: OptionSpec): string {
  if (source === 'env') return `variable ${spec.env}`
  return source === 'flag' ? flagName(spec) : source
}

function escapeBars(cell: string): string {
  return cell.replaceAll('|', '\\|')
}

function code(text: string): string {
  return `\`${text}\``
}
