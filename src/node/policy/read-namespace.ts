import type { Labels } from '../../model/network-policy.ts'
import { FieldReader, fields, type Parsed } from '../state/index.ts'
import { readLabels } from './read-labels.ts'

export interface PolicyNamespace {
  readonly name: string
  readonly labels: Labels
}

/** Reads a Namespace of the API, or its metadata alone. No value for one whose labels cannot be read: no selector may match it. */
export function readNamespace(json: unknown): Parsed<PolicyNamespace> {
  const reader = new FieldReader(() => 'Namespace')
  const object = reader.required(fields.record, json, 'the object')
  const metadata = object && reader.required(fields.record, object['metadata'], 'metadata')
  const name = metadata && reader.required(fields.dnsLabel, metadata['name'], 'metadata.name')
  const labels = metadata && readLabels(reader, metadata['labels'])
  const value = name === undefined || labels === undefined ? undefined : { name, labels }
  const problems = reader.problems.map((problem) => ({ ...problem, object: `Namespace ${name ?? ''}`.trimEnd() }))
  return { value, problems }
}
