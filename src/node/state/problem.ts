import type { z } from 'zod'

/** One thing in an API object that this node cannot use, for logs and status. */
export interface Problem {
  /** `Service default/web` */
  readonly object: string
  /** `spec.ports[1].port` */
  readonly field: string
  readonly expected: string
  /** The value that was found, as JSON, shortened. */
  readonly found: string
}

/** The parsed value of an object. No value and no problem: the object is ignored. */
export interface Parsed<Value> {
  readonly value: Value | undefined
  readonly problems: readonly Problem[]
}

export function formatProblem({ object, field, expected, found }: Problem): string {
  return `${object}: ${field}: expected ${expected}, found ${found}`
}

/** A schema with the words that say what it accepts. */
export interface Field<Value> {
  readonly schema: z.ZodType<Value>
  readonly expected: string
  /**
   * Reads what nearly every object holds, in a tenth of the schema's time; what it leaves undefined the schema judges. Both
   * read a value alike.
   */
  readonly quick?: (json: unknown) => Value | undefined
}

/** Reads the fields of one object and remembers what was wrong with them. */
export class FieldReader {
  readonly #describe: () => string
  readonly problems: Problem[] = []

  /** @param describe names the object, for a problem: `Service default/web` */
  constructor(describe: () => string) {
    this.#describe = describe
  }

  /**
   * The value, or undefined and a problem.
   *
   * @param below where the value is under `path`: joined for a problem only, as a list has many thousands of values
   */
  required<Value>(field: Field<Value>, json: unknown, path: string, below = ''): Value | undefined {
    const quick = field.quick?.(json)
    if (quick !== undefined) return quick
    const parsed = field.schema.safeParse(json)
    if (parsed.success) return parsed.data
    this.report(path + below, field.expected, json)
    return undefined
  }

  /** Like `required`, but absent and null are no problem. */
  optional<Value>(field: Field<Value>, json: unknown, path: string, below = ''): Value | undefined {
    return json === undefined || json === null ? undefined : this.required(field, json, path, below)
  }

  report(field: string, expected: string, json: unknown): void {
    this.problems.push({ object: this.#describe(), field, expected, found: quote(json) })
  }
}

const maxQuoteLength = 60

function quote(json: unknown): string {
  if (json === undefined) return 'nothing'
  if (Array.isArray(json)) return `a list of ${json.length}`
  if (typeof json === 'object' && json !== null) return 'an object'
  const text = JSON.stringify(typeof json === 'string' ? json.slice(0, maxQuoteLength + 1) : json)
  return text.length > maxQuoteLength ? `${text.slice(0, maxQuoteLength)}…` : text
}
