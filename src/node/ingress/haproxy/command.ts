import type { MapName } from './map-entries.ts'

/** One command of the runtime socket with the answer it has to give. */
export interface Command {
  /** Lines with the payload, without the last line break. A payload ends with an empty line. */
  readonly text: string
  /** The answer that means success; no answer at all where it is absent. */
  readonly success?: RegExp
  /** The certificate that the command is about. */
  readonly certificate?: string
}

/** Bytes of one word in a command: haproxy ends a word at a space, a command at `;`, and begins a payload at `<<`; `\` keeps the next byte as it is. */
export function quoteWord(text: string): string {
  return text.replace(/[\\;<\s]/g, String.raw`\$&`)
}

export function mapId(map: MapName): string {
  return `${map}.map`
}

/** Splits lines into payloads of at most `maxBytes`; lines are ASCII. */
export function payloads(lines: readonly string[], maxBytes: number): readonly string[] {
  const texts: string[] = []
  let text = ''
  for (const line of lines) {
    if (text !== '' && text.length + line.length + 1 > maxBytes) {
      texts.push(text)
      text = ''
    }
    text += `${line}\n`
  }
  return text === '' ? texts : [...texts, text]
}
