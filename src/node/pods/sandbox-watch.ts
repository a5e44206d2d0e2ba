import type { HoldUp } from './runtime.ts'

/** A plugin that hangs holds a pod up for a minute, and its undoing for another: what happens is told within seconds. */
const lookEveryMs = 1000

/** Does work on a pod's network and tells each thing that holds it up once. Nothing is told any more when it resolves. */
export async function watchHoldUps<T>(
  ask: () => HoldUp | undefined,
  tell: (holdUp: HoldUp) => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  let told = ''
  let telling: Promise<unknown> | undefined
  const timer = setInterval(() => {
    const holdUp = ask()
    const text = JSON.stringify(holdUp) ?? ''
    if (holdUp === undefined || text === told || telling !== undefined) return
    told = text
    telling = tell(holdUp).finally(() => {
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
