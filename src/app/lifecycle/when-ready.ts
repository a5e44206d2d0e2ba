import { setTimeout as sleep } from 'node:timers/promises'
import type { Component } from '../../loop/component.ts'

const pollMs = 20

/** Resolves when every component has done its first work: none of them is `unknown` any more. */
export async function whenReady(components: readonly Component[]): Promise<void> {
  while (components.some((component) => component.health().level === 'unknown')) {
    await sleep(pollMs, undefined, { ref: false })
  }
}
