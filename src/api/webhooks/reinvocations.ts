import type { Webhook } from './webhook.ts'

/**
 * The webhooks that are asked a second time: those with the reinvocation policy IfNeeded after which another one has
 * changed the object.
 */
export class Reinvocations {
  #asked = new Set<Webhook>()
  readonly #due = new Set<Webhook>()
  #hasChange = false

  /** Whether any webhook has changed the object. */
  get hasChange(): boolean {
    return this.#hasChange
  }

  isDue(webhook: Webhook): boolean {
    return this.#due.has(webhook)
  }

  /** Records that a webhook was asked, and whether it changed the object. */
  record(webhook: Webhook, hasChanged: boolean): void {
    if (hasChanged) this.#callBack()
    if (webhook.isReinvoked) this.#asked.add(webhook)
  }

  #callBack(): void {
    this.#hasChange = true
    for (const earlier of this.#asked) this.#due.add(earlier)
    this.#asked = new Set()
  }
}
