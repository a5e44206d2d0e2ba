// Starts programs for a process that is too large to fork quickly (spawn-helper.ts). Ends with its parent.
import { ExecError } from './exec.ts'
import { type CaptureOptions, runCaptured } from './run-captured.ts'
import type { HelperAnswer, HelperRequest } from './spawn-helper.ts'

const running = new Map<number, AbortController>()

async function run(id: number, file: string, args: readonly string[], options: CaptureOptions): Promise<HelperAnswer> {
  const abort = new AbortController()
  running.set(id, abort)
  try {
    return { id, run: await runCaptured(file, args, { ...options, signal: abort.signal }) }
  } catch (error) {
    if (!(error instanceof ExecError)) throw error
    const { cause } = error
    const reason = cause instanceof Error ? cause.message : error.message
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined
    return { id, failure: { reason, ...(code !== undefined && { code }) } }
  } finally {
    running.delete(id)
  }
}

process.on('message', (request: HelperRequest) => {
  if ('abort' in request) running.get(request.abort)?.abort()
  else void run(request.id, request.file, request.args, request.options).then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit(0))
