import { object, ofField, schemaRows, text } from './schema-rows.ts'

/** Definitions, accepted and refused ones, for a comparison with kube-apiserver. */

type Part = Record<string, unknown>

export interface DefinitionRow {
  readonly title: string
  readonly spec: Part
}

const plain = ofField(text)
const selectables = object({
  color: text,
  size: { type: 'integer' },
  flag: { type: 'boolean' },
  rate: { type: 'number' },
  inner: object({ x: text }),
  tags: { type: 'array', items: text },
  map: { type: 'object', additionalProperties: text },
  any: { 'x-kubernetes-preserve-unknown-fields': true },
  port: { 'x-kubernetes-int-or-string': true },
  since: { type: 'string', format: 'date-time' },
})

function version(name: string, more: Part = {}): Part {
  return { name, served: true, storage: false, schema: { openAPIV3Schema: plain }, ...more }
}

function stored(more: Part = {}): Part {
  return version('v1', { storage: true, ...more })
}

function one(more: Part): Part {
  return { versions: [stored(more)] }
}

function selecting(...paths: readonly string[]): Part {
  const openAPIV3Schema = object({ spec: selectables })
  return one({ schema: { openAPIV3Schema }, selectableFields: paths.map((jsonPath) => ({ jsonPath })) })
}

function column(fields: Part): Part {
  return one({ additionalPrinterColumns: [fields] })
}

function warning(deprecationWarning: string, deprecated = true): Part {
  return one({ deprecated, deprecationWarning })
}

function scale(fields: Part): Part {
  return one({ subresources: { scale: fields } })
}

const untyped = { schema: { openAPIV3Schema: ofField({}) } }
const noItems = { schema: { openAPIV3Schema: ofField({ type: 'array' }) } }
const badColumn = { additionalPrinterColumns: [{ name: 'a', type: 'x', jsonPath: '.a' }] }
const badScale = { subresources: { scale: {} } }
const badField = { selectableFields: [{ jsonPath: '.spec.x' }] }
const webhook = { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://x.y' } }
const paths = { specReplicasPath: '.spec.r', statusReplicasPath: '.status.r' }

const specs: Readonly<Record<string, Part>> = {
  'selectable plain values': selecting('.spec.color', '.spec.size', '.spec.flag', '.spec.since', '.spec.inner.x'),
  'selectable number': selecting('.spec.rate'),
  'selectable object': selecting('.spec.inner'),
  'selectable list': selecting('.spec.tags'),
  'selectable item': selecting('.spec.tags[0]'),
  'selectable map': selecting('.spec.map'),
  'selectable key of a map': selecting('.spec.map.k'),
  'selectable any': selecting('.spec.any'),
  'selectable int-or-string': selecting('.spec.port'),
  'selectable undeclared': selecting('.spec.none', '.none'),
  'selectable without dot': selecting('spec.color'),
  'selectable empty': selecting(''),
  'selectable twice': selecting('.spec.color', '.spec.color'),
  'selectable metadata': selecting('.metadata.name'),
  'selectable quoted': selecting(".spec['color']"),
  'selectable filter': selecting('.spec.tags[?(@.a=="b")]'),
  'selectable trailing dot': selecting('.spec.color.'),
  'selectable dot': selecting('.'),
  'warning without deprecation': warning('x', false),
  'warning empty': warning(''),
  'warning long': warning('x'.repeat(257)),
  'warning of lines': warning('a\nb'),
  'warning with a tab': warning('a\tb'),
  'warning with letters': warning('ä – ok'),
  'preserveUnknownFields true': { preserveUnknownFields: true },
  'preserveUnknownFields false': { preserveUnknownFields: false },
  'conversion None': { conversion: { strategy: 'None' } },
  'conversion without strategy': { conversion: {} },
  'conversion None with webhook': { conversion: { strategy: 'None', webhook } },
  'conversion None with empty webhook': { conversion: { strategy: 'None', webhook: {} } },
  'column of an unknown type': column({ name: 'a', type: 'bad', jsonPath: '.a' }),
  'column without type': column({ name: 'a', jsonPath: '.a' }),
  'column without name': column({ type: 'string', jsonPath: '.a' }),
  'column without path': column({ name: 'a', type: 'string' }),
  'column of a path without dot': column({ name: 'a', type: 'string', jsonPath: 'a' }),
  'column of an unknown format': column({ name: 'a', type: 'string', format: 'bad', jsonPath: '.a' }),
  'column of a broken path': column({ name: 'a', type: 'string', jsonPath: '.a[' }),
  'scale without paths': scale({}),
  'scale of the wrong parts': scale({
    specReplicasPath: '.status.a',
    statusReplicasPath: '.spec.a',
    labelSelectorPath: '.x',
  }),
  'scale without dots': scale({ specReplicasPath: 'spec.a', statusReplicasPath: 'x', labelSelectorPath: 'y' }),
  'scale with a bracket': scale({ ...paths, specReplicasPath: '.spec.r[0]' }),
  'status with required root fields': one({
    subresources: { status: {} },
    schema: { openAPIV3Schema: { ...plain, required: ['spec'] } },
  }),
  'kind in lower case': { names: { kind: 'widget' } },
  'kind with an underscore': { names: { kind: 'Wid_get' } },
  'list kind as kind': { names: { listKind: 'Widget' } },
  'short name in upper case': { names: { shortNames: ['WD'] } },
  'category in upper case': { names: { categories: ['A'] } },
  'singular in upper case': { names: { singular: 'Widget' } },
  'short name twice': { names: { shortNames: ['wd', 'wd'] } },
  'scope unknown': { scope: 'X' },
  'scope absent': { scope: undefined },
  'group without dot': { group: 'nodots' },
  'group of the community': { group: 'widgets.k8s.io' },
  'versions that share an error': { versions: [stored(untyped), version('v2', untyped)] },
  'versions with different errors': { versions: [stored(untyped), version('v2', noItems)] },
  'versions that share a wrong column': { versions: [stored(badColumn), version('v2', badColumn)] },
  'versions of which one has a wrong column': { versions: [stored(badColumn), version('v2')] },
  'versions that share a wrong scale': { versions: [stored(badScale), version('v2', badScale)] },
  'versions of which one has a wrong scale': { versions: [stored(badScale), version('v2')] },
  'versions that share a wrong field': { versions: [stored(badField), version('v2', badField)] },
  'versions without schema': { versions: [stored({ schema: undefined }), version('v2', { schema: undefined })] },
  'version without schema beside one with': { versions: [stored(), version('v2', { schema: undefined })] },
  'version with an empty schema': { versions: [stored({ schema: {} })] },
  'version that is not served': { versions: [stored({ served: false })] },
}

export const definitionRows: readonly DefinitionRow[] = [
  ...schemaRows.map(([title, openAPIV3Schema]) => ({ title, spec: one({ schema: { openAPIV3Schema } }) })),
  ...Object.entries(specs).map(([title, spec]) => ({ title, spec })),
]
