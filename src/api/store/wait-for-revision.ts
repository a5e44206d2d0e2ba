import { setTimeout as sleep } from 'node:timers/promises'
import { revisionTimeout } from '../status.ts'
import type { Store } from './index.ts'

const futureWaitMs = 3_000
const futurePollMs = 50

/** Runs work that only waits, and keeps no other request from being served; `too-many` without running it where too many wait. */
export type Aside = (work: () => Promise<void>) => Promise<'done' | 'too-many'>

/** A client may know a revision that this server has not seen yet; it waits a little for it, then answers 504. */
export async function waitForRevision(store: Store, wanted: number | undefined, aside: Aside = atOnce): Promise<void> {
  if (wanted === undefined || wanted <= store.revision) return
  await aside(async () => {
    const deadlineMs = performance.now() + futureWaitMs
    while (wanted > store.revision && performance.now() < deadlineMs) await sleep(futurePollMs)
  })
  if (wanted > store.revision) throw revisionTimeout(wanted, store.revision)
}

/** As it is, where nothing else is kept from being served. */
export async function atOnce(work: () => Promise<void>): Promise<'done'> {
  await work()
  return 'done'
}
