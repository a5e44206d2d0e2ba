import { type Command, Help, type Option } from 'commander'

const plainHelp = new Help()

/** How help differs from commander's own: it fits a line also where a name or a list is long. */
export const helpFormat: Partial<Help> = {
  minWidthToWrap: 8,
  optionDescription: describeWithoutFalse,
  padWidth,
  formatItem,
  boxWrap: wrap,
}

/** A switch is off unless it is given; "(default: false)" behind each would be noise. */
function describeWithoutFalse(option: Option): string {
  return plainHelp.optionDescription(option).replace(/ \(default: false\)$/, '')
}

/** Returns the width of the column of names: at most two fifths of a line, so that descriptions have room beside the longest name. */
function padWidth(command: Command, helper: Help): number {
  return Math.min(plainHelp.padWidth(command, helper), Math.floor(((helper.helpWidth ?? 80) * 2) / 5))
}

/** Formats a name and its description; a name that is longer than its column has its description below. */
function formatItem(term: string, width: number, description: string, helper: Help): string {
  const format = (name: string) => plainHelp.formatItem.call(helper, name, width, description, helper)
  if (term.length <= width || description === '') return format(term)
  return `  ${term}\n${format('')}`
}

/** Wraps a text; a list without spaces that fills more than a line goes on after a comma. */
function wrap(this: Help, text: string, width: number): string {
  const breakable = text.replaceAll(/\S+/g, (word) => (word.length > width ? splitList(word, width) : word))
  return plainHelp.boxWrap.call(this, breakable, width)
}

function splitList(word: string, width: number): string {
  const lines = ['']
  for (const part of word.split(/(?<=,)/)) {
    const last = lines.at(-1) ?? ''
    if (last === '' || last.length + part.length <= width) lines[lines.length - 1] = last + part
    else lines.push(part)
  }
  return lines.join('\n')
}
