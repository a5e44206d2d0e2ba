type Kind =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'opaque'
  | 'param'
  | 'string'
  | 'struct'
  | 'timestamp'
  | 'type'
  | 'uint'

/** The types of an object's fields, by their names in rules. */
export interface FieldTypes {
  get(field: string): CelType | undefined
}

/** A type of CEL. Those without parameters exist once; others are equal where their names and parameters are. */
export class CelType {
  readonly kind: Kind
  readonly name: string
  readonly parameters: readonly CelType[]
  readonly fields: FieldTypes | undefined
  /** The number of types in it. */
  readonly size: number

  constructor(kind: Kind, name: string, parameters: readonly CelType[] = [], fields?: FieldTypes) {
    this.kind = kind
    this.name = name
    this.parameters = parameters
    this.fields = fields
    this.size = parameters.reduce((sum, each) => sum + each.size, 1)
  }

  equals(other: CelType): boolean {
    if (this === other) return true
    return (
      this.kind === other.kind &&
      this.name === other.name &&
      this.parameters.length === other.parameters.length &&
      this.parameters.every((each, index) => each.equals(other.parameters[index] as CelType))
    )
  }

  /** The text of the type in errors: `list(string)`. */
  toString(): string {
    const shown = shownNames[this.kind] ?? this.name
    return this.parameters.length === 0 || this.kind === 'error' ? shown : `${shown}(${this.parameters.join(', ')})`
  }
}

const shownNames: Partial<Record<Kind, string>> = {
  duration: 'duration',
  timestamp: 'timestamp',
  null: 'null',
  error: '!error!',
}

export const types = {
  bool: new CelType('bool', 'bool'),
  bytes: new CelType('bytes', 'bytes'),
  double: new CelType('double', 'double'),
  duration: new CelType('duration', 'google.protobuf.Duration'),
  dyn: new CelType('dyn', 'dyn'),
  error: new CelType('error', 'error'),
  int: new CelType('int', 'int'),
  null: new CelType('null', 'null_type'),
  string: new CelType('string', 'string'),
  timestamp: new CelType('timestamp', 'google.protobuf.Timestamp'),
  type: new CelType('type', 'type'),
  uint: new CelType('uint', 'uint'),
} as const

/** The types of Kubernetes. Addresses are opaque, the others structs: a null can be compared with both. */
const namedTypes: ReadonlyMap<string, CelType> = new Map(
  [
    ...['net.IP', 'net.CIDR'].map((name) => new CelType('opaque', name)),
    ...['Quantity', 'Semver', 'URL', 'NamedFormat'].map((name) => new CelType('struct', `kubernetes.${name}`)),
    ...['Authorizer', 'PathCheck', 'GroupCheck', 'ResourceCheck', 'Decision'].map(
      (name) => new CelType('struct', `kubernetes.authorization.${name}`),
    ),
  ].map((type) => [type.name, type]),
)

export function listType(item: CelType): CelType {
  return new CelType('list', 'list', [item])
}

export function mapType(key: CelType, value: CelType): CelType {
  return new CelType('map', 'map', [key, value])
}

export function optionalType(value: CelType): CelType {
  return new CelType('opaque', 'optional_type', [value])
}

export function typeOfType(type: CelType): CelType {
  return new CelType('type', 'type', [type])
}

export function isOptional(type: CelType): boolean {
  return type.name === 'optional_type'
}

/** Returns the type inside an optional; other types stay as they are. */
export function unwrapOptional(type: CelType): CelType {
  return isOptional(type) ? (type.parameters[0] ?? types.dyn) : type
}

/** Reads a type as it is shown, `map(K, list(int))`; single capitals stand for any type. */
export function parseType(text: string): CelType {
  const [, name = '', inside] = /^([\w.]+)(?:\((.*)\))?$/.exec(text) ?? []
  const parameters = inside === undefined ? [] : splitTypes(inside).map(parseType)
  if (name === 'list' || name === 'map') return new CelType(name, name, parameters)
  if (name === 'optional_type') return new CelType('opaque', name, parameters)
  if (name === 'type' && parameters.length > 0) return new CelType('type', name, parameters)
  if (/^[A-Z]$/.test(name)) return new CelType('param', name)
  const known = Object.hasOwn(types, name) ? types[name as keyof typeof types] : namedTypes.get(name)
  if (known === undefined) throw new Error(`no type: ${text}`)
  return known
}

/** Splits a text at commas outside parentheses. */
export function splitTypes(text: string): readonly string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (const [index, character] of [...text].entries()) {
    if (character === '(') depth++
    if (character === ')') depth--
    if (character === ',' && depth === 0) {
      parts.push(text.slice(start, index).trim())
      start = index + 1
    }
  }
  const last = text.slice(start).trim()
  return last === '' ? parts : [...parts, last]
}
