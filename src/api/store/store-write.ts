import type { StoredEntry, StoreEvent, StoreWrite } from './store-entries.ts'
import { StoreError } from './store-error.ts'

/** Refuses writes that are invalid whatever the store holds. */
export function assertSensible(writes: readonly StoreWrite[]): void {
  if (writes.length === 0) throw invalidWrite('a commit needs at least one write')
  const keys = new Set<string>()
  for (const write of writes) {
    if (keys.has(write.key)) throw invalidWrite('a commit writes each key once', write.key)
    keys.add(write.key)
    assertSensibleWrite(write)
  }
}

function assertSensibleWrite(write: StoreWrite): void {
  const { key, expectedRevision } = write
  if (key === '' || !key.isWellFormed())
    throw invalidWrite('a key is text, not empty, of whole Unicode characters', key)
  if (write.kind === 'put' && !write.value.isWellFormed()) {
    throw invalidWrite('a value is text of whole Unicode characters', key)
  }
  const lowest = write.kind === 'delete' ? 1 : 0
  if (!Number.isSafeInteger(expectedRevision) || expectedRevision < lowest) {
    throw invalidWrite(`a ${write.kind} expects a whole revision of at least ${lowest}, not ${expectedRevision}`, key)
  }
}

function invalidWrite(message: string, key?: string): StoreError {
  return new StoreError('invalid-write', message, key === undefined ? {} : { object: `key ${key.toWellFormed()}` })
}

/** Returns the event of a write at its revision; the key's present entry must be the expected one. */
export function toStoreEvent(write: StoreWrite, revision: number, previous: StoredEntry | undefined): StoreEvent {
  const { key } = write
  if (write.kind === 'put') {
    const createRevision = previous?.createRevision ?? revision
    return { kind: 'put', entry: { key, value: write.value, createRevision, revision }, previous }
  }
  if (previous === undefined) throw invalidWrite('only a key that is there can be deleted', key)
  return { kind: 'delete', key, revision, previous }
}
