import type { JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import type { BootstrapBinding, BootstrapRole } from './bootstrap-role.ts'

const requests = 'certificatesigningrequests'

/** Returns the roles around certificate requests; only Kubernetes' dialect serves these. */
export function signingRoles({ name, groups, signers }: Dialect): readonly BootstrapRole[] {
  if (name !== 'kubernetes') return []
  const rule = (verbs: readonly string[], resource: string, resourceNames?: readonly string[]): JsonObject => ({
    apiGroups: [groups.certificates],
    resources: [resource],
    verbs,
    ...(resourceNames === undefined ? {} : { resourceNames }),
  })
  const approver = (title: string, signer: string): BootstrapRole => ({
    name: `system:${groups.certificates}:${title}-approver`,
    rules: [rule(['approve'], 'signers', [signer])],
  })
  const automatic = (kind: string): BootstrapRole => ({
    name: roleOf(groups.certificates, kind),
    rules: [rule(['create'], `${requests}/${kind}`)],
  })
  return [
    { name: 'system:node-bootstrapper', rules: [rule(['create', 'get', 'list', 'watch'], requests)] },
    automatic('nodeclient'),
    automatic('selfnodeclient'),
    approver('kube-apiserver-client', signers.client),
    approver('kube-apiserver-client-kubelet', signers.kubeletClient),
    approver('kubelet-serving', signers.kubeletServing),
    approver('legacy-unknown', signers.legacy),
  ]
}

/** Returns the bindings: a node that has a client certificate gets the next one without a person. */
export function signingBindings(
  { name, groups }: Dialect,
  nodes: BootstrapBinding['subjects'],
): readonly BootstrapBinding[] {
  return name === 'kubernetes' ? [{ role: roleOf(groups.certificates, 'selfnodeclient'), subjects: nodes }] : []
}

function roleOf(group: string, kind: string): string {
  return `system:${group}:${requests}:${kind}`
}

/** Returns what the controllers need to approve and sign. */
export function signingRules({ name, groups, signers }: Dialect): readonly JsonObject[] {
  if (name !== 'kubernetes') return []
  const { client, kubeletClient, kubeletServing } = signers
  const apiGroups = [groups.certificates]
  return [
    { apiGroups, resources: ['signers'], resourceNames: [kubeletClient], verbs: ['approve'] },
    { apiGroups, resources: ['signers'], resourceNames: [client, kubeletClient, kubeletServing], verbs: ['sign'] },
  ]
}
