import type { Json } from '../../../model/api-object.ts'
import type { Dialect } from '../../../model/dialect.ts'
import { type ApiDocument, objectAt, textAt, valueAt } from '../../document.ts'
import { checkKept, fields, required, strictText } from '../../schema/checks.ts'
import { type FieldError, forbiddenField, invalidField, requiredField, tooLongField } from '../../schema/field-error.ts'
import { checkDnsSubdomain } from '../../schema/names.ts'
import { checkDriverName } from '../csi-nodes.ts'
import { defineKind } from '../define-kind.ts'
import { column, type Resource } from '../resource.ts'
import { validateInlineVolume } from './persistent-volume-rules.ts'
import { textBytes } from './storage-classes.ts'

const maxMetadataBytes = 256 * 1024
const maxMessageBytes = 1024

/** The kind VolumeAttachment: Kubernetes' controller asks a CSI driver by it to attach a volume to a node. */
export function volumeAttachments({ groups }: Dialect): Resource {
  return defineKind({
    group: groups.storage,
    version: 'v1',
    kind: 'VolumeAttachment',
    plural: 'volumeattachments',
    namespaced: false,
    subresources: ['status'],
    defaults: { spec: { default: {} }, status: { default: { attached: false } } },
    columns: [
      { ...column('Attacher', ({ spec }) => textAt(spec, 'attacher')), format: 'name' },
      column('PV', ({ spec }) => textAt(spec, 'source', 'persistentVolumeName')),
      column('Node', ({ spec }) => textAt(spec, 'nodeName')),
      { ...column('Attached', ({ status }) => valueAt(status, 'attached') === true), type: 'boolean' },
    ],
    strategy: {
      showDeleted: (attachment) => attachment,
      needsRevision: 'object-and-status',
      statusLeaves: ['labels', 'annotations', 'finalizers', 'ownerReferences'],
      validate: (attachment, old) => [
        ...validateAttachment(attachment),
        ...(old === undefined ? validateNewAttachment(attachment) : []),
      ],
      validateUpdate: ({ spec }, old) => checkKept(spec, old['spec'], 'spec'),
    },
  })
}

function validateAttachment({ spec, status }: ApiDocument): readonly FieldError[] {
  return [
    ...required('attacher')(spec ?? null, 'spec'),
    ...checkSource(objectAt(spec, 'source'), 'spec.source'),
    ...strictText(checkDnsSubdomain)(textAt(spec, 'nodeName'), 'spec.nodeName'),
    ...checkStatus(objectAt(status), 'status'),
  ]
}

function checkSource(source: Json, path: string): readonly FieldError[] {
  const [inline, name] = ['inlineVolumeSpec', 'persistentVolumeName'].map(
    (field) => valueAt(source, field) ?? undefined,
  )
  const rule = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  if (inline === undefined && name === undefined) return [requiredField(path, rule)]
  if (inline !== undefined && name !== undefined) return [forbiddenField(path, rule)]
  if (inline !== undefined) return validateInlineVolume(inline, `${path}.inlineVolumeSpec`)
  return name === ''
    ? [requiredField(`${path}.persistentVolumeName`, 'must specify non empty persistentVolumeName')]
    : []
}

function checkStatus(status: Json, path: string): readonly FieldError[] {
  const bytes = textBytes(objectAt(status, 'attachmentMetadata'))
  return [
    ...(bytes > maxMetadataBytes ? [tooLongField(`${path}.attachmentMetadata`, maxMetadataBytes)] : []),
    ...['attachError', 'detachError'].flatMap((field) => checkError(objectAt(status, field), `${path}.${field}`)),
  ]
}

function checkError(error: Json, path: string): readonly FieldError[] {
  const code = valueAt(error, 'errorCode')
  const isLong = Buffer.byteLength(textAt(error, 'message')) > maxMessageBytes
  return [
    // Kubernetes names the limit of another field.
    ...(isLong ? [tooLongField(`${path}.message`, maxMetadataBytes)] : []),
    ...(typeof code === 'number' && code < 0
      ? [invalidField(`${path}.errorCode`, code, 'must be between 0 and 2147483647, inclusive')]
      : []),
  ]
}

function validateNewAttachment({ spec }: ApiDocument): readonly FieldError[] {
  return [
    ...checkDriverName(textAt(spec, 'attacher'), 'spec.attacher'),
    ...fields({ persistentVolumeName: strictText(checkDnsSubdomain) })(objectAt(spec, 'source'), 'spec.source'),
  ]
}
