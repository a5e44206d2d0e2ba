import { maxSharedTraces } from './shared-span.ts'
import type { TraceContext } from './trace-context.ts'

/** The traces of changes that the next step of a loop works on; as many as one step is shown in. */
export class PendingTraces {
  #contexts: TraceContext[] = []

  add(contexts: readonly TraceContext[] = []): void {
    const room = maxSharedTraces - this.#contexts.length
    if (room > 0 && contexts.length > 0) this.#contexts.push(...contexts.slice(0, room))
  }

  take(): readonly TraceContext[] {
    return this.#contexts.length === 0 ? none : this.#contexts.splice(0)
  }
}

const none: readonly TraceContext[] = []
