import { allCommands, type CommandNode, type OptionNode, takesPath } from '../command-tree.ts'

/** Renders the completion of fish (3.4 or newer); each word has its description. */
export function fishCompletion(root: CommandNode): string {
  const nodes = allCommands(root)
  const places = nodes.filter(({ path }) => path.length > 0).map(({ path }) => quote(path.join(' ')))
  return `# fish completion of platnet; written by "platnet completion fish"
function __platnet_place
    set -l known ${places.join(' ')}
    set -l place
    for word in (commandline -opc)[2..]
        set -l next (string join -- ' ' $place $word)
        contains -- $next $known; and set place $next
    end
    echo $place
end
complete -c platnet -f
${nodes.flatMap(linesOf).join('')}`
}

function linesOf(node: CommandNode): readonly string[] {
  const here = `complete -c platnet -n ${quote(`test "$(__platnet_place)" = ${doubleQuote(node.path.join(' '))}`)}`
  const words = (list: readonly string[], description: string) =>
    `${here} -a ${quote(list.join(' '))} -d ${quote(description)}\n`
  const takesFile = node.arguments.some(({ name }) => name.includes('file'))
  return [
    ...node.children.map(({ path, description }) => words([path.at(-1) ?? ''], description)),
    ...node.arguments.flatMap(({ choices, description }) => (choices.length > 0 ? [words(choices, description)] : [])),
    ...(takesFile ? [`${here} -F\n`] : []),
    ...node.options.map((option) => `${here}${optionWords(option)}\n`),
  ]
}

function optionWords(option: OptionNode): string {
  const { short, long, value, choices, description } = option
  const names = `${short === undefined ? '' : ` -s ${short.slice(1)}`}${long === undefined ? '' : ` -l ${long.slice(2)}`}`
  const values = choices.length > 0 ? ` -a ${quote(choices.join(' '))}` : ''
  const required = takesPath(option) ? ' -r -F' : ` -x${values}`
  return `${names}${value?.startsWith('<') === true ? required : ''} -d ${quote(description)}`
}

/** Quotes a text for fish, where a backslash escapes within single quotes. */
function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

function doubleQuote(text: string): string {
  return `"${text}"`
}
