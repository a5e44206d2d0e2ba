/**
 * The base of every error this program raises on purpose. Each owner extends it with its own closed set of codes.
 * The message says what failed; `object` names on what (for example `Service default/web`), `remedy` what to do about it.
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

/** What was thrown, in one line, causes included; anything may be thrown in JavaScript. */
export function describeError(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const cause = thrown.cause === undefined ? '' : `: ${describeError(thrown.cause)}`
  return thrown.message.includes(cause.slice(2)) ? thrown.message : `${thrown.message}${cause}`
}
