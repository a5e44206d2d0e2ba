/** DEL, C1, and what reorders text or ends a line without being a control of ASCII. */
const beyondC0 = '\\u007f-\\u009f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff'
const anywhere = new RegExp(`[\\u0000-\\u001f${beyondC0}]`, 'g')
const exceptLineEnds = new RegExp(`[\\u0000-\\u0009\\u000b-\\u001f${beyondC0}]`, 'g')
const onlyBeyondC0 = new RegExp(`[${beyondC0}]`, 'g')

/** The text with its control characters as `\u001b`: it neither moves a terminal's cursor nor looks like another line. */
export function visibleText(text: string): string {
  return text.replace(anywhere, toCode)
}

/** Several lines with their control characters as `\u001b`; their ends stay. */
export function visibleLines(text: string): string {
  return text.replace(exceptLineEnds, toCode)
}

/** Text whose only C0 characters are its own line ends and colours. */
export function visibleColours(text: string): string {
  return text.replace(onlyBeyondC0, toCode)
}

function toCode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
