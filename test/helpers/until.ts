import { setTimeout as sleep } from 'node:timers/promises'

/** Waits until the condition holds; fails after `timeoutMs` with what was waited for. */
export async function until(what: string, condition: () => boolean, timeoutMs = 20_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error(`timed out waiting until ${what}`)
    await sleep(5)
  }
}

/** Waits like `until` for a condition that is asynchronous. */
export async function untilAsync(what: string, condition: () => Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`timed out waiting until ${what}`)
    await sleep(20)
  }
}
