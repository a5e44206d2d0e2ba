import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../../model/api-object.ts'
import { parseQuantity } from '../../../model/quantity.ts'
import { listAt, objectAt, textAt, valueAt } from '../../document.ts'
import { all, fields, oneOf, required, text } from '../../schema/checks.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { checkDnsLabel, checkDnsSubdomain } from '../../schema/names.ts'
import { validateLabelSelector } from '../label-selector.ts'

const singlePod = 'ReadWriteOncePod'
export const volumeModes = ['Block', 'Filesystem']
const modes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', singlePod]

const source = all([required('name', 'kind'), fields({ apiGroup: text(checkDnsSubdomain) }), checkSourceKind])

const claimFields = fields({
  accessModes: checkModes,
  selector: (value, path) => validateLabelSelector(value, path),
  storageClassName: text(checkDnsSubdomain),
  volumeMode: oneOf(...volumeModes),
  dataSource: source,
  dataSourceRef: [source, fields({ namespace: text(checkDnsLabel) })],
  volumeAttributesClassName: text(checkDnsSubdomain),
})

/** Checks a claim, be it an object, of a generic ephemeral volume, or of a StatefulSet. */
export function claimSpec(value: Json, path: string): readonly FieldError[] {
  return [
    ...(listAt(value, 'accessModes').length === 0
      ? [requiredField(`${path}.accessModes`, 'at least 1 access mode is required')]
      : []),
    ...claimFields(value, path),
    ...checkSize(textAt(value, 'resources', 'requests', 'storage'), `${path}.resources[storage]`),
    ...checkSources(value, path),
  ]
}

/** Checks the access modes of a claim or a volume. */
export function checkModes(value: Json, path: string): readonly FieldError[] {
  const list = listAt(value).map((mode) => textAt(mode))
  const isMixed = list.includes(singlePod) && list.some((mode) => mode !== singlePod && modes.includes(mode))
  return [
    ...list.filter((mode) => !modes.includes(mode)).map((mode) => unsupportedField(path, mode, modes)),
    ...(isMixed ? [forbiddenField(path, `may not use ${singlePod} with other access modes`)] : []),
  ]
}

function checkSize(storage: string, path: string): readonly FieldError[] {
  return storage === '' ? [requiredField(path)] : checkPositiveAmount(storage, path)
}

export function checkPositiveAmount(amount: string, path: string): readonly FieldError[] {
  return parseQuantity(amount || '0') > 0n ? [] : [invalidField(path, amount, 'must be greater than zero')]
}

function checkSourceKind(value: Json, path: string): readonly FieldError[] {
  const kind = textAt(value, 'kind')
  if (textAt(value, 'apiGroup') !== '' || kind === 'PersistentVolumeClaim') return []
  return [invalidField(path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")]
}

/** Checks that `dataSource` equals `dataSourceRef`, or is absent where that is in another namespace. */
function checkSources(value: Json, path: string): readonly FieldError[] {
  const [older, newer] = [valueAt(value, 'dataSource'), valueAt(value, 'dataSourceRef')]
  if (older === undefined || newer === undefined) return []
  if (textAt(newer, 'namespace') !== '')
    return [invalidField(path, {}, 'may not be specified when dataSourceRef.namespace is specified')]
  const { namespace: _, ...same } = objectAt(newer)
  return isDeepStrictEqual(older, same) ? [] : [invalidField(path, {}, 'must match dataSourceRef')]
}
