import { CelType, listType, mapType, types } from '../values/types.ts'

function struct(name: string, fields: Readonly<Record<string, CelType>>): CelType {
  return new CelType('struct', `kubernetes.${name}`, [], new Map(Object.entries(fields)))
}

const { string, timestamp, int } = types
const texts = listType(string)
const textMap = mapType(string, string)

const kind = struct('GroupVersionKind', { group: string, version: string, kind: string })
const resource = struct('GroupVersionResource', { group: string, version: string, resource: string })
const userInfo = struct('UserInfo', { username: string, uid: string, groups: texts, extra: mapType(string, texts) })

/** The type of the variable `request`: an AdmissionRequest (admission.k8s.io/v1) without its objects and its uid. */
export const requestType = struct('AdmissionRequest', {
  ...{ kind, resource, subResource: string },
  ...{ requestKind: kind, requestResource: resource, requestSubResource: string },
  ...{ name: string, namespace: string, operation: string, userInfo, dryRun: types.bool, options: types.dyn },
})

const condition = struct('NamespaceCondition', {
  ...{ status: string, type: string, lastTransitionTime: timestamp, message: string, reason: string },
})

/** The type of the variable `namespaceObject`: a Namespace with the fields that a policy may use. */
export const namespaceType = struct('Namespace', {
  metadata: struct('NamespaceMetadata', {
    ...{ name: string, generateName: string, namespace: string, labels: textMap, annotations: textMap, UID: string },
    ...{ creationTimestamp: timestamp, deletionGracePeriodSeconds: int, deletionTimestamp: timestamp },
    ...{ generation: int, resourceVersion: string, finalizers: texts },
  }),
  spec: struct('NamespaceSpec', { finalizers: texts }),
  status: struct('NamespaceStatus', { conditions: listType(condition), phase: string }),
})
