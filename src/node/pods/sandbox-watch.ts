import type { StallReason } from '../cni/index.ts'

/** A plugin that hangs delays a pod for a minute, and its removal for another: the reason is reported within seconds. */
const lookEveryMs = 1000

/** Does work on the network of a pod and reports each stall reason once. Reports nothing after it has resolved. */
export async function watchStalls<T>(
  ask: () => StallReason | undefined,
  tell: (stallReason: StallReason) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  let told = ''
  let telling: Promise<unknown> | undefined
  const timer = setInterval(() => {
    const stallReason = ask()
    const text = JSON.stringify(stallReason) ?? ''
    if (stallReason === undefined || text === told || telling !== undefined) return
    told = text
    telling = tell(stallReason).finally(() => {
      telling = undefined
    })
  }, lookEveryMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await telling
  }
}
