import { setTimeout as sleep } from 'node:timers/promises'
import { revisionTimeout } from '../status.ts'
import type { Store } from '../store/index.ts'

const futureWaitMs = 3_000
const futurePollMs = 50

/** A client may know a revision that this server has not seen yet; it waits a little for it, then answers 504. */
export async function waitForRevision(store: Store, wanted: number | undefined): Promise<void> {
  const deadlineMs = performance.now() + futureWaitMs
  while (wanted !== undefined && wanted > store.revision) {
    if (performance.now() > deadlineMs) throw revisionTimeout(wanted, store.revision)
    await sleep(futurePollMs)
  }
}
