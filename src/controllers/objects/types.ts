import { z } from 'zod'
import type { Dialect } from '../../model/dialect.ts'
import { identitySchema } from '../runtime/metadata.ts'
import { resourceType } from '../runtime/resource-type.ts'
import { ipAddressSchema, serviceCidrSchema } from './addresses.ts'
import { endpointSliceSchema, endpointsSchema } from './endpoints.ts'
import { namespaceSchema } from './namespace.ts'
import { nodeSchema } from './node.ts'
import { podSchema } from './pod.ts'
import { serviceSchema } from './service.ts'
import { signingRequestSchema } from './signing-request.ts'
import { storageClassSchema, volumeClaimSchema, volumeSchema } from './volume.ts'

export const podType = resourceType('', 'v1', 'pods', 'Pod', podSchema)
export const nodeType = resourceType('', 'v1', 'nodes', 'Node', nodeSchema)
export const namespaceType = resourceType('', 'v1', 'namespaces', 'Namespace', namespaceSchema)
export const serviceAccountType = resourceType(
  '',
  'v1',
  'serviceaccounts',
  'ServiceAccount',
  z.object({ metadata: identitySchema }),
)
/** A ConfigMap with the key of the CA certificate only: a cluster may have many large ConfigMaps. */
export const rootCaType = resourceType(
  '',
  'v1',
  'configmaps',
  'ConfigMap',
  z.object({ metadata: identitySchema, data: z.object({ 'ca.crt': z.string().optional() }).optional() }),
)
export const volumeType = resourceType('', 'v1', 'persistentvolumes', 'PersistentVolume', volumeSchema)
export const volumeClaimType = resourceType(
  '',
  'v1',
  'persistentvolumeclaims',
  'PersistentVolumeClaim',
  volumeClaimSchema,
)
export const serviceType = resourceType('', 'v1', 'services', 'Service', serviceSchema)
export const endpointsType = resourceType('', 'v1', 'endpoints', 'Endpoints', endpointsSchema)

/** The Lease in `kube-node-lease` that a node renews as its heartbeat. */
const leaseSchema = z.object({
  metadata: identitySchema,
  spec: z.object({ renewTime: z.string().nullish() }).prefault({}),
})

/**
 * Creates the resource types whose API group the dialect names. Call it once per manager, because caches are shared by
 * type object.
 */
export function createDialectTypes({ groups }: Dialect) {
  return {
    leases: resourceType(groups.coordination, 'v1', 'leases', 'Lease', leaseSchema),
    serviceCidrs: resourceType(groups.networking, 'v1', 'servicecidrs', 'ServiceCIDR', serviceCidrSchema),
    ipAddresses: resourceType(groups.networking, 'v1', 'ipaddresses', 'IPAddress', ipAddressSchema),
    signingRequests: resourceType(
      groups.certificates,
      'v1',
      'certificatesigningrequests',
      'CertificateSigningRequest',
      signingRequestSchema,
    ),
    storageClasses: resourceType(groups.storage, 'v1', 'storageclasses', 'StorageClass', storageClassSchema),
    attributesClasses: resourceType(
      groups.storage,
      'v1',
      'volumeattributesclasses',
      'VolumeAttributesClass',
      z.object({ metadata: identitySchema }),
    ),
    endpointSlices: resourceType(groups.discovery, 'v1', 'endpointslices', 'EndpointSlice', endpointSliceSchema),
  }
}

export type DialectTypes = ReturnType<typeof createDialectTypes>
