import descriptions from './descriptions.json' with { type: 'json' }
import tables from './kinds.json' with { type: 'json' }

/** One field of a message, as JSON and as protobuf know it. */
export interface MessageField {
  /** The name in JSON; empty for an `inline` field. */
  readonly name: string
  /** The field number in protobuf. */
  readonly number: number
  /** A protobuf scalar, another message, or one of the forms in which JSON differs: `time`, `quantity`, `int-or-string` … */
  readonly type: string
  readonly repeated?: true
  /** The field is a map from strings to `type`. */
  readonly map?: true
  /** JSON holds the fields of `type` in place of this field. */
  readonly inline?: true
  readonly required?: true
  /** On the protobuf wire `0`, `false` and `""` are values of this field; in other fields they mean that the field is absent. */
  readonly keepsZero?: true
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listMapKeys?: readonly string[]
  readonly mapType?: 'granular' | 'atomic'
  readonly patchMergeKey?: string
  readonly patchStrategy?: readonly ('merge' | 'replace' | 'retainKeys')[]
}

export interface Message {
  /** Server-side apply treats the field as one value. */
  readonly atomic?: true
  readonly fields: readonly MessageField[]
}

/** The built-in kinds, as `scripts/generate-kinds.ts` writes them. */
export interface KindTables {
  /** Message names by the group's first label, version and kind: `/v1/Pod`, `discovery/v1/EndpointSlice`. */
  readonly kinds: Readonly<Record<string, string>>
  readonly messages: Readonly<Record<string, Message>>
}

/** The tables of `kinds.json`. A script of this project generates the file with these types, so it needs no check. */
export const kindTables = tables as unknown as KindTables

/** Returns the message of a kind; only the first label of its group counts, which all dialects share. */
export function messageOf(group: string, version: string, kind: string): string | undefined {
  const key = `${group.split('.', 1)[0]}/${version}/${kind}`
  return Object.hasOwn(kindTables.kinds, key) ? kindTables.kinds[key] : undefined
}

/** The descriptions by message and field; `""` is the message itself. */
const texts: Readonly<Record<string, Readonly<Record<string, string>>>> = descriptions

/** Returns the description of a message's field, or of the message itself (`""`). */
export function descriptionOf(message: string, field: string): string | undefined {
  return Object.hasOwn(texts, message) ? texts[message]?.[field] : undefined
}
