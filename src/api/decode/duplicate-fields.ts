import { endOfString } from '../exact-json.ts'
import { maxStrictErrors } from './limits.ts'
import { shorten } from './shorten.ts'

/** The position of the scanner: an object with its keys so far, or an array. */
interface Level {
  /** Undefined for an array. */
  readonly keys: Set<string> | undefined
  key: string
  index: number
}

/** The limit of repetitions: naming a field takes time proportional to its path, so the scan of a text that repeats a field too often ends early. */
const maxRepetitions = 1_000

/** A duplicate field of an object, or a wanted field. */
export interface FoundField {
  readonly isDuplicate: boolean
  /** `spec.a[0].b` */
  readonly path: string
  readonly key: string
  /** The position of its name in the text. */
  readonly at: number
}

/**
 * Finds duplicate fields, each path once, in the order of the text and at most 100; the fields of the wanted paths stand between them.
 * JSON.parse keeps the last duplicate without an error. The text must have been parsed already.
 */
export function findDuplicateFields(text: string, wanted: readonly string[] = []): readonly FoundField[] {
  const scan = new DuplicateScan(text, wanted)
  for (let at = 0; at < text.length && !scan.isFull; at++) at = scan.take(at)
  return scan.found
}

class DuplicateScan {
  readonly #text: string
  readonly #duplicates = new Set<string>()
  readonly #wanted: Set<string>
  /** The last steps of the wanted paths: other fields need no path. */
  readonly #wantedKeys: ReadonlySet<string>
  readonly #found: FoundField[] = []
  readonly #levels: Level[] = []
  #repetitions = 0
  #isKeyNext = false

  constructor(text: string, wanted: readonly string[]) {
    this.#text = text
    this.#wanted = new Set(wanted)
    this.#wantedKeys = new Set(wanted.map((path) => path.slice(path.lastIndexOf('.') + 1)))
  }

  get found(): readonly FoundField[] {
    return this.#found
  }

  get isFull(): boolean {
    return this.#duplicates.size === maxStrictErrors || this.#repetitions === maxRepetitions
  }

  /** Reads the value at the position; returns the position of its last character. */
  take(at: number): number {
    switch (this.#text.charCodeAt(at)) {
      case 0x7b: // {
        this.#open(new Set())
        return at
      case 0x5b: // [
        this.#open(undefined)
        return at
      case 0x7d: // }
      case 0x5d: // ]
        this.#levels.pop()
        this.#isKeyNext = false
        return at
      case 0x2c: // ,
        this.#next()
        return at
      case 0x22: // "
        return this.#readString(at)
      default:
        return at
    }
  }

  #open(keys: Set<string> | undefined): void {
    this.#isKeyNext = keys !== undefined
    this.#levels.push({ keys, key: '', index: 0 })
  }

  #next(): void {
    const level = this.#levels.at(-1)
    this.#isKeyNext = level?.keys !== undefined
    if (level !== undefined) level.index++
  }

  #readString(at: number): number {
    const end = endOfString(this.#text, at)
    const level = this.#levels.at(-1)
    if (this.#isKeyNext && level?.keys !== undefined) {
      const literal = this.#text.slice(at, end + 1)
      level.key = literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1)
      const isDuplicate = level.keys.has(level.key)
      if (isDuplicate) this.#reportDuplicate(level.key, at)
      else if (this.#wantedKeys.has(level.key)) this.#reportWanted(level.key, at)
      level.keys.add(level.key)
    }
    this.#isKeyNext = false
    return end
  }

  #reportDuplicate(key: string, at: number): void {
    this.#repetitions++
    const path = shorten(this.#path(shorten))
    if (this.#duplicates.has(path)) return
    this.#duplicates.add(path)
    this.#found.push({ isDuplicate: true, path, key, at })
  }

  #reportWanted(key: string, at: number): void {
    const path = this.#path((step) => step)
    if (this.#wanted.delete(path)) this.#found.push({ isDuplicate: false, path, key, at })
  }

  #path(show: (key: string) => string): string {
    const steps = this.#levels.map(({ keys, key, index }) => (keys === undefined ? `[${index}]` : `.${show(key)}`))
    return steps.join('').replace(/^\./, '')
  }
}
