import { RE2JS, RE2JSException } from 're2js'

/** The compiled patterns of a schema. RE2 matches in linear time: no pattern of a definition can stall the server. */
export class Patterns {
  readonly #compiled = new Map<string, RE2JS | undefined>()

  /** Matches anywhere in the text. A pattern that cannot be compiled matches everything: definitions with such a pattern are refused. */
  matches(pattern: string, text: string): boolean {
    if (!this.#compiled.has(pattern)) this.#compiled.set(pattern, compile(pattern))
    return this.#compiled.get(pattern)?.matcher(text).find() ?? true
  }
}

function compile(pattern: string): RE2JS | undefined {
  return patternProblem(pattern) === undefined ? RE2JS.compile(pattern) : undefined
}

/** Returns why a pattern is not RE2, in Go's wording; undefined for a valid one. */
export function patternProblem(pattern: string): string | undefined {
  try {
    RE2JS.compile(pattern)
    return undefined
  } catch (thrown) {
    if (thrown instanceof RE2JSException) return thrown.message
    throw thrown
  }
}
