import descriptions from './descriptions.json' with { type: 'json' }
import tables from './kinds.json' with { type: 'json' }

/** One field of a message, as JSON and as protobuf know it. */
export interface MessageField {
  /** In JSON; empty for an `inline` field. */
  readonly name: string
  /** In protobuf. */
  readonly number: number
  /** A protobuf scalar, another message, or one of the forms in which JSON differs: `time`, `quantity`, `int-or-string` … */
  readonly type: string
  readonly repeated?: true
  /** A map from strings to `type`. */
  readonly map?: true
  /** JSON has the fields of `type` in this one's place. */
  readonly inline?: true
  readonly required?: true
  /** On the wire of protobuf `0`, `false` and `""` mean themselves; elsewhere they mean that the field is not there. */
  readonly keepsZero?: true
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listMapKeys?: readonly string[]
  readonly mapType?: 'granular' | 'atomic'
  readonly patchMergeKey?: string
  readonly patchStrategy?: readonly ('merge' | 'replace' | 'retainKeys')[]
}

export interface Message {
  /** Server-side apply takes it as one value. */
  readonly atomic?: true
  readonly fields: readonly MessageField[]
}

/** The built-in kinds: what `scripts/generate-kinds.ts` wrote. */
export interface KindTables {
  /** Message names by the group's first label, version and kind: `/v1/Pod`, `discovery/v1/EndpointSlice`. */
  readonly kinds: Readonly<Record<string, string>>
  readonly messages: Readonly<Record<string, Message>>
}

/** The file is ours and generated with these very types. */
export const kindTables = tables as unknown as KindTables

/** The message of a kind; of its group only the first label counts, which is the same in every dialect. */
export function messageOf(group: string, version: string, kind: string): string | undefined {
  const key = `${group.split('.', 1)[0]}/${version}/${kind}`
  return Object.hasOwn(kindTables.kinds, key) ? kindTables.kinds[key] : undefined
}

/** By message and field; `""` is the message itself. */
const texts: Readonly<Record<string, Readonly<Record<string, string>>>> = descriptions

/** The text for people of a field of a message, or of the message itself (`""`). */
export function descriptionOf(message: string, field: string): string | undefined {
  return Object.hasOwn(texts, message) ? texts[message]?.[field] : undefined
}
