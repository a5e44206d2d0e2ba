/**
 * The base class of every error that this program raises on purpose. Each owner extends it with its own closed set of codes.
 * The message says what failed, `object` names the object (for example `Service default/web`), `remedy` says what to do.
 */
export class PlatnetError<Code extends string = string> extends Error {
  readonly code: Code
  readonly object: string | undefined
  readonly remedy: string | undefined

  constructor(code: Code, message: string, details: { object?: string; remedy?: string; cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.name = new.target.name
    this.code = code
    this.object = details.object
    this.remedy = details.remedy
  }
}

/** Renders a thrown value and its causes in one line; JavaScript may throw any value. */
export function describeError(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const cause = thrown.cause === undefined ? '' : `: ${describeError(thrown.cause)}`
  return thrown.message.includes(cause.slice(2)) ? thrown.message : `${thrown.message}${cause}`
}
