import { canonicalHost } from '../match.ts'

/** The parts of a request by which it is routed and passed on. */
export interface ParsedTarget {
  /** In lower case, without port and last dot. */
  readonly host: string
  /** The authority as sent; empty for an HTTP/1.0 request without one. */
  readonly authority: string
  /** The part of the target before `?`, as sent. */
  readonly path: string
  /** Path and query as sent. */
  readonly pathAndQuery: string
}

/** A host name or address as RFC 3986 section 3.2.2 has it, with or without a port. */
const authorityForm = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._~!$&'()*+,;=%-]{0,255})(:\d{0,5})?$/

/**
 * Parses the target of a request and its host headers. An absolute-form target counts for the host (RFC 9112 section 3.2.2). Undefined where
 * host headers are missing, repeated, or contradict each other, or the target is neither a path nor an http URL: the answer is 400.
 */
export function parseTarget(
  target: string,
  hosts: readonly string[],
  { needsHost }: { readonly needsHost: boolean },
): ParsedTarget | undefined {
  if (hosts.length > 1 || (needsHost && hosts.length === 0)) return undefined
  const [, absoluteAuthority, rest = ''] = /^https?:\/\/([^/?#]+)(.*)$/is.exec(target) ?? []
  const pathAndQuery = absoluteAuthority === undefined ? target : rest.replace(/^(?!\/)/, '/')
  const authority = absoluteAuthority ?? hosts[0] ?? ''
  if (!pathAndQuery.startsWith('/') || pathAndQuery.includes('#') || !authorityForm.test(authority)) return undefined
  const query = pathAndQuery.indexOf('?')
  const path = query < 0 ? pathAndQuery : pathAndQuery.slice(0, query)
  return { host: canonicalHost(authority), authority, path, pathAndQuery }
}
