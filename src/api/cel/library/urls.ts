import type { CelFunction } from '../environment.ts'
import { CelFailure } from './failure.ts'

/** A URL as Go's url.ParseRequestURI takes it: absolute, or a path from the root; what follows a `#` belongs to the rest. */
export class UrlValue {
  readonly text: string
  readonly url: URL
  readonly isAbsolute: boolean

  constructor(text: string, url: URL, isAbsolute: boolean) {
    this.text = text
    this.url = url
    this.isAbsolute = isAbsolute
  }

  /** With the port as it was written: the URL class leaves out the usual one of a scheme. */
  get host(): string {
    const [, host = ''] = /^[^:]+:\/\/(?:[^@/?]*@)?([^/?#]*)/.exec(this.text) ?? []
    return host
  }

  toString(): string {
    return this.text
  }
}

function readUrl(text: string): UrlValue | undefined {
  const isAbsolute = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.test(text)
  if (!isAbsolute && !text.startsWith('/')) return undefined
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what a URL must not hold
  if (/[\u0000-\u001f\u007f]/.test(text)) return undefined
  const url = URL.parse(isAbsolute ? text : `http://root${text}`)
  return url === null ? undefined : new UrlValue(text, url, isAbsolute)
}

function toUrl(text: string): UrlValue {
  const url = readUrl(text)
  if (url === undefined)
    throw new CelFailure(
      `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
    )
  return url
}

function portOf({ host }: UrlValue): string {
  return /:(\d*)$/.exec(host)?.[1] ?? ''
}

function hostnameOf({ host }: UrlValue): string {
  return host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')
}

/** Kubernetes' URL library. */
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
    'kubernetes.URL.getQuery(): map<string, list<string>>',
    ({ url }: UrlValue) =>
      new Map([...new Set(url.searchParams.keys())].map((key) => [key, url.searchParams.getAll(key)])),
  ],
]
