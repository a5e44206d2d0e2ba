import type { TestContext } from 'node:test'
import type { Worker } from 'node:worker_threads'

/** Returns the list of threads that are started from now on, which grows until the test ends. */
export function watchStartedThreads(test: TestContext): readonly Worker[] {
  const workers: Worker[] = []
  const note = (worker: Worker) => void workers.push(worker)
  process.on('worker', note)
  test.after(() => process.off('worker', note))
  return workers
}
