import { backslash, closeBrace, closeBracket, comma, openBrace, openBracket, quoteByte } from './json-bytes.ts'
import { resourceVersionSchema } from './wire-object.ts'

/** Field names and values of an identity are shorter: a name has at most 253 characters. */
const maxTextBytes = 1024
const identityFields = ['name', 'namespace', 'uid', 'resourceVersion'] as const

/** The identity of an object whose content is unknown. */
export interface ObjectIdentity {
  readonly name: string
  readonly namespace?: string | undefined
  readonly uid?: string | undefined
  readonly resourceVersion: string
}

/**
 * Reads the identity of one object, and a few other texts, from JSON of any length in constant memory: the text is never held or parsed.
 * For objects that are too large or that do not parse; of malformed JSON it finds what stands at the expected depth.
 */
export class IdentityScanner {
  readonly #prefix: string
  /** The last key at each depth from 1 on, as deep as a wanted text can stand. */
  readonly #keys: string[] = []
  readonly #isObject: boolean[] = []
  readonly #found = new Map<string, string>()
  readonly #maxDepth: number
  #depth = 0
  #expectsKey = false
  #inString = false
  #escaped = false
  #text: number[] = []

  /** `prefix`: the keys under which the object stands; none where the text is the object. */
  constructor(prefix: readonly string[] = []) {
    this.#prefix = prefix.map((key) => `${key}.`).join('')
    this.#maxDepth = prefix.length + 2
  }

  push(chunk: Uint8Array): void {
    for (const byte of chunk) {
      if (this.#inString) this.#takeStringByte(byte)
      else this.#takeByte(byte)
    }
  }

  /** The text at a path of keys such as `type`; undefined where there is none, or none so short. */
  textAt(path: string): string | undefined {
    return this.#found.get(path)
  }

  /** Undefined without a name and a usable resourceVersion. */
  identity(): ObjectIdentity | undefined {
    const [name = '', namespace, uid, resourceVersion] = identityFields.map((field) =>
      this.textAt(`${this.#prefix}metadata.${field}`),
    )
    const version = resourceVersionSchema.safeParse(resourceVersion)
    return name === '' || !version.success ? undefined : { name, namespace, uid, resourceVersion: version.data }
  }

  #takeByte(byte: number): void {
    switch (byte) {
      case quoteByte:
        this.#inString = true
        this.#text = []
        return
      case openBrace:
      case openBracket:
        this.#depth += 1
        if (this.#depth <= this.#maxDepth) {
          this.#isObject[this.#depth] = byte === openBrace
          this.#keys[this.#depth] = ''
        }
        this.#expectsKey = byte === openBrace
        return
      case closeBrace:
      case closeBracket:
        this.#depth -= 1
        this.#expectsKey = false
        return
      case comma:
        this.#expectsKey = this.#depth <= this.#maxDepth && this.#isObject[this.#depth] === true
    }
  }

  #takeStringByte(byte: number): void {
    if (!this.#escaped && byte === quoteByte) {
      this.#inString = false
      if (this.#isWanted) this.#endString()
      return
    }
    this.#escaped = !this.#escaped && byte === backslash
    if (this.#isWanted && this.#text.length <= maxTextBytes) this.#text.push(byte)
  }

  get #isWanted(): boolean {
    return this.#depth > 0 && this.#depth <= this.#maxDepth
  }

  #endString(): void {
    const text = this.#text.length > maxTextBytes ? undefined : decodeString(this.#text)
    if (this.#expectsKey) {
      this.#keys[this.#depth] = text ?? ''
      this.#expectsKey = false
    } else if (text !== undefined && this.#isObject[this.#depth] === true) {
      this.#found.set(this.#keys.slice(1, this.#depth + 1).join('.'), text)
    }
  }
}

function decodeString(bytes: readonly number[]): string | undefined {
  try {
    return JSON.parse(`"${Buffer.from(bytes).toString('utf8')}"`) as string
  } catch {
    return undefined
  }
}
