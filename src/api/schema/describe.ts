import descriptions from './descriptions.json' with { type: 'json' }

type Texts = Readonly<Record<string, string>>

/** By message of `kinds.json`, then by field, `""` for the message itself; the message `""` has the fields that mean the same wherever they stand. */
const texts: Readonly<Record<string, Texts>> = descriptions

/** What a type is, for people; undefined where nobody has written it. */
export function describeMessage(message: string): string | undefined {
  return textOf(message, '')
}

/** What a field of a type is, in its own words or those that hold for all fields of the name. */
export function describeField(message: string, field: string): string | undefined {
  return textOf(message, field) ?? textOf('', field)
}

function textOf(message: string, field: string): string | undefined {
  const own = Object.hasOwn(texts, message) ? texts[message] : undefined
  return own !== undefined && Object.hasOwn(own, field) ? own[field] : undefined
}
