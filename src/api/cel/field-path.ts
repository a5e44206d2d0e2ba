import type { Schema } from '../schema/schema.ts'

const step = /\.([^.[\]']+)|\[('(?:[^'\\]|\\.)*')\]/y

interface Step {
  readonly name: string
  readonly isQuoted: boolean
}

/** Returns a rule's `fieldPath` in the form of errors; undefined where it names no field of the schema. */
export function normalizeFieldPath(path: string, schema: Schema): string | undefined {
  const steps = path === '' ? undefined : readSteps(path)
  let below: Schema | undefined = schema
  let normalized = ''
  for (const each of steps ?? []) {
    const taken = takeStep(below, each)
    if (taken === undefined) return undefined
    below = taken.schema
    normalized += taken.text
  }
  return steps === undefined ? undefined : normalized
}

function readSteps(path: string): readonly Step[] | undefined {
  const steps: Step[] = []
  const pattern = new RegExp(step)
  while (pattern.lastIndex < path.length) {
    const match = pattern.exec(path)
    if (match === null) return undefined
    const [, field, quoted = ''] = match
    steps.push({ name: field ?? quoted.slice(1, -1).replaceAll(/\\(.)/g, '$1'), isQuoted: field === undefined })
  }
  return steps
}

/** Follows one step. A property is named with a dot or in brackets, the key of a map in brackets only. */
function takeStep({ properties = {}, additionalProperties }: Schema, { name, isQuoted }: Step) {
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined
  if (property !== undefined) return { schema: property, text: `.${name}` }
  return isQuoted && additionalProperties !== undefined
    ? { schema: additionalProperties, text: `[${name}]` }
    : undefined
}
