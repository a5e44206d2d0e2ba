import { leaseCases, namespaceCases, nodeCases, serviceAccountCases } from './cluster-cases.ts'
import { configMapCases, secretCases } from './config-cases.ts'
import { endpointSliceCases, endpointsCases } from './endpoint-cases.ts'
import { eventCases, groupEventCases } from './event-cases.ts'
import { metadataCases } from './metadata-cases.ts'
import { serviceCases } from './service-cases.ts'
import { dualStackCases, serviceUpdateCases } from './service-update-cases.ts'
import type { KindCases } from './write-case.ts'

/** The built-in kinds of core/v1, discovery, coordination and events, but Pods, and the metadata of all kinds. */
export const coreCases: readonly KindCases[] = [
  ...metadataCases,
  serviceCases,
  serviceUpdateCases,
  dualStackCases,
  endpointsCases,
  endpointSliceCases,
  configMapCases,
  secretCases,
  serviceAccountCases,
  namespaceCases,
  nodeCases,
  leaseCases,
  eventCases,
  groupEventCases,
]
