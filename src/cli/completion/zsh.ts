import { allCommands, type CommandNode, type OptionNode, optionNames, takesPath } from '../command-tree.ts'
import { quote } from './quote.ts'

/** Renders the completion of zsh; each word has its description. */
export function zshCompletion(root: CommandNode): string {
  const nodes = allCommands(root)
  const places = nodes.filter(({ path }) => path.length > 0).map(({ path }) => quote(path.join(' ')))
  return `#compdef platnet
# zsh completion of platnet; written by "platnet completion zsh"
_platnet() {
  local place= word previous=\${words[CURRENT-1]}
  local -a known=(${places.join(' ')}) commands=() options=() choices=()
  for word in \${words[2,CURRENT-1]}; do
    if (( \${known[(Ie)\${place:+$place }$word]} )); then place="\${place:+$place }$word"; fi
  done
  case "$place|$previous" in
${nodes.flatMap((node) => node.options.map((option) => valueCase(node, option))).join('')}  esac
  case $place in
${nodes.map(wordsCase).join('')}  esac
  (( \${#commands} )) && _describe -t commands command commands
  (( \${#choices} )) && compadd -a choices
  (( \${#options} )) && _describe -t options option options
  (( \${#commands} + \${#choices} )) || _files
}
# As a file of fpath this text is the function itself.
if [[ $funcstack[1] == _platnet ]]; then _platnet "$@"; else compdef _platnet platnet; fi
`
}

function valueCase({ path }: CommandNode, option: OptionNode): string {
  if (option.value === undefined || option.value.startsWith('[')) return ''
  const pattern = optionNames(option)
    .map((name) => quote(`${path.join(' ')}|${name}`))
    .join(' | ')
  return `    ${pattern}) ${valueAction(option)} ;;\n`
}

function valueAction(option: OptionNode): string {
  if (option.choices.length > 0) return `compadd -- ${option.choices.map(quote).join(' ')}; return`
  return takesPath(option) ? '_files; return' : `_message ${quote(option.value ?? '')}; return`
}

function wordsCase(node: CommandNode): string {
  const commands = node.children.map(({ path, description }) => item(path.at(-1) ?? '', description))
  const options = node.options.flatMap((option) => optionNames(option).map((name) => item(name, option.description)))
  const choices = node.arguments.flatMap((argument) => argument.choices).map(quote)
  const lists = `commands=(${commands.join(' ')}); options=(${options.join(' ')}); choices=(${choices.join(' ')})`
  return `    ${quote(node.path.join(' '))}) ${lists} ;;\n`
}

/** `word:description` of _describe, where a colon in the word is escaped. */
function item(word: string, description: string): string {
  return quote(`${word.replaceAll(':', '\\:')}:${description}`)
}
