import type { Json } from '../../model/api-object.ts'
import { isJsonObject, textAt } from '../document.ts'

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  /** A filter such as `[?(@.type=="Ready")]`. */
  | { readonly kind: 'filter'; readonly path: readonly string[]; readonly value: string }

/** The steps of a path; undefined for a path that cannot be parsed, which finds nothing. */
export type JsonPath = readonly Step[] | undefined

const stepPattern =
  /\.([A-Za-z0-9_\-/]+(?:\\\.[A-Za-z0-9_\-/]+)*)|\[(-?\d+)\]|(\[\*\]|\.\*)|\['([^']+)'\]|\[\?\(@((?:\.[A-Za-z0-9_-]+)+)\s*==\s*(?:"([^"]*)"|'([^']*)')\)\]/y

/** Parses the JSONPath of printer columns: fields, indexes, `[*]` and equality filters. */
export function parseJsonPath(text: string): JsonPath {
  const steps: Step[] = []
  const pattern = new RegExp(stepPattern)
  while (pattern.lastIndex < text.length) {
    const match = pattern.exec(text)
    if (match === null) return undefined
    steps.push(toStep(match))
  }
  return steps
}

function toStep([, field, index, all, quoted, path, double, single]: RegExpExecArray): Step {
  if (index !== undefined) return { kind: 'index', index: Number(index) }
  if (all !== undefined) return { kind: 'all' }
  if (path !== undefined) return { kind: 'filter', path: path.slice(1).split('.'), value: double ?? single ?? '' }
  return { kind: 'field', name: quoted ?? (field ?? '').replaceAll('\\.', '.') }
}

/** Returns every value that the path finds. */
export function readJsonPath(path: JsonPath, root: Json): readonly Json[] {
  if (path === undefined) return []
  return path.reduce<readonly Json[]>((values, step) => values.flatMap((value) => takeStep(step, value)), [root])
}

function takeStep(step: Step, value: Json): readonly Json[] {
  const items = Array.isArray(value) ? (value as readonly Json[]) : undefined
  switch (step.kind) {
    case 'field':
      return isJsonObject(value) && Object.hasOwn(value, step.name) ? [value[step.name] ?? null] : []
    case 'index':
      return items?.slice(step.index).slice(0, 1) ?? []
    case 'all':
      return items ?? (isJsonObject(value) ? Object.values(value).map((each) => each ?? null) : [])
    case 'filter':
      return items?.filter((item) => textAt(item, ...step.path) === step.value) ?? []
  }
}
