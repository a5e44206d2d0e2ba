import type { Json, JsonObject } from '../../../model/api-object.ts'
import { isQualifiedName } from '../../../model/selector.ts'
import { isJsonObject, objectAt, textAt } from '../../document.ts'
import { type Check, each, fields, required, text } from '../../schema/checks.ts'
import { type FieldError, invalidField, requiredField, unsupportedField } from '../../schema/field-error.ts'
import { qualifiedNameRule } from '../../schema/metadata-rules.ts'
import { checkDnsLabel, checkDnsSubdomain } from '../../schema/names.ts'
import { withoutBacksteps } from './path-rules.ts'
import { resourceFieldRef } from './resource-field-rules.ts'

const environmentFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]

/** Checks the name of a variable: printable ASCII without `=` (KEP-4369). */
function checkVariableName(name: string): string | undefined {
  if (/^[ -<>-~]+$/.test(name)) return undefined
  return "a valid environment variable name must consist only of printable ASCII characters other than '='"
}

/** Checks a key of a ConfigMap or Secret. */
function checkDataKey(key: string): string | undefined {
  if (key.length > 253) return 'must be no more than 253 characters'
  if (key === '.' || key === '..') return `must not be '${key}'`
  if (key.startsWith('..')) return "must not start with '..'"
  if (/^[-._a-zA-Z0-9]+$/.test(key)) return undefined
  return "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
}

const keyRef: Check[] = [
  required('key'),
  fields({ name: text(checkDnsSubdomain), key: text(checkDataKey) }),
  namedObject,
]

/** Checks the name of the object that holds a key; an empty name is invalid. */
function namedObject(value: Json, path: string): readonly FieldError[] {
  const name = textAt(value, 'name')
  const why = name === '' ? checkDnsSubdomain('') : undefined
  return why === undefined ? [] : [invalidField(`${path}.name`, name, why)]
}

const fileKeyRef: Check[] = [
  required('key', 'volumeName', 'path'),
  fields({ key: text(checkVariableName), volumeName: text(checkDnsLabel), path: text(withoutBacksteps) }),
]

/** Checks a reference to a Pod field from a variable or file; `metadata.labels['key']` where subscripts are allowed. */
export function fieldRef(supported: readonly string[]): Check {
  return (value, path) => {
    const field = textAt(value, 'fieldPath')
    if (field === '') return [requiredField(`${path}.fieldPath`)]
    const [, base = '', key] = /^(.*?)\['(.*)'\]$/.exec(field) ?? []
    if (key === undefined) return checkPlainField(field, supported, `${path}.fieldPath`)
    if (base !== 'metadata.annotations' && base !== 'metadata.labels') {
      const why = `error converting fieldPath: field label does not support subscript: ${field}`
      return [invalidField(`${path}.fieldPath`, field, why)]
    }
    const name = base === 'metadata.annotations' ? key.toLowerCase() : key
    return isQualifiedName(name) ? [] : [invalidField(path, name, qualifiedNameRule)]
  }
}

/** The fields that have a name in Kubernetes but cannot be shown in a variable or a file. */
const nameable = ['metadata.annotations', 'metadata.labels', 'spec.restartPolicy', 'spec.schedulerName', 'status.phase']

function checkPlainField(field: string, supported: readonly string[], path: string): readonly FieldError[] {
  if (supported.includes(field)) return []
  if ([...nameable, ...environmentFields].includes(field)) return [unsupportedField(path, field, supported)]
  return [invalidField(path, field, `error converting fieldPath: field label not supported: ${field}`)]
}

const sourceRules = fields({
  fieldRef: fieldRef(environmentFields),
  resourceFieldRef: resourceFieldRef('container'),
  configMapKeyRef: keyRef,
  secretKeyRef: keyRef,
  fileKeyRef,
})
const sources = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef']

function oneSource(variable: Json, path: string): readonly FieldError[] {
  if (!isJsonObject(variable) || !isJsonObject(variable['valueFrom'])) return []
  const count = countOf(variable['valueFrom'], sources)
  const problem = (why: string) => [invalidField(`${path}.valueFrom`, '', why)]
  if (count === 0)
    return problem('must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`')
  if (textAt(variable, 'value') !== '') return problem('may not be specified when `value` is not empty')
  return count > 1 ? problem('may not have more than one field specified at a time') : []
}

function countOf(object: JsonObject, names: readonly string[]): number {
  return names.filter((name) => object[name] !== undefined && object[name] !== null).length
}

const objectRef: Check[] = [required('name'), fields({ name: text(checkDnsSubdomain) })]

/** Checks the number of sources; its errors are reported at the list, as in Kubernetes. */
function oneObject(list: Json, path: string): readonly FieldError[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((item: Json) => {
    const count = countOf(objectAt(item), ['configMapRef', 'secretRef'])
    if (count === 0) return [invalidField(path, '', 'must specify one of: `configMapRef` or `secretRef`')]
    return count > 1 ? [invalidField(path, '', 'may not have more than one field specified at a time')] : []
  })
}

export const env: Check = each(
  required('name'),
  fields({ name: text(checkVariableName), valueFrom: sourceRules }),
  oneSource,
)

export const envFrom: Check[] = [
  each(fields({ prefix: text(checkVariableName), configMapRef: objectRef, secretRef: objectRef })),
  oneObject,
]
