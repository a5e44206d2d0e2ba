const redacted = '[redacted]'

/** Names whose value is a secret, compared without case, `-`, `_` and `.`; `secretName` or `tokenCount` are not among them. */
const secretName =
  /(?:tokens?|passwords?|passwd|passphrase|secrets?|authorization|cookie|clientkey|clientkeydata|privatekey|apikey|credentials?)$/i

/**
 * Secrets that give themselves away inside a text: PEM private keys, HTTP credentials, JWTs, passwords in URLs and queries. In JSON a line
 * begins after `\n`, whose letter is no part of the word.
 */
const secretTexts: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN ([A-Z ]*)PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, `${redacted} private key`],
  [/(?:\b|(?<=\\[nrt]))(Bearer|Basic)\s+[\w.~+/-]{16,}=*/gi, `$1 ${redacted}`],
  [/(?:\b|(?<=\\[nrt]))eyJ[\w-]{8,}\.[\w-]+\.[\w-]*/g, redacted],
  [/(\/\/[^/\s:@]*:)[^/\s@]+@/g, `$1${redacted}@`],
  [
    /(?:\b|(?<=\\[nrt]))((?:[\w-]*[_-])?(?:token|password|passwd|secret|client-key-data|api[_-]?key))=[^\s"'&,;]+/gi,
    `$1=${redacted}`,
  ],
  [/("(?:[\w-]*[_-])?(?:token|password|secret|client-key-data|private[_-]?key)"\s*:\s*)"[^"]*"/gi, `$1"${redacted}"`],
]

const maxDepth = 8
const maxItems = 200
const maxTextLength = 8192

function isSecretName(name: string): boolean {
  return secretName.test(name.replaceAll(/[-_.]/g, ''))
}

/** Replaces the secrets of a text of any length, also those that are given as `known`, such as tokens of this machine. */
export function redactWhole(text: string, known: readonly string[]): string {
  const withoutKnown = known.reduce((rest, secret) => rest.replaceAll(secret, redacted), text)
  return secretTexts.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), withoutKnown)
}

/** The text without its secrets, and cut where it is longer than any record should be. */
export function redactText(text: string): string {
  const shown =
    text.length > maxTextLength ? `${text.slice(0, maxTextLength)} [${text.length - maxTextLength} more]` : text
  return secretTexts.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), shown)
}

/**
 * Plain JSON data of a value, safe to write: secrets replaced, errors with their cause and code, depth and length
 * bounded, cycles cut. Never throws, whatever getters do.
 */
export function toLogValue(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redactText(value)
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'function' || typeof value === 'symbol') return String(value).slice(0, 80)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxDepth) return '[deeper]'
  try {
    return toLogObject(value, depth)
  } catch {
    return '[unreadable]'
  }
}

function toLogObject(value: object, depth: number): unknown {
  if (value instanceof Error) return toLogError(value, depth)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (value instanceof URL) return redactText(value.href)
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (value instanceof Map) return toLogRecord([...value], depth)
  if (Array.isArray(value) || value instanceof Set) return toLogList([...value], depth)
  return toLogRecord(Object.entries(value), depth)
}

function toLogList(items: readonly unknown[], depth: number): unknown[] {
  const shown = items.slice(0, maxItems).map((item) => toLogValue(item, depth + 1))
  return items.length > maxItems ? [...shown, `[${items.length - maxItems} more]`] : shown
}

function toLogRecord(entries: readonly (readonly [unknown, unknown])[], depth: number): Record<string, unknown> {
  const shown = entries.slice(0, maxItems).map(([key, item]) => {
    const name = String(key)
    const hidden = isSecretName(name) && item !== undefined && item !== null
    return [name, hidden ? redacted : toLogValue(item, depth + 1)]
  })
  if (entries.length > maxItems) shown.push(['…', `[${entries.length - maxItems} more]`])
  return Object.fromEntries(shown)
}

/** Only the known parts: libraries hang whole requests, headers included, on their errors. */
function toLogError(error: Error, depth: number): Record<string, unknown> {
  const { code, object, remedy, errors } = error as {
    code?: unknown
    object?: unknown
    remedy?: unknown
    errors?: unknown
  }
  const parts = { name: error.name, message: error.message, code, object, remedy, cause: error.cause, errors }
  const present = Object.entries(parts).filter(([, part]) => part !== undefined)
  return toLogRecord(isExpected(code) ? present : [...present, ['stack', error.stack]], depth)
}

/** An error with a code was raised on purpose, by us or by the system; one without is a fault and needs its stack. */
function isExpected(code: unknown): boolean {
  return typeof code === 'string'
}
