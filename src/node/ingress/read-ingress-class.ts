import { z } from 'zod'
import type { IngressClass } from '../../model/ingress.ts'
import { type Field, FieldReader, fields, type Parsed } from '../state/index.ts'

const controller: Field<string> = {
  schema: z
    .string()
    .max(250)
    .regex(/^[a-z0-9.-]+\/[!-~]+$/),
  expected: 'the name of a controller (example.com/ingress)',
}

/** Reads an IngressClass of the API; the body is equal in both dialects. One without a controller that can be read gives no value. */
export function readIngressClass(json: unknown): Parsed<IngressClass> {
  const reader = new FieldReader(() => 'IngressClass')
  const object = reader.required(fields.record, json, 'the object')
  const metadata = object && reader.required(fields.record, object['metadata'], 'metadata')
  const name = metadata && reader.required(fields.dnsSubdomain, metadata['name'], 'metadata.name')
  const spec = object && reader.required(fields.record, object['spec'], 'spec')
  const found = spec && reader.required(controller, spec['controller'], 'spec.controller')
  const value = name === undefined || found === undefined ? undefined : { name, controller: found }
  const problems = reader.problems.map((problem) => ({ ...problem, object: `IngressClass ${name ?? ''}`.trimEnd() }))
  return { value, problems }
}
