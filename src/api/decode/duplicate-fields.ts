import { LineCounter, parseDocument } from 'yaml'

/** Where the scanner is: an object with the keys it has had so far, or an array. */
interface Level {
  readonly path: string
  /** Undefined for an array. */
  readonly keys: Set<string> | undefined
  key: string
  index: number
}

/**
 * The paths of fields that stand more than once in their object, each once, in the order of the text: `spec.a[0].b`. JSON.parse keeps
 * the last one and says nothing. The text must have been parsed already.
 */
export function findDuplicateFields(text: string): readonly string[] {
  const found = new Set<string>()
  const levels: Level[] = []
  let isKeyNext = false
  for (let at = 0; at < text.length; at++) {
    const level = levels.at(-1)
    switch (text[at]) {
      case '{':
      case '[':
        isKeyNext = text[at] === '{'
        levels.push({ path: pathOf(level), keys: isKeyNext ? new Set() : undefined, key: '', index: 0 })
        break
      case '}':
      case ']':
        levels.pop()
        isKeyNext = false
        break
      case ',':
        isKeyNext = level?.keys !== undefined
        if (level !== undefined) level.index++
        break
      case '"': {
        const end = endOfString(text, at)
        if (isKeyNext && level !== undefined) enterField(level, text.slice(at, end + 1), found)
        isKeyNext = false
        at = end
      }
    }
  }
  return [...found]
}

function enterField(level: Level, literal: string, found: Set<string>): void {
  level.key = JSON.parse(literal) as string
  if (level.keys?.has(level.key) === true) found.add(pathOf(level))
  level.keys?.add(level.key)
}

function pathOf(level: Level | undefined): string {
  if (level === undefined) return ''
  if (level.keys === undefined) return `${level.path}[${level.index}]`
  return level.path === '' ? level.key : `${level.path}.${level.key}`
}

function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

/** `line 10: key "a" already set in map` for each key of a YAML text that stands twice. */
export function findYamlDuplicates(text: string): readonly string[] {
  const lines = new LineCounter()
  const { errors } = parseDocument(text, { lineCounter: lines, logLevel: 'error', uniqueKeys: true })
  return errors
    .filter(({ code }) => code === 'DUPLICATE_KEY')
    .map(({ pos: [start] }) => {
      const [key = ''] = /^("[^"\n]*"|'[^'\n]*'|[^:\n]*)/.exec(text.slice(start)) ?? []
      const name = key.trim().replace(/^(["'])(.*)\1$/, '$2')
      return `line ${lines.linePos(start).line}: key ${JSON.stringify(name)} already set in map`
    })
}
