import type { StallReason } from '../cni/index.ts'

/** A plugin that hangs delays a pod for a minute, and its removal for another one. The reason is reported within seconds. */
const checkIntervalMs = 1000

/** Does work on the network of a pod and reports each stall reason once. Reports nothing after it has resolved. */
export async function watchStalls<T>(
  stallReasonOf: () => StallReason | undefined,
  onStall: (stallReason: StallReason) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  let reported = ''
  let reporting: Promise<unknown> | undefined
  const timer = setInterval(() => {
    const stallReason = stallReasonOf()
    const text = JSON.stringify(stallReason) ?? ''
    if (stallReason === undefined || text === reported || reporting !== undefined) return
    reported = text
    reporting = onStall(stallReason).finally(() => {
      reporting = undefined
    })
  }, checkIntervalMs)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await reporting
  }
}
