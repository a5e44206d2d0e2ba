import type { Writable } from 'node:stream'

interface Output {
  readonly stdout: Writable
  readonly stderr: Writable
  exit(code: number): void
}

/**
 * Returns a function that waits until all output is written: text in a pipe with a slow reader is lost at an exit. A closed standard
 * output (`platnet logs … | head`) ends the process in silence; a closed standard error ends nothing.
 */
export function endOutput({ stdout, stderr, exit }: Output): () => Promise<void> {
  stderr.on('error', () => {})
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') exit(0)
    // A closed terminal sends SIGHUP as well, which ends the process.
    else if (error.code !== 'EIO') throw error
  })
  return async () => {
    for (const stream of [stdout, stderr]) await new Promise((written) => stream.write('', written))
  }
}
