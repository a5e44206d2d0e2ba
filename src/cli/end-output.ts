import type { Writable } from 'node:stream'
import { exitCodes } from '../app/lifecycle/exit-codes.ts'

interface Output {
  readonly stdout: Writable
  readonly stderr: Writable
  exit(code: number): void
}

/**
 * Returns a function that waits until all output is written: text in a pipe with a slow reader is lost at an exit. A closed standard
 * output (`platnet logs … | head`) ends the process in silence, a full disk with an error; a closed standard error ends nothing.
 */
export function endOutput({ stdout, stderr, exit }: Output): () => Promise<void> {
  stderr.on('error', () => {})
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return exit(0)
    // A closed terminal sends SIGHUP as well, which ends the process.
    if (error.code === 'EIO') return
    stderr.write(`error: the output cannot be written: ${error.message}\n`)
    exit(exitCodes.failure)
  })
  return async () => {
    for (const stream of [stdout, stderr]) await new Promise((written) => stream.write('', written))
  }
}
