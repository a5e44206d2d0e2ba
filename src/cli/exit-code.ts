import { AskError } from '../app/commands/ask-agent.ts'
import { exitCodes } from '../app/lifecycle/exit-codes.ts'
import { ConfigError } from '../config/index.ts'
import { describeError, PlatnetError } from '../model/errors.ts'
import { visibleLines } from '../model/visible-text.ts'
import { redactText } from '../observe/index.ts'

export { exitCodes }

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The words or flags of a command cannot be meant so; it ends with exit code 2. */
export class UsageError extends PlatnetError<'bad-question'> {}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof ConfigError) return exitCodes.usage
  if (error instanceof AskError) return exitCodeOfAsking(error)
  if (error instanceof PlatnetError && error.code === 'bad-question') return exitCodes.usage
  return isPrivilegeError(error) ? exitCodes.noPrivilege : exitCodes.failure
}

function exitCodeOfAsking({ code }: AskError): ExitCode {
  if (code === 'bad-question') return exitCodes.usage
  if (code === 'no-access') return exitCodes.noPrivilege
  return code === 'not-found' ? exitCodes.failure : exitCodes.unhealthy
}

/** Renders what failed, on which object, and what to do; with the stack if `debug` is set. */
export function renderError(error: unknown, options: { readonly debug: boolean }): string {
  const lines = error instanceof ConfigError ? error.problems : [describeError(error)]
  const { object } = error instanceof PlatnetError ? error : { object: undefined }
  const remedy = remedyOf(error) ?? (isPrivilegeError(error) ? 'run it as root' : undefined)
  const stack = options.debug && error instanceof Error ? error.stack : undefined
  const text = [
    ...lines.map((line) => `error: ${line}`),
    ...(object === undefined ? [] : [`  on: ${object}`]),
    ...(remedy === undefined ? [] : [`  what to do: ${remedy}`]),
    ...(stack === undefined ? [] : [stack]),
  ].join('\n')
  return `${visibleLines(redactText(text))}\n`
}

/** Returns the remedy of the outermost error that has one. */
function remedyOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  return (error instanceof PlatnetError ? error.remedy : undefined) ?? remedyOf(error.cause)
}

/** Tells whether any error of the cause chain is EACCES or EPERM. */
function isPrivilegeError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const isRefusal = 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
  return isRefusal || isPrivilegeError(error.cause)
}
