/** Matches DEL, C1, and characters outside ASCII that reorder text or end a line. */
const beyondC0 = '\\u007f-\\u009f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ufeff'
const anywhere = new RegExp(`[\\u0000-\\u001f${beyondC0}]`, 'g')
const exceptLineEnds = new RegExp(`[\\u0000-\\u0009\\u000b-\\u001f${beyondC0}]`, 'g')
const onlyBeyondC0 = new RegExp(`[${beyondC0}]`, 'g')

/** Escapes control characters (`\u001b`), so that the text neither moves a terminal's cursor nor looks like another line. */
export function visibleText(text: string): string {
  return text.replace(anywhere, toCode)
}

/** Escapes control characters of several lines; line ends stay. */
export function visibleLines(text: string): string {
  return text.replace(exceptLineEnds, toCode)
}

/** Escapes text whose only C0 characters are its own line ends and colours. */
export function visibleColours(text: string): string {
  return text.replace(onlyBeyondC0, toCode)
}

function toCode(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
