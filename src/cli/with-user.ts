import type { CniUser } from '../app/commands/cni.ts'
import type { CliContext } from './program.ts'

const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs work that waits for programs in process groups of their own, which Ctrl-C of a terminal does not reach: the first signal ends the
 * programs that do the work, the second those that undo it. `undoes` is true if interrupted work is undone.
 */
export async function withUser<T>(
  { stderr }: Pick<CliContext, 'stderr'>,
  undoes: boolean,
  work: (user: CniUser) => Promise<T>,
): Promise<T> {
  const ended = new AbortController()
  const insisted = new AbortController()
  // A line of progress may stand there (output.ts).
  const tell = (line: string): void => void stderr.write(`${stderr.isTTY === true ? '\r\u001b[K' : ''}${line}\n`)
  const onSignal = (signal: NodeJS.Signals): void => {
    const isFirst = !ended.signal.aborted
    if (undoes && isFirst) tell(`${signal}: undoing what was begun; a second signal leaves it as it is`)
    else insisted.abort()
    if (undoes && !isFirst) tell(`${signal}: left as it is; "platnet cni del" undoes the rest`)
    ended.abort()
  }
  for (const signal of endSignals) process.on(signal, onSignal)
  try {
    return await work({ tell, ended: ended.signal, insisted: insisted.signal })
  } finally {
    for (const signal of endSignals) process.off(signal, onSignal)
  }
}
