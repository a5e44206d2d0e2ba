import { followStore } from '../access/follow-store.ts'
import type { ApiDocument } from '../document.ts'
import { webhookPlurals } from '../resources/admission/webhook-configurations.ts'
import { collectionPrefix } from '../resources/keys.ts'
import type { Store, StoreWatch } from '../store/index.ts'
import { readWebhooks, type Webhook, type WebhookType } from './webhook.ts'

const types = ['mutating', 'validating'] as const

/** The webhooks of the stored configurations, kept in memory: a write without any costs no look into the store. */
export class WebhookIndex {
  readonly #store: Store
  readonly #onChange: (names: ReadonlySet<string>) => void
  /** The webhooks of each configuration, by its name. */
  readonly #configurations: Readonly<Record<WebhookType, Map<string, readonly Webhook[]>>> = {
    mutating: new Map(),
    validating: new Map(),
  }
  readonly #webhooks: Record<WebhookType, readonly Webhook[]> = { mutating: [], validating: [] }
  #watches: readonly StoreWatch[] = []

  /** `onChange` gets the names of all webhooks. */
  constructor(store: Store, onChange: (names: ReadonlySet<string>) => void) {
    this.#store = store
    this.#onChange = onChange
  }

  async start(): Promise<void> {
    const follow = (type: WebhookType) =>
      followStore(this.#store, collectionPrefix({ plural: webhookPlurals[type] }, undefined), (name, document) =>
        this.#set(type, name, document),
      )
    this.#watches = await Promise.all(types.map(follow))
  }

  stop(): void {
    for (const watch of this.#watches) watch.close()
  }

  /** Returns the webhooks in the order in which they are asked: by the name of their configuration, then as it lists them. */
  webhooksOf(type: WebhookType): readonly Webhook[] {
    return this.#webhooks[type]
  }

  #set(type: WebhookType, name: string, document: ApiDocument | undefined): void {
    const configurations = this.#configurations[type]
    if (document === undefined) configurations.delete(name)
    else configurations.set(name, readWebhooks(type, document))
    const ordered = [...configurations].toSorted(([a], [b]) => (a < b ? -1 : 1))
    this.#webhooks[type] = ordered.flatMap(([, webhooks]) => webhooks)
    this.#onChange(new Set(Object.values(this.#webhooks).flatMap((all) => all.map((webhook) => webhook.name))))
  }
}
