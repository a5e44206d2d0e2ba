// Starts programs for a process that is too large to fork quickly (spawn-helper.ts). Ends with its parent.
import { ExecError } from './exec.ts'
import { type CapturedRun, type CaptureOptions, runCaptured } from './run-captured.ts'
import type { HelperAnswer, HelperRequest } from './spawn-helper.ts'

/** A message is parsed in one go by a process that has other things to do: longer output goes in parts. */
const maxPartChars = 65_536

const running = new Map<number, AbortController>()

function send(answer: HelperAnswer): void {
  process.send?.(answer)
}

function sendRun(id: number, run: CapturedRun): void {
  const { stdout } = run
  for (let start = 0; start < stdout.length - maxPartChars; start += maxPartChars)
    send({ id, part: stdout.slice(start, start + maxPartChars) })
  const sent = Math.max(0, Math.ceil(stdout.length / maxPartChars) - 1) * maxPartChars
  send({ id, run: { ...run, stdout: stdout.slice(sent) } })
}

async function run(id: number, file: string, args: readonly string[], options: CaptureOptions): Promise<void> {
  const abort = new AbortController()
  running.set(id, abort)
  try {
    sendRun(id, await runCaptured(file, args, { ...options, signal: abort.signal }))
  } catch (error) {
    if (!(error instanceof ExecError)) throw error
    const { cause } = error
    const reason = cause instanceof Error ? cause.message : error.message
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined
    send({ id, failure: { reason, ...(code !== undefined && { code }) } })
  } finally {
    running.delete(id)
  }
}

process.on('message', (request: HelperRequest) => {
  if ('abort' in request) running.get(request.abort)?.abort()
  else void run(request.id, request.file, request.args, request.options)
})
process.on('disconnect', () => process.exit(0))
