import { setTimeout as sleep } from 'node:timers/promises'
import type { Component } from '../../loop/component.ts'

const pollMs = 20

/** Resolves when every component has completed its first work: when the health of none is `unknown`. */
export async function whenReady(components: readonly Component[]): Promise<void> {
  while (components.some((component) => component.health().level === 'unknown')) {
    await sleep(pollMs, undefined, { ref: false })
  }
}
