import type { AdmissionRequest } from './admission-request.ts'

/** Kinds that configure admission: webhooks do not see them, or one could lock out the repair of another. */
const configurationKinds: ReadonlySet<string> = new Set([
  ...['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding', 'MutatingWebhookConfiguration'],
  ...['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding', 'ValidatingWebhookConfiguration'],
])

/** Resources that policies do not see: policies themselves, and questions to the server, which keep a cluster running. */
const hiddenFromPolicies: ReadonlySet<string> = new Set([
  'admissionregistration/validatingadmissionpolicies',
  'admissionregistration/validatingadmissionpolicybindings',
  ...['selfsubjectreviews', 'tokenreviews'].map((plural) => `authentication/${plural}`),
  ...['localsubjectaccessreviews', 'selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'subjectaccessreviews'].map(
    (plural) => `authorization/${plural}`,
  ),
])

/** Checks for a request that admission webhooks do not see, as in kube-apiserver. */
export function isExemptFromWebhooks({ kind: { group, kind } }: AdmissionRequest): boolean {
  return firstLabel(group) === 'admissionregistration' && configurationKinds.has(kind)
}

/** Checks for a request that admission policies do not see, as in kube-apiserver. */
export function isExemptFromPolicies({ resource: { group, plural } }: AdmissionRequest): boolean {
  return hiddenFromPolicies.has(`${firstLabel(group)}/${plural}`)
}

/** Returns the first label of a group, the part that does not depend on the dialect. */
function firstLabel(group: string): string {
  return group.split('.', 1)[0] ?? ''
}
