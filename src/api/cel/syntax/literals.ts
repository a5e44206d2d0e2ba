import { type Literal, Uint } from '../values/values.ts'

const [minInt, maxInt, maxUint] = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 64n - 1n]

/** Parses an integer; returns undefined where it is too large. */
export function readInt(text: string, isNegative: boolean): bigint | undefined {
  const value = isNegative ? -BigInt(text) : BigInt(text)
  return value < minInt || value > maxInt ? undefined : value
}

export function readUint(text: string): Uint | undefined {
  const value = BigInt(text.slice(0, -1))
  return value > maxUint ? undefined : new Uint(value)
}

export function readDouble(text: string, isNegative: boolean): number | undefined {
  const value = Number(isNegative ? `-${text}` : text)
  return Number.isFinite(value) ? value : undefined
}

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}
const escapePattern = /\\(?:([abfnrtv"'\\?`])|([0-3][0-7]{2})|[xX]([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8}))/g

/** Returns the text of a string token; undefined where an escape denotes no character. */
export function readText(token: string): string | undefined {
  const { body, isRaw } = unquote(token)
  if (isRaw) return body
  let isWrong = false
  const text = body.replaceAll(escapePattern, (_, sign?: string, octal?: string, ...codes: (string | undefined)[]) => {
    if (sign !== undefined) return escapes[sign] ?? sign
    const code =
      octal === undefined ? Number.parseInt(codes.slice(0, 3).find(Boolean) ?? '', 16) : Number.parseInt(octal, 8)
    const isCharacter = code <= 0x10_ff_ff && !(code >= 0xd8_00 && code <= 0xdf_ff)
    isWrong ||= !isCharacter
    return isCharacter ? String.fromCodePoint(code) : ''
  })
  return isWrong ? undefined : text
}

/** Returns the bytes of a token. An escape denotes one byte here; the escapes of characters are invalid. */
export function readBytes(token: string): Literal | undefined {
  const { body, isRaw } = unquote(token.slice(1))
  if (isRaw) return Buffer.from(body)
  const parts: Uint8Array[] = []
  let end = 0
  for (const { 0: match, 1: sign, 2: octal, 3: hex, index } of body.matchAll(escapePattern)) {
    if (sign === undefined && octal === undefined && hex === undefined) return undefined
    const code = octal === undefined ? Number.parseInt(hex ?? '', 16) : Number.parseInt(octal, 8)
    const piece = sign === undefined ? Buffer.from([code]) : Buffer.from(escapes[sign] ?? sign)
    parts.push(Buffer.from(body.slice(end, index)), piece)
    end = index + match.length
  }
  return Buffer.concat([...parts, Buffer.from(body.slice(end))])
}

function unquote(token: string): { readonly body: string; readonly isRaw: boolean } {
  const isRaw = /^[rR]/.test(token)
  const bare = token
    .slice(isRaw ? 1 : 0)
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n')
  const width = /^("""|''')/.test(bare) ? 3 : 1
  return { body: bare.slice(width, -width), isRaw }
}
