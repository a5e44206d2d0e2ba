import { resolve } from 'node:path'
import { PlatnetError } from '../model/errors.ts'
import { runIsolated } from './isolate.ts'

/** EPERM, as the system would say. */
class DemoError extends PlatnetError<'EPERM'> {}

interface DemoOptions {
  /** Leaves everything running until the signal aborts, and prints how to look around. */
  readonly keep: boolean
  /** How long traffic runs at least in each step that needs it. */
  readonly seconds: number
  readonly signal: AbortSignal
}

/**
 * Runs the demo in namespaces of its own, its lines on standard output. True when everything it shows held; also true when a
 * demo that was to be kept is ended by the signal. Throws DemoError without root.
 */
export async function runDemo({ keep, seconds, signal }: DemoOptions): Promise<boolean> {
  if (process.geteuid?.() !== 0) {
    throw new DemoError('EPERM', 'the demo makes network namespaces of its own, which needs root', {
      remedy: 'run it as root: sudo npm run demo',
    })
  }
  const program = resolve(import.meta.dirname, 'demo.program.ts')
  const args = ['--seconds', String(seconds), ...(keep ? ['--keep'] : [])]
  const { exitCode } = await runIsolated(program, args, { signal })
  return exitCode === 0 || (keep && signal.aborted)
}
