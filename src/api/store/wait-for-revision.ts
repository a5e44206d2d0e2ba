import { setTimeout as sleep } from 'node:timers/promises'
import { revisionTimeout } from '../status.ts'
import type { Store } from './index.ts'

const futureWaitMs = 3_000
const futurePollMs = 50

/** Runs work that only waits, without delaying other requests; returns `too-many` without running it where too many wait. */
export type Aside = (work: () => Promise<void>) => Promise<'done' | 'too-many'>

/**
 * Waits for a revision, or without one for the newest that any server has acknowledged. A client may know one that this server has not seen
 * yet; after a short wait the request gets a 504.
 */
export async function waitForRevision(store: Store, wanted: number | undefined, aside: Aside = atOnce): Promise<void> {
  if (wanted === undefined || wanted > store.revision) await store.catchUp()
  if (wanted === undefined || wanted <= store.revision) return
  await aside(async () => {
    const deadlineMs = performance.now() + futureWaitMs
    while (wanted > store.revision && performance.now() < deadlineMs) await sleep(futurePollMs)
  })
  if (wanted > store.revision) throw revisionTimeout(wanted, store.revision)
}

/** Runs the work directly, where no other request is delayed. */
export async function atOnce(work: () => Promise<void>): Promise<'done'> {
  await work()
  return 'done'
}
