// Manual pages in roff (man(7)), from the same commands and options that help shows.
import { allCommands, type CommandNode, type OptionNode, optionNames } from '../../src/cli/command-tree.ts'
import type { OptionGroup } from '../../src/config/index.ts'

export interface ManPage {
  /** `platnet-run.1`. */
  readonly file: string
  readonly text: string
}

export interface ManEdition {
  readonly version: string
  /** `2026-11-24`. */
  readonly date: string
}

/** Renders platnet(1), one page for each command, and platnet-config(5). */
export function manPages(
  root: CommandNode,
  groups: Readonly<Record<string, OptionGroup>>,
  edition: ManEdition,
): readonly ManPage[] {
  const commands = allCommands(root)
  return [
    ...commands.map((node) => ({ file: `${pageName(node)}.1`, text: commandPage(node, edition) })),
    { file: 'platnet-config.5', text: configPage(groups, edition) },
  ]
}

function pageName({ path }: CommandNode): string {
  return ['platnet', ...path].join('-')
}

function commandPage(node: CommandNode, edition: ManEdition): string {
  const name = pageName(node)
  return page(name, 1, edition, [
    ['NAME', `${roff(name)} \\- ${roff(node.description)}`],
    ['SYNOPSIS', synopsis(node)],
    ['COMMANDS', node.children.map((child) => tagged(bold(pageName(child)), child.description)).join('\n')],
    ['ARGUMENTS', node.arguments.map((each) => tagged(italic(each.name), each.description)).join('\n')],
    ['OPTIONS', node.options.map((option) => tagged(optionTag(option), choicesAfter(option))).join('\n')],
    ['EXIT STATUS', exitStatus],
    ...(node.path.length === 0
      ? ([
          ['FILES', files],
          ['ENVIRONMENT', environment],
        ] as const)
      : []),
    ['SEE ALSO', seeAlso(node)],
  ])
}

function synopsis(node: CommandNode): string {
  const words = node.arguments.map(({ name, isRequired }) => (isRequired ? italic(name) : `[${italic(name)}]`))
  const rest = node.children.length > 0 ? [italic('command')] : words
  return [bold(['platnet', ...node.path].join(' ')), '[options]', ...rest].join(' ')
}

function optionTag(option: OptionNode): string {
  const names = optionNames(option).map(bold).join(', ')
  return option.value === undefined ? names : `${names} ${italic(option.value)}`
}

function choicesAfter({ description, choices }: OptionNode): string {
  return choices.length === 0 ? description : `${description} (${choices.join(', ')})`
}

const exitStatus = [
  ['0', 'success'],
  ['1', 'failure'],
  ['2', 'usage: a bad option, file or question'],
  ['3', 'unhealthy, or a difference between wanted and actual rules'],
  ['4', 'no privilege'],
]
  .map(([code = '', meaning = '']) => tagged(bold(code), meaning))
  .join('\n')

const files = [
  ['/etc/platnet/config.yaml', 'options of the services, see platnet-config(5)'],
  ['/etc/default/platnet', 'flags and variables of the services'],
  ['/var/lib/platnet', 'store, keys, certificates, pods'],
  ['/run/platnet/agent.sock', 'the control socket of the running agent'],
]
  .map(([path = '', meaning = '']) => tagged(italic(path), meaning))
  .join('\n')

const environment = [
  ['RUST_LOG', 'the log filter, as that of --log-level'],
  [
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'the collector of traces; the other variables of OpenTelemetry hold where this one is set',
  ],
  ['NODEAGENT_PORT', 'the HTTPS port of the agent, as that of --port'],
  ['NO_COLOR', 'no colours'],
]
  .map(([name = '', meaning = '']) => tagged(bold(name), meaning))
  .join('\n')

function seeAlso(node: CommandNode): string {
  const parent = node.path.length === 0 ? [] : [pageName({ ...node, path: node.path.slice(0, -1) })]
  const pages = [...parent, ...node.children.map(pageName)].map((name) => `${bold(name)}(1)`)
  return [...pages, `${bold('platnet-config')}(5)`].join(', ')
}

function configPage(groups: Readonly<Record<string, OptionGroup>>, edition: ManEdition): string {
  const options = Object.values(groups)
    .flatMap((group) => Object.entries(group))
    .filter(([, spec]) => spec.notInFile !== true)
  const intro = [
    'The file of \\fB\\-\\-config\\fR is one YAML mapping of option names to values. A variable overrides the file,',
    'a flag overrides both. \\fBplatnet config validate\\fR checks a file, \\fBplatnet config print\\fR shows what holds.',
  ]
  return page('platnet-config', 5, edition, [
    ['NAME', 'platnet-config \\- the configuration file of platnet'],
    ['DESCRIPTION', intro.join('\n')],
    ['OPTIONS', options.map(([key, spec]) => tagged(bold(key), configText(spec))).join('\n')],
    ['SEE ALSO', `${bold('platnet')}(1)`],
  ])
}

function configText(spec: OptionGroup[string]): string {
  const facts = [
    `Flag ${spec.flag}`,
    ...(spec.env === undefined ? [] : [`variable ${spec.env}`]),
    ...(spec.default === undefined ? [] : [`default ${[spec.default].flat().join(',')}`]),
    ...(spec.example === undefined ? [] : [`example ${spec.example}`]),
    spec.reload === 'live' ? 'a change holds after a reload' : 'a change needs a restart',
  ]
  return `${spec.description}. ${facts.join('; ')}.`
}

function page(
  name: string,
  section: number,
  { version, date }: ManEdition,
  sections: readonly (readonly [string, string])[],
): string {
  const head = `.TH ${roff(name.toUpperCase())} ${section} ${date} "platnet ${version}" "Platnet"`
  const filled = sections.filter(([, text]) => text !== '')
  // Names of options and lists of them are long: lines are ragged, and no word is broken.
  return [head, '.ad l', '.nh', ...filled.map(([title, text]) => `.SH ${title}\n${text}`)].join('\n').concat('\n')
}

/** A tagged paragraph; the tag is roff already. */
function tagged(tag: string, text: string): string {
  return `.TP\n${tag}\n${roff(text)}`
}

function bold(text: string): string {
  return `\\fB${roff(text)}\\fR`
}

function italic(text: string): string {
  return `\\fI${roff(text)}\\fR`
}

/** Escapes what roff reads as its own: backslashes, hyphens, and a dot or quote at the beginning of a line. A list without spaces may break. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/,(?=\S)/g, ',\\:')
    .replaceAll(/^(['.])/gm, '\\&$1')
}
