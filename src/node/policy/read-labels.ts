import { z } from 'zod'
import type { Labels } from '../../model/network-policy.ts'
import type { Field, FieldReader } from '../state/index.ts'

const labelsField: Field<Labels> = {
  schema: z.record(z.string(), z.string()),
  expected: 'labels (an object of texts)',
}

/** Reads `metadata.labels`, which may be absent or null. Undefined, and a problem, if any of them is no text. */
export function readLabels(reader: FieldReader, json: unknown): Labels | undefined {
  return json === undefined || json === null ? {} : reader.required(labelsField, json, 'metadata.labels')
}
