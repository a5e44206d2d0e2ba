import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../../model/api-object.ts'
import type { Dialect } from '../../../model/dialect.ts'
import type { VolumeNames } from '../../../model/volume-names.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../../document.ts'
import { checkKept, exactlyOneOf, oneOf, repeatedItems } from '../../schema/checks.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  tooLongField,
} from '../../schema/field-error.ts'
import { qualifiedNameProblems } from '../../schema/metadata-rules.ts'
import type { Store } from '../../store/index.ts'
import { keepReading } from '../../store/kept-reading.ts'
import { defineKind } from '../define-kind.ts'
import { collectionPrefix } from '../keys.ts'
import { readDocument, readDocuments } from '../read-document.ts'
import { column, type Resource } from '../resource.ts'

const maxParameters = 512
const maxParameterBytes = 256 * 1024

/** The kind StorageClass: how volumes of claims that name it are made, and when claims are bound. */
export function storageClasses({ groups, volumes }: Dialect): Resource {
  return defineKind({
    group: groups.storage,
    version: 'v1',
    kind: 'StorageClass',
    plural: 'storageclasses',
    shortNames: ['sc'],
    namespaced: false,
    defaults: { reclaimPolicy: { default: 'Delete' }, volumeBindingMode: { default: 'Immediate' } },
    nameCell: (storageClass) => `${storageClass.metadata.name}${isDefault(storageClass, volumes) ? ' (default)' : ''}`,
    columns: [
      column('Provisioner', ({ provisioner }) => textAt(provisioner)),
      column('ReclaimPolicy', ({ reclaimPolicy }) => textAt(reclaimPolicy) || 'Delete'),
      column('VolumeBindingMode', ({ volumeBindingMode }) => textAt(volumeBindingMode) || 'Immediate'),
      column('AllowVolumeExpansion', ({ allowVolumeExpansion }) => allowVolumeExpansion === true),
    ],
    strategy: { showDeleted: (storageClass) => storageClass, validate: validateClass, validateUpdate },
  })
}

function isDefault({ metadata }: ApiDocument, { defaultClass }: VolumeNames): boolean {
  return defaultClass.some((annotation) => metadata.annotations?.[annotation] === 'true')
}

const policies = oneOf('Delete', 'Retain')
const modes = exactlyOneOf('Immediate', 'WaitForFirstConsumer')

function validateClass(storageClass: ApiDocument): readonly FieldError[] {
  const { provisioner, parameters, reclaimPolicy, volumeBindingMode, allowedTopologies } = storageClass
  return [
    ...checkProvisioner(textAt(provisioner), 'provisioner'),
    ...checkParameters(parameters),
    ...policies(reclaimPolicy ?? '', 'reclaimPolicy'),
    ...modes(volumeBindingMode ?? '', 'volumeBindingMode'),
    ...checkTopologies(listAt(allowedTopologies)),
  ]
}

/** Checks the name of a provisioner or driver, whose letters may be capital ones. */
export function checkProvisioner(name: string, path: string): readonly FieldError[] {
  if (name === '') return [requiredField(path)]
  return qualifiedNameProblems(name.toLowerCase()).map((why) => invalidField(path, name.toLowerCase(), why))
}

export function checkParameters(value: Json | undefined): readonly FieldError[] {
  const parameters = objectAt(value)
  if (Object.keys(parameters).length > maxParameters) return [tooLongField('parameters', maxParameters)]
  return [
    ...(Object.hasOwn(parameters, '') ? [invalidField('parameters', '', 'field can not be empty.')] : []),
    ...(textBytes(parameters) > maxParameterBytes ? [tooLongField('parameters', maxParameterBytes)] : []),
  ]
}

/** Returns the length of the keys and texts of a map in bytes. */
export function textBytes(texts: JsonObject): number {
  const lengths = Object.entries(texts).map(([key, text]) => Buffer.byteLength(key) + Buffer.byteLength(textAt(text)))
  return lengths.reduce((sum, length) => sum + length, 0)
}

function checkTopologies(terms: readonly Json[]): readonly FieldError[] {
  // An empty term counts as a repetition, as in Kubernetes.
  const seen = new Set([formOf([])])
  return terms.flatMap((term, index) => {
    const path = `allowedTopologies[${index}].matchLabelExpressions`
    const expressions = listAt(term, 'matchLabelExpressions')
    const isRepeated = seen.size === seen.add(formOf(expressions)).size
    return [...checkExpressions(expressions, path), ...(isRepeated ? [duplicateField(path, '')] : [])]
  })
}

/** Returns a text that is equal for terms with equal values of equal keys, whatever their order. */
function formOf(expressions: readonly Json[]): string {
  const values = new Map(expressions.map((each) => [textAt(each, 'key'), valuesOf(each)]))
  return JSON.stringify([...values].toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

function valuesOf(expression: Json): readonly string[] {
  return [...new Set(listAt(expression, 'values').map((value) => textAt(value)))].toSorted()
}

function checkExpressions(expressions: readonly Json[], path: string): readonly FieldError[] {
  const repeatedKeys = repeatedItems(expressions.map((expression) => textAt(expression, 'key')))
  return expressions.flatMap((expression, index) => {
    const key = textAt(expression, 'key')
    const values = listAt(expression, 'values').map((value) => textAt(value))
    const at = `${path}[${index}]`
    return [
      ...(values.length === 0 ? [requiredField(`${at}.values`)] : []),
      ...[...repeatedItems(values)].map((place) => duplicateField(`${at}.values[${place}]`, values[place] ?? '')),
      ...qualifiedNameProblems(key).map((why) => invalidField(`${at}.key`, key, why)),
      ...(repeatedKeys.has(index) ? [duplicateField(`${at}.key`, key)] : []),
    ]
  })
}

function validateUpdate(next: ApiDocument, old: ApiDocument): readonly FieldError[] {
  return [
    ...(isDeepStrictEqual(objectAt(next['parameters']), objectAt(old['parameters']))
      ? []
      : [forbiddenField('parameters', 'updates to parameters are forbidden.')]),
    ...(['provisioner', 'reclaimPolicy'] as const)
      .filter((field) => textAt(next[field]) !== textAt(old[field]))
      .map((field) => forbiddenField(field, `updates to ${field} are forbidden.`)),
    ...checkKept(textAt(next['volumeBindingMode']), textAt(old['volumeBindingMode']), 'volumeBindingMode'),
  ]
}

const collection = { plural: 'storageclasses' }

const readClasses = keepReading(collectionPrefix(collection, undefined), (store) =>
  readDocuments(store, collection, undefined),
)

/** Returns the name of the class of claims that name none: of several, the newest. */
export async function findDefaultStorageClass(store: Store, names: VolumeNames): Promise<string | undefined> {
  const classes = (await readClasses(store)).filter((each) => isDefault(each, names))
  const [first] = classes.toSorted(
    ({ metadata: one }, { metadata: other }) =>
      Date.parse(other.creationTimestamp ?? '') - Date.parse(one.creationTimestamp ?? '') ||
      ((one.name ?? '') < (other.name ?? '') ? -1 : 1),
  )
  return first?.metadata.name
}

/** Checks whether volumes of a class can be made larger. */
export async function mayExpand(store: Store, name: string): Promise<boolean> {
  const storageClass = await readDocument(store, collection, undefined, name)
  return storageClass?.['allowVolumeExpansion'] === true
}
