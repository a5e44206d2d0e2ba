import { allCommands, type CommandNode, type OptionNode, optionNames, takesPath } from '../command-tree.ts'
import { quote } from './quote.ts'

/** Renders the completion of bash: words of commands and options, choices, and paths. */
export function bashCompletion(root: CommandNode): string {
  const nodes = allCommands(root)
  const isCommand = nodes.filter(({ path }) => path.length > 0).map((node) => quote(placeOf(node)))
  return `# bash completion of platnet; written by "platnet completion bash"
_platnet() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} place= words= i
  # "=" is a word of its own: --output=json
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place \${COMP_WORDS[i]}" in ${isCommand.join(' | ')}) place="$place \${COMP_WORDS[i]}" ;; esac
  done
  case "$place|$prev" in
${nodes.flatMap((node) => node.options.map((option) => valueCase(node, option))).join('')}  esac
  case $place in
${nodes.map(wordsCase).join('')}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o bashdefault -o default -F _platnet platnet
`
}

/** ` server backup`: each word after a space. */
function placeOf({ path }: CommandNode): string {
  return path.map((word) => ` ${word}`).join('')
}

function valueCase(node: CommandNode, option: OptionNode): string {
  if (option.value === undefined || option.value.startsWith('[')) return ''
  const pattern = optionNames(option)
    .map((name) => quote(`${placeOf(node)}|${name}`))
    .join(' | ')
  const words = quote(option.choices.join(' '))
  if (option.choices.length > 0)
    return `    ${pattern}) mapfile -t COMPREPLY < <(compgen -W ${words} -- "$cur"); return ;;\n`
  const action = takesPath(option) ? 'mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return' : 'COMPREPLY=(); return'
  return `    ${pattern}) ${action} ;;\n`
}

function wordsCase(node: CommandNode): string {
  const words = [
    ...node.children.map(({ path }) => path.at(-1)),
    ...node.arguments.flatMap(({ choices }) => choices),
    ...node.options.flatMap(optionNames),
  ]
  return `    ${quote(placeOf(node))}) words=${quote(words.join(' '))} ;;\n`
}
