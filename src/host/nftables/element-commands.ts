import { NftError } from './nft-error.ts'

const command =
  /^(?:(?:add|delete) element ip6? [\w-]+ [\w-]+ \{ [^;{}\0\r\n]+ \}|flush (?:set|map) ip6? [\w-]+ [\w-]+)$/

/**
 * Checks that each line of a text adds or deletes elements, or empties a set. Within this process nothing else is run: a command of
 * another kind could abort it, read a file or change rules.
 *
 * @throws NftError with the code `invalid`
 */
export function checkElementCommands(text: string): void {
  for (const [index, line] of text.split('\n').entries())
    if (line !== '' && !command.test(line))
      throw new NftError('invalid', JSON.stringify(line.slice(0, 200)), { lineNumber: index + 1 })
}

/** Puts each element into a line of its own, by which nft names the one that is wrong. Other commands stay as they are. */
export function inShortLines(text: string): string {
  return text.replaceAll(/^(?:add|delete) element .*$/gm, (line) => line.replaceAll(', ', ',\n'))
}

/** Makes one line of a transaction, for a program that takes each line as one. */
export function inOneLine(text: string): string {
  return text.split('\n').filter(Boolean).join('; ')
}
