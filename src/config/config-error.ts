import { PlatnetError } from '../model/errors.ts'

/** Lists every problem of the options, one line each. */
export class ConfigError extends PlatnetError<'config-invalid' | 'config-unreadable'> {
  readonly problems: readonly string[]

  constructor(
    code: 'config-invalid' | 'config-unreadable',
    problems: readonly string[],
    details: { cause?: unknown } = {},
  ) {
    super(code, problems.join('\n'), details)
    this.problems = problems
  }
}

/** Describes a rejected value in short, and without its text if it is a secret. */
export function describeGot(value: unknown, isSecret: boolean): string {
  if (isSecret) return '[redacted]'
  const text = toJson(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/** Renders a value as JSON; YAML aliases can build values that contain themselves, which have no JSON. */
function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'nothing'
  } catch {
    return 'something that is not plain data'
  }
}
