import { ItemList } from '../values/lists.ts'
import { EntryMap } from '../values/maps.ts'
import { parseType } from '../values/types.ts'
import { CelError, OpaqueValue, type Value } from '../values/values.ts'
import type { CelFunction } from './declarations.ts'

/** A URL that Go's url.ParseRequestURI accepts: absolute, or a path from the root. A `#` is no separator there. */
class UrlValue extends OpaqueValue {
  readonly type = parseType('kubernetes.URL')
  readonly text: string
  readonly url: URL
  readonly isAbsolute: boolean

  constructor(text: string, url: URL, isAbsolute: boolean) {
    super()
    this.text = text
    this.url = url
    this.isAbsolute = isAbsolute
  }

  /** Returns the host with the port as written: the URL class omits the default port of a scheme. */
  get host(): string {
    const [, host = ''] = /^[^:]+:\/\/(?:[^@/?]*@)?([^/?#]*)/.exec(this.text) ?? []
    return host
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof UrlValue && other.url.href === this.url.href && other.isAbsolute === this.isAbsolute
  }
}

function readUrl(text: string): UrlValue | undefined {
  const isAbsolute = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text)
  if (!isAbsolute && !text.startsWith('/')) return undefined
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a URL must not contain these characters
  if (/[\u0000-\u001f\u007f]/.test(text)) return undefined
  const url = URL.parse(isAbsolute ? text : `http://root${text}`)
  return url === null ? undefined : new UrlValue(text, url, isAbsolute)
}

/** Checks whether Go's url.ParseRequestURI accepts the text. */
export function isUrl(text: string): boolean {
  return readUrl(text) !== undefined
}

function toUrl(text: string): Value {
  const why = `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`
  return readUrl(text) ?? new CelError(why)
}

function portOf({ host }: UrlValue): string {
  return /:(\d*)$/.exec(host)?.[1] ?? ''
}

function hostnameOf({ host }: UrlValue): string {
  return host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')
}

/** The URL library of Kubernetes. */
export const urlFunctions: readonly CelFunction[] = [
  ['url(string): kubernetes.URL', toUrl],
  ['isURL(string): bool', (text: string) => readUrl(text) !== undefined],
  [
    'kubernetes.URL.getScheme(): string',
    ({ url, isAbsolute }: UrlValue) => (isAbsolute ? url.protocol.slice(0, -1) : ''),
  ],
  ['kubernetes.URL.getHost(): string', ({ host }: UrlValue) => host],
  ['kubernetes.URL.getHostname(): string', hostnameOf],
  ['kubernetes.URL.getPort(): string', portOf],
  [
    'kubernetes.URL.getEscapedPath(): string',
    ({ text, url }: UrlValue) => (/^[^:]+:\/\/[^/?#]*$/.test(text) ? '' : url.pathname),
  ],
  [
    'kubernetes.URL.getQuery(): map(string, list(string))',
    ({ url }: UrlValue) =>
      new EntryMap(
        [...new Set(url.searchParams.keys())].map((key) => [key, new ItemList(url.searchParams.getAll(key))]),
      ),
  ],
]
