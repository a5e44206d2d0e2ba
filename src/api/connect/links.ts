/** Returns the link that leads through this server, where the given one leads to the backend; any other stays. */
export type LinkRewriter = (link: string) => string

const parts = /^(?<origin>(?:[a-z][a-z0-9+.-]*:)?\/\/(?<host>[^/?#]*))?(?<path>\/[^?#]*)(?<rest>[?#].*)?$/is

/**
 * Rewrites links with an absolute path, of the backend or of the host that the client asked: they begin with the prefix
 * then. The backend's name is taken away, the client's stays.
 */
export function createLinkRewriter({
  prefix,
  backend,
  asked,
}: {
  readonly prefix: string
  readonly backend: string
  /** The Host of the client's request. */
  readonly asked: string
}): LinkRewriter {
  return (link) => {
    const { origin = '', host = '', path, rest = '' } = parts.exec(link)?.groups ?? {}
    const isOther = host !== '' && host !== backend && host !== asked
    if (path === undefined || isOther) return link
    const place = path.startsWith(prefix) ? path : `${prefix}${path}`
    return `${host === asked ? origin : ''}${place}${rest}`
  }
}
