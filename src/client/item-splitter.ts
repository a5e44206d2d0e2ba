import { ApiError } from './errors.ts'
import { IdentityScanner, type ObjectIdentity } from './identity-scanner.ts'
import { backslash, closeBrace, closeBracket, comma, openBrace, openBracket, quoteByte } from './json-bytes.ts'

/** Objects open around the elements of `items`: the list and the array. */
const itemsDepth = 2
const maxPieceBytes = 8 * 1024 * 1024
/** Room for `"items"`, the colon and some white space; an array under a longer spelling stays in the envelope. */
const maxKeyBytes = 64

/** The text of an item, or what is known of one that is too large; `identity` is absent where it has none. */
export type SplitItem =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'left-out'; readonly identity: ObjectIdentity | undefined; readonly fault: string }

/**
 * Cuts the JSON text of a list into the texts of its items without parsing it: counts brackets outside strings, byte by
 * byte. What is around the items, the envelope, stays valid JSON with an empty `items`. All bytes it looks for are ASCII,
 * so a multi-byte character may be cut by a chunk's end.
 */
export class ItemSplitter {
  readonly #envelope = new Envelope()
  readonly #item = new Item()
  #depth = 0
  #inString = false
  #escaped = false
  #inItems = false

  /** The envelope's text. Throws ApiError `bad-response` when the list has not ended. */
  end(): string {
    if (this.#depth !== 0) throw new ApiError('bad-response', 'the list ends before its last bracket')
    return this.#envelope.take()
  }

  /** The items that end in this chunk. */
  *push(chunk: Buffer): Generator<SplitItem> {
    let start = 0
    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#inItems && this.#depth > itemsDepth) at = this.#skipInItem(chunk, at)
      if (at === chunk.length) break
      if (this.#inString) at = this.#skipString(chunk, at)
      else if (isClosing(chunk[at])) {
        if (this.#close()) {
          this.#item.keep(chunk.subarray(start, at + 1))
          yield this.#item.take()
          start = at + 1
        }
      } else start = this.#step(chunk, start, at)
    }
    this.#current().keep(chunk.subarray(start))
  }

  /** Returns the index of the bracket that ends the item; else the chunk's length. Nearly all bytes of a list pass here. */
  #skipInItem(chunk: Buffer, from: number): number {
    let depth = this.#depth
    let at = this.#inString ? this.#skipString(chunk, from) + 1 : from
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at]
      if (byte === quoteByte) at = this.#skipString(chunk, at + 1)
      else if (byte === openBrace || byte === openBracket) depth += 1
      else if (isClosing(byte)) {
        if (depth === itemsDepth + 1) break
        depth -= 1
      }
    }
    this.#depth = depth
    return Math.min(at, chunk.length)
  }

  /** Returns the index of the last byte that belongs to the string: its closing quote or the end of the chunk. */
  #skipString(chunk: Buffer, from: number): number {
    let at = this.#escaped ? from + 1 : from
    while (at < chunk.length && chunk[at] !== quoteByte) at += chunk[at] === backslash ? 2 : 1
    this.#escaped = at > chunk.length
    this.#inString = at >= chunk.length
    return Math.min(at, chunk.length)
  }

  /** Takes any byte but a closing bracket; returns where the bytes not yet kept begin. */
  #step(chunk: Buffer, start: number, at: number): number {
    switch (chunk[at]) {
      case quoteByte:
        this.#inString = true
        return start
      case openBrace:
      case openBracket:
        return this.#open(chunk, start, at)
      case comma:
        return this.#betweenItems() ? this.#keepEnvelope(chunk, start, at) + 1 : start
      default:
        return start
    }
  }

  #open(chunk: Buffer, start: number, at: number): number {
    const opensItem = this.#betweenItems()
    if (chunk[at] === openBracket && this.#depth === 1) {
      this.#inItems = this.#envelope.endsInItemsKey(chunk.subarray(start, at))
    }
    this.#depth += 1
    return opensItem ? this.#keepEnvelope(chunk, start, at) : start
  }

  /** Whether an item ends here. */
  #close(): boolean {
    const endsItem = this.#inItems && this.#depth === itemsDepth + 1
    this.#depth -= 1
    if (this.#depth < itemsDepth) this.#inItems = false
    if (this.#depth < 0) throw new ApiError('bad-response', 'the list has a closing bracket too many')
    return endsItem
  }

  #keepEnvelope(chunk: Buffer, start: number, end: number): number {
    this.#envelope.keep(chunk.subarray(start, end))
    return end
  }

  #betweenItems(): boolean {
    return this.#inItems && this.#depth === itemsDepth
  }

  /** Inside an item its bytes are kept apart; everything else is the envelope's. */
  #current(): Envelope | Item {
    return this.#inItems && this.#depth > itemsDepth ? this.#item : this.#envelope
  }
}

/** The bytes of one item, joined once. One that is too large is read for its identity while its bytes pass. */
class Item {
  #parts: Buffer[] = []
  #bytes = 0
  #scanner: IdentityScanner | undefined

  keep(part: Buffer): void {
    this.#bytes += part.length
    if (this.#scanner === undefined && this.#bytes > maxPieceBytes) {
      this.#scanner = new IdentityScanner()
      for (const kept of this.#parts) this.#scanner.push(kept)
      this.#parts = []
    }
    if (this.#scanner === undefined) this.#parts.push(part)
    else this.#scanner.push(part)
  }

  take(): SplitItem {
    const [parts, bytes, scanner] = [this.#parts, this.#bytes, this.#scanner]
    this.#parts = []
    this.#bytes = 0
    this.#scanner = undefined
    if (scanner === undefined) return { kind: 'text', text: joinText(parts) }
    const fault = `it has ${bytes} bytes; at most ${maxPieceBytes} are read`
    return { kind: 'left-out', identity: scanner.identity(), fault }
  }
}

/** The text around the items of a list. */
class Envelope {
  readonly #parts: Buffer[] = []
  #bytes = 0

  keep(part: Buffer): void {
    if (part.length === 0) return
    this.#bytes += part.length
    if (this.#bytes > maxPieceBytes)
      throw new ApiError('bad-response', `the list around its items is larger than ${maxPieceBytes} bytes`)
    this.#parts.push(part)
  }

  take(): string {
    return joinText(this.#parts)
  }

  /** Whether what was kept, followed by `before`, ends in `"items":`. */
  endsInItemsKey(before: Buffer): boolean {
    let tail = before
    for (let index = this.#parts.length - 1; index >= 0 && tail.length < maxKeyBytes; index -= 1) {
      tail = Buffer.concat([this.#parts[index] ?? Buffer.alloc(0), tail])
    }
    return /(?<!\\)"items"\s*:\s*$/.test(tail.subarray(-maxKeyBytes).toString('latin1'))
  }
}

function joinText(parts: readonly Buffer[]): string {
  const [only, ...more] = parts
  return (only !== undefined && more.length === 0 ? only : Buffer.concat(parts)).toString('utf8')
}

function isClosing(byte: number | undefined): boolean {
  return byte === closeBrace || byte === closeBracket
}
