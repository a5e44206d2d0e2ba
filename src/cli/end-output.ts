import type { Writable } from 'node:stream'

interface Output {
  readonly stdout: Writable
  readonly stderr: Writable
  exit(code: number): void
}

/**
 * What is written to a pipe waits where its reader is slower, and an exit throws it away: the function that comes back waits for it. A reader
 * that has gone (`platnet logs … | head`) has enough, and ends the process in silence; messages that nobody reads end nothing.
 */
export function endOutput({ stdout, stderr, exit }: Output): () => Promise<void> {
  stderr.on('error', () => {})
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') exit(0)
    // A terminal that was closed: SIGHUP says so.
    else if (error.code !== 'EIO') throw error
  })
  return async () => {
    for (const stream of [stdout, stderr]) await new Promise((written) => stream.write('', written))
  }
}
