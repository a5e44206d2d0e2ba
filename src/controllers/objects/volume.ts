import { z } from 'zod'
import { metadataSchema, optional, otherwise } from '../runtime/metadata.ts'
import { listOf, selectorSchema } from './parts.ts'

const amounts = otherwise(z.record(z.string(), z.union([z.string(), z.number()])), {})
const modes = listOf(z.string())
const text = otherwise(z.string(), '')

const claimRef = optional(z.object({ namespace: text, name: text, uid: text }))

const noVolumeSpec = {
  capacity: {},
  accessModes: [],
  claimRef: undefined,
  persistentVolumeReclaimPolicy: 'Retain',
  storageClassName: '',
  volumeMode: 'Filesystem',
  volumeAttributesClassName: '',
  hostPath: undefined,
}

/** A PersistentVolume. Its node affinity is kept unparsed; the scheduler parses it. */
export const volumeSchema = z.object({
  metadata: metadataSchema,
  spec: otherwise(
    z.object({
      capacity: amounts,
      accessModes: modes,
      claimRef,
      persistentVolumeReclaimPolicy: otherwise(z.string(), 'Retain'),
      storageClassName: text,
      volumeMode: otherwise(z.string(), 'Filesystem'),
      volumeAttributesClassName: text,
      hostPath: optional(z.object({ path: text })),
      nodeAffinity: z.unknown().optional(),
    }),
    noVolumeSpec,
  ),
  status: otherwise(z.object({ phase: otherwise(z.string(), 'Pending') }), { phase: 'Pending' }),
})

const noClaimSpec = {
  accessModes: [],
  selector: undefined,
  resources: { requests: {} },
  volumeName: '',
  storageClassName: undefined,
  volumeMode: 'Filesystem',
  volumeAttributesClassName: '',
}

export const volumeClaimSchema = z.object({
  metadata: metadataSchema,
  spec: otherwise(
    z.object({
      accessModes: modes,
      selector: optional(selectorSchema),
      resources: otherwise(z.object({ requests: amounts }), { requests: {} }),
      volumeName: text,
      storageClassName: optional(z.string()),
      volumeMode: otherwise(z.string(), 'Filesystem'),
      volumeAttributesClassName: text,
    }),
    noClaimSpec,
  ),
  status: otherwise(z.object({ phase: otherwise(z.string(), 'Pending'), currentVolumeAttributesClassName: text }), {
    phase: 'Pending',
    currentVolumeAttributesClassName: '',
  }),
})

export const storageClassSchema = z.object({
  metadata: metadataSchema,
  provisioner: text,
  volumeBindingMode: otherwise(z.string(), 'Immediate'),
  allowedTopologies: listOf(
    z.object({ matchLabelExpressions: listOf(z.object({ key: z.string(), values: listOf(z.string()) })) }),
  ),
})

export type Volume = z.output<typeof volumeSchema>
export type VolumeClaim = z.output<typeof volumeClaimSchema>
export type StorageClass = z.output<typeof storageClassSchema>
