import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { type FieldSet, fieldSet, onlyHere } from './field-set.ts'

/** Encodes a set as FieldsV1: a member with members below has a `.` beside them, one without is `{}`. */
export function encodeFields(set: FieldSet): JsonObject {
  const entries: [string, JsonObject][] = set.isMember && set.children.size > 0 ? [['.', {}]] : []
  const steps = [...set.children.keys()].sort()
  for (const step of steps) entries.push([step, encodeFields(set.children.get(step) ?? onlyHere)])
  return Object.fromEntries(entries)
}

/** Decodes FieldsV1, which a client may have written; returns undefined for any other value. */
export function decodeFields(value: Json | undefined): FieldSet | undefined {
  return isJsonObject(value) ? decodeChildren(value) : undefined
}

function decodeChildren(value: JsonObject): FieldSet | undefined {
  const children: [string, FieldSet][] = []
  for (const [step, below] of Object.entries(value)) {
    if (step === '.') continue
    if (!isStep(step) || !isJsonObject(below)) return undefined
    const child = Object.keys(below).length === 0 ? onlyHere : decodeChildren(below)
    if (child === undefined) return undefined
    children.push([step, child])
  }
  return fieldSet(Object.hasOwn(value, '.'), children)
}

function isStep(step: string): boolean {
  return step.startsWith('f:') || /^i:\d+$/.test(step) || isItemStep(step)
}

function isItemStep(step: string): boolean {
  if (!step.startsWith('k:') && !step.startsWith('v:')) return false
  const value = parseOrUndefined(step.slice(2))
  return step.startsWith('k:') ? isJsonObject(value) : value !== undefined
}

/** Renders a path as conflicts show it: `.spec.ports[port=80,protocol="TCP"].name`. */
export function renderPath(path: readonly string[]): string {
  return path.map(renderStep).join('')
}

function renderStep(step: string): string {
  const text = step.slice(2)
  if (step.startsWith('f:')) return `.${text}`
  if (step.startsWith('i:')) return `[${text}]`
  if (step.startsWith('v:')) return `[=${text}]`
  const keys = parseOrUndefined(text)
  const parts = Object.entries(isJsonObject(keys) ? keys : {}).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  return `[${parts.join(',')}]`
}

function parseOrUndefined(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
